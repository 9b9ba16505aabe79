/// Tries to break: threads that are born and end by the ten thousand, with full caches, take
/// nothing with them; and pools that come and go by the thousand beside living threads leave
/// nothing behind.
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
  std::thread robber([&] {  // takes all now and then, so that caches are robbed while they end
    for (unsigned born = 0; born < count; born += 200) {
      (void)stress::count_acquirable(pool);
    }
  });
  const unsigned at_once = run.options().threads;
  for (unsigned born = 0; born < count; born += at_once) {
    run.in_threads(at_once, [&](unsigned thread) { live(run, pool, thread + 1); });
  }
  robber.join();
  if (const std::size_t found = stress::count_acquirable(pool); found != capacity) {
    run.broken(std::to_string(found) + " of " + std::to_string(capacity) + " slots are left");
  }
}

/// Threads that live all the time use each pool, and one of them makes and ends it.
template <class Pool>
void churn_pools(stress::run& run, unsigned count) {
  const unsigned crew = run.options().threads;
  run.in_threads(crew, [&](unsigned thread) {
    Pool own(64);  // lives as long as its thread, beside all that come and go
    stress::clear_owners(own);
    for (unsigned made = 0; made < count / crew; ++made) {
      auto pool = std::make_unique<Pool>(64 + made % 512);
      stress::clear_owners(*pool);
      live(run, *pool, thread + 1);
      live(run, own, thread + 1);
      if (made % 16 == 0) {
        std::thread([&] { live(run, *pool, 100 + thread); }).join();
      }
      if (stress::count_acquirable(*pool) != pool->capacity()) {
        run.broken("a young pool has lost slots");
      }
    }
    if (stress::count_acquirable(own) != own.capacity()) {
      run.broken("an old pool has lost slots");
    }
  });
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
        .add("slots_lost", 0)
        .print();
    return run.held("threads_and_pools_come_and_go");
  });
}
