/// @file
/// Public. `concurrent_slot_map<T>`: values for any number of threads, reached by handles alone.
#pragma once

#include <algorithm>
#include <bit>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <limits>
#include <memory>
#include <new>
#include <optional>
#include <string>
#include <type_traits>
#include <utility>

#include "lido/base/address_space.hpp"
#include "lido/base/error.hpp"
#include "lido/base/pool_stats.hpp"
#include "lido/base/scope_exit.hpp"
#include "lido/concurrency/atomic.hpp"
#include "lido/concurrency/backoff.hpp"
#include "lido/concurrency/cache_line.hpp"
#include "lido/debug/slot_shadow.hpp"
#include "lido/memory/slot_array.hpp"
#include "lido/object/construction.hpp"
#include "lido/slot_map/concurrent_slot_map_options.hpp"
#include "lido/slot_map/concurrent_walks.hpp"
#include "lido/slot_map/requirements.hpp"
#include "lido/slot_map/slot_handle.hpp"
#include "lido/slot_map/slot_map_hooks.hpp"
#include "lido/slot_map/slot_state.hpp"
#include "lido/slot_map/slot_supply.hpp"

namespace lido {

/// Values that never move, in one array with holes. All functions are thread-safe, and run beside
/// one another, unless they say otherwise.
///
/// A value is touched only inside a callback: `visit` is alone with it, `read` among readers.
/// Entering waits while other threads are with the same value (spins, then yields), in no order. As
/// long as readers of one value overlap, a `visit` of it and a walk that is not const wait.
/// Otherwise functions wait only where `object_pool` does.
///
/// `erase` never waits: from its return on no thread can enter, and the last thread with the value
/// destroys it. Hence a callback may insert, and erase any value, also its own. It must not enter
/// the value it is with, which a walk and emplace_or_evict would; nor may two callbacks enter each
/// other's. (Nor may it run tasks of a scheduler that enter values: a thread that waits for its own
/// tasks may be given one of those.)
///
/// insert, erase, visit, read and contains are linearizable for each handle: they take effect at
/// one moment between call and return, in one order for all threads. Not linearizable: `size`, that
/// a map is full (see object_pool), and a walk. A walk enters each value that is there from its
/// begin to its end exactly once, and may or may not meet others.
///
/// A slot that has had all its generations is not used again, and the map has room for one value
/// less. That comes after 2^48 values in one slot, or 2^(64 - n) when indices need n > 16 bits.
/// `Hooks` as of a slot_map, from any thread; on_insert is called before others can reach the
/// value; on_move is not called. Requires on destruction: no thread is in a call.
template <class T, class Hooks = no_hooks,
          std::uint64_t LastGeneration = detail::slot_state::last_generation>
class concurrent_slot_map
    : public detail::concurrent_walks<concurrent_slot_map<T, Hooks, LastGeneration>> {
  static_assert(std::is_object_v<T> && !std::is_array_v<T> && !std::is_const_v<T>,
                "lido: a slot map holds objects: no references, arrays or const types");

 public:
  using value_type = T;
  using handle_type = slot_handle<T>;

  /// Throws std::invalid_argument (max_size 0, or more than 2^32 - 2), std::bad_array_new_length,
  /// std::bad_alloc.
  explicit concurrent_slot_map(const concurrent_slot_map_options& options, Hooks hooks = Hooks())
      : name_(options.name),
        max_size_(detail::checked_size(options)),
        index_bits_(static_cast<unsigned>(std::bit_width(std::uint64_t{max_size_}))),
        last_generation_(std::min(LastGeneration, all_ones >> index_bits_)),
        values_(max_size_),
        states_(std::make_unique<detail::slot_state[]>(max_size_)),
        slots_(values_.geometry(), max_size_, static_cast<std::uint32_t>(options.max_cached)),
        hooks_(std::move(hooks)) {
    static_assert(detail::values_fit<T, Hooks>());
    if (values_.storage().commit(0, values_.storage().size()) != 0) {
      throw std::bad_alloc();
    }
  }

  /// With this `max_size` and the defaults of the other options. Throws as above.
  explicit concurrent_slot_map(std::size_t max_size)
      : concurrent_slot_map(concurrent_slot_map_options{.max_size = max_size}) {}

  concurrent_slot_map(const concurrent_slot_map&) = delete;
  concurrent_slot_map& operator=(const concurrent_slot_map&) = delete;
  ~concurrent_slot_map() {
    for (std::uint32_t i = 0; i < slots_.end(); ++i) {
      // Erased first: a destructor that erases others must not find this one.
      if (states_[i].erase(states_[i].generation()) == detail::slot_state::fate::ours) {
        value_at(i).~T();
      }
    }
    detail::slot_shadow<sizeof(T)>::open_all(values_.first(), slots_.end());
  }

  /// Constructs a value from `args`. Throws pool_exhausted when all slots are taken, and what T's
  /// constructor and on_insert throw, which cost no slot. Progress: as `object_pool::acquire`. A
  /// call that finds no slot while a `shrink_to_fit` is under way waits for that, and for a few
  /// more if they follow.
  template <class... Args>
  handle_type emplace(Args&&... args) {
    void* const slot = slots_.take();
    if (slot == nullptr) [[unlikely]] {
      throw pool_exhausted(name_, max_size_, size());
    }
    return construct(slot, std::forward<Args>(args)...);
  }
  /// As emplace, of a value that is moved in. If that throws, the value is gone.
  handle_type insert(T value) { return emplace(std::move(value)); }

  /// As emplace; the null handle when all slots are taken.
  template <class... Args>
  [[nodiscard]] handle_type try_emplace(Args&&... args) {
    void* const slot = slots_.take();
    return slot != nullptr ? construct(slot, std::forward<Args>(args)...) : handle_type();
  }

  /// As emplace; when all slots are taken, erases the value whose `importance(const T&)` is the
  /// least by `<` of those a walk meets, and takes its slot. Other threads insert and change values
  /// meanwhile, so it was the least when it was read. What `importance` returns must not refer into
  /// the value, which may be gone when it is compared.
  ///
  /// Waits for threads that are with a value, also until the last one has left the erased one.
  /// Throws pool_exhausted when all slots are used up; an exception after an erase does not undo
  /// it. Requires: not called from a callback of this map, which it might wait for, nor from T's
  /// own functions or hooks; `importance` calls nothing of the map.
  template <class Importance, class... Args>
  handle_type emplace_or_evict(Importance importance, Args&&... args) {
    void* slot = slots_.take();
    while (slot == nullptr) {
      if (used_up_slots() == max_size_) {
        throw pool_exhausted(name_, max_size_, 0);
      }
      slot = evict(least(importance));
      slot = slot != nullptr ? slot : slots_.take();
    }
    return construct(slot, std::forward<Args>(args)...);
  }

  /// False when the handle is stale. What the caller did before happens before the destructor.
  /// Lock-free, and does not wait for threads that are with the value.
  bool erase(handle_type handle) noexcept {
    const std::uint32_t slot = slot_of(handle);
    if (slot >= max_size_) {
      return false;
    }
    const auto fate = states_[slot].erase(generation_of(handle));
    if (fate == detail::slot_state::fate::ours) {
      end_value_and_hand_on(slot);
    }
    return fate != detail::slot_state::fate::stale;
  }

  /// Erases the values that are there when the call begins, and perhaps some that are inserted
  /// meanwhile. Takes time for each of `extent()` slots. Progress: as erase.
  void clear() noexcept {
    for (std::uint32_t slot = 0; slot < slots_.end(); ++slot) {
      if (states_[slot].is_live()) {
        (void)erase(handle_at(slot));
      }
    }
  }

  /// Calls `f(T&)` alone with the value; false when the handle is stale. If f throws, so does this.
  template <class F>
  bool visit(handle_type handle, F&& f) {
    static_assert(std::is_invocable_v<F&, T&>, "lido: the callback of visit takes (T&)");
    const std::uint32_t slot = slot_of(handle);
    if (slot >= max_size_ || !states_[slot].enter_alone(generation_of(handle))) {
      return false;
    }
    const detail::scope_exit leave([&]() noexcept { leave_alone(slot); });
    std::invoke(f, value_at(slot));
    return true;
  }

  /// As visit, with `f(const T&)` and beside other readers.
  template <class F>
  bool read(handle_type handle, F&& f) const {
    static_assert(std::is_invocable_v<F&, const T&>, "lido: the callback of read takes (const T&)");
    const std::uint32_t slot = slot_of(handle);
    if (slot >= max_size_ || !states_[slot].enter_shared(generation_of(handle))) {
      return false;
    }
    const detail::scope_exit leave([&]() noexcept { leave_shared(slot); });
    std::invoke(f, std::as_const(value_at(slot)));
    return true;
  }

  /// Wait-free. Another thread may erase the value right away; `visit` and `read` check and enter.
  [[nodiscard]] bool contains(handle_type handle) const noexcept {
    const std::uint32_t slot = slot_of(handle);
    return slot < max_size_ && states_[slot].is_live(generation_of(handle));
  }

  /// Shortens walks to the last value: they go as far as the highest slot that had a value since
  /// the construction of the map or the last call of this. Gives whole pages of values behind it
  /// back to the system, and makes inserts use low slots first. Values do not move.
  ///
  /// Takes a few nanoseconds at most for each of `max_size()` slots; no effect if another thread is
  /// in it. Progress: holds up no thread that is with a value or finds a slot.
  void shrink_to_fit() noexcept {
    slots_.lower_end([this](std::uint32_t end, std::uint32_t before, const auto& note) noexcept {
      const std::size_t used = std::size_t{end} * sizeof(T);
      detail::slot_shadow<sizeof(T)>::open_all(values_.first() + used, before - end);
      values_.storage().discard(used, values_.storage().size() - used, note);
    });
  }

  [[nodiscard]] std::size_t max_size() const noexcept { return max_size_; }
  /// Places that a walk has to look at; see shrink_to_fit. Wait-free.
  [[nodiscard]] std::size_t extent() const noexcept { return slots_.end(); }
  /// Exact when no other thread is in a call; see pool_stats. Wait-free.
  [[nodiscard]] std::size_t size() const noexcept {
    const std::size_t in_use = slots_.stats().in_use;
    return in_use - std::min(in_use, used_up_slots());
  }
  /// As size().
  [[nodiscard]] bool empty() const noexcept { return size() == 0; }
  [[nodiscard]] std::size_t used_up_slots() const noexcept {
    // relaxed: a number for statistics
    return used_up_.load(std::memory_order_relaxed);
  }
  /// Of the slots; see pool_stats.
  [[nodiscard]] pool_stats stats() const noexcept { return slots_.stats(); }
  [[nodiscard]] const std::string& name() const noexcept { return name_; }
  /// Wait-free. What the caller does with them must be thread-safe beside the calls of other
  /// threads.
  [[nodiscard]] Hooks& hooks() noexcept { return hooks_; }
  [[nodiscard]] const Hooks& hooks() const noexcept { return hooks_; }

 private:
  friend detail::concurrent_walks<concurrent_slot_map>;
  static constexpr std::uint64_t all_ones = std::numeric_limits<std::uint64_t>::max();

  [[nodiscard]] std::uint32_t slot_of(handle_type handle) const noexcept {
    return static_cast<std::uint32_t>(handle.to_bits() & ~(all_ones << index_bits_));
  }
  [[nodiscard]] std::uint64_t generation_of(handle_type handle) const noexcept {
    return handle.to_bits() >> index_bits_;
  }
  [[nodiscard]] handle_type handle_at(std::uint32_t slot) const noexcept {
    return handle_type::from_bits(states_[slot].generation() << index_bits_ | slot);
  }
  [[nodiscard]] T& value_at(std::uint32_t slot) const noexcept {
    return *std::launder(static_cast<T*>(values_.address_of(slot)));
  }

  template <class... Args>
  handle_type construct(void* place, Args&&... args) {
    detail::scope_exit give_back([&]() noexcept { slots_.give_back(place); });
    const std::uint32_t slot = values_.geometry().index_of(place);
    const handle_type handle = handle_at(slot);
    detail::slot_shadow<sizeof(T)>::open(place);
    T* const value = detail::make<T>(place, std::forward<Args>(args)...);
    give_back.dismiss();
    if constexpr (detail::has_on_insert<Hooks, T>) {
      // The hook has seen the handle, so no other value may have it.
      detail::scope_exit take_back([&]() noexcept {
        value->~T();
        give_back_after_value(slot);
      });
      hooks_.on_insert(*value, handle);
      take_back.dismiss();
    }
    slots_.raise_end(slot);  // before others can reach the value: a thread that met it may walk
    states_[slot].publish();
    return handle;
  }

  /// The slot, which the caller owns now; null if others were faster, or it is used up.
  void* evict(handle_type victim) {
    const std::uint32_t slot = slot_of(victim);
    const std::uint64_t generation = generation_of(victim);
    const auto fate = states_[slot].erase_and_claim(generation);
    if (fate == detail::slot_state::fate::stale) {
      detail::yield_thread();
      return nullptr;
    }
    const bool again = fate == detail::slot_state::fate::ours
                           ? end_value(slot)
                           : states_[slot].wait_for_end(generation);
    return again ? values_.address_of(slot) : nullptr;
  }

  /// Destroys the value; returns whether the slot may be used again. Requires: the value is erased
  /// and the caller is the last thread with it.
  bool end_value(std::uint32_t slot) const noexcept {
    T& value = value_at(slot);
    detail::tell_of_erase(hooks_, value, [&] { return handle_at(slot); });
    value.~T();
    detail::slot_shadow<sizeof(T)>::close(values_.address_of(slot));
    return retire(slot);
  }
  bool retire(std::uint32_t slot) const noexcept {
    const bool again = states_[slot].retire_value(last_generation_);
    if (!again) {
      // relaxed: a number for statistics
      used_up_.fetch_add(1, std::memory_order_relaxed);
    }
    return again;
  }
  void give_back_after_value(std::uint32_t slot) const noexcept {
    if (retire(slot)) {
      slots_.give_back(values_.address_of(slot));
    }
  }
  void end_value_and_hand_on(std::uint32_t slot) const noexcept {
    const bool claimed = states_[slot].is_claimed();
    if (end_value(slot) && !claimed) {
      slots_.give_back(values_.address_of(slot));
    }
  }

  void leave_alone(std::uint32_t slot) noexcept {
    if (states_[slot].leave_alone()) {
      end_value_and_hand_on(slot);
    }
  }
  // const, although the last reader of an erased value destroys it.
  void leave_shared(std::uint32_t slot) const noexcept {
    if (states_[slot].leave_shared()) {
      end_value_and_hand_on(slot);
    }
  }

  template <class Importance>
  handle_type least(Importance& importance) const {
    static_assert(
        detail::ranks<Importance, T>,
        "lido: emplace_or_evict of a concurrent_slot_map compares importance(const T&) by <");
    using rank = detail::importance_of<Importance, T>;
    std::optional<rank> lowest;
    handle_type found;
    this->for_each([&](const T& value, handle_type handle) {
      rank own = std::invoke(importance, value);
      if (!lowest || own < *lowest) {
        lowest.emplace(std::move(own));
        found = handle;
      }
    });
    return found;
  }

  std::string name_;
  std::uint32_t max_size_;
  unsigned index_bits_;  ///< of a handle, the low ones
  std::uint64_t last_generation_;
  detail::slot_array<T, detail::address_space> values_;
  std::unique_ptr<detail::slot_state[]> states_;
  // mutable, since a reader may have to destroy a value and give its slot back.
  mutable detail::slot_supply slots_;
  [[no_unique_address]] mutable Hooks hooks_;
  alignas(detail::no_false_sharing) mutable detail::atomic<std::size_t> used_up_{0};
};

}  // namespace lido
