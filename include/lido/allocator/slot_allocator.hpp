/// @file
/// Internal. Acquires and releases slots through the thread's cache, the depot and others' caches.
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

/// Hands out addresses of free slots to any number of threads, and takes them back.
///
/// Invariants
///  I1 Each slot is in the depot, in one cache, in a caller's hands, or in transit in a thread
///     whose cache is `busy` or that is counted in `carrying_`.
///  I2 acquire fails only in three cases. At some moment during the call every slot was in callers'
///     hands or in an unfinished release, and no more could be added. Other threads with slots in
///     transit made no progress for a tenth of a second, or were seen at each look for a second.
///     The heavy fence failed although it was available.
/// Memory ordering: see depot.hpp and slot_cache.hpp for the slots themselves, and the notes in
///   theft.cpp for the decision that a pool is exhausted.
/// Progress: hits wait-free; the rest lock-free, except that an acquire may wait for a thread that
///   adds slots. release allocates nothing itself; acquire may try to, to grow a cache, and does
///   without if that fails. The first call of either maps the table of caches.
class slot_allocator final {
 public:
  /// Throws std::bad_alloc. Requires: 1 <= capacity <= max_capacity; `geometry` spans as many.
  explicit slot_allocator(const allocator_options& options);
  slot_allocator(const slot_allocator&) = delete;
  slot_allocator& operator=(const slot_allocator&) = delete;
  ~slot_allocator();

  /// Acquires a free slot and returns its address; null if exhausted (I2). Never throws.
  template <bool Counts = false>
  [[nodiscard, LIDO_FAST_PATH]] void* acquire() noexcept {
    void* slot = nullptr;
    return try_hit<Counts>(slot) ? slot : acquire_after_miss();
  }

  /// Pops a slot of the thread's cache, as the first half of `acquire`. If it returns false,
  /// `acquire_after_miss` must follow.
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
      unreachable();  // so that callers do not look again after a hit
    }
    return true;
  }
  /// Acquires a slot after a failed `try_hit`. Finds the cache again, so callers need not keep it.
  [[nodiscard, LIDO_SLOW_PATH]] void* acquire_after_miss() noexcept;

  /// Takes back what `acquire` gave, from any thread. Never throws or blocks, and allocates
  /// nothing itself; for the C library see assign_thread_number.
  [[LIDO_FAST_PATH]] void release(void* slot) noexcept {
    const std::uintptr_t own = own_cache();
    if (!is_cache(own) || !at(own).push(slot)) [[unlikely]] {
      release_after_miss(slot);
    }
  }

  /// Asks the system now for the addresses of the caches, as the first operation does otherwise.
  /// Returns false if there were none.
  [[nodiscard]] bool prepare() noexcept;

  /// Fills the front of `out`; returns how many slots: fewer than asked only if exhausted (I2).
  [[nodiscard]] std::size_t acquire_n(std::span<void*> out) noexcept;

  /// Fills the front of `out` as acquire_n does, but adds no slots to the pool.
  [[nodiscard]] std::size_t acquire_n_without_growth(std::span<void*> out) noexcept;

  /// Releases each slot of `given`, in fewer trips to the depot.
  void release_n(std::span<void* const> given) noexcept;

  /// Waits for a slot in FIFO order and returns it. Returns null if the wait of `me`, which is new,
  /// was cancelled, or if the deadline passed. Progress: blocking. Never throws; allocates as
  /// acquire does.
  [[nodiscard]] void* wait_for_slot(slot_waiter& me, const deadline& until) noexcept;

  /// Returns the number of threads in wait_for_slot, as far as this thread happens to know.
  [[nodiscard]] std::size_t count_waiting() const noexcept;

  /// Returns the number of slots in the pool now.
  [[nodiscard]] std::uint32_t capacity() const noexcept;

  [[nodiscard]] slot_pool_stats stats(bool counts_hits = false) const noexcept;

  /// Returns `bookkeeping_bytes` of stats() for `capacity` slots of `stride` bytes before a thread
  /// uses the pool; if `grows`, once it has that many. `list` is null for Lido's own.
  [[nodiscard]] static std::size_t bytes_needed(std::uint32_t capacity, std::size_t stride,
                                                bool grows, const shared_list* list) noexcept;

  /// Returns `exhausted` of stats(), by one load.
  [[nodiscard]] std::uint64_t count_exhausted() const noexcept;

  /// Returns the pool's name, which lives as long as this.
  [[nodiscard]] std::string_view name() const noexcept;

  /// Makes acquires hand out low slots first from now on, whatever the size of caches, so that
  /// walks of a map with few values are short. Requires: all slots are free, and no other thread is
  /// in a call.
  void put_low_slots_first() noexcept;

  // ---- for pools that grow: `segments` was given ----------------------------------------------

  /// Adds segments until there are at least `count` slots; calls `fill` for a segment before any
  /// thread can acquire its slots. Returns 0, an error number of the system, or EBUSY if other
  /// threads are filling or removing the segments that it needs. Segments added so far stay, also
  /// when `fill` throws. Blocking. Requires: count is at most the capacity of the options.
  [[nodiscard]] int reserve(std::uint32_t count, segment_fill* fill = nullptr);

  /// Removes segments all of whose slots are free, highest first, as long as `count` slots are
  /// left. Returns how many slots are left. Blocking.
  std::uint32_t shrink_to(std::uint32_t count) noexcept;

  /// Returns why the last attempt to add a segment failed, as an error number; 0 if it did not.
  [[nodiscard]] int growth_error() const noexcept;

 private:
  /// Returns the address of the calling thread's cache; without a number, one that is no cache.
  [[nodiscard, LIDO_FAST_PATH]] std::uintptr_t own_cache() const noexcept {
    const std::size_t offset = own_raw_thread_offset();
    // relaxed: the memory of a table is zeros, which no thread has written
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

  /// Returns the state. Ends the program if another copy of the library made this.
  [[nodiscard]] allocator_state& state() const noexcept;

  [[LIDO_SLOW_PATH]] void release_after_miss(void* slot) noexcept;
  [[nodiscard, LIDO_SLOW_PATH]] void* acquire_without_number() noexcept;
  [[LIDO_SLOW_PATH]] void release_without_number(void* slot) noexcept;

  atomic<std::byte*> table_;  ///< caches by thread; at first a table that all unused pools share
  allocator_state* const state_;  ///< owned; most functions use `state()`
};

}  // namespace lido::inline v0::detail
