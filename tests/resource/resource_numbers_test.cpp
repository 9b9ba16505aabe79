// Each way to acquire is counted once, and the sums of threads are right.
#include <gtest/gtest.h>

#include <atomic>
#include <chrono>
#include <cstdint>
#include <functional>
#include <stop_token>
#include <thread>
#include <vector>

#include "lido/resource_pool.hpp"
#include "support/crew.hpp"
#include "support/customers.hpp"
#include "support/fake_server.hpp"

namespace lido {
namespace {

using namespace std::chrono_literals;
using test::connection;
using test::fake_lease;

using pool_type = resource_pool<connection>;

/// Awaits a resource. Not inline, as `await_resource`.
test::detached await_one(pool_type& pool) {
  const fake_lease lease = co_await pool.co_acquire(20s);
  EXPECT_TRUE(lease);
}

TEST(ResourceNumbers, CountEachWayToAcquireOnce) {
  test::fake_server server;
  pool_type pool(
      test::fake_factory{&server},
      {.max_size = 1, .validate_if_idle_longer_than = 1h, .maintenance = maintenance::by_tick});
  const auto soon = std::chrono::steady_clock::now() + 20s;
  const std::function<void()> ways[] = {
      [&] { (void)pool.acquire(); },
      [&] { (void)pool.acquire(std::stop_token()); },
      [&] { (void)pool.acquire_for(20s); },
      [&] { (void)pool.acquire_until(soon); },
      [&] { EXPECT_TRUE(pool.try_acquire()); },
      [&] { EXPECT_TRUE(pool.try_acquire_for(20s)); },
      [&] { EXPECT_TRUE(pool.try_acquire_until(soon)); },
      [&] { (void)pool.acquire_urgent(20s); },
      [&] { EXPECT_TRUE(pool.try_acquire_urgent(20s)); },
      [&] { pool.with([](connection& /*used*/) {}); },
      [&] { pool.async_acquire([](const auto& got) { EXPECT_TRUE(got); }); },
      [&] {  // not what its thread had last
        test::run_in_new_thread(
            [&] { pool.async_acquire([](const auto& got) { EXPECT_TRUE(got); }); });
      },
      [&] { await_one(pool); }};
  std::uint64_t count = 0;
  for (const auto& acquire : ways) {
    acquire();
    pool.tick();  // resets what a callback has released
    ++count;
    EXPECT_EQ(pool.stats().acquires, count);
    EXPECT_EQ(pool.stats().hits, count - 1) << "all but the first";
    EXPECT_EQ(pool.stats().idle, 1U) << count;
  }
  EXPECT_EQ(pool.stats().exhausted, 0U) << "the first was created";
}

// With threads of the pool and of users: gauges while something is in progress, and sums.
TEST(ResourceNumbers, WithThreadsAddUpAtRest) {
  test::fake_server server;
  server.slow = true;
  pool_type pool(test::fake_factory{&server}, {.max_size = 4,
                                               .min_idle = 2,
                                               .acquire_timeout = 30s,
                                               .validate_if_idle_longer_than = 0ns,
                                               .max_creating = 2,
                                               .time_uses = true,
                                               .detect_hold_and_wait = false});
  EXPECT_TRUE(test::eventually([&] { return server.creating == 2; }));
  EXPECT_EQ(pool.stats().creating, 2U);
  EXPECT_EQ(pool.stats().live, 2U);
  server.slow = false;
  ASSERT_TRUE(pool.wait_until_idle(2, 60s));
  server.slow_validate = true;
  std::atomic<std::uint64_t> got{0};
  std::atomic<std::uint64_t> late{0};
  const auto count = [&](acquire_result<connection> result) { ++(result ? got : late); };
  EXPECT_TRUE(test::eventually([&] {  // a resource is fresh for a moment
    pool.async_acquire(count, 1h);
    return server.validations > 0;
  }));
  EXPECT_GE(pool.stats().checking, 1U);
  EXPECT_GE(pool.stats().waiting, 1U);
  server.slow_validate = false;
  {
    std::vector<std::jthread> users;
    for (unsigned user = 0; user < 6; ++user) {
      users.emplace_back([&, user] {
        for (unsigned i = user; i < 600; ++i) {
          if (i % 3 == 0) {
            pool.async_acquire(count, 1h);
          } else if (i % 3 == 1) {
            count(pool.try_acquire_for(1us * (i % 50)));
          } else {
            pool.with([&got](connection& /*used*/) { ++got; });
          }
        }
      });
    }
  }
  EXPECT_TRUE(test::eventually([&] {
    const resource_pool_stats now = pool.stats();
    return now.waiting + now.in_use + now.creating + now.checking + now.closing == 0;
  }));
  const resource_pool_stats stats = pool.stats();
  EXPECT_EQ(stats.acquires, got);
  EXPECT_EQ(stats.hits + stats.handed_over, got);
  EXPECT_EQ(stats.timed_out, late);
  EXPECT_LE(stats.exhausted, stats.handed_over + stats.timed_out);
  EXPECT_EQ(stats.live, stats.idle);
  EXPECT_EQ(stats.live, static_cast<unsigned>(server.alive));
  EXPECT_EQ(stats.created, static_cast<unsigned>(server.creates));
  const resource_pool_times times = pool.times();
  EXPECT_EQ(times.uses.count(), got);
  EXPECT_LE(times.waits.count(), stats.handed_over);
  EXPECT_EQ(times.waits.sum(), stats.waited_for);
}

}  // namespace
}  // namespace lido
