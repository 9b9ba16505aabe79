/// Tries to break: no slot has two owners at once, and what one owner wrote the next one sees.
///
/// Few slots, many threads, short holds: caches are opened, robbed, cancelled and refilled all the
/// time. Some objects change hands before they are released.
#include <atomic>
#include <string>
#include <vector>

#include "harness/ledger.hpp"
#include "harness/pools.hpp"
#include "harness/run.hpp"

namespace {

struct settings {
  stress::run_options run;
  std::string pool = "revocable";
  std::size_t slots = 24;
  unsigned hold = 5;
  unsigned thefts = 0;
};

/// One thread's random acquiring, passing on and releasing.
template <class Pool>
class worker {
 public:
  worker(stress::run& run, Pool& pool, std::atomic<stress::owned*>& mailbox, unsigned me,
         unsigned hold)
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
  Pool& pool_;
  std::atomic<stress::owned*>& mailbox_;
  unsigned me_;
  unsigned hold_;
  stress::random random_;
  std::vector<stress::owned*> held_;
};

}  // namespace

int main(int argc, char** argv) {
  settings settings;
  stress::command_line line("No slot has two owners", settings.run);
  line.add_pool(settings.pool);
  line.add("--slots", settings.slots, "capacity of the pool");
  line.add("--hold", settings.hold, "most objects a thread holds");
  line.add("--thefts", settings.thefts, "the run says nothing if fewer caches were robbed");
  line.parse(argc, argv);

  return stress::with_pool(settings.pool, [&]<class Pool>() {
    stress::run run(settings.run);
    Pool pool(settings.slots);
    stress::clear_owners(pool);
    std::atomic<stress::owned*> mailbox{nullptr};
    run.in_threads(settings.run.threads, [&](unsigned thread) {
      worker<Pool>(run, pool, mailbox, thread + 1, settings.hold).work();
    });
    pool.release(mailbox.load());
    if (const std::size_t count = stress::count_acquirable(pool); count != settings.slots) {
      run.broken(std::to_string(count) + " of " + std::to_string(settings.slots) +
                 " slots are left");
    }
    stress::print_contention(pool.stats());
    run.require(pool.stats().thefts >= settings.thefts, "too few caches were robbed");
    return run.held("no_slot_has_two_owners");
  });
}
