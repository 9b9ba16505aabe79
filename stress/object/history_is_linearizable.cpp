/// Tries to break: the results that threads see could come from some order of their calls, one
/// after another.
///
/// Threads acquire and release at random, and record when each call began and ended. After each
/// round the history of all threads is checked: no slot had two owners. An acquire was refused only
/// if all slots may have been out at one moment of its call. There are few slots, so that both
/// happen.
///
/// Beside the workers on a growing pool, one more thread shrinks it and reserves slots: then "all
/// slots" means the maximum. The handler of a pool that asks when it is exhausted says to give up,
/// so that acquire ends without a slot.
#include <algorithm>
#include <array>
#include <atomic>
#include <barrier>
#include <chrono>
#include <concepts>
#include <cstddef>
#include <mutex>
#include <string>
#include <vector>

#include "harness/heartbeat.hpp"
#include "harness/history.hpp"
#include "harness/pools.hpp"
#include "harness/report.hpp"

namespace {

struct settings : stress::pool_driver {
  settings() : pool_driver("history_is_linearizable", 4, {"grow"}) {}

  const unsigned& slots = option("--slots", 48, "capacity of the pool, or the most there may be");
  const unsigned& hold = option("--hold", 2, "most objects a thread holds");
  const unsigned& raid = option("--raid", 1024, "one step in so many takes all there is; 0: none");
  const unsigned& steps = option("--steps", 20'000, "of each thread in a round");
  const unsigned& excuses = option(
      "--excuses", 10, "% of the refusals that may come of a tenth of a second without progress");
};

/// An object of a page, so that a segment of a growing pool has few.
struct page : stress::owned {
  std::array<std::byte, 4096 - sizeof(stress::owned)> rest;
};
using growing_pool = lido::object_pool<page>;

/// One thread's part of a round.
template <class Pool>
class worker {
  using object_type = typename Pool::value_type;

 public:
  worker(Pool& pool, const object_type* first_slot, stress::random random, const settings& is)
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
  struct held_object {
    object_type* object;
    stress::instant acquire_call;
    stress::instant acquire_return;
  };

  // Takes all slots, so that a pool whose threads have slots in their caches runs dry.
  void raid() {
    for (std::size_t i = 0; i <= settings_.slots && acquire(); ++i) {
    }
    while (held_.size() > 1) {
      release();
    }
  }

  bool acquire() {
    const stress::instant call = stress::now();
    object_type* const object = pool_.try_acquire_ptr(lido::default_init);
    const stress::instant answer = stress::now();
    if (object != nullptr) {
      held_.push_back({object, call, answer});
      return true;
    }
    seen_.refusals.push_back({call, answer});
    if (!held_.empty()) {
      release();  // so that the pool does not stay empty
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
  const object_type* first_slot_;
  stress::random random_;
  const settings& settings_;
  std::vector<held_object> held_;
  stress::history seen_;
};

template <class Pool>
const typename Pool::value_type* lowest_address(Pool& pool) {
  std::vector<typename Pool::value_type*> all(pool.max_capacity());
  all.resize(pool.try_acquire_n(all));
  pool.release_n(all);
  return *std::min_element(all.begin(), all.end());
}

/// Resizes the pool until no worker is active.
void resize(growing_pool& pool, stress::random random, const std::atomic<unsigned>& at_work) {
  while (at_work != 0) {
    const std::size_t slots = random() % (pool.max_capacity() + 1);
    if (random() % 4 == 0) {
      pool.reserve(slots);
    } else {
      (void)pool.shrink_to(slots);
    }
  }
}

template <class Pool>
stress::history one_round(stress::run& run, Pool& pool, const settings& settings, unsigned round) {
  constexpr bool resizes = std::same_as<Pool, growing_pool>;
  stress::history whole;
  std::mutex door;
  const auto* const first_slot = lowest_address(pool);
  const unsigned workers = settings.threads();
  std::atomic<unsigned> at_work = workers;
  std::barrier start(workers);
  run.in_threads(workers + (resizes ? 1 : 0), [&](unsigned thread) {
    if constexpr (resizes) {
      if (thread == workers) {
        resize(pool, run.generator(thread, round), at_work);
        return;
      }
    }
    worker<Pool> worker(pool, first_slot, run.generator(thread, round), settings);
    start.arrive_and_wait();
    const stress::history& seen = worker.work();
    --at_work;
    const std::lock_guard lock(door);
    whole.append(seen);
  });
  return whole;
}

/// Excuses refusals: an acquire may also be refused after a tenth of a second in which a thread
/// that was moving slots or changing the capacity was stopped. Removes such refusals; returns how
/// many of them came without a known stop of the machine for half that time.
std::size_t excuse(stress::history& whole, stress::heartbeat& pulse) {
  constexpr stress::instant patience = 100'000'000;
  const auto moment = [](stress::instant at) {
    return stress::heartbeat::clock::time_point(std::chrono::nanoseconds(at));
  };
  std::size_t unexplained = 0;
  std::erase_if(whole.refusals, [&](const stress::refusal& refused) {
    const bool is_late = refused.answer - refused.call >= patience;
    unexplained += is_late && pulse.missed_between(moment(refused.call), moment(refused.answer)) <
                                  std::chrono::nanoseconds(patience / 2)
                       ? 1
                       : 0;
    return is_late;
  });
  return unexplained;
}

struct history_is_linearizable : settings {
  [[nodiscard]] bool grows() const { return pool_name() == "grow"; }

  void prepare(stress::run& /*run*/) override {
    if (grows()) {
      growing_.emplace(
          lido::object_pool_options{.max_capacity = slots, .when_full = lido::when_full::grow});
    } else {
      open({.capacity = slots});
    }
  }
  void round(stress::run& run, unsigned number) override {
    stress::history whole =
        grows() ? one_round(run, *growing_, *this, number) : one_round(run, pool(), *this, number);
    excused_ += excuse(whole, pulse_);
    if (const auto problem = stress::impossible_in(whole, slots)) {
      run.broken(*problem);
    }
    run.add_operations(whole.operations());
    refusals_ += whole.refusals.size();
    ++rounds_;
  }
  void check(stress::run& run) override {
    const lido::slot_pool_stats now = stats_of_pool();
    stress::print_contention(now);
    stress::figures(invariant())
        .add("pool", pool_name())
        .add("threads", threads())
        .add("rounds", rounds_)
        .add("operations", run.operations())
        .add("refusals", refusals_)
        .add("excused", excused_)
        .add("growths", now.growth->growths)
        .print();
    if (excused_ > 3 + refusals_ * excuses / 100) {
      run.broken(std::to_string(excused_) + " acquires gave up after a tenth of a second");
    }
  }
  [[nodiscard]] std::string missing() const override {
    if (refusals_ == 0) {
      return "no acquire was refused";
    }
    const lido::slot_pool_stats now = stats_of_pool();
    return grows() && (now.growth->growths <= 100 || now.growth->shrinks <= 100)
               ? "the pool hardly grew or shrank"
               : "";
  }
  [[nodiscard]] lido::slot_pool_stats stats_of_pool() const {
    return grows() ? growing_->stats() : stats();
  }

  std::optional<growing_pool> growing_;
  stress::heartbeat pulse_;
  std::size_t refusals_ = 0;
  std::size_t excused_ = 0;
  unsigned rounds_ = 0;
};

}  // namespace

int main(int argc, char** argv) {
  return history_is_linearizable().drive(argc, argv);
}
