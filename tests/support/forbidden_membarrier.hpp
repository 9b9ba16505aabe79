/// @file
/// A kernel that refuses membarrier(2), as containers and sandboxes make it. Linux only.
#pragma once

#include <initializer_list>

namespace lido::test {

/// Whether the kernel has what the heavy fence needs. Registers nothing, so that a process that is
/// started anew for a check, and comes by here too, is still new to the kernel.
[[nodiscard]] bool has_membarrier() noexcept;

/// Whether this system can forbid a system call (an emulator may not).
[[nodiscard]] bool can_forbid_membarrier() noexcept;

/// From now on these commands fail with EPERM, in the calling thread and the threads it starts.
/// There is no way back: only for processes that end with the test.
void forbid_membarrier(std::initializer_list<int> commands) noexcept;

}  // namespace lido::test
