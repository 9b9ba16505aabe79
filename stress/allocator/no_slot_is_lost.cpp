/// Tries to break: whichever thread steals from which cache, all slots come back.
///
/// Raiders take every free slot and give it back, and so rob the caches of the workers in the
/// middle of their pops and pushes. Between rounds all slots must be free.
#include <atomic>
#include <string>
#include <vector>

#include "harness/pools.hpp"

namespace {

constexpr int steps_per_round = 20'000;

/// A cache line that every thread writes, without need. Each such store waits for the line, and the
/// pool's later stores wait behind it, so a missing fence has a chance to show.
struct alignas(128) {
  std::atomic<unsigned> word{0};

  void write(unsigned value) { word.store(value, std::memory_order_relaxed); }
} contended;

void raid(stress::run& run, stress::pool_type& pool, unsigned me) {
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

void work(stress::run& run, stress::pool_type& pool, unsigned me, unsigned hold,
          stress::random random) {
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
        break;  // a raider has all slots
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

struct no_slot_is_lost : stress::pool_driver {
  no_slot_is_lost() : pool_driver("no_slot_is_lost") {}

  void prepare(stress::run& /*run*/) override { open({.capacity = slots_}); }
  void round(stress::run& run, unsigned number) override {
    run.in_threads(threads() + raiders_, [&](unsigned thread) {
      if (thread < raiders_) {
        raid(run, pool(), thread + 1);
      } else {
        work(run, pool(), thread + 1, hold_, run.generator(thread, number));
      }
    });
    require_all(run, pool(), slots_);
  }

  const unsigned& raiders_ =
      option("--raiders", 1, "threads, beside the workers, that take all they can get");
  const unsigned& slots_ = option("--slots", 64, "capacity of the pool");
  const unsigned& hold_ = option("--hold", 6, "most objects a worker holds");
};

}  // namespace

int main(int argc, char** argv) {
  return no_slot_is_lost().drive(argc, argv);
}
