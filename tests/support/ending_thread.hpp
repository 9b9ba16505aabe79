/// @file
/// A thread that is past the end of its number, and can get no other.
#pragma once

#include <pthread.h>

#include <functional>
#include <thread>

#include "lido/concurrency/thread_number.hpp"

namespace lido::test {

/// Runs `body` in a thread of its own that has already given its number back.
inline void run_in_ending_thread(const std::function<void()>& body) {
  struct visitor {
    const std::function<void()>* body;
    pthread_key_t key;
    int rounds = 0;
  };
  visitor last{&body, {}};
  (void)pthread_key_create(&last.key, [](void* place) {
    auto& self = *static_cast<visitor*>(place);
    // The second round comes after the first call of all other keys.
    if (self.rounds++ == 0) {
      (void)pthread_setspecific(self.key, &self);
    } else {
      (*self.body)();
    }
  });
  std::jthread([&last] {
    (void)detail::assign_thread_number();
    (void)pthread_setspecific(last.key, &last);
  }).join();
  (void)pthread_key_delete(last.key);
}

}  // namespace lido::test
