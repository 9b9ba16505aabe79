// Each number of slot_pool_stats: exact at rest, and within its range beside use.
#include <gtest/gtest.h>

#include <algorithm>
#include <array>
#include <atomic>
#include <chrono>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <thread>
#include <vector>

#include "lido/object_pool.hpp"
#include "support/crew.hpp"
#include "support/ending_thread.hpp"

namespace lido {
namespace {

using namespace std::chrono_literals;

struct counted_ints : pool_traits<int> {
  static constexpr bool counts = true;
};

class PoolStats : public ::testing::TestWithParam<cache_kind> {};

INSTANTIATE_TEST_SUITE_P(Caches, PoolStats,
                         ::testing::Values(cache_kind::revocable, cache_kind::locked,
                                           cache_kind::none),
                         [](const auto& of) {
                           return of.param == cache_kind::revocable ? "Revocable"
                                  : of.param == cache_kind::locked  ? "Locked"
                                                                    : "None";
                         });

// Some threads hold objects throughout, and acquire and release others, with refills and flushes.
TEST_P(PoolStats, LieWithinTheirRangesBesideUse) {
  constexpr unsigned threads = 3;
  constexpr std::size_t held = 5;
  constexpr std::size_t most_more = 40;
  constexpr std::size_t moved = 16;  // by one thread at once; in transit they count as in use
  object_pool<int> pool({.capacity = 4000, .max_cached = moved, .caches = GetParam()});
  std::atomic<unsigned> ready{0};
  std::atomic<bool> done{false};
  test::run_crew(threads + 1, [&](unsigned thread) {
    if (thread < threads) {
      std::vector<lease<int>> kept;
      for (std::size_t i = 0; i < held; ++i) {
        kept.push_back(pool.acquire());
      }
      ++ready;
      while (!done) {
        std::vector<lease<int>> more;
        for (std::size_t i = 0; i < most_more; ++i) {
          more.push_back(pool.acquire());
        }
      }
      return;
    }
    while (ready != threads) {
    }
    slot_pool_stats before = pool.stats();
    const auto end = std::chrono::steady_clock::now() + 300ms;
    for (int look = 0; std::chrono::steady_clock::now() < end && !HasFailure(); ++look) {
      const slot_pool_stats now = pool.stats();
      EXPECT_GE(now.in_use, threads * held) << look;
      EXPECT_LE(now.in_use, threads * (held + most_more + moved)) << look;
      EXPECT_EQ(now.in_use + now.idle, now.capacity);
      EXPECT_LE(now.cached, now.idle);
      EXPECT_GE(now.high_water, before.high_water);
      EXPECT_GE(now.high_water, now.in_use);
      EXPECT_GE(now.slow_acquires, before.slow_acquires);
      EXPECT_GE(now.refills, before.refills);
      EXPECT_GE(now.flushes, before.flushes);
      before = now;
    }
    done = true;
  });
  const slot_pool_stats after = pool.stats();
  EXPECT_EQ(after.in_use, 0U);
  EXPECT_GE(after.high_water, threads * held);
}

// Each object that one thread acquires and another releases during the call may hide one in use.
TEST_P(PoolStats, MissAtMostWhatChangedHands) {
  constexpr std::size_t held = 50;
  object_pool<int> pool({.capacity = 200, .caches = GetParam()});
  std::vector<lease<int>> kept;
  for (std::size_t i = 0; i < held; ++i) {
    kept.push_back(pool.acquire());
  }
  std::atomic<int*> given{nullptr};
  std::atomic<std::size_t> moves{0};
  std::atomic<bool> done{false};
  test::run_crew(3, [&](unsigned thread) {
    if (thread == 0) {
      while (!done) {
        int* const mine = pool.try_acquire_ptr();
        for (int* free = nullptr; !given.compare_exchange_weak(free, mine); free = nullptr) {
          if (done) {
            pool.release(mine);
            return;
          }
        }
        ++moves;
      }
      return;
    }
    if (thread == 1) {
      while (!done) {
        pool.release(given.exchange(nullptr));
      }
      return;
    }
    const auto end = std::chrono::steady_clock::now() + 300ms;
    while (std::chrono::steady_clock::now() < end && !HasFailure()) {
      const std::size_t before = moves;
      const std::size_t in_use = pool.stats().in_use;
      EXPECT_GE(in_use + (moves - before) + 3, held);
      EXPECT_LE(in_use, pool.capacity());
    }
    done = true;
  });
  pool.release(given);
}

// If all slots were back, a number below 0 would pass as correct. Here some stay in use.
TEST_P(PoolStats, AreExactWhileSlotsAreHeldThatHaveChangedThreads) {
  object_pool<int> pool({.capacity = 300, .caches = GetParam()});
  std::vector<lease<int>> held;
  std::vector<std::unique_ptr<test::parked_crew>> threads;  // their caches stay open
  for (std::size_t turn = 1; turn <= 6; ++turn) {
    threads.push_back(std::make_unique<test::parked_crew>(1, [&](unsigned /*thread*/) {
      for (int i = 0; i < 30; ++i) {
        held.push_back(pool.acquire());
      }
      held.erase(held.begin(), held.begin() + 20);  // acquired by the previous thread
    }));
    EXPECT_EQ(pool.stats().in_use, 10 * turn);
    EXPECT_EQ(pool.stats().idle, 300 - 10 * turn);
  }
}

// Segments are added during the test. Each turn acquires three times 501 objects and releases 501.
TEST_P(PoolStats, AreExactWhileSlotsAreHeldThatWereAcquiredManyAtOnce) {
  constexpr int many = 500;
  object_pool<int> pool(
      {.capacity = 0, .max_capacity = 100'000, .when_full = when_full::grow, .caches = GetParam()});
  std::vector<int*> held;
  std::vector<std::unique_ptr<test::parked_crew>> threads;  // their caches stay open
  for (std::size_t turn = 1; turn <= 6; ++turn) {
    threads.push_back(std::make_unique<test::parked_crew>(1, [&](unsigned /*thread*/) {
      std::array<int*, many> some{};
      for (int i = 0; i < 3; ++i) {
        ASSERT_EQ(pool.try_acquire_n(some), some.size());
        held.insert(held.end(), some.begin(), some.end());
        held.push_back(pool.try_acquire_ptr());
      }
      std::copy_n(held.begin(), many, some.begin());
      held.erase(held.begin(), held.begin() + many);  // acquired by the previous thread
      pool.release_n(some);
      pool.release(held.front());
      held.erase(held.begin());
    }));
    EXPECT_EQ(pool.stats().in_use, held.size());
  }
  pool.release_n(held);
}

TEST_P(PoolStats, AreExactWhileSlotsAreHeldThatWereHandedToWaiters) {
  constexpr std::size_t slots = 4;
  object_pool<int> pool({.capacity = slots, .when_full = when_full::wait, .caches = GetParam()});
  std::vector<lease<int>> held;
  for (std::size_t i = 0; i < slots; ++i) {
    held.push_back(pool.acquire());
  }
  for (std::size_t turn = 1; turn <= 3; ++turn) {
    lease<int> received;
    std::jthread waiter([&] { received = pool.acquire(); });
    while (pool.stats().waiting == 0) {
      std::this_thread::yield();
    }
    held.pop_back();
    waiter.join();
    EXPECT_EQ(pool.stats().handed_over, turn);
    EXPECT_EQ(pool.stats().in_use, slots);
    received.reset();
    EXPECT_EQ(pool.stats().in_use, slots - 1);
    held.push_back(pool.acquire());
    EXPECT_EQ(pool.stats().in_use, slots);
  }
}

TEST(CountedHits, AndSlowAcquiresAreAllAcquires) {
  object_pool<int, counted_ints> pool(1000);
  if (pool.stats().caches != cache_kind::revocable) {
    GTEST_SKIP() << "hits are those of revocable caches, which need membarrier(2)";
  }
  for (int i = 0; i < 500; ++i) {
    std::array<int*, 64> some{};  // so many that they are taken in a batch
    ASSERT_EQ(pool.try_acquire_n(some), some.size());
    pool.release_n(some);
  }
  for (int i = 0; i < 500; ++i) {
    (void)pool.acquire();
  }
  const slot_pool_stats stats = pool.stats();
  EXPECT_EQ(stats.acquires, 500U * 65);
  EXPECT_EQ(stats.acquires, stats.slow_acquires + stats.hits.value_or(0));
  EXPECT_GT(stats.hits, 400U);
  EXPECT_LE(stats.hits, 500U);
}

TEST(CountedHits, AreThoseOfFewObjectsAtOnceToo) {
  object_pool<int, counted_ints> pool(1000);
  if (pool.stats().caches != cache_kind::revocable) {
    GTEST_SKIP() << "hits are those of revocable caches, which need membarrier(2)";
  }
  for (int i = 0; i < 500; ++i) {
    std::array<int*, 3> some{};
    ASSERT_TRUE(pool.try_acquire_all(some));
    pool.release_n(some);
  }
  const slot_pool_stats stats = pool.stats();
  EXPECT_EQ(stats.acquires, 1500U);
  EXPECT_GT(stats.hits, 1400U);
}

TEST(CountedHits, AreUnknownWithoutTheTrait) {
  object_pool<int> pool(1000);
  if (pool.stats().caches != cache_kind::revocable) {
    GTEST_SKIP() << "hits are those of revocable caches, which need membarrier(2)";
  }
  for (int i = 0; i < 500; ++i) {
    (void)pool.acquire();
  }
  EXPECT_FALSE(pool.stats().hits);
  EXPECT_FALSE(pool.stats().acquires);
  EXPECT_LT(pool.stats().slow_acquires, 200U);
  EXPECT_GE(pool.stats().slow_acquires, 1U);
}

TEST(CountedHits, AreNoneWithoutRevocableCaches) {
  for (const cache_kind caches : {cache_kind::locked, cache_kind::none}) {
    object_pool<int> pool({.capacity = 1000, .caches = caches});
    for (int i = 0; i < 500; ++i) {
      (void)pool.acquire();
    }
    EXPECT_EQ(pool.stats().hits, 0U);
    EXPECT_EQ(pool.stats().acquires, 500U);
    EXPECT_EQ(pool.stats().slow_acquires, 500U);
  }
}

std::vector<lease<int>> acquire_many(object_pool<int>& pool, std::size_t count) {
  std::vector<lease<int>> all;
  all.reserve(count);
  while (all.size() < count) {
    all.push_back(pool.acquire());
  }
  return all;
}

TEST_P(PoolStats, TellTripsForSlotsFromTripsWithThem) {
  const bool has_caches = GetParam() != cache_kind::none;
  object_pool<int> pool({.capacity = 4000, .caches = GetParam()});
  std::vector<lease<int>> all = acquire_many(pool, 4000);
  const slot_pool_stats taken = pool.stats();
  EXPECT_EQ(taken.refills != 0, has_caches);
  EXPECT_EQ(taken.flushes, 0U);
  all.clear();
  const slot_pool_stats given = pool.stats();
  EXPECT_EQ(given.refills, taken.refills);
  EXPECT_EQ(given.flushes != 0, has_caches);
}

TEST(PoolNumbers, OfAFullPool) {
  object_pool<int> pool(3);
  EXPECT_EQ(pool.stats().high_water, 0U);
  {
    const auto a = pool.acquire();
    const auto b = pool.acquire();
    EXPECT_EQ(pool.stats().high_water, 2U);
    const auto c = pool.acquire();
    EXPECT_FALSE(pool.try_acquire());
    EXPECT_FALSE(pool.acquire_for(1ms));
  }
  const slot_pool_stats stats = pool.stats();
  EXPECT_EQ(stats.high_water, 3U) << "an acquire found nothing, so all were in use";
  EXPECT_EQ(stats.exhausted, 2U);
  EXPECT_EQ(stats.refused, 2U);
  EXPECT_EQ(stats.acquires, 5U);
}

class HighWater : public ::testing::TestWithParam<cache_kind> {};

// No thread reads the statistics during the burst.
TEST_P(HighWater, RemembersABurst) {
  for (const std::size_t capacity : {20U, 1000U, 100'000U}) {
    object_pool<int> pool({.capacity = capacity, .caches = GetParam()});
    const std::size_t burst = capacity / 10 * 9;
    { const auto all = acquire_many(pool, burst); }
    EXPECT_GE(pool.stats().high_water, burst - burst / 18) << capacity;
    EXPECT_EQ(pool.stats().in_use, 0U);
  }
}

TEST_P(HighWater, RemembersABurstOfManyAtOnce) {
  object_pool<int> pool({.capacity = 1000, .caches = GetParam()});
  std::vector<int*> all(900);
  ASSERT_EQ(pool.try_acquire_n(all), all.size());
  pool.release_n(all);
  EXPECT_GE(pool.stats().high_water, 850U);
  EXPECT_EQ(pool.stats().in_use, 0U);
}

// Neither of them had so many, and the second had no more than the first.
TEST_P(HighWater, IsOfAllThreads) {
  object_pool<int> pool({.capacity = 2000, .caches = GetParam()});
  const auto mine = acquire_many(pool, 900);
  test::run_in_new_thread([&] { const auto all = acquire_many(pool, 900); });
  EXPECT_GE(pool.stats().high_water, 1700U);
}

// Such a thread has no cache, but its objects count together with those of others.
TEST_P(HighWater, IsAlsoOfThreadsWithoutANumber) {
  object_pool<int> pool({.capacity = 1000, .caches = GetParam()});
  const auto mine = acquire_many(pool, 500);
  test::run_in_ending_thread([&] { const auto all = acquire_many(pool, 400); });
  EXPECT_GE(pool.stats().high_water, 850U);
  EXPECT_LE(pool.stats().high_water, 900U + pool.stats().cached);
}

TEST_P(HighWater, IsTheCapacityOnceThePoolWasExhausted) {
  for (const std::size_t capacity : {20U, 1000U}) {
    object_pool<int> pool({.capacity = capacity, .caches = GetParam()});
    {
      const auto all = acquire_many(pool, capacity);
      EXPECT_FALSE(pool.try_acquire());
    }
    { const auto all = acquire_many(pool, capacity); }
    EXPECT_EQ(pool.stats().high_water, capacity);
  }
}

TEST_P(HighWater, IsNotMovedByUsesOneAfterAnother) {
  object_pool<int> pool({.capacity = 1000, .caches = GetParam()});
  for (int i = 0; i < 10'000; ++i) {
    const auto one = pool.acquire(i);
  }
  EXPECT_LE(pool.stats().high_water, 1U);
}

// Otherwise the objects that each thread has released for another would add up.
TEST_P(HighWater, IsNotMovedByHandOversBetweenThreads) {
  constexpr std::size_t most = 40;
  object_pool<int> pool({.capacity = 1000, .caches = GetParam()});
  std::vector<std::unique_ptr<test::parked_crew>> threads;
  for (int turn = 0; turn < 12; ++turn) {
    std::vector<lease<int>> some;
    std::vector<int*> more(most / 2);
    threads.push_back(std::make_unique<test::parked_crew>(1, [&](unsigned /*thread*/) {
      some = acquire_many(pool, most / 2);
      ASSERT_EQ(pool.try_acquire_n(more), more.size());
    }));
    some.clear();
    pool.release_n(more);
  }
  EXPECT_LE(pool.stats().high_water, most);
  EXPECT_GE(pool.stats().high_water, most / 2);
}

INSTANTIATE_TEST_SUITE_P(PoolNumbers, HighWater,
                         ::testing::Values(cache_kind::revocable, cache_kind::locked,
                                           cache_kind::none));

TEST(PoolNumbers, HighWaterOfAPoolThatGrows) {
  object_pool<int> pool({.capacity = 0, .max_capacity = 200'000, .when_full = when_full::grow});
  { const auto all = acquire_many(pool, 100'000); }
  pool.shrink_to(0);
  EXPECT_GE(pool.stats().high_water, 80'000U);
}

TEST(PoolNumbers, OfAPoolThatWaits) {
  object_pool<int> pool({.capacity = 1, .when_full = when_full::wait});
  lease<int> mine = pool.acquire();
  EXPECT_FALSE(pool.try_acquire());
  EXPECT_EQ(pool.stats().refused, 0U) << "it did not wait";
  EXPECT_FALSE(pool.acquire_for(1ms));
  EXPECT_EQ(pool.stats().refused, 1U);
  EXPECT_EQ(pool.stats().exhausted, 2U);
}

// Prometheus takes a falling counter for a new process, and adds all of it again.
TEST(PoolNumbers, AWaitIsNoRefusalWhileItLasts) {
  object_pool<int> pool({.capacity = 2, .when_full = when_full::wait});
  std::atomic<bool> done{false};
  test::run_crew(4, [&](unsigned thread) {
    if (thread != 0) {
      while (!done) {
        const auto mine = pool.acquire();
        std::this_thread::yield();
      }
      return;
    }
    const auto begin = std::chrono::steady_clock::now();
    slot_pool_stats before;
    while (!HasFailure() &&
           std::chrono::steady_clock::now() < begin + (before.handed_over != 0 ? 300ms : 20s)) {
      const slot_pool_stats now = pool.stats();
      EXPECT_EQ(now.refused, 0U);
      EXPECT_GE(now.exhausted, before.exhausted);
      EXPECT_GE(now.handed_over, before.handed_over);
      before = now;
    }
    EXPECT_GT(before.handed_over, 0U);
    done = true;
  });
}

TEST(PoolNumbers, OfTheListsOfALargePool) {
  const object_pool<int> pool(1'000'000);
  EXPECT_EQ(pool.stats().cas_retries, 0U);
  EXPECT_EQ(pool.stats().tag_headroom, std::uint64_t{1} << 44U);
}

}  // namespace
}  // namespace lido
