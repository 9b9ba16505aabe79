#include <pthread.h>
#include <unistd.h>

#include "../platform.hpp"

namespace lido::detail::platform {

// By the destructor of a key instead of a thread_local object. The first keys of a process need no
// allocation, and their destructors run after those of all thread_local objects.
bool thread_exit_hook::prepare(void (*function)(void*)) noexcept {
  pthread_key_t key{};
  if (function_ == nullptr && pthread_key_create(&key, function) == 0) {
    function_ = function;
    key_ = key;
  }
  return function_ != nullptr;
}

bool thread_exit_hook::arm(void* argument) const noexcept {
  return pthread_setspecific(static_cast<pthread_key_t>(key_), argument) == 0;
}

int forbid_cancel() noexcept {
  int before = PTHREAD_CANCEL_ENABLE;
  (void)pthread_setcancelstate(PTHREAD_CANCEL_DISABLE, &before);
  return before;
}

void allow_cancel(int before) noexcept {
  (void)pthread_setcancelstate(before, nullptr);
}

bool on_fork(void (*before)(), void (*parent)(), void (*child)()) noexcept {
  return pthread_atfork(before, parent, child) == 0;
}

std::uint32_t process_id() noexcept {
  return static_cast<std::uint32_t>(::getpid());
}

}  // namespace lido::detail::platform
