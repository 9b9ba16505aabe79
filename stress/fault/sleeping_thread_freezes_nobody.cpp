/// Tries to break: a thread that a signal puts to sleep, anywhere, freezes no other thread.
///
/// One thread after another gets a signal, whose handler sleeps until each of the others has
/// finished operations. Only a thread that never does so counts as frozen, so a busy machine causes
/// no false alarm. There are slots for all threads, so none has to wait for one. `--pool mutex` is
/// the control: the same on a list behind a mutex, which does freeze.
#include <signal.h>

#include <array>
#include <atomic>
#include <chrono>
#include <ctime>
#include <memory>
#include <string>
#include <thread>
#include <vector>

#include "harness/ledger.hpp"
#include "harness/mutex_pool.hpp"
#include "harness/pools.hpp"
#include "harness/report.hpp"
#include "harness/run.hpp"

namespace {

using std::chrono::steady_clock;

constexpr std::size_t most_held = 48;
constexpr std::uint64_t enough = 2 * most_held;  // a thread has been through its whole script

struct settings {
  stress::run_options run;
  std::string pool = "revocable";
  unsigned patience = 20;
};

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
  std::uint64_t operations = 0;  ///< of the others while one slept
  double longest_ms = 0;         ///< until the last of them had finished enough
};

std::vector<std::uint64_t> look_at(const std::vector<progress>& done) {
  std::vector<std::uint64_t> all;
  for (const progress& one : done) {
    all.push_back(one.operations);
  }
  return all;
}

/// Waits until each thread but the sleeping one has finished enough; false: one never does.
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

template <class Pool>
int torment(const settings& settings) {
  stress::run run(settings.run);
  Pool pool(std::size_t{settings.run.threads} * 256);
  stress::clear_owners(pool);
  std::vector<progress> done(settings.run.threads);
  std::atomic<bool> over{false};
  std::vector<std::thread> threads;
  for (unsigned i = 0; i < settings.run.threads; ++i) {
    threads.emplace_back([&, i] { work(run, pool, i + 1, done[i], over); });
  }
  // Nor is how a thread starts, and registers for its end at its first acquire: libc allocates
  // there, and AddressSanitizer's allocator has one lock for all.
  for (const progress& one : done) {
    while (one.operations == 0) {
      std::this_thread::yield();
    }
  }
  outcome outcome;
  while (run.goes_on(outcome.rounds >= settings.run.threads)) {
    one_round(run, threads, done, settings.patience, outcome);
  }
  over = true;
  for (std::thread& thread : threads) {
    thread.join();
  }
  run.require(outcome.rounds >= settings.run.threads, "some threads never slept");
  stress::figures("sleeping_thread_freezes_nobody")
      .add("pool", settings.pool)
      .add("threads", settings.run.threads)
      .add("rounds", outcome.rounds)
      .add("operations_beside_a_sleeper", outcome.operations)
      .add("longest_round_ms", fmt::format("{:.2f}", outcome.longest_ms))
      .print();
  return run.held("sleeping_thread_freezes_nobody");
}

}  // namespace

int main(int argc, char** argv) {
  settings settings;
  stress::command_line line("A sleeping thread freezes nobody", settings.run);
  line.add_pool(settings.pool, {"mutex"});
  line.add("--patience", settings.patience, "seconds after which a thread counts as frozen");
  line.parse(argc, argv);

  struct sigaction action {};
  action.sa_handler = sleep_in_handler;
  action.sa_flags = SA_RESTART;
  (void)::sigaction(SIGUSR1, &action, nullptr);
  if (settings.pool == "mutex") {
    return torment<stress::mutex_pool>(settings);
  }
  return stress::with_pool(settings.pool, [&]<class Pool>() { return torment<Pool>(settings); });
}
