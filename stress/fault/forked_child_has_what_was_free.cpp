/// Tries to break: whatever other threads are doing at the moment of a fork, the child finds free
/// slots only, waits for nobody, and can end its pools and make new ones; the parent notices
/// nothing.
#include <sys/mman.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <atomic>
#include <memory>
#include <string>
#include <thread>
#include <vector>

#include "harness/ledger.hpp"
#include "harness/pools.hpp"
#include "harness/report.hpp"
#include "harness/run.hpp"

namespace {

constexpr std::size_t capacity = 512;
constexpr unsigned hold = 60;
constexpr long most_waits = 100;  // a bounded wait to its end makes some two thousand

/// What children tell their parent.
struct told {
  std::atomic<unsigned> complete;
  std::atomic<unsigned> most_missing;
};

told& shared_page() {
  void* const page =
      ::mmap(nullptr, sizeof(told), PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
  if (page == MAP_FAILED) {
    std::abort();
  }
  return *::new (page) told{};
}

template <class Pool>
void work(stress::run& run, Pool& pool, unsigned me, const std::atomic<bool>& over) {
  stress::random random = run.generator(me);
  std::vector<stress::owned*> held;
  held.reserve(capacity);
  std::uint64_t operations = 0;
  while (!over) {
    const std::size_t target = random() % (random() % 64 == 0 ? capacity : hold);
    while (held.size() > target) {
      stress::leave(run, *held.back(), me);
      pool.release(held.back());
      held.pop_back();
    }
    while (held.size() < target) {
      stress::owned* const object = pool.try_acquire_ptr(lido::default_init);
      if (object == nullptr) {
        break;
      }
      stress::take(run, *object, me);
      held.push_back(object);
    }
    operations += target;
  }
  for (stress::owned* const object : held) {
    stress::leave(run, *object, me);
    pool.release(object);
  }
  run.add_operations(operations);
}

long voluntary_waits() {
  rusage usage{};
  (void)::getrusage(RUSAGE_THREAD, &usage);
  return usage.ru_nvcsw;
}

/// All that the calling thread can get, and each of them free.
template <class Pool>
std::vector<stress::owned*> drain(stress::run& run, Pool& pool) {
  constexpr unsigned child = 1000;
  std::vector<stress::owned*> all;
  while (stress::owned* const object = pool.try_acquire_ptr(lido::default_init)) {
    stress::take(run, *object, child);
    all.push_back(object);
  }
  for (stress::owned* const object : all) {
    stress::leave(run, *object, child);
  }
  return all;
}

/// How many objects an owner has, of all slots.
std::size_t count_owned(const stress::owned* first) {
  return static_cast<std::size_t>(std::count_if(
      first, first + capacity, [](const stress::owned& object) { return object.owner != 0; }));
}

template <class Pool>
void live_as_child(stress::run& run, std::unique_ptr<Pool>& pool, const stress::owned* first,
                   told& told) {
  const std::size_t owned = count_owned(first);
  const long before = voluntary_waits();
  const std::vector<stress::owned*> all = drain(run, *pool);
  if (voluntary_waits() - before > most_waits) {
    run.broken("the child waits for threads that it does not have");
  }
  // Missing are slots between two places, or between the pool and an owner's first write.
  const auto missing = static_cast<unsigned>(capacity - owned - all.size());
  told.complete += missing == 0 ? 1 : 0;
  unsigned most = told.most_missing;
  while (most < missing && !told.most_missing.compare_exchange_weak(most, missing)) {
  }
  pool->release_n(all);
  run.in_threads(3, [&](unsigned /*thread*/) { (void)stress::count_acquirable(*pool); });
  if (stress::count_acquirable(*pool) != all.size()) {
    run.broken("the child has lost slots of an old pool");
  }
  pool.reset();
  for (const std::size_t slots : {64U, 1000U}) {
    Pool fresh(slots);
    stress::clear_owners(fresh);
    run.in_threads(3, [&](unsigned /*thread*/) { (void)stress::count_acquirable(fresh); });
    if (stress::count_acquirable(fresh) != slots) {
      run.broken("the child has lost slots of a new pool");
    }
  }
}

template <class Pool>
const stress::owned* lowest_address(Pool& pool) {
  std::vector<stress::owned*> all(capacity);
  all.resize(pool.try_acquire_n(all));
  pool.release_n(all);
  return *std::min_element(all.begin(), all.end());
}

template <class Pool>
unsigned fork_until_over(stress::run& run, std::unique_ptr<Pool>& pool, told& told) {
  const stress::owned* const first = lowest_address(*pool);
  std::atomic<bool> over{false};
  unsigned forks = 0;
  std::thread workers([&] {
    run.in_threads(run.options().threads,
                   [&](unsigned thread) { work(run, *pool, thread + 1, over); });
  });
  for (; !run.over(); ++forks) {
    const pid_t child = ::fork();
    if (child == 0) {
      live_as_child(run, pool, first, told);
      std::_Exit(EXIT_SUCCESS);
    }
    int status = 0;
    if (child < 0 || ::waitpid(child, &status, 0) != child || status != 0) {
      run.broken("a child ended with status " + std::to_string(status));
    }
  }
  over = true;
  workers.join();
  return forks;
}

}  // namespace

int main(int argc, char** argv) {
  stress::run_options options;
  std::string name = "revocable";
  stress::command_line line("A forked child has what was free", options);
  line.add_pool(name);
  line.parse(argc, argv);

  return stress::with_pool(name, [&]<class Pool>() {
    stress::run run(options);
    auto pool = std::make_unique<Pool>(capacity);
    stress::clear_owners(*pool);
    told& told = shared_page();
    const unsigned forks = fork_until_over(run, pool, told);
    if (const std::size_t count = stress::count_acquirable(*pool); count != capacity) {
      run.broken("the parent has " + std::to_string(count) + " slots left");
    }
    stress::figures("forked_child_has_what_was_free")
        .add("pool", name)
        .add("threads", options.threads)
        .add("forks", forks)
        .add("nothing_missing", told.complete.load())
        .add("most_missing", told.most_missing.load())
        .add("capacity", capacity)
        .add("two_owners", 0)
        .print();
    return run.held("forked_child_has_what_was_free");
  });
}
