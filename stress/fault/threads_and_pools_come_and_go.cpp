/// Tries to break: threads that start and end by the ten thousand, with full caches, take nothing
/// with them. Pools that come and go by the thousand beside living threads leave nothing behind.
#include <array>
#include <atomic>
#include <barrier>
#include <chrono>
#include <cstddef>
#include <memory>
#include <string>
#include <thread>
#include <vector>

#include "harness/ledger.hpp"
#include "harness/pools.hpp"
#include "harness/report.hpp"
#include "harness/run.hpp"

namespace {

constexpr std::size_t capacity = 1024;

/// A short life that ends with as full a cache as it got.
template <class Pool>
void live(stress::run& run, Pool& pool, unsigned me) {
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

template <class Pool>
void churn_threads(stress::run& run, unsigned count) {
  Pool pool(capacity);
  stress::clear_owners(pool);
  std::atomic<bool> over{false};
  std::thread robber([&] {  // takes all now and then, also what is in caches that are about to end
    while (!over) {
      (void)stress::count_acquirable(pool);
      std::this_thread::sleep_for(std::chrono::milliseconds(5));  // in want, caches stay closed
    }
  });
  const unsigned at_once = run.options().threads;
  for (unsigned born = 0; born < count; born += at_once) {
    run.in_threads(at_once, [&](unsigned thread) { live(run, pool, thread + 1); });
  }
  over = true;
  robber.join();
  if (const std::size_t found = stress::count_acquirable(pool); found != capacity) {
    run.broken(std::to_string(found) + " of " + std::to_string(capacity) + " slots are left");
  }
}

/// Threads that live all the time use each pool, which one of them makes and ends. While it does,
/// the others use pools of their own, and the next one makes the next pool.
template <class Pool>
class pool_churn {
 public:
  pool_churn(stress::run& run, unsigned count)
      : run_(run), count_(count), turn_(static_cast<std::ptrdiff_t>(run.options().threads)) {}

  void work(unsigned thread) {
    Pool own(64);  // lives as long as its thread, beside all that come and go
    stress::clear_owners(own);
    for (unsigned made = 0; made < count_; ++made) {
      std::unique_ptr<Pool>& young = young_.at(made % young_.size());
      const bool is_mine = made % run_.options().threads == thread;
      if (is_mine) {
        young = std::make_unique<Pool>(64 + made % 512);
        stress::clear_owners(*young);
      } else {
        live(run_, own, thread + 1);
      }
      turn_.arrive_and_wait();  // it is there
      live(run_, *young, thread + 1);
      turn_.arrive_and_wait();  // no thread is in a call any more
      if (is_mine) {
        end(young, made, thread);
      } else {
        live(run_, own, thread + 1);
      }
    }
    if (stress::count_acquirable(own) != own.capacity()) {
      run_.broken("an old pool has lost slots");
    }
  }

 private:
  void end(std::unique_ptr<Pool>& young, unsigned made, unsigned thread) {
    if (made % 16 == 0) {
      std::thread([&] { live(run_, *young, 100 + thread); }).join();
    }
    if (stress::count_acquirable(*young) != young->capacity()) {
      run_.broken("a young pool has lost slots");
    }
    young.reset();
  }

  stress::run& run_;
  unsigned count_;
  std::barrier<> turn_;
  std::array<std::unique_ptr<Pool>, 2> young_;  // one comes while the one before goes
};

template <class Pool>
void churn_pools(stress::run& run, unsigned count) {
  pool_churn<Pool> churn(run, count);
  run.in_threads(run.options().threads, [&](unsigned thread) { churn.work(thread); });
}

}  // namespace

int main(int argc, char** argv) {
  stress::run_options options;
  std::string name = "revocable";
  unsigned born = 20'000;
  unsigned pools = 4'000;
  stress::command_line line("Threads and pools come and go", options);
  line.add_pool(name);
  line.add("--born", born, "threads");
  line.add("--pools", pools, "pools");
  line.parse(argc, argv);

  return stress::with_pool(name, [&]<class Pool>() {
    stress::run run(options);
    churn_threads<Pool>(run, born);
    churn_pools<Pool>(run, pools);
    stress::figures("threads_and_pools_come_and_go")
        .add("pool", name)
        .add("threads_born", born)
        .add("pools_made", pools)
        .print();
    return run.held("threads_and_pools_come_and_go");
  });
}
