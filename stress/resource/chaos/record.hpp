/// @file
/// What happened in a run.
#pragma once

#include <algorithm>
#include <atomic>
#include <chrono>
#include <cstdint>
#include <filesystem>
#include <iterator>
#include <mutex>
#include <vector>

namespace chaos {

using clock = std::chrono::steady_clock;

struct record {
  std::atomic<std::uint64_t> served{0};   ///< requests with the right answer
  std::atomic<std::uint64_t> failed{0};   ///< with none, or a wrong one
  std::atomic<std::uint64_t> refused{0};  ///< acquires that ended with an error
  std::atomic<std::uint64_t> faults{0};   ///< injected
  std::atomic<std::uint64_t> reopened{0};
  std::atomic<std::uint64_t> callbacks{0};
  std::atomic<std::uint64_t> called{0};
  std::atomic<std::uint64_t> late{0};  ///< waits that ended later than the bound allows
  std::atomic<std::int64_t> alive{0};  ///< connections that were made and not ended
  std::atomic<std::int64_t> worst_late_us{0};

  /// A wait that was to end by `deadline` has ended.
  void note_end(clock::time_point deadline, std::chrono::milliseconds bound) {
    const auto over = clock::now() - deadline;
    const std::int64_t us = std::chrono::duration_cast<std::chrono::microseconds>(over).count();
    std::int64_t worst = worst_late_us;
    while (us > worst && !worst_late_us.compare_exchange_weak(worst, us)) {
    }
    late += over > bound ? 1 : 0;
  }

  void note_recovery(clock::duration took) {
    const std::lock_guard guard(mutex_);
    recoveries_.push_back(took);
  }
  /// In milliseconds.
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
  std::mutex mutex_;
  std::vector<clock::duration> recoveries_;
};

inline std::int64_t count_entries(const char* folder) {
  return std::distance(std::filesystem::directory_iterator(folder),
                       std::filesystem::directory_iterator());
}

/// What a process has that it may leak.
struct belongings {
  std::int64_t threads = count_entries("/proc/self/task");
  std::int64_t files = count_entries("/proc/self/fd");
};

}  // namespace chaos
