// Pools in which newcomers may overtake waiters. docs/reference/tests.md explains the letters and
// numbers in test names.
#include <gtest/gtest.h>

#include <atomic>
#include <chrono>
#include <cstdint>
#include <stop_token>
#include <thread>

#include "support/resource_fixtures.hpp"

namespace lido {
namespace {

using namespace std::chrono_literals;
using test::eventually;
using test::fake_lease;
using test::fake_pool;

class ResourceBarging : public test::resource_in_each_mode {};

// Not in each round, since the woken waiter may be faster.
TEST_P(ResourceBarging, A6ANewcomerMayTakeAReleasedResource) {
  fake_pool& pool = start({.max_size = 1, .queueing = queueing::barging});
  int overtook = 0;
  for (int i = 0; i < 100 && overtook == 0; ++i) {
    fake_lease held = pool.acquire();
    std::jthread waiting([&] { EXPECT_NO_THROW((void)pool.acquire_for(20s)); });
    ASSERT_TRUE(eventually([&] { return pool.stats().waiting == 1; }));
    held.reset();
    held = pool.try_acquire();
    overtook += held ? 1 : 0;
    held.reset();
  }
  EXPECT_GT(overtook, 0);
}

// The bound of A6: a waiter that was overtaken for 10 ms is handed the next resource.
TEST_P(ResourceBarging, A6NoWaiterIsOvertakenForLong) {
  fake_pool& pool = start({.max_size = 1, .queueing = queueing::barging});
  int overtaken = 0;
  for (int i = 0; i < 1000 && overtaken < 20; ++i) {
    fake_lease held = pool.acquire();
    std::atomic<bool> leave{false};
    std::jthread waiting([&] {
      const fake_lease mine = pool.acquire_for(20s);
      EXPECT_TRUE(eventually([&] { return leave.load(); }));
    });
    ASSERT_TRUE(eventually([&] { return pool.stats().waiting == 1; }));
    held.reset();
    held = pool.try_acquire();  // overtakes the waiter, unless the waiter was faster
    if (held) {
      ++overtaken;
      std::this_thread::sleep_for(11ms);
      held.reset();
      EXPECT_FALSE(pool.try_acquire()) << "overtaken for longer than 10 ms";
    }
    leave = true;
  }
  EXPECT_GT(overtaken, 0);
}

// boostorg/mysql #509: a waiter that gives up swallows the wake-up of the next.
TEST_P(ResourceBarging, A2AWaiterThatGivesUpWakesTheNext) {
  fake_pool& pool = start({.max_size = 1, .queueing = queueing::barging});
  for (int i = 0; i < 100; ++i) {
    fake_lease held = pool.acquire();
    std::stop_source stop;
    std::jthread first([&] {
      try {
        (void)pool.acquire_for(20s, stop.get_token());
      } catch (const acquire_error& error) {
        EXPECT_EQ(error.cause(), acquire_failure::cancelled);
      }
    });
    ASSERT_TRUE(eventually([&] { return pool.stats().waiting == 1; }));
    std::jthread second([&] { EXPECT_NO_THROW((void)pool.acquire_for(20s)); });
    ASSERT_TRUE(eventually([&] { return pool.stats().waiting == 2; }));
    std::jthread stopping([&] { stop.request_stop(); });
    held.reset();
  }
}

// While a waiter runs a callback it cannot look for a resource, so others are served.
TEST_P(ResourceBarging, NoWaiterWaitsForAThreadInACallback) {
  fake_pool& pool = start({.max_size = 3,
                           .queueing = queueing::barging,
                           .reset_by = reset_by::releasing_thread,
                           .detect_hold_and_wait = false});
  fake_lease one = pool.acquire();
  fake_lease two = pool.acquire();
  fake_lease last = pool.acquire();
  bool first = false;
  bool second = false;
  const std::uint64_t waits = pool.stats().exhausted;
  pool.async_acquire(
      [&](acquire_result<test::connection> got) {
        got.lease().reset();
        first = static_cast<bool>(pool.acquire_for(10s));  // runs the other callback first
      },
      10s);
  pool.async_acquire([&](const auto& got) { second = got && pool.acquire_for(10s); }, 10s);
  const auto begin = std::chrono::steady_clock::now();
  std::jthread releasing([&] { last.reset(); });
  ASSERT_TRUE(eventually([&] { return pool.stats().exhausted == waits + 4; }));
  one.reset();
  two.reset();
  releasing.join();
  EXPECT_TRUE(first);
  EXPECT_TRUE(second);
  EXPECT_LT(std::chrono::steady_clock::now() - begin, 8s);
}

// A waiter that was woken for a new resource needs no other one.
TEST_P(ResourceBarging, NoMoreResourcesAreMadeThanWaitersNeed) {
  fake_pool& pool = start({.max_size = 10, .queueing = queueing::barging});
  pool.acquire().reset();
  ASSERT_TRUE(eventually([&] { return pool.stats().creating == 0; }));
  EXPECT_EQ(pool.stats().created, 1U);
}

LIDO_TEST_IN_ALL_MODES(ResourceBarging);

}  // namespace
}  // namespace lido
