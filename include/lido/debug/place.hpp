/// @file
/// Internal. Where and in which thread something happened: one address, and the system's number.
#pragma once

#include <cstdint>

#include "lido/concurrency/thread_number.hpp"

namespace lido::detail {

/// `condition`, which the compiler may take for false all the time, so that the path past a check
/// is straight. [[unlikely]] gets lost on the way through inlined functions.
[[nodiscard, gnu::always_inline]] constexpr bool hardly_ever(bool condition) noexcept {
  return __builtin_expect_with_probability(static_cast<long>(condition), 0, 1.0) != 0;
}

/// An address in the code of the caller, for one instruction. addr2line(1) says which line it is.
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

/// Asks the system for the calling thread's id and keeps it in `checked_thread_id`. Under Valgrind
/// it is not kept: every acquire then takes the slow path, which tells Valgrind what it does.
std::uint32_t learn_thread_id() noexcept;

// NOLINTBEGIN(cppcoreguidelines-avoid-non-const-global-variables): the state of this thread
/// 0 until learnt. Defined in one file, as `thread_offset` is: a shared object may have a copy of
/// an inline variable that the library does not know.
LIDO_TLS_MODEL
[[gnu::visibility("default")]] extern constinit thread_local std::uint32_t checked_thread_id;
// NOLINTEND(cppcoreguidelines-avoid-non-const-global-variables)

/// `checked_thread_id` of the thread that makes this call; see own_thread_offset.
[[nodiscard, gnu::always_inline]] inline std::uint32_t& own_checked_thread_id() noexcept {
  LIDO_RETURN_OWN(std::uint32_t, checked_thread_id, "_ZN4lido6detail17checked_thread_idE");
}

/// The number that debuggers and /proc know the calling thread by.
[[nodiscard, gnu::always_inline]] inline std::uint32_t this_thread_id() noexcept {
  const std::uint32_t id = own_checked_thread_id();
  return id != 0 ? id : learn_thread_id();
}

}  // namespace lido::detail
