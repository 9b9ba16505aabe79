/// @file
/// Internal. What the registry of threads asks of the system: a mutex, words, and a call when a
/// thread ends. A model-checking build names its own header in LIDO_THREAD_SYSTEM_SEAM.
#pragma once

#ifdef LIDO_THREAD_SYSTEM_SEAM
#include LIDO_THREAD_SYSTEM_SEAM
#else

#include <mutex>

#include "../platform/platform.hpp"
#include "lido/concurrency/atomic.hpp"

namespace lido::detail {

using registry_mutex = std::mutex;

/// An atomic that lives as long as the process, and so longer than an execution of a model.
template <class T>
using registry_word = atomic<T>;

using platform::thread_exit_hook;

// One file includes this, so each copy of the library has its own of what follows.
// NOLINTBEGIN(google-build-namespaces,cert-dcl59-cpp,misc-definitions-in-headers)
namespace {

// NOLINTNEXTLINE(cppcoreguidelines-avoid-non-const-global-variables): the state of this thread
constinit thread_local bool ending_thread = false;

/// Called when the thread's number is taken back, and never undone: destructors of other keys may
/// still use pools.
void mark_thread_ending() noexcept {
  ending_thread = true;
}

[[nodiscard]] bool thread_is_ending() noexcept {
  return ending_thread;
}

}  // namespace
// NOLINTEND(google-build-namespaces,cert-dcl59-cpp,misc-definitions-in-headers)

}  // namespace lido::detail

#endif
