#include <pthread.h>
#include <unistd.h>

#include <csignal>
#include <ctime>
#include <new>

#if defined(__FreeBSD__)
#include <pthread_np.h>
#endif

#include "../platform.hpp"

namespace lido::inline v0::detail::platform {

// Uses the destructor of a thread-specific key instead of a thread_local object, for two reasons.
// The first keys of a process need no allocation, and destructors of keys run after those of all
// thread_local objects.
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

void* thread_exit_hook::armed() const noexcept {
  return pthread_getspecific(static_cast<pthread_key_t>(key_));
}

signal_guard::signal_guard() noexcept {
  static_assert(sizeof(sigset_t) <= sizeof(before_));
  sigset_t signals;
  (void)sigfillset(&signals);
  // If a thread blocks one of these signals and causes it, the program ends without calling the
  // signal's handler.
  for (const int fault : {SIGSEGV, SIGBUS, SIGILL, SIGFPE, SIGTRAP, SIGSYS, SIGABRT}) {
    (void)sigdelset(&signals, fault);
  }
  (void)pthread_sigmask(SIG_BLOCK, &signals, ::new (before_.data()) sigset_t);
}

signal_guard::~signal_guard() {
  (void)pthread_sigmask(SIG_SETMASK,
                        std::launder(static_cast<sigset_t*>(static_cast<void*>(before_.data()))),
                        nullptr);
}

void name_thread([[maybe_unused]] const char* name) noexcept {
#if defined(__APPLE__)
  (void)pthread_setname_np(name);
#elif defined(__FreeBSD__)
  pthread_set_name_np(pthread_self(), name);
#elif defined(__linux__)
  (void)pthread_setname_np(pthread_self(), name);
#endif
}

std::uint32_t process_id() noexcept {
  return static_cast<std::uint32_t>(::getpid());
}

void nap(std::uint32_t microseconds) noexcept {
  constexpr std::uint32_t second = 1'000'000;
  timespec time{};
  time.tv_sec = static_cast<std::time_t>(microseconds / second);
  time.tv_nsec = static_cast<long>(microseconds % second) * 1000;
  (void)::nanosleep(&time, nullptr);
}

}  // namespace lido::inline v0::detail::platform
