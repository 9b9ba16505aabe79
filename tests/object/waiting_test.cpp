#include "lido/object/object_pool.hpp"

#include <gtest/gtest.h>

#include <atomic>
#include <chrono>
#include <memory>
#include <stop_token>
#include <thread>
#include <vector>

#include "lido/object_pool.hpp"
#include "support/crew.hpp"
#include "support/drain.hpp"
#include "support/pool_kinds.hpp"
#include "support/tracked_test.hpp"

namespace lido {
namespace {

using namespace std::chrono_literals;
using test::refused;
using test::tracked;

template <class Pool>
void await_waiting(const Pool& pool, std::size_t count) {
  while (pool.stats().waiting != count) {
    std::this_thread::yield();
  }
}

template <class T>
class waited_for : public test::kind_pool<T> {
 public:
  explicit waited_for(std::size_t capacity)
      : test::kind_pool<T>({.capacity = capacity, .when_full = when_full::wait}) {}
};

class Waiting : public test::tracked_test, public ::testing::WithParamInterface<test::pool_kind> {
 protected:
  using pool_type = waited_for<int>;
};
INSTANTIATE_TEST_SUITE_P(Kinds, Waiting, test::pool_kinds, test::pool_kind_name);

TEST_P(Waiting, TakesWhatIsFreeAtOnce) {
  pool_type pool(3);
  const auto first = pool.acquire(1);
  const auto second = pool.acquire_for(1h, 2);
  const auto third = pool.acquire(std::stop_token(), 3);
  EXPECT_EQ(*first + *second + *third, 6);
  EXPECT_EQ(pool.stats().handed_over, 0U);
}

TEST_P(Waiting, AcquireWaitsForARelease) {
  pool_type pool(1);
  auto held = pool.acquire(1);
  std::jthread other([&] {
    const auto mine = pool.acquire(2);
    EXPECT_EQ(*mine, 2);
  });
  await_waiting(pool, 1);
  held.reset();
  other.join();
  EXPECT_EQ(pool.stats().handed_over, 1U);
  EXPECT_EQ(pool.stats().waiting, 0U);
}

TEST_P(Waiting, TryAcquireDoesNotWait) {
  pool_type pool(1);
  const auto held = pool.acquire();
  EXPECT_FALSE(pool.try_acquire());
  EXPECT_EQ(pool.try_acquire_ptr(), nullptr);
}

TEST_P(Waiting, EndsEmptyWhenTheTimeIsUp) {
  pool_type pool(2);
  {
    const auto first = pool.acquire();
    const auto second = pool.acquire();
    const auto begin = std::chrono::steady_clock::now();
    EXPECT_FALSE(pool.acquire_for(3ms));
    EXPECT_GE(std::chrono::steady_clock::now() - begin, 3ms);
    EXPECT_FALSE(pool.acquire_until(std::chrono::steady_clock::now() + 1ms));
    EXPECT_FALSE(pool.acquire_until(std::chrono::system_clock::now() + 1ms));
    EXPECT_EQ(pool.stats().waiting, 0U);
  }
  EXPECT_EQ(test::count_acquirable(pool), 2U);
}

TEST_P(Waiting, WithoutTimeDoesNotWaitButTakesWhatIsFree) {
  pool_type pool(1);
  {
    const auto taken = pool.acquire_for(0ms);
    EXPECT_TRUE(taken);
    EXPECT_FALSE(pool.acquire_for(-1h));
    EXPECT_FALSE(pool.acquire_until(std::chrono::steady_clock::time_point::min()));
  }
  EXPECT_TRUE(pool.acquire_until(std::chrono::system_clock::time_point::min()));
}

TEST_P(Waiting, IsServedBeforeTheTimeIsUp) {
  pool_type pool(1);
  auto held = pool.acquire(1);
  std::jthread other([&] { EXPECT_TRUE(pool.acquire_for(1h, 2)); });
  await_waiting(pool, 1);
  held.reset();
}

TEST_P(Waiting, StopEndsTheWait) {
  pool_type pool(1);
  const auto held = pool.acquire(1);
  std::jthread other([&](const std::stop_token& stop) { EXPECT_FALSE(pool.acquire(stop, 2)); });
  await_waiting(pool, 1);
  other.request_stop();
  other.join();
  EXPECT_EQ(pool.stats().waiting, 0U);
}

TEST_P(Waiting, StoppedBeforeTakesWhatIsFreeAndDoesNotWait) {
  pool_type pool(1);
  std::stop_source source;
  source.request_stop();
  const auto taken = pool.acquire(source.get_token(), 1);
  EXPECT_TRUE(taken);
  EXPECT_FALSE(pool.acquire(source.get_token(), 2));
}

TEST_P(Waiting, FirstComeFirstServed) {
  pool_type pool(1);
  auto held = pool.acquire(0);
  std::vector<int> served;
  std::vector<std::jthread> crew;
  for (int order = 0; order < 6; ++order) {
    crew.emplace_back([&, order] {
      // Every third one gives up before it is served.
      const auto mine = order % 3 == 1 ? pool.acquire_for(1ms, order) : pool.acquire(order);
      if (mine) {
        served.push_back(order);  // one slot: one thread at a time
      }
    });
    if (order % 3 == 1) {
      crew.back().join();
    } else {
      await_waiting(pool, static_cast<std::size_t>(order - (order + 1) / 3 + 1));
    }
  }
  held.reset();
  for (auto& each : crew) {
    if (each.joinable()) {
      each.join();
    }
  }
  EXPECT_EQ(served, (std::vector<int>{0, 2, 3, 5}));
}

TEST_P(Waiting, SlotsReleasedToACacheReachWaiters) {
  pool_type pool(64);
  std::vector<pool_type::lease_type> all;
  for (int i = 0; i < 64; ++i) {
    all.push_back(pool.acquire(i));
  }
  std::atomic<int> got{0};
  std::vector<std::jthread> crew;
  for (int i = 0; i < 3; ++i) {
    crew.emplace_back([&] {
      const auto mine = pool.acquire();
      ++got;
      while (got < 3) {
        std::this_thread::yield();
      }
    });
  }
  await_waiting(pool, 3);
  all.resize(64 - 3);
}

TEST_P(Waiting, FreeSlotsInTheCacheOfAThreadThatDoesNothingAreFound) {
  pool_type pool(64);
  const test::parked_crew crew(1, [&](unsigned /*index*/) { test::fill_own_cache(pool, 60); });
  std::vector<pool_type::lease_type> all;
  for (int i = 0; i < 64; ++i) {
    all.push_back(pool.acquire(i));
  }
  EXPECT_EQ(all.size(), 64U);
}

TEST_P(Waiting, BulkReleaseServesAllWaiters) {
  pool_type pool(8);
  std::vector<int*> all(8);
  ASSERT_EQ(pool.try_acquire_n(all), 8U);
  std::vector<std::jthread> crew;
  for (int i = 0; i < 4; ++i) {
    crew.emplace_back([&] { EXPECT_TRUE(pool.acquire(1)); });
  }
  await_waiting(pool, 4);
  pool.release_n(all);
  crew.clear();
  EXPECT_EQ(test::count_acquirable(pool), 8U);
}

TEST_P(Waiting, ConstructorThatThrowsAfterAWaitPassesTheSlotOn) {
  waited_for<tracked> pool(1);
  auto held = pool.acquire();
  tracked::counts().refuse_at = 1;
  std::jthread first([&] { EXPECT_THROW((void)pool.acquire(), refused); });
  await_waiting(pool, 1);
  std::jthread second([&] { EXPECT_TRUE(pool.acquire()); });
  await_waiting(pool, 2);
  held.reset();
  first.join();
  second.join();
  EXPECT_EQ(test::count_acquirable(pool), 1U);
}

TEST_P(Waiting, MoreThreadsThanSlotsAreAllServed) {
  pool_type pool(3);
  std::atomic<int> out{0};
  test::run_crew(8, [&](unsigned me) {
    for (int round = 0; round < 200; ++round) {
      const auto mine = (me + static_cast<unsigned>(round)) % 3 == 0
                            ? pool.acquire_for(std::chrono::microseconds(round), round)
                            : pool.acquire(round);
      if (mine) {
        EXPECT_LE(++out, 3);
        std::this_thread::yield();
        --out;
      }
    }
  });
  EXPECT_EQ(pool.stats().waiting, 0U);
  EXPECT_EQ(pool.stats().in_use, 0U);
  EXPECT_EQ(test::count_acquirable(pool), 3U);
}

// Waits in pools that fail when full: they work whatever `when_full` says.
class WaitingInAPoolThatFails : public ::testing::TestWithParam<test::pool_kind> {
 protected:
  test::kind_pool<int> pool_{1};
};
INSTANTIATE_TEST_SUITE_P(Kinds, WaitingInAPoolThatFails, test::pool_kinds, test::pool_kind_name);

TEST_P(WaitingInAPoolThatFails, EndsEmptyWhenTheTimeIsUp) {
  const auto held = pool_.acquire();
  EXPECT_FALSE(pool_.acquire_for(1ms));
  EXPECT_THROW((void)pool_.acquire(), pool_exhausted);
}

TEST_P(WaitingInAPoolThatFails, IsServedByARelease) {
  auto held = pool_.acquire(1);
  std::jthread other([&] { EXPECT_TRUE(pool_.acquire_for(1h, 2)); });
  await_waiting(pool_, 1);
  held.reset();
  other.join();
  EXPECT_EQ(test::count_acquirable(pool_), 1U);
}

TEST_P(WaitingInAPoolThatFails, EndsWithAStop) {
  const auto held = pool_.acquire(1);
  std::jthread other([&](const std::stop_token& stop) { EXPECT_FALSE(pool_.acquire(stop, 2)); });
  await_waiting(pool_, 1);
}

}  // namespace
}  // namespace lido
