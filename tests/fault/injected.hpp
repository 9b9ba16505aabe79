/// @file
/// Faults of the system, injected by the linker: executables that link injected.cpp with the
/// options in CMakeLists.txt call these wrappers instead of the C library.
#pragma once

#include <atomic>

namespace lido::test {

enum class fault {
  none,
  allocation,          ///< operator new; counted by failing_new
  constructor,         ///< of an object
  hook,                ///< of a pool that keeps its objects
  fence_registration,  ///< membarrier(2), the first call
  fence,               ///< membarrier(2), the calls of thieves
  key_creation,        ///< pthread_key_create
  key_setting,         ///< pthread_setspecific
  fork_handlers,       ///< pthread_atfork
  thread_creation,     ///< pthread_create
  last
};

[[nodiscard]] const char* name_of(fault what) noexcept;

/// What fails in this process, and how often it has.
struct injection {
  fault what = fault::none;
  long first = 0;       ///< the how-manieth fails
  bool sticky = false;  ///< all later ones, too
  std::atomic<long> seen{0};
  std::atomic<long> injected{0};
  std::atomic<bool> armed{false};
};
[[nodiscard]] injection& plan() noexcept;

/// Whether this is before `main`.
[[nodiscard]] bool is_too_early() noexcept;

/// Whether this occasion for `what` is one that fails.
[[nodiscard]] bool fails(fault what) noexcept;

}  // namespace lido::test
