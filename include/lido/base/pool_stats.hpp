/// @file
/// Public. One snapshot of a pool's numbers: plain data, no atomics.
#pragma once

#include <cstddef>
#include <cstdint>

namespace lido::inline v0 {

/// Kinds of caches for free slots. revocable: caches that need no read-modify-write. If the system
/// lacks the heavy fence, they are locked. locked: caches that need a private one. none: every
/// operation uses the shared lists.
enum class cache_kind : std::uint8_t { revocable, locked, none };

/// Result of `stats()`. Every count is in slots, or in events since the pool was constructed.
///
/// A pool of slots reads the numbers one after another. Under concurrent use, `in_use` is at least
/// what callers held during the whole call, less one for each slot that changed threads in it. It
/// may include slots that a thread moves between its cache and the shared lists. `in_use` and
/// `idle` add up to `capacity`. To learn whether an acquire will succeed, try it.
///
/// Hits of a thread's cache do not update `high_water`. So it may differ from the most that was in
/// use by the contents of all threads' caches then, plus 32 slots for each thread. It never exceeds
/// `capacity`, and equals `capacity` once the pool was exhausted.
struct pool_stats {
  std::size_t capacity = 0;              ///< slots in the pool, or most resources
  std::size_t in_use = 0;                ///< slots or resources that callers hold
  std::size_t idle = 0;                  ///< free slots, wherever they are; resources ready for use
  std::size_t cached = 0;                ///< free slots in the caches of threads, part of `idle`
  std::size_t live = 0;                  ///< objects or resources that exist
  std::size_t waiting = 0;               ///< threads, callbacks and coroutines in the queue
  std::size_t high_water = 0;            ///< most in use that slow paths or `stats()` have seen
  std::uint64_t acquires = 0;            ///< acquires on the slow path, plus `hits`
  std::uint64_t hits = 0;                ///< acquires from the thread's cache, if `Traits::counts`
  std::uint64_t exhausted = 0;           ///< acquires that found nothing free
  std::uint64_t refused = 0;             ///< acquires that gave up; see docs/reference/stats.md
  std::uint64_t handed_over = 0;         ///< waits that ended with a slot or resource
  std::uint64_t refills = 0;             ///< trips of a cache to the shared lists for slots
  std::uint64_t flushes = 0;             ///< trips of a cache to the shared lists with slots
  std::uint64_t thefts = 0;              ///< caches that another thread emptied
  std::uint64_t heavy_fences = 0;        ///< process-wide fences that thieves issued
  std::uint64_t cas_retries = 0;         ///< failed updates of Lido's own shared lists
  std::uint64_t tag_headroom = 0;        ///< pushes during one pop that may cause an ABA error
  std::size_t open_caches = 0;           ///< live threads with an open cache
  cache_kind caches = cache_kind::none;  ///< decided when the pool is made
  std::size_t bookkeeping_bytes = 0;     ///< bytes beyond the slots, without those of checks
  std::size_t total_bytes = 0;  ///< bytes of slots, bookkeeping and checks; object pools only

  // For growing pools; 0 in others. Like `capacity`, they may change during the call.
  std::size_t max_capacity = 0;  ///< most slots the pool may have
  std::size_t segments = 0;      ///< segments in service
  std::size_t slot_bytes = 0;    ///< bytes of all slots
  std::uint64_t growths = 0;     ///< segments taken into service
  std::uint64_t shrinks = 0;     ///< segments returned to the system
};

}  // namespace lido::inline v0
