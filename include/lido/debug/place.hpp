/// @file
/// Internal. Where in the program something happened, as one address.
#pragma once

namespace lido::detail {

/// `condition`, which the compiler may take for false all the time: it lays out a check so that the
/// way past it is straight. [[unlikely]] says that of a branch only, and gets lost on the way
/// through inlined functions.
[[nodiscard, gnu::always_inline]] constexpr bool hardly_ever(bool condition) noexcept {
  return __builtin_expect_with_probability(static_cast<long>(condition), 0, 1.0) != 0;
}

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
#else
    found.address = __builtin_return_address(0);
#endif
    return found;
  }
};

}  // namespace lido::detail
