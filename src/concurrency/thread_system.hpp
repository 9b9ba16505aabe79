/// @file
/// Internal. What the registry of threads asks of the system: a mutex, and a call when a thread
/// ends. A model-checking build names its own header in LIDO_THREAD_SYSTEM_SEAM.
#pragma once

#ifdef LIDO_THREAD_SYSTEM_SEAM
#include LIDO_THREAD_SYSTEM_SEAM
#else

#include <pthread.h>

#include <mutex>

namespace lido::detail {

using registry_mutex = std::mutex;

/// Calls a function when a thread ends. The key's destructor, not that of a thread_local object:
/// it needs no allocation for the first keys of a process, and it runs after the destructors of all
/// thread_local objects, so those may still use pools at full speed.
class thread_exit_hook {
 public:
  explicit thread_exit_hook(void (*function)(void*)) noexcept
      : has_key_(pthread_key_create(&key_, function) == 0) {}

  /// For the calling thread: `argument` is what the function is called with. Returns whether the
  /// call will come.
  [[nodiscard]] bool arm(void* argument) const noexcept {
    return has_key_ && pthread_setspecific(key_, argument) == 0;
  }

 private:
  pthread_key_t key_{};
  bool has_key_;
};

// NOLINTNEXTLINE(cppcoreguidelines-avoid-non-const-global-variables): the state of this thread
inline constinit thread_local bool ending_thread = false;

/// Set for good when the thread's number is taken back: destructors of other keys may still use
/// pools.
inline void mark_thread_ending() noexcept {
  ending_thread = true;
}
[[nodiscard]] inline bool thread_is_ending() noexcept {
  return ending_thread;
}

}  // namespace lido::detail

#endif
