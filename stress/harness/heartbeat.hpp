/// @file
/// Whether the machine, rather than the library, has made somebody wait.
#pragma once

#include <algorithm>
#include <chrono>
#include <mutex>
#include <stop_token>
#include <thread>
#include <utility>
#include <vector>

namespace stress {

/// A thread that does nothing but sleep for a millisecond at a time, and knows when that took much
/// longer: then others had its processor, and every other thread of ours may have been as late.
class heartbeat {
 public:
  using clock = std::chrono::steady_clock;

  heartbeat()
      : thread_([this](const std::stop_token& stop) {
          while (!stop.stop_requested()) {
            beat();
            std::this_thread::sleep_for(std::chrono::milliseconds(1));
          }
        }) {}

  [[nodiscard]] clock::duration missed_between(clock::time_point begin, clock::time_point end) {
    const std::lock_guard guard(mutex_);
    clock::duration missed = overlap(last_, end, begin, end);  // it may be late just now
    for (auto gap = gaps_.rbegin(); gap != gaps_.rend() && gap->second > begin; ++gap) {
      missed += overlap(gap->first, gap->second, begin, end);
    }
    return missed;
  }
  [[nodiscard]] clock::duration worst() {
    const std::lock_guard guard(mutex_);
    return worst_;
  }

 private:
  static constexpr std::chrono::milliseconds much_longer{10};

  static clock::duration overlap(clock::time_point first, clock::time_point last,
                                 clock::time_point begin, clock::time_point end) {
    const auto both = std::min(last, end) - std::max(first, begin);
    return std::max(both, clock::duration::zero());
  }
  void beat() {
    const std::lock_guard guard(mutex_);
    const auto moment = clock::now();
    if (moment - last_ > much_longer) {
      gaps_.emplace_back(last_, moment);
      worst_ = std::max(worst_, moment - last_);
    }
    last_ = moment;
  }

  std::mutex mutex_;
  clock::time_point last_ = clock::now();
  clock::duration worst_{0};
  std::vector<std::pair<clock::time_point, clock::time_point>> gaps_;
  std::jthread thread_;
};

}  // namespace stress
