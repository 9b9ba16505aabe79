/// @file
/// A kernel that refuses membarrier(2), as in containers and sandboxes. Linux only.
#pragma once

#include <initializer_list>

namespace lido::test {

/// Returns whether the kernel has what the heavy fence needs. Registers nothing, so a process
/// started for a check, which also calls this, is still new to the kernel.
[[nodiscard]] bool has_membarrier() noexcept;

/// Returns whether this system can forbid a system call (an emulator may not).
[[nodiscard]] bool can_forbid_membarrier() noexcept;

/// Makes these commands fail with EPERM, in the calling thread and the threads it starts. This is
/// irreversible: only for processes that end with the test.
void forbid_membarrier(std::initializer_list<int> commands) noexcept;

}  // namespace lido::test
