/// @file
/// Internal. Tells AddressSanitizer which slots are free. Does nothing in builds without it.
#pragma once

#include <cstddef>
#include <cstdint>
#include <cstdio>

#include "lido/base/address.hpp"
#include "lido/platform/compiler.hpp"

#if defined(LIDO_HAS_ASAN) && !defined(LIDO_NO_POISON)
#include <sanitizer/asan_interface.h>
#define LIDO_POISON_FREE_SLOTS 1
#else
#define LIDO_POISON_FREE_SLOTS 0
#endif

namespace lido::inline v0::detail {

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

/// Ends the program with a report by AddressSanitizer that `slot` is being released but is not in
/// use. This function is not inlined, so that the call stack in the report begins with the caller.
[[LIDO_NOINLINE]] inline void report_release([[maybe_unused]] void* slot) noexcept {
#if LIDO_POISON_FREE_SLOTS
  (void)std::fputs("lido: a release of what is not in use: released twice, or of another pool\n",
                   stderr);
  __asan_report_error(return_address(), frame_address(), &slot, slot, 1, 1);
#endif
}

/// Poisons the free slots of an array, so that any access to one ends the program with a report.
///
/// One shadow byte stands for a granule of 8 bytes. Slots whose sizes are not multiples of 8 share
/// the granules at their edges. Such granules always stay open: otherwise two threads would race
/// for the shadow byte.
template <std::size_t Size>
class slot_shadow {
 public:
  /// Closes `count` adjacent slots from `first` on.
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

  [[LIDO_ALWAYS_INLINE]] static void open([[maybe_unused]] const void* slot) noexcept {
#if LIDO_POISON_FREE_SLOTS
    unpoison(static_cast<const std::byte*>(slot) + start_in(slot), granules_of(slot));
#endif
  }
  [[LIDO_ALWAYS_INLINE]] static void close([[maybe_unused]] const void* slot) noexcept {
#if LIDO_POISON_FREE_SLOTS
    poison(static_cast<const std::byte*>(slot) + start_in(slot), granules_of(slot));
#endif
  }

 private:
  static constexpr std::uintptr_t granule = 8;

  /// Returns the number of bytes in the slot before its first whole granule.
  static std::size_t start_in(const void* slot) noexcept {
    return -address_bits(slot) % granule;
  }
  /// Returns the number of bytes in the slot's whole granules.
  static std::size_t granules_of(const void* slot) noexcept {
    const std::size_t start = start_in(slot);
    return start < Size ? (Size - start) / granule * granule : 0;
  }
};

}  // namespace lido::inline v0::detail
