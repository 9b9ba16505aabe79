/// @file
/// LIDO_THREAD_SYSTEM_SEAM of the model build: what the registry of threads asks of the system.
#pragma once

#include "checker/sync.hpp"
#include "lido/concurrency/thread_number.hpp"

namespace lido::detail {

using registry_mutex = model::mutex;

class thread_exit_hook {
 public:
  explicit thread_exit_hook(void (*function)(void*)) noexcept : function_(function) {
    model::execution::now().keep_for_each_thread(thread_offset);
  }
  [[nodiscard]] bool arm(void* argument) const noexcept {
    model::execution::now().at_thread_exit(function_, argument);
    return true;
  }

 private:
  void (*function_)(void*);
};

/// A thread of the model does nothing after its exit.
inline void mark_thread_ending() noexcept {}
[[nodiscard]] inline bool thread_is_ending() noexcept {
  return false;
}

template <class Lock>
void keep_free_over_fork(Lock /*lock*/) noexcept {}

}  // namespace lido::detail
