/// @file
/// Internal. Where an event happened: a code address, and the system's id of the thread.
#pragma once

#include <cstdint>

#include "lido/concurrency/thread_number.hpp"
#include "lido/platform/compiler.hpp"

namespace lido::inline v0::detail {

/// A code address in the caller. Determining this address takes one instruction. The program
/// addr2line finds the source line for it. A std::source_location would have to be a default
/// argument, which cannot follow the parameter pack of `acquire(args...)`.
struct code_address {
  const void* address = nullptr;

  /// Returns an address in the function that this is inlined into.
  [[nodiscard, LIDO_ALWAYS_INLINE]] static code_address here() noexcept {
    return {own_code_address()};
  }
};

/// Asks the system for the calling thread's id and stores it in `checked_thread_id`. Does not store
/// it under Valgrind: every acquire then takes the slow path, which informs Valgrind.
std::uint32_t learn_thread_id() noexcept;

/// The calling thread's id, or 0 while it is not yet known. Defined in one file, as `thread_offset`
/// is: if it were inline, a shared object might have a copy that the library does not know.
[[LIDO_TLS_MODEL, LIDO_VISIBLE]] extern constinit thread_local std::uint32_t checked_thread_id;
#if LIDO_USES_DLL || LIDO_IS_DLL
[[nodiscard]] std::uint32_t& checked_thread_id_of_this_thread() noexcept;
#endif

/// Returns a reference to the `checked_thread_id` of the thread that makes this call, even if a
/// fiber made an earlier call in another thread.
[[nodiscard, LIDO_ALWAYS_INLINE]] inline std::uint32_t& own_checked_thread_id() noexcept {
  LIDO_RETURN_OWN(std::uint32_t, checked_thread_id, "_ZN4lido2v06detail17checked_thread_idE");
}

/// Returns the id by which debuggers and /proc know the calling thread.
[[nodiscard, LIDO_ALWAYS_INLINE]] inline std::uint32_t this_thread_id() noexcept {
  const std::uint32_t id = own_checked_thread_id();
  return id != 0 ? id : learn_thread_id();
}

}  // namespace lido::inline v0::detail
