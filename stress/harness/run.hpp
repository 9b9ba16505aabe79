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

/// Small and fast; quality is of no concern here, reproducibility is.
using random = std::minstd_rand;

/// What every driver takes.
struct run_options {
  std::uint64_t seed = std::random_device{}();
  double seconds = 1.0;
  unsigned grace = 150;  ///< A run that lasts so many seconds longer counts as endless.
  unsigned threads = 4;
};

/// Prints the seed first, ends at the first broken invariant or when the time is over.
class run {
 public:
  explicit run(const run_options& options);

  /// The time begins now; for drivers that have prepared something first.
  void start();

  [[nodiscard]] const run_options& options() const { return options_; }

  [[nodiscard]] bool over() const { return std::chrono::steady_clock::now() >= end_; }

  /// Whether there is another round. If the time is over and what the run is for has not happened,
  /// since a busy machine kept the threads apart, the time begins anew, up to ten times.
  [[nodiscard]] bool goes_on(bool happened);

  /// A generator of its own for each thread and round; time that begins anew draws other numbers.
  [[nodiscard]] random generator(unsigned thread, unsigned round = 0) const;

  /// Prints, and ends the program at once: after a broken invariant nothing can be trusted to end.
  [[noreturn]] void broken(const std::string& what) const;

  /// Ends the program because it did not do what it is for: then its verdict would say nothing.
  [[noreturn]] void vacuous(const std::string& what) const;

  /// Runs `body(thread)` in `count` threads and waits for them.
  void in_threads(unsigned count, const std::function<void(unsigned)>& body);

  void add_operations(std::uint64_t count) { operations_ += count; }
  [[nodiscard]] std::uint64_t operations() const { return operations_; }

  /// Prints the sum and gives the exit status.
  [[nodiscard]] int held(const std::string& invariant) const;

 private:
  run_options options_;
  std::chrono::steady_clock::time_point end_;
  unsigned repeats_ = 0;
  std::atomic<std::uint64_t> operations_{0};
};

}  // namespace stress
