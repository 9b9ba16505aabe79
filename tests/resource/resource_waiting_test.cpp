// Threads that wait: for how long, in which order, and for which thread. docs/reference/tests.md
// explains the letters and numbers in test names.
#include <gtest/gtest.h>

#include <algorithm>
#include <atomic>
#include <chrono>
#include <latch>
#include <optional>
#include <stop_token>
#include <string>
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
using test::cause_of_call;
using test::customers;
using test::eventually;
using test::failure_of;
using test::fake_lease;
using test::fake_pool;
using test::outcome;
using test::way_to_wait;

class ResourceWaiting : public test::resource_in_each_mode {};

TEST_P(ResourceWaiting, LendsTheSameResourceAgain) {
  fake_pool& pool = start({.max_size = 2});
  const int id = pool.acquire()->id;
  for (int i = 0; i < 10; ++i) {
    EXPECT_EQ(pool.acquire()->id, id);
  }
  EXPECT_EQ(server.creates, 1);
  EXPECT_EQ(server.resets, 11);
  EXPECT_EQ(pool.stats().acquires, 11U);
}

// Stormpot BSlot.release: the last resource of a thread is kept for that thread.
TEST_P(ResourceWaiting, AllResourcesCanBeLeasedAfterUseByOtherThreads) {
  constexpr unsigned size = 4;
  fake_pool& pool = start({.max_size = size, .max_creating = size});
  std::latch all_have(size);
  const test::parked_crew crew(size, [&](unsigned /*thread*/) {
    const fake_lease mine = pool.acquire_for(20s);
    EXPECT_TRUE(mine);
    all_have.arrive_and_wait();  // one each, so that each is the last resource of a thread
  });
  std::vector<fake_lease> held(size);
  for (fake_lease& one : held) {
    one = pool.try_acquire();
    EXPECT_TRUE(one);
  }
  EXPECT_FALSE(pool.try_acquire());
  EXPECT_EQ(server.creates, static_cast<int>(size));
}

// djc/bb8 #67: a cancelled `get` loses a connection. boostorg/mysql #509: it swallows a wake-up.
TEST_P(ResourceWaiting, A1A2ACancelledWaiterLosesNothingAndSwallowsNothing) {
  fake_pool& pool = start({.max_size = 1});
  for (int i = 0; i < 200; ++i) {
    fake_lease held = pool.acquire();
    std::stop_source stop;
    std::jthread cancelled([&] {
      try {
        (void)pool.acquire(stop.get_token());
      } catch (const acquire_error& error) {
        EXPECT_EQ(error.cause(), acquire_failure::cancelled);
      }
    });
    std::jthread other([&] { EXPECT_TRUE(pool.acquire_for(10s)); });
    std::jthread canceller([&] { stop.request_stop(); });
    held.reset();
  }
  EXPECT_TRUE(pool.try_acquire());
}

// vitessio/vitess #17662, djc/bb8 #122: released after the look and before the waiter was queued.
TEST_P(ResourceWaiting, A5NoWaiterSleepsBesideAnIdleResource) {
  fake_pool& pool = start({.max_size = 1});
  test::run_crew(3, [&](unsigned) {
    for (int i = 0; i < 300; ++i) {
      EXPECT_TRUE(pool.acquire_for(20s));
    }
  });
}

// djc/bb8 #167, POOL-424: no waiter learns that there is room again.
TEST_P(ResourceWaiting, A7EveryWayToFreeRoomServesAWaiter) {
  test::manual_clock clock;
  for (const test::way_to_make_room& way : test::ways_to_make_room(server, clock)) {
    SCOPED_TRACE(way.name);
    fake_pool& pool = start(way.options);
    fake_lease held = pool.acquire();
    std::atomic<int> served{0};
    std::jthread waiting([&] { served += pool.try_acquire_for(10s) ? 1 : 0; });
    ASSERT_TRUE(eventually([&] { return pool.stats().waiting == 1; }));
    pool.async_acquire([&](const auto& got) { served += got ? 1 : 0; }, 10s);
    way.make_room(pool, held);
    waiting.join();
    EXPECT_TRUE(eventually([&] { return served == 2; }));
    held.reset();
    end();
  }
}

// jackc/pgx PR #2350, boostorg/mysql #487: no timeout, or none per call. POOL-418: too short.
TEST_P(ResourceWaiting, A11A12TimesAreKept) {
  fake_pool& pool = start({.max_size = 1, .acquire_timeout = 20ms, .detect_hold_and_wait = false});
  const fake_lease held = pool.acquire_for(30s);  // the machine may be busy
  auto begin = std::chrono::steady_clock::now();
  EXPECT_THROW((void)pool.acquire(), acquire_error);
  EXPECT_GE(std::chrono::steady_clock::now() - begin, 20ms);
  EXPECT_LT(std::chrono::steady_clock::now() - begin, 10s);
  begin = std::chrono::steady_clock::now();
  EXPECT_EQ(failure_of(pool, 5ms), acquire_failure::timed_out);
  EXPECT_GE(std::chrono::steady_clock::now() - begin, 5ms);
  EXPECT_LT(std::chrono::steady_clock::now() - begin, 10s);  // the default would be 30 s
  EXPECT_EQ(failure_of(pool, -5ms), acquire_failure::timed_out);
}

// Such an acquire gets what is available now, as `try_acquire` does, including a new resource.
TEST_P(ResourceWaiting, A11AnAcquireWithoutTimeIsNotRefusedForEver) {
  fake_pool& pool = start({.max_size = 1});
  EXPECT_TRUE(eventually([&] {
    try {
      return static_cast<bool>(pool.acquire_for(0ms));
    } catch (const acquire_error&) {
      return false;
    }
  }));
}

TEST_P(ResourceWaiting, A11TimesAreKeptAlthoughCreatesFail) {
  fake_pool& pool = start({.max_size = 2, .retry_first = 1ns, .retry_longest = 1ns});
  const auto held = pool.acquire();
  server.down = true;
  const auto begin = std::chrono::steady_clock::now();
  EXPECT_EQ(test::failure_of(pool, 20ms), acquire_failure::timed_out);
  EXPECT_LT(std::chrono::steady_clock::now() - begin, 10s);
}

TEST_P(ResourceWaiting, AnyTimePointOfAnyClockIsADeadline) {
  fake_pool& pool = start({.max_size = 1, .detect_hold_and_wait = false});
  fake_lease held = pool.acquire_until(std::chrono::steady_clock::time_point::max());
  EXPECT_TRUE(held);
  for (const auto past :
       {std::chrono::system_clock::time_point::min(), std::chrono::system_clock::now() - 1s}) {
    EXPECT_THROW((void)pool.acquire_until(past), acquire_error);
  }
}

// transact-rs/sqlx #2276, djc/bb8 #227: is it a leak, a slow query, or a failing connect?
TEST_P(ResourceWaiting, A13TheErrorSaysWhy) {
  server.down = true;
  fake_pool& pool = start({.max_size = 4, .name = "orders"});
  ASSERT_TRUE(eventually([&] {
    EXPECT_EQ(failure_of(pool, 5ms), acquire_failure::timed_out);
    return pool.stats().create_failures > 0;
  }));
  try {
    (void)pool.acquire_for(50ms);
    FAIL();
  } catch (const acquire_error& error) {
    EXPECT_EQ(error.cause(), acquire_failure::timed_out);
    EXPECT_TRUE(error.create_error());
    EXPECT_EQ(error.counts().capacity, 4U);
    const std::string what = error.what();
    EXPECT_NE(what.find("'orders'"), std::string::npos) << what;
    EXPECT_NE(what.find("connection refused"), std::string::npos) << what;
  }
}

// apache/commons-pool PR #346: no thread will ever release a resource, and none is created.
TEST_P(ResourceWaiting, A15AWaiterOfAnEmptyPoolIsServedOnceCreatesSucceed) {
  server.down = true;
  fake_pool& pool = start({.max_size = 1, .retry_first = 1ms, .retry_longest = 2ms});
  std::jthread waiting([&] { EXPECT_TRUE(pool.acquire_for(10s)); });
  ASSERT_TRUE(eventually([&] { return server.creates >= 3; }));
  server.down = false;
}

// djc/bb8 #227, PR #147: a wrong password is retried for thirty seconds.
TEST_P(ResourceWaiting, D10APermanentErrorFailsTheAcquireAtOnce) {
  server.wrong_password = true;
  fake_pool& pool = start({.max_size = 4});
  const auto begin = std::chrono::steady_clock::now();
  EXPECT_EQ(failure_of(pool, 20s), acquire_failure::create_failed);
  EXPECT_EQ(failure_of(pool, 20s), acquire_failure::create_failed);
  EXPECT_LT(std::chrono::steady_clock::now() - begin, 10s);
  EXPECT_LE(server.creates, 2);  // the second acquire did not ask the server again
}

LIDO_TEST_IN_ALL_MODES(ResourceWaiting);

// ---- how long the ways to acquire wait ---------------------------------------------------------

/// What a coroutine was told.
struct awaited {
  std::atomic<bool> over{false};
  std::optional<acquire_failure> failure;
};

// NOLINTBEGIN(cppcoreguidelines-avoid-reference-coroutine-parameters): these outlive it
test::detached await_for_the_default_time(fake_pool& pool, awaited& told) {
  try {
    const fake_lease lease = co_await pool.co_acquire();
  } catch (const acquire_error& error) {
    told.failure = error.cause();
  }
  told.over = true;
}

test::detached await_with(fake_pool& pool, std::stop_token stop, awaited& told) {
  try {
    const fake_lease lease = co_await pool.co_acquire(20s, std::move(stop));
  } catch (const acquire_error& error) {
    told.failure = error.cause();
  }
  told.over = true;
}
// NOLINTEND(cppcoreguidelines-avoid-reference-coroutine-parameters)

class ResourceGivenTimes : public ::testing::Test {
 protected:
  // NOLINTBEGIN(*-non-private-member-*,readability-identifier-naming)
  test::fake_server server;
  fake_pool pool{test::fake_factory{&server},
                 {.max_size = 1, .acquire_timeout = 20ms, .detect_hold_and_wait = false}};
  // NOLINTEND(*-non-private-member-*,readability-identifier-naming)
};

TEST_F(ResourceGivenTimes, EachWayToAcquireHasTheDefaultTimeout) {
  const fake_lease held = pool.acquire_for(20s);
  const std::stop_source stop;
  EXPECT_EQ(cause_of_call([&] { return pool.acquire(stop.get_token()); }),
            acquire_failure::timed_out);
  outcome told;
  pool.async_acquire(told.receiver());
  EXPECT_TRUE(eventually([&] { return told.calls == 1; }));
  EXPECT_EQ(told.failure, acquire_failure::timed_out);
  awaited other;
  await_for_the_default_time(pool, other);
  EXPECT_TRUE(eventually([&] { return other.over.load(); }));
  EXPECT_EQ(other.failure, acquire_failure::timed_out);
}

TEST_F(ResourceGivenTimes, AnAcquireWaitsUntilItsDeadline) {
  const fake_lease held = pool.acquire_for(20s);
  const auto begin = std::chrono::steady_clock::now();
  EXPECT_EQ(
      cause_of_call([&] { return pool.acquire_until(std::chrono::system_clock::now() + 50ms); }),
      acquire_failure::timed_out);
  const auto took = std::chrono::steady_clock::now() - begin;
  EXPECT_GE(took, 40ms);
  EXPECT_LT(took, 20s);
}

TEST_F(ResourceGivenTimes, ATokenEndsAWaitWithADeadline) {
  const fake_lease held = pool.acquire_for(20s);
  std::stop_source stop;
  std::jthread stops([&] {
    EXPECT_TRUE(eventually([&] { return pool.stats().waiting == 1; }));
    (void)stop.request_stop();
  });
  EXPECT_EQ(cause_of_call([&] {
              return pool.acquire_until(std::chrono::steady_clock::now() + 20s, stop.get_token());
            }),
            acquire_failure::cancelled);
}

// Although a resource is idle.
TEST_F(ResourceGivenTimes, AnAcquireStoppedFromTheStartGetsNothing) {
  pool.acquire_for(20s).reset();
  std::stop_source stop;
  (void)stop.request_stop();
  EXPECT_EQ(cause_of_call([&] { return pool.acquire(stop.get_token()); }),
            acquire_failure::cancelled);
  outcome told;
  pool.async_acquire(told.receiver(), 20s, stop.get_token());
  EXPECT_EQ(told.failure, acquire_failure::cancelled);
  awaited other;
  await_with(pool, stop.get_token(), other);
  EXPECT_TRUE(other.over);
  EXPECT_EQ(other.failure, acquire_failure::cancelled);
  EXPECT_EQ(pool.stats().idle, 1U);
}

// ---- the order of waiters ----------------------------------------------------------------------

class ResourceOrder : public test::resource_in_each_mode {
 protected:
  /// Every order in which a thread, a callback and a coroutine can arrive.
  void serve_each_mixture(bool discard) {
    std::vector<way_to_wait> line{way_to_wait::thread, way_to_wait::callback,
                                  way_to_wait::coroutine};
    do {
      serve_in_order(line, discard);
    } while (std::next_permutation(line.begin(), line.end()));
  }

  void serve_in_order(const std::vector<way_to_wait>& line, bool discard) {
    fake_pool& pool = start({.max_size = 1});
    {
      customers all(pool, discard);
      fake_lease held = pool.acquire();
      for (const way_to_wait way : line) {
        all.join(way);
      }
      held.reset();
      EXPECT_EQ(all.served(), all.joined()) << ::testing::PrintToString(line);
    }
    end();
  }
};

TEST_P(ResourceOrder, A6WaitersOfEachKindAreServedInFifoOrder) {
  serve_each_mixture(/*discard=*/false);
}

// A new resource each time, created by a thread of the pool or by a waiter.
TEST_P(ResourceOrder, A6TheFirstWaiterGetsTheFirstNewResource) {
  serve_each_mixture(/*discard=*/true);
}

// Released resources go to waiters, however often newcomers try to acquire meanwhile.
TEST_P(ResourceOrder, A6NewcomersDoNotOvertake) {
  fake_pool& pool = start({.max_size = 1, .validate_if_idle_longer_than = 1h});
  int cut_in = 0;
  for (int round = 0; round < 100; ++round) {
    fake_lease held = pool.acquire();
    std::latch asks(1);
    std::latch served(1);
    std::latch over(1);
    std::jthread waiting([&] {
      const fake_lease got = pool.acquire_for(10s);
      served.count_down();
      over.wait();
    });
    EXPECT_TRUE(eventually([&] { return pool.stats().waiting == 1; }));
    std::jthread newcomer([&] {
      asks.count_down();
      while (!served.try_wait()) {
        cut_in += pool.try_acquire() ? 1 : 0;
      }
      over.count_down();
    });
    asks.wait();
    held.reset();
  }
  EXPECT_EQ(cut_in, 0);
}

LIDO_TEST_IN_ALL_MODES(ResourceOrder);

// ---- threads that hold what they wait for ------------------------------------------------------

class ResourceDeadlock : public test::resource_in_each_mode {};

// brettwooldridge/HikariCP #442, aio-libs/aiopg #113: a thread waits for what it holds itself.
TEST_P(ResourceDeadlock, A14AThreadThatHoldsAllDoesNotWaitForMore) {
  fake_pool& pool = start({.max_size = 2});
  const fake_lease first = pool.acquire();
  const fake_lease second = pool.acquire();
  EXPECT_EQ(failure_of(pool, 10s), acquire_failure::self_deadlock);
}

TEST_P(ResourceDeadlock, A14ACycleOfWaitingThreadsIsBroken) {
  fake_pool& pool = start({.max_size = 2});
  std::atomic<int> told{0};
  std::atomic<int> holding{0};
  test::run_crew(2, [&](unsigned) {
    const fake_lease mine = pool.acquire();
    ++holding;
    eventually([&] { return holding == 2; });
    try {
      (void)pool.acquire_for(10s);
    } catch (const acquire_error& error) {
      told += error.cause() == acquire_failure::self_deadlock ? 1 : 0;
    }
  });
  EXPECT_EQ(told, 1);  // the other one then gets the released resource
}

TEST_P(ResourceDeadlock, A14AResourcePassedToAnotherThreadMayComeBack) {
  fake_pool& pool = start({.max_size = 1});
  fake_lease mine = pool.acquire();
  std::jthread other([theirs = std::move(mine)]() mutable {
    std::this_thread::sleep_for(5ms);
    theirs.reset();
  });
  EXPECT_TRUE(pool.acquire_for(10s));
}

LIDO_TEST_IN_ALL_MODES(ResourceDeadlock);

// ---- pools without threads, in which a thread that acquires may have to create -----------------

class ResourceByTick : public test::resource_by_tick {};

// The answer came too late. It made room, but the acquirer has no time left to create.
TEST_F(ResourceByTick, NoCreateBeginsAfterTheTimeout) {
  fake_pool& pool = start({.max_size = 1, .validate_if_idle_longer_than = 0s});
  fill(pool, 1);
  server.slow_validate = true;
  server.broken = true;
  std::jthread late([&] { EXPECT_EQ(failure_of(pool, 50ms), acquire_failure::timed_out); });
  ASSERT_TRUE(eventually([&] { return server.validations == 1; }));
  std::this_thread::sleep_for(60ms);
  server.slow_validate = false;
  late.join();
  EXPECT_EQ(server.creates, 1);
  EXPECT_EQ(server.destroyed_for(destroy_reason::invalid), 1);
}

TEST_F(ResourceByTick, AnAcquirerWhoseCreateFailsIsFirstAgain) {
  // A retry that comes at once may be of B, before A has told the pool that it waits again.
  fake_pool& pool = start({.max_size = 1, .retry_first = 200ms, .retry_longest = 200ms});
  server.down = true;
  server.slow = true;
  std::vector<char> served;  // the users of the one resource, in order
  const auto use = [&](char who) {
    const fake_lease mine = pool.acquire_for(20s);
    served.push_back(who);
  };
  std::jthread first([&] { use('A'); });
  ASSERT_TRUE(eventually([&] { return server.creating == 1; }));
  std::jthread second([&] { use('B'); });
  ASSERT_TRUE(eventually([&] { return pool.stats().waiting == 1; }));
  server.slow = false;
  ASSERT_TRUE(eventually([&] { return pool.stats().create_failures != 0; }));
  server.down = false;
  first.join();
  second.join();
  EXPECT_EQ(served, (std::vector<char>{'A', 'B'}));
}

TEST_F(ResourceByTick, CallbacksNeedTicks) {
  fake_pool& pool = start({.max_size = 1});
  test::outcome served;
  test::outcome late;
  pool.async_acquire(served.receiver(), 20s);
  EXPECT_EQ(server.creates, 0);
  pool.tick();
  EXPECT_TRUE(served.lease);
  pool.async_acquire(late.receiver(), 1ms);
  std::this_thread::sleep_for(2ms);
  EXPECT_EQ(late.calls, 0);
  pool.tick();
  EXPECT_EQ(late.failure, acquire_failure::timed_out);
  served.lease.reset();
}

}  // namespace
}  // namespace lido
