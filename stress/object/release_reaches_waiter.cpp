/// Tries to break: a slot that is released while a thread begins to wait does not stay in a cache.
///
/// Two threads, round after round. The first opens its cache by use and keeps a few slots. The
/// second takes all that are left, also those in the cache of the first, and waits for one more. At
/// that very moment the first gives its slots back: one by one, many at once, or many of which it
/// takes one again. Then it does nothing more. Whatever it has left behind, and in whichever cache,
/// must reach the waiter.
#include <atomic>
#include <barrier>
#include <chrono>
#include <cstdint>
#include <string>
#include <thread>
#include <vector>

#include "harness/ledger.hpp"
#include "harness/pools.hpp"
#include "harness/report.hpp"
#include "harness/run.hpp"

namespace {

struct settings {
  stress::run_options run;
  std::string pool = "revocable";
  std::size_t slots = 256;
  unsigned patience = 20;  ///< seconds after which a waiter counts as forgotten
};

template <class Pool>
class duel {
 public:
  duel(stress::run& run, Pool& pool, unsigned patience)
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

  /// So that now this one is faster and now the other.
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
  Pool& pool_;
  unsigned patience_;
  std::barrier<> turn_{2};
  std::atomic<bool> drained_{false};
  std::atomic<bool> over_{false};
  std::uint64_t rounds_ = 0;
};

}  // namespace

int main(int argc, char** argv) {
  settings settings;
  stress::command_line line("A release reaches a waiter", settings.run);
  line.add_pool(settings.pool);
  line.add("--slots", settings.slots, "capacity of the pool, enough for caches");
  line.add("--patience", settings.patience, "seconds after which a waiter counts as forgotten");
  line.parse(argc, argv);

  return stress::with_pool<lido::test::waits>(settings.pool, [&]<class Pool>() {
    stress::run run(settings.run);
    run.require(settings.slots >= 64, "there are too few slots for what a round takes");
    Pool pool(settings.slots);
    stress::clear_owners(pool);
    duel<Pool> all(run, pool, settings.patience);
    const auto happened = [&] { return pool.stats().handed_over > 0; };
    while (run.goes_on(happened())) {
      all.fight();
    }
    stress::figures("release_reaches_waiter")
        .add("pool", settings.pool)
        .add("rounds", all.rounds())
        .add("handed_over", pool.stats().handed_over)
        .print();
    if (const std::size_t count = stress::count_acquirable(pool); count != settings.slots) {
      run.broken(std::to_string(count) + " of " + std::to_string(settings.slots) +
                 " slots are left");
    }
    run.require(happened(), "nobody had to wait");
    return run.held("release_reaches_waiter");
  });
}
