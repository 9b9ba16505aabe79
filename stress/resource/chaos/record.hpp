/// @file
/// What happened in a run.
#pragma once

#include <algorithm>
#include <atomic>
#include <chrono>
#include <cstdint>
#include <filesystem>
#include <iterator>
#include <map>
#include <mutex>
#include <string_view>
#include <thread>
#include <utility>
#include <vector>

#include "harness/heartbeat.hpp"
#include "lido/resource/stats.hpp"

namespace chaos {

using clock = std::chrono::steady_clock;

using stress::heartbeat;

struct record {
  std::atomic<std::uint64_t> served{0};     ///< requests with the right answer
  std::atomic<std::uint64_t> failed{0};     ///< requests with no answer, or a wrong one
  std::atomic<std::uint64_t> refused{0};    ///< acquires that ended with an error
  std::atomic<std::uint64_t> cancelled{0};  ///< refused by a stop token
  std::atomic<std::uint64_t> most_cancelled_at_once{0};
  std::atomic<std::uint64_t> refused_for_good{0};  ///< refused by a permanent failure
  std::atomic<std::uint64_t> faults{0};            ///< faults of the backend
  std::atomic<std::uint64_t> thrown_creates{0};    ///< creates that threw at random
  std::atomic<std::uint64_t> permanent_failures{0};
  std::atomic<std::uint64_t> reopened{0};
  std::atomic<std::uint64_t> clock_jumps{0};
  std::atomic<std::uint64_t> resizes{0};
  std::atomic<std::uint64_t> flushes{0};
  std::atomic<std::uint64_t> suspends{0};
  std::atomic<std::uint64_t> kills{0};  ///< resources killed by their holders
  std::atomic<std::uint64_t> kills_of_others{0};
  std::atomic<std::uint64_t> slow_connects{0};  ///< took longer than they should
  std::atomic<std::int64_t> slowest_connect_ms{0};
  std::atomic<std::uint64_t> callbacks{0};
  std::atomic<std::uint64_t> called{0};
  std::atomic<std::uint64_t> most_waiting{0};  ///< most waiters at once
  std::atomic<std::uint64_t> late{0};          ///< waits that ended later than the bound allows
  std::atomic<std::int64_t> alive{0};          ///< connections made and not yet ended
  std::atomic<std::int64_t> worst_late_us{0};
  heartbeat pulse;

  /// Records the end of a wait whose deadline was `deadline`. Time in which the whole machine stood
  /// still does not count.
  void note_end(clock::time_point deadline, std::chrono::milliseconds bound) {
    const auto moment = clock::now();
    auto over = moment - deadline;
    if (over > bound) {
      over -= pulse.missed_between(deadline, moment);
    }
    const std::int64_t us = std::chrono::duration_cast<std::chrono::microseconds>(over).count();
    raise(worst_late_us, us);
    late += over > bound ? 1 : 0;
  }

  void note_refusal(lido::acquire_failure cause) {
    ++refused;
    cancelled += cause == lido::acquire_failure::cancelled ? 1 : 0;
    refused_for_good += cause == lido::acquire_failure::create_failed ? 1 : 0;
  }

  void note_connect(clock::duration took, clock::duration limit) {
    slow_connects += took > limit ? 1 : 0;
    raise(slowest_connect_ms, std::chrono::duration_cast<std::chrono::milliseconds>(took).count());
  }

  template <class Number>
  static void raise(std::atomic<Number>& most, Number to) {
    Number now = most;
    while (to > now && !most.compare_exchange_weak(now, to)) {
    }
  }

  void note_fault(std::string_view kind) {
    ++faults;
    ++faults_by_kind_[kind];
  }
  /// Call it from the thread that records faults.
  [[nodiscard]] const std::map<std::string_view, std::uint64_t>& faults_by_kind() const {
    return faults_by_kind_;
  }

  /// Records the time from `heal` to the next answered request. Called only after faults that stop
  /// the service; otherwise it would be the time between two requests.
  void note_recovery(clock::duration took) {
    const std::lock_guard guard(mutex_);
    recoveries_.push_back(took);
  }
  [[nodiscard]] std::uint64_t outages() const {
    const std::lock_guard guard(mutex_);
    return recoveries_.size();
  }
  /// Returns a quantile of the times to recover, in milliseconds.
  [[nodiscard]] double recovery(double part) {
    const std::lock_guard guard(mutex_);
    if (recoveries_.empty()) {
      return 0;
    }
    std::sort(recoveries_.begin(), recoveries_.end());
    const auto index = static_cast<std::size_t>(part * static_cast<double>(recoveries_.size()));
    const clock::duration found = recoveries_.at(std::min(index, recoveries_.size() - 1));
    return std::chrono::duration<double, std::milli>(found).count();
  }

 private:
  mutable std::mutex mutex_;
  std::vector<clock::duration> recoveries_;
  std::map<std::string_view, std::uint64_t> faults_by_kind_;
};

inline std::int64_t count_entries(const char* folder) {
  return std::distance(std::filesystem::directory_iterator(folder),
                       std::filesystem::directory_iterator());
}

/// What a process may leak.
struct belongings {
  std::int64_t threads = count_entries("/proc/self/task");
  std::int64_t files = count_entries("/proc/self/fd");
};

}  // namespace chaos
