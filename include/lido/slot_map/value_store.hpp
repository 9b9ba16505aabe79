/// @file
/// Internal. Values side by side with holes between them, each reached through a slot.
#pragma once

#include <algorithm>
#include <bit>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <memory>
#include <new>
#include <span>
#include <string_view>
#include <type_traits>
#include <utility>
#include <vector>

#include "lido/base/address.hpp"
#include "lido/base/assert.hpp"
#include "lido/base/huge_pages.hpp"
#include "lido/base/scope_exit.hpp"
#include "lido/base/slot_index.hpp"
#include "lido/debug/slot_shadow.hpp"
#include "lido/object/construction.hpp"
#include "lido/platform/compiler.hpp"
#include "lido/slot_map/slot_table.hpp"
#include "lido/slot_map/snapshot.hpp"
#include "lido/slot_map/value_array.hpp"
#include "lido/slot_map/value_aside.hpp"

namespace lido::inline v0::detail {

/// A count of erases and moves of values. Because the count has its own type, the compiler knows
/// that a callback's writes to values cannot change it. So it does not reload the count in the loop
/// of a walk.
enum class store_version : std::uint64_t {};

constexpr store_version operator+(store_version version, std::uint64_t changes) noexcept {
  return static_cast<store_version>(static_cast<std::uint64_t>(version) + changes);
}

/// A count of open indices, which have no value and are not listed as holes. The count has its own
/// type for the same reason as store_version.
enum class open_indices : std::uint64_t {};

/// Implements a slot map without its policies: it knows neither limits nor hooks nor walks.
///
/// Invariants
///  I1 The values are at the indices below `end()` that are not holes.
///  I2 For the value at index p, `table_.find` of its handle returns p.
///  I3 Each hole is marked. The slot of its last value stays vacant for the next value there. The
///     first `holes_` elements of the array of hole slots are the slots of these holes. The last
///     of them is filled first.
///  I4 While a constructor or destructor of T runs, the index of its value is open: marked as a
///     hole, but in no list. So the constructor or destructor may use the store. Meanwhile no value
///     moves to another index, and a block that values have moved out of is kept.
/// If a constructor of T throws, the store is unchanged, except after a move in `relocate`.
template <class T, std::uint32_t LastGeneration>
class value_store {
  using table = slot_table<LastGeneration>;

 public:
  explicit value_store(const array_source& from) noexcept : table_(from) {}
  value_store(value_store&& other) noexcept
      : array_(std::exchange(other.array_, {})),
        table_(other.table_.take_content()),
        end_(std::exchange(other.end_, 0)),
        holes_(std::exchange(other.holes_, 0)) {}
  value_store& operator=(value_store&&) = delete;
  /// Copies the values to the same indices, under the same handles. Requires: no index is open.
  [[LIDO_ASSERTS]] value_store(const value_store& other)
      : array_(other.capacity(), other.source()),
        table_(other.table_),
        end_(other.end_),
        holes_(other.holes_) {
    LIDO_ASSERT(!other.is_open(), "a copy of a slot map in a constructor or destructor of T");
    other.make_all_in(array_, [](const T& value) -> const T& { return value; });
  }
  value_store& operator=(const value_store&) = delete;
  [[LIDO_ASSERTS]] ~value_store() { erase_all(); }

  /// Exchanges the contents. Requires: no index of either store is open.
  [[LIDO_ASSERTS]] void swap(value_store& other) noexcept {
    LIDO_ASSERT(!is_open() && !other.is_open(), "a swap of slot maps in a constructor of T");
    std::swap(array_, other.array_);
    std::swap(table_, other.table_);
    std::swap(end_, other.end_);
    std::swap(holes_, other.holes_);
    changed();
    other.changed();
  }

  [[nodiscard]] std::uint32_t end() const noexcept { return end_; }
  [[nodiscard]] std::uint32_t holes() const noexcept {
    return holes_ - holes_behind_end_ + static_cast<std::uint32_t>(open_);
  }
  [[nodiscard]] std::uint32_t size() const noexcept { return end_ - holes(); }
  /// Returns the number of indices with a value, including values under construction or
  /// destruction.
  [[nodiscard]] std::uint32_t taken() const noexcept { return end_ - holes_; }
  /// Returns true while a constructor or destructor of T is running.
  [[nodiscard]] bool is_open() const noexcept { return open_ != open_indices{}; }
  [[nodiscard]] std::uint32_t capacity() const noexcept { return array_.capacity(); }
  [[nodiscard]] T* values() const noexcept { return array_.values(); }
  [[nodiscard]] array_source source() const noexcept { return table_.source(); }
  [[nodiscard]] store_version version() const noexcept { return version_; }
  [[nodiscard]] std::uint64_t holes_around(std::uint32_t index) const noexcept {
    return array_.holes_around(index);
  }
  [[nodiscard]] std::uint32_t find(std::uint64_t handle) const noexcept {
    return table_.find(handle);
  }
  /// Returns the bits of the handle of the value at `index`.
  [[nodiscard]] std::uint64_t handle_at(std::uint32_t index) const noexcept {
    return table_.handle(array_.slot(index));
  }
  /// Returns true if there is a value at `index`.
  [[nodiscard]] bool is_value(std::uint32_t index) const noexcept {
    return index < end_ && !array_.is_hole(index);
  }
  /// Returns true if `value` is one of the values of this store.
  [[nodiscard]] bool is_value(const T& value) const noexcept {
    // The distance is computed on integers, because pointers into different arrays must not be
    // subtracted.
    const std::uintptr_t distance = address_bits(std::addressof(value)) - address_bits(values());
    return distance % sizeof(T) == 0 && distance / sizeof(T) < end_ &&
           is_value(static_cast<std::uint32_t>(distance / sizeof(T)));
  }
  [[nodiscard]] std::size_t used_up() const noexcept { return table_.used_up(); }
  [[nodiscard]] std::size_t memory() const noexcept { return array_.memory() + table_.memory(); }
  void reserve_slots(std::size_t count) { table_.reserve(count); }
  /// Takes from `memory` what a new store takes for `count` values, in the order in which
  /// slot_map_core::reserve allocates it. Requires: the size does not overflow.
  static void take_memory(memory_cursor& memory, std::uint32_t count) noexcept {
    slot_table<LastGeneration>::take_memory(memory, count);
    value_array<T>::take_memory(memory, count);
  }

  /// Returns the first index at or after `index` that has a value, or end() if there is none.
  [[nodiscard]] std::uint32_t next_value(std::uint32_t index) const noexcept {
    while (holes() != 0 && index < end_) {
      const std::uint64_t used = ~array_.holes_around(index) >> (index % indices_per_word);
      if (used != 0) {
        return (std::min)(index + static_cast<std::uint32_t>(std::countr_zero(used)), end_);
      }
      index += (std::min)(indices_per_word - index % indices_per_word, end_ - index);
    }
    return (std::min)(index, end_);
  }

  /// Returns the index of the least value by `less`. Requires: there is a value.
  template <class Less>
  [[nodiscard, LIDO_ASSERTS]] std::uint32_t least(Less& less) const {
    LIDO_ASSERT(size() != 0, "the least of no values");
    static_assert(std::is_invocable_v<Less&, const T&, const T&>,
                  "lido: emplace_or_evict of a slot_map compares by less(const T&, const T&)");
    std::uint32_t best = next_value(0);
    for (std::uint32_t p = next_value(best + 1); p < end_; p = next_value(p + 1)) {
      if (std::invoke(less, std::as_const(values()[p]), std::as_const(values()[best]))) {
        best = p;
      }
    }
    return best;
  }

  /// Makes a value in a hole, or after the last value if there is no hole. Returns the bits of the
  /// new value's handle. Requires: has_room().
  template <class... Args>
  [[LIDO_ASSERTS]] std::uint64_t emplace(Args&&... args) {
    return emplace_by(
        [&](T* at, std::uint64_t /*handle*/) { make<T>(at, std::forward<Args>(args)...); });
  }

  /// Makes a value as `emplace` does, by calling `make(address, bits of the handle)`. If `wanted`
  /// is not 0, the value gets the handle with the bits `wanted`. Requires: has_room(), and `wanted`
  /// is 0 or is a handle of the slot that `claim` returns next.
  template <class Make>
  [[LIDO_ASSERTS]] std::uint64_t emplace_by(const Make& make, std::uint64_t wanted = 0) {
    LIDO_ASSERT(has_room(), "an emplace into a full array");
    const auto [index, slot] = holes_ != 0 ? open_hole() : open_at_end();
    const std::uint64_t handle = wanted != 0 ? wanted : table_.next_handle(slot);
    make_in(index, make, handle);
    table_.fill(handle, index);
    return handle;
  }

  /// A larger block for the values of a store. Its constructor makes the new value, which will
  /// follow the existing ones. The new value is made before the others move, so its arguments may
  /// refer to them.
  class larger_block {
   public:
    /// Throws whatever T's constructor throws, std::bad_alloc, or std::bad_array_new_length.
    template <class... Args>
    larger_block(const value_store& store, std::uint32_t capacity, Args&&... args)
        : array_(capacity, store.source()), index_(store.end_) {
      (void)make_at(array_.values() + index_, std::forward<Args>(args)...);
    }
    larger_block(const larger_block&) = delete;
    larger_block& operator=(const larger_block&) = delete;
    ~larger_block() {
      if (owns_) {
        end_at(array_.values() + index_);
      }
    }

    [[nodiscard]] T& value() const noexcept { return array_.values()[index_]; }

   private:
    friend class value_store;
    value_array<T> array_;
    std::uint32_t index_;
    bool owns_ = true;
  };

  /// Moves the values to the block `larger`, adopts the new value there, and returns the bits of
  /// the new value's handle. Returns 0, without effect, if the constructor of the new value has
  /// changed the store. In that case the store now has room, or another value has taken the index
  /// of the new value. Throws std::length_error. Also throws whatever `relocate` throws, with the
  /// same effects.
  [[LIDO_ASSERTS]] std::uint64_t take_over(larger_block& larger) {
    if (has_room() || end_ != larger.index_) {
      return 0;
    }
    table_.prepare();
    relocate_into(larger.array_);
    larger.owns_ = false;
    const std::uint32_t index = end_++;
    const slot_index slot = table_.claim(index);
    array_.slot(index) = slot;
    const std::uint64_t handle = table_.next_handle(slot);
    table_.fill(handle, index);
    return handle;
  }

  /// Makes a value as `emplace` does, under the handle with the bits `handle`. Returns false if
  /// can_emplace_as returns false. Requires: there are no holes, and has_room().
  [[LIDO_ASSERTS]] bool emplace_as(std::uint64_t handle, std::size_t most, T&& value) {
    LIDO_ASSERT(holes() == 0, "an emplace under a known handle beside holes");
    if (!can_emplace_as(handle, most)) {
      return false;
    }
    const bool reserved = table_.is_reserved(handle);
    if (reserved) {
      table_.use_reserved(handle);
    } else {
      table_.bring_forward(static_cast<slot_index>(handle));
    }
    // If the move of `value` throws, its slot is again the one that `claim` returns next.
    scope_exit keep_reserved([&]() noexcept {
      if (reserved) {
        (void)table_.reserve_first();
      }
    });
    (void)emplace_by([&](T* at, std::uint64_t /*handle*/) { make<T>(at, std::move(value)); },
                     handle);
    keep_reserved.dismiss();
    return true;
  }

  /// Reserves a handle for `emplace_as`. Throws std::bad_alloc or std::length_error.
  [[nodiscard, LIDO_ASSERTS]] std::uint64_t reserve_handle() { return table_.reserve_handle(); }
  /// Frees the slot of a reserved handle. Returns false if the handle is not reserved.
  [[LIDO_SLOW_PATH]] bool give_up_reserved(std::uint64_t handle) noexcept {
    const bool reserved = table_.is_reserved(handle);
    if (reserved) {
      table_.give_up_reserved(handle);
    }
    return reserved;
  }
  [[nodiscard]] bool is_reserved(std::uint64_t handle) const noexcept {
    return table_.is_reserved(handle);
  }
  [[nodiscard]] std::size_t reserved() const noexcept { return table_.reserved(); }

  [[nodiscard]] bool can_emplace_as(std::uint64_t handle, std::size_t most) const noexcept {
    return table_.can_fill_as(handle, most);
  }

  [[nodiscard]] bool has_room() const noexcept { return holes_ != 0 || end_ != capacity(); }

  /// Destroys the value at `index`. Leaves a hole there, unless the index is the last one.
  /// Requires: `handle` is the handle of that value.
  [[LIDO_ASSERTS]] void erase(std::uint32_t index, std::uint64_t handle) noexcept {
    LIDO_ASSERT(find(handle) == index, "an erase under the handle of another value");
    // The next value will be made at this index or moved to it, so the memory there is prefetched.
    LIDO_PREFETCH_FOR_WRITE(array_.values() + index);
    destroy(index, handle);
    leave(index, static_cast<slot_index>(handle));
  }

  /// Erases the value as `erase` does, and moves the last value to `index`. Returns false, without
  /// a move, if `index` was the last one or if there are holes. Requires: moving a T does not
  /// throw.
  [[LIDO_ASSERTS]] bool erase_and_fill(std::uint32_t index, std::uint64_t handle) noexcept {
    LIDO_ASSERT(find(handle) == index, "an erase under the handle of another value");
    static_assert(std::is_nothrow_move_constructible_v<T>);
    destroy(index, handle);
    if (holes() != 0 || index + 1 == end_) {
      leave(index, static_cast<slot_index>(handle));
      return false;
    }
    table_.give_up_index(static_cast<slot_index>(handle));
    move_last_to(index);
    return true;
  }

  /// Erases all values, including those that destructors insert.
  [[LIDO_ASSERTS]] void erase_all() noexcept {
    if constexpr (std::is_trivially_destructible_v<T>) {
      return;
    }
    while (size() != 0) {
      for (std::uint32_t p = next_value(0); p < end_; p = next_value(p + 1)) {
        erase(p, handle_at(p));
      }
    }
  }

  /// Returns true if freeing all slots at once takes no longer than visiting all indices.
  [[nodiscard]] bool is_dense() const noexcept { return end_ >= table_.size() / dense_part; }

  /// Erases all values without a visit to each. Requires: no index is open.
  [[LIDO_ASSERTS]] void forget_all() noexcept {
    LIDO_ASSERT(!is_open(), "values are forgotten in a constructor of T");
    static_assert(std::is_trivially_destructible_v<T>);
    table_.free_all();
    if (end_ != 0) {
      array_.unmark_first(end_);
      slot_shadow<sizeof(T)>::close_all(static_cast<std::byte*>(static_cast<void*>(values())),
                                        end_);
    }
    end_ = 0;
    holes_ = 0;
    changed();
  }

  /// Forgets all holes. Requires: there is no value, and no index is open.
  [[LIDO_ASSERTS]] void forget_holes() noexcept {
    LIDO_ASSERT(size() == 0 && !is_open(), "holes are forgotten beside values");
    const bool many = is_dense();
    end_ = 0;
    drop_holes_behind_end();
    if (many) {
      table_.sort_free();
    }
  }

  /// Ensures that an `emplace` after the erase of `handle` needs no memory. Throws std::bad_alloc
  /// or std::length_error.
  void prepare_replacement(std::uint64_t handle) { table_.prepare_for(handle); }

  /// Closes all holes by moving values from the end into them. Calls `moved(index)` after each
  /// move. If a move throws, the remaining holes stay.
  template <class Moved>
  [[LIDO_SLOW_PATH]] void close_holes(Moved moved) {
    constexpr std::uint32_t word_ahead = 8;
    constexpr std::uint32_t index_ahead = 4;
    const scope_exit keep_the_rest([&] { drop_holes_behind_end(); });
    const bool many = holes_ >= table_.size() / dense_part;
    while (holes_ != 0) {
      // Holes behind the end stay in the list until the outer loop reaches them.
      while (end_ != 0 && array_.is_hole(end_ - 1)) {
        --end_;
        ++holes_behind_end_;
      }
      // Prefetches the words and values of later holes: slots are scattered over the table, and
      // only their words contain the indices. This is not a separate function, because GCC drops
      // calls of functions that only prefetch.
      if (holes_ > word_ahead) {
        LIDO_PREFETCH_FOR_WRITE(table_.word_of(array_.hole_slot(holes_ - 1 - word_ahead)));
        const slot_index soon = array_.hole_slot(holes_ - 1 - index_ahead);
        LIDO_PREFETCH_FOR_WRITE(array_.values() + table_.index_or_any(soon));
      }
      const slot_index slot = array_.hole_slot(holes_ - 1);
      const std::uint32_t hole = table_.index_or_any(slot);
      const bool inside = hole < end_;
      if (inside) {
        move_last_to(hole);
      }
      --holes_;
      holes_behind_end_ -= inside ? 0 : 1;
      drop_hole(hole, slot);
      if (inside) {
        moved(hole);
      }
    }
    if (many) {
      table_.sort_free();
    }
  }

  /// Moves all values to a new block with room for `capacity` values; each keeps its index. If
  /// std::bad_alloc or std::bad_array_new_length is thrown, there is no effect. If a constructor of
  /// T throws and T can be copied, there is no effect either. If T cannot be copied, the values
  /// stay in the old block, some of them moved-from. Requires: capacity >= end().
  [[LIDO_ASSERTS]] void relocate(std::uint32_t capacity, std::string_view map_name) {
    LIDO_ASSERT(capacity >= end_, "an array is relocated to a smaller one than its values need");
    value_array<T> to(capacity, source(), map_name);
    relocate_into(to);
  }

  /// Exchanges the values at indices `a` and `b`; each handle still refers to its value. Requires:
  /// moving a T does not throw.
  [[LIDO_ASSERTS]] void swap(std::uint32_t a, std::uint32_t b) noexcept {
    LIDO_ASSERT(is_value(a) && is_value(b), "a swap with a hole");
    exchange(array_.values() + a, array_.values() + b);
    std::swap(array_.slot(a), array_.slot(b));
    table_.move(array_.slot(a), a);
    table_.move(array_.slot(b), b);
    changed();
  }

  [[nodiscard]] table_image image() const noexcept { return table_.image(); }

  /// Returns the table that the store would have if the values moved together in their present
  /// order, so that there were no holes. Throws std::bad_alloc. Requires: no index is open.
  [[nodiscard, LIDO_ASSERTS]] table_copy table_without_holes() const {
    LIDO_ASSERT(!is_open(), "a snapshot of a slot map in a constructor or destructor of T");
    table_copy closed = table_.copy();
    std::uint32_t before = 0;
    for (std::uint32_t p = next_value(0); p != end_; p = next_value(p + 1)) {
      table_.move_in(closed, array_.slot(p), before++);
    }
    for (std::uint32_t n = 0; n != holes_; ++n) {
      table_.give_up_index_in(closed, array_.hole_slot(n));
    }
    return closed;
  }

  /// Returns true if `image` is the table of `values` values. For `may_allocate`, see image_check.
  [[nodiscard]] static bool can_restore(const table_image& image, std::size_t values,
                                        bool may_allocate) noexcept {
    return image_check(image, values, LastGeneration).passes(may_allocate);
  }

  /// Replaces all values by copies of `values`, under the handles of `image`. Moves the values if a
  /// T cannot be copied. Throws std::bad_alloc, and whatever making a T throws. If it throws,
  /// nothing has changed, except in values that were moved. Requires: values.size() <= capacity,
  /// `can_restore` has returned true, and no index is open.
  template <class Values>
  [[LIDO_ASSERTS]] void restore(const Values& values, const table_image& image,
                                std::uint32_t capacity) {
    LIDO_ASSERT(values.size() <= capacity && !is_open(), "more values are restored than fit");
    value_store fresh(source());
    fresh.array_ = value_array<T>(capacity, source());
    fresh.reserve_slots(capacity);
    const auto end = static_cast<std::uint32_t>(values.size());
    fresh.table_.load(image, fresh.array_.first_slots(end));
    for (auto from = values.begin(); fresh.end_ != end; ++fresh.end_, ++from) {
      (void)make_at(fresh.array_.values() + fresh.end_, value_to_restore<T>(*from));
    }
    erase_all();
    std::swap(array_, fresh.array_);
    std::swap(table_, fresh.table_);
    end_ = std::exchange(fresh.end_, 0);
    holes_ = 0;
    changed();
  }

  /// Shrinks the table; see slot_table::shrink. Requires: there are no holes.
  [[LIDO_ASSERTS]] void shrink_table(std::size_t reserve) {
    LIDO_ASSERT(holes() == 0, "a table is shrunk beside holes");
    table_.shrink(reserve, [this](slot_index slot) {
      const std::uint32_t index = table_.index_or_any(slot);
      return index < end_ && array_.slot(index) == slot;
    });
  }

 private:
  static constexpr std::uint32_t indices_per_word = value_array<T>::indices_per_word;
  /// A pass over the whole table is worthwhile if it concerns at least one slot in `dense_part`.
  /// The pass takes about a nanosecond a slot, and the work on one value or hole at least four.
  static constexpr std::size_t dense_part = 4;

  template <class... Args>
  static T* make_at(T* address, Args&&... args) noexcept(makes_nothrow<T, Args...>) {
    slot_shadow<sizeof(T)>::open(address);
    return make<T>(address, std::forward<Args>(args)...);
  }
  static void end_at(T* address) noexcept {
    std::destroy_at(address);
    slot_shadow<sizeof(T)>::close(address);
  }

  /// Destroys the value at `address`, and moves `value` there. Requires: moving a T does not throw.
  static void replace(T* address, T&& value) noexcept {
    static_assert(std::is_nothrow_move_constructible_v<T>);
    std::destroy_at(address);
    (void)make<T>(address, std::move(value));
  }

  // Exchanges two values. Requires: moving a T does not throw.
  static void exchange(T* a, T* b) noexcept {
    if constexpr (is_large<T>) {
      const std::unique_ptr<value_aside<T>> aside(new (std::nothrow) value_aside<T>{std::move(*a)});
      aside ? pass_on(a, b, aside->value) : exchange_on_stack(a, b);
    } else {
      T aside(std::move(*a));
      pass_on(a, b, aside);
    }
  }
  // A separate function, so that only it needs stack space for a T.
  [[LIDO_NOINLINE]] static void exchange_on_stack(T* a, T* b) noexcept {
    T aside(std::move(*a));
    pass_on(a, b, aside);
  }
  static void pass_on(T* a, T* b, T& aside) noexcept {
    replace(a, std::move(*b));
    replace(b, std::move(aside));
  }

  void changed() noexcept { version_ = version_ + 1; }

  void open() noexcept { open_ = static_cast<open_indices>(static_cast<std::uint64_t>(open_) + 1); }
  void shut(std::uint32_t index) noexcept {
    open_ = static_cast<open_indices>(static_cast<std::uint64_t>(open_) - 1);
    array_.unmark_hole(index);
    if (!outgrown_.empty() && !is_open()) [[unlikely]] {
      outgrown_.clear();
    }
  }

  // open_hole and open_at_end open the index of the next value. They return the index and its slot.
  [[LIDO_ASSERTS]] std::pair<std::uint32_t, slot_index> open_hole() {
    const slot_index vacant = array_.hole_slot(holes_ - 1);
    const std::uint32_t index = table_.index_or_any(vacant);
    const slot_index slot = table_.prepare_to_fill(vacant);
    if (slot != vacant) [[unlikely]] {
      array_.slot(index) = slot;
    }
    --holes_;
    open();
    return {index, slot};
  }
  [[LIDO_ASSERTS]] std::pair<std::uint32_t, slot_index> open_at_end() {
    table_.prepare();
    const std::uint32_t index = end_++;
    const slot_index slot = table_.claim(index);
    array_.slot(index) = slot;
    array_.mark_hole(index);
    open();
    return {index, slot};
  }

  template <class Make>
  void make_in(std::uint32_t index, const Make& make, std::uint64_t handle) {
    T* const values = array_.values();
    scope_exit undo([&]() noexcept {
      shut(index);
      leave(index, array_.slot(index));
    });
    slot_shadow<sizeof(T)>::open(values + index);
    make(values + index, handle);
    if (array_.values() != values) [[unlikely]] {
      follow(values + index, index);
    }
    undo.dismiss();
    shut(index);
  }

  // Moves a value to the current block, to which the others moved while the value was constructed.
  [[LIDO_SLOW_PATH]] void follow(T* made, std::uint32_t index) {
    const scope_exit end_made([made]() noexcept { end_at(made); });
    (void)make_at(array_.values() + index, std::move_if_noexcept(*made));
  }

  // Destroys a value. The index is listed as a hole only afterwards, because the destructor may use
  // the store.
  [[LIDO_ASSERTS]] void destroy(std::uint32_t index, std::uint64_t handle) noexcept {
    T* const value = array_.values() + index;
    table_.vacate(handle, index);
    if constexpr (std::is_trivially_destructible_v<T>) {
      end_at(value);
    } else {
      array_.mark_hole(index);
      open();
      end_at(value);
      shut(index);
    }
    changed();
  }

  // Makes `index`, which has no value, a hole. If it is the last index, lowers the end instead.
  void leave(std::uint32_t index, slot_index slot) noexcept {
    if (index + 1 == end_) {
      table_.give_up_index(slot);
      --end_;
    } else {
      array_.mark_hole(index);
      array_.hole_slot(holes_++) = slot;
    }
  }

  void drop_hole(std::uint32_t index, slot_index slot) noexcept {
    array_.unmark_hole(index);
    table_.give_up_index(slot);
  }

  // Removes the holes at or behind the end from the list, since they are no longer holes.
  void drop_holes_behind_end() noexcept {
    const std::uint32_t listed = std::exchange(holes_, 0);
    holes_behind_end_ = 0;
    for (std::uint32_t n = 0; n != listed; ++n) {
      const slot_index slot = array_.hole_slot(n);
      const std::uint32_t index = table_.index_or_any(slot);
      if (index < end_) {
        array_.hole_slot(holes_++) = slot;
      } else {
        drop_hole(index, slot);
      }
    }
  }

  void move_last_to(std::uint32_t index) {
    const std::uint32_t last = end_ - 1;
    T* const values = array_.values();
    (void)make_at(values + index, std::move_if_noexcept(values[last]));
    end_at(values + last);
    array_.slot(index) = array_.slot(last);
    table_.move(array_.slot(index), index);
    --end_;
    changed();
  }

  // For each value of this store, makes a value in `to` from `pass(value)`, at the same index. If a
  // constructor throws, `to` contains no values.
  template <class Pass>
  void make_all_in(value_array<T>& to, Pass pass) const {
    std::uint32_t made = 0;
    scope_exit undo([&] {
      for (std::uint32_t p = next_value(0); p < made; p = next_value(p + 1)) {
        end_at(to.values() + p);
      }
    });
    for (; (made = next_value(made)) != end_; ++made) {
      (void)make_at(to.values() + made, pass(array_.values()[made]));
    }
    undo.dismiss();
    to.copy_notes(array_, end_, holes_);
  }

  void relocate_into(value_array<T>& to) {
    if (is_open()) [[unlikely]] {
      outgrown_.reserve(outgrown_.size() + 1);
    }
    make_all_in(to, [](T& value) -> decltype(auto) { return std::move_if_noexcept(value); });
    if constexpr (!std::is_trivially_destructible_v<T>) {
      for (std::uint32_t p = next_value(0); p != end_; p = next_value(p + 1)) {
        end_at(array_.values() + p);
      }
    }
    std::swap(array_, to);
    if (is_open()) [[unlikely]] {
      outgrown_.push_back(std::move(to));
    }
    changed();
  }

  value_array<T> array_;
  table table_;
  std::uint32_t end_ = 0;
  std::uint32_t holes_ = 0;
  std::uint32_t holes_behind_end_ =
      0;  ///< number of holes behind the end, while `close_holes` runs
  open_indices open_{};
  store_version version_{};
  std::vector<value_array<T>> outgrown_;  ///< blocks that were replaced while an index was open
};

}  // namespace lido::inline v0::detail
