#include <gtest/gtest.h>

#include <algorithm>
#include <array>
#include <barrier>
#include <cstddef>
#include <mutex>
#include <thread>
#include <vector>

#include "lido/object_pool.hpp"
#include "support/crew.hpp"
#include "support/drain.hpp"
#include "support/pool_kinds.hpp"

namespace lido {
namespace {

constexpr std::array<std::size_t, 14> capacities{1,  2,  3,  7,  8,   9,    31,
                                                 32, 33, 63, 64, 100, 1000, 5000};

/// N slots means that N can be out at once, wherever the free ones are.
class ObjectPoolCapacity : public ::testing::Test,
                           public ::testing::WithParamInterface<test::pool_kind> {
 protected:
  using pool_type = test::kind_pool<int>;
};
INSTANTIATE_TEST_SUITE_P(Kinds, ObjectPoolCapacity, test::pool_kinds, test::pool_kind_name);

TEST_P(ObjectPoolCapacity, NewPoolHandsOutEverySlot) {
  for (const std::size_t capacity : capacities) {
    pool_type pool(capacity);
    const auto all = test::drain(pool);
    EXPECT_EQ(test::count_distinct(all), capacity);
    EXPECT_EQ(pool.stats().in_use, capacity);
    test::release_all(pool, all);
  }
}

TEST_P(ObjectPoolCapacity, PoolInUseHandsOutEverySlotAgainAndAgain) {
  for (const std::size_t capacity : capacities) {
    pool_type pool(capacity);
    for (int round = 0; round < 5; ++round) {
      EXPECT_EQ(test::count_acquirable(pool), capacity) << "round " << round;
    }
  }
}

TEST_P(ObjectPoolCapacity, SlotsInTheCacheOfAParkedThreadAreFound) {
  for (const std::size_t capacity : capacities) {
    pool_type pool(capacity);
    const test::parked_crew crew(1,
                                 [&](unsigned /*index*/) { test::fill_own_cache(pool, capacity); });
    EXPECT_EQ(test::count_acquirable(pool), capacity);
  }
}

TEST_P(ObjectPoolCapacity, SlotsInTheCachesOfManyParkedThreadsAreFound) {
  for (const std::size_t capacity : capacities) {
    pool_type pool(capacity);
    const test::parked_crew crew(32, [&](unsigned /*index*/) { test::fill_own_cache(pool, 20); });
    const auto all = test::drain(pool);
    EXPECT_EQ(all.size(), capacity);
    EXPECT_EQ(test::count_distinct(all), capacity);
    test::release_all(pool, all);
  }
}

TEST_P(ObjectPoolCapacity, ThirtyTwoParkedThreadsWithFullCachesStrandNothing) {
  constexpr std::size_t capacity = 8192;  // so that no thread has to rob the others
  constexpr unsigned threads = 32;
  pool_type pool(capacity);
  std::mutex turn;  // running at once, they would rob each other of what they are to hold
  const test::parked_crew crew(threads, [&](unsigned /*index*/) {
    const std::lock_guard mine(turn);
    // The limit is found by a few bursts; then one push above it would be a flush.
    for (int burst = 0; burst < 8; ++burst) {
      test::fill_own_cache(pool, 100);
    }
    const auto before = pool.stats().flushes;
    std::vector<int*> held;
    while (held.size() < 100 && pool.stats().flushes == before) {
      held.push_back(pool.try_acquire_ptr());
    }
    test::release_all(pool, held);
  });
  const slot_pool_stats stats = pool.stats();
  if (stats.caches != cache_kind::none) {
    ASSERT_EQ(stats.open_caches, threads);
    ASSERT_GE(stats.cached, capacity / 8);  // they may hold half of all, each its share of that
  }
  const auto all = test::drain(pool);
  EXPECT_EQ(all.size(), capacity);
  EXPECT_EQ(test::count_distinct(all), capacity);
  test::release_all(pool, all);
}

TEST_P(ObjectPoolCapacity, SlotsInTheCachesOfEndedThreadsAreFound) {
  for (const std::size_t capacity : capacities) {
    pool_type pool(capacity);
    test::run_crew(8, [&](unsigned /*index*/) { test::fill_own_cache(pool, 20); });
    EXPECT_EQ(pool.stats().cached, 0U);
    EXPECT_EQ(test::count_acquirable(pool), capacity);
  }
}

TEST_P(ObjectPoolCapacity, BulkFindsSlotsInTheCachesOfParkedThreads) {
  pool_type pool(1000);
  const test::parked_crew crew(16, [&](unsigned /*index*/) { test::fill_own_cache(pool, 20); });
  std::vector<int*> out(1000);
  EXPECT_EQ(pool.try_acquire_n(out), 1000U);
  EXPECT_EQ(test::count_distinct(out), 1000U);
  pool.release_n(out);
}

TEST_P(ObjectPoolCapacity, StatsAddUpWhileThreadsAreParked) {
  pool_type pool(1000);
  const auto held = pool.acquire();
  const test::parked_crew crew(16, [&](unsigned /*index*/) { test::fill_own_cache(pool, 30); });
  const slot_pool_stats stats = pool.stats();
  EXPECT_EQ(stats.in_use, 1U);
  EXPECT_EQ(stats.in_use + stats.idle, 1000U);
}

TEST_P(ObjectPoolCapacity, ThreadsRobbedWhileParkedGoOnAfterwards) {
  constexpr unsigned threads = 8;
  pool_type pool(1000);
  std::barrier phase(threads + 1);
  std::array<std::vector<int*>, threads> held;
  std::vector<int*> all;
  std::jthread robber([&] {
    phase.arrive_and_wait();
    all = test::drain(pool);
    test::release_all(pool, all);
    phase.arrive_and_wait();
  });
  test::run_crew(threads, [&](unsigned i) {
    test::fill_own_cache(pool, 50);
    phase.arrive_and_wait();
    phase.arrive_and_wait();
    for (int count = 0; count < 125; ++count) {
      held.at(i).push_back(pool.try_acquire_ptr());
    }
  });
  EXPECT_EQ(test::count_distinct(all), 1000U);
  std::vector<int*> together;
  for (const auto& some : held) {
    together.insert(together.end(), some.begin(), some.end());
  }
  EXPECT_EQ(test::count_distinct(together), 1000U);
  EXPECT_EQ(std::count(together.begin(), together.end(), nullptr), 0);
  test::release_all(pool, together);
}

}  // namespace
}  // namespace lido
