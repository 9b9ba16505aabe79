/// Tries to break: a thread that a signal puts to sleep, anywhere, freezes nobody.
///
/// One thread after another gets a signal whose handler sleeps. While it does, each of the others
/// must finish operations. The slots suffice for all of them, so nobody has to wait for a slot.
/// `--pool mutex` is the control: the same on a list behind a mutex, which does freeze.
#include <signal.h>

#include <atomic>
#include <chrono>
#include <ctime>
#include <memory>
#include <mutex>
#include <string>
#include <thread>
#include <vector>

#include "harness/ledger.hpp"
#include "harness/pools.hpp"
#include "harness/report.hpp"
#include "harness/run.hpp"

namespace {

using std::chrono::milliseconds;

std::atomic<int> asleep{0};
std::atomic<long> nap_ms{50};

void sleep_in_handler(int /*signal*/) {
  asleep = 1;
  timespec rest{0, nap_ms * 1'000'000};
  while (::nanosleep(&rest, &rest) != 0) {
  }
  asleep = 2;
}

/// The control: nothing but a mutex.
class mutex_pool {
 public:
  explicit mutex_pool(std::size_t slots) : slots_(slots) {
    for (stress::owned& slot : slots_) {
      free_.push_back(&slot);
    }
  }
  stress::owned* try_acquire_ptr(lido::default_init_t = lido::default_init) {
    const std::lock_guard lock(mutex_);
    if (free_.empty()) {
      return nullptr;
    }
    stress::owned* const object = free_.back();
    free_.pop_back();
    return object;
  }
  void release(stress::owned* object) {
    const std::lock_guard lock(mutex_);
    free_.push_back(object);
  }
  void release_n(const std::vector<stress::owned*>& all) {
    for (stress::owned* const object : all) {
      release(object);
    }
  }

 private:
  std::mutex mutex_;
  std::vector<stress::owned> slots_;
  std::vector<stress::owned*> free_;
};

struct alignas(128) progress {
  std::atomic<std::uint64_t> operations{0};
};

template <class Pool>
void work(stress::run& run, Pool& pool, unsigned me, progress& progress,
          const std::atomic<bool>& over) {
  stress::random random = run.generator(me);
  std::vector<stress::owned*> held;
  while (!over) {
    for (std::size_t i = 1 + random() % 48; i > 0; --i) {
      stress::owned* const object = pool.try_acquire_ptr(lido::default_init);
      if (object == nullptr) {
        run.broken("an acquire was refused, though there are slots for all");
      }
      stress::take(run, *object, me);
      held.push_back(object);
      progress.operations += 1;
    }
    for (; !held.empty(); held.pop_back()) {
      stress::leave(run, *held.back(), me);
      pool.release(held.back());
    }
  }
  run.add_operations(progress.operations);
}

struct outcome {
  unsigned rounds = 0;
  unsigned frozen = 0;  ///< rounds in which some other thread got nothing done
  std::uint64_t least = ~std::uint64_t{0};
};

/// Puts one thread to sleep and looks at what the others get done in the middle of its sleep.
void one_round(std::vector<std::thread>& threads, const std::vector<progress>& done,
               unsigned victim, outcome& outcome) {
  asleep = 0;
  (void)::pthread_kill(threads[victim].native_handle(), SIGUSR1);
  while (asleep == 0) {
    std::this_thread::yield();
  }
  std::vector<std::uint64_t> before;
  for (const progress& one : done) {
    before.push_back(one.operations);
  }
  std::this_thread::sleep_for(milliseconds(nap_ms * 8 / 10));
  const bool slept_on = asleep == 1;
  std::uint64_t least = ~std::uint64_t{0};
  for (unsigned i = 0; i < done.size(); ++i) {
    least = i == victim ? least : std::min(least, done[i].operations - before[i]);
  }
  while (asleep != 2) {
    std::this_thread::yield();
  }
  if (slept_on) {  // otherwise this thread slept longer than the victim, and saw nothing
    ++outcome.rounds;
    outcome.frozen += least == 0 ? 1 : 0;
    outcome.least = std::min(outcome.least, least);
  }
}

template <class Pool>
int torment(const stress::run_options& options, const std::string& name) {
  stress::run run(options);
  Pool pool(std::size_t{options.threads} * 256);
  stress::clear_owners(pool);
  std::vector<progress> done(options.threads);
  std::atomic<bool> over{false};
  std::vector<std::thread> threads;
  for (unsigned i = 0; i < options.threads; ++i) {
    threads.emplace_back([&, i] { work(run, pool, i + 1, done[i], over); });
  }
  outcome outcome;
  while (!run.over()) {
    one_round(threads, done, outcome.rounds % options.threads, outcome);
  }
  over = true;
  for (std::thread& thread : threads) {
    thread.join();
  }
  stress::figures("sleeping_thread_freezes_nobody")
      .add("pool", name)
      .add("threads", options.threads)
      .add("sleep_ms", nap_ms.load())
      .add("rounds", outcome.rounds)
      .add("rounds_without_progress", outcome.frozen)
      .add("least_operations_of_a_thread", outcome.least)
      .print();
  if (outcome.frozen > 0) {
    run.broken("a thread froze beside one that slept");
  }
  return run.held("sleeping_thread_freezes_nobody");
}

}  // namespace

int main(int argc, char** argv) {
  stress::run_options options;
  std::string name = "revocable";
  unsigned sleep = 50;
  stress::command_line line("A sleeping thread freezes nobody", options);
  line.add_pool(name, {"mutex"});
  line.add("--sleep", sleep, "milliseconds");
  line.parse(argc, argv);
  nap_ms = sleep;

  struct sigaction action {};
  action.sa_handler = sleep_in_handler;
  action.sa_flags = SA_RESTART;
  (void)::sigaction(SIGUSR1, &action, nullptr);
  if (name == "mutex") {
    return torment<mutex_pool>(options, name);
  }
  return stress::with_pool(name, [&]<class Pool>() { return torment<Pool>(options, name); });
}
