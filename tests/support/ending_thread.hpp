/// @file
/// A thread that has given up its number, and cannot get another number.
#pragma once

#ifdef _WIN32
#include <windows.h>
#else
#include <pthread.h>
#endif

#include <functional>
#include <thread>

#include "lido/concurrency/thread_number.hpp"

namespace lido::test {

#ifdef _WIN32

/// A function to run at the very end of a thread, when the thread has no thread-local variables any
/// more.
struct last_words {
  const std::function<void()>* body = nullptr;
  DWORD thread = 0;
};
inline last_words at_end_of_thread;

inline void NTAPI on_loader_event(void* /*module*/, DWORD event, void* /*reserved*/) {
  if (event == DLL_THREAD_DETACH && at_end_of_thread.thread == ::GetCurrentThreadId()) {
    at_end_of_thread.thread = 0;
    (*at_end_of_thread.body)();
  }
}

/// The loader calls such callbacks in the order of their sections; the library's callback is in
/// .CRT$XLY.
#ifdef _MSC_VER
#pragma comment(linker, "/INCLUDE:_tls_used /INCLUDE:lido_test_last_callback")
#pragma section(".CRT$XLYZ", long, read)
extern "C" __declspec(allocate(".CRT$XLYZ"), selectany) const PIMAGE_TLS_CALLBACK
    lido_test_last_callback = &on_loader_event;
#else
[[gnu::section(".CRT$XLYZ"), gnu::used]] static const PIMAGE_TLS_CALLBACK last_callback =
    &on_loader_event;
#endif

/// Runs `body` in a new thread that has already given its number back. The loader holds a mutex
/// while `body` runs, so `body` cannot wait for another thread to start or end. `before` has
/// already run by then.
inline void run_in_ending_thread(
    const std::function<void()>& body, const std::function<void()>& before = [] {}) {
  std::jthread([&] {
    (void)detail::assign_thread_number();
    before();
    at_end_of_thread = {&body, ::GetCurrentThreadId()};
  }).join();
}

#else

/// Runs `body` in a new thread that has already given its number back. `before` has already run by
/// then.
inline void run_in_ending_thread(
    const std::function<void()>& body, const std::function<void()>& before = [] {}) {
  struct visitor {
    const std::function<void()>* body;
    pthread_key_t key;
    int rounds = 0;
  };
  visitor last{&body, {}};
  (void)pthread_key_create(&last.key, [](void* value) {
    auto& self = *static_cast<visitor*>(value);
    // The second round comes after the destructors of all other keys have been called once.
    if (self.rounds++ == 0) {
      (void)pthread_setspecific(self.key, &self);
    } else {
      (*self.body)();
    }
  });
  std::jthread([&] {
    (void)detail::assign_thread_number();
    before();
    (void)pthread_setspecific(last.key, &last);
  }).join();
  (void)pthread_key_delete(last.key);
}

#endif

}  // namespace lido::test
