/// Tries to break: a thread that ends takes no slot with it.
///
/// Generations of short threads fill their caches and end, every second one beside a thread that
/// robs them. After each generation the caches must be empty and closed, all slots free and in the
/// shared lists.
#include <fmt/core.h>

#include <atomic>
#include <string>
#include <vector>

#include "harness/pools.hpp"

namespace {

constexpr unsigned raider = 1'000;

/// A short life: some acquires and releases, so that the cache is full at its end.
void live(stress::run& run, stress::pool_type& pool, unsigned me, stress::random random) {
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

/// Takes all slots, also from the caches of threads that are about to end, and gives them back.
void raid(stress::run& run, stress::pool_type& pool, const std::atomic<unsigned>& alive) {
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

struct thread_exit_returns_every_slot : stress::pool_driver {
  thread_exit_returns_every_slot() : pool_driver("thread_exit_returns_every_slot", 8) {}

  void prepare(stress::run& /*run*/) override { open({.capacity = slots_}); }
  void round(stress::run& run, unsigned number) override {
    std::atomic<unsigned> alive{threads()};
    run.in_threads(threads() + number % 2, [&](unsigned thread) {
      if (thread == threads()) {
        raid(run, pool(), alive);
      } else {
        live(run, pool(), thread + 1, run.generator(thread, number));
        --alive;
      }
    });
    born_ += threads();
    const lido::slot_pool_stats now = stats();
    if (now.in_use != 0 || now.open_caches > 1) {  // the main thread may have a cache
      run.broken(fmt::format("{} slots in use and {} caches open after all threads have ended",
                             now.in_use, now.open_caches));
    }
    if (number % 2 == 1) {
      require_all(run, pool(), slots_);
    }
  }
  void check(stress::run& /*run*/) override {
    fmt::print("{} threads born and ended\n", born_);
    stress::print_contention(stats());
  }

  const unsigned& slots_ = option("--slots", 512, "capacity of the pool");
  std::uint64_t born_ = 0;
};

}  // namespace

int main(int argc, char** argv) {
  return thread_exit_returns_every_slot().drive(argc, argv);
}
