/// Tries to break: N slots means that N can be out at once.
///
/// Threads times slots held is exactly the capacity, so every acquire can succeed, and one that
/// fails has overlooked a slot: in a cache, or on its way between two places.
#include <algorithm>
#include <string>
#include <vector>

#include "harness/ledger.hpp"
#include "harness/pools.hpp"
#include "harness/run.hpp"

namespace {

struct settings {
  stress::run_options run;
  std::string pool = "revocable";
  unsigned hold = 8;
  std::uint64_t operations = 0;  // 0: until the time is over
};

template <class Pool>
class worker {
 public:
  worker(stress::run& run, Pool& pool, unsigned me, const settings& settings)
      : run_(run), pool_(pool), me_(me), settings_(settings), random_(run.generator(me)) {
    held_.reserve(settings.hold);
  }

  void work() {
    const std::uint64_t enough = settings_.operations / settings_.run.threads;
    while (enough > 0 ? operations_ < enough : !run_.over()) {
      climb();
      descend(random_() % (held_.size() + 1));
    }
    descend(0);
    run_.add_operations(operations_);
  }

 private:
  // Up to the last slot that this thread is entitled to.
  void climb() {
    while (held_.size() < settings_.hold) {
      stress::owned* const object = pool_.try_acquire_ptr(lido::default_init);
      ++operations_;
      if (object == nullptr) {
        run_.broken("an acquire failed with " + std::to_string(held_.size()) + " of " +
                    std::to_string(settings_.hold) + " slots held");
      }
      stress::take(run_, *object, me_);
      held_.push_back(object);
    }
  }

  void descend(std::size_t left) {
    for (; held_.size() > left; held_.pop_back()) {
      std::swap(held_[random_() % held_.size()], held_.back());
      stress::leave(run_, *held_.back(), me_);
      pool_.release(held_.back());
      ++operations_;
    }
  }

  stress::run& run_;
  Pool& pool_;
  unsigned me_;
  const settings& settings_;
  stress::random random_;
  std::vector<stress::owned*> held_;
  std::uint64_t operations_ = 0;
};

}  // namespace

int main(int argc, char** argv) {
  settings settings;
  stress::command_line line("The capacity is exact", settings.run);
  line.add_pool(settings.pool);
  line.add("--hold", settings.hold,
           "slots each thread may hold; the capacity is threads times this");
  line.add("--operations", settings.operations, "so many in all, instead of --seconds");
  line.parse(argc, argv);

  return stress::with_pool(settings.pool, [&]<class Pool>() {
    stress::run run(settings.run);
    Pool pool(std::size_t{settings.run.threads} * settings.hold);
    stress::clear_owners(pool);
    run.in_threads(settings.run.threads,
                   [&](unsigned thread) { worker<Pool>(run, pool, thread + 1, settings).work(); });
    if (const std::size_t count = stress::count_acquirable(pool); count != pool.capacity()) {
      run.broken(std::to_string(count) + " of " + std::to_string(pool.capacity()) +
                 " slots are left");
    }
    stress::print_contention(pool.stats());
    return run.held("capacity_is_exact");
  });
}
