/// @file
/// Internal. Where and in which thread something happened: one address, and the system's number.
#pragma once

#include <cstdint>

#include "lido/concurrency/thread_number.hpp"
#include "lido/platform/compiler.hpp"

namespace lido::inline v0::detail {

/// An address in the code of the caller, for one instruction. addr2line(1) says which line it is.
/// Not std::source_location: as a default argument it cannot follow the pack of `acquire(args...)`.
struct place {
  const void* address = nullptr;

  /// The place in the function that this is inlined into.
  [[nodiscard, LIDO_ALWAYS_INLINE]] static place here() noexcept { return {code_address()}; }
};

/// Asks the system for the calling thread's id and keeps it in `checked_thread_id`. Under Valgrind
/// it is not kept: every acquire then takes the slow path, which tells Valgrind what it does.
std::uint32_t learn_thread_id() noexcept;

// NOLINTBEGIN(cppcoreguidelines-avoid-non-const-global-variables): the state of this thread
/// 0 until learnt. Defined in one file, as `thread_offset` is: a shared object may have a copy of
/// an inline variable that the library does not know.
[[LIDO_TLS_MODEL, LIDO_VISIBLE]] extern constinit thread_local std::uint32_t checked_thread_id;
#if LIDO_USES_DLL || LIDO_IS_DLL
[[nodiscard]] std::uint32_t& checked_thread_id_of_this_thread() noexcept;
#endif
// NOLINTEND(cppcoreguidelines-avoid-non-const-global-variables)

/// `checked_thread_id` of the thread that makes this call; see own_thread_offset.
[[nodiscard, LIDO_ALWAYS_INLINE]] inline std::uint32_t& own_checked_thread_id() noexcept {
  LIDO_RETURN_OWN(std::uint32_t, checked_thread_id, "_ZN4lido2v06detail17checked_thread_idE");
}

/// The number that debuggers and /proc know the calling thread by.
[[nodiscard, LIDO_ALWAYS_INLINE]] inline std::uint32_t this_thread_id() noexcept {
  const std::uint32_t id = own_checked_thread_id();
  return id != 0 ? id : learn_thread_id();
}

}  // namespace lido::inline v0::detail
