#include <gtest/gtest.h>

#include <latch>
#include <memory>
#include <optional>
#include <thread>
#include <vector>

#include "lido/object_pool.hpp"
#include "support/crew.hpp"
#include "support/drain.hpp"
#include "support/ending_thread.hpp"
#include "support/pool_kinds.hpp"

namespace lido {
namespace {

/// Threads and pools may end in either order.
class ObjectPoolTeardown : public ::testing::Test,
                           public ::testing::WithParamInterface<test::pool_kind> {
 protected:
  using pool_type = test::kind_pool<int>;

  /// Uses a pool in the destructors of a thread.
  struct late_user {
    ~late_user() {
      if (pool != nullptr) {
        *found = test::count_acquirable(*pool);
      }
    }
    pool_type* pool = nullptr;
    std::size_t* found = nullptr;
  };
};
INSTANTIATE_TEST_SUITE_P(Kinds, ObjectPoolTeardown, test::pool_kinds, test::pool_kind_name);

TEST_P(ObjectPoolTeardown, PoolMayEndBeforeItsThreads) {
  auto pool = std::make_unique<pool_type>(100);
  const test::parked_crew crew(8, [&](unsigned /*index*/) { test::fill_own_cache(*pool, 10); });
  pool.reset();
}

TEST_P(ObjectPoolTeardown, ThreadsOfAnEndedPoolGoOnWithAnother) {
  auto first = std::make_unique<pool_type>(100);
  pool_type second(100);
  std::latch used(1);
  std::latch gone(1);
  std::jthread user([&] {
    test::fill_own_cache(*first, 20);
    used.count_down();
    gone.wait();
    test::fill_own_cache(second, 20);
  });
  used.wait();
  first.reset();
  gone.count_down();
  user.join();
  EXPECT_EQ(second.stats().cached, 0U);
  EXPECT_EQ(test::count_acquirable(second), 100U);
}

TEST_P(ObjectPoolTeardown, PoolMayEndWhileItsThreadsEnd) {
  for (int round = 0; round < 30; ++round) {
    auto pool = std::make_unique<pool_type>(100);
    std::latch used(4);
    std::vector<std::jthread> users;
    for (int i = 0; i < 4; ++i) {
      users.emplace_back([&] {
        test::fill_own_cache(*pool, 10);
        used.count_down();
      });
    }
    used.wait();
    pool.reset();
  }
}

TEST_P(ObjectPoolTeardown, NewPoolsInThePlaceOfOldOnesStartEmpty) {
  std::optional<pool_type> pool;
  for (int round = 0; round < 50; ++round) {
    pool.emplace(40);
    EXPECT_EQ(pool->stats().cached, 0U);
    EXPECT_EQ(test::count_acquirable(*pool), 40U);
  }
}

TEST_P(ObjectPoolTeardown, ThreadThatEndsReturnsItsSlots) {
  pool_type pool(100);
  test::run_in_new_thread([&] { test::fill_own_cache(pool, 50); });
  EXPECT_EQ(pool.stats().idle - pool.stats().cached, 100U);
  EXPECT_EQ(pool.stats().thefts, 0U);
}

TEST_P(ObjectPoolTeardown, ManyThreadsOneAfterAnotherLoseNothing) {
  pool_type pool(50);
  for (int thread = 0; thread < 300; ++thread) {
    test::run_in_new_thread([&] { test::fill_own_cache(pool, 10); });
  }
  EXPECT_EQ(test::count_acquirable(pool), 50U);
}

TEST_P(ObjectPoolTeardown, ObjectsOfAnEndedThreadStayInUse) {
  pool_type pool(10);
  int* object = nullptr;
  test::run_in_new_thread([&] { object = pool.try_acquire_ptr(5); });
  EXPECT_EQ(pool.stats().in_use, 1U);
  EXPECT_EQ(*object, 5);
  pool.release(object);
}

TEST_P(ObjectPoolTeardown, LeaseInAThreadLocalVariableEndsWithItsThread) {
  pool_type pool(10);
  test::run_in_new_thread([&] {
    thread_local pool_type::lease_type held;
    held = pool.acquire(5);
  });
  EXPECT_EQ(pool.stats().in_use, 0U);
  EXPECT_EQ(test::count_acquirable(pool), 10U);
}

TEST_P(ObjectPoolTeardown, DestructorOfAThreadLocalObjectMayUseAPool) {
  pool_type pool(100);
  std::size_t found = 0;
  test::run_in_new_thread([&] {
    thread_local late_user user;
    test::fill_own_cache(pool, 50);
    user.found = &found;
    user.pool = &pool;
  });
  EXPECT_EQ(found, 100U);
  EXPECT_EQ(pool.stats().idle - pool.stats().cached, 100U);
}

TEST_P(ObjectPoolTeardown, FirstUseMayBeInTheDestructorOfAThreadLocalObject) {
  pool_type pool(100);
  std::size_t found = 0;
  test::run_in_new_thread([&] {
    thread_local late_user user;
    user.found = &found;
    user.pool = &pool;
  });
  EXPECT_EQ(found, 100U);
  EXPECT_EQ(pool.stats().idle - pool.stats().cached, 100U);
}

TEST_P(ObjectPoolTeardown, ThreadWhoseNumberIsGoneStillUsesThePool) {
  pool_type pool(100);
  std::size_t found = 0;
  test::run_in_ending_thread([&] { found = test::count_acquirable(pool); },
                             [&] { test::fill_own_cache(pool, 50); });
  EXPECT_EQ(found, 100U);
  EXPECT_EQ(pool.stats().idle - pool.stats().cached, 100U);
}

TEST_P(ObjectPoolTeardown, StaticPoolOutlivesStaticLeases) {
  static pool_type pool(10);
  static const auto held = pool.acquire(5);  // destroyed first, after main
  EXPECT_EQ(*held, 5);
}

TEST_P(ObjectPoolTeardown, OneThreadUsesManyPools) {
  std::vector<std::unique_ptr<pool_type>> pools;
  for (int i = 0; i < 20; ++i) {
    pools.push_back(std::make_unique<pool_type>(64));
  }
  test::run_in_new_thread([&] {
    for (const auto& pool : pools) {
      test::fill_own_cache(*pool, 30);
    }
  });
  for (const auto& pool : pools) {
    EXPECT_EQ(pool->stats().idle - pool->stats().cached, 64U);
  }
}

}  // namespace
}  // namespace lido
