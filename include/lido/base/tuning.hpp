/// @file
/// Internal. Constants that set internal sizes and times; a test build may replace them all.
///
/// A model-checking build names its own header in LIDO_TUNING_SEAM, with values so small that every
/// path is short. The constants of waits and of resource pools are next to the code that uses them.
#pragma once

#ifdef LIDO_TUNING_SEAM
#include LIDO_TUNING_SEAM
#else

#include <cstddef>
#include <cstdint>

#include "lido/platform/compiler.hpp"

namespace lido::inline v0::detail {

struct tuning {
  static constexpr std::uint32_t thread_numbers = 4096;   ///< threads that can have a cache
  static constexpr std::uint32_t magazine_size = 32;      ///< slots; indices fill two cache lines
  static constexpr std::uint32_t magazines_per_trip = 2;  ///< maximum per update of the list's head
  static constexpr std::uint32_t shards = 8;              ///< shards of a depot: a power of two
  static constexpr std::uint32_t slots_for_shards = 1024;  ///< smaller pools have no shards
  /// A thread that has drawn fewer bytes of slots takes fresh slots before slots that other threads
  /// stored.
  static constexpr std::size_t fresh_bytes = std::size_t{512} * 1024;
  static constexpr std::uint32_t smallest_cache = 4;      ///< smaller caches are not worth stealing
  static constexpr std::size_t first_cache_bytes = 1024;  ///< cache and cells, before it grows
  static constexpr std::size_t most_spare_tables = 16;    ///< tables kept from destroyed pools
  static constexpr std::uint32_t most_cleared = 32;       ///< limit of used entries in a kept table
  /// True if a read-modify-write orders all accesses before it against all accesses after it.
  static constexpr bool changes_are_full_fences = LIDO_X86_64 != 0;
  /// Number of operations before a closed cache opens again. Each exhaustion of the pool doubles
  /// this number, up to `most_patience`.
  static constexpr std::uint32_t patience = 32;
  static constexpr std::uint32_t most_patience = 4096;
  static constexpr std::uint32_t most_pauses = 64;  ///< pauses after a failed compare-and-swap
  // How a thread waits for another thread that may be preempted.
  static constexpr int waits_before_yield = 8;
  static constexpr int waits_before_take_over = 32;
  static constexpr int waits_before_nap = 64;
  static constexpr std::uint32_t longest_nap = 1024;  ///< microseconds
  // How long an acquire waits for threads with slots in transit: the limit without progress, the
  // limit in total, and the most that a single wait may count for.
  static constexpr std::int64_t nanoseconds_of_patience = 100'000'000;
  static constexpr std::int64_t nanoseconds_of_search = 1'000'000'000;
  static constexpr std::int64_t nanoseconds_of_one_wait = 10'000'000;
  static constexpr int most_refused_fences = 2000;  ///< limit for one acquire
  /// Returns how many slots a thread may draw, in a pool of `capacity` slots, before it must report
  /// them.
  static constexpr std::uint8_t most_unreported(std::uint32_t capacity) noexcept {
    return static_cast<std::uint8_t>(capacity < 64 ? 1 : capacity < 1024 ? capacity / 32 : 32);
  }
  static constexpr std::size_t segment_bytes = 65536;  ///< minimum size of a growing pool's segment
  static constexpr std::uint32_t growth_divisor = 8;   ///< a growth adds capacity / growth_divisor
};

}  // namespace lido::inline v0::detail

#endif
