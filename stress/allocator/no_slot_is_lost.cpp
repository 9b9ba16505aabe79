/// Tries to break: whichever thread steals from which cache, all slots come back.
///
/// Raiders take every free slot and give it back. So they rob the caches of the workers, in the
/// middle of the workers' pops and pushes. Between rounds everything must be there.
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
  unsigned raiders = 1;
  std::size_t slots = 64;
  unsigned hold = 6;
};

constexpr int steps_per_round = 20'000;

/// A line that everybody writes, without need. Each such store waits for the line, and those of the
/// pool's that follow wait behind it, so that a fence that is missing has a chance to be missed.
struct alignas(128) {
  std::atomic<unsigned> word{0};

  void write(unsigned value) { word.store(value, std::memory_order_relaxed); }
} contended;

template <class Pool>
void raid(stress::run& run, Pool& pool, unsigned me) {
  std::vector<stress::owned*> loot;
  std::uint64_t operations = 0;
  for (int step = 0; step < steps_per_round / 100; ++step) {
    while (stress::owned* const object = pool.try_acquire_ptr(lido::default_init)) {
      stress::take(run, *object, me);
      loot.push_back(object);
    }
    operations += loot.size();
    contended.write(me);
    for (stress::owned* const object : loot) {
      stress::leave(run, *object, me);
      pool.release(object);
    }
    loot.clear();
  }
  run.add_operations(operations * 2);
}

template <class Pool>
void work(stress::run& run, Pool& pool, unsigned me, unsigned hold, stress::random random) {
  std::vector<stress::owned*> held;
  for (int step = 0; step < steps_per_round; ++step) {
    const std::size_t target = random() % (hold + 1);
    while (held.size() > target) {
      contended.write(me);
      stress::leave(run, *held.back(), me);
      pool.release(held.back());
      held.pop_back();
    }
    while (held.size() < target) {
      contended.write(me);
      stress::owned* const object = pool.try_acquire_ptr(lido::default_init);
      if (object == nullptr) {
        break;  // a raider has it all
      }
      stress::take(run, *object, me);
      held.push_back(object);
    }
  }
  for (stress::owned* const object : held) {
    stress::leave(run, *object, me);
    pool.release(object);
  }
  run.add_operations(steps_per_round);
}

}  // namespace

int main(int argc, char** argv) {
  settings settings;
  stress::command_line line("No slot is lost", settings.run);
  line.add_pool(settings.pool);
  line.add("--raiders", settings.raiders,
           "threads, beside the workers, that take all they can get");
  line.add("--slots", settings.slots, "capacity of the pool");
  line.add("--hold", settings.hold, "most objects a worker holds");
  line.parse(argc, argv);

  return stress::with_pool(settings.pool, [&]<class Pool>() {
    stress::run run(settings.run);
    Pool pool(settings.slots);
    stress::clear_owners(pool);
    for (unsigned round = 0; run.goes_on(stress::robbed(pool.stats())); ++round) {
      run.in_threads(settings.run.threads + settings.raiders, [&](unsigned thread) {
        if (thread < settings.raiders) {
          raid(run, pool, thread + 1);
        } else {
          work(run, pool, thread + 1, settings.hold, run.generator(thread, round));
        }
      });
      if (const std::size_t count = stress::count_acquirable(pool); count != settings.slots) {
        run.broken(std::to_string(count) + " of " + std::to_string(settings.slots) +
                   " slots are left");
      }
    }
    stress::require_thefts(run, pool.stats());
    return run.held("no_slot_is_lost");
  });
}
