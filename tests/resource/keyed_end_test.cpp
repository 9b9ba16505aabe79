// Keyed pools: their end beside those who are still with them, and what their upkeep leaves to
// others.
#include <gtest/gtest.h>

#include <atomic>
#include <chrono>
#include <memory>
#include <stdexcept>
#include <stop_token>
#include <string>
#include <thread>
#include <vector>

#include "lido/keyed_resource_pool.hpp"
#include "support/fake_server.hpp"

namespace lido {
namespace {

using namespace std::chrono_literals;
using test::eventually;
using keyed_pool = keyed_resource_pool<std::string, int>;

/// How a wait ends in another thread.
acquire_failure failure_of(keyed_pool& pool, const char* key) {
  try {
    (void)pool.acquire_for(key, 20s);
  } catch (const acquire_error& error) {
    return error.cause();
  }
  ADD_FAILURE() << "nothing was there to be had";
  return acquire_failure::timed_out;
}

class KeyedEnd : public ::testing::TestWithParam<maintenance> {};

// boostorg/mysql #370: those who wait get an error, and need nothing of the pool for that.
TEST_P(KeyedEnd, G2WaitersGetAnError) {
  for (int round = 0; round < 20; ++round) {
    auto pool = std::make_unique<keyed_pool>(
        [](const std::string&) -> int { throw std::runtime_error("down"); },
        keyed_resource_pool_options{
            .max_total = 4, .each_key = {.max_size = 2, .retry_first = 5s, .upkeep = GetParam()}});
    std::vector<std::jthread> waiters;
    for (const char* key : {"a", "b", "a", "b"}) {
      waiters.emplace_back(
          [&all = *pool, key] { EXPECT_EQ(failure_of(all, key), acquire_failure::closed); });
    }
    ASSERT_TRUE(eventually([&] { return pool->stats().waiters == 4; }));
    std::this_thread::sleep_for(1ms);
    pool.reset();
  }
}

template <class Duration>
void close_after(keyed_pool& pool) {
  auto held = pool.acquire("a");
  held.extend(Duration::max());
  EXPECT_FALSE(pool.close(Duration(-1)).complete());
  EXPECT_FALSE(pool.close(Duration::min()).complete());
  std::jthread late([&] {
    std::this_thread::sleep_for(20ms);
    held.reset();
  });
  EXPECT_TRUE(pool.close(Duration::max()).complete());
}

// As nanoseconds the longest times would be over.
TEST_P(KeyedEnd, CloseWaitsForTheLongestAndNotForLessThanNothing) {
  const keyed_resource_pool_options options{.each_key = {.upkeep = GetParam()}};
  keyed_pool first([](const std::string&) { return 1; }, options);
  close_after<std::chrono::seconds>(first);
  keyed_pool second([](const std::string&) { return 1; }, options);
  close_after<std::chrono::hours>(second);
}

TEST(KeyedUpkeep, ATickMakesNothing) {
  test::manual_clock clock;
  std::atomic<int> creates{0};
  std::atomic<int> by_ticks{0};
  const std::thread::id ticker = std::this_thread::get_id();
  keyed_pool pool(
      [&](const std::string&) {
        by_ticks += std::this_thread::get_id() == ticker ? 1 : 0;
        return ++creates == 1 ? throw std::runtime_error("down") : 1;
      },
      {.max_total = 1,
       .each_key = {.max_size = 1,
                    .retry_first = 1h,
                    .retry_longest = 1h,
                    .upkeep = maintenance::by_tick,
                    .clock = &clock}});
  std::jthread waiter([&] { EXPECT_TRUE(pool.acquire_for("a", 20s)); });
  ASSERT_TRUE(eventually(
      [&] { return pool.stats("a").value_or(resource_pool_stats{}).create_failures == 1; }));
  clock.advance(2h);
  pool.tick();
  waiter.join();
  EXPECT_EQ(by_ticks, 0) << "it would wait for one host, and all others for it";
  EXPECT_EQ(creates, 2);
}

// As with a resource_pool: the search ends with the answer that it waits for.
TEST(KeyedUpkeep, AStopEndsTheSearchForOneThatAnswers) {
  struct silent : test::answers_no_and_stops {
    [[nodiscard]] int create(const std::string& /*key*/) const { return 1; }
  };
  std::atomic<int> asked{0};
  std::stop_source stop;
  keyed_pool pool(silent{{&asked, &stop}}, {.max_total = 2,
                                            .each_key = {.max_size = 2,
                                                         .validate_if_idle_longer_than = 0ns,
                                                         .upkeep = maintenance::by_tick}});
  {
    const auto first = pool.acquire("a");
    const auto second = pool.acquire("a");
  }
  EXPECT_THROW((void)pool.acquire_for("a", 20s, stop.get_token()), acquire_error);
  EXPECT_EQ(asked, 1);
}

INSTANTIATE_TEST_SUITE_P(Modes, KeyedEnd,
                         ::testing::Values(maintenance::background, maintenance::by_tick));

}  // namespace
}  // namespace lido
