// Threads that wait: for how long, in which order, and for which thread. docs/reference/tests.md
// explains the letters and numbers in test names.
#include <gtest/gtest.h>

#include <algorithm>
#include <array>
#include <atomic>
#include <chrono>
#include <memory>
#include <optional>
#include <stop_token>
#include <string>
#include <thread>
#include <utility>
#include <vector>

#include "support/crew.hpp"
#include "support/customers.hpp"
#include "support/resource_fixtures.hpp"

namespace lido {
namespace {

using namespace std::chrono_literals;
using test::cause_of_call;
using test::eventually;
using test::failure_of;
using test::fake_lease;
using test::fake_pool;
using test::outcome;

class ResourceWaiting : public test::resource_in_each_mode {};

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

// vitessio/vitess #17662, djc/bb8 #122: released after the waiter looked and before it was queued.
TEST_P(ResourceWaiting, A5NoWaiterSleepsBesideAnIdleResource) {
  fake_pool& pool = start({.max_size = 1});
  test::run_crew(3, [&](unsigned) {
    for (int i = 0; i < 300; ++i) {
      EXPECT_TRUE(pool.acquire_for(20s));
    }
  });
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

LIDO_TEST_IN_ALL_MODES(ResourceWaiting);

// ---- how long the ways to acquire wait ---------------------------------------------------------

/// The result of a coroutine.
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

// It gets nothing even if a resource is idle.
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
  EXPECT_EQ(pool.stats().cancelled, 3U);
  EXPECT_EQ(pool.stats().handed_over, 1U) << "the first";
}

// ---- the order of waiters ----------------------------------------------------------------------

class ResourceOrder : public test::resource_in_each_mode {};

// Threads that run may take what comes back before a waiter does, for half a millisecond at most.
TEST_P(ResourceOrder, A6ThreadsThatShareAResourceAreServedAlike) {
  fake_pool& pool = start({.max_size = 1, .validate_if_idle_longer_than = 1h});
  std::array<std::atomic<int>, 8> uses{};
  std::atomic<bool> stop(false);
  {
    std::vector<std::jthread> threads;
    for (std::atomic<int>& mine : uses) {
      threads.emplace_back([&] {
        while (!stop) {
          const fake_lease used = pool.acquire_for(10s);
          ++mine;
        }
      });
    }
    std::this_thread::sleep_for(300ms);
    stop = true;
  }
  const auto [least, most] = std::minmax_element(uses.begin(), uses.end());
  EXPECT_GT(*least, 0);
  EXPECT_LE(*most, 20 * *least) << "the bench wants 3, on an idle machine";
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

TEST_P(ResourceDeadlock, A14AResourcePassedToAnotherThreadMayComeBack) {
  fake_pool& pool = start({.max_size = 1});
  fake_lease mine = pool.acquire();
  std::jthread other([theirs = std::move(mine)]() mutable {
    std::this_thread::sleep_for(5ms);
    theirs.reset();
  });
  EXPECT_TRUE(pool.acquire_for(10s));
}

/// Moves a lease as a function does that returns one.
fake_lease returned(fake_pool& pool) {
  fake_lease made = pool.acquire();
  fake_lease other = std::move(made);
  return other;
}

struct session {
  fake_lease lease;
};

session in_a_class(fake_pool& pool) {
  session made{returned(pool)};
  session other = std::move(made);
  return other;
}

TEST_P(ResourceDeadlock, ALeaseThatWasMovedWithinItsThreadIsStillKnown) {
  fake_pool& pool = start({.max_size = 2});
  const fake_lease first = returned(pool);
  const session second = in_a_class(pool);
  EXPECT_EQ(failure_of(pool, 10s), acquire_failure::self_deadlock);
  for (const lease_info& one : pool.leases()) {
    EXPECT_NE(one.thread, 0U);
  }
}

// Another thread may end such a lease.
TEST_P(ResourceDeadlock, ALeaseThatWasMovedOffTheStackHoldsUpNoWait) {
  fake_pool& pool = start({.max_size = 1});
  auto kept = std::make_unique<fake_lease>(returned(pool));
  const auto release_later = [&] {
    return std::jthread([&] {
      std::this_thread::sleep_for(5ms);
      kept->reset();
    });
  };
  {
    const std::jthread other = release_later();
    EXPECT_TRUE(pool.acquire_for(10s));
  }
  *kept = returned(pool);  // by assignment, as to the member of an object
  const std::jthread other = release_later();
  EXPECT_TRUE(pool.acquire_for(10s));
}

LIDO_TEST_IN_ALL_MODES(ResourceDeadlock);

}  // namespace
}  // namespace lido
