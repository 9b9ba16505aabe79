/// @file
/// Public. A snapshot of a pool's statistics: plain data without atomics.
#pragma once

#include <cstddef>
#include <cstdint>
#include <iosfwd>
#include <optional>

#include "lido/platform/compiler.hpp"  // refuses C++17

namespace lido::inline v0 {

/// Kinds of caches for free slots.
///
/// - revocable: hits need no read-modify-write. If the system lacks the heavy fence, such caches
///   become locked.
/// - locked: a hit needs a read-modify-write of the cache's own word.
/// - none: every operation uses the shared lists.
enum class cache_kind : std::uint8_t { revocable, locked, none };

/// Statistics that every pool has. Every count is a number of slots or resources, or of events
/// since the pool was constructed.
///
/// A pool of slots reads the numbers one after another. Under concurrent use, `in_use` includes all
/// slots that callers held during the whole call. It may be too low by one for each slot that
/// passed from one thread to another meanwhile. It may also include slots that a thread is moving
/// between its cache and the shared lists. `in_use` and `idle` add up to `capacity`. To learn
/// whether an acquire will succeed, try it.
///
/// Hits in a thread's cache do not update `high_water`. The value may therefore differ from the
/// true maximum of slots in use. The difference is at most the contents of all threads' caches at
/// that time, plus 32 slots for each thread. `high_water` never exceeds `capacity`, and equals
/// `capacity` once the pool has been exhausted.
struct pool_stats {
  std::size_t capacity = 0;       ///< slots in the pool, or maximum number of resources
  std::size_t in_use = 0;         ///< slots or resources that callers hold
  std::size_t idle = 0;           ///< free slots, wherever they are; resources ready for use
  std::size_t live = 0;           ///< objects or resources that exist
  std::size_t waiting = 0;        ///< threads, callbacks and coroutines in the queue
  std::size_t high_water = 0;     ///< highest `in_use` that slow paths or `stats()` have seen
  std::uint64_t exhausted = 0;    ///< acquires that found nothing free in a pool that cannot grow
  std::uint64_t refused = 0;      ///< acquires that gave up; see docs/reference/stats.md
  std::uint64_t handed_over = 0;  ///< waits that succeeded in getting a slot or resource
};

/// Makes the compiler name lido/registry.hpp if statistics are printed in a file that does not
/// include it. That header declares functions which overload resolution prefers to this template.
template <class IncludeLidoRegistryHpp>
std::basic_ostream<char, IncludeLidoRegistryHpp>& operator<<(
    std::basic_ostream<char, IncludeLidoRegistryHpp>& out, const pool_stats& stats) = delete;

/// Additional statistics of pools that grow. Like `capacity`, they may change during the call.
struct growth_stats {
  std::size_t max_capacity = 0;  ///< maximum number of slots in the pool
  std::size_t segments = 0;      ///< segments in service
  std::size_t slot_bytes = 0;    ///< bytes of all slots
  std::uint64_t growths = 0;     ///< segments taken into service
  std::uint64_t shrinks = 0;     ///< segments returned to the system
};

/// Result of `stats()` for object pools, concurrent slot maps and block resources. A block counts
/// as a slot.
struct slot_pool_stats : pool_stats {
  std::size_t cached = 0;           ///< free slots in the caches of threads, part of `idle`
  std::uint64_t slow_acquires = 0;  ///< acquires that were not hits in revocable caches
  /// Sum of `slow_acquires` and `hits`. Empty if the pool does not count hits, that is, if its
  /// caches are revocable and `Traits::counts` is false.
  std::optional<std::uint64_t> acquires = std::nullopt;
  /// Acquires that were hits in revocable caches. Empty in the same case as `acquires`.
  std::optional<std::uint64_t> hits = std::nullopt;
  std::uint64_t refills = 0;       ///< trips of a cache to the shared lists to get slots
  std::uint64_t flushes = 0;       ///< trips of a cache to the shared lists to return slots
  std::uint64_t thefts = 0;        ///< caches that another thread emptied
  std::uint64_t heavy_fences = 0;  ///< process-wide fences that thieves issued
  /// Failed updates of the shared lists. Empty unless these are Lido's own lists.
  std::optional<std::uint64_t> cas_retries = std::nullopt;
  /// Number of pushes that can occur during one pop before an ABA error becomes possible. Empty
  /// unless the shared lists are Lido's own.
  std::optional<std::uint64_t> tag_headroom = std::nullopt;
  std::size_t open_caches = 0;                        ///< live threads with an open cache
  cache_kind caches = cache_kind::none;               ///< decided when the pool is created
  std::size_t bookkeeping_bytes = 0;                  ///< bytes used for neither slots nor checks
  std::size_t total_bytes = 0;                        ///< bytes of slots, bookkeeping and checks
  std::optional<growth_stats> growth = std::nullopt;  ///< empty if the capacity is fixed
};

}  // namespace lido::inline v0
