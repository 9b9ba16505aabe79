/// Tries to break: a thread that a signal puts to sleep, anywhere, freezes no other thread.
///
/// One thread after another gets a signal, whose handler sleeps until each of the others has
/// finished operations. Only a thread that never does so counts as frozen, so a busy machine causes
/// no false alarm. There are slots for all threads, so none has to wait for one. `--pool mutex` is
/// the control: the same on a list behind a mutex, which does freeze.
#include <signal.h>

#include <algorithm>
#include <array>
#include <atomic>
#include <chrono>
#include <ctime>
#include <memory>
#include <string>
#include <thread>
#include <vector>

#include "harness/mutex_pool.hpp"
#include "harness/pools.hpp"
#include "harness/report.hpp"

namespace {

using std::chrono::steady_clock;

constexpr std::size_t most_held = 48;
constexpr std::uint64_t enough = 2 * most_held;  // a thread has been through its whole script

std::atomic<bool> asleep{false};
std::atomic<bool> awake{true};

void sleep_in_handler(int /*signal*/) {
  asleep = true;
  const timespec rest{0, 20'000};
  while (!awake) {
    (void)::nanosleep(&rest, nullptr);
  }
  asleep = false;
}

struct alignas(128) progress {
  std::atomic<std::uint64_t> operations{0};
};

template <class Pool>
void work(stress::run& run, Pool& pool, unsigned me, progress& progress,
          const std::atomic<bool>& over) {
  stress::random random = run.generator(me);
  // On the stack: a thread that sleeps with an allocator's lock freezes others, which is not the
  // pool's fault.
  std::array<stress::owned*, most_held> held{};
  while (!over) {
    const std::size_t wanted = 1 + random() % most_held;
    for (std::size_t i = 0; i < wanted; ++i) {
      stress::owned* const object = pool.try_acquire_ptr(lido::default_init);
      if (object == nullptr) {
        run.broken("an acquire was refused, though there are slots for all");
      }
      stress::take(run, *object, me);
      held[i] = object;
      progress.operations += 1;
    }
    for (std::size_t i = wanted; i > 0; --i) {
      stress::leave(run, *held[i - 1], me);
      pool.release(held[i - 1]);
    }
  }
  run.add_operations(progress.operations);
}

struct outcome {
  unsigned rounds = 0;
  std::uint64_t operations = 0;  ///< operations of the others while one slept
  double longest_ms = 0;         ///< time until the last of them had finished enough
};

std::vector<std::uint64_t> look_at(const std::vector<progress>& done) {
  std::vector<std::uint64_t> all;
  for (const progress& one : done) {
    all.push_back(one.operations);
  }
  return all;
}

/// Waits until each thread but the sleeping one has finished enough; returns false if one never
/// does.
bool others_go_on(const std::vector<progress>& done, unsigned victim,
                  steady_clock::duration patience, outcome& outcome) {
  const auto start = steady_clock::now();
  const std::vector<std::uint64_t> before = look_at(done);
  for (unsigned other = 0; other < done.size(); ++other) {
    while (other != victim && done[other].operations - before[other] < enough) {
      if (steady_clock::now() - start > patience) {
        return false;
      }
      std::this_thread::yield();
    }
    outcome.operations += done[other].operations - before[other];
  }
  const std::chrono::duration<double, std::milli> took = steady_clock::now() - start;
  outcome.longest_ms = std::max(outcome.longest_ms, took.count());
  return true;
}

void one_round(stress::run& run, std::vector<std::thread>& threads,
               const std::vector<progress>& done, unsigned patience, outcome& outcome) {
  const unsigned victim = outcome.rounds % static_cast<unsigned>(threads.size());
  awake = false;
  (void)::pthread_kill(threads[victim].native_handle(), SIGUSR1);
  while (!asleep) {
    std::this_thread::yield();
  }
  if (!others_go_on(done, victim, std::chrono::seconds(patience), outcome)) {
    run.broken("a thread froze beside one that slept");
  }
  ++outcome.rounds;
  awake = true;
  while (asleep) {
    std::this_thread::yield();
  }
}

struct sleeping_thread_freezes_nobody : stress::pool_driver {
  sleeping_thread_freezes_nobody() : pool_driver("sleeping_thread_freezes_nobody", 4, {"mutex"}) {}

  void load(stress::run& run) override {
    struct sigaction action {};
    action.sa_handler = sleep_in_handler;
    action.sa_flags = SA_RESTART;
    (void)::sigaction(SIGUSR1, &action, nullptr);
    const lido::object_pool_options options{.capacity = std::size_t{threads()} * 256};
    if (pool_name() == "mutex") {
      stress::mutex_pool pool(options);
      torment(run, pool);
    } else {
      open(options);
      torment(run, pool());
    }
  }

  template <class Pool>
  void torment(stress::run& run, Pool& pool) {
    std::vector<progress> done(threads());
    std::atomic<bool> over{false};
    std::vector<std::thread> crew;
    for (unsigned i = 0; i < threads(); ++i) {
      crew.emplace_back([&, i] { work(run, pool, i + 1, done[i], over); });
    }
    // Nor is a thread's start, or its registration for cleanup at its first acquire: libc allocates
    // there, and AddressSanitizer's allocator has one lock for all.
    for (const progress& one : done) {
      while (one.operations == 0) {
        std::this_thread::yield();
      }
    }
    while (run.goes_on(missing().empty())) {
      one_round(run, crew, done, patience_, outcome_);
    }
    over = true;
    for (std::thread& thread : crew) {
      thread.join();
    }
  }

  void check(stress::run& /*run*/) override {
    stress::figures(invariant())
        .add("pool", pool_name())
        .add("threads", threads())
        .add("rounds", outcome_.rounds)
        .add("operations_beside_a_sleeper", outcome_.operations)
        .add("longest_round_ms", fmt::format("{:.2f}", outcome_.longest_ms))
        .print();
  }
  [[nodiscard]] std::string missing() const override {
    return outcome_.rounds < threads() ? "some threads never slept" : "";
  }

  const unsigned& patience_ =
      option("--patience", 20, "seconds after which a thread counts as frozen");
  outcome outcome_;
};

}  // namespace

int main(int argc, char** argv) {
  return sleeping_thread_freezes_nobody().drive(argc, argv);
}
