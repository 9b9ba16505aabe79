/// @file
/// Internal. How old and how used a resource may become, in the units that its life is counted in.
#pragma once

#include <chrono>
#include <cstdint>
#include <limits>

namespace lido::detail {

/// Nanoseconds of the pool's clock: a moment, or a length of time.
using nanos = std::int64_t;

inline constexpr nanos never = std::numeric_limits<nanos>::max();

/// `never` switches a limit off.
struct life_limits {
  nanos max_lifetime = never;
  double lifetime_jitter = 0;  ///< part of max_lifetime, 0 to 1, that is drawn off at birth
  nanos idle_timeout = never;
  nanos validate_after = never;  ///< idle longer than that: validate before use
  nanos keepalive = never;       ///< idle longer than that: validate in passing
  std::uint64_t max_uses = std::numeric_limits<std::uint64_t>::max();
};

/// A moment so long after another, without overflow. Requires: both >= 0.
[[nodiscard]] constexpr nanos later(nanos moment, nanos by) noexcept {
  return by >= never - moment ? never : moment + by;
}

/// By std::chrono::steady_clock.
[[nodiscard]] inline nanos steady_now() noexcept {
  return std::chrono::duration_cast<std::chrono::nanoseconds>(
             std::chrono::steady_clock::now().time_since_epoch())
      .count();
}

/// That moment of the clock, or its last one.
[[nodiscard]] inline std::chrono::steady_clock::time_point clock_after(
    std::chrono::nanoseconds by) noexcept {
  using clock = std::chrono::steady_clock;
  const auto now = clock::now();
  return by >= clock::time_point::max() - now ? clock::time_point::max() : now + by;
}

/// When a resource born at `now` has to go. `draw` is from [0, 1): 0 keeps the whole lifetime.
[[nodiscard]] constexpr nanos end_of_life(nanos now, const life_limits& limits,
                                          double draw) noexcept {
  if (limits.max_lifetime == never) {
    return never;
  }
  // In 64 bits: a jitter of nanoseconds in 32 would be one of four seconds.
  const auto less =
      static_cast<nanos>(static_cast<double>(limits.max_lifetime) * limits.lifetime_jitter * draw);
  return later(now, limits.max_lifetime - less);
}

}  // namespace lido::detail
