/// @file
/// LIDO_TUNING_SEAM of the model build: all values so small that executions are short.
#pragma once

#include <cstddef>
#include <cstdint>

namespace lido::inline v0::detail {

struct tuning {
  static constexpr std::uint32_t thread_numbers = 4;
  static constexpr std::uint32_t magazine_size = 4;
  static constexpr std::uint32_t magazines_per_trip = 2;
  static constexpr std::uint32_t shards = 2;
  static inline std::uint32_t slots_for_shards = 1024;
  static inline std::size_t fresh_bytes = 1024;
  static constexpr std::uint32_t smallest_cache = 1;
  static inline std::size_t first_cache_bytes = 1024;
  static constexpr std::size_t most_spare_tables = 1;
  static inline std::uint32_t most_cleared = 0;
  static constexpr bool changes_are_full_fences = false;
  static constexpr std::uint32_t patience = 1;
  static constexpr std::uint32_t most_patience = 2;
  static constexpr std::uint32_t most_pauses = 1;
  static constexpr int waits_before_yield = 1;
  static constexpr int waits_before_take_over = 3;
  static constexpr int waits_before_nap = 5;
  static constexpr std::uint32_t longest_nap = 1;
  static constexpr std::int64_t nanoseconds_of_patience = 100;  // counts looks: there is no clock
  static constexpr std::int64_t nanoseconds_of_search = 1;      // unused
  static constexpr int most_refused_fences = 2;  // a theft that finds nothing is no refusal
  static constexpr std::uint8_t most_unreported(std::uint32_t /*capacity*/) noexcept {
    return 255;  // the resulting numbers are statistics, and reading them takes steps
  }
  static constexpr std::size_t segment_bytes = 1;
  static constexpr std::uint32_t growth_divisor = 8;
};

struct wait_tuning {
  static constexpr int spins_before_sleep = 1;
  static constexpr std::int64_t nanoseconds_awake = 0;
  static constexpr std::int64_t nanoseconds_between_looks = 1;
};

struct resource_tuning {
  static inline std::int64_t nanoseconds_for_answer = 0;
  static constexpr std::int64_t nanoseconds_between_tries = 50'000'000;
  static constexpr std::int64_t longest_between_tries = 95'000'000;
  static inline std::int64_t nanoseconds_overtaking = 0;
  static constexpr std::int64_t nanoseconds_between_hand_overs = 0;
};

}  // namespace lido::inline v0::detail
