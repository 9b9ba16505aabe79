/// Tries to break: whatever other threads do at the moment of a fork, the child finds only free
/// slots and waits for no thread. It can destroy its pools and make new ones, and the parent is not
/// affected.
///
/// With `--pool block`, threads wait for slots, which the child must not give to them.
#include <sys/mman.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <atomic>
#include <chrono>
#include <latch>
#include <optional>
#include <span>
#include <string>
#include <thread>
#include <vector>

#include "fault/child_of_stall.hpp"
#include "harness/pools.hpp"
#include "harness/report.hpp"

namespace {

constexpr std::size_t capacity = 512;
constexpr unsigned hold = 60;
constexpr std::size_t trip = 32;  ///< slots that a thread moves at once, at most
constexpr unsigned waiters = 4;
constexpr unsigned forker = 999;
constexpr unsigned child_seconds = 60;

// Called by its address: gcov's replacement for fork forgets what the child's handlers counted.
pid_t (*const volatile fork_process)() = &::fork;

using stress::owned;
using stress::pool_type;

/// Results that children report to their parent.
struct told {
  std::atomic<unsigned> complete;
  std::atomic<unsigned> most_missing;
};

told& shared_page() {
  void* const page =
      ::mmap(nullptr, sizeof(told), PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
  if (page == MAP_FAILED) {
    std::abort();
  }
  return *::new (page) told{};
}

/// Releases the last `count` of those held.
void release_some(stress::run& run, pool_type& pool, std::vector<owned*>& held, std::size_t count,
                  unsigned me) {
  const std::span<owned* const> some = std::span(held).last(count);
  for (owned* const object : some) {
    stress::leave(run, *object, me);
  }
  if (count == 1) {
    pool.release(some.front());
  } else {
    pool.release_n(some);
  }
  held.resize(held.size() - count);
}

/// Takes and releases, one after another or up to `most_at_once`.
void work(stress::run& run, pool_type& pool, unsigned me, std::size_t most_at_once,
          const std::atomic<bool>& over) {
  stress::random random = run.generator(me);
  std::vector<owned*> held;
  held.reserve(capacity);
  std::uint64_t operations = 0;
  while (!over) {
    const std::size_t target = random() % (random() % 64 == 0 ? capacity : hold);
    const std::size_t at_once = random() % 2 == 0 ? 1 : most_at_once;
    while (held.size() > target) {
      release_some(run, pool, held, std::min(at_once, held.size() - target), me);
    }
    while (held.size() < target) {
      owned* const object = pool.try_acquire_ptr(lido::default_init);
      if (object == nullptr) {
        break;
      }
      stress::take(run, *object, me);
      held.push_back(object);
    }
    operations += target;
  }
  for (owned* const object : held) {
    stress::leave(run, *object, me);
    pool.release(object);
  }
  run.add_operations(operations);
}

/// Waits for one slot after another, each time for a moment.
void wait_again_and_again(stress::run& run, pool_type& pool, unsigned me,
                          const std::atomic<bool>& over) {
  stress::random random = run.generator(me);
  std::uint64_t operations = 0;
  for (; !over; ++operations) {
    if (const auto mine =
            pool.acquire_for(std::chrono::microseconds(random() % 2000), lido::default_init)) {
      stress::take(run, *mine, me);
      stress::leave(run, *mine, me);
    }
  }
  run.add_operations(operations);
}

/// Takes all that the calling thread can get, and checks that each is free.
std::vector<owned*> drain(stress::run& run, pool_type& pool) {
  constexpr unsigned child = 1000;
  std::vector<owned*> all;
  while (owned* const object = pool.try_acquire_ptr(lido::default_init)) {
    stress::take(run, *object, child);
    all.push_back(object);
  }
  for (owned* const object : all) {
    stress::leave(run, *object, child);
  }
  return all;
}

/// Returns how many of all slots hold an object with an owner.
std::size_t count_owned(const owned* first) {
  return static_cast<std::size_t>(std::count_if(
      first, first + capacity, [](const stress::owned& object) { return object.owner != 0; }));
}

/// Uses the pool beside others in the same process.
void share(stress::run& run, pool_type& pool, unsigned me) {
  std::vector<owned*> held;
  for (int round = 0; round < 50; ++round) {
    while (held.size() < 20) {
      owned* const object = pool.try_acquire_ptr(lido::default_init);
      if (object == nullptr) {
        break;
      }
      stress::take(run, *object, me);
      held.push_back(object);
    }
    for (owned* const object : held) {
      stress::leave(run, *object, me);
      pool.release(object);
    }
    held.clear();
  }
}

/// Uses the pool in the thread that forked and in new ones, at the same time.
void share_as_child(stress::run& run, pool_type& pool) {
  std::latch all_here(4);
  std::thread others([&] {
    run.in_threads(3, [&](unsigned thread) {
      all_here.arrive_and_wait();
      share(run, pool, forker + 2 + thread);
    });
  });
  all_here.arrive_and_wait();
  share(run, pool, forker);
  others.join();
}

// Slots in transit are missing, and those between the pool and an owner's first write.
void tell(told& told, unsigned missing) {
  told.complete += missing == 0 ? 1 : 0;
  unsigned most = told.most_missing;
  while (most < missing && !told.most_missing.compare_exchange_weak(most, missing)) {
  }
}

void judge_missing(stress::run& run, std::size_t missing, told& told) {
  // At most half of the slots are in caches, and a thread moves at most `trip` slots at once.
  if (missing > capacity / 2 + (run.options().threads + waiters) * (trip + 1)) {
    run.broken(std::to_string(missing) + " slots are missing in the child");
  }
  tell(told, static_cast<unsigned>(missing));
}

/// Takes slots until others wait, or a moment has passed.
std::vector<owned*> hoard(stress::run& run, pool_type& pool) {
  std::vector<owned*> hoarded;
  for (int looks = 0; looks < 10'000 && pool.stats().waiting == 0; ++looks) {
    if (owned* const object = pool.try_acquire_ptr(lido::default_init)) {
      stress::take(run, *object, forker);
      hoarded.push_back(object);
    }
  }
  return hoarded;
}

void let_go(stress::run& run, pool_type& pool, const std::vector<owned*>& hoarded) {
  for (owned* const object : hoarded) {
    stress::leave(run, *object, forker);
    pool.release(object);
  }
}

/// Releases the hoarded slots in the child, where no thread waits.
void let_go_as_child(stress::run& run, pool_type& pool, const std::vector<owned*>& hoarded) {
  const lido::slot_pool_stats before = pool.stats();
  if (before.waiting != 0) {  // first: a release might wait for a missing thread
    run.broken("the child has waiters of its parent");
  }
  let_go(run, pool, hoarded);
  if (pool.stats().handed_over != before.handed_over) {
    run.broken("the child has served waiters of its parent");
  }
}

/// Checks, with `all` slots out, that a thread of the child waits for one and is served.
void wait_as_child(stress::run& run, pool_type& pool, std::vector<owned*>& all) {
  std::atomic<bool> served{false};
  owned* const last = all.back();
  all.pop_back();
  std::thread waiter([&] {
    all.push_back(pool.acquire(lido::default_init).detach());
    served = true;
  });
  while (pool.stats().waiting == 0) {
    if (served) {
      run.broken("the child was refused a slot that was free");
    }
    std::this_thread::yield();
  }
  pool.release(last);
  waiter.join();
}

const owned* lowest_address(pool_type& pool) {
  std::vector<owned*> all(capacity);
  all.resize(pool.try_acquire_n(all));
  pool.release_n(all);
  return *std::min_element(all.begin(), all.end());
}

struct forked_child_has_what_was_free : stress::pool_driver {
  forked_child_has_what_was_free()
      : pool_driver("forked_child_has_what_was_free", 4, {"block"}), told_(shared_page()) {}

  [[nodiscard]] bool blocks() const { return pool_name() == "block"; }
  [[nodiscard]] lido::object_pool_options options_for(std::size_t slots) const {
    return with_pool(
        {.capacity = slots, .when_full = blocks() ? lido::when_full::wait : lido::when_full::fail});
  }

  void prepare(stress::run& /*run*/) override {
    stress::clear_owners(pool_.emplace(options_for(capacity)));
    first_ = lowest_address(*pool_);
  }

  void load(stress::run& run) override {
    std::atomic<bool> over{false};
    const unsigned crowd = blocks() ? waiters : 0;
    // With caches, `trip` slots at once would keep threads out of them.
    const std::size_t most_at_once = pool_name() == "none" ? trip : 1;
    // A child that starts threads must not be forked while its parent starts some.
    std::latch begun(threads() + crowd);
    std::thread workers([&] {
      run.in_threads(threads() + crowd, [&](unsigned thread) {
        begun.count_down();
        if (thread < crowd) {
          wait_again_and_again(run, *pool_, thread + 1, over);
        } else {
          work(run, *pool_, thread + 1, most_at_once, over);
        }
      });
    });
    begun.wait();
    driver::load(run);
    over = true;
    workers.join();
  }

  void round(stress::run& run, unsigned /*number*/) override {
    const std::vector<owned*> hoarded = blocks() ? hoard(run, *pool_) : std::vector<owned*>{};
    beside_waiters_ += pool_->stats().waiting > 0 ? 1 : 0;
    const pid_t child = fork_process();
    if (child == 0) {
      live_as_child(run, hoarded);
      std::_Exit(EXIT_SUCCESS);
    }
    ++forks_;
    let_go(run, *pool_, hoarded);
    int status = 0;
    if (child < 0 || ::waitpid(child, &status, 0) != child || status != 0) {
      run.broken("a child ended with status " + std::to_string(status));
    }
  }

  void live_as_child(stress::run& run, const std::vector<owned*>& hoarded) {
    (void)::alarm(child_seconds);
    let_go_as_child(run, *pool_, hoarded);
    const std::size_t owned_slots = count_owned(first_);
    std::vector<owned*> all = drain(run, *pool_);
    stress::require_fast_refusal(run, *pool_);
    if (all.size() < hoarded.size()) {
      run.broken("the child has lost what it released");
    }
    judge_missing(run, capacity - owned_slots - all.size(), told_);
    if (blocks() && !all.empty()) {
      wait_as_child(run, *pool_, all);
    }
    pool_->release_n(all);
    share_as_child(run, *pool_);
    if (stress::count_acquirable(*pool_) != all.size()) {
      run.broken("the child has lost slots of an old pool");
    }
    pool_.reset();
    for (const std::size_t slots : {64U, 1000U}) {
      pool_type fresh(options_for(slots));
      stress::clear_owners(fresh);
      run.in_threads(3, [&](unsigned /*thread*/) { (void)stress::count_acquirable(fresh); });
      if (stress::count_acquirable(fresh) != slots) {
        run.broken("the child has lost slots of a new pool");
      }
    }
  }

  void check(stress::run& run) override {
    require_all(run, *pool_, capacity);
    stress::figures(invariant())
        .add("pool", pool_name())
        .add("threads", threads())
        .add("forks", forks_)
        .add("forks_beside_waiters", beside_waiters_)
        .add("nothing_missing", told_.complete.load())
        .add("most_missing", told_.most_missing.load())
        .add("capacity", capacity)
        .print();
  }
  [[nodiscard]] std::string missing() const override {
    return blocks() && beside_waiters_ == 0 ? "nobody waited at the moment of a fork" : "";
  }

  told& told_;
  std::optional<pool_type> pool_;
  const owned* first_ = nullptr;
  unsigned forks_ = 0;
  unsigned beside_waiters_ = 0;
};

}  // namespace

int main(int argc, char** argv) {
  return forked_child_has_what_was_free().drive(argc, argv);
}
