/// @file
/// Internal. Memory of large arrays, on huge pages where the system has any.
#pragma once

#include <algorithm>
#include <cstddef>
#include <limits>
#include <memory>
#include <new>

#include "lido/base/aligned_buffer.hpp"

namespace lido::detail {

/// What a huge page has on most systems. Where theirs are larger, nothing is gained, nor lost.
inline constexpr std::size_t huge_page = std::size_t{2} << 20U;

/// Arrays of at least one huge page begin with one. Who reads such an array in any order then needs
/// a handful of translations of addresses, where it would need one for every 4 KiB.
[[nodiscard]] constexpr std::size_t array_alignment(std::size_t bytes,
                                                    std::size_t alignment) noexcept {
  return bytes < huge_page ? alignment : std::max(alignment, huge_page);
}

/// Whole huge pages, if that takes at most an eighth more; otherwise the rest of the array has
/// small ones.
[[nodiscard]] constexpr std::size_t array_bytes(std::size_t bytes) noexcept {
  if (bytes < huge_page || bytes > std::numeric_limits<std::size_t>::max() - huge_page) {
    return bytes;
  }
  const std::size_t whole = (bytes + huge_page - 1) / huge_page * huge_page;
  return whole - bytes <= bytes / 8 ? whole : bytes;
}

/// Asks the system for huge pages where `[data, data + bytes)` has whole ones. That may be refused;
/// nothing else changes then. Source: madvise(2), MADV_HUGEPAGE. Thread-safe.
void advise_huge_pages(void* data, std::size_t bytes) noexcept;

/// Throws std::bad_alloc. Requires: `alignment` is a power of two.
[[nodiscard]] inline std::unique_ptr<aligned_buffer> array_buffer(std::size_t bytes,
                                                                  std::size_t alignment) {
  auto memory =
      std::make_unique<aligned_buffer>(array_bytes(bytes), array_alignment(bytes, alignment));
  advise_huge_pages(memory->data(), memory->size());
  return memory;
}

/// The same for standard containers; without whole pages, since those do not ask what they got.
template <class T>
class array_allocator {
 public:
  using value_type = T;

  array_allocator() noexcept = default;
  template <class U>
  // NOLINTNEXTLINE(google-explicit-constructor): as the standard asks
  array_allocator(const array_allocator<U>& /*other*/) noexcept {}

  [[nodiscard]] T* allocate(std::size_t count) {
    if (count > std::numeric_limits<std::size_t>::max() / sizeof(T)) {
      throw std::bad_array_new_length();
    }
    const std::size_t bytes = count * sizeof(T);
    void* const memory =
        ::operator new (bytes, std::align_val_t{array_alignment(bytes, alignof(T))});
    advise_huge_pages(memory, bytes);
    return static_cast<T*>(memory);
  }
  void deallocate(T* memory, std::size_t count) noexcept {
    ::operator delete (memory, std::align_val_t{array_alignment(count * sizeof(T), alignof(T))});
  }
  friend bool operator==(const array_allocator& /*left*/,
                         const array_allocator& /*right*/) noexcept {
    return true;
  }
};

}  // namespace lido::detail
