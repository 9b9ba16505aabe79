/// @file
/// Internal. One block of memory with places for values, and what is known of each place.
#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <limits>
#include <memory>
#include <new>
#include <utility>

#include "lido/base/aligned_buffer.hpp"
#include "lido/base/huge_pages.hpp"
#include "lido/base/slot_index.hpp"
#include "lido/concurrency/cache_line.hpp"
#include "lido/debug/slot_shadow.hpp"

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
        hole_slots_(slots_ + capacity),
        holes_(static_cast<std::uint64_t*>(at_byte(holes_at(capacity)))),
        capacity_(capacity) {
    std::fill_n(holes_, words_of(capacity), 0);
    slot_shadow<sizeof(T)>::close_all(memory_->data(), capacity);
  }

  place_array(place_array&& other) noexcept { swap(other); }
  place_array& operator=(place_array&& other) noexcept {
    place_array(std::move(other)).swap(*this);
    return *this;
  }
  place_array(const place_array&) = delete;
  place_array& operator=(const place_array&) = delete;
  ~place_array() {
    if (memory_) {
      slot_shadow<sizeof(T)>::open_all(memory_->data(), capacity_);
    }
  }

  void swap(place_array& other) noexcept {
    std::swap(memory_, other.memory_);
    std::swap(values_, other.values_);
    std::swap(slots_, other.slots_);
    std::swap(hole_slots_, other.hole_slots_);
    std::swap(holes_, other.holes_);
    std::swap(capacity_, other.capacity_);
  }

  [[nodiscard]] std::uint32_t capacity() const noexcept { return capacity_; }
  [[nodiscard]] T* values() const noexcept { return values_; }

  /// The slot of the value at `place`; of a hole that of the value that was there.
  [[nodiscard]] slot_index& slot(std::uint32_t place) const noexcept { return slots_[place]; }

  /// The n-th of the slots of holes, as the owner has put them there.
  [[nodiscard]] slot_index& hole_slot(std::uint32_t n) const noexcept { return hole_slots_[n]; }

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
    std::copy_n(from.hole_slots_, holes, hole_slots_);
  }

  [[nodiscard]] std::size_t memory() const noexcept { return memory_ ? memory_->size() : 0; }

 private:
  static constexpr std::size_t alignment = std::max(alignof(T), cache_line);

  static constexpr std::size_t words_of(std::uint32_t places) noexcept {
    return (std::size_t{places} + places_per_word - 1) / places_per_word;
  }
  // Values first, then the words of bits, then both arrays of slots: each begins where its type
  // may.
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
      throw std::bad_array_new_length();
    }
    return slots_at(capacity) + 2 * std::size_t{capacity} * sizeof(slot_index);
  }
  [[nodiscard]] void* at_byte(std::size_t offset) const noexcept {
    return memory_->data() + offset;
  }

  std::unique_ptr<aligned_buffer> memory_;
  T* values_ = nullptr;
  slot_index* slots_ = nullptr;
  slot_index* hole_slots_ = nullptr;
  std::uint64_t* holes_ = nullptr;
  std::uint32_t capacity_ = 0;
};

}  // namespace lido::detail
