// The letters and numbers are those of docs/reference/tests.md.
#include <gtest/gtest.h>

#include <atomic>
#include <optional>
#include <stop_token>
#include <thread>
#include <utility>
#include <vector>

#include "support/crew.hpp"
#include "support/customers.hpp"
#include "support/resource_fixtures.hpp"
#include "support/ways_to_make_room.hpp"

namespace lido {
namespace {

using namespace std::chrono_literals;
using test::detached;
using test::eventually;
using test::failure_of;
using test::fake_lease;
using test::fake_pool;
using test::outcome;

class ResourceCallbacks : public test::resource_in_each_mode {};

detached use_often(fake_pool& pool, std::atomic<int>& done, int turns) {
  for (int i = 0; i < turns; ++i) {
    const fake_lease lease = co_await pool.co_acquire(10s);
    done += lease ? 1 : 0;
  }
}

struct task {
  struct promise_type {  // NOLINT(readability-identifier-naming): the language's
    task get_return_object() { return {std::coroutine_handle<promise_type>::from_promise(*this)}; }
    static std::suspend_never initial_suspend() { return {}; }
    static std::suspend_always final_suspend() noexcept { return {}; }
    void return_void() {}
    static void unhandled_exception() { std::terminate(); }
  };
  std::coroutine_handle<promise_type> handle;
};

task wait_in_vain(fake_pool& pool, bool& served) {
  (void)co_await pool.co_acquire(10s);
  served = true;
}

// As a future that is dropped (A1).
TEST_P(ResourceCallbacks, A1ACoroutineThatIsDestroyedWhileItWaitsTakesNothing) {
  fake_pool& pool = start({.max_size = 1});
  fake_lease held = pool.acquire();
  bool served = false;
  wait_in_vain(pool, served).handle.destroy();
  held.reset();
  held = pool.acquire_for(5s);
  EXPECT_TRUE(held);
  EXPECT_FALSE(served);
}

// Nor keeps a place in the queue.
TEST_P(ResourceCallbacks, A10ACoroutineThatIsDestroyedMakesRoomForOthersToWait) {
  fake_pool& pool = start({.max_size = 1, .max_waiters = 2, .detect_hold_and_wait = false});
  const fake_lease held = pool.acquire();
  for (int i = 0; i < 10; ++i) {
    bool served = false;
    wait_in_vain(pool, served).handle.destroy();
  }
  EXPECT_EQ(pool.stats().waiters, 0U);
  EXPECT_EQ(failure_of(pool, 5ms), acquire_failure::timed_out);
}

TEST_P(ResourceCallbacks, G5AStoppedTokenEndsTheWaitOfACoroutine) {
  fake_pool& pool = start({.max_size = 1});
  const fake_lease held = pool.acquire();
  std::stop_source stop;
  std::optional<acquire_failure> why;
  const auto wait = [](fake_pool& in, std::stop_token token,
                       std::optional<acquire_failure>& end) -> detached {
    try {
      (void)co_await in.co_acquire(10s, std::move(token));
    } catch (const acquire_error& error) {
      end = error.cause();
    }
  };
  wait(pool, stop.get_token(), why);
  EXPECT_FALSE(why);
  stop.request_stop();
  EXPECT_EQ(why, acquire_failure::cancelled);
}

// djc/bb8 #167, POOL-424, as for threads: nobody is told that there is room again.
TEST_P(ResourceCallbacks, A7EveryWayToFreeRoomServesACallback) {
  test::manual_clock clock;
  for (const test::way_to_make_room& way : test::ways_to_make_room(server, clock)) {
    SCOPED_TRACE(way.name);
    fake_pool& pool = start(way.options);
    fake_lease held = pool.acquire();
    std::atomic<int> served{0};
    for (int i = 0; i < 2; ++i) {
      pool.async_acquire(
          [&served](fake_lease got, const std::exception_ptr&) { served += got ? 1 : 0; }, 10s);
    }
    way.make_room(pool, held);
    EXPECT_TRUE(eventually([&] { return served == 2; }));
    held.reset();
    end();
  }
}

// Who waits for the next try of a factory waits no longer than that is there.
TEST_P(ResourceCallbacks, A7ACallbackIsServedByANewFactory) {
  fake_pool& pool = start({.max_size = 1, .retry_first = 10min, .retry_longest = 10min});
  server.down = true;
  outcome waits;
  pool.async_acquire(waits.receiver(), 20s);
  EXPECT_TRUE(eventually([&] { return pool.stats().create_failures == 1; }));
  server.down = false;
  pool.replace_factory(test::fake_factory{&server});
  EXPECT_TRUE(eventually([&] { return waits.calls == 1; }));
  EXPECT_TRUE(waits.lease);
  waits.lease.reset();
}

// Who is about to make one does not see that there is room for a second.
TEST_P(ResourceCallbacks, A7ACallbackBehindAThreadIsServed) {
  fake_pool& pool = start({.max_size = 2});
  fake_lease first = pool.acquire();
  fake_lease second = pool.acquire();
  std::atomic<bool> ends{false};
  std::jthread ahead([&] {
    const fake_lease got = pool.acquire_for(10s);
    EXPECT_TRUE(eventually([&] { return ends.load(); }));
  });
  EXPECT_TRUE(eventually([&] { return pool.stats().waiters == 1; }));
  outcome behind;
  pool.async_acquire(behind.receiver(), 10s);
  server.slow = true;
  first.discard();
  EXPECT_TRUE(eventually([&] { return server.creating >= 1; }));
  std::jthread discards([&] { second.discard(); });  // may have to make what it makes room for
  EXPECT_TRUE(eventually([&] { return server.destroyed_for(destroy_reason::discarded) == 2; }));
  server.slow = false;
  EXPECT_TRUE(eventually([&] { return behind.calls == 1; }));
  EXPECT_TRUE(behind.lease);
  ends = true;
}

// vitessio/vitess #20310: returned connections go to waiters whose time is over.
TEST_P(ResourceCallbacks, A3AnExpiredWaiterIsNotServed) {
  outcome expired;
  outcome patient;
  fake_pool& pool = start({.max_size = 1});
  fake_lease held = pool.acquire();
  pool.async_acquire(expired.receiver(), 1ms);
  pool.async_acquire(patient.receiver(), 10s);
  std::this_thread::sleep_for(5ms);
  held.reset();
  ASSERT_TRUE(eventually([&] { return expired.calls == 1 && patient.calls == 1; }));
  EXPECT_EQ(expired.failure, acquire_failure::timed_out);
  EXPECT_TRUE(patient.lease);
  patient.lease.reset();
}

// vitessio/vitess #16896: of many that expire at once only the first was removed.
TEST_P(ResourceCallbacks, A4ManyExpireAtOnce) {
  std::vector<outcome> expired(100);
  fake_pool& pool = start({.max_size = 1});
  fake_lease held = pool.acquire();
  for (outcome& one : expired) {
    pool.async_acquire(one.receiver(), 1ms);
  }
  std::this_thread::sleep_for(2ms);
  held.reset();
  for (outcome& one : expired) {
    ASSERT_TRUE(eventually([&] { return one.calls == 1; }));
    EXPECT_EQ(one.failure, acquire_failure::timed_out);
  }
  EXPECT_EQ(pool.stats().waiters, 0U);
  EXPECT_EQ(pool.stats().timed_out, 100U);
}

// transact-rs/sqlx #453: newcomers cut in line.
TEST_P(ResourceCallbacks, A6NobodyOvertakesThoseWhoWait) {
  outcome first;
  outcome second;
  fake_pool& pool = start({.max_size = 1, .validate_if_idle_longer_than = 1h});
  pool.acquire().reset();
  pool.suspend();
  pool.async_acquire(first.receiver(), 10s);
  pool.async_acquire(second.receiver(), 10s);
  EXPECT_FALSE(pool.try_acquire());  // though one is idle
  EXPECT_EQ(first.calls, 0);
  EXPECT_EQ(pool.stats().idle, 1U);
  pool.resume();
  EXPECT_EQ(first.calls, 1);
  EXPECT_EQ(second.calls, 0);
  EXPECT_FALSE(pool.try_acquire());
  first.lease.reset();
  EXPECT_EQ(second.calls, 1);
  second.lease.reset();
}

// coopernurse/node-pool #108: the queue grows without bound.
TEST_P(ResourceCallbacks, A10TheQueueHasALimit) {
  outcome first;
  fake_pool& pool = start({.max_size = 1, .max_waiters = 1});
  fake_lease held = pool.acquire();
  pool.async_acquire(first.receiver(), 10s);
  EXPECT_EQ(failure_of(pool, 10s), acquire_failure::too_many_waiters);
  held.reset();
  first.lease.reset();
}

// boostorg/mysql #370: the destructor left operations waiting.
TEST_P(ResourceCallbacks, G2CloseWakesEveryWaiter) {
  outcome callback;
  fake_pool& pool = start({.max_size = 1});
  fake_lease held = pool.acquire();
  pool.async_acquire(callback.receiver(), 10s);
  std::jthread waiting([&] { EXPECT_EQ(failure_of(pool, 10s), acquire_failure::closed); });
  ASSERT_TRUE(eventually([&] { return pool.stats().waiters == 2; }));
  EXPECT_EQ(pool.close(0ms).holders.size(), 1U);
  waiting.join();
  EXPECT_EQ(callback.failure, acquire_failure::closed);
  EXPECT_EQ(failure_of(pool, 10s), acquire_failure::closed);
  EXPECT_FALSE(pool.try_acquire());
  held.reset();
  EXPECT_TRUE(pool.close(10s).complete());
}

// What the second callback has been given must not wait for the first one, which waits for it.
TEST_P(ResourceCallbacks, OneThatWaitsLetsTheNextGoFirst) {
  fake_pool& pool = start({.max_size = 1});
  fake_lease held = pool.acquire();
  bool first = false;
  bool second = false;
  pool.async_acquire(
      [&](fake_lease got, const std::exception_ptr& /*error*/) {
        got.reset();
        first = static_cast<bool>(pool.acquire_for(10s));
      },
      10s);
  pool.async_acquire([&](const fake_lease& got,
                         const std::exception_ptr& /*error*/) { second = static_cast<bool>(got); },
                     10s);
  const auto begin = std::chrono::steady_clock::now();
  held.reset();
  EXPECT_TRUE(first);
  EXPECT_TRUE(second);
  EXPECT_LT(std::chrono::steady_clock::now() - begin, 8s);
}

// brettwooldridge/HikariCP #343: one released, all woken. Of threads: ResourceWaiting.H4*.
TEST_P(ResourceCallbacks, H4OneReleaseServesOneWaiter) {
  std::vector<outcome> waiting(8);
  fake_pool& pool = start({.max_size = 1});
  fake_lease held = pool.acquire();
  for (outcome& one : waiting) {
    pool.async_acquire(one.receiver(), 10s);
  }
  held.reset();
  int served = 0;
  for (const outcome& one : waiting) {
    served += one.calls;
  }
  EXPECT_EQ(served, 1);
  for (outcome& one : waiting) {
    EXPECT_EQ(one.calls, 1);
    one.lease.reset();
  }
}

// boostorg/mysql #402: a time-out put around an operation (cancel_after) is a data race of its
// user.
TEST_P(ResourceCallbacks, G5AStoppedTokenEndsTheWaitOfACallback) {
  outcome stopped;
  std::stop_source stop;
  fake_pool& pool = start({.max_size = 1});
  fake_lease held = pool.acquire();
  pool.async_acquire(stopped.receiver(), 10s, stop.get_token());
  EXPECT_EQ(stopped.calls, 0);
  stop.request_stop();
  EXPECT_EQ(stopped.calls, 1);
  EXPECT_EQ(stopped.failure, acquire_failure::cancelled);
  held.reset();
  EXPECT_TRUE(pool.try_acquire());
}

// In every order of coming, and beside several threads: ResourceOrder.
detached await_once(fake_pool& pool, auto patience, std::atomic<int>& served,
                    std::atomic<int>& late) {
  try {
    const fake_lease lease = co_await pool.co_acquire(patience);
    ++served;
  } catch (const acquire_error&) {
    ++late;
  }
}

// As nanoseconds the longest times would be over.
TEST_P(ResourceCallbacks, TheLongestTimesAreWithoutEndAndLessThanNothingIsNone) {
  fake_pool& pool = start({.max_size = 1});
  fake_lease held = pool.acquire();
  std::atomic<int> served = 0;
  std::atomic<int> late = 0;
  const auto ask_for = [&](auto patience) {
    pool.async_acquire(
        [&](const fake_lease& lease, const std::exception_ptr&) { ++(lease ? served : late); },
        patience);
    await_once(pool, patience, served, late);
  };
  ask_for(std::chrono::seconds::max());
  ask_for(std::chrono::hours::max());
  ask_for(-1s);
  ask_for(-1h);
  EXPECT_TRUE(eventually([&] {
    pool.tick();  // by callers nobody else looks whose time is up
    return late == 4;
  }));
  EXPECT_EQ(pool.stats().waiters, 4U);
  held.extend(std::chrono::hours::max());
  held.extend(-1h);
  held.reset();
  EXPECT_TRUE(eventually([&] { return served == 4; }));
  EXPECT_EQ(late, 4);
}

TEST_P(ResourceCallbacks, CoroutinesWaitInTheSameQueue) {
  using test::way_to_wait;
  fake_pool& pool = start({.max_size = 1});
  test::customers all(pool);
  fake_lease held = pool.acquire();
  for (const way_to_wait way : {way_to_wait::coroutine, way_to_wait::callback, way_to_wait::thread,
                                way_to_wait::coroutine}) {
    all.join(way);
  }
  EXPECT_EQ(pool.stats().waiters, 4U);
  held.reset();
  EXPECT_EQ(all.served(), all.joined());
}

// Each turn has to validate, so each is a callback; were it called inside the one before, the stack
// would not be deep enough.
TEST_P(ResourceCallbacks, ACoroutineThatNeverHasToWaitDoesNotNest) {
  std::atomic<int> done{0};
  fake_pool& pool = start({.max_size = 1, .validate_if_idle_longer_than = 0s});
  use_often(pool, done, 100'000);
  for (int before = -1; done != 100'000 && before != done;) {  // as long as there is progress
    before = done;
    (void)eventually([&] { return done == 100'000; });
  }
  EXPECT_EQ(done, 100'000);
}

// Were each called by the release of the one before, the stack would not be deep enough.
TEST_P(ResourceCallbacks, ManyCallbacksThatReleaseAtOnceAreServed) {
  int served = 0;
  fake_pool& pool = start({.max_size = 1});
  fake_lease held = pool.acquire();
  for (int i = 0; i < 20'000; ++i) {
    pool.async_acquire([&](const fake_lease& lease, const auto&) { served += lease ? 1 : 0; },
                       100s);
  }
  held.reset();
  EXPECT_EQ(served, 20'000);
}

LIDO_TEST_IN_ALL_MODES(ResourceCallbacks);

// That one was counted as on its way to who waits, and there is no thread to notice.
TEST(ResourceCallbacksOfCallers, A7BesideOneWhoMakesOneForItself) {
  test::fake_server server;
  fake_pool pool(test::fake_factory{&server}, {.max_size = 2, .upkeep = maintenance::by_callers});
  server.slow = true;
  fake_lease kept;
  std::jthread maker([&] { kept = pool.try_acquire(); });
  ASSERT_TRUE(eventually([&] { return server.creating == 1; }));
  outcome waits;
  pool.async_acquire(waits.receiver(), 20s);
  server.slow = false;
  maker.join();
  EXPECT_TRUE(kept);
  EXPECT_TRUE(eventually([&] { return waits.calls == 1; })) << "there is room for two";
  kept.reset();
  waits.lease.reset();
}

}  // namespace
}  // namespace lido
