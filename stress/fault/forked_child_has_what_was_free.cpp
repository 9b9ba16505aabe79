/// Tries to break: whatever other threads do at the moment of a fork, the child finds only free
/// slots and waits for no thread. It can end its pools and make new ones, and the parent notices
/// nothing.
///
/// `--pool block`: while threads wait for slots, which the child must not give to them.
#include <sys/mman.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <atomic>
#include <chrono>
#include <latch>
#include <memory>
#include <string>
#include <thread>
#include <vector>

#include "fault/child_of_stall.hpp"
#include "harness/ledger.hpp"
#include "harness/pools.hpp"
#include "harness/pools_that_change.hpp"
#include "harness/report.hpp"
#include "harness/run.hpp"

namespace {

constexpr std::size_t capacity = 512;
constexpr unsigned hold = 60;
constexpr unsigned waiters = 4;
constexpr unsigned forker = 999;
constexpr unsigned child_seconds = 60;

// By its address: the fork that gcov puts in its place forgets what the child's handlers counted.
pid_t (*const volatile fork_process)() = &::fork;

using stress::blocking;
using stress::blocks;
using stress::element;

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
  std::vector<element<Pool>*> held;
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
      element<Pool>* const object = pool.try_acquire_ptr(lido::default_init);
      if (object == nullptr) {
        break;
      }
      stress::take(run, *object, me);
      held.push_back(object);
    }
    operations += target;
  }
  for (element<Pool>* const object : held) {
    stress::leave(run, *object, me);
    pool.release(object);
  }
  run.add_operations(operations);
}

/// Waits for one slot after another, each time for a moment.
template <class Pool>
void wait_again_and_again(stress::run& run, Pool& pool, unsigned me,
                          const std::atomic<bool>& over) {
  if constexpr (blocks<Pool>) {
    stress::random random = run.generator(me);
    std::uint64_t operations = 0;
    for (; !over; ++operations) {
      if (const auto mine =
              pool.acquire_for(std::chrono::microseconds(random() % 2000), lido::default_init)) {
        stress::take(run, *mine, me);
        stress::leave(run, *mine, me);
      }
    }
    run.add_operations(operations);
  }
}

/// All that the calling thread can get, and each of them free.
template <class Pool>
std::vector<element<Pool>*> drain(stress::run& run, Pool& pool) {
  constexpr unsigned child = 1000;
  std::vector<element<Pool>*> all;
  while (element<Pool>* const object = pool.try_acquire_ptr(lido::default_init)) {
    stress::take(run, *object, child);
    all.push_back(object);
  }
  for (element<Pool>* const object : all) {
    stress::leave(run, *object, child);
  }
  return all;
}

/// How many objects an owner has, of all slots.
template <class Pool>
std::size_t count_owned(const element<Pool>* first) {
  return static_cast<std::size_t>(std::count_if(
      first, first + capacity, [](const stress::owned& object) { return object.owner != 0; }));
}

/// Uses the pool beside others in the same process.
template <class Pool>
void share(stress::run& run, Pool& pool, unsigned me) {
  std::vector<element<Pool>*> held;
  for (int round = 0; round < 50; ++round) {
    while (held.size() < 20) {
      element<Pool>* const object = pool.try_acquire_ptr(lido::default_init);
      if (object == nullptr) {
        break;
      }
      stress::take(run, *object, me);
      held.push_back(object);
    }
    for (element<Pool>* const object : held) {
      stress::leave(run, *object, me);
      pool.release(object);
    }
    held.clear();
  }
}

/// The thread that forked, and new ones, at the same time.
template <class Pool>
void share_as_child(stress::run& run, Pool& pool) {
  std::latch all_here(4);
  std::thread others([&] {
    run.in_threads(3, [&](unsigned thread) {
      all_here.arrive_and_wait();
      share(run, pool, forker + 2 + thread);
    });
  });
  all_here.arrive_and_wait();
  share(run, pool, forker);
  others.join();
}

// Missing are slots between two places, or between the pool and an owner's first write.
void tell(told& told, unsigned missing) {
  told.complete += missing == 0 ? 1 : 0;
  unsigned most = told.most_missing;
  while (most < missing && !told.most_missing.compare_exchange_weak(most, missing)) {
  }
}

void judge_missing(stress::run& run, std::size_t missing, told& told) {
  // At most half of the slots are in caches, and a thread moves as many as a trip has.
  if (missing > capacity / 2 + (run.options().threads + waiters) * 33) {
    run.broken(std::to_string(missing) + " slots are missing in the child");
  }
  tell(told, static_cast<unsigned>(missing));
}

/// Takes slots until others wait, or a moment has passed.
template <class Pool>
std::vector<element<Pool>*> hoard(stress::run& run, Pool& pool) {
  std::vector<element<Pool>*> hoarded;
  if constexpr (blocks<Pool>) {
    for (int looks = 0; looks < 10'000 && pool.stats().waiting == 0; ++looks) {
      if (element<Pool>* const object = pool.try_acquire_ptr(lido::default_init)) {
        stress::take(run, *object, forker);
        hoarded.push_back(object);
      }
    }
  }
  return hoarded;
}

template <class Pool>
void let_go(stress::run& run, Pool& pool, const std::vector<element<Pool>*>& hoarded) {
  for (element<Pool>* const object : hoarded) {
    stress::leave(run, *object, forker);
    pool.release(object);
  }
}

/// The same in the child, where no thread waits.
template <class Pool>
void let_go_as_child(stress::run& run, Pool& pool, const std::vector<element<Pool>*>& hoarded) {
  const lido::pool_stats before = pool.stats();
  if (before.waiting != 0) {  // first: a release might wait for one that is not there
    run.broken("the child has waiters of its parent");
  }
  let_go(run, pool, hoarded);
  if (pool.stats().handed_over != before.handed_over) {
    run.broken("the child has served waiters of its parent");
  }
}

/// `all` slots are out; a thread of the child waits for one of them, and is served.
template <class Pool>
void wait_as_child(stress::run& run, Pool& pool, std::vector<element<Pool>*>& all) {
  if constexpr (blocks<Pool>) {
    std::atomic<bool> served{false};
    element<Pool>* const last = all.back();
    all.pop_back();
    std::thread waiter([&] {
      all.push_back(pool.acquire(lido::default_init).detach());
      served = true;
    });
    while (pool.stats().waiting == 0) {
      if (served) {
        run.broken("the child was refused a slot that was free");
      }
      std::this_thread::yield();
    }
    pool.release(last);
    waiter.join();
  }
}

template <class Pool>
void live_as_child(stress::run& run, std::unique_ptr<Pool>& pool, const element<Pool>* first,
                   const std::vector<element<Pool>*>& hoarded, told& told) {
  (void)::alarm(child_seconds);
  const long before = stress::waits();
  let_go_as_child(run, *pool, hoarded);
  const std::size_t owned = count_owned<Pool>(first);
  std::vector<element<Pool>*> all = drain(run, *pool);
  if (stress::waits() - before > stress::most_waits) {
    run.broken("the child waits for threads that it does not have");
  }
  if (all.size() < hoarded.size()) {
    run.broken("the child has lost what it released");
  }
  judge_missing(run, capacity - owned - all.size(), told);
  if (!all.empty()) {
    wait_as_child(run, *pool, all);
  }
  pool->release_n(all);
  share_as_child(run, *pool);
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
const element<Pool>* lowest_address(Pool& pool) {
  std::vector<element<Pool>*> all(capacity);
  all.resize(pool.try_acquire_n(all));
  pool.release_n(all);
  return *std::min_element(all.begin(), all.end());
}

struct fork_counts {
  unsigned all = 0;
  unsigned beside_waiters = 0;
};

template <class Pool>
fork_counts fork_until_over(stress::run& run, std::unique_ptr<Pool>& pool, told& told) {
  const element<Pool>* const first = lowest_address(*pool);
  std::atomic<bool> over{false};
  fork_counts counts;
  const unsigned crowd = blocks<Pool> ? waiters : 0;
  // A child that makes threads must not be forked while its parent makes some.
  std::latch begun(run.options().threads + crowd);
  std::thread workers([&] {
    run.in_threads(run.options().threads + crowd, [&](unsigned thread) {
      begun.count_down();
      if (thread < crowd) {
        wait_again_and_again(run, *pool, thread + 1, over);
      } else {
        work(run, *pool, thread + 1, over);
      }
    });
  });
  begun.wait();
  for (; run.goes_on(!blocks<Pool> || counts.beside_waiters > 0); ++counts.all) {
    const std::vector<element<Pool>*> hoarded = hoard(run, *pool);
    counts.beside_waiters += pool->stats().waiting > 0 ? 1 : 0;
    const pid_t child = fork_process();
    if (child == 0) {
      live_as_child(run, pool, first, hoarded, told);
      std::_Exit(EXIT_SUCCESS);
    }
    let_go(run, *pool, hoarded);
    int status = 0;
    if (child < 0 || ::waitpid(child, &status, 0) != child || status != 0) {
      run.broken("a child ended with status " + std::to_string(status));
    }
  }
  over = true;
  workers.join();
  return counts;
}

template <class Pool>
int drive(const stress::run_options& options, const std::string& name) {
  stress::run run(options);
  auto pool = std::make_unique<Pool>(capacity);
  stress::clear_owners(*pool);
  told& told = shared_page();
  const fork_counts forks = fork_until_over(run, pool, told);
  run.require(!blocks<Pool> || forks.beside_waiters > 0, "nobody waited at the moment of a fork");
  if (const std::size_t count = stress::count_acquirable(*pool); count != capacity) {
    run.broken("the parent has " + std::to_string(count) + " slots left");
  }
  stress::figures("forked_child_has_what_was_free")
      .add("pool", name)
      .add("threads", options.threads)
      .add("forks", forks.all)
      .add("forks_beside_waiters", forks.beside_waiters)
      .add("nothing_missing", told.complete.load())
      .add("most_missing", told.most_missing.load())
      .add("capacity", capacity)
      .print();
  return run.held("forked_child_has_what_was_free");
}

}  // namespace

int main(int argc, char** argv) {
  stress::run_options options;
  std::string name = "revocable";
  stress::command_line line("A forked child has what was free", options);
  line.add_pool(name, {"block"});
  line.parse(argc, argv);

  if (name == "block") {
    return drive<blocking>(options, name);
  }
  return stress::with_pool(name, [&]<class Pool>() { return drive<Pool>(options, name); });
}
