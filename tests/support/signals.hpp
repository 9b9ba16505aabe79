/// @file
/// Signals that wake a thread out of its system call, for no reason of its own.
#pragma once

#include <gtest/gtest.h>
#include <pthread.h>

#include <atomic>
#include <csignal>
#include <thread>

namespace lido::test {

/// While it lives, SIGUSR1 ends system calls with EINTR. One at a time.
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

  /// Nothing if it has come to its end. Requires: not joined.
  static void send(std::jthread& to) { (void)::pthread_kill(to.native_handle(), SIGUSR1); }
  /// By any thread so far.
  [[nodiscard]] static int handled() { return count; }

 private:
  // NOLINTNEXTLINE(cppcoreguidelines-avoid-non-const-global-variables): a handler has no other
  inline static std::atomic<int> count{0};
  struct sigaction before_ {};
};

}  // namespace lido::test
