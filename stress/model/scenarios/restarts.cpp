/// Restarts of a pool, after which every slot is free. Other threads may exit meanwhile, and have
/// finished their operations before.
#include <array>
#include <vector>

#include "scenarios/waited_for.hpp"

namespace model {

namespace {

using lido::detail::atomic;

/// Leaves one slot in the cache of this thread, and one slot in use.
void leave_slots(pooled& pool) {
  (void)pool.acquire();
  pool.acquire_and_release();
}

/// Acquires all slots, then releases them.
void use_all(pooled& pool) {
  std::vector<std::size_t> all;
  while (all.size() < pool.books().capacity()) {
    all.push_back(pool.must_acquire());
  }
  for (const std::size_t slot : all) {
    pool.release(slot);
  }
}

// The exit of a thread flushes its cache while another thread restarts the pool.
template <cache_kind Caches, bool Visits>
void beside_exit() {
  pooled pool(4, Caches);
  atomic<int> done(0);
  in_threads(
      [&] {
        leave_slots(pool);
        done.store(1, std::memory_order_release);
      },
      [&] {
        await([&] { return done.load(std::memory_order_acquire) == 1; });
        pool.restart(Visits);
        use_all(pool);
      });
  pool.check();
}

void beside_two_exits() {
  pooled pool(4);
  atomic<int> done(0);
  const auto use = [&] {
    pool.acquire_and_release();
    done.fetch_add(1, std::memory_order_acq_rel);
  };
  in_threads(use, use, [&] {
    await([&] { return done.load(std::memory_order_acquire) == 2; });
    pool.restart(/*visits=*/true);
    use_all(pool);
  });
  pool.check();
}

// The cache of the first thread is emptied by the restart. Its owner then exits, or goes on.
template <bool GoesOn>
void between_operations() {
  pooled pool(4);
  atomic<int> turn(0);
  in_threads(
      [&] {
        leave_slots(pool);
        turn.store(1, std::memory_order_release);
        await([&] { return turn.load(std::memory_order_acquire) == 2; });
        if (GoesOn) {
          pool.acquire_and_release();
        }
      },
      [&] {
        await([&] { return turn.load(std::memory_order_acquire) == 1; });
        pool.restart(/*visits=*/false);
        turn.store(2, std::memory_order_release);
        pool.release(pool.must_acquire());
      });
  pool.check();
}

// The last refusal has left a proof that no slot is free.
void when_exhausted() {
  pooled pool(2, none);
  in_threads([&] {
    while (pool.acquire() != pooled::nothing) {
    }
    pool.restart(/*visits=*/false);
    use_all(pool);
  });
  pool.check();
}

constexpr std::array restarts_list{
    waits("restarts.beside_exit", "a thread exits as a pool restarts",
          &beside_exit<revocable, false>),
    waits("restarts.visits_beside_exit", "the same where objects in use are visited",
          &beside_exit<revocable, true>),
    waits("restarts.locked_beside_exit", "the same with locked caches",
          &beside_exit<locked, false>),
    waits("restarts.beside_two_exits", "two threads exit as a pool restarts", &beside_two_exits),
    waits("restarts.before_exit", "a thread exits after the restart", &between_operations<false>),
    waits("restarts.between_operations", "a thread goes on after the restart",
          &between_operations<true>),
    waits("restarts.when_exhausted", "a pool without a free slot restarts", &when_exhausted),
};

}  // namespace

std::span<const scenario> restarts_scenarios() {
  return restarts_list;
}

}  // namespace model
