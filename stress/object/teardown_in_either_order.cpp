/// Tries to break: pools may die before the threads that used them, and threads before the pools.
///
/// Long-lived threads use pools that are made and destroyed all the time; short-lived threads end
/// while their pool lives, and while other pools are being destroyed. A pool that has ended cannot
/// be touched any more: its pages refuse it. Other memory errors are the sanitizers' to find; the
/// count of slots is checked here.
#include <barrier>
#include <memory>
#include <string>
#include <vector>

#include "harness/ledger.hpp"
#include "harness/mortal.hpp"
#include "harness/pools.hpp"
#include "harness/run.hpp"

namespace {

template <class Pool>
void use(stress::run& run, Pool& pool, unsigned me, stress::random& random) {
  std::vector<stress::owned*> held;
  for (std::size_t i = random() % 40; i > 0; --i) {
    if (stress::owned* const object = pool.try_acquire_ptr()) {
      stress::take(run, *object, me);
      held.push_back(object);
    }
  }
  for (stress::owned* const object : held) {
    stress::leave(run, *object, me);
    pool.release(object);
  }
  run.add_operations(2 * held.size());
}

/// One round: the pool is used by long-lived threads between two barriers, then dies before them.
template <class Pool>
void outlive_pools(stress::run& run, unsigned threads) {
  std::unique_ptr<stress::mortal<Pool>> pool;
  bool go_on = true;
  std::barrier turn(threads + 1);
  std::jthread keeper([&] {
    for (unsigned round = 0; go_on; ++round) {
      go_on = !run.over();
      pool = go_on ? std::make_unique<stress::mortal<Pool>>(64 + round % 512) : nullptr;
      turn.arrive_and_wait();  // the pool is there
      turn.arrive_and_wait();  // the pool has been used
      if (pool != nullptr && stress::count_acquirable(**pool) != (*pool)->capacity()) {
        run.broken("slots are missing");
      }
      pool.reset();
    }
  });
  run.in_threads(threads, [&](unsigned thread) {
    stress::random random = run.generator(thread);
    for (;;) {
      turn.arrive_and_wait();
      if (pool == nullptr) {
        turn.arrive_and_wait();
        return;
      }
      use(run, **pool, thread + 1, random);
      turn.arrive_and_wait();
    }
  });
}

/// Threads end while the pool they used lives on.
template <class Pool>
void die_before_pool(stress::run& run, unsigned threads) {
  while (!run.over()) {
    const stress::mortal<Pool> pool(256U);
    for (int generation = 0; generation < 4; ++generation) {
      run.in_threads(threads, [&](unsigned thread) {
        stress::random random = run.generator(thread, static_cast<unsigned>(generation));
        use(run, *pool, 100 + thread, random);
      });
    }
    if (stress::count_acquirable(*pool) != pool->capacity()) {
      run.broken("slots are missing");
    }
  }
}

}  // namespace

int main(int argc, char** argv) {
  stress::run_options options;
  std::string name = "revocable";
  stress::command_line line("Teardown in either order", options);
  line.add_pool(name);
  line.parse(argc, argv);

  return stress::with_pool(name, [&]<class Pool>() {
    stress::run run(options);
    stress::report_touches();
    std::jthread other_order([&] { die_before_pool<Pool>(run, 3); });
    outlive_pools<Pool>(run, options.threads);
    other_order.join();
    return run.held("teardown_in_either_order");
  });
}
