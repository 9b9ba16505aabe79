/// Tries to break: segments come and go, and no thread notices.
///
/// Workers hold, together, at most as many objects as the pool may ever have, so no acquire may
/// fail. Beside them others shrink the pool and reserve slots. Between rounds all slots must be
/// there, and when all are free, all segments must go. An object that lies in memory that was given
/// back, or comes from there, ends the program or has lost its owner.
#include <unistd.h>

#include <array>
#include <csignal>
#include <cstddef>
#include <string>
#include <string_view>
#include <vector>

#include "harness/ledger.hpp"
#include "harness/pools.hpp"
#include "harness/run.hpp"

namespace {

struct settings {
  stress::run_options run;
  std::string pool = "revocable";
  unsigned hold = 32;
  unsigned shrinkers = 1;
};

/// As large as a page, so that a segment has few. What is new from the system has no owner.
struct page : stress::owned {
  std::array<std::byte, 4096 - sizeof(stress::owned)> rest;
};

extern "C" void report_access(int /*signal*/) {
  constexpr std::string_view text = "BROKEN: an object has no memory\n";
  (void)!::write(STDOUT_FILENO, text.data(), text.size());
  std::_Exit(EXIT_FAILURE);
}

template <class Pool>
class worker {
 public:
  worker(stress::run& run, Pool& pool, unsigned me, unsigned hold, stress::random random)
      : run_(run), pool_(pool), me_(me), hold_(hold), random_(random) {}

  void work(int steps) {
    for (int step = 0; step < steps; ++step) {
      // Often all that there may be: then a slot that no thread finds is missed.
      const std::size_t target = random_() % 2 == 0 ? hold_ : random_() % (hold_ + 1);
      while (held_.size() > target) {
        give_one();
      }
      while (held_.size() < target) {
        take_one();
      }
    }
    while (!held_.empty()) {
      give_one();
    }
    run_.add_operations(operations_);
  }

 private:
  void take_one() {
    page* const object = pool_.try_acquire_ptr(lido::default_init);
    if (object == nullptr) {
      run_.broken("an acquire failed although the pool may have more slots");
    }
    stress::take(run_, *object, me_);
    held_.push_back(object);
    ++operations_;
  }

  void give_one() {
    std::swap(held_[random_() % held_.size()], held_.back());
    stress::leave(run_, *held_.back(), me_);
    pool_.release(held_.back());
    held_.pop_back();
    ++operations_;
  }

  stress::run& run_;
  Pool& pool_;
  unsigned me_;
  unsigned hold_;
  stress::random random_;
  std::vector<page*> held_;
  std::uint64_t operations_ = 0;
};

template <class Pool>
void resize(stress::run& run, Pool& pool, stress::random random, int steps) {
  for (int step = 0; step < steps; ++step) {
    const std::size_t wanted = random() % (pool.max_capacity() + 1);
    if (step % 4 == 0) {
      pool.reserve(wanted);
    } else if (const std::size_t left = pool.shrink_to(wanted); left > pool.max_capacity()) {
      run.broken("more slots are left than there can be");
    }
  }
}

template <class Pool>
void check(stress::run& run, Pool& pool) {
  std::vector<page*> all;
  while (page* const object = pool.try_acquire_ptr(lido::default_init)) {
    stress::take(run, *object, ~0U);
    all.push_back(object);
  }
  for (page* const object : all) {
    stress::leave(run, *object, ~0U);
    pool.release(object);
  }
  if (all.size() != pool.max_capacity()) {
    run.broken(std::to_string(all.size()) + " of " + std::to_string(pool.max_capacity()) +
               " slots are left");
  }
  if (const std::size_t left = pool.shrink_to(0); left != 0) {
    run.broken(std::to_string(left) + " free slots are kept");
  }
}

int drive(const settings& settings, lido::cache_kind caches) {
  using pool_type = lido::object_pool<page>;
  constexpr int steps = 2000;
  stress::run run(settings.run);
  pool_type pool({.max_capacity = std::size_t{settings.run.threads} * settings.hold,
                  .when_full = lido::when_full::grow,
                  .caches = caches});
  const auto both_ways = [&] {
    const lido::pool_stats now = pool.stats();
    return now.growths > 100 && now.shrinks > 100;
  };
  for (unsigned round = 0; run.goes_on(both_ways()); ++round) {
    run.in_threads(settings.run.threads + settings.shrinkers, [&](unsigned thread) {
      if (thread < settings.shrinkers) {
        resize(run, pool, run.generator(thread, round), steps / 10);
      } else {
        worker<pool_type>(run, pool, thread + 1, settings.hold, run.generator(thread, round))
            .work(steps);
      }
    });
    check(run, pool);
  }
  const lido::pool_stats stats = pool.stats();
  fmt::print("segments added {}, given back {}\n", stats.growths, stats.shrinks);
  stress::print_contention(stats);
  run.require(both_ways(), "the pool hardly grew or shrank");
  return run.held("growth_under_load");
}

}  // namespace

int main(int argc, char** argv) {
  settings settings;
  stress::command_line line("Growth under load", settings.run);
  line.add_pool(settings.pool);
  line.add("--hold", settings.hold,
           "most objects a worker holds; the pool may have threads times this");
  line.add("--shrinkers", settings.shrinkers, "threads, beside the workers, that resize the pool");
  line.parse(argc, argv);
  (void)std::signal(SIGSEGV, &report_access);
  return drive(settings, stress::caches_named(settings.pool));
}
