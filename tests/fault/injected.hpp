/// @file
/// Faults of the system, injected by the linker: executables that link injected.cpp with the
/// options in CMakeLists.txt call these wrappers instead of the C library.
#pragma once

#include <atomic>

namespace lido::test {

enum class fault {
  none,
  allocation,          ///< operator new; counted by failing_new
  constructor,         ///< constructors of objects
  hook,                ///< hooks of a pool that keeps its objects
  fence_registration,  ///< membarrier(2), the first call
  fence,               ///< membarrier(2), the calls of thieves
  key_creation,        ///< pthread_key_create
  key_setting,         ///< pthread_setspecific
  fork_handlers,       ///< pthread_atfork
  thread_creation,     ///< pthread_create
  last
};

[[nodiscard]] const char* name_of(fault what) noexcept;

/// Chooses the call that fails in this process, and counts its failures.
struct injection {
  fault what = fault::none;
  long first = 0;       ///< number of the first failing call
  bool sticky = false;  ///< whether all later ones fail, too
  std::atomic<long> seen{0};
  std::atomic<long> injected{0};
  std::atomic<bool> armed{false};
};
[[nodiscard]] injection& plan() noexcept;

/// Returns true before `main`.
[[nodiscard]] bool is_too_early() noexcept;

/// Returns whether this call of `what` fails.
[[nodiscard]] bool fails(fault what) noexcept;

}  // namespace lido::test
