/// @file
/// What every stress driver shares: its clock, its threads and its verdict.
#pragma once

#include <fmt/format.h>
#include <unistd.h>

#include <atomic>
#include <chrono>
#include <csignal>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <random>
#include <string>
#include <string_view>
#include <thread>
#include <vector>

#include "harness/command_line.hpp"

namespace stress {

/// Small and fast; quality is of no concern here, reproducibility is.
using random = std::minstd_rand;

/// One run: prints the seed first, ends at the first broken invariant or when the time is over.
class run {
 public:
  explicit run(const run_options& options) : options_(options) {
    fmt::print("seed {}, {} threads, {:.1f} s\n", options.seed, options.threads, options.seconds);
    (void)std::fflush(stdout);
    start();
  }

  /// The time begins now; for drivers that have prepared something first.
  void start() {
    end_ = std::chrono::steady_clock::now() +
           std::chrono::duration_cast<std::chrono::steady_clock::duration>(
               std::chrono::duration<double>(options_.seconds));
    give_up_after(options_.seconds);
  }

  [[nodiscard]] const run_options& options() const { return options_; }

  [[nodiscard]] bool over() const { return std::chrono::steady_clock::now() >= end_; }

  /// Whether there is another round. If the time is over and what the run is for has not happened,
  /// since a busy machine kept the threads apart, the time begins anew, up to ten times.
  [[nodiscard]] bool goes_on(bool happened) {
    if (over() && !happened && repeats_ < most_repeats) {
      ++repeats_;
      start();
    }
    return !over();
  }

  /// A generator of its own for each thread and round; time that begins anew draws other numbers.
  [[nodiscard]] random generator(unsigned thread, unsigned round = 0) const {
    const std::uint64_t stream =
        std::uint64_t{repeats_} << 48U | std::uint64_t{thread} << 32U | round;
    return random(
        static_cast<std::uint32_t>(options_.seed ^ (stream * 0x9E3779B97F4A7C15U >> 32U)));
  }

  /// Prints, and ends the program at once: after a broken invariant nothing can be trusted to end.
  [[noreturn]] void broken(const std::string& what) const {
    fmt::print("BROKEN: {} (seed {})\n", what, options_.seed);
    (void)std::fflush(stdout);
    std::_Exit(EXIT_FAILURE);
  }

  /// Ends the program when it did not do what it is for: then its verdict would say nothing.
  void require(bool happened, const std::string& what) const {
    if (!happened) {
      fmt::print("VACUOUS: {} (seed {})\n", what, options_.seed);
      (void)std::fflush(stdout);
      std::_Exit(EXIT_FAILURE);
    }
  }

  /// Runs `body(thread)` in `count` threads and waits for them.
  template <class Body>
  void in_threads(unsigned count, Body body) {
    std::vector<std::thread> threads;
    threads.reserve(count);
    for (unsigned thread = 0; thread < count; ++thread) {
      threads.emplace_back([&body, thread] { body(thread); });
    }
    for (std::thread& thread : threads) {
      thread.join();
    }
  }

  void add_operations(std::uint64_t count) { operations_ += count; }

  /// Prints the sum and gives the exit status.
  [[nodiscard]] int held(const std::string& invariant) const {
    fmt::print("{}: {} operations, held\n", invariant, operations_.load());
    return EXIT_SUCCESS;
  }

 private:
  static constexpr unsigned most_repeats = 10;

  /// A run that does not end is broken, too: a list that goes round in circles shows in nothing
  /// else.
  static void give_up_after(double seconds) {
    (void)std::signal(SIGALRM, [](int /*signal*/) {
      constexpr std::string_view text = "BROKEN: no end\n";
      [[maybe_unused]] const ssize_t written = ::write(STDOUT_FILENO, text.data(), text.size());
      std::_Exit(EXIT_FAILURE);
    });
    const unsigned seconds_to_end = std::getenv("LIDO_BROKEN_RULE") != nullptr ? 40 : 150;
    (void)::alarm(static_cast<unsigned>(seconds) + seconds_to_end);
#ifdef LIDO_BREAKABLE  // a library that is wrong on purpose may break anything first
    for (const int number : {SIGSEGV, SIGBUS, SIGABRT}) {
      (void)std::signal(number, [](int /*signal*/) {
        constexpr std::string_view text = "BROKEN: a crash\n";
        [[maybe_unused]] const ssize_t written = ::write(STDOUT_FILENO, text.data(), text.size());
        std::_Exit(EXIT_FAILURE);
      });
    }
#endif
  }

  run_options options_;
  std::chrono::steady_clock::time_point end_;
  unsigned repeats_ = 0;
  std::atomic<std::uint64_t> operations_{0};
};

}  // namespace stress
