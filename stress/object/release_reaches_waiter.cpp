/// Tries to break: a slot that is released while a thread begins to wait does not stay in a cache.
///
/// Two threads, round after round. The first opens its cache by use and keeps a few slots. The
/// second takes all the others, also those in the cache of the first, and waits for one more. At
/// that very moment the first releases its slots: one by one, many at once, or many of which it
/// takes one again. Then it stops. Whatever it has left behind, and in whichever cache, must reach
/// the waiter.
#include <atomic>
#include <barrier>
#include <chrono>
#include <cstdint>
#include <string>
#include <thread>
#include <vector>

#include "harness/pools.hpp"
#include "harness/report.hpp"

namespace {

class duel {
 public:
  duel(stress::run& run, stress::pool_type& pool, unsigned patience)
      : run_(run), pool_(pool), patience_(patience) {}

  void fight() {
    over_ = false;
    const std::uint64_t before = rounds_;
    run_.in_threads(2, [this, before](unsigned thread) {
      stress::random random = run_.generator(thread, static_cast<unsigned>(before));
      while (!over_) {
        thread == 0 ? give(random) : wait(random);
        turn_.arrive_and_wait();
      }
    });
    run_.add_operations(rounds_ - before);
  }
  [[nodiscard]] std::uint64_t rounds() const { return rounds_; }

 private:
  static constexpr unsigned giver = 1;
  static constexpr unsigned waiter = 2;

  /// Pauses at random, so that sometimes one thread is faster and sometimes the other.
  static void dawdle(stress::random& random) {
    for (auto pause = random() % 200; pause > 0; --pause) {
      asm volatile("");
    }
  }

  bool take_one(std::vector<stress::owned*>& held, unsigned me) {
    stress::owned* const object = pool_.try_acquire_ptr(lido::default_init);
    if (object != nullptr) {
      stress::take(run_, *object, me);
      held.push_back(object);
    }
    return object != nullptr;
  }
  void leave_all(const std::vector<stress::owned*>& held, unsigned me) {
    for (stress::owned* const object : held) {
      stress::leave(run_, *object, me);
    }
  }
  void give_back_one_by_one(std::vector<stress::owned*>& held, unsigned me) {
    leave_all(held, me);
    for (stress::owned* const object : held) {
      pool_.release(object);
    }
    held.clear();
  }

  void give(stress::random& random) {
    std::vector<stress::owned*> held;
    for (std::size_t bursts = random() % 16; bursts > 0; --bursts) {
      while (held.size() < 1 + random() % 16 && take_one(held, giver)) {
      }
      give_back_one_by_one(held, giver);
    }
    const auto way = random() % 3;
    for (std::size_t wanted = way == 0 ? 1 + random() % 3 : 40; wanted > 0; --wanted) {
      (void)take_one(held, giver);
    }
    turn_.arrive_and_wait();
    while (!drained_) {
      std::this_thread::yield();
    }
    dawdle(random);
    if (way == 0) {
      give_back_one_by_one(held, giver);
    } else {
      leave_all(held, giver);
      pool_.release_n(held);
      held.clear();
      (void)(way == 2 && take_one(held, giver));
    }
    turn_.arrive_and_wait();  // the other has been served
    give_back_one_by_one(held, giver);
  }

  void wait(stress::random& random) {
    std::vector<stress::owned*> held;
    drained_ = false;
    turn_.arrive_and_wait();
    while (take_one(held, waiter)) {
    }
    drained_ = true;
    dawdle(random);
    auto last = pool_.acquire_for(std::chrono::seconds(patience_), lido::default_init);
    if (!last) {
      run_.broken("a slot was released, and a waiter is forgotten");
    }
    stress::take(run_, *last, waiter);
    held.push_back(last.detach());
    turn_.arrive_and_wait();
    leave_all(held, waiter);
    pool_.release_n(held);
    ++rounds_;
    over_ = run_.over();
  }

  stress::run& run_;
  stress::pool_type& pool_;
  unsigned patience_;
  std::barrier<> turn_{2};
  std::atomic<bool> drained_{false};
  std::atomic<bool> over_{false};
  std::uint64_t rounds_ = 0;
};

struct release_reaches_waiter : stress::pool_driver {
  release_reaches_waiter() : pool_driver("release_reaches_waiter") {}

  void prepare(stress::run& run) override {
    if (slots_ < 64) {
      run.vacuous("there are too few slots for what a round takes");
    }
    open({.capacity = slots_, .when_full = lido::when_full::wait});
    duel_.emplace(run, pool(), patience_);
  }
  void round(stress::run& /*run*/, unsigned /*number*/) override { duel_->fight(); }
  void check(stress::run& run) override {
    stress::figures(invariant())
        .add("pool", pool_name())
        .add("rounds", duel_->rounds())
        .add("handed_over", stats().handed_over)
        .print();
    require_all(run, pool(), slots_);
  }
  [[nodiscard]] std::string missing() const override {
    return stats().handed_over == 0 ? "nobody had to wait" : "";
  }

  const unsigned& slots_ = option("--slots", 256, "capacity of the pool, enough for caches");
  const unsigned& patience_ =
      option("--patience", 20, "seconds after which a waiter counts as forgotten");
  std::optional<duel> duel_;
};

}  // namespace

int main(int argc, char** argv) {
  return release_reaches_waiter().drive(argc, argv);
}
