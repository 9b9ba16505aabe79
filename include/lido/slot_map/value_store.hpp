/// @file
/// Internal. Values side by side with holes between them, each reached through a slot.
#pragma once

#include <algorithm>
#include <bit>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <limits>
#include <memory>
#include <type_traits>
#include <utility>

#include "lido/base/fail.hpp"
#include "lido/base/huge_pages.hpp"
#include "lido/base/scope_exit.hpp"
#include "lido/base/slot_index.hpp"
#include "lido/concurrency/atomic.hpp"
#include "lido/debug/slot_shadow.hpp"
#include "lido/object/construction.hpp"
#include "lido/slot_map/slot_table.hpp"

namespace lido::detail {

/// `capacity` places for a T side by side. For each also the slot of its value, and one bit that
/// says whether it is a hole; and room for the slots of as many holes. Knows nothing of which
/// places hold a value; neither makes nor ends one.
template <class T>
class place_array {
 public:
  static constexpr std::uint32_t places_per_word = 64;

  place_array() noexcept = default;

  /// No place is a hole. Throws std::bad_array_new_length when the size overflows, std::bad_alloc.
  explicit place_array(std::uint32_t capacity)
      : memory_(array_buffer(bytes_of(capacity), alignment)),
        // Once here, not with every access: this is what makes a walk as fast as one of an array.
        values_(static_cast<T*>(static_cast<void*>(memory_->data()))),
        slots_(static_cast<slot_index*>(at_byte(slots_at(capacity)))),
        holes_(static_cast<std::uint64_t*>(at_byte(holes_at(capacity)))),
        capacity_(capacity) {
    std::fill_n(holes_, words_of(capacity), 0);
    slot_shadow<sizeof(T)>::close_all(memory_->data(), capacity);
  }

  // One that was moved from may be assigned to or destroyed. Requires of assignment: no memory
  // here.
  place_array(place_array&&) noexcept = default;
  place_array& operator=(place_array&&) noexcept = default;
  place_array(const place_array&) = delete;
  place_array& operator=(const place_array&) = delete;
  ~place_array() {
    if (memory_) {
      slot_shadow<sizeof(T)>::open_all(memory_->data(), capacity_);
    }
  }

  [[nodiscard]] std::uint32_t capacity() const noexcept { return capacity_; }
  [[nodiscard]] T* values() const noexcept { return values_; }

  /// Of the value at `place`; of a hole that of the value that was there.
  [[nodiscard]] slot_index& slot(std::uint32_t place) const noexcept { return slots_[place]; }

  /// The n-th of the slots of holes, as the owner has put them there.
  [[nodiscard]] slot_index& hole_slot(std::uint32_t n) const noexcept {
    return slots_[std::size_t{capacity_} + n];
  }

  [[nodiscard]] bool is_hole(std::uint32_t place) const noexcept {
    return (holes_[place / places_per_word] >> (place % places_per_word) & 1U) != 0;
  }
  void mark_hole(std::uint32_t place) const noexcept {
    holes_[place / places_per_word] |= std::uint64_t{1} << (place % places_per_word);
  }
  void unmark_hole(std::uint32_t place) const noexcept {
    holes_[place / places_per_word] &= ~(std::uint64_t{1} << (place % places_per_word));
  }

  /// One bit for each of the 64 places around `place`, from the lowest up: set for a hole.
  [[nodiscard]] std::uint64_t holes_around(std::uint32_t place) const noexcept {
    return holes_[place / places_per_word];
  }

  /// Copies what is known of the first `count` places and of so many holes, not the values.
  void copy_notes(const place_array& from, std::uint32_t count,
                  std::uint32_t holes) const noexcept {
    std::copy_n(from.slots_, count, slots_);
    std::copy_n(from.holes_, words_of(count), holes_);
    std::copy_n(from.slots_ + from.capacity_, holes, slots_ + capacity_);
  }

  [[nodiscard]] std::size_t memory() const noexcept { return memory_ ? memory_->size() : 0; }

 private:
  static constexpr std::size_t alignment = std::max(alignof(T), cache_line);

  static constexpr std::size_t words_of(std::uint32_t places) noexcept {
    return (std::size_t{places} + places_per_word - 1) / places_per_word;
  }
  // Values first, then the words of bits, then both arrays of slots.
  static constexpr std::size_t holes_at(std::uint32_t capacity) noexcept {
    return (std::size_t{capacity} * sizeof(T) + alignof(std::uint64_t) - 1) /
           alignof(std::uint64_t) * alignof(std::uint64_t);
  }
  static constexpr std::size_t slots_at(std::uint32_t capacity) noexcept {
    return holes_at(capacity) + words_of(capacity) * sizeof(std::uint64_t);
  }
  static std::size_t bytes_of(std::uint32_t capacity) {
    constexpr std::size_t most = std::numeric_limits<std::ptrdiff_t>::max();
    if (capacity > most / (sizeof(T) + 2 * sizeof(slot_index) + 1)) {
      throw_bad_array_length();
    }
    return slots_at(capacity) + 2 * std::size_t{capacity} * sizeof(slot_index);
  }
  [[nodiscard]] void* at_byte(std::size_t offset) const noexcept {
    return memory_->data() + offset;
  }

  std::unique_ptr<aligned_buffer> memory_;
  T* values_ = nullptr;
  slot_index* slots_ = nullptr;
  std::uint64_t* holes_ = nullptr;
  std::uint32_t capacity_ = 0;
};

/// Counts erases and moves of values. A type of its own shows the compiler that a callback's writes
/// to values do not change it, so the count stays out of the loop of a walk.
enum class store_version : std::uint64_t {};

/// The mechanism of a slot map without its policies: knows no limit, hook or walk.
///
/// Invariants
///  I1 The values are at the places below `end()` that are not holes.
///  I2 table.find(slot of the value at p) is p.
///  I3 Each hole is marked. The slot of its last value stays vacant for the next one. The first
///     `holes_` of the slots of holes are those; the last one is filled first.
/// A constructor of T that throws changes nothing, except for a move in `relocate`.
template <class T, std::uint32_t LastGeneration>
class value_store {
 public:
  value_store() noexcept = default;
  value_store(value_store&& other) noexcept
      : places_(std::exchange(other.places_, {})),
        table_(std::exchange(other.table_, {})),
        end_(std::exchange(other.end_, 0)),
        holes_(std::exchange(other.holes_, 0)) {}
  value_store& operator=(value_store&&) = delete;
  value_store(const value_store&) = delete;
  value_store& operator=(const value_store&) = delete;
  ~value_store() { destroy_all(); }

  [[nodiscard]] std::uint32_t end() const noexcept { return end_; }
  [[nodiscard]] std::uint32_t holes() const noexcept { return holes_ - holes_behind_end_; }
  [[nodiscard]] std::uint32_t size() const noexcept { return end_ - holes(); }
  [[nodiscard]] std::uint32_t capacity() const noexcept { return places_.capacity(); }
  [[nodiscard]] T* values() const noexcept { return places_.values(); }
  [[nodiscard]] store_version version() const noexcept { return version_; }
  [[nodiscard]] std::uint64_t holes_around(std::uint32_t place) const noexcept {
    return places_.holes_around(place);
  }
  [[nodiscard]] std::uint32_t find(std::uint64_t handle) const noexcept {
    return table_.find(handle);
  }
  /// The bits of the handle of the value at `place`.
  [[nodiscard]] std::uint64_t handle_at(std::uint32_t place) const noexcept {
    return table_.handle(places_.slot(place));
  }
  [[nodiscard]] std::size_t used_up() const noexcept { return table_.used_up(); }
  [[nodiscard]] std::size_t memory() const noexcept { return places_.memory() + table_.memory(); }
  void reserve_slots(std::size_t count) { table_.reserve(count); }

  /// The first place from `place` on that has a value, or end().
  [[nodiscard]] std::uint32_t next_value(std::uint32_t place) const noexcept {
    while (holes_ != 0 && place < end_) {
      const std::uint64_t used = ~places_.holes_around(place) >> (place % places_per_word);
      if (used != 0) {
        return std::min(place + static_cast<std::uint32_t>(std::countr_zero(used)), end_);
      }
      place += std::min(places_per_word - place % places_per_word, end_ - place);
    }
    return std::min(place, end_);
  }

  /// The place of the least value. Requires: there is one.
  template <class Less>
  [[nodiscard]] std::uint32_t least(Less& less) const {
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

  /// Makes a value in a hole, or behind the last value, and returns the bits of its handle.
  /// Requires: there is room.
  template <class... Args>
  std::uint64_t emplace(Args&&... args) {
    if (holes_ != 0) {
      return emplace_in_hole(std::forward<Args>(args)...);
    }
    table_.prepare();
    (void)make_at(places_.values() + end_, std::forward<Args>(args)...);
    return take_slot(end_++);
  }

  [[nodiscard]] bool has_room() const noexcept { return holes_ != 0 || end_ != capacity(); }

  /// Destroys the value at `place` and leaves a hole there, except at the end. Requires: `handle`
  /// is of that value.
  void erase(std::uint32_t place, std::uint64_t handle) noexcept {
    // The next value is made here or moved here: its memory is loaded meanwhile.
    __builtin_prefetch(places_.values() + place, 1);
    if (place + 1 == end_) {
      table_.give_back(handle);
      --end_;
    } else {
      table_.vacate(handle, place);
      places_.mark_hole(place);
      places_.hole_slot(holes_++) = static_cast<slot_index>(handle);
    }
    end_at(places_.values() + place);
    changed();
  }

  /// As erase, and moves the last value into the place. Requires: that is another one; there are no
  /// holes; moving does not throw.
  void erase_and_fill(std::uint32_t place, std::uint64_t handle) noexcept {
    table_.give_back(handle);
    end_at(places_.values() + place);
    move_last_to(place);
  }

  /// Requires: there is no value.
  void forget_holes() noexcept {
    end_ = 0;
    drop_holes_behind_end();
  }

  /// Makes sure that an `emplace` after the erase of `handle` needs no memory. Throws
  /// std::bad_alloc, std::length_error.
  void prepare_replacement(std::uint64_t handle) { table_.prepare_for(handle); }

  /// Moves values from the end into all holes; `moved(place)` after each. If a move throws, the
  /// holes not yet closed stay.
  template <class Moved>
  [[gnu::noinline]] void close_holes(Moved moved) {
    constexpr std::uint32_t word_ahead = 8;
    constexpr std::uint32_t place_ahead = 4;
    const scope_exit keep_the_rest([&] { drop_holes_behind_end(); });
    while (holes_ != 0) {
      // These stay in the list until the loop comes to them.
      while (end_ != 0 && places_.is_hole(end_ - 1)) {
        --end_;
        ++holes_behind_end_;
      }
      // Prefetched, since slots lie anywhere, and only their words say where the places are. Not in
      // a function: GCC leaves out a call that does nothing else.
      if (holes_ > word_ahead) {
        __builtin_prefetch(table_.word_of(places_.hole_slot(holes_ - 1 - word_ahead)), 1);
        const slot_index soon = places_.hole_slot(holes_ - 1 - place_ahead);
        __builtin_prefetch(places_.values() + table_.place_or_any(soon), 1);
      }
      const slot_index slot = places_.hole_slot(holes_ - 1);
      const std::uint32_t hole = table_.place_or_any(slot);
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
  }

  /// Moves all values, each to the same place of another block. Throws std::bad_alloc and
  /// std::bad_array_new_length without effect. If a constructor of T throws, there is no effect
  /// where T can be copied. Otherwise the values stay where they were, some of them moved from.
  /// Requires: capacity >= end().
  void relocate(std::uint32_t capacity) {
    place_array<T> to(capacity);
    relocate_into(to);
  }

  /// As relocate, with one value more, made from `args` before any is moved, so that they may refer
  /// to a value. Requires: there are no holes; capacity > end().
  template <class... Args>
  std::uint64_t relocate_and_emplace(std::uint32_t capacity, Args&&... args) {
    table_.prepare();
    place_array<T> to(capacity);
    const std::uint32_t place = end_;
    T* const made = make_at(to.values() + place, std::forward<Args>(args)...);
    scope_exit undo([&] { end_at(made); });
    relocate_into(to);
    undo.dismiss();
    ++end_;
    return take_slot(place);
  }

  /// See slot_table::shrink. Requires: there are no holes.
  void shrink_table(std::size_t reserve) {
    table_.shrink(reserve, [this](slot_index slot) {
      const std::uint32_t place = table_.place_or_any(slot);
      return place < end_ && places_.slot(place) == slot;
    });
  }

 private:
  static constexpr std::uint32_t places_per_word = place_array<T>::places_per_word;

  template <class... Args>
  static T* make_at(T* place, Args&&... args) noexcept(makes_nothrow<T, Args...>) {
    slot_shadow<sizeof(T)>::open(place);
    return make<T>(place, std::forward<Args>(args)...);
  }
  static void end_at(T* place) noexcept {
    std::destroy_at(place);
    slot_shadow<sizeof(T)>::close(place);
  }

  std::uint64_t take_slot(std::uint32_t place) noexcept {
    const std::uint64_t handle = table_.take(place);
    places_.slot(place) = static_cast<slot_index>(handle);
    return handle;
  }

  void changed() noexcept {
    version_ = static_cast<store_version>(static_cast<std::uint64_t>(version_) + 1);
  }

  template <class... Args>
  std::uint64_t emplace_in_hole(Args&&... args) {
    const slot_index slot = places_.hole_slot(holes_ - 1);
    const std::uint32_t place = table_.place_or_any(slot);
    table_.prepare_to_fill(slot);
    (void)make_at(places_.values() + place, std::forward<Args>(args)...);
    places_.unmark_hole(place);
    --holes_;
    const std::uint64_t handle = table_.fill(slot);
    if (static_cast<slot_index>(handle) != slot) [[unlikely]] {
      places_.slot(place) = static_cast<slot_index>(handle);
    }
    return handle;
  }

  void drop_hole(std::uint32_t place, slot_index slot) noexcept {
    places_.unmark_hole(place);
    table_.give_up_place(slot);
  }

  // Drops the holes behind the end, which are none any more; the others stay open.
  void drop_holes_behind_end() noexcept {
    const std::uint32_t listed = std::exchange(holes_, 0);
    holes_behind_end_ = 0;
    for (std::uint32_t n = 0; n != listed; ++n) {
      const slot_index slot = places_.hole_slot(n);
      const std::uint32_t place = table_.place_or_any(slot);
      if (place < end_) {
        places_.hole_slot(holes_++) = slot;
      } else {
        drop_hole(place, slot);
      }
    }
  }

  void move_last_to(std::uint32_t place) {
    const std::uint32_t last = end_ - 1;
    T* const values = places_.values();
    (void)make_at(values + place, std::move_if_noexcept(values[last]));
    end_at(values + last);
    places_.slot(place) = places_.slot(last);
    table_.move(places_.slot(place), place);
    --end_;
    changed();
  }

  void relocate_into(place_array<T>& to) {
    std::uint32_t moved = 0;
    scope_exit undo([&] {
      for (std::uint32_t p = next_value(0); p < moved; p = next_value(p + 1)) {
        end_at(to.values() + p);
      }
    });
    for (; (moved = next_value(moved)) != end_; ++moved) {
      (void)make_at(to.values() + moved, std::move_if_noexcept(places_.values()[moved]));
    }
    undo.dismiss();
    destroy_all();
    to.copy_notes(places_, end_, holes_);
    std::swap(places_, to);
    changed();
  }

  void destroy_all() noexcept {
    if constexpr (!std::is_trivially_destructible_v<T>) {
      for (std::uint32_t p = next_value(0); p != end_; p = next_value(p + 1)) {
        end_at(places_.values() + p);
      }
    }
  }

  place_array<T> places_;
  slot_table<LastGeneration> table_;
  std::uint32_t end_ = 0;
  std::uint32_t holes_ = 0;
  std::uint32_t holes_behind_end_ = 0;  ///< of these, while holes are closed
  store_version version_{};
};

}  // namespace lido::detail
