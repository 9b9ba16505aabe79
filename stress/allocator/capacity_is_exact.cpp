/// Tries to break: N slots means that N can be out at once.
///
/// Threads times slots held is exactly the capacity, so every acquire can succeed. One that fails
/// has overlooked a slot: in a cache, or in transit. At the end of each round all threads hold all
/// they may, so nothing can be left in a cache. At the end of some rounds, each thread tries to get
/// one slot more, which must fail. Then the threads get new shares.
#include <algorithm>
#include <atomic>
#include <barrier>
#include <string>
#include <utility>
#include <vector>

#include "harness/pools.hpp"

namespace {

struct settings : stress::pool_driver {
  settings() : pool_driver("capacity_is_exact") {}

  const unsigned& hold = option(
      "--hold", 24, "slots each thread may hold on average; the capacity is threads times this");
  const unsigned& operations = option("--operations", 0, "so many in all, instead of --seconds");
};

/// State that the threads share beside the pool.
struct rendezvous {
  struct on_all_full {
    rendezvous* self;
    void operator()() const noexcept { self->decide(); }
  };

  rendezvous(stress::run& run, const settings& settings)
      : run_(run),
        settings_(settings),
        random_(run.generator(0)),
        all_full(static_cast<std::ptrdiff_t>(settings.threads()), on_all_full{this}),
        all_asked(static_cast<std::ptrdiff_t>(settings.threads())) {}

  // Runs in the last thread that arrives, while the others wait.
  void decide() noexcept {
    over = settings_.operations > 0 ? operations >= settings_.operations : run_.over();
    one_more = random_() % 8 == 0;
    climbs = 1U << random_() % 12;
    shift = static_cast<unsigned>(random_() % settings_.hold);
  }

  // What one of two threads gets more, the other gets less; the last of an odd number has no other.
  [[nodiscard]] unsigned share_of(unsigned thread) const {
    if (thread % 2 == 1) {
      return settings_.hold - shift;
    }
    return thread + 1 < settings_.threads() ? settings_.hold + shift : settings_.hold;
  }

  stress::run& run_;
  const settings& settings_;
  stress::random random_;
  std::atomic<std::uint64_t> operations{0};
  bool over = false;
  bool one_more = false;
  unsigned climbs = 1;
  unsigned shift = 0;
  std::barrier<on_all_full> all_full;
  std::barrier<> all_asked;
};

class worker {
 public:
  worker(stress::run& run, stress::pool_type& pool, rendezvous& rendezvous, unsigned me,
         unsigned hold)
      : run_(run),
        pool_(pool),
        rendezvous_(rendezvous),
        me_(me),
        share_(hold),
        random_(run.generator(me)) {
    held_.reserve(std::size_t{2} * hold);
  }

  void work() {
    while (!rendezvous_.over) {
      for (unsigned climbs = rendezvous_.climbs; climbs > 0; --climbs) {
        climb();
        descend(random_() % (held_.size() + 1));
      }
      climb();
      rendezvous_.operations += std::exchange(operations_, 0);
      rendezvous_.all_full.arrive_and_wait();
      if (rendezvous_.one_more && pool_.try_acquire_ptr(lido::default_init) != nullptr) {
        run_.broken("more slots than the capacity");
      }
      rendezvous_.all_asked.arrive_and_wait();  // no thread gives one back before this
      share_ = rendezvous_.share_of(me_ - 1);
      descend(random_() % (share_ + 1));
      rendezvous_.all_asked.arrive_and_wait();  // no thread takes more until all have new shares
    }
    descend(0);
  }

 private:
  // Acquires up to the last slot that this thread is entitled to.
  void climb() {
    while (held_.size() < share_) {
      stress::owned* const object = pool_.try_acquire_ptr(lido::default_init);
      ++operations_;
      if (object == nullptr) {
        run_.broken("an acquire failed with " + std::to_string(held_.size()) + " of " +
                    std::to_string(share_) + " slots held");
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
  stress::pool_type& pool_;
  rendezvous& rendezvous_;
  unsigned me_;
  unsigned share_;
  stress::random random_;
  std::vector<stress::owned*> held_;
  std::uint64_t operations_ = 0;
};

struct capacity_is_exact : settings {
  void prepare(stress::run& /*run*/) override { open({.capacity = std::size_t{threads()} * hold}); }
  void load(stress::run& run) override {
    rendezvous rendezvous(run, *this);
    run.in_threads(threads(), [&](unsigned thread) {
      worker(run, pool(), rendezvous, thread + 1, hold).work();
    });
    run.add_operations(rendezvous.operations);
  }
  void check(stress::run& run) override {
    require_all(run, pool(), pool().capacity());
    stress::print_contention(stats());
  }
};

}  // namespace

int main(int argc, char** argv) {
  return capacity_is_exact().drive(argc, argv);
}
