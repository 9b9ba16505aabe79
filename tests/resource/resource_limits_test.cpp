// How much an acquire waits for and does, and when it is one too many.
#include <gtest/gtest.h>

#include <array>
#include <atomic>
#include <chrono>
#include <optional>
#include <stdexcept>
#include <stop_token>
#include <thread>
#include <vector>

#include "support/resource_fixtures.hpp"

namespace lido {
namespace {

using namespace std::chrono_literals;
using test::fake_lease;
using test::fake_pool;

acquire_failure failure_of(fake_pool& pool, const std::stop_token& stop = {}) {
  try {
    (void)pool.acquire_for(20s, stop);
  } catch (const acquire_error& error) {
    return error.cause();
  }
  ADD_FAILURE() << "there was one to be had";
  return acquire_failure::timed_out;
}

class ResourceLimits : public ::testing::TestWithParam<maintenance> {
 protected:
  test::fake_server server;  // NOLINT(*-non-private-member-*,readability-identifier-naming)
};

// Queue limits elsewhere refuse who finds a pool that is still empty, or empty again.
TEST_P(ResourceLimits, WhoIsToBeGivenWhatIsMadeIsNoWaiterTooMany) {
  fake_pool pool(
      test::fake_factory{&server},
      {.max_size = 2, .max_waiters = 0, .detect_hold_and_wait = false, .upkeep = GetParam()});
  {
    const fake_lease first = pool.acquire();
    const fake_lease second = pool.acquire();
    EXPECT_TRUE(first && second);
    EXPECT_EQ(failure_of(pool), acquire_failure::too_many_waiters);
  }
  pool.flush();
  EXPECT_TRUE(pool.acquire());
}

// While creates fail nobody is to be given anything.
TEST_P(ResourceLimits, WhoWaitsForTheNextTryIsAWaiter) {
  fake_pool pool(test::fake_factory{&server},
                 {.max_size = 2, .max_waiters = 0, .retry_first = 5s, .upkeep = GetParam()});
  server.down = true;
  (void)pool.try_acquire();
  ASSERT_TRUE(test::eventually([&] { return pool.stats().create_failures == 1; }));
  EXPECT_EQ(failure_of(pool), acquire_failure::too_many_waiters);
}

// The search ends with the answer that it waits for.
TEST_P(ResourceLimits, AStopEndsTheSearchForOneThatAnswers) {
  struct silent : test::answers_no_and_stops {
    [[nodiscard]] int create() const { return 1; }
  };
  std::atomic<int> asked{0};
  std::stop_source stop;
  resource_pool<int> pool(
      silent{{&asked, &stop}},
      {.max_size = 3, .validate_if_idle_longer_than = 0ns, .upkeep = GetParam()});
  { const std::array<resource_lease<int>, 3> all{pool.acquire(), pool.acquire(), pool.acquire()}; }
  EXPECT_THROW((void)pool.acquire_for(20s, stop.get_token()), acquire_error);
  EXPECT_EQ(asked, 1);
  EXPECT_EQ(pool.stats().cancelled, 1U);
}

INSTANTIATE_TEST_SUITE_P(Modes, ResourceLimits,
                         ::testing::Values(maintenance::background, maintenance::by_callers));

TEST(ResourceLimitsByCallers, AnAcquireMakesAtMostOneForLater) {
  test::fake_server server;
  fake_pool pool(test::fake_factory{&server},
                 {.max_size = 8, .min_idle = 8, .upkeep = maintenance::by_callers});
  EXPECT_TRUE(pool.try_acquire());
  EXPECT_LE(server.creates, 2);
  for (int i = 0; i < 8; ++i) {
    const int before = server.creates;
    EXPECT_TRUE(pool.try_acquire());
    EXPECT_LE(server.creates, before + 1);
  }
  EXPECT_EQ(server.creates, 8) << "in the end they are there";
}

/// A pool by callers with four that are idle, and due to be asked whether they live.
class ResourceUpkeepByCallers : public ::testing::Test {
 protected:
  void start(std::chrono::nanoseconds validate_after) {
    pool.emplace(
        test::fake_factory{&server},
        resource_pool_options{
            .max_size = 5,
            .idle_timeout = 0s,
            .keepalive = 10s,
            .validate_if_idle_longer_than = validate_after,
            .report_slow_after = 1s,
            .on_event = [](const pool_event& /*slow*/) { std::this_thread::sleep_for(50ms); },
            .upkeep = maintenance::by_callers,
            .clock = &clock});
    const std::array<fake_lease, 4> all{pool->acquire(), pool->acquire(), pool->acquire(),
                                        pool->acquire()};
  }

  // NOLINTBEGIN(*-non-private-member-*,readability-identifier-naming)
  test::manual_clock clock;
  test::fake_server server;
  std::optional<fake_pool> pool;
  // NOLINTEND(*-non-private-member-*,readability-identifier-naming)
};

TEST_F(ResourceUpkeepByCallers, AnAcquireOfAnyKindWaitsForOneAnswer) {
  for (const int way : {0, 1, 2}) {
    server.validations = 0;
    start(1h);
    clock.advance(11s);
    const fake_lease lease = way == 0   ? pool->acquire()
                             : way == 1 ? pool->acquire_for(0s)
                                        : pool->try_acquire();
    EXPECT_TRUE(lease);
    EXPECT_EQ(server.validations, 1) << way;
  }
}

// What it does not ask any more has not failed.
TEST_F(ResourceUpkeepByCallers, WhoHasNoTimeLeftAfterwardsEndsNothing) {
  start(0s);
  const fake_lease held = pool->acquire();
  server.broken = true;  // whoever asks in spite of that
  clock.advance(2s);     // the report of `held` takes longer than the acquire has
  EXPECT_EQ(test::failure_of(*pool, 20ms), acquire_failure::timed_out);
  EXPECT_EQ(pool->stats().idle, 3U);
}

// Nor does it make another one.
TEST_F(ResourceUpkeepByCallers, ACallbackThatHasNoTimeLeftMakesNothing) {
  start(0s);
  const fake_lease held = pool->acquire();
  const int before = server.creates;
  clock.advance(2s);
  test::outcome told;
  pool->async_acquire(told.receiver(), 20ms);
  EXPECT_EQ(told.failure, acquire_failure::timed_out);
  EXPECT_EQ(server.creates, before);
}

TEST_F(ResourceUpkeepByCallers, AThreadGetsWhatItHadLastNevertheless) {
  start(1h);
  fake_lease lowest = pool->acquire();
  fake_lease other = pool->acquire();
  const int last = other->id;
  lowest.reset();
  other.reset();
  ASSERT_EQ(pool->acquire()->id, last);
  clock.advance(2s);  // upkeep is due, and nothing to do
  EXPECT_EQ(pool->acquire()->id, last);
}

// Though it is what the thread had last: to ask it takes time, and the pool grows no smaller.
TEST_F(ResourceUpkeepByCallers, AThreadPrefersWhatNeedsNoQuestion) {
  start(5s);
  fake_lease lowest = pool->acquire();
  fake_lease other = pool->acquire();
  const int fresh = lowest->id;
  lowest.reset();
  other.reset();
  clock.advance(6s);
  std::jthread([&] { EXPECT_EQ(pool->acquire()->id, fresh); }).join();
  EXPECT_EQ(server.validations, 1);
  EXPECT_EQ(pool->acquire()->id, fresh);
  EXPECT_EQ(server.validations, 1);
}

}  // namespace
}  // namespace lido
