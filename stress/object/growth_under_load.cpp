/// Tries to break: segments are added and removed, and no thread notices.
///
/// Workers hold, together, at most as many objects as the pool may ever have, so no acquire may
/// fail. Beside them others shrink the pool and reserve slots. Between rounds all slots must be
/// free, and then it must be possible to remove all segments. An object in memory that was returned
/// to the system, or comes from there, ends the program or has lost its owner.
#include <fmt/core.h>
#include <unistd.h>

#include <array>
#include <csignal>
#include <cstddef>
#include <string>
#include <string_view>
#include <vector>

#include "harness/pools.hpp"

namespace {

/// An object of a page, so that a segment has few. One in fresh memory has no owner.
struct page : stress::owned {
  std::array<std::byte, 4096 - sizeof(stress::owned)> rest;
};
using pool_type = lido::object_pool<page>;

extern "C" void report_access(int /*signal*/) {
  constexpr std::string_view text = "BROKEN: an object has no memory\n";
  (void)!::write(STDOUT_FILENO, text.data(), text.size());
  std::_Exit(EXIT_FAILURE);
}

class worker {
 public:
  worker(stress::run& run, pool_type& pool, unsigned me, unsigned hold, stress::random random)
      : run_(run), pool_(pool), me_(me), hold_(hold), random_(random) {}

  void work(int steps) {
    for (int step = 0; step < steps; ++step) {
      // Often the maximum: then a slot that no thread finds is missed.
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
  pool_type& pool_;
  unsigned me_;
  unsigned hold_;
  stress::random random_;
  std::vector<page*> held_;
  std::uint64_t operations_ = 0;
};

void resize(stress::run& run, pool_type& pool, stress::random random, int steps) {
  for (int step = 0; step < steps; ++step) {
    const std::size_t wanted = random() % (pool.max_capacity() + 1);
    if (step % 4 == 0) {
      pool.reserve(wanted);
    } else if (const std::size_t left = pool.shrink_to(wanted); left > pool.max_capacity()) {
      run.broken("more slots are left than there can be");
    }
  }
}

void check_slots(stress::run& run, pool_type& pool) {
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

struct growth_under_load : stress::pool_driver {
  growth_under_load() : pool_driver("growth_under_load") {}

  void prepare(stress::run& /*run*/) override {
    (void)std::signal(SIGSEGV, &report_access);
    growing_.emplace(with_pool(
        {.max_capacity = std::size_t{threads()} * hold_, .when_full = lido::when_full::grow}));
  }
  void round(stress::run& run, unsigned number) override {
    constexpr int steps = 2000;
    run.in_threads(threads() + shrinkers_, [&](unsigned thread) {
      const stress::random random = run.generator(thread, number);
      if (thread < shrinkers_) {
        resize(run, *growing_, random, steps / 10);
      } else {
        worker(run, *growing_, thread + 1, hold_, random).work(steps);
      }
    });
    check_slots(run, *growing_);
  }
  void check(stress::run& /*run*/) override {
    const lido::slot_pool_stats now = growing_->stats();
    fmt::print("segments added {}, given back {}\n", now.growth->growths, now.growth->shrinks);
    stress::print_contention(now);
  }
  [[nodiscard]] std::string missing() const override {
    const lido::slot_pool_stats now = growing_->stats();
    return now.growth->growths > 100 && now.growth->shrinks > 100
               ? ""
               : "the pool hardly grew or shrank";
  }

  const unsigned& hold_ =
      option("--hold", 32, "most objects a worker holds; the pool may have threads times this");
  const unsigned& shrinkers_ =
      option("--shrinkers", 1, "threads, beside the workers, that resize the pool");
  std::optional<pool_type> growing_;
};

}  // namespace

int main(int argc, char** argv) {
  return growth_under_load().drive(argc, argv);
}
