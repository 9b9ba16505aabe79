/// @file
/// Internal. Moments and durations as numbers of nanoseconds.
#pragma once

#include <cstdint>
#include <limits>

#include "lido/base/assert.hpp"
#include "lido/base/durations.hpp"

namespace lido::inline v0::detail {

/// A moment or a duration, in nanoseconds.
using nanos = std::int64_t;

inline constexpr nanos never = (std::numeric_limits<nanos>::max)();

/// Returns `moment` plus `by`, or `never` if that overflows. Requires: `moment` and `by` are not
/// negative.
[[nodiscard, LIDO_ASSERTS]] constexpr nanos later(nanos moment, nanos by) noexcept {
  LIDO_ASSERT(moment >= 0 && by >= 0, "a moment before the clock's first, or a negative time");
  return by >= never - moment ? never : moment + by;
}

/// Returns the time of std::chrono::steady_clock.
[[nodiscard]] inline nanos steady_now() noexcept {
  return std::chrono::duration_cast<std::chrono::nanoseconds>(
             std::chrono::steady_clock::now().time_since_epoch())
      .count();
}

}  // namespace lido::inline v0::detail
