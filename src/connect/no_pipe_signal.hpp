/// @file
/// Internal. Writing to a peer that may have gone, by a library that does nothing about SIGPIPE.
#pragma once

#include <cerrno>
#include <csignal>
#include <ctime>

namespace lido::detail {

/// Who writes to a peer that has gone is ended by SIGPIPE: while one of these lives, this thread
/// gets none, and none of its own later.
class no_pipe_signal {
 public:
  no_pipe_signal() noexcept {
    sigset_t pending;
    (void)sigpending(&pending);
    was_pending_ = sigismember(&pending, SIGPIPE) == 1;
    (void)sigemptyset(&pipe_);
    (void)sigaddset(&pipe_, SIGPIPE);
    (void)pthread_sigmask(SIG_BLOCK, &pipe_, &before_);
  }
  no_pipe_signal(const no_pipe_signal&) = delete;
  no_pipe_signal& operator=(const no_pipe_signal&) = delete;
  ~no_pipe_signal() {
    constexpr timespec at_once{};
    const int error = errno;  // of what was done meanwhile
    while (!was_pending_ && sigtimedwait(&pipe_, nullptr, &at_once) < 0 && errno == EINTR) {
    }
    (void)pthread_sigmask(SIG_SETMASK, &before_, nullptr);
    errno = error;
  }

 private:
  sigset_t pipe_{};
  sigset_t before_{};
  bool was_pending_ = false;
};

}  // namespace lido::detail
