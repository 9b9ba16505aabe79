/// @file
/// Signals whose only effect is to interrupt a thread's system call.
#pragma once

#include <gtest/gtest.h>
#include <pthread.h>

#include <atomic>
#include <csignal>
#include <thread>

namespace lido::test {

/// Makes SIGUSR1 end system calls with EINTR during its lifetime. At most one such object exists at
/// a time.
class signals_without_restart {
 public:
  signals_without_restart() {
    struct sigaction counting {};
    counting.sa_handler = [](int /*signal*/) { ++count; };  // and no SA_RESTART
    EXPECT_EQ(::sigaction(SIGUSR1, &counting, &before_), 0);
  }
  signals_without_restart(const signals_without_restart&) = delete;
  signals_without_restart& operator=(const signals_without_restart&) = delete;
  ~signals_without_restart() { EXPECT_EQ(::sigaction(SIGUSR1, &before_, nullptr), 0); }

  /// Sends the signal, which has no effect if the thread has ended. Requires: the thread has not
  /// been joined.
  static void send(std::jthread& to) { (void)::pthread_kill(to.native_handle(), SIGUSR1); }
  /// Returns the number of signals handled so far, in all threads.
  [[nodiscard]] static int handled() { return count; }

 private:
  inline static std::atomic<int> count{0};
  struct sigaction before_ {};
};

}  // namespace lido::test
