/// @file
/// Internal. Constants for waits in a queue. A test build may replace them, as in tuning.hpp.
#pragma once

#ifdef LIDO_TUNING_SEAM
#include LIDO_TUNING_SEAM
#else

#include <cstdint>

namespace lido::inline v0::detail {

struct wait_tuning {
  static constexpr int spins_before_sleep = 64;  ///< minimum spins of a waiter
  static constexpr std::int64_t nanoseconds_awake =
      20'000;  ///< spin of a first waiter: one wake-up
  // The interval at which a waiter searches for slots by itself if the kernel refuses the heavy
  // fence.
  static constexpr std::int64_t nanoseconds_between_looks = 1'000'000;
};

}  // namespace lido::inline v0::detail

#endif
