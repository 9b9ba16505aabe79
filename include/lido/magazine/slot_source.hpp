/// @file
/// Internal. Where free slots come from and go to: the thread's cache, the depot, others' caches.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <span>
#include <type_traits>

#include "lido/base/aligned_buffer.hpp"
#include "lido/base/pool_stats.hpp"
#include "lido/base/slot_geometry.hpp"
#include "lido/base/slot_index.hpp"
#include "lido/concurrency/atomic.hpp"
#include "lido/concurrency/backoff.hpp"
#include "lido/concurrency/cache_line.hpp"
#include "lido/concurrency/thread_number.hpp"
#include "lido/concurrency/waiter_queue.hpp"
#include "lido/freelist/treiber_stack.hpp"
#include "lido/magazine/depot.hpp"
#include "lido/magazine/thread_cache.hpp"

namespace lido::detail {

/// Which caches a pool has. automatic: revocable where the system has the heavy fence, else locked.
enum class cache_choice : std::uint8_t { automatic, locked, none };

/// Whether threads may wait for a slot. A pool in which nobody may has no part in what it costs.
enum class waiting_choice : std::uint8_t { forbidden, allowed };

/// Addresses of free slots, for any number of threads.
///
/// Invariants
///  I1 Each slot is in the depot, in one cache, in a caller's hands, or in transit in a thread
///  whose
///     cache is `busy` or that is counted in `carrying_`.
///  I2 acquire fails only if at some moment during the call every slot was in callers' hands, if
///     another thread did not run for a tenth of a second in the middle of a transit, or if the
///     heavy fence fails although it was available.
/// Memory ordering: see depot.hpp and thread_cache.hpp for the slots themselves, and the notes in
///   slot_source_impl.hpp for the decision that a pool is exhausted.
/// Progress: hits wait-free; the rest lock-free. release allocates nothing itself; acquire may
///   try to, to grow a cache, and goes on without if that fails.
template <index_stack Stack = treiber_stack<>>
// NOLINTNEXTLINE(cppcoreguidelines-virtual-class-destructor): final, and its base is private
class slot_source final : private thread_exit_listener {
 public:
  /// Whether slots come and go, as growing_source says; then `capacity` is the most there can be,
  /// and there are none at first.
  static constexpr bool grows = growing_index_stack<Stack>;

  /// Throws std::bad_alloc. Requires: 1 <= capacity <= max_capacity; `slots` spans as many.
  slot_source(slot_geometry slots, std::uint32_t capacity, cache_choice caches,
              std::uint32_t max_cached, waiting_choice waiting = waiting_choice::forbidden);
  slot_source(const slot_source&) = delete;
  slot_source& operator=(const slot_source&) = delete;
  ~slot_source();

  /// Address of a free slot, now the caller's; null when the pool is exhausted (I2). Never throws.
  [[nodiscard, gnu::always_inline]] void* acquire() noexcept {
    if (const std::size_t offset = magazine_offset; offset != 0) [[likely]] {
      thread_cache& cache = at(offset);
      void* slot = nullptr;
      if (cache.pop(slot)) [[likely]] {
        return slot;
      }
      return acquire_slow(cache);
    }
    return acquire_without_number();
  }

  /// The first half of `acquire`, for callers that want no code beside a hit. After false,
  /// `acquire_after_miss` must follow.
  [[nodiscard, gnu::always_inline]] bool try_hit(void*& slot) noexcept {
    const std::size_t offset = magazine_offset;
    return offset != 0 && at(offset).pop(slot);
  }
  [[nodiscard]] void* acquire_after_miss() noexcept { return acquire_locked(); }

  /// Takes back what `acquire` gave, from any thread. Never throws or blocks, and allocates
  /// nothing itself; for the C library see assign_thread_number.
  [[gnu::always_inline]] void release(void* slot) noexcept {
    if (const std::size_t offset = magazine_offset; offset != 0) [[likely]] {
      thread_cache& cache = at(offset);
      if (cache.push(slot)) [[likely]] {
        return;
      }
      return release_slow(cache, slot);
    }
    return release_without_number(slot);
  }

  /// The same two for pools whose caches are locked for certain: they do not try the other way
  /// first.
  [[nodiscard]] void* acquire_locked() noexcept {
    const std::size_t offset = magazine_offset;
    return offset != 0 ? acquire_slow(at(offset)) : acquire_without_number();
  }
  void release_locked(void* slot) noexcept {
    const std::size_t offset = magazine_offset;
    offset != 0 ? release_slow(at(offset), slot) : release_without_number(slot);
  }

  /// The same two past the caches, for pools that have none. A number is still of use: its thread
  /// counts in a line of its own.
  [[nodiscard]] void* acquire_shared() noexcept {
    if (magazine_offset == 0) [[unlikely]] {
      (void)assign_thread_number();
    }
    return acquire_past_cache(own_cache());
  }
  void release_shared(void* slot) noexcept { release_past_cache(own_cache(), slot); }

  /// Fills the front of `out`; returns how many. Fewer than asked only when exhausted (I2).
  [[nodiscard]] std::size_t acquire_n(std::span<void*> out) noexcept;

  /// As `release` of each.
  void release_n(std::span<void* const> slots) noexcept;

  /// A slot, when it is the caller's turn: after all who came before, and before all who come
  /// later. Null: the wait of `me`, which is new, was cancelled, or the deadline passed. Requires:
  /// waiting_choice::allowed. Progress: blocking. Never throws; allocates as acquire does.
  [[nodiscard]] void* wait_for_slot(waiter& me, const deadline& until) noexcept;

  /// Threads in wait_for_slot, as far as this thread happens to know.
  [[nodiscard]] std::size_t count_waiting() const noexcept { return waiters_.length(); }

  [[nodiscard]] pool_stats stats() const noexcept;

  /// Slots in the pool.
  [[nodiscard]] std::uint32_t capacity() const noexcept {
    if constexpr (grows) {
      // (1) - this acquire-load synchronizes-with slot_source_growth.hpp (1)
      return capacity_.load(std::memory_order_acquire);
    } else {
      return capacity_;
    }
  }

  // ---- for growing_source, which calls them one thread at a time; see slot_source_growth.hpp
  // ------

  /// As a failed `acquire` goes on: looks everywhere but into the own cache.
  [[nodiscard]] void* acquire_again() noexcept { return acquire_past_cache(own_cache()); }
  /// Looks into the depot alone.
  [[nodiscard]] void* acquire_from_depot() noexcept;
  void count_exhausted() noexcept;
  /// `waits` waits of this kind came before.
  static void wait_for_transit(int waits, exponential_backoff& backoff) noexcept;

  // Without effect on a source that does not grow: Clang 14 instantiates what is constrained, too.
  [[nodiscard]] int extend_to(std::uint32_t slots) noexcept;
  [[nodiscard]] void* add_keeping_first(slot_index first, slot_index last) noexcept;
  void add(slot_index first, slot_index last) noexcept;

  /// Takes all free slots out of the depot and out of every open cache, and tells `sink` of them,
  /// in several spans.
  template <class Sink>
  void collect(Sink sink) noexcept;
  void give_back(std::span<const slot_index> slots) noexcept { depot_.give(slots); }
  /// Slots that were collected are no longer part of the pool.
  void remove(std::uint32_t slots) noexcept;

 private:
  // Thread n has entry n; entry 0 is never used, since offset 0 means no number.
  [[gnu::always_inline]] thread_cache& at(std::size_t offset) noexcept {
    // The offset is a multiple of the stride of the table.
    void* const table = caches_.data();
    return *static_cast<thread_cache*>(static_cast<void*>(static_cast<std::byte*>(table) + offset));
  }

  [[nodiscard, gnu::noinline]] void* acquire_slow(thread_cache& cache) noexcept;
  [[gnu::noinline]] void release_slow(thread_cache& cache, void* slot) noexcept;
  [[nodiscard, gnu::noinline]] void* acquire_without_number() noexcept;
  [[gnu::noinline]] void release_without_number(void* slot) noexcept;

  // The owner's side. All but the first two need a busy cache and leave it open or closed.
  [[nodiscard]] static bool forget_operation_if_closed(thread_cache& cache) noexcept;
  [[nodiscard]] bool try_open(thread_cache& cache) noexcept;
  [[nodiscard]] std::size_t take_own(thread_cache& cache, std::span<void*> out) noexcept;
  [[nodiscard]] void* refill(thread_cache& cache) noexcept;
  void size_for_refill(thread_cache& cache, bool too_large) noexcept;
  void resume(thread_cache& cache, const thread_cache::settled& found) noexcept;
  void reopen(thread_cache& cache, std::uint32_t count) noexcept;
  [[nodiscard]] std::uint32_t flush(thread_cache& cache, std::uint32_t count,
                                    std::uint32_t keep) noexcept;
  void enlarge(thread_cache& cache) noexcept;
  void on_thread_exit(std::uint32_t number) noexcept override;
  [[nodiscard]] bool hears_every_exit() const noexcept override { return true; }
  void on_fork(std::uint32_t survivor) noexcept override;
  void empty_and_close(thread_cache& cache) noexcept;

  // The shared side. `self`: the caller's cache, only to count in; null without a number.
  [[nodiscard]] void* acquire_past_cache(thread_cache* self) noexcept;
  void release_past_cache(thread_cache* self, void* slot) noexcept;
  // NOLINTNEXTLINE(misc-no-recursion): it ends at the gate of the queue, which is taken by then
  [[nodiscard]] std::size_t take_shared(thread_cache* self, std::span<void*> out) noexcept;
  void give(thread_cache* self, std::span<void* const> slots) noexcept;
  [[nodiscard]] void* scavenge(thread_cache* self) noexcept;
  /// uncertain: somebody stood still in transit, or the kernel refused the heavy fence.
  enum class finding : std::uint8_t { free_slot, exhausted, uncertain };
  [[nodiscard]] finding search(thread_cache* self, void** slot) noexcept;
  [[nodiscard]] bool steal(thread_cache* self, void** slot, bool take_over) noexcept;
  struct survey;
  [[nodiscard]] survey look_around() const noexcept;
  struct announcements;
  void withdraw_all(const announcements& made) noexcept;
  [[nodiscard]] bool revoke_all(announcements& made, bool take_over) noexcept;
  void give_loot(thread_cache* self, std::span<void* const> rest) noexcept;
  [[nodiscard]] bool harvest_all(thread_cache* self, void** slot,
                                 const announcements& made) noexcept;

  // Those who wait. Who has put slots where others find them calls one of the first two.
  // NOLINTBEGIN(misc-no-recursion): as above
  void serve_waiters(thread_cache* self) noexcept;
  /// After which kind of operation an owner may have opened its cache.
  void close_for_waiters(thread_cache& cache) noexcept;
  [[nodiscard]] bool hand_over(thread_cache* self, void* slot) noexcept;
  void serve_and_leave(thread_cache* self, void* slot) noexcept;
  [[nodiscard]] void* take_one(thread_cache* self) noexcept;
  // NOLINTEND(misc-no-recursion)
  [[nodiscard]] bool look_again(thread_cache* self, const waiter& me) noexcept;
  void* leave_queue(thread_cache* self, waiter& me) noexcept;

  void count_drawn(thread_cache* self, std::int64_t slots) noexcept;
  [[nodiscard]] thread_cache* own_cache() noexcept {
    const std::size_t offset = magazine_offset;
    return offset != 0 ? &at(offset) : nullptr;
  }
  [[nodiscard]] std::uint32_t scarcity() const noexcept {
    // relaxed: a hint that slots are short
    return static_cast<std::uint32_t>(exhausted_.load(std::memory_order_relaxed));
  }
  [[nodiscard]] std::uint32_t ceiling() const noexcept;
  [[nodiscard]] std::uint32_t limit_for(const thread_cache& cache) const noexcept;
  void adopt_first_cells(thread_cache& cache) noexcept;
  void raise_highest(std::uint32_t number) noexcept;

  /// Cells of a cache before it grows.
  [[nodiscard]] static std::uint32_t first_room() noexcept {
    return static_cast<std::uint32_t>((tuning::first_cache_bytes - sizeof(thread_cache)) /
                                      sizeof(cell));
  }
  /// Cells beyond the limit of a cache: one that a failing pop reads, one that a failing push
  /// fills.
  static constexpr std::uint32_t spare_cells = 2;

  std::array<thread_cache, magazine_numbers + 1> caches_;
  slot_geometry slots_;
  std::conditional_t<grows, atomic<std::uint32_t>, std::uint32_t> capacity_;
  std::uint32_t max_cached_;
  std::uint32_t first_room_;
  bool has_caches_;
  cache_kind kind_;
  aligned_buffer first_cells_;  ///< first_room_ cells for each thread number, untouched until used
  depot<Stack> depot_;
  alignas(no_false_sharing) atomic<std::uint32_t> highest_number_{
      0};  ///< of a cache that was ever opened
  atomic<std::uint32_t> open_caches_{0};
  shared_atomic<std::uint32_t> carrying_{0};  ///< threads in transit without a busy cache
  shared_atomic<std::uint64_t> exhausted_{0};
  shared_atomic<std::uint64_t> thefts_{0};
  shared_atomic<std::uint64_t> heavy_fences_{0};
  shared_atomic<std::uint64_t> handed_over_{0};
  shared_atomic<std::int64_t> drawn_uncached_{
      0};  ///< as owner_notes::drawn, for all that goes past the caches
  atomic<std::size_t> grown_bytes_{0};
  waiter_queue waiters_;
};

// NOLINTNEXTLINE(cppcoreguidelines-virtual-class-destructor): final
extern template class slot_source<treiber_stack<>>;
// NOLINTNEXTLINE(cppcoreguidelines-virtual-class-destructor): final
extern template class slot_source<growing_treiber_stack<>>;

}  // namespace lido::detail
