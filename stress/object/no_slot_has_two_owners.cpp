/// Tries to break: no slot has two owners at once, and the next owner sees the writes of the
/// previous one.
///
/// Few slots, many threads, short holds: caches are opened, robbed, cancelled and refilled all the
/// time. Some objects change hands before they are released.
#include <atomic>
#include <string>
#include <vector>

#include "harness/pools.hpp"

namespace {

/// One thread's random acquiring, passing on and releasing.
class worker {
 public:
  worker(stress::run& run, stress::pool_type& pool, std::atomic<stress::owned*>& mailbox,
         unsigned me, unsigned hold)
      : run_(run),
        pool_(pool),
        mailbox_(mailbox),
        me_(me),
        hold_(hold),
        random_(run.generator(me)) {}

  void work() {
    std::uint64_t operations = 0;
    while (!run_.over()) {
      for (int i = 0; i < 512; ++i) {
        step();
      }
      operations += 512;
    }
    while (!held_.empty()) {
      release_one();
    }
    run_.add_operations(operations);
  }

 private:
  void step() {
    const auto choice = random_() % 16;
    if (choice == 0 && !held_.empty()) {
      pass_on();
    } else if (held_.size() < 1 + random_() % hold_) {
      if (stress::owned* const object = pool_.try_acquire_ptr(lido::default_init)) {
        stress::take(run_, *object, me_);
        held_.push_back(object);
      }
    } else {
      release_one();
    }
  }

  void release_one() {
    std::swap(held_[random_() % held_.size()], held_.back());
    stress::leave(run_, *held_.back(), me_);
    pool_.release(held_.back());
    held_.pop_back();
  }

  // The next thread at the mailbox releases what this one acquired.
  void pass_on() {
    stress::leave(run_, *held_.back(), me_);
    stress::owned* const received = mailbox_.exchange(held_.back());
    held_.pop_back();
    if (received != nullptr) {
      stress::take(run_, *received, me_);
      held_.push_back(received);
    }
  }

  stress::run& run_;
  stress::pool_type& pool_;
  std::atomic<stress::owned*>& mailbox_;
  unsigned me_;
  unsigned hold_;
  stress::random random_;
  std::vector<stress::owned*> held_;
};

struct no_slot_has_two_owners : stress::pool_driver {
  no_slot_has_two_owners() : pool_driver("no_slot_has_two_owners") {}

  void prepare(stress::run& /*run*/) override { open({.capacity = slots_}); }
  void round(stress::run& run, unsigned /*number*/) override {
    run.in_threads(threads(), [&](unsigned thread) {
      worker(run, pool(), mailbox_, thread + 1, hold_).work();
    });
  }
  void check(stress::run& run) override {
    pool().release(mailbox_.load());
    require_all(run, pool(), slots_);
    stress::print_contention(stats());
  }
  [[nodiscard]] std::string missing() const override {
    return stats().thefts < thefts_ ? "too few caches were robbed" : "";
  }

  const unsigned& slots_ = option("--slots", 24, "capacity of the pool");
  const unsigned& hold_ = option("--hold", 5, "most objects a thread holds");
  const unsigned& thefts_ =
      option("--thefts", 0, "the run says nothing if fewer caches were robbed");
  std::atomic<stress::owned*> mailbox_{nullptr};
};

}  // namespace

int main(int argc, char** argv) {
  return no_slot_has_two_owners().drive(argc, argv);
}
