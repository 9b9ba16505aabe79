/// @file
/// Internal. How reports name threads: the system's number, and a name that outlives the thread.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <string_view>

#include "lido/concurrency/thread_number.hpp"

namespace lido::detail {

/// Asks the system for the calling thread's id, keeps it in `checked_thread_id`, and sees to it
/// that the thread's name is remembered when it ends. Under Valgrind it is not kept, so that every
/// acquire asks again, and there tells Valgrind what it does. Never throws, and needs no memory: in
/// a process with many thread-specific keys the C library may allocate for the name, which is not
/// remembered if that fails.
std::uint32_t learn_thread_id() noexcept;

// NOLINTBEGIN(cppcoreguidelines-avoid-non-const-global-variables): the state of this thread
/// 0 until learnt. Defined in one file, as `thread_offset` is: of an inline variable a shared
/// object may have a copy that the library does not know, or be kept loaded by it.
LIDO_TLS_MODEL
[[gnu::visibility("default")]] extern constinit thread_local std::uint32_t checked_thread_id;
// NOLINTEND(cppcoreguidelines-avoid-non-const-global-variables)

/// The number that debuggers and /proc know the calling thread by.
[[nodiscard, gnu::always_inline]] inline std::uint32_t this_thread_id() noexcept {
  const std::uint32_t id = checked_thread_id;
  return id != 0 ? id : learn_thread_id();
}

/// Writes the name of a thread, alive or ended, into `out`; empty if nobody remembers it.
[[nodiscard]] std::string_view thread_name(std::uint32_t id, std::span<char> out) noexcept;

}  // namespace lido::detail
