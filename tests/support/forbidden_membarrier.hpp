/// @file
/// A kernel that refuses membarrier(2), as in containers and sandboxes. Linux only.
#pragma once

#include <initializer_list>

namespace lido::test {

/// Returns whether the kernel has what the heavy fence needs. Registers nothing: a process that was
/// started for a check and calls this is still unregistered in the kernel.
[[nodiscard]] bool has_membarrier() noexcept;

/// Returns whether this system can forbid a system call (an emulator may be unable to).
[[nodiscard]] bool can_forbid_membarrier() noexcept;

/// Makes `commands` fail with EPERM, in the calling thread and in threads that it starts. This is
/// irreversible, so it is only for processes that end with the test.
void forbid_membarrier(std::initializer_list<int> commands) noexcept;

}  // namespace lido::test
