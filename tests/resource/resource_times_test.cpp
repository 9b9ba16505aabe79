// How long the ways to acquire wait, and which tokens they heed.
#include <gtest/gtest.h>

#include <atomic>
#include <chrono>
#include <optional>
#include <stop_token>
#include <thread>
#include <utility>

#include "support/customers.hpp"
#include "support/resource_fixtures.hpp"

namespace lido {
namespace {

using namespace std::chrono_literals;
using test::cause_of_call;
using test::eventually;
using test::fake_lease;
using test::fake_pool;
using test::outcome;

/// What a coroutine was told.
struct awaited {
  std::atomic<bool> over{false};
  std::optional<acquire_failure> failure;
};

// NOLINTBEGIN(cppcoreguidelines-avoid-reference-coroutine-parameters): these outlive it
test::detached await_in_the_usual_time(fake_pool& pool, awaited& told) {
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

TEST_F(ResourceGivenTimes, EachWayToAcquireKeepsToTheUsualTime) {
  const fake_lease held = pool.acquire_for(20s);
  const std::stop_source stop;
  EXPECT_EQ(cause_of_call([&] { return pool.acquire(stop.get_token()); }),
            acquire_failure::timed_out);
  outcome told;
  pool.async_acquire(told.receiver());
  EXPECT_TRUE(eventually([&] { return told.calls == 1; }));
  EXPECT_EQ(told.failure, acquire_failure::timed_out);
  awaited other;
  await_in_the_usual_time(pool, other);
  EXPECT_TRUE(eventually([&] { return other.over.load(); }));
  EXPECT_EQ(other.failure, acquire_failure::timed_out);
}

TEST_F(ResourceGivenTimes, AMomentToComeIsWaitedFor) {
  const fake_lease held = pool.acquire_for(20s);
  const auto begin = std::chrono::steady_clock::now();
  EXPECT_EQ(
      cause_of_call([&] { return pool.acquire_until(std::chrono::system_clock::now() + 50ms); }),
      acquire_failure::timed_out);
  const auto took = std::chrono::steady_clock::now() - begin;
  EXPECT_GE(took, 40ms);
  EXPECT_LT(took, 20s);
}

TEST_F(ResourceGivenTimes, ATokenEndsAWaitForAMoment) {
  const fake_lease held = pool.acquire_for(20s);
  std::stop_source stop;
  std::jthread stops([&] {
    EXPECT_TRUE(eventually([&] { return pool.stats().waiters == 1; }));
    (void)stop.request_stop();
  });
  EXPECT_EQ(cause_of_call([&] {
              return pool.acquire_until(std::chrono::steady_clock::now() + 20s, stop.get_token());
            }),
            acquire_failure::cancelled);
}

// Though one is idle.
TEST_F(ResourceGivenTimes, WhoIsStoppedBeforeItAsksGetsNothing) {
  pool.acquire_for(20s).reset();
  std::stop_source stop;
  (void)stop.request_stop();
  outcome told;
  pool.async_acquire(told.receiver(), 20s, stop.get_token());
  EXPECT_EQ(told.failure, acquire_failure::cancelled);
  awaited other;
  await_with(pool, stop.get_token(), other);
  EXPECT_TRUE(other.over);
  EXPECT_EQ(other.failure, acquire_failure::cancelled);
  EXPECT_EQ(pool.stats().idle, 1U);
}

// By callers nobody else looks at the clock.
TEST(ResourceGivenTimesByCallers, ALateCallbackIsToldByWhoAcquires) {
  test::fake_server server;
  fake_pool pool(test::fake_factory{&server}, {.max_size = 1, .upkeep = maintenance::by_callers});
  const fake_lease held = pool.acquire();
  outcome told;
  pool.async_acquire(told.receiver(), 1ms);
  EXPECT_TRUE(eventually([&] {
    (void)pool.try_acquire();
    return told.calls == 1;
  }));
  EXPECT_EQ(told.failure, acquire_failure::timed_out);
}

}  // namespace
}  // namespace lido
