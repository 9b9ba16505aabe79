/// @file
/// Internal. Raw storage for a fixed number of T.
#pragma once

#include <algorithm>
#include <bit>
#include <cstddef>
#include <cstdint>

#include "lido/base/fail.hpp"
#include "lido/base/huge_pages.hpp"
#include "lido/base/slot_index.hpp"
#include "lido/concurrency/atomic.hpp"

namespace lido::detail {

/// `capacity` places for a T side by side. Does not know which of them hold one. `Buffer` supplies
/// the memory; over an address_space it may have fewer pages than places.
template <class T, class Buffer = aligned_buffer>
class slot_array {
 public:
  /// Throws std::bad_array_new_length when the size overflows, std::bad_alloc when there is no
  /// memory.
  explicit slot_array(std::uint32_t capacity)
      : storage_(bytes(capacity), std::max(alignof(T), cache_line)) {}

  [[nodiscard]] slot_geometry geometry() const noexcept { return {storage_.data(), sizeof(T)}; }

  [[nodiscard]] std::byte* first() const noexcept { return storage_.data(); }

  [[nodiscard]] const Buffer& storage() const noexcept { return storage_; }

  [[nodiscard]] void* address_of(slot_index index) const noexcept {
    return geometry().address_of(index);
  }

  /// Requires: owns(object).
  [[nodiscard]] slot_index index_of(const T* object) const noexcept {
    return static_cast<slot_index>(distance_to(object) / sizeof(T));
  }

  /// Whether `object` points at the start of a slot.
  [[nodiscard]] bool owns(const T* object) const noexcept {
    const std::uintptr_t distance = distance_to(object);
    return object != nullptr && distance < storage_.size() && distance % sizeof(T) == 0;
  }

 private:
  static std::size_t bytes(std::uint32_t capacity) {
    if (capacity > PTRDIFF_MAX / sizeof(T)) {
      throw_bad_array_length();
    }
    return capacity * sizeof(T);
  }

  std::uintptr_t distance_to(const T* object) const noexcept {
    // As numbers, since a foreign pointer must not be subtracted.
    return std::bit_cast<std::uintptr_t>(object) - std::bit_cast<std::uintptr_t>(storage_.data());
  }

  Buffer storage_;
};

}  // namespace lido::detail
