/// @file
/// A team of threads that runs one workload once, and the clock around it.
///
/// Google Benchmark's own threads each keep their own time. With more threads than cores some of
/// them then finish before others were first scheduled, and the mean of their times is too short.
/// Here the clock runs from the moment all threads are at the start line to the moment the last one
/// stops.
#pragma once

#include <algorithm>
#include <array>
#include <atomic>
#include <barrier>
#include <chrono>
#include <cstdint>
#include <ctime>
#include <exception>
#include <mutex>
#include <thread>
#include <vector>

#include "pinning.hpp"

namespace lido_bench {

using bench_clock = std::chrono::steady_clock;

/// Returns the processor time of the whole process, which excludes other work on the machine, and
/// the waits of a contender that sleeps.
inline double process_cpu_seconds() {
  timespec now{};
  clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &now);
  return static_cast<double>(now.tv_sec) + static_cast<double>(now.tv_nsec) * 1e-9;
}

/// Tells the processor that this is a spin loop.
inline void spin_pause() {
#if defined(__x86_64__)
  __builtin_ia32_pause();
#elif defined(__aarch64__)
  asm volatile("isb");  // NOLINT(hicpp-no-assembler)
#endif
}

/// Thrown when an acquire has failed for so long that it will never succeed.
class starvation : public std::exception {
 public:
  [[nodiscard]] const char* what() const noexcept override { return "starved"; }
};

struct team_result {
  double seconds{0};
  double cpu_seconds{0};
  std::uint64_t failed{0};
  bool starved{false};
};

/// State that the threads of one run share.
struct team_state {
  struct on_start {
    team_state* team;
    void operator()() const noexcept {
      team->cpu_start = process_cpu_seconds();
      team->start = bench_clock::now();
    }
  };

  explicit team_state(unsigned threads)
      : start_line{static_cast<std::ptrdiff_t>(threads), on_start{this}} {}

  bench_clock::time_point start{};
  double cpu_start{0};
  std::barrier<on_start> start_line;
  std::atomic<bool> aborted{false};
  std::mutex mutex;  // guards all below
  bench_clock::time_point last_stop{};
  double last_cpu_stop{0};
  std::uint64_t failed{0};
  bool starved{false};
};

/// One thread's view of its team while it runs a workload.
class lane {
 public:
  lane(team_state& team, unsigned index, std::uint64_t warm_up, std::uint64_t iterations)
      : team_{team}, index_{index}, phases_{warm_up, iterations} {}

  [[nodiscard]] unsigned index() const { return index_; }

  /// Returns the iterations of the warm-up and of the timed part. One loop runs both, so that the
  /// timed code is the code that was warmed up.
  [[nodiscard]] const std::array<std::uint64_t, 2>& phases() const { return phases_; }

  /// Called at the head of each phase; the second call waits for the whole team.
  void enter_phase() {
    if (warmed_up_) {
      started_ = true;
      team_.start_line.arrive_and_wait();
    }
    warmed_up_ = true;
  }

  /// Called when the timed part is done, before the session ends. A session's end is not part of
  /// the steady state, and other threads may need what it gives back.
  void stop() {
    const bench_clock::time_point now{bench_clock::now()};
    const std::lock_guard lock{team_.mutex};
    team_.last_stop = std::max(team_.last_stop, now);
    team_.last_cpu_stop = std::max(team_.last_cpu_stop, process_cpu_seconds());
  }

  /// Counts a failed acquire and lets others run. `since` is when the wait began.
  [[gnu::noinline, gnu::cold]] void failed_once(bench_clock::time_point since) {
    ++failed_;
    wait_for_peer();
    if (bench_clock::now() - since > std::chrono::seconds{2}) {
      throw starvation{};
    }
  }

  /// Lets other threads run; ends this lane when another one has given up.
  void wait_for_peer() const {
    std::this_thread::yield();
    // relaxed: only a request to stop, nothing is read because of it.
    if (team_.aborted.load(std::memory_order_relaxed)) {
      throw starvation{};
    }
  }

  /// Makes the rest of the team give up as well.
  void give_up() {
    team_.aborted.store(true, std::memory_order_relaxed);  // relaxed: see wait_for_peer
    if (!started_) {
      team_.start_line.arrive_and_drop();
    }
    const std::lock_guard lock{team_.mutex};
    team_.starved = true;
  }

  void report() {
    const std::lock_guard lock{team_.mutex};
    team_.failed += failed_;
  }

 private:
  team_state& team_;
  unsigned index_;
  std::array<std::uint64_t, 2> phases_;
  std::uint64_t failed_{0};
  bool warmed_up_{false};
  bool started_{false};
};

template <typename Body>
void run_lane(lane& self, const Body& body) {
  try {
    body(self);
  } catch (const starvation&) {
    self.give_up();
  }
  self.report();
}

/// Runs `body(lane&)` on every thread of a new team and waits for all of them.
///
/// Even a single lane runs in a new thread: pools are used in programs with threads, and the C
/// library takes short cuts in those without.
template <typename Body>
team_result run_team(unsigned threads, std::uint64_t warm_up, std::uint64_t iterations,
                     const Body& body) {
  team_state team{threads};
  std::vector<std::jthread> members;
  members.reserve(threads);
  for (unsigned index{0}; index < threads; ++index) {
    members.emplace_back([&team, &body, index, warm_up, iterations] {
      pin_thread(index);
      lane self{team, index, warm_up, iterations};
      run_lane(self, body);
    });
  }
  members.clear();  // joins
  return {std::chrono::duration<double>(team.last_stop - team.start).count(),
          team.last_cpu_stop - team.cpu_start, team.failed, team.starved};
}

}  // namespace lido_bench
