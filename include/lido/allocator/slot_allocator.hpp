/// @file
/// Internal. Acquires and releases slots: in the thread's cache, the depot, and other threads'
/// caches.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <string_view>

#include "lido/allocator/options.hpp"
#include "lido/allocator/slot_cache.hpp"
#include "lido/base/pool_stats.hpp"
#include "lido/concurrency/atomic.hpp"
#include "lido/concurrency/thread_number.hpp"
#include "lido/platform/compiler.hpp"

namespace lido::inline v0::detail {

class allocator_state;
class deadline;
class segment_fill;
class slot_waiter;
struct slot_outcome;
struct slot_wait;
template <class Result>
class completion;

/// Visits free slots one at a time. No other thread can acquire the slot during a visit.
class free_slot_visitor {
 public:
  free_slot_visitor() = default;
  free_slot_visitor(const free_slot_visitor&) = delete;
  free_slot_visitor& operator=(const free_slot_visitor&) = delete;

  /// Returns true if no further slot needs a visit at this moment.
  [[nodiscard]] virtual bool is_done() const noexcept = 0;
  /// Returns true if slots that have never been acquired may need a visit, too.
  [[nodiscard]] virtual bool wants_unused() const noexcept = 0;
  /// Returns true if `visit` is to be called for the slot.
  [[nodiscard]] virtual bool wants(slot_index slot) const noexcept = 0;
  virtual void visit(slot_index slot) noexcept = 0;

 protected:
  ~free_slot_visitor() = default;
};

/// Visits the slots that are in use when an allocator restarts.
class used_slot_visitor {
 public:
  used_slot_visitor() = default;
  used_slot_visitor(const used_slot_visitor&) = delete;
  used_slot_visitor& operator=(const used_slot_visitor&) = delete;

  virtual void visit(slot_index slot) noexcept = 0;

 protected:
  ~used_slot_visitor() = default;
};

/// Hands out addresses of free slots to any number of threads, and takes them back.
///
/// Invariants
///  I1 Each slot is in the depot, in one cache, held by a caller, or in transit in a thread. The
///     cache of such a thread is `busy`, or `carrying_` or `visiting_` counts the thread.
///  I2 acquire fails only in three cases. First, at some moment during the call, every slot was
///     held by a caller or was in an unfinished release, and no slots could be added. Second, other
///     threads with slots in transit made no progress for a tenth of a second, or every check for a
///     whole second found slots in transit. Third, the heavy fence failed although it was
///     available.
/// Memory ordering: see depot.hpp and slot_cache.hpp for the slots themselves, and the notes in
///   theft.cpp for the decision that a pool is exhausted.
/// Progress: hits are wait-free. The rest is lock-free, except that an acquire may wait for a
///   thread that adds slots. release allocates nothing itself. acquire may try to allocate memory
///   for a larger cache; if that fails, it continues with the old one. The first call of either
///   maps the table of caches.
class slot_allocator final {
 public:
  /// Throws std::bad_alloc, unless `options` name memory. Requires: 1 <= capacity <= max_capacity;
  /// `geometry` spans `capacity` slots. In memory of the program, `list` and `segments` are null.
  explicit slot_allocator(const allocator_options& options);
  slot_allocator(const slot_allocator&) = delete;
  slot_allocator& operator=(const slot_allocator&) = delete;
  ~slot_allocator();

  /// Acquires a free slot and returns its address, or null if the pool is exhausted (I2). Never
  /// throws.
  template <bool Counts = false>
  [[nodiscard, LIDO_FAST_PATH]] void* acquire() noexcept {
    void* slot = nullptr;
    return try_hit<Counts>(slot) ? slot : acquire_after_miss();
  }

  /// Pops a slot from the thread's cache into `slot`: the first half of `acquire`. If it returns
  /// false, the caller must call `acquire_after_miss` next.
  template <bool Counts = false>
  [[nodiscard, LIDO_FAST_PATH]] bool try_hit(void*& slot) noexcept {
    const std::uintptr_t own = own_cache();
    if (!is_cache(own) || !at(own).pop(slot)) [[unlikely]] {
      return false;
    }
    if constexpr (Counts) {
      at(own).count_hit();
    }
    if (slot == nullptr) {
      unreachable();  // so that callers do not check for null again after a hit
    }
    return true;
  }
  /// Acquires a slot after a failed `try_hit`. Looks up the cache again, so callers need not keep
  /// its address.
  [[nodiscard, LIDO_SLOW_PATH]] void* acquire_after_miss() noexcept;

  /// Releases a slot that `acquire` returned; any thread may do so. Never throws or blocks.
  /// Allocates nothing itself; for allocations by the C library, see assign_thread_number.
  [[LIDO_FAST_PATH]] void release(void* slot) noexcept {
    const std::uintptr_t own = own_cache();
    if (!is_cache(own) || !at(own).push(slot)) [[unlikely]] {
      release_after_miss(slot);
    }
  }

  /// Maps the table of caches now; otherwise the first operation maps it. Returns false if the
  /// system has no memory for the table.
  [[nodiscard]] bool prepare() noexcept;

  /// Fills the front of `out` with slots, and returns their number. It is smaller than `out.size()`
  /// only if the pool is exhausted (I2).
  [[nodiscard]] std::size_t acquire_n(std::span<void*> out) noexcept;

  /// Fills the front of `out` as acquire_n does, but does not add slots to the pool.
  [[nodiscard]] std::size_t acquire_n_without_growth(std::span<void*> out) noexcept;

  /// Releases each slot in `given`, with fewer trips to the depot than separate releases need.
  void release_n(std::span<void* const> given) noexcept;

  /// Waits for a slot in FIFO order and returns it. Returns null if the wait was cancelled through
  /// `me`, or if the deadline passed. Progress: blocking. Never throws. Allocates as acquire does.
  /// Requires: `me` has not been used before.
  [[nodiscard]] void* wait_for_slot(slot_waiter& me, const deadline& until) noexcept;

  /// Waits for a slot in the same queue, and calls `done` exactly once, perhaps before this
  /// function returns. Throws std::bad_alloc; `done` is then not called. Requires: the caller has
  /// found no free slot. See lido/allocator/slot_wait.hpp.
  void wait_async(const slot_wait& wait, completion<slot_outcome> done);

  /// Visits every free slot that `visitor` wants, in no particular order, until the visitor is
  /// done. A slot that another thread is moving may be left out. During a visit, all other free
  /// slots can be acquired. An acquire that finds no slot waits for the visit, within the limits of
  /// I2. A visit may use the allocator, or fork. Requires: `visits_free` in the options.
  void visit_free(free_slot_visitor& visitor) noexcept;

  /// Makes every slot free, and hands out slots in the order of a new allocator from now on.
  /// Before that, visits each slot in use, unless `visitor` is null. Throws std::bad_alloc, in
  /// which case it has had no effect. Throws nothing if `visitor` is null, or if the options
  /// contain both `visits_used` and `memory`. Blocking: waits for threads that are exiting.
  /// Requires: no other thread is in a call to the allocator or waits for a slot;
  /// visits make no such call.
  void restart(used_slot_visitor* visitor);

  /// Returns the number of threads and callbacks that wait for a slot. This number may be out of
  /// date as soon as it is returned.
  [[nodiscard]] std::size_t count_waiting() const noexcept;

  /// Returns the current number of slots in the pool.
  [[nodiscard]] std::uint32_t capacity() const noexcept;

  [[nodiscard]] slot_pool_stats stats(bool counts_hits = false) const noexcept;

  /// Returns the `bookkeeping_bytes` that stats() reports for a pool of `capacity` slots of
  /// `stride` bytes before any thread uses the pool. If `grows` is true, returns the value for a
  /// pool that has already grown to `capacity` slots. `list` is null for Lido's own shared list.
  /// `visits_free` has the same meaning as in the options.
  [[nodiscard]] static std::size_t bytes_needed(std::uint32_t capacity, std::size_t stride,
                                                bool grows, const shared_list* list,
                                                bool visits_free) noexcept;

  /// Takes from `memory` what an allocator with these options takes, so that a cursor without
  /// memory finds out how many bytes that is.
  static void take_tables(memory_cursor& memory, std::uint32_t capacity, std::size_t name_size,
                          bool visits_free = false, bool visits_used = false) noexcept;

  /// Returns the same count as `exhausted` of stats(), but with a single load.
  [[nodiscard]] std::uint64_t count_exhausted() const noexcept;

  /// Returns the pool's name, which lives as long as the allocator.
  [[nodiscard]] std::string_view name() const noexcept;

  /// Makes acquires hand out low slots first from now on, however large the caches are. This keeps
  /// walks short in a map with few values. Requires: all slots are free, and no other thread is in
  /// a call to the allocator.
  void put_low_slots_first() noexcept;

  // ---- for pools that grow: `segments` is not null ---------------------------------------------

  /// Adds segments until the pool has at least `count` slots. Calls `fill` for each new segment
  /// before any thread can acquire its slots. Returns 0, the system's error number, or EBUSY if
  /// other threads are filling or removing segments that this call needs. Segments that were
  /// already added stay, even if `fill` throws. Blocking. Requires: `count` is at most the capacity
  /// in the options.
  [[nodiscard]] int reserve(std::uint32_t count, segment_fill* fill = nullptr);

  /// Removes segments whose slots are all free, highest first, as long as at least `count` slots
  /// remain. Returns how many slots remain. Blocking.
  std::uint32_t shrink_to(std::uint32_t count) noexcept;

  /// Returns the error number of the last attempt to add a segment, or 0 if it did not fail.
  [[nodiscard]] int growth_error() const noexcept;

 private:
  /// Returns the address of the calling thread's cache. If the thread has no number, returns a
  /// value for which `is_cache` is false.
  [[nodiscard, LIDO_FAST_PATH]] std::uintptr_t own_cache() const noexcept {
    const std::size_t offset = own_raw_thread_offset();
    // relaxed: a new table contains only zeros that no thread has written, so nothing need be
    // published
    std::byte* const table = table_.load(std::memory_order_relaxed);
    // NOLINTNEXTLINE(cppcoreguidelines-pro-type-reinterpret-cast): may be no address
    const auto own = reinterpret_cast<std::uintptr_t>(table) + offset;
    return no_thread_offset == 0 && offset == 0 ? 0 : own;
  }
  [[nodiscard, LIDO_FAST_PATH]] static bool is_cache(std::uintptr_t own) noexcept {
    return no_thread_offset == 0 ? own != 0 : static_cast<std::intptr_t>(own) >= 0;
  }
  [[nodiscard, LIDO_FAST_PATH]] static slot_cache& at(std::uintptr_t own) noexcept {
    // NOLINTNEXTLINE(cppcoreguidelines-pro-type-reinterpret-cast,performance-no-int-to-ptr)
    return *reinterpret_cast<slot_cache*>(own);
  }

  /// Returns the state. Ends the program if another copy of the library made this allocator.
  [[nodiscard]] allocator_state& state() const noexcept;

  [[LIDO_SLOW_PATH]] void release_after_miss(void* slot) noexcept;
  [[nodiscard, LIDO_SLOW_PATH]] void* acquire_without_number() noexcept;
  [[LIDO_SLOW_PATH]] void release_without_number(void* slot) noexcept;

  atomic<std::byte*> table_;      ///< caches by thread; all unused pools share one table
  allocator_state* const state_;  ///< owned; most functions use `state()`
};

}  // namespace lido::inline v0::detail
