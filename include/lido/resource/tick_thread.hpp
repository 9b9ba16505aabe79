/// @file
/// Internal. A thread that calls a function from time to time.
#pragma once

#include <chrono>
#include <functional>
#include <thread>

#include "lido/concurrency/atomic.hpp"

namespace lido::detail {

class tick_thread {
 public:
  /// Throws std::system_error.
  tick_thread(std::chrono::nanoseconds period, std::function<void()> tick);
  tick_thread(const tick_thread&) = delete;
  tick_thread& operator=(const tick_thread&) = delete;
  /// Waits for a call that is under way.
  ~tick_thread();

 private:
  void run() noexcept;

  std::chrono::nanoseconds period_;
  std::function<void()> tick_;
  atomic<std::uint32_t> ended_{0};
  std::thread thread_;
};

}  // namespace lido::detail
