/// @file
/// Internal. The state and the slow paths of a slot_allocator.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <span>
#include <string>

#include "../concurrency/event_sink.hpp"
#include "depot.hpp"
#include "exhaustion_proof.hpp"
#include "lido/allocator/options.hpp"
#include "lido/base/pool_stats.hpp"
#include "lido/base/slot_index.hpp"
#include "lido/concurrency/atomic.hpp"
#include "lido/concurrency/backoff.hpp"
#include "lido/concurrency/thread_number.hpp"
#include "lido/platform/compiler.hpp"
#include "owned_cache.hpp"
#include "slot_waiter_queue.hpp"

namespace lido::inline v0::detail {

class free_slot_visitor;
class segment_table;
class slot_set;
class used_slot_visitor;

/// Ends waits of callbacks whose time is up. Abstract, so that a program without such waits links
/// no code for them.
class callback_timer {
 public:
  callback_timer() noexcept = default;
  callback_timer(const callback_timer&) = delete;
  callback_timer& operator=(const callback_timer&) = delete;
  /// Ends the use of the pool. The timer may destroy itself.
  virtual void stop() noexcept = 0;
  /// Called in the child of a fork, where the threads of the timer do not exist.
  virtual void note_fork() noexcept = 0;

 protected:
  ~callback_timer() = default;
};

/// Size of a table of caches in bytes. The thread with number n uses entry n; entry 0 is never
/// used.
inline constexpr std::size_t cache_table_bytes =
    (std::size_t{max_thread_number} + 1) * thread_stride;

/// The table of caches that each pool uses until the first thread uses that pool, so that a new
/// pool need not map a table. A pool that was given a spare table does not use this table. The
/// caches in this table are never opened: a thread writes only the guard and the top of its own
/// entry.
// NOLINTNEXTLINE(cppcoreguidelines-avoid-*,modernize-avoid-c-arrays): never written as a whole
extern constinit std::byte unused_caches[cache_table_bytes];

/// Serves misses in the caches of a pool. The operations of owners on their caches and on the
/// shared lists are in acquire.cpp. Thefts from the caches of other threads, and the proof of
/// exhaustion, are in theft.cpp. The queue is in waiting.cpp, and the table of caches in
/// slot_allocator.cpp.
class allocator_state final : public thread_exit_listener, public pool_origin {
 public:
  /// Creates the state. `table` is the pointer that the hit path reads.
  allocator_state(const allocator_options& options, atomic<std::byte*>& table);
  /// Memory for the state and its tables.
  struct tables {
    void* state;
    char* name;
    depot::tables of_depot;
  };
  [[nodiscard]] static tables take_tables(memory_cursor& memory, std::uint32_t capacity,
                                          std::size_t name_size, bool visits_free,
                                          bool visits_used) noexcept;
  /// Creates the state in memory of the program. `in` are the tables that take_tables returned.
  allocator_state(const allocator_options& options, atomic<std::byte*>& table,
                  const tables& in) noexcept;
  allocator_state(const allocator_state&) = delete;
  allocator_state& operator=(const allocator_state&) = delete;
  ~allocator_state();

  // ---- what slot_allocator offers ---------------------------------------------------------------

  /// Serves the calling thread after a miss. The thread's entry is at `offset` in each table.
  [[nodiscard]] void* acquire_after_miss(std::size_t offset) noexcept;
  void release_after_miss(std::size_t offset, void* slot) noexcept;
  [[nodiscard]] std::size_t acquire_n(std::span<void*> out) noexcept;
  [[nodiscard]] std::size_t acquire_n_without_growth(std::span<void*> out) noexcept;
  void release_n(std::span<void* const> slots) noexcept;
  [[nodiscard]] void* wait_for_slot(slot_waiter& me, const deadline& until) noexcept;
  void visit_free(free_slot_visitor& visitor) noexcept;
  void restart(used_slot_visitor* visitor);
  [[nodiscard]] std::size_t count_waiting() const noexcept { return waiters_.length(); }

  // ---- for slot_callback, slot_timer and wait_for_slot; see waiting.cpp
  // --------------------------

  [[nodiscard]] bool join_queue(owned_cache* self, slot_waiter& me) noexcept;
  void leave_queue(owned_cache* self, slot_waiter& me) noexcept;
  [[nodiscard]] bool look_for_callbacks() noexcept;
  [[nodiscard]] callback_timer* use_timer(callback_timer* made) noexcept;
  [[nodiscard]] slot_pool_stats stats(bool counts_hits) const noexcept;
  /// Adds the statistics of all caches to `stats`. Returns the hits of all caches.
  std::uint64_t add_caches_to(slot_pool_stats& stats) const noexcept;
  [[nodiscard]] std::uint64_t times_exhausted() const noexcept {
    // relaxed: a number for statistics
    return exhausted_.load(std::memory_order_relaxed);
  }
  [[nodiscard]] segment_table* segments() const noexcept { return segments_.get(); }
  /// Returns true if the state lies in memory of the program.
  [[nodiscard]] bool is_placed() const noexcept { return is_placed_; }
  /// Returns true if ThreadSanitizer must be told which thread held a slot before. In that case,
  /// the pool has no caches, so all slots pass through slow paths.
  [[nodiscard]] bool is_watched() const noexcept { return is_watched_; }

  [[nodiscard]] std::uint32_t capacity() const noexcept {
    // (1) - this acquire-load synchronizes-with the release-fetch-add acquire.cpp (2)
    return capacity_.load(std::memory_order_acquire);
  }

  /// Reports an event that began at `begin`, the result of `begin_event`.
  void end_event(traced_act what, std::int64_t begin, std::size_t slots) const noexcept {
    if (begin != 0) [[unlikely]] {
      tell_event(what, {name, name_size}, begin, slots);
    }
  }

  /// Return this pool's own table, and the calling thread's entry in that table. Both are null if
  /// there is no memory for a table; the entry is also null if the thread has no number.
  [[nodiscard]] std::byte* own_table() noexcept;
  [[nodiscard, LIDO_ALWAYS_INLINE]] owned_cache* own_cache() noexcept {
    const std::size_t offset = own_thread_offset();
    // relaxed: as in slot_allocator::at
    std::byte* table = table_.load(std::memory_order_relaxed);
    if (offset == 0 || (table == unused_ && (table = own_table()) == nullptr)) [[unlikely]] {
      return nullptr;
    }
    raise_highest(static_cast<std::uint32_t>(offset / thread_stride));
    return &entry_in(table, offset);
  }

  // ---- the shared lists. `self`: the caller's cache, used only for counting; may be null --------

  [[nodiscard]] void* refill_steal_or_grow(owned_cache* self) noexcept;
  void release_past_cache(owned_cache* self, void* slot) noexcept;
  /// Acquires a slot for a thread without a number.
  [[nodiscard]] void* acquire_without_cache() noexcept {
    count_misses(nullptr, 1);
    return refill_steal_or_grow(nullptr);
  }
  /// Continues an `acquire` that missed: searches everywhere except in the caller's own cache. Adds
  /// no segment.
  [[nodiscard]] void* refill_or_steal(owned_cache* self) noexcept;
  /// Takes a slot out of the depot. Returns null if it could not get a slot.
  [[nodiscard]] void* refill_one(owned_cache* self) noexcept;

  // ---- for segment_table, which calls them one thread at a time ---------------------------------

  void count_exhausted() noexcept;
  /// Waits in the same way as bounded_wait::wait.
  [[nodiscard]] static bool wait_for_transit(bounded_wait& others) noexcept;

  /// Extends the depot to `slots` slots in all. Returns 0, or the error number of the system.
  [[nodiscard]] int extend_to(std::uint32_t slots) noexcept { return depot_.extend_to(slots); }
  [[nodiscard]] void* add_keeping_first(slot_index first, slot_index last) noexcept;

  /// Takes all free slots out of the depot and out of every open cache, and passes them to `sink`,
  /// in several spans. Empties the depot, steals from the caches, and empties the depot again. A
  /// cache that is busy at that time, or opens later, keeps its slots.
  template <class Sink>
  void collect(Sink sink) noexcept {
    const auto empty_depot = [&] {
      std::array<slot_index, most_per_trip> slots;
      while (const std::uint32_t count = depot_.take({}, slots, most_per_trip)) {
        sink(std::span<const slot_index>(slots).first(count));
      }
    };
    empty_depot();
    steal(own_cache(), nullptr, /*take_over=*/false);
    empty_depot();
  }
  void give_back(std::span<const slot_index> slots) noexcept;
  /// Returns true if a thread seems to be waiting. If the caller overlooks a waiter, that waiter
  /// has seen the caller's pops. The waiter therefore knows that `resize_` is locked, and waits for
  /// the thread that has locked it.
  [[nodiscard]] bool any_waiting() const noexcept { return waiters_.any(); }
  /// Raises the high-water mark to at least `seen`, and returns the mark.
  std::size_t raise_high_water(std::size_t seen) const noexcept;
  /// Reduces the capacity of the pool by `slots` slots that the caller has collected.
  void remove(std::uint32_t slots) noexcept;

 private:
  /// Creates everything except the table of segments. `in` is null for memory of the system.
  allocator_state(const allocator_options& options, atomic<std::byte*>& table, const tables* in);

  // The table of caches.
  [[nodiscard]] static owned_cache& entry_in(std::byte* table, std::size_t offset) noexcept {
    return *static_cast<owned_cache*>(static_cast<void*>(table + offset));
  }
  [[nodiscard]] owned_cache& entry(std::uint32_t number) const noexcept {
    // relaxed: as in slot_allocator::at
    return entry_in(table_.load(std::memory_order_relaxed), number * thread_stride);
  }
  // relaxed (whole function): a thread that sees that a slot of this cache is missing from the
  // depot has read a word that the owner wrote after raising the number
  void raise_highest(std::uint32_t number) noexcept {
    std::uint32_t highest = highest_.load(std::memory_order_relaxed);
    while (highest < number &&
           !highest_.compare_exchange_weak(highest, number, std::memory_order_relaxed,
                                           std::memory_order_relaxed)) {
    }
  }
  [[nodiscard]] static std::uint32_t lowest() noexcept { return lowest_thread_number(); }
  [[nodiscard]] std::uint32_t highest() const noexcept {
    // relaxed: if the number read is too low, no cache beyond it contains a slot that the reader
    // has seen leave the depot
    return highest_.load(std::memory_order_relaxed);
  }
  [[nodiscard]] bool clear_table() noexcept;
  void on_thread_exit(std::uint32_t number) noexcept override;
  void on_fork(std::uint32_t survivor) noexcept override;
  void visit_uses(void (*visit)(thread_use&)) noexcept override;
  void empty_and_close(owned_cache& cache) noexcept;

  [[nodiscard]] bool takes_hits() const noexcept { return kind_ == lido::cache_kind::revocable; }
  /// Returns the caller's cache after a miss; null if the caller has no cache. If the cache was not
  /// active, the operation may have missed in `unused_caches` instead, and is undone there. In a
  /// pool that takes no hits, the hit path tries either no cache or a cache in `unused_caches`.
  [[LIDO_ALWAYS_INLINE]] owned_cache* own_cache_after_miss(std::size_t offset) noexcept {
    owned_cache* const own = own_cache();
    const bool was_unused = own == nullptr || !own->active;
    if (takes_hits() ? was_unused : no_thread_offset == 0) [[unlikely]] {
      entry_in(unused_, offset).forget_operation();
    }
    return own;
  }

  // These functions are called by the owner of a cache. `refill` and `resume` require a busy cache,
  // and leave it open or closed. `size_for_refill`, `enlarge` and `flush` require a busy cache, and
  // leave it busy.
  [[nodiscard, LIDO_SLOW_PATH]] void* settle_acquire(owned_cache& cache) noexcept;
  [[LIDO_SLOW_PATH]] void settle_release(owned_cache& cache, void* slot) noexcept;
  [[nodiscard]] bool try_open(owned_cache& cache) noexcept;
  [[nodiscard]] static bool forget_operation_if_closed(owned_cache& cache) noexcept;
  [[nodiscard]] std::size_t hit_many(owned_cache& cache, std::span<void*> out) noexcept;
  [[nodiscard]] void* refill(owned_cache& cache) noexcept;
  void size_for_refill(owned_cache& cache, bool too_large) noexcept;
  void resume(owned_cache& cache, const slot_cache::settled& found) noexcept;
  [[nodiscard]] std::uint32_t flush(owned_cache& cache, std::uint32_t count,
                                    std::uint32_t keep) noexcept;
  void enlarge(owned_cache& cache) noexcept;
  [[nodiscard]] std::uint32_t ceiling() const noexcept;
  [[nodiscard]] std::uint32_t limit_for(const owned_cache& cache) const noexcept;
  [[nodiscard]] std::uint32_t scarcity() const noexcept {
    // relaxed: a hint that slots are scarce
    return static_cast<std::uint32_t>(exhausted_.load(std::memory_order_relaxed));
  }

  // The shared lists.
  /// Returns the part of the depot that the owner of `self` uses. `self` is the cache of this
  /// thread or of a thread that is ending. It is null for a thread without a number.
  [[nodiscard]] depot_home home_of(const owned_cache* self) const noexcept {
    if (self == nullptr) {
      return {};
    }
    // relaxed: as in slot_allocator::at
    const void* const table = table_.load(std::memory_order_relaxed);
    const auto offset = static_cast<const std::byte*>(static_cast<const void*>(self)) -
                        static_cast<const std::byte*>(table);
    // relaxed: written by this thread alone
    return {depot_.shard_of(static_cast<std::uint32_t>(offset) / thread_stride),
            self->drawn.load(std::memory_order_relaxed) > fresh_reach_};
  }
  [[nodiscard]] std::size_t refill_many(owned_cache* self, std::span<void*> out) noexcept;
  void give(owned_cache* self, std::span<void* const> slots) noexcept;
  /// Counts `slots` slots that have left the depot; a negative number means that slots came back.
  /// Returns true if more slots are out of the depot than when the slots in use were last counted.
  /// A thread reports only when a few slots have added up, so it seldom writes to a cache line that
  /// all threads share.
  // relaxed (whole function): counters that order nothing
  [[LIDO_ALWAYS_INLINE]] bool count_drawn(owned_cache* self, std::int64_t slots) noexcept {
    if (self == nullptr) [[unlikely]] {
      return report_drawn(nullptr, slots);
    }
    const std::int64_t drawn = self->drawn.load(std::memory_order_relaxed) + slots;
    self->drawn.store(drawn, std::memory_order_relaxed);
    const std::int64_t news = drawn - self->reported;
    // Changes in the other direction have already been reported, so one comparison is enough.
    return (slots > 0 ? news : -news) >= std::int64_t{most_unreported_} + self->more_unreported &&
           report_drawn(self, news);
  }
  [[LIDO_SLOW_PATH]] bool report_drawn(owned_cache* self, std::int64_t news) noexcept;
  // relaxed (whole function): as above
  void count_misses(owned_cache* self, std::uint64_t acquires) noexcept {
    if (self == nullptr) [[unlikely]] {
      misses_uncached_.fetch_add(acquires, std::memory_order_relaxed);
    } else {
      self->misses.store(self->misses.load(std::memory_order_relaxed) + acquires,
                         std::memory_order_relaxed);
    }
  }
  [[nodiscard]] bool try_count(const owned_cache* self, std::int64_t& drawn, std::size_t& cached,
                               int& looks) const noexcept;
  void mark_use(const owned_cache* self, std::uint32_t unused) noexcept;
  void mark_burst(owned_cache& cache) noexcept;

  // Caches of other threads.
  /// `uncertain` means that a thread was stopped while it moved slots, or that the kernel refused
  /// the heavy fence.
  enum class finding : std::uint8_t { free_slot, exhausted, uncertain };
  struct survey;
  struct announcements;
  [[nodiscard]] finding search(owned_cache* self, void** slot) noexcept;
  [[nodiscard]] survey look_around() const noexcept;
  [[nodiscard]] bool prove(const survey& first) noexcept;
  /// `refused` means that the kernel refused the heavy fence.
  enum class theft : std::uint8_t { some, none, refused };
  theft steal(owned_cache* self, void** slot, bool take_over) noexcept;
  void revoke_some(announcements& made, std::uint32_t last, bool take_over) const noexcept;
  [[nodiscard]] bool fence_for(const announcements& made) noexcept;
  [[nodiscard]] std::size_t harvest_all(owned_cache* self, void** slot,
                                        const announcements& made) noexcept;

  // All slots at once.
  void set_all_aside(owned_cache* self, bool unused) noexcept;
  void visit_one(slot_index slot, free_slot_visitor& visitor) noexcept;
  void empty_caches() noexcept;
  static void mark_restarted(announcements& made) noexcept;
  template <class F>
  void for_each_range(F f);
  void visit_used(used_slot_visitor& visitor);
  void take_free(slot_set& free) noexcept;
  void forget_drawn() noexcept;
  /// Returns true during the visits of a restart, which must not use the pool.
  [[nodiscard]] bool is_restarting() const noexcept {
    // relaxed: written by the thread that reads it, unless a precondition is violated
    return restarts_.load(std::memory_order_relaxed);
  }

  // Waiters. A thread that has put slots where other threads find them calls
  // `serve_waiters` or `close_for_waiters`.
  void serve_waiters(owned_cache* self) noexcept;
  /// Called after an operation in which an owner may have opened its cache.
  void close_for_waiters(owned_cache& cache) noexcept;
  [[nodiscard]] bool hand_over(owned_cache* self, void* slot) noexcept;
  void serve_and_leave(owned_cache* self, void* slot) noexcept;
  [[nodiscard]] finding steal_or_grow_for_waiters(owned_cache* self) noexcept;
  template <class Over>
  [[nodiscard]] finding look_until(owned_cache* self, const Over& is_over) noexcept;
  [[nodiscard]] bool look_again(owned_cache* self, const slot_waiter& me) noexcept;

  /// The header of a block of cells that a cache grew into. All blocks live as long as the pool,
  /// since a slow thief may still be reading an old block.
  struct cell_block {
    cell_block* next = nullptr;
  };

  slot_geometry slots_;
  std::byte* unused_;  ///< `unused_caches` of the copy of the library that created the pool
  std::unique_ptr<segment_table> segments_;
  atomic<std::uint32_t> capacity_;
  std::uint32_t max_cached_;
  const bool is_watched_;
  lido::cache_kind kind_;
  const bool has_set_;               ///< memory for the set of `visit_used` follows this object
  std::uint32_t forks_ = 0;          ///< number of forks since the pool was made
  atomic<std::byte*> hidden_table_;  ///< table of a pool that takes no hits
  atomic<std::byte*>& table_;
  const std::string own_name_;  ///< characters of `name`, unless the state is placed
  const bool is_placed_;
  const bool may_wait_;
  const std::uint8_t most_unreported_;
  unscheduled_atomic<bool> restarts_{false};  ///< a restart visits slots; for assertions
  const std::uint32_t fresh_reach_;  ///< a thread that has drawn more slots roams; see depot_home
  const std::size_t enough_;         ///< mark at which threads stop reporting; see enough_for
  atomic<cell_block*> blocks_{nullptr};
  atomic<std::size_t> grown_bytes_{0};
  atomic<std::uint32_t> highest_{0};  ///< highest number of a thread that has used its cache
  depot depot_;
  alignas(cache_line) shared_atomic<std::uint32_t> carrying_{
      0};  ///< threads that move slots without a busy cache, except for those that visit slots
  shared_atomic<std::uint32_t> visiting_{0};  ///< threads in visit_free, which may hold one slot
  atomic<std::uint32_t> open_caches_{0};
  shared_atomic<std::uint64_t> exhausted_{0};
  shared_atomic<std::uint64_t> thefts_{0};
  shared_atomic<std::uint64_t> heavy_fences_{0};
  shared_atomic<std::uint64_t> handed_over_{0};
  shared_atomic<std::uint64_t> ended_waits_{0};  ///< waits that ended without a slot
  // Threads without a cache use these counters in place of those in owned_cache.
  shared_atomic<std::int64_t> drawn_uncached_{0};
  shared_atomic<std::uint64_t> misses_uncached_{0};
  unscheduled_atomic<std::int64_t> out_{0};          ///< reported number of slots out of the depot
  unscheduled_atomic<std::int64_t> counted_out_{0};  ///< `out_` at the last count of slots in use
  mutable unscheduled_atomic<std::size_t> high_water_{0};
  exhaustion_proof proof_;
  callback_timer* timer_ = nullptr;  ///< changes inside the gate; null until a callback needs it
  slot_waiter_queue waiters_;
};

// pool_origin must directly follow the listener, which is three words long; see pool_origin.
static_assert(sizeof(thread_exit_listener) == 3 * sizeof(void*));

}  // namespace lido::inline v0::detail
