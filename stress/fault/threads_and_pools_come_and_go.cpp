/// Tries to break: threads that start and end by the ten thousand, with full caches, take nothing
/// with them. Pools that are made and destroyed by the thousand beside live threads leave nothing
/// behind.
#include <array>
#include <atomic>
#include <barrier>
#include <chrono>
#include <cstddef>
#include <optional>
#include <string>
#include <thread>
#include <vector>

#include "harness/pools.hpp"
#include "harness/report.hpp"

namespace {

constexpr std::size_t capacity = 1024;

/// Lives shortly, and ends with as full a cache as possible.
void live(stress::run& run, stress::pool_type& pool, unsigned me) {
  std::vector<stress::owned*> held;
  for (unsigned burst = 0; burst < 3; ++burst) {
    for (unsigned i = 0; i < 40; ++i) {
      if (stress::owned* const object = pool.try_acquire_ptr(lido::default_init)) {
        stress::take(run, *object, me);
        held.push_back(object);
      }
    }
    for (; !held.empty(); held.pop_back()) {
      stress::leave(run, *held.back(), me);
      pool.release(held.back());
    }
  }
  run.add_operations(240);
}

/// Starts and ends threads beside a pool, and then makes and destroys pools beside threads.
struct threads_and_pools_come_and_go : stress::pool_driver {
  threads_and_pools_come_and_go() : pool_driver("threads_and_pools_come_and_go") {}

  void prepare(stress::run& /*run*/) override { open({.capacity = capacity}); }
  void load(stress::run& run) override {
    churn_threads(run);
    turn_.emplace(threads());
    run.in_threads(threads(), [&](unsigned thread) { churn_pools(run, thread); });
  }
  void check(stress::run& /*run*/) override {
    stress::figures(invariant())
        .add("pool", pool_name())
        .add("threads_born", born_)
        .add("pools_made", pools_)
        .print();
  }
  [[nodiscard]] std::string missing() const override { return {}; }

  void churn_threads(stress::run& run) {
    std::atomic<bool> over{false};
    // Takes all slots now and then, including those in caches that are about to end.
    std::thread robber([&] {
      while (!over) {
        (void)stress::count_acquirable(pool());
        std::this_thread::sleep_for(std::chrono::milliseconds(5));  // scarcity keeps caches closed
      }
    });
    for (unsigned born = 0; born < born_; born += threads()) {
      run.in_threads(threads(), [&](unsigned thread) { live(run, pool(), thread + 1); });
    }
    over = true;
    robber.join();
    require_all(run, pool(), capacity);
  }

  /// Lets long-lived threads use each pool, which one of them makes and destroys. While it does,
  /// the others use pools of their own, and the next one makes the next pool.
  void churn_pools(stress::run& run, unsigned thread) {
    stress::pool_type own(with_pool({.capacity = 64}));  // beside all the short-lived ones
    stress::clear_owners(own);
    for (unsigned made = 0; made < pools_; ++made) {
      std::optional<stress::pool_type>& young = young_.at(made % young_.size());
      const bool is_mine = made % threads() == thread;
      if (is_mine) {
        stress::clear_owners(young.emplace(with_pool({.capacity = 64 + made % 512})));
      } else {
        live(run, own, thread + 1);
      }
      turn_->arrive_and_wait();  // the pool is there
      live(run, *young, thread + 1);
      turn_->arrive_and_wait();  // no thread is in a call any more
      if (!is_mine) {
        live(run, own, thread + 1);
        continue;
      }
      if (made % 16 == 0) {
        std::thread([&] { live(run, *young, 100 + thread); }).join();
      }
      require_all(run, *young, young->capacity());
      young.reset();
    }
    require_all(run, own, own.capacity());
  }

  const unsigned& born_ = option("--born", 20'000, "threads");
  const unsigned& pools_ = option("--pools", 4'000, "pools");
  std::optional<std::barrier<>> turn_;
  std::array<std::optional<stress::pool_type>, 2> young_;  // made and destroyed at the same time
};

}  // namespace

int main(int argc, char** argv) {
  return threads_and_pools_come_and_go().drive(argc, argv);
}
