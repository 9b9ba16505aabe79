/// @file
/// Internal. The memory of a value_store: an array for values, for their slots, and for hole bits.
#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <limits>
#include <span>
#include <string_view>

#include "lido/base/fail.hpp"
#include "lido/base/huge_pages.hpp"
#include "lido/base/memory_cursor.hpp"
#include "lido/base/slot_index.hpp"
#include "lido/concurrency/atomic.hpp"
#include "lido/debug/slot_shadow.hpp"

namespace lido::inline v0::detail {

/// An array for `capacity` values of type T. For each index it also stores the slot of the value
/// and a bit that marks a hole. It has space for the slots of up to `capacity` holes. It does not
/// know which indices have a value, and neither makes nor destroys values.
template <class T>
class value_array {
 public:
  static constexpr std::uint32_t indices_per_word = 64;

  value_array() noexcept = default;

  /// Allocates space for `capacity` values, and marks no index as a hole. Throws
  /// std::bad_array_new_length if the size overflows, or std::bad_alloc.
  value_array(std::uint32_t capacity, const array_source& from, std::string_view map_name = {})
      : memory_(bytes_of(capacity, map_name), alignment, from, map_name),
        // The address is computed once here, not at every access. This makes a walk as fast as a
        // loop over an array.
        values_(static_cast<T*>(static_cast<void*>(memory_.data()))),
        slots_(static_cast<slot_index*>(at_byte(slots_at(capacity)))),
        holes_(static_cast<std::uint64_t*>(at_byte(holes_at(capacity)))),
        capacity_(capacity) {
    std::fill_n(holes_, words_of(capacity), 0);
    slot_shadow<sizeof(T)>::close_all(memory_.data(), capacity);
  }

  // A moved-from array may be assigned to or destroyed. Requires: the target of an assignment has
  // no memory.
  value_array(value_array&&) noexcept = default;
  value_array& operator=(value_array&&) noexcept = default;
  value_array(const value_array&) = delete;
  value_array& operator=(const value_array&) = delete;
  ~value_array() {
    if (memory_.data() != nullptr) {
      slot_shadow<sizeof(T)>::open_all(memory_.data(), capacity_);
    }
  }

  [[nodiscard]] std::uint32_t capacity() const noexcept { return capacity_; }
  [[nodiscard]] T* values() const noexcept { return values_; }

  /// Returns the slot of the value at `index`. If `index` is a hole, returns the slot of the last
  /// value there.
  [[nodiscard]] slot_index& slot(std::uint32_t index) const noexcept { return slots_[index]; }

  [[nodiscard]] std::span<slot_index> first_slots(std::uint32_t count) const noexcept {
    return {slots_, count};
  }

  /// Returns element `n` of the array that lists the slots of holes. The owner of this object
  /// maintains that array.
  [[nodiscard]] slot_index& hole_slot(std::uint32_t n) const noexcept {
    return slots_[std::size_t{capacity_} + n];
  }

  [[nodiscard]] bool is_hole(std::uint32_t index) const noexcept {
    return (holes_[index / indices_per_word] >> (index % indices_per_word) & 1U) != 0;
  }
  void mark_hole(std::uint32_t index) const noexcept {
    holes_[index / indices_per_word] |= std::uint64_t{1} << (index % indices_per_word);
  }
  void unmark_hole(std::uint32_t index) const noexcept {
    holes_[index / indices_per_word] &= ~(std::uint64_t{1} << (index % indices_per_word));
  }

  /// Marks no index below `count` as a hole.
  void unmark_first(std::uint32_t count) const noexcept { std::fill_n(holes_, words_of(count), 0); }

  /// Returns the hole bits of the aligned group of 64 indices around `index`, lowest index first. A
  /// set bit marks a hole.
  [[nodiscard]] std::uint64_t holes_around(std::uint32_t index) const noexcept {
    return holes_[index / indices_per_word];
  }

  /// Copies the slots and hole bits of the first `count` indices, and the slots of the first
  /// `holes` holes. Copies no values.
  void copy_notes(const value_array& from, std::uint32_t count,
                  std::uint32_t holes) const noexcept {
    std::copy_n(from.slots_, count, slots_);
    std::copy_n(from.holes_, words_of(count), holes_);
    std::copy_n(from.slots_ + from.capacity_, holes, slots_ + capacity_);
  }

  /// Takes from `memory` what an array for `capacity` values takes. Requires: the size does not
  /// overflow.
  static void take_memory(memory_cursor& memory, std::uint32_t capacity) noexcept {
    (void)memory.take(checked_bytes_of(capacity), alignment);
  }
  /// Returns true if the size of an array for `capacity` values overflows.
  [[nodiscard]] static constexpr bool overflows(std::uint32_t capacity) noexcept {
    constexpr std::size_t most = (std::numeric_limits<std::ptrdiff_t>::max)();
    return capacity > most / (sizeof(T) + 2 * sizeof(slot_index) + 1);
  }

  [[nodiscard]] std::size_t memory() const noexcept { return memory_.size(); }

 private:
  static constexpr std::size_t alignment = (std::max)(alignof(T), cache_line);

  static constexpr std::size_t words_of(std::uint32_t indices) noexcept {
    return (std::size_t{indices} + indices_per_word - 1) / indices_per_word;
  }
  // The values come first, then the words of hole bits, then the two arrays of slots.
  static constexpr std::size_t holes_at(std::uint32_t capacity) noexcept {
    return (std::size_t{capacity} * sizeof(T) + alignof(std::uint64_t) - 1) /
           alignof(std::uint64_t) * alignof(std::uint64_t);
  }
  static constexpr std::size_t slots_at(std::uint32_t capacity) noexcept {
    return holes_at(capacity) + words_of(capacity) * sizeof(std::uint64_t);
  }
  static std::size_t bytes_of(std::uint32_t capacity, std::string_view map_name) {
    if (overflows(capacity)) {
      throw_size_overflow(map_name, "the size of all values overflows");
    }
    return checked_bytes_of(capacity);
  }
  static constexpr std::size_t checked_bytes_of(std::uint32_t capacity) noexcept {
    return slots_at(capacity) + 2 * std::size_t{capacity} * sizeof(slot_index);
  }
  [[nodiscard]] void* at_byte(std::size_t offset) const noexcept { return memory_.data() + offset; }

  array_buffer memory_;
  T* values_ = nullptr;
  slot_index* slots_ = nullptr;
  std::uint64_t* holes_ = nullptr;
  std::uint32_t capacity_ = 0;
};

}  // namespace lido::inline v0::detail
