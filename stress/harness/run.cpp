#include "harness/run.hpp"

#include <fmt/core.h>
#ifdef _WIN32
#include <windows.h>
#endif
#include <unistd.h>

#include <csignal>
#include <cstdio>
#include <cstdlib>
#include <string_view>
#include <thread>
#include <vector>

namespace stress {

namespace {

constexpr unsigned most_repeats = 10;

bool is_rule_broken() {
  return std::getenv("LIDO_BROKEN_RULE") != nullptr;  // NOLINT(concurrency-mt-unsafe): only read
}

[[noreturn]] void end_in_handler(std::string_view text) {
  [[maybe_unused]] const auto written =
      ::write(STDOUT_FILENO, text.data(), static_cast<unsigned>(text.size()));
  std::_Exit(EXIT_FAILURE);
}

[[noreturn]] void fail(std::string_view verdict, const std::string& what, std::uint64_t seed) {
  fmt::print("{}: {} (seed {})\n", verdict, what, seed);
  (void)std::fflush(stdout);
  std::_Exit(EXIT_FAILURE);
}

/// Ends the program, which is stuck, `seconds` after the last call. A list that has become a cycle
/// shows only as a run that never ends.
void end_after(unsigned seconds) {
  static constexpr std::string_view verdict = "BROKEN: no end\n";
#ifdef _WIN32
  static HANDLE timer = nullptr;
  if (timer != nullptr) {
    (void)::DeleteTimerQueueTimer(nullptr, timer, nullptr);
  }
  const auto end = [](void* /*context*/, BOOLEAN /*fired*/) { end_in_handler(verdict); };
  (void)::CreateTimerQueueTimer(&timer, nullptr, end, nullptr, seconds * 1000, 0,
                                WT_EXECUTEONLYONCE);
#else
  (void)std::signal(SIGALRM, [](int /*signal*/) { end_in_handler(verdict); });
  (void)::alarm(seconds);
#endif
}

}  // namespace

run::run(const run_options& options) : options_(options) {
  fmt::print("seed {}, {} threads, {:.1f} s\n", options.seed, options.threads, options.seconds);
  (void)std::fflush(stdout);
  if (is_rule_broken()) {  // a deliberately wrong library may break anything first
#ifndef _WIN32
    for (const int number : {SIGSEGV, SIGBUS, SIGABRT}) {
      (void)std::signal(number, [](int /*signal*/) { end_in_handler("BROKEN: a crash\n"); });
    }
#endif
  }
  start();
}

void run::start() {
  end_ = std::chrono::steady_clock::now() +
         std::chrono::duration_cast<std::chrono::steady_clock::duration>(
             std::chrono::duration<double>(options_.seconds));
  end_after(static_cast<unsigned>(options_.seconds) + options_.grace);
}

bool run::goes_on(bool happened) {
  if (over() && !happened && repeats_ < most_repeats) {
    ++repeats_;
    start();
  }
  return !over();
}

random run::generator(unsigned thread, unsigned round) const {
  const std::uint64_t stream =
      std::uint64_t{repeats_} << 48U | std::uint64_t{thread} << 32U | round;
  return random(static_cast<std::uint32_t>(options_.seed ^ (stream * 0x9E3779B97F4A7C15U >> 32U)));
}

void run::broken(const std::string& what) const {
  fail("BROKEN", what, options_.seed);
}

void run::vacuous(const std::string& what) const {
  fail("VACUOUS", what, options_.seed);
}

// NOLINTNEXTLINE(readability-convert-member-functions-to-static): a run, like the rest of it
void run::in_threads(unsigned count, const std::function<void(unsigned)>& body) {
  std::vector<std::thread> threads;
  threads.reserve(count);
  for (unsigned thread = 0; thread < count; ++thread) {
    threads.emplace_back([&body, thread] { body(thread); });
  }
  for (std::thread& thread : threads) {
    thread.join();
  }
}

int run::held(const std::string& invariant) const {
  fmt::print("{}: {} operations, held\n", invariant, operations_.load());
  return EXIT_SUCCESS;
}

}  // namespace stress
