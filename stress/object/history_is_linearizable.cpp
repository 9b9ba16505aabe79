/// Tries to break: what threads see of a pool is what some order of their calls, one after another,
/// would have shown them.
///
/// Threads acquire and release at random, and write down when each call began and ended. After each
/// round the history of all of them is checked: no slot had two owners, and an acquire was refused
/// only if all slots may have been out at one moment of its call. Few slots, so that both happen.
#include <algorithm>
#include <barrier>
#include <mutex>
#include <string>
#include <vector>

#include "harness/history.hpp"
#include "harness/pools.hpp"
#include "harness/report.hpp"
#include "harness/run.hpp"

namespace {

struct settings {
  stress::run_options run;
  std::string pool = "revocable";
  std::size_t slots = 48;
  unsigned hold = 2;
  unsigned raid = 1024;
  unsigned steps = 20'000;
};

struct held_object {
  stress::owned* object;
  stress::instant acquire_call;
  stress::instant acquire_return;
};

/// One thread's part of a round.
template <class Pool>
class worker {
 public:
  worker(Pool& pool, const stress::owned* first_slot, stress::random random, const settings& is)
      : pool_(pool), first_slot_(first_slot), random_(random), settings_(is) {
    seen_.holdings.reserve(is.steps);
  }

  [[nodiscard]] const stress::history& work() {
    for (unsigned step = 0; step < settings_.steps; ++step) {
      if (settings_.raid != 0 && random_() % settings_.raid == 0) {
        raid();
      } else if (held_.size() < 1 + random_() % settings_.hold) {
        (void)acquire();
      } else {
        release();
      }
    }
    while (!held_.empty()) {
      release();
    }
    return seen_;
  }

 private:
  // Takes all there is, so that a pool whose threads have slots in their caches runs dry.
  void raid() {
    for (std::size_t i = 0; i <= settings_.slots && acquire(); ++i) {
    }
    while (held_.size() > 1) {
      release();
    }
  }

  bool acquire() {
    const stress::instant call = stress::now();
    stress::owned* const object = pool_.try_acquire_ptr(lido::default_init);
    const stress::instant answer = stress::now();
    if (object != nullptr) {
      held_.push_back({object, call, answer});
      return true;
    }
    seen_.refusals.push_back({call, answer});
    if (!held_.empty()) {
      release();  // so that the pool is not empty for good
    }
    return false;
  }

  void release() {
    std::swap(held_[random_() % held_.size()], held_.back());
    const held_object last = held_.back();
    held_.pop_back();
    const stress::instant call = stress::now();
    pool_.release(last.object);
    seen_.holdings.push_back({last.acquire_call, last.acquire_return, call, stress::now(),
                              static_cast<std::uint32_t>(last.object - first_slot_)});
  }

  Pool& pool_;
  const stress::owned* first_slot_;
  stress::random random_;
  const settings& settings_;
  std::vector<held_object> held_;
  stress::history seen_;
};

template <class Pool>
const stress::owned* lowest_address(Pool& pool) {
  std::vector<stress::owned*> all(pool.capacity());
  all.resize(pool.try_acquire_n(all));
  pool.release_n(all);
  return *std::min_element(all.begin(), all.end());
}

template <class Pool>
stress::history one_round(stress::run& run, Pool& pool, const settings& settings, unsigned round) {
  stress::history whole;
  std::mutex door;
  const stress::owned* const first_slot = lowest_address(pool);
  std::barrier start(settings.run.threads);
  run.in_threads(settings.run.threads, [&](unsigned thread) {
    worker<Pool> worker(pool, first_slot, run.generator(thread, round), settings);
    start.arrive_and_wait();
    const stress::history& seen = worker.work();
    const std::lock_guard lock(door);
    whole.append(seen);
  });
  return whole;
}

}  // namespace

int main(int argc, char** argv) {
  settings settings;
  stress::command_line line("The history is linearizable", settings.run);
  line.add_pool(settings.pool);
  line.add("--slots", settings.slots, "capacity of the pool");
  line.add("--hold", settings.hold, "most objects a thread holds");
  line.add("--raid", settings.raid, "one step in so many takes all there is; 0: none");
  line.add("--steps", settings.steps, "of each thread in a round");
  line.parse(argc, argv);

  return stress::with_pool(settings.pool, [&]<class Pool>() {
    stress::run run(settings.run);
    Pool pool(settings.slots);
    std::size_t refusals = 0;
    std::size_t operations = 0;
    unsigned round = 0;
    for (; !run.over(); ++round) {
      const stress::history whole = one_round(run, pool, settings, round);
      if (const auto problem = stress::impossible_in(whole, settings.slots)) {
        run.broken(*problem);
      }
      run.add_operations(whole.operations());
      operations += whole.operations();
      refusals += whole.refusals.size();
    }
    stress::print_contention(pool.stats());
    stress::figures("history_is_linearizable")
        .add("pool", settings.pool)
        .add("threads", settings.run.threads)
        .add("rounds", round)
        .add("operations", operations)
        .add("refusals", refusals)
        .add("impossible", 0)
        .print();
    return run.held("history_is_linearizable");
  });
}
