/// @file
/// Internal. Tells AddressSanitizer which slots are free. Nothing in builds without it.
#pragma once

#include <bit>
#include <cstddef>
#include <cstdint>

#if defined(__SANITIZE_ADDRESS__)
#define LIDO_HAS_ASAN 1
#elif defined(__has_feature)
#if __has_feature(address_sanitizer)
#define LIDO_HAS_ASAN 1
#endif
#endif

#if defined(LIDO_HAS_ASAN) && !defined(LIDO_NO_POISON)
#include <sanitizer/asan_interface.h>
#define LIDO_POISON_FREE_SLOTS 1
#else
#define LIDO_POISON_FREE_SLOTS 0
#endif

namespace lido::detail {

inline void poison([[maybe_unused]] const void* first, [[maybe_unused]] std::size_t size) noexcept {
#if LIDO_POISON_FREE_SLOTS
  __asan_poison_memory_region(first, size);
#endif
}
inline void unpoison([[maybe_unused]] const void* first,
                     [[maybe_unused]] std::size_t size) noexcept {
#if LIDO_POISON_FREE_SLOTS
  __asan_unpoison_memory_region(first, size);
#endif
}

/// Poisons the free slots of an array, so that any access to one ends the program with a report.
///
/// One byte of shadow stands for a granule of 8 bytes. Slots of other sizes share the granules at
/// their edges, which always stay open: two threads would race for the byte.
template <std::size_t Size>
class slot_shadow {
 public:
#if LIDO_POISON_FREE_SLOTS
  slot_shadow(const std::byte* first, std::uint32_t capacity) noexcept
      : first_(first), capacity_(capacity) {
    close_all(first, capacity);
  }
  slot_shadow(const slot_shadow&) = delete;
  slot_shadow& operator=(const slot_shadow&) = delete;
  ~slot_shadow() {
    open_all(first_, capacity_);
  }
#else
  slot_shadow(const std::byte* /*first*/, std::uint32_t /*capacity*/) noexcept {}
#endif

  /// Of slots that come and go: all that lie side by side from `first` on.
  static void close_all([[maybe_unused]] const std::byte* first,
                        [[maybe_unused]] std::uint32_t count) noexcept {
#if LIDO_POISON_FREE_SLOTS
    for (std::size_t at = 0; at < Size * count; at += Size) {
      close(first + at);
    }
#endif
  }
  static void open_all(const std::byte* first, std::uint32_t count) noexcept {
    unpoison(first, Size * count);
  }

  static void open(const void* slot) noexcept {
    unpoison(static_cast<const std::byte*>(slot) + start_in(slot), granules_of(slot));
  }
  static void close(const void* slot) noexcept {
    poison(static_cast<const std::byte*>(slot) + start_in(slot), granules_of(slot));
  }

 private:
  static constexpr std::uintptr_t granule = 8;

  /// Bytes of the slot before its first whole granule.
  static std::size_t start_in(const void* slot) noexcept {
    return -std::bit_cast<std::uintptr_t>(slot) % granule;
  }
  /// Bytes in its whole granules.
  static std::size_t granules_of(const void* slot) noexcept {
    const std::size_t start = start_in(slot);
    return start < Size ? (Size - start) / granule * granule : 0;
  }

#if LIDO_POISON_FREE_SLOTS
  const std::byte* first_;
  std::uint32_t capacity_;
#endif
};

/// As slot_shadow, for blocks whose size is known at run time only; of a block in use also closes
/// what was not asked for. The same in all builds, and the build of the library decides whether it
/// does anything: a program with AddressSanitizer may use a library without.
/// Requires: first and size of each block are multiples of 8, so that none share a byte of shadow.
class block_shadow {
 public:
  block_shadow(const std::byte* first, std::size_t size, std::size_t bytes) noexcept;
  block_shadow(const block_shadow&) = delete;
  block_shadow& operator=(const block_shadow&) = delete;
  ~block_shadow();

  void open(const void* block, std::size_t wanted) const noexcept {
    if (active_) {
      unpoison(block, wanted);
    }
  }
  void close(const void* block) const noexcept {
    if (active_) {
      poison(block, size_);
    }
  }

 private:
  const std::byte* first_;
  std::size_t size_;
  std::size_t bytes_;
  bool active_;
};

}  // namespace lido::detail
