/// @file
/// Public. `concurrent_slot_map<T>`: values for any number of threads, reached only by handle.
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
#include <string_view>
#include <type_traits>
#include <utility>
#include <vector>

#include "lido/allocator/slot_allocator.hpp"
#include "lido/base/assert.hpp"
#include "lido/base/error.hpp"
#include "lido/base/exceptions_agree.hpp"
#include "lido/base/fail.hpp"
#include "lido/base/no_hooks.hpp"
#include "lido/base/pool_stats.hpp"
#include "lido/base/scope_exit.hpp"
#include "lido/base/slot_index.hpp"
#include "lido/concurrency/atomic.hpp"
#include "lido/concurrency/backoff.hpp"
#include "lido/debug/registry.hpp"
#include "lido/debug/slot_shadow.hpp"
#include "lido/object/construction.hpp"
#include "lido/platform/compiler.hpp"
#include "lido/slot_map/callbacks.hpp"
#include "lido/slot_map/concurrent_memory.hpp"
#include "lido/slot_map/concurrent_options.hpp"
#include "lido/slot_map/concurrent_restore.hpp"
#include "lido/slot_map/slot_handle.hpp"
#include "lido/slot_map/slot_map_iterator.hpp"
#include "lido/slot_map/slot_state.hpp"
#include "lido/slot_map/snapshot.hpp"
#include "lido/slot_map/walk_block.hpp"

namespace lido::inline v0 {

/// Stores values in one array with holes, for access by handle from any number of threads. Values
/// never move. All functions are thread-safe unless their comments say otherwise.
///
/// A value is accessed only inside a callback. `visit` gives its callback exclusive access; `read`
/// shares the value with other readers. Both wait while a conflicting thread is in the value: they
/// spin first, then sleep with back-off. Waiters are served in no particular order, so a `visit`
/// cannot enter as long as readers keep overlapping. Apart from that, functions wait only where
/// those of an `object_pool` do.
///
/// `erase` never waits. Once it returns, no thread can enter the value, and the last thread in the
/// value destroys it. Hence a callback may insert values and erase any value, including its own. It
/// must not enter its own value, not even by a walk. Nor may two callbacks enter each other's
/// values. The same applies to tasks that a scheduler runs on a thread whose callback is waiting
/// for other tasks.
///
/// For each handle, insert, erase, visit, read and contains are linearizable. Walks, `size`, and
/// the error that reports a full map (see object_pool) are not. A walk visits each value that
/// exists throughout the walk exactly once. It may or may not visit any other value.
///
/// A walk moves from block to block of 128 slots. Values that are erased in its current block are
/// destroyed when the walk leaves that block. An insert that finds no free slot destroys them
/// earlier, except for the walk's current value. Requires: the callback of a walk returns on the
/// thread that called it.
///
/// A slot whose generations are used up is not used again, and the map can then store one value
/// fewer. A slot has 2^48 generations, or 2^(64 - n) if indices need n > 16 bits. `Hooks` may have
/// the same functions as for a slot_map, but any thread may call them. on_insert is called before
/// other threads can reach the value. on_move is never called. Requires on destruction: no thread
/// is in a call.
template <class T, class Hooks = no_hooks>
class concurrent_slot_map {
  static_assert(std::is_object_v<T> && !std::is_array_v<T> && !std::is_const_v<T>,
                "lido: a slot map holds objects: no references, arrays or const types");

 public:
  /// Type of the options.
  using options_type = concurrent_slot_map_options;
  using value_type = T;
  /// Type of the handles.
  using handle_type = slot_handle<T>;
  using const_iterator = slot_map_iterator<const concurrent_slot_map>;
  /// Type of a snapshot.
  using const_snapshot =
      concurrent_slot_map_snapshot<T, slot_map_values<const_iterator>, std::vector<std::uint64_t>>;

  /// Makes a map from `options`. Throws std::invalid_argument if an option is out of range or
  /// `options.memory` has too few bytes, std::bad_array_new_length if a size overflows, or
  /// std::bad_alloc.
  [[LIDO_ASSERTS]] explicit concurrent_slot_map(const concurrent_slot_map_options& options,
                                                Hooks hooks = Hooks())
      : memory_(options, layout),
        max_size_(static_cast<std::uint32_t>(options.max_size)),
        index_bits_(static_cast<unsigned>(std::bit_width(std::uint64_t{max_size_}))),
        last_generation_(
            (std::min)({detail::slot_state::last_generation, detail::last_generation_with<Hooks>,
                        all_ones >> index_bits_})),
        geometry_(memory_.values(), sizeof(T)),
        states_(memory_.states()),
        blocks_(memory_.blocks()),
        slots_{detail::slot_allocator(
                   {.geometry = geometry_,
                    .capacity = max_size_,
                    .max_cached = static_cast<std::uint32_t>(
                        options.memory == nullptr
                            ? options.max_cached
                            : (std::min)(options.max_cached, detail::most_cached_when_fixed)),
                    .name = options.name,
                    .memory = memory_.own()}),
               max_size_ * sizeof(detail::slot_state) +
                   count_blocks(max_size_) * sizeof(detail::walk_block)},
        name_(slots_.allocator.name()),
        hooks_(std::move(hooks)) {
    (void)detail::fitting_map<T, Hooks>();
    slots_.allocator.put_low_slots_first();
    if (options.registry != nullptr) {
      entry_.emplace(*options.registry, "concurrent_slot_map", name_, slots_);
    }
  }

  /// Makes a map for `max_size` values, with the defaults of all other options. Throws the same
  /// exceptions as the constructor above.
  [[LIDO_ASSERTS]] explicit concurrent_slot_map(std::size_t max_size)
      : concurrent_slot_map(concurrent_slot_map_options{.max_size = max_size}) {}

  concurrent_slot_map(const concurrent_slot_map&) = delete;
  concurrent_slot_map& operator=(const concurrent_slot_map&) = delete;
  [[LIDO_ASSERTS]] ~concurrent_slot_map() {
    LIDO_ASSERT(!walks_.any(), "a concurrent slot map ends during a walk of it");
    entry_.reset();
    for (std::uint32_t i = 0; i < end_.get(); ++i) {
      // The value is erased before it is destroyed, because a destructor that erases values must
      // not find this value.
      const auto fate = states_[i].erase(states_[i].generation());
      LIDO_ASSERT(fate != detail::slot_state::fate::theirs,
                  "a concurrent slot map ends while a thread is in one of its values");
      if (fate == detail::slot_state::fate::ours) {
        value_at(i).~T();
      }
    }
    detail::slot_shadow<sizeof(T)>::open_all(memory_.values(), end_.get());
  }

  /// Constructs a value from `args` and returns its handle. Throws pool_exhausted if all slots are
  /// taken. Also throws whatever T's constructor and on_insert throw; the slot is then freed.
  /// Progress: the same as `object_pool::acquire`.
  template <class... Args>
  [[LIDO_ASSERTS]] handle_type emplace(Args&&... args) {
    void* const slot = take_slot();
    if (slot == nullptr) [[unlikely]] {
      detail::throw_pool_exhausted(name_, max_size_, size());
    }
    return construct(slot, std::forward<Args>(args)...);
  }
  /// Adds a copy of `value`, or moves `value` into the map, as emplace does. An exception does not
  /// undo what T's move constructor has done to `value`.
  [[LIDO_ASSERTS]] handle_type insert(const T& value) { return emplace(value); }
  [[LIDO_ASSERTS]] handle_type insert(T&& value) { return emplace(std::move(value)); }

  /// Adds a value as emplace does, but returns the null handle if all slots are taken.
  template <class... Args>
  [[nodiscard, LIDO_ASSERTS]] handle_type try_emplace(Args&&... args) {
    void* const slot = take_slot();
    return slot != nullptr ? construct(slot, std::forward<Args>(args)...) : handle_type();
  }

  /// Reserves a slot, and returns the handle of the value that `emplace_at` will construct there.
  /// Until then, all other functions but `erase` refuse the handle. `size` counts the reserved
  /// slot. Returns the null handle if all slots are taken. Progress: the same as
  /// `object_pool::acquire`.
  [[nodiscard, LIDO_ASSERTS]] handle_type reserve_handle() noexcept {
    void* const address = take_slot();
    if (address == nullptr) [[unlikely]] {
      return handle_type();
    }
    const std::uint32_t slot = geometry_.index_of(address);
    const handle_type handle = handle_at(slot);
    end_.raise_above(slot);  // so that a snapshot has the slot
    states_[slot].reserve();
    return handle;
  }

  /// Constructs a value under a handle from `reserve_handle`, on any thread. Returns false, without
  /// effect, unless the handle is reserved. If several threads call this or `erase` with one
  /// handle, exactly one of them succeeds. If T's constructor throws, the handle stays reserved; if
  /// on_insert throws, it is stale. Wait-free apart from T's constructor and the hook.
  template <class... Args>
  [[nodiscard, LIDO_ASSERTS]] bool emplace_at(handle_type handle, Args&&... args) {
    const std::uint32_t slot = slot_of(handle);
    if (slot >= max_size_ || !states_[slot].claim(generation_of(handle))) {
      return false;
    }
    (void)construct_or([&]() noexcept { states_[slot].reserve(); }, geometry_.address_of(slot),
                       std::forward<Args>(args)...);
    return true;
  }

  /// Erases the value, or gives up a reserved handle. Returns false if the handle is stale.
  /// Everything that the caller did before the call happens before the value's destructor runs.
  /// Lock-free; does not wait for threads that are in the value.
  [[LIDO_ASSERTS]] bool erase(handle_type handle) noexcept {
    const std::uint32_t slot = slot_of(handle);
    if (slot >= max_size_) {
      return false;
    }
    const auto fate = states_[slot].erase(generation_of(handle));
    if (fate == detail::slot_state::fate::ours) {
      end_value_unless_walked(slot);
    }
    return fate != detail::slot_state::fate::stale || give_up(handle);
  }

  /// Erases all values that exist when the call begins, and perhaps some that are inserted during
  /// the call. Reserved handles stay reserved. Takes time proportional to `extent()`. Progress: the
  /// same as `erase`.
  [[LIDO_ASSERTS]] void clear() noexcept {
    for (std::uint32_t slot = 0; slot < end_.get(); ++slot) {
      if (states_[slot].is_live()) {
        (void)erase(handle_at(slot));
      }
    }
  }

  /// Calls `f(T&)` with exclusive access to the value. Returns false if the handle is stale. Throws
  /// whatever `f` throws.
  template <class F>
  bool visit(handle_type handle, F&& f) {
    static_assert(std::is_invocable_v<F&, T&>, "lido: the callback of visit takes (T&)");
    return enter(handle, access::alone, [&](T& value) { std::invoke(f, value); });
  }

  /// Calls `f(const T&)` with access that is shared with other readers. Otherwise behaves like
  /// `visit`.
  template <class F>
  bool read(handle_type handle, F&& f) const {
    static_assert(std::is_invocable_v<F&, const T&>, "lido: the callback of read takes (const T&)");
    return enter(handle, access::shared, [&](const T& value) { std::invoke(f, value); });
  }

  /// Returns true if the value exists. Another thread may erase it before the caller uses the
  /// result. Wait-free.
  [[nodiscard]] bool contains(handle_type handle) const noexcept {
    const std::uint32_t slot = slot_of(handle);
    return slot < max_size_ && states_[slot].is_live(generation_of(handle));
  }

  /// Calls `f(T&)`, `f(T&, handle)` or `f(T&, handle, map&)` for each value in memory order, with
  /// exclusive access. `step` lists what `f` may return. Returns true unless `f` stopped the walk.
  /// Waits at each value as `visit` does. If `f` throws, the walk stops, and its current value is
  /// not erased.
  template <class F>
  bool for_each(F&& f) {
    return walk(*this, f, 0, blocks());
  }

  /// Walks as above, but passes a `const T&` to `f`, which returns nothing or bool. Waits at each
  /// value as `read` does.
  template <class F>
  bool for_each(F&& f) const {
    return walk(*this, f, 0, blocks());
  }

  /// Walks as the two functions above do, but on the threads of `executor`, such as those of
  /// `lido::par` (lido/tbb.hpp). Several threads may call `f` at the same time. If `f` stops the
  /// walk, only the executor's current range is cut short. Throws whatever the executor throws;
  /// `lido::par` rethrows what `f` threw.
  template <parallel_executor Executor, class F>
  [[LIDO_ASSERTS]] void for_each(const Executor& executor, F f) {
    walk_on(*this, executor, f);
  }
  template <parallel_executor Executor, class F>
  [[LIDO_ASSERTS]] void for_each(const Executor& executor, F f) const {
    walk_on(*this, executor, f);
  }

  /// Calls `f` for each value as `for_each` does, but never waits. Meant for phases in which no
  /// other thread uses the map, such as between two frames. `f` may insert values and erase other
  /// values. It may erase its current value only through its return value. Requires: this is not
  /// called within a walk, and no other thread is in a call. Also requires synchronization: earlier
  /// calls of other threads happen before this call, and this call happens before their later
  /// calls.
  template <class F>
  [[LIDO_ASSERTS]] bool for_each_alone(F&& f) {
    LIDO_ASSERT(!walks_.any(), "for_each_alone beside another walk of the map");
    return walk_alone(f, 0, end_.get());
  }

  /// Calls `f` for each value as above, but on the threads of `executor`. No other thread may use
  /// the map during the call. `f` calls no function of the map, and changes the map only through
  /// its return value. Requires the same as the function above.
  template <parallel_executor Executor, class F>
  [[LIDO_ASSERTS]] void for_each_alone(const Executor& executor, F f) {
    LIDO_ASSERT(!walks_.any(), "for_each_alone beside another walk of the map");
    const std::uint32_t count = end_.get();
    executor(count, [&](std::uint32_t first, std::uint32_t last) {
      LIDO_ASSERT(first <= last && last <= count, "a range of an executor beyond the count");
      (void)walk_alone(f, first, last);
    });
  }

  /// Returns everything that `restore` needs. Copies the table, but no values. Throws
  /// std::bad_alloc. Requires: no other thread changes the map during the call, nor before the last
  /// use of the result; no walk is running that is not const.
  [[nodiscard, LIDO_ASSERTS]] const_snapshot snapshot() const {
    std::vector<std::uint64_t> table(end_.get());
    std::size_t count = 0;
    for (std::uint32_t slot = 0; slot < table.size(); ++slot) {
      const auto content = states_[slot].contents();
      table[slot] = states_[slot].generation() << 2U | static_cast<std::uint64_t>(content);
      count += content == detail::slot_state::content::value ? 1U : 0U;
    }
    return {concurrent_slot_map_format,
            max_size_,
            {const_iterator(this, next_value(0)), const_iterator(this, end_.get()), count},
            std::move(table)};
  }

  /// Returns the reason for which `restore` would reject `from`, or no problem. Changes nothing,
  /// and never throws. Does not check whether there is memory. Requires: as for `restore`.
  [[nodiscard]] option_problem problem_with(
      const concurrent_slot_map_snapshot<T>& from) const noexcept {
    return detail::restoration<concurrent_slot_map>::find_problem(*this, from);
  }
  /// Returns the same for what `snapshot()` returned, or for another range of values.
  template <class Values, class Table>
  [[nodiscard]] option_problem problem_with(
      const concurrent_slot_map_snapshot<T, Values, Table>& from) const noexcept {
    return detail::restoration<concurrent_slot_map>::find_problem(*this, from);
  }

  /// Restores the values and handles of a snapshot into this map, which must have no values. Copies
  /// the values, or moves them if T cannot be copied. Reserved handles of this map are lost.
  /// Handles given after the snapshot are given again, and handles that this map has given earlier
  /// may become valid again. Hooks are not called. Throws std::invalid_argument if this map has a
  /// value, or if the snapshot has another format or another `max_size`, or is inconsistent. Also
  /// throws std::bad_alloc, and whatever making a T throws. A call that throws has no effect,
  /// except on values that it has moved. Requires: no other thread is in a call, and no walk is
  /// running.
  [[LIDO_ASSERTS]] void restore(const concurrent_slot_map_snapshot<T>& from) {
    detail::restoration<concurrent_slot_map>(*this).run(from);
  }
  /// Restores the state from what `snapshot()` returned, or from another range of values.
  template <class Values, class Table>
  [[LIDO_ASSERTS]] void restore(const concurrent_slot_map_snapshot<T, Values, Table>& from) {
    detail::restoration<concurrent_slot_map>(*this).run(from);
  }

  /// Returns exactly how many bytes a map with `options` takes from `options.memory`, whose first
  /// byte must be aligned to 128 bytes and to `alignof(T)`. Requires: a map can be made with
  /// `options`, apart from how many bytes the source has.
  [[nodiscard]] static std::size_t bytes_needed(
      const concurrent_slot_map_options& options) noexcept {
    return detail::concurrent_map_memory::parts_needed(options, layout).bytes();
  }

  /// Returns the largest number of values at a time.
  [[nodiscard]] std::size_t max_size() const noexcept { return max_size_; }
  /// Returns the number of slots that a walk checks. It checks all up to the highest slot that has
  /// ever had a handle, in this map or in a snapshot that it has restored. Wait-free.
  [[nodiscard]] std::size_t extent() const noexcept { return end_.get(); }
  /// Returns the number of values and reserved handles. It is exact if no other thread is in a
  /// call. Wait-free.
  [[nodiscard]] std::size_t size() const noexcept {
    const std::size_t in_use = slots_.stats().in_use;
    return in_use - (std::min)(in_use, used_up_slots());
  }
  [[nodiscard]] bool empty() const noexcept { return size() == 0; }
  /// Returns the number of slots that can hold no further value, because they have given all their
  /// generations.
  [[nodiscard]] std::size_t used_up_slots() const noexcept {
    // relaxed: used only for statistics
    return used_up_.load(std::memory_order_relaxed);
  }
  /// Returns statistics of the slots.
  [[nodiscard]] slot_pool_stats stats() const noexcept { return slots_.stats(); }
  /// Returns the name, which stays valid for the lifetime of the map.
  [[nodiscard]] std::string_view name() const noexcept { return name_; }
  /// Returns the hooks. Other threads may be calling them, so the caller must use them in a
  /// thread-safe way.
  [[nodiscard]] Hooks& hooks() noexcept { return hooks_; }
  [[nodiscard]] const Hooks& hooks() const noexcept { return hooks_; }

 private:
  friend detail::pool_maker;

  [[nodiscard]] static option_problem find_problem(
      const concurrent_slot_map_options& options) noexcept {
    return detail::concurrent_map_memory::find_problem(options, layout);
  }

  using access = detail::slot_state::access;

  template <class Map>
  static constexpr access access_of = std::is_const_v<Map> ? access::shared : access::alone;
  static constexpr std::uint32_t block_size = detail::walk_block::size;
  static constexpr detail::value_layout layout{
      .size = sizeof(T), .alignment = (std::max)(alignof(T), detail::cache_line)};
  static constexpr std::uint64_t all_ones = (std::numeric_limits<std::uint64_t>::max)();

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
    return *std::launder(static_cast<T*>(geometry_.address_of(slot)));
  }

  friend detail::restoration<concurrent_slot_map>;
  // What slot_map_iterator needs.
  friend const_iterator;
  [[nodiscard]] std::uint32_t end_index() const noexcept { return end_.get(); }
  [[nodiscard]] bool is_value(std::uint32_t slot) const noexcept {
    return slot < end_.get() && states_[slot].is_live();
  }
  [[nodiscard]] std::uint32_t next_value(std::uint32_t slot) const noexcept {
    while (slot < end_.get() && !states_[slot].is_live()) {
      ++slot;
    }
    return slot;
  }

  [[nodiscard]] T* values() const noexcept { return static_cast<T*>(geometry_.address_of(0)); }
  /// Returns the number of blocks that a walk visits.
  [[nodiscard]] std::uint32_t blocks() const noexcept { return count_blocks(end_.get()); }
  [[nodiscard]] static std::uint32_t count_blocks(std::uint32_t count) noexcept {
    return detail::concurrent_map_memory::count_blocks(count);
  }
  [[nodiscard]] detail::walk_block& block_of(std::uint32_t slot) const noexcept {
    return blocks_[slot / block_size];
  }

  template <class... Args>
  [[LIDO_ASSERTS]] handle_type construct(void* address, Args&&... args) {
    return construct_or([&]() noexcept { slots_.allocator.release(address); }, address,
                        std::forward<Args>(args)...);
  }
  /// Constructs a value at `address` and publishes it. If T's constructor throws, calls `undo`.
  template <class Undo, class... Args>
  [[LIDO_ALWAYS_INLINE]] handle_type construct_or(const Undo& undo, void* address, Args&&... args) {
    detail::scope_exit give_back([&]() noexcept {
      detail::slot_shadow<sizeof(T)>::close(address);
      undo();
    });
    const std::uint32_t slot = geometry_.index_of(address);
    const handle_type handle = handle_at(slot);
    detail::slot_shadow<sizeof(T)>::open(address);
    T* const value = detail::make<T>(address, std::forward<Args>(args)...);
    give_back.dismiss();
    // The end is raised before the value is published, because a thread that finds the value may
    // start a walk, and that walk must reach the value. It is raised before the hook is called,
    // because a snapshot must know the handle that the hook has seen, even if the hook throws.
    end_.raise_above(slot);
    if constexpr (detail::names_on_insert<Hooks>) {
      // The hook has seen the handle, so no later value may get the same one.
      detail::scope_exit take_back([&]() noexcept {
        value->~T();
        free_slot(slot);
      });
      hooks_.on_insert(*value, handle);
      take_back.dismiss();
    }
    states_[slot].publish();
    return handle;
  }

  /// Frees the slot of a reserved handle. Returns false if the handle is not reserved.
  [[LIDO_SLOW_PATH, LIDO_ASSERTS]] bool give_up(handle_type handle) noexcept {
    const std::uint32_t slot = slot_of(handle);
    const bool reserved = states_[slot].claim(generation_of(handle));
    if (reserved) {
      free_slot(slot);
    }
    return reserved;
  }

  /// Destroys the value in `slot`. Requires: the value is erased, and the caller is the last thread
  /// in it.
  [[LIDO_ASSERTS]] void end_value(std::uint32_t slot) const noexcept {
    T& value = value_at(slot);
    if constexpr (detail::names_on_erase<Hooks>) {
      hooks_.on_erase(value, handle_at(slot));
    }
    value.~T();
    free_slot(slot);
  }
  [[LIDO_ASSERTS]] void free_slot(std::uint32_t slot) const noexcept {
    detail::slot_shadow<sizeof(T)>::close(geometry_.address_of(slot));
    if (states_[slot].retire_value(last_generation_)) {
      slots_.allocator.release(geometry_.address_of(slot));
    } else {
      // relaxed: used only for statistics
      used_up_.fetch_add(1, std::memory_order_relaxed);
    }
  }

  /// Takes a free slot. Returns null if there is none. A slot is not free until the destructor of
  /// its erased value has run.
  [[nodiscard, LIDO_ASSERTS]] void* take_slot() {
    void* slot = slots_.allocator.acquire();
    if (slot == nullptr && walks_.any()) [[unlikely]] {
      end_values_of_walks();
      slot = slots_.allocator.acquire();
    }
    return slot;
  }

  /// Destroys the values that were erased while a walk was in their block, except for the current
  /// values of the walks.
  [[LIDO_SLOW_PATH, LIDO_ASSERTS]] void end_values_of_walks() const noexcept {
    for (std::uint32_t i = 0; i < blocks(); ++i) {
      const std::uint32_t erased = blocks_[i].take_erased();
      const bool fenced = erased != 0 && detail::heavy_fence();
      end_values(i * block_size, erased,
                 [&](std::uint32_t index) { return fenced && !blocks_[i].is_at(index); });
    }
  }

  /// Destroys the value in `slot`. If a walk is in the block, leaves the value to that walk
  /// instead.
  [[LIDO_ASSERTS]] void end_value_unless_walked(std::uint32_t slot) const noexcept {
    if (!walks_.any() || !block_of(slot).put_erased(states_[slot], slot % block_size)) {
      end_value(slot);
    }
  }
  /// Destroys a list of values that were erased while a walk was in their block. The block begins
  /// at slot `first`. `link` is the index of the first value in the block plus 1, or 0 if the list
  /// is empty. `may_end(index)` returns true if the walk is at another index.
  template <class MayEnd>
  [[LIDO_ASSERTS]] void end_values(std::uint32_t first, std::uint32_t link,
                                   MayEnd may_end) const noexcept {
    while (link != 0) {
      const std::uint32_t index = link - 1;
      const std::uint32_t slot = first + index;
      link = states_[slot].next();
      if (may_end(index)) {
        end_value(slot);
      } else {
        end_value_unless_walked(slot);
      }
    }
  }

  /// Enters the value and calls `f` with it. Returns false if the handle is stale. The function is
  /// const although the last reader of an erased value destroys that value.
  template <class F>
  bool enter(handle_type handle, access how, F f) const {
    const std::uint32_t slot = slot_of(handle);
    bool called = false;
    detail::exponential_backoff backoff;
    while (slot < max_size_ && states_[slot].enter(generation_of(handle), how) &&
           !try_call(slot, how, f, called)) {
      backoff.wait();
    }
    return called;
  }

  /// Calls `f` with the value that the caller has entered, then leaves the value. Does not call `f`
  /// if a walk has erased the value. Sets `called` to true if `f` is called. Returns false if the
  /// caller must try again; see walk_block::let_pass.
  template <class F>
  bool try_call(std::uint32_t slot, access how, F& f, bool& called) const {
    const detail::scope_exit leave([&]() noexcept {
      if (states_[slot].leave(how)) [[unlikely]] {
        end_value_unless_walked(slot);
      }
    });
    if (walks_.any() && !block_of(slot).let_pass(slot % block_size, how)) [[unlikely]] {
      return false;
    }
    called = states_[slot].is_live();
    if (called) {
      f(value_at(slot));
    }
    return true;
  }

  /// Walks in ranges of whole blocks. If two ranges shared a block, one of them would have to enter
  /// the values of that block one by one.
  template <class Map, class Executor, class F>
  [[LIDO_ASSERTS]] static void walk_on(Map& map, const Executor& executor, F& f) {
    const std::uint32_t count = map.blocks();
    executor(count, [&](std::uint32_t first, std::uint32_t last) {
      LIDO_ASSERT(first <= last && last <= count, "a range of an executor beyond the count");
      (void)walk(map, f, first, last);
    });
  }

  /// Walks over the blocks from `first` to `last`. If the map is const, access to the values is
  /// shared.
  template <class Map, class F>
  static bool walk(Map& map, F& f, std::uint32_t first, std::uint32_t last) {
    map.walks_.begin();
    const detail::scope_exit end_of_walk([&map]() noexcept { map.walks_.end(); });
    bool on = true;
    for (std::uint32_t block = first; on && block < last; ++block) {
      on = walk_in_block(map, f, block * block_size);
    }
    return on;
  }

  template <class Map, class F>
  static bool walk_in_block(Map& map, F& f, std::uint32_t first) {
    detail::walk_block& block = map.block_of(first);
    const bool entered = block.try_enter(access_of<Map>);
    const detail::scope_exit leave([&]() noexcept {
      map.end_values(first, entered ? block.leave() : 0, [](std::uint32_t) { return true; });
    });
    const std::uint32_t end = first + (std::min)(block_size, map.max_size_ - first);
    const detail::slot_state* const states = map.states_;
    std::conditional_t<std::is_const_v<Map>, const T, T>* const values = map.values();
    bool on = true;
    for (std::uint32_t slot = first; on && slot < end; ++slot) {
      if (entered && block.come_to(slot % block_size, states[slot], access_of<Map>)) [[likely]] {
        on = !detail::stops(call(map, f, *std::launder(values + slot), slot));
      } else if (states[slot].is_live()) {
        on = visit_in_walk(map, f, slot);
      }
    }
    return on;
  }

  /// Enters the value in `slot` as a visitor does, and calls `f` with it. Returns false if `f`
  /// stops the walk.
  template <class Map, class F>
  static bool visit_in_walk(Map& map, F& f, std::uint32_t slot) {
    using value_reference = std::conditional_t<std::is_const_v<Map>, const T&, T&>;
    step verdict = step::next;
    (void)map.enter(map.handle_at(slot), access_of<Map>,
                    [&](value_reference value) { verdict = call(map, f, value, slot); });
    return !detail::stops(verdict);
  }

  template <class F>
  bool walk_alone(F& f, std::uint32_t first, std::uint32_t last) {
    const detail::slot_state* const states = states_;
    T* const values = this->values();
    for (std::uint32_t slot = first; slot < last; ++slot) {
      if (states[slot].is_live() &&
          detail::stops(call(*this, f, *std::launder(values + slot), slot))) {
        return false;
      }
    }
    return true;
  }

  /// Calls `f` for `value`, which is the value in `slot`. Erases the value if `f` returns a `step`
  /// that demands it.
  template <class Map, class F, class Value>
  static step call(Map& map, F& f, Value& value, std::uint32_t slot) {
    const step verdict = detail::visit_with(map, f, value, [&] { return map.handle_at(slot); });
    if constexpr (!std::is_const_v<Map>) {
      if (detail::erases(verdict)) {
        (void)map.erase(map.handle_at(slot));
      }
    }
    return verdict;
  }

  detail::concurrent_map_memory memory_;
  std::uint32_t max_size_;
  unsigned index_bits_;  ///< number of low bits of a handle that hold the slot index
  std::uint64_t last_generation_;
  detail::slot_geometry geometry_;
  detail::slot_state* const states_;
  detail::walk_block* const blocks_;
  mutable detail::walk_count walks_;
  // mutable, since a reader may have to destroy an erased value and release its slot.
  mutable detail::map_slots slots_;
  std::string_view name_;  ///< owned by the allocator
  detail::walk_end end_;
  [[LIDO_NO_UNIQUE_ADDRESS]] mutable Hooks hooks_;
  alignas(detail::no_false_sharing) mutable detail::atomic<std::size_t> used_up_{0};
  std::optional<detail::registration> entry_;
};

}  // namespace lido::inline v0
