/// Threads that wait for a slot: none is forgotten, none takes away a slot that it does not want.
/// S11, S12, S13, S14; hard case 28.
#include <array>

#include "scenarios/waited_for.hpp"
#include "seam/system.hpp"

namespace model {

namespace {

using lido::detail::atomic;
using lido::detail::deadline;
using lido::detail::slot_waiter;

deadline some_time() {
  return deadline::after(std::chrono::microseconds(1));
}

// One slot, or two and a thread that wants both, while others release them.
template <cache_kind Caches>
void register_against_release() {
  waited_for pool(1, Caches);
  in_threads([&] { pool.acquire_and_release(); }, [&] { pool.wait_and_release(); });
  pool.check();
}

void without_fence_register_against_release() {
  const without_heavy_fence none_there;
  register_against_release<revocable>();
}

// The owner opens its cache, uses it and opens it again while another waits for the last slot.
template <cache_kind Caches>
void reopened_cache() {
  waited_for pool(2, Caches);
  in_threads(
      [&] {
        pool.acquire_and_release();
        pool.acquire_and_release();
        pool.acquire_and_release();
      },
      [&] {
        const std::size_t first = pool.wait();
        const std::size_t second = pool.wait();
        pool.release(first);
        pool.release(second);
      });
  pool.check();
}

void without_fence_reopened_cache() {
  const without_heavy_fence none_there;
  reopened_cache<revocable>();
}

// The owner stops once it has put slots into its cache: a waiter must fetch them.
template <cache_kind Caches>
void idle_owner() {
  waited_for pool(2, Caches);
  atomic<int> served(0);
  const auto take_one = [&] {
    const std::size_t slot = pool.wait();
    served.fetch_add(1, std::memory_order_acq_rel);
    await([&] { return served.load(std::memory_order_acquire) == 2; });
    pool.release(slot);
  };
  in_threads(
      [&] {
        const std::size_t first = pool.acquire();
        const std::size_t second = pool.acquire();
        pool.release(first);
        pool.release(second);
        await([&] { return served.load(std::memory_order_acquire) == 2; });
      },
      take_one, take_one);
  pool.check();
}

// A waiter is served before it has looked into the cache of an idle thread. The other must still
// look.
void served_before_it_looked() {
  waited_for pool(2);
  const std::size_t held = pool.acquire();
  pool.acquire_and_release();
  require(pool.stats().cached == 1, "the slot is not where it is to be looked for");
  atomic<int> served(0);
  const auto take_one = [&] {
    const std::size_t slot = pool.wait_in_line();
    served.fetch_add(1, std::memory_order_acq_rel);
    await([&] { return served.load(std::memory_order_acquire) == 2; });
    pool.release(slot);
  };
  in_threads(take_one, take_one, [&] { pool.release(held); });
  pool.check();
}

// An idle owner's slots are fetched by one waiter after another.
void idle_owner_again() {
  waited_for pool(2);
  atomic<int> turn(0);
  in_threads(
      [&] {
        for (int round = 0; round < 2; ++round) {
          await([&] { return turn.load(std::memory_order_acquire) == 2 * round; });
          pool.acquire_and_release();
          pool.acquire_and_release();
          turn.store(2 * round + 1, std::memory_order_release);
        }
        await([&] { return turn.load(std::memory_order_acquire) == 4; });
      },
      [&] {
        for (int round = 0; round < 2; ++round) {
          await([&] { return turn.load(std::memory_order_acquire) == 2 * round + 1; });
          const std::size_t first = pool.wait();
          const std::size_t second = pool.wait();
          pool.release(first);
          pool.release(second);
          turn.store(2 * round + 2, std::memory_order_release);
        }
      });
  pool.check();
}

void two_waiters_one_release() {
  waited_for pool(1, none);
  const std::size_t held = pool.acquire();
  const auto body = [&] { pool.wait_and_release(); };
  in_threads(body, body, [&] { pool.release(held); });
  pool.check();
}

// A wait times out at the moment of the hand-over.
template <cache_kind Caches>
void late_waiter() {
  waited_for pool(1, Caches);
  const std::size_t held = pool.acquire();
  in_threads(
      [&] {
        slot_waiter me;
        pool.release(pool.wait(me, some_time()));
      },
      [&] { pool.release(held); });
  pool.check();
}

// A waiter that times out precedes one without a limit.
void late_before_patient() {
  waited_for pool(1, none);
  const std::size_t held = pool.acquire();
  in_threads(
      [&] {
        slot_waiter me;
        pool.release(pool.wait(me, some_time()));
      },
      [&] { pool.wait_and_release(); }, [&] { pool.release(held); });
  pool.check();
}

// Another thread stops the wait at the moment of the hand-over.
void stopped_waiter() {
  waited_for pool(1, none);
  const std::size_t held = pool.acquire();
  slot_waiter me;
  in_threads([&] { pool.release(pool.wait(me)); }, [&] { (void)me.cancel(); },
             [&] { pool.release(held); });
  pool.check();
}

// The slot that was meant for a stopped waiter goes back: it was never hidden. The thread that
// stops it requests a slot, too; or no other thread is served at that time.
template <bool AsksToo>
void stopped_beside_try() {
  waited_for pool(1, none);
  const std::size_t held = pool.acquire();
  slot_waiter me;
  in_threads([&] { pool.release(pool.wait(me)); },
             [&] {
               pool.release(held);
               pool.acquire_and_release();
             },
             [&] {
               (void)me.cancel();
               if (AsksToo) {
                 pool.acquire_and_release();
               }
             });
  pool.check();
}

// A waiter is stopped when the only slot has been taken out of the depot for it and not yet handed
// over. The slot goes back, and a thread that looks for it must not conclude that it is in use.
void stopped_in_transit() {
  waited_for pool(1, none);
  slot_waiter me;
  in_threads([&] { pool.release(pool.wait_in_line(me)); },
             [&] {
               (void)me.cancel();
               pool.acquire_and_release();
             });
  pool.check();
}

// No thread releases a slot: a stopped waiter must still wake up.
void stopped_for_good() {
  waited_for pool(1, none);
  const std::size_t held = pool.acquire();
  slot_waiter me;
  in_threads([&] { require(pool.wait(me) == pooled::nothing, "a slot from nowhere"); },
             [&] { (void)me.cancel(); });
  pool.release(held);
  pool.check();
}

void stopped_before_patient() {
  waited_for pool(1, none);
  const std::size_t held = pool.acquire();
  slot_waiter me;
  in_threads([&] { pool.release(pool.wait(me)); },
             [&] {
               (void)me.cancel();
               pool.release(held);
             },
             [&] { pool.wait_and_release(); });
  pool.check();
}

// The first waiter is served first.
void first_come_first_served() {
  waited_for pool(1, none);
  const std::size_t held = pool.acquire();
  atomic<int> served(0);
  const auto wait_as = [&](int order) {
    const std::size_t slot = pool.wait();
    require(served.fetch_add(1, std::memory_order_relaxed) == order,
            "a waiter was overtaken by one that came later");
    pool.release(slot);
  };
  in_threads([&] { wait_as(0); },
             [&] {
               await([&] { return pool.stats().waiting == 1; });
               wait_as(1);
             },
             [&] {
               await([&] { return pool.stats().waiting == 2; });
               pool.release(held);
             });
  pool.check();
}

// The kernel refuses the heavy fence: a waiter looks again from time to time.
void refused_fence_at_a_look() {
  const refused_heavy_fences refused(refusals::any);
  waited_for pool(2);
  in_threads(
      [&] {
        pool.acquire_and_release();
        pool.acquire_and_release();
      },
      [&] { pool.wait_and_release(); });
  pool.check();
}

// The kernel refuses until a waiter has given up looking for the first time. The waiter looks again
// later.
void refused_for_long() {
  waited_for pool(2);
  const std::size_t held = pool.acquire();
  pool.acquire_and_release();
  require(pool.stats().cached == 1, "the slot is not where it is to be looked for");
  const refused_heavy_fences refused(refusals::until_sleep);
  in_threads([&] { pool.release(pool.wait_in_line()); });
  pool.release(held);
  pool.check();
}

constexpr std::array waiting_list{
    waits("waiting.register_against_release",
          "a release past the caches beside one who begins "
          "to wait (S11)",
          &register_against_release<none>),
    waits("waiting.without_fence_register_against_release", "the same without a heavy fence",
          &without_fence_register_against_release),
    waits("waiting.reopened_cache", "a cache opens again beside a waiter that begins",
          &reopened_cache<revocable>),
    waits("waiting.locked_reopened_cache", "a locked cache does", &reopened_cache<locked>),
    waits("waiting.without_fence_reopened_cache", "the same without a heavy fence",
          &without_fence_reopened_cache),
    waits("waiting.idle_owner", "slots in the cache of a thread that does nothing",
          &idle_owner<revocable>),
    waits("waiting.locked_idle_owner", "the same in a locked cache", &idle_owner<locked>),
    scenario{"waiting.served_before_it_looked", "of two waiters only one looks",
             &served_before_it_looked, false, narrow, /*waits=*/true, /*interrupted=*/1},
    waits("waiting.idle_owner_again", "the same after a wait is over", &idle_owner_again),
    waits("waiting.two_waiters_one_release", "one slot goes round", &two_waiters_one_release),
    waits("waiting.late_waiter", "a time-out in the moment of a hand-off (S12)",
          &late_waiter<none>),
    waits("waiting.late_before_patient", "a time-out in front of a waiter", &late_before_patient),
    waits("waiting.stopped_waiter", "a stop in the moment of a hand-off (S13)", &stopped_waiter),
    waits("waiting.stopped_beside_try", "the same beside those who do not wait",
          &stopped_beside_try<true>),
    waits("waiting.put_back_beside_try", "a slot that a stopped waiter could not be given",
          &stopped_beside_try<false>),
    waits("waiting.stopped_in_transit", "a slot on its way to one who is stopped",
          &stopped_in_transit),
    waits("waiting.stopped_for_good", "a stop wakes up", &stopped_for_good),
    waits("waiting.stopped_before_patient", "a stop in front of a waiter (S14)",
          &stopped_before_patient),
    waits("waiting.first_come_first_served", "the order of the queue", &first_come_first_served),
    waits("waiting.refused_fence", "the kernel refuses the heavy fence", &refused_fence_at_a_look),
    waits("waiting.refused_for_long", "it does so all the time, then no more", &refused_for_long),
};

}  // namespace

std::span<const scenario> waiting_scenarios() {
  return waiting_list;
}

}  // namespace model
