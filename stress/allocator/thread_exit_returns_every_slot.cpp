/// Tries to break: a thread that ends takes nothing with it.
///
/// Generations of short threads fill their caches and end, every second one beside a thread that
/// robs them. After each generation the caches must be empty and closed, all slots free and in the
/// shared lists.
#include <atomic>
#include <string>
#include <vector>

#include "harness/ledger.hpp"
#include "harness/pools.hpp"
#include "harness/run.hpp"

namespace {

struct settings {
  stress::run_options run;
  std::string pool = "revocable";
  std::size_t slots = 512;
};

constexpr unsigned raider = 1'000;

/// A short life: some acquires and releases, so that the cache is full at its end.
template <class Pool>
void live(stress::run& run, Pool& pool, unsigned me, stress::random random) {
  std::vector<stress::owned*> held;
  const std::size_t most = 1 + random() % 48;
  for (int burst = 0; burst < 4; ++burst) {
    while (held.size() < most) {
      stress::owned* const object = pool.try_acquire_ptr(lido::default_init);
      if (object == nullptr) {
        break;
      }
      stress::take(run, *object, me);
      held.push_back(object);
    }
    run.add_operations(2 * held.size());
    for (; !held.empty(); held.pop_back()) {
      stress::leave(run, *held.back(), me);
      pool.release(held.back());
    }
  }
}

/// Takes all there is, out of the caches of those that are about to end, and gives it back.
template <class Pool>
void raid(stress::run& run, Pool& pool, const std::atomic<unsigned>& alive) {
  std::vector<stress::owned*> loot;
  while (alive > 0) {
    while (stress::owned* const object = pool.try_acquire_ptr(lido::default_init)) {
      stress::take(run, *object, raider);
      loot.push_back(object);
    }
    for (; !loot.empty(); loot.pop_back()) {
      stress::leave(run, *loot.back(), raider);
      pool.release(loot.back());
    }
  }
}

}  // namespace

int main(int argc, char** argv) {
  settings settings;
  settings.run.threads = 8;
  stress::command_line line("Thread exit returns every slot", settings.run);
  line.add_pool(settings.pool);
  line.add("--slots", settings.slots, "capacity of the pool");
  line.parse(argc, argv);

  return stress::with_pool(settings.pool, [&]<class Pool>() {
    stress::run run(settings.run);
    Pool pool(settings.slots);
    stress::clear_owners(pool);
    unsigned long long born = 0;
    for (unsigned round = 0; run.goes_on(stress::robbed(pool.stats())); ++round) {
      std::atomic<unsigned> alive{settings.run.threads};
      run.in_threads(settings.run.threads + round % 2, [&](unsigned thread) {
        if (thread == settings.run.threads) {
          raid(run, pool, alive);
        } else {
          live(run, pool, thread + 1, run.generator(thread, round));
          --alive;
        }
      });
      born += settings.run.threads;
      const auto stats = pool.stats();
      if (stats.in_use != 0 || stats.open_caches > 1) {  // the main thread may have a cache
        run.broken(std::to_string(stats.in_use) + " slots in use and " +
                   std::to_string(stats.open_caches) + " caches open after all threads have ended");
      }
      if (round % 2 == 1 && stress::count_acquirable(pool) != settings.slots) {
        run.broken("slots are missing");
      }
    }
    fmt::print("{} threads born and ended\n", born);
    stress::require_thefts(run, pool.stats());
    return run.held("thread_exit_returns_every_slot");
  });
}
