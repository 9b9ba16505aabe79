/// @file
/// Internal. Decides when to retry after a failed create.
#pragma once

#include <algorithm>

#include "lido/resource/options.hpp"
#include "resource_tuning.hpp"

namespace lido::inline v0::detail {

/// Two pauses after a failed create: a short one for creates that an acquire asks for, and a long
/// one for all other creates.
///
/// The long pause follows exponential backoff with full jitter (M. Brooker, AWS Architecture Blog,
/// 2015). It is drawn between zero and a limit that doubles with each failure, so that pools that
/// failed together do not retry together. It is never shorter than the short pause. A create that
/// began before the current pause fails for the same reason, so its failure changes neither pause.
/// Not thread-safe.
class retry_backoff {
 public:
  retry_backoff(nanos first, nanos longest) noexcept : first_(first), longest_(longest) {}

  /// Records the failure of a create that began at `began`. `draw` is from [0, 1).
  void failed(nanos now, nanos began, double draw, bool permanent) noexcept {
    if (is_failing() && began < failed_at_) {
      return;
    }
    permanent_ = permanent;
    constexpr nanos range =
        resource_tuning::longest_between_tries - resource_tuning::nanoseconds_between_tries;
    limit_ = limit_ == 0 ? first_ : (std::min)(longest_, later(limit_, limit_));
    failed_at_ = now;
    const nanos soonest =
        (std::min)(limit_, resource_tuning::nanoseconds_between_tries + part(range, draw));
    asked_at_ = later(now, soonest);
    at_ = later(now, (std::max)(soonest, 1 + part(limit_, draw)));
  }
  void reset() noexcept { *this = retry_backoff(first_, longest_); }
  /// Ends both pauses. Creates count as failing until one succeeds.
  void try_now() noexcept {
    at_ = 0;
    asked_at_ = 0;
    permanent_ = false;
  }
  /// Returns when the next create is due. If `is_asked` is true, this applies to creates that an
  /// acquire asks for, and otherwise to all other creates.
  [[nodiscard]] nanos at(bool is_asked) const noexcept { return is_asked ? asked_at_ : at_; }
  /// Returns true while the next create is not due yet. See `at` for `is_asked`.
  [[nodiscard]] bool waits(nanos now, bool is_asked = false) const noexcept {
    return now < at(is_asked);
  }
  /// Returns true if the last create failed.
  [[nodiscard]] bool is_failing() const noexcept { return limit_ != 0; }
  /// Returns true if the last failure was permanent, and it is too soon to retry.
  [[nodiscard]] bool is_hopeless(nanos now) const noexcept {
    return permanent_ && waits(now, /*is_asked=*/true);
  }

 private:
  [[nodiscard]] static nanos part(nanos of, double draw) noexcept {
    return static_cast<nanos>(draw * static_cast<double>(of));
  }

  nanos first_;
  nanos longest_;
  nanos limit_ = 0;
  nanos failed_at_ = 0;  // when the current pause began
  nanos asked_at_ = 0;
  nanos at_ = 0;
  bool permanent_ = false;
};

}  // namespace lido::inline v0::detail
