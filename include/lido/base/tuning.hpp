/// @file
/// Internal. Constants that set internal sizes and times; a test build may replace them all.
///
/// A model-checking build names its own header in LIDO_TUNING_SEAM, with numbers so small that
/// every path is short. Those of waits and of resource pools are beside their users.
#pragma once

#ifdef LIDO_TUNING_SEAM
#include LIDO_TUNING_SEAM
#else

#include <cstddef>
#include <cstdint>

#include "lido/platform/compiler.hpp"

namespace lido::inline v0::detail {

struct tuning {
  static constexpr std::uint32_t thread_numbers = 4096;    ///< threads that can have a cache
  static constexpr std::uint32_t magazine_size = 32;       ///< slots: two cache lines of indices
  static constexpr std::uint32_t magazines_per_trip = 2;   ///< most that one head update moves
  static constexpr std::uint32_t shards = 8;               ///< shards of a depot: a power of two
  static constexpr std::uint32_t slots_for_shards = 1024;  ///< smaller pools have none
  /// A thread with fewer bytes of slots takes fresh ones before those that others stored.
  static constexpr std::size_t fresh_bytes = std::size_t{512} * 1024;
  static constexpr std::uint32_t smallest_cache = 4;      ///< a smaller one is not worth stealing
  static constexpr std::size_t first_cache_bytes = 1024;  ///< cache and cells, before it grows
  static constexpr std::size_t most_spare_tables = 16;    ///< tables left by destroyed pools
  static constexpr std::uint32_t most_cleared = 32;       ///< entries of such a table
  /// True if a read-modify-write orders all accesses before it against all after it.
  static constexpr bool changes_are_full_fences = LIDO_X86_64 != 0;
  static constexpr std::uint32_t patience = 32;         ///< operations before a closed cache opens
  static constexpr std::uint32_t most_patience = 4096;  ///< most of these, after many exhaustions
  static constexpr std::uint32_t most_pauses = 64;      ///< pauses after a failed compare-and-swap
  // How a thread waits for another one that may be preempted.
  static constexpr int waits_before_yield = 8;
  static constexpr int waits_before_take_over = 32;
  static constexpr int waits_before_nap = 64;
  static constexpr std::uint32_t longest_nap = 1024;  ///< microseconds
  // How long an acquire waits for threads with slots in transit: while they make no progress, in
  // all, and the most that counts for one look at them.
  static constexpr std::int64_t nanoseconds_of_patience = 100'000'000;
  static constexpr std::int64_t nanoseconds_of_search = 1'000'000'000;
  static constexpr std::int64_t nanoseconds_of_one_wait = 10'000'000;
  static constexpr int most_refused_fences = 2000;  ///< limit for one acquire
  /// Returns the most slots that a thread draws without reporting them, in a pool of `capacity`.
  static constexpr std::uint8_t most_unreported(std::uint32_t capacity) noexcept {
    return static_cast<std::uint8_t>(capacity < 64 ? 1 : capacity < 1024 ? capacity / 32 : 32);
  }
  static constexpr std::size_t segment_bytes = 65536;  ///< least bytes of a growing pool's segment
  static constexpr std::uint32_t growth_divisor = 8;   ///< a growth adds this share of the capacity
};

}  // namespace lido::inline v0::detail

#endif
