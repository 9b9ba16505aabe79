/// @file
/// Internal. When to try again after a failed create.
#pragma once

#include <algorithm>

#include "lido/resource/options.hpp"

namespace lido::inline v0::detail {

/// Exponential backoff with full jitter (M. Brooker, AWS Architecture Blog, 2015). A delay is drawn
/// from zero to a limit that doubles with each failure, so that pools that failed together do not
/// come back together. Not thread-safe.
class retry_backoff {
 public:
  retry_backoff(nanos first, nanos longest) noexcept : first_(first), longest_(longest) {}

  /// Notes a failure. `draw` is from [0, 1).
  void failed(nanos now, double draw, bool permanent) noexcept {
    limit_ = limit_ == 0 ? first_ : (std::min)(longest_, later(limit_, limit_));
    at_ = later(now, 1 + static_cast<nanos>(draw * static_cast<double>(limit_)));
    permanent_ = permanent;
  }
  void reset() noexcept { *this = retry_backoff(first_, longest_); }
  /// Returns true while the next create is not due.
  [[nodiscard]] bool waits(nanos now) const noexcept { return now < at_; }
  /// Returns when the next create is due.
  [[nodiscard]] nanos at() const noexcept { return at_; }
  /// Returns true if the last create failed.
  [[nodiscard]] bool is_failing() const noexcept { return limit_ != 0; }
  /// Returns true if the last failure was permanent, and the next create is not due.
  [[nodiscard]] bool is_hopeless(nanos now) const noexcept { return permanent_ && waits(now); }

 private:
  nanos first_;
  nanos longest_;
  nanos limit_ = 0;
  nanos at_ = 0;
  bool permanent_ = false;
};

}  // namespace lido::inline v0::detail
