/// Tries to break: pools may end before the threads that used them, and threads before the pools.
///
/// Long-lived threads use pools that are made and destroyed all the time; short-lived threads end
/// while their pool lives, and while other pools are being destroyed. The pages of a destroyed pool
/// are inaccessible. Other memory errors are left to the sanitizers; the count of slots is checked
/// here.
#include <barrier>
#include <memory>
#include <thread>
#include <vector>

#include "harness/mortal.hpp"
#include "harness/pools.hpp"

namespace {

void use(stress::run& run, stress::pool_type& pool, unsigned me, stress::random& random) {
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

/// Destroys pools before the threads that use them end, while other threads end before their pool.
struct teardown_in_either_order : stress::pool_driver {
  using mortal = stress::mortal<stress::pool_type>;

  teardown_in_either_order() : pool_driver("teardown_in_either_order") {}

  void load(stress::run& run) override {
    stress::report_touches();
    const std::jthread other_order([&] { die_before_pool(run); });
    outlive_pools(run);
  }

  void check(stress::run& /*run*/) override {}
  [[nodiscard]] std::string missing() const override { return {}; }

  /// Lets long-lived threads use each pool between two barriers, and destroys it before they end.
  void outlive_pools(stress::run& run) {
    std::unique_ptr<mortal> pool;
    bool go_on = true;
    std::barrier turn(threads() + 1);
    const std::jthread keeper([&] {
      for (unsigned round = 0; go_on; ++round) {
        go_on = !run.over();
        pool =
            go_on ? std::make_unique<mortal>(with_pool({.capacity = 64 + round % 512})) : nullptr;
        turn.arrive_and_wait();  // the pool exists
        turn.arrive_and_wait();  // the pool has been used
        if (pool != nullptr) {
          require_all(run, **pool, (*pool)->capacity());
        }
        pool.reset();
      }
    });
    run.in_threads(threads(), [&](unsigned thread) {
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

  /// Ends threads while the pool they used lives on.
  void die_before_pool(stress::run& run) {
    while (!run.over()) {
      const mortal pool(with_pool({.capacity = 256}));
      for (unsigned generation = 0; generation < 4; ++generation) {
        run.in_threads(3, [&](unsigned thread) {
          stress::random random = run.generator(thread, generation);
          use(run, *pool, 100 + thread, random);
        });
      }
      require_all(run, *pool, pool->capacity());
    }
  }
};

}  // namespace

int main(int argc, char** argv) {
  return teardown_in_either_order().drive(argc, argv);
}
