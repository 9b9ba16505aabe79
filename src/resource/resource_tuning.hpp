/// @file
/// Internal. Constants of resource pools. A test build may replace them, like those in tuning.hpp.
#pragma once

#ifdef LIDO_TUNING_SEAM
#include LIDO_TUNING_SEAM
#else

#include <cstdint>

namespace lido::inline v0::detail {

struct resource_tuning {
  /// How long a resource under validation may take to answer before a new resource is created for
  /// the waiter. Most networks answer faster.
  static constexpr std::int64_t nanoseconds_for_answer = 20'000'000;
  /// Shortest time between two tries to create while creates fail and an acquire asks for a
  /// resource. The constant below is the longest such time. These two times allow ten to twenty
  /// tries a second.
  static constexpr std::int64_t nanoseconds_between_tries = 50'000'000;
  static constexpr std::int64_t longest_between_tries = 95'000'000;
  /// Longest time for which running threads may overtake the first waiter for a resource.
  static constexpr std::int64_t nanoseconds_overtaking = 500'000;
  /// Shortest time between two hand-overs of a pool to threads that were overtaken for
  /// `nanoseconds_overtaking`. Handing over every resource would cost a context switch for each
  /// use, and the queue would never get shorter.
  static constexpr std::int64_t nanoseconds_between_hand_overs = 100'000;
};

}  // namespace lido::inline v0::detail

#endif
