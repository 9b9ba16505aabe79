/// @file
/// Internal. Where in the program something happened, as one address.
#pragma once

namespace lido::detail {

/// An address in the code of the caller, for as little as one instruction. Which function, file and
/// line it belongs to is found out when a report is written.
///
/// Not std::source_location: as a default argument it cannot follow the pack of `acquire(args...)`.
struct place {
  const void* address = nullptr;

  /// The place in the function that this is inlined into.
  [[nodiscard, gnu::always_inline]] static place here() noexcept {
    place found;
#if defined(__x86_64__)
    // Volatile, so that two places in one function stay two. It names a byte of itself.
    asm volatile("lea -1(%%rip), %0" : "=r"(found.address));  // NOLINT(hicpp-no-assembler)
#elif defined(__aarch64__)
    asm volatile("adr %0, ." : "=r"(found.address));  // NOLINT(hicpp-no-assembler)
#endif
    return found;
  }
};

}  // namespace lido::detail
