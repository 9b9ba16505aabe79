/// @file
/// Internal. Constants of resource pools; a test build may replace them, as in tuning.hpp.
#pragma once

#ifdef LIDO_TUNING_SEAM
#include LIDO_TUNING_SEAM
#else

#include <cstdint>

namespace lido::inline v0::detail {

struct resource_tuning {
  /// Time for a resource under validation to answer, before a new one is created for its waiter.
  /// Most networks answer faster.
  static constexpr std::int64_t nanoseconds_for_answer = 20'000'000;
  /// Least time until the next create while creates fail and an acquire asks; below it the longest.
  /// So there are ten to twenty tries a second.
  static constexpr std::int64_t nanoseconds_between_tries = 50'000'000;
  static constexpr std::int64_t longest_between_tries = 95'000'000;
  /// Longest time in which running threads may overtake the first waiter for a resource.
  static constexpr std::int64_t nanoseconds_overtaking = 500'000;
  /// Least time between two hand-overs of a pool to threads that were overtaken for that long. A
  /// hand-over to each would cost a switch for each use, and the queue would never get shorter.
  static constexpr std::int64_t nanoseconds_between_hand_overs = 100'000;
};

}  // namespace lido::inline v0::detail

#endif
