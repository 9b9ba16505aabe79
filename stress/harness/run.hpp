/// @file
/// One run of a driver: its clock, its threads and its verdict.
#pragma once

#include <atomic>
#include <chrono>
#include <cstdint>
#include <functional>
#include <random>
#include <string>

namespace stress {

/// Small and fast: reproducibility matters here, quality does not.
using random = std::minstd_rand;

/// The options of every driver.
struct run_options {
  std::uint64_t seed = std::random_device{}();
  double seconds = 1.0;
  unsigned grace = 150;  ///< seconds beyond the run's time after which it counts as endless
  unsigned threads = 4;
};

/// Prints the seed first; ends at the first broken invariant or when the time is up.
class run {
 public:
  explicit run(const run_options& options);

  /// Starts the clock; for drivers that have prepared something first.
  void start();

  [[nodiscard]] const run_options& options() const { return options_; }

  [[nodiscard]] bool over() const { return std::chrono::steady_clock::now() >= end_; }

  /// Returns whether another round is due. On a busy machine the threads may never run together,
  /// and what the run is for does not happen. Then the time starts again, up to ten times.
  [[nodiscard]] bool goes_on(bool happened);

  /// Returns a separate generator for each thread and round; each restart of the time draws others.
  [[nodiscard]] random generator(unsigned thread, unsigned round = 0) const;

  /// Prints `what` and ends the program at once: after a broken invariant it may never end
  /// normally.
  [[noreturn]] void broken(const std::string& what) const;

  /// Ends the program because it did not do what it is for, so its verdict would mean nothing.
  [[noreturn]] void vacuous(const std::string& what) const;

  /// Runs `body(thread)` in `count` threads and waits for them.
  void in_threads(unsigned count, const std::function<void(unsigned)>& body);

  void add_operations(std::uint64_t count) { operations_ += count; }
  [[nodiscard]] std::uint64_t operations() const { return operations_; }

  /// Prints the sum and returns the exit status.
  [[nodiscard]] int held(const std::string& invariant) const;

 private:
  run_options options_;
  std::chrono::steady_clock::time_point end_;
  unsigned repeats_ = 0;
  std::atomic<std::uint64_t> operations_{0};
};

}  // namespace stress
