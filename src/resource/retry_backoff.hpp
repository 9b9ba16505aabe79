/// @file
/// Internal. When to try again after a failed create.
#pragma once

#include <algorithm>
#include <cstdint>
#include <exception>
#include <string>
#include <utility>

#include "lido/resource/hooks.hpp"
#include "lido/resource/limits.hpp"

namespace lido::detail {

/// Exponential backoff with full jitter: a delay is drawn from zero to a limit that doubles with
/// each failure, so that pools that failed together do not come back together (M. Brooker,
/// Exponential backoff and jitter, AWS Architecture Blog, 2015). Not thread-safe.
class retry_backoff {
 public:
  retry_backoff(nanos first, nanos longest) noexcept : first_(first), longest_(longest) {}

  /// `draw` is from [0, 1).
  void failed(nanos now, double draw, bool permanent) noexcept {
    limit_ = limit_ == 0 ? first_ : std::min(longest_, later(limit_, limit_));
    at_ = later(now, 1 + static_cast<nanos>(draw * static_cast<double>(limit_)));
    permanent_ = permanent;
  }
  void reset() noexcept {
    limit_ = 0;
    at_ = 0;
    permanent_ = false;
  }
  [[nodiscard]] bool waits(nanos now) const noexcept { return now < at_; }
  [[nodiscard]] nanos at() const noexcept { return at_; }
  /// The last create failed.
  [[nodiscard]] bool is_failing() const noexcept { return limit_ != 0; }
  /// The last create failed for good, and the next one is not due.
  [[nodiscard]] bool is_hopeless(nanos now) const noexcept { return permanent_ && waits(now); }

 private:
  nanos first_;
  nanos longest_;
  nanos limit_ = 0;
  nanos at_ = 0;
  bool permanent_ = false;
};

}  // namespace lido::detail
