/// @file
/// Checks that no wait is starved.
#pragma once

#include <atomic>

namespace lido::test {

/// Counts the waits during which very many other waits ended. In a FIFO queue these are only waits
/// of threads that the system has stopped.
class turns {
 public:
  /// A wait counts as starved if more than `most` others end meanwhile.
  explicit turns(int most) noexcept : most_(most) {}

  /// Returns the number of waits that have ended so far. Called when a wait begins.
  [[nodiscard]] int begin() const noexcept { return ended_; }

  /// Notes that the wait that began when `before` waits had ended has now ended, too.
  void end(int before, bool is_served) noexcept {
    served_ += is_served ? 1 : 0;
    starved_ += ended_++ - before > most_ ? 1 : 0;
  }

  [[nodiscard]] int served() const noexcept { return served_; }
  [[nodiscard]] int starved() const noexcept { return starved_; }

 private:
  const int most_;
  std::atomic<int> ended_{0};
  std::atomic<int> served_{0};
  std::atomic<int> starved_{0};
};

}  // namespace lido::test
