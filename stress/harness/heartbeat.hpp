/// @file
/// Detects that the machine, rather than the library, has made a thread wait.
#pragma once

#include <algorithm>
#include <chrono>
#include <cstddef>
#include <mutex>
#include <stop_token>
#include <thread>
#include <utility>
#include <vector>

namespace stress {

/// A thread that sleeps for a millisecond at a time, and notices when that took much longer. Then
/// something else had its processor, and every other thread of ours may have been as late. It never
/// allocates: a fork during an allocation would leave its child the sanitizer's lock.
class heartbeat {
 public:
  using clock = std::chrono::steady_clock;

  heartbeat()
      : gaps_(reserved()), thread_([this](const std::stop_token& stop) {
          while (!stop.stop_requested()) {
            beat();
            std::this_thread::sleep_for(std::chrono::milliseconds(1));
          }
        }) {}

  [[nodiscard]] clock::duration missed_between(clock::time_point begin, clock::time_point end) {
    const std::lock_guard guard(mutex_);
    clock::duration missed = overlap(last_, end, begin, end);  // it may be late right now
    for (auto late = gaps_.rbegin(); late != gaps_.rend() && late->second > begin; ++late) {
      missed += overlap(late->first, late->second, begin, end);
    }
    return missed;
  }
  [[nodiscard]] clock::duration worst() {
    const std::lock_guard guard(mutex_);
    return worst_;
  }

 private:
  using gap = std::pair<clock::time_point, clock::time_point>;

  static constexpr std::chrono::milliseconds much_longer{10};
  static constexpr std::size_t most_gaps = 4096;  // the last ones, which took at least 40 s

  static std::vector<gap> reserved() {
    std::vector<gap> gaps;
    gaps.reserve(most_gaps);
    return gaps;
  }

  static clock::duration overlap(clock::time_point first, clock::time_point last,
                                 clock::time_point begin, clock::time_point end) {
    const auto both = std::min(last, end) - std::max(first, begin);
    return std::max(both, clock::duration::zero());
  }
  void beat() {
    const std::lock_guard guard(mutex_);
    const auto moment = clock::now();
    if (moment - last_ > much_longer) {
      if (gaps_.size() == most_gaps) {
        gaps_.erase(gaps_.begin(), gaps_.begin() + most_gaps / 2);
      }
      gaps_.emplace_back(last_, moment);
      worst_ = std::max(worst_, moment - last_);
    }
    last_ = moment;
  }

  std::mutex mutex_;
  clock::time_point last_ = clock::now();
  clock::duration worst_{0};
  std::vector<gap> gaps_;
  std::jthread thread_;
};

}  // namespace stress
