/// @file
/// Internal. Tells AddressSanitizer which slots are free. Empty in builds without it.
#pragma once

#include <cstddef>
#include <cstdint>

#if defined(__SANITIZE_ADDRESS__)
#define LIDO_POISON_FREE_SLOTS 1
#elif defined(__has_feature)
#if __has_feature(address_sanitizer)
#define LIDO_POISON_FREE_SLOTS 1
#endif
#endif

#if defined(LIDO_POISON_FREE_SLOTS) && !defined(LIDO_NO_POISON)

#include <sanitizer/asan_interface.h>

#include <bit>

namespace lido::detail {

/// Poisons the free slots of an array, so that any access to one ends the program with a report.
///
/// One byte of shadow stands for a granule of 8 bytes. Slots of other sizes share the granules at
/// their edges, which always stay open: two threads would race for the byte.
template <std::size_t Size>
class slot_shadow {
 public:
  slot_shadow(std::byte* first, std::uint32_t capacity) noexcept
      : first_(first), bytes_(Size * capacity) {
    close_all(first_, capacity);
  }
  slot_shadow(const slot_shadow&) = delete;
  slot_shadow& operator=(const slot_shadow&) = delete;
  ~slot_shadow() { __asan_unpoison_memory_region(first_, bytes_); }

  /// Of slots that come and go: all that lie side by side from `first` on.
  static void close_all(const std::byte* first, std::uint32_t count) noexcept {
    for (std::size_t at = 0; at < Size * count; at += Size) {
      close(first + at);
    }
  }
  static void open_all(const std::byte* first, std::uint32_t count) noexcept {
    __asan_unpoison_memory_region(first, Size * count);
  }

  static void open(const void* slot) noexcept {
    const span inner = granules_of(slot);
    __asan_unpoison_memory_region(inner.first, inner.size);
  }

  static void close(const void* slot) noexcept {
    const span inner = granules_of(slot);
    __asan_poison_memory_region(inner.first, inner.size);
  }

 private:
  struct span {
    const std::byte* first;
    std::size_t size;
  };

  static span granules_of(const void* slot) noexcept {
    constexpr std::uintptr_t granule = 8;
    const auto begin = std::bit_cast<std::uintptr_t>(slot);
    const std::uintptr_t from = (begin + granule - 1) / granule * granule;
    const std::uintptr_t to = (begin + Size) / granule * granule;
    return {static_cast<const std::byte*>(slot) + (from - begin), from < to ? to - from : 0};
  }

  std::byte* first_;
  std::size_t bytes_;
};

}  // namespace lido::detail

#else

namespace lido::detail {

template <std::size_t Size>
class slot_shadow {
 public:
  constexpr slot_shadow(std::byte* /*first*/, std::uint32_t /*capacity*/) noexcept {}
  static constexpr void close_all(const std::byte* /*first*/, std::uint32_t /*count*/) noexcept {}
  static constexpr void open_all(const std::byte* /*first*/, std::uint32_t /*count*/) noexcept {}
  static constexpr void open(const void* /*slot*/) noexcept {}
  static constexpr void close(const void* /*slot*/) noexcept {}
};

}  // namespace lido::detail

#endif
