// What holds with many threads: counts, and which waiter gets what. docs/reference/tests.md
// explains the letters and numbers in test names.
#include <gtest/gtest.h>

#include <algorithm>
#include <atomic>
#include <chrono>
#include <cstdint>
#include <numeric>
#include <optional>
#include <stdexcept>
#include <thread>

#include "support/crew.hpp"
#include "support/resource_fixtures.hpp"

namespace lido {
namespace {

using namespace std::chrono_literals;
using test::eventually;
using test::fake_lease;
using test::fake_pool;

struct stub {};

/// A factory with neither `reset` nor `validate`.
struct counted_stubs {
  std::atomic<int>* alive;

  [[nodiscard]] stub create() const {
    ++*alive;
    return {};
  }
  void destroy(stub& /*ended*/, destroy_reason /*reason*/) const noexcept { --*alive; }
};

// POOL-419: return and invalidate race, and corrupt the counters. Here one thread kills while
// others release.
TEST(ResourceCounts, B1CountsSurviveKillsBesideReleases) {
  std::atomic<int> alive{0};
  resource_pool<stub> pool(counted_stubs{&alive},
                           {.max_size = 2, .maintenance = maintenance::by_tick});
  std::atomic<int> kills{0};
  std::jthread admin([&](const std::stop_token& stop) {
    while (!stop.stop_requested()) {
      for (const lease_info& lent : pool.leases()) {
        kills += pool.kill(lent.resource) ? 1 : 0;
      }
    }
  });
  test::run_crew(3, [&](unsigned /*thread*/) {
    for (int uses = 0; uses < 1000 || (kills < 50 && uses < 1'000'000); ++uses) {
      (void)pool.acquire_for(10s);
    }
  });
  admin.request_stop();
  admin.join();
  const resource_pool_stats stats = pool.stats();
  EXPECT_EQ(stats.in_use, 0U);
  EXPECT_EQ(stats.idle, static_cast<std::size_t>(alive.load()));
  EXPECT_GT(stats.destroyed_for(destroy_reason::killed), 0U);
}

/// Expects what holds in each snapshot, whatever other threads do. Each of `users` may have made a
/// resource, or left the queue, without being counted yet.
void expect_agreement(const resource_pool_stats& stats, std::size_t users) {
  const std::size_t parts =
      stats.idle + stats.in_use + stats.creating + stats.checking + stats.closing;
  EXPECT_EQ(stats.live, parts);
  EXPECT_LE(stats.live, stats.capacity);
  EXPECT_LE(stats.waiting, users);
  const std::uint64_t ended =
      std::accumulate(stats.destroyed.begin(), stats.destroyed.end(), stats.detached);
  EXPECT_LE(stats.created, ended + stats.live - stats.creating);
  EXPECT_GE(stats.created + users, ended + stats.live - stats.creating);
  EXPECT_LE(stats.exhausted, users + stats.handed_over + stats.timed_out + stats.cancelled +
                                 stats.refused + stats.waiting);
}

// POOL-419 again, seen by a thread that reads the numbers at the same time.
TEST(ResourceCounts, B1NumbersAgreeBesideUse) {
  constexpr unsigned users = 3;
  test::fake_server server;
  fake_pool pool(test::fake_factory{&server},
                 {.max_size = 2, .max_uses = 50, .maintenance = maintenance::by_tick});
  std::atomic<std::uint64_t> begun{0};
  std::atomic<std::uint64_t> done{0};
  std::atomic<bool> enough{false};
  std::jthread reader([&] {
    resource_pool_stats last;
    int moved = 0;
    const auto begin = std::chrono::steady_clock::now();
    while (moved < 20'000 && !HasFailure() &&
           std::chrono::steady_clock::now() < begin + (moved > 10 ? 1s : 60s)) {
      const std::uint64_t least = done;
      const resource_pool_stats stats = pool.stats();
      EXPECT_GE(stats.acquires, std::max(least, last.acquires));
      EXPECT_LE(stats.acquires, begun);
      EXPECT_GE(stats.hits, last.hits);
      EXPECT_LE(stats.hits, stats.acquires);
      EXPECT_GE(stats.high_water, std::max(last.high_water, stats.in_use));
      expect_agreement(stats, users);
      moved += stats.in_use != 0 && stats.acquires != last.acquires ? 1 : 0;  // during uses
      last = stats;
    }
    EXPECT_GT(moved, 10);
    enough = true;
  });
  test::run_crew(users, [&](unsigned thread) {
    for (unsigned i = 0; !enough; ++i) {
      ++begun;
      const fake_lease lease = pool.acquire_for(20s);
      ++done;
      if ((i + thread) % 10 == 0) {
        EXPECT_TRUE(pool.kill(lease.handle()));
      }
    }
  });
  reader.join();
  EXPECT_EQ(pool.stats().acquires, done);
  expect_agreement(pool.stats(), 0);
}

// deadpool-rs/deadpool #380: shrink, then grow, underflows.
TEST(ResourceCounts, B3ResizesBesideUse) {
  test::fake_server server;
  fake_pool pool(test::fake_factory{&server}, {.max_size = 4});
  test::run_crew(3, [&](unsigned thread) {
    for (int i = 0; i < 200; ++i) {
      if (thread == 0) {
        pool.resize(static_cast<std::size_t>(i) % 7);
      } else {
        try {
          (void)pool.acquire_for(1ms);
        } catch (const acquire_error&) {
        }
      }
    }
  });
  pool.resize(3);
  EXPECT_TRUE(eventually([&] { return pool.stats().live <= 3 && pool.stats().in_use == 0; }));
  EXPECT_LE(server.most_alive, 6);
  EXPECT_TRUE(pool.acquire_for(10s));
}

// HikariCP #148 (C2), #1974, sharded-slab #62 (C4): more threads come and go than the pool has
// slots.
TEST(ResourceThreads, C2C4LivingThreadsKeepNothingOfADestroyedPool) {
  test::fake_server server;
  std::optional<fake_pool> pool(std::in_place, test::fake_factory{&server},
                                resource_pool_options{.max_size = 4});
  const test::parked_crew crew(140, [&](unsigned) { EXPECT_TRUE(pool->acquire_for(20s)); });
  EXPECT_EQ(pool->stats().in_use, 0U);
  EXPECT_LE(server.most_alive, 4);
  pool.reset();
  EXPECT_EQ(server.alive, 0) << "with all threads alive";
}

// HikariCP #442 (A14): the last holder of a resource is not mistaken for its present one.
TEST(ResourceHolders, A14NoThreadHoldsWhatItReleased) {
  test::fake_server server;
  fake_pool pool(
      test::fake_factory{&server},
      {.max_size = 1, .validate_if_idle_longer_than = 0s, .maintenance = maintenance::by_tick});
  pool.acquire().reset();
  const int before = server.validations;
  server.slow_validate = true;
  std::jthread other([&] { EXPECT_TRUE(pool.acquire_for(10s)); });
  ASSERT_TRUE(eventually([&] { return server.validations > before; }));
  std::jthread later([&] {
    EXPECT_TRUE(eventually([&] { return pool.stats().waiting == 1; }));
    server.slow_validate = false;
  });
  EXPECT_TRUE(pool.acquire_for(10s));
}

// puddle initResourceValue (A8): the timeout of the caller ends the connect.
TEST(ResourceCreates, A8ACreateGoesOnWithoutItsWaiter) {
  test::fake_server server;
  server.slow = true;
  fake_pool pool(test::fake_factory{&server}, {.max_size = 1});
  EXPECT_THROW((void)pool.acquire_for(10ms), acquire_error);
  server.slow = false;
  EXPECT_TRUE(eventually([&] { return pool.stats().idle == 1; }));
  EXPECT_EQ(server.creates, 1);
}

// apache/commons-pool PR #346 (A15): without ticks a sleeping waiter creates the resource itself
// if the create of another fails.
TEST(ResourceCreates, A15AWaiterCreatesAfterTheFailureOfAnother) {
  test::fake_server server;
  server.slow = true;
  server.down = true;
  fake_pool pool(test::fake_factory{&server},
                 {.max_size = 1, .retry_first = 1ms, .maintenance = maintenance::by_tick});
  std::jthread trying([&] { EXPECT_FALSE(pool.try_acquire()); });
  ASSERT_TRUE(eventually([&] { return server.creating == 1; }));
  std::jthread waiting([&] { EXPECT_TRUE(pool.acquire_for(10s)); });
  ASSERT_TRUE(eventually([&] { return pool.stats().waiting == 1; }));
  std::this_thread::sleep_for(5ms);  // so that the waiter sleeps
  server.slow = false;
  ASSERT_TRUE(eventually([&] { return pool.stats().create_failures > 0; }));
  server.down = false;
}

TEST(ResourceCreates, ATryWhoseCreateFailsTakesWhatHasBecomeIdle) {
  resource_lease<int> held;
  const auto create = [&held] {
    if (held) {
      held.reset();
      throw std::runtime_error("refused");
    }
    return 1;
  };
  resource_pool<int> pool(create, {.max_size = 2, .maintenance = maintenance::by_tick});
  held = pool.try_acquire();
  ASSERT_TRUE(held);
  EXPECT_TRUE(pool.try_acquire());
  EXPECT_FALSE(held);
}

}  // namespace
}  // namespace lido
