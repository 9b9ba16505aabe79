#include "lido/object/object_pool.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <cstddef>
#include <functional>
#include <type_traits>
#include <utility>
#include <vector>

#include "support/drain.hpp"
#include "support/pool_kinds.hpp"
#include "support/tracked_test.hpp"

namespace lido {
namespace {

using test::tracked;
using ::testing::ElementsAre;
using ::testing::HasSubstr;

/// The facts that hold for every kind of pool.
class ObjectPool : public test::tracked_test,
                   public ::testing::WithParamInterface<test::pool_kind> {
 protected:
  using pool_type = test::kind_pool<tracked>;
  using tracking_pool = test::kind_pool<int, test::tracking_traits<int>>;
};
INSTANTIATE_TEST_SUITE_P(Kinds, ObjectPool, test::pool_kinds, test::pool_kind_name);

TEST_P(ObjectPool, AcquireConstructsFromItsArguments) {
  pool_type pool(4);
  EXPECT_EQ(pool.acquire(5)->value(), 5);
}

TEST_P(ObjectPool, ReleaseDestroysTheObject) {
  pool_type pool(4);
  pool.release(pool.try_acquire_ptr(5));
  EXPECT_EQ(tracked::counts().constructed, 1);
  EXPECT_EQ(tracked::counts().destroyed, 1);
}

TEST_P(ObjectPool, NothingIsConstructedBeforeItIsAcquired) {
  const pool_type pool(4);
  EXPECT_EQ(tracked::counts().constructed, 0);
}

// A lease knows its pool, and has the same type for all pools of a kind.
TEST_P(ObjectPool, ASecondPoolTakesWhatTheFirstHasNoRoomFor) {
  pool_type first(1);
  pool_type second(1);
  const auto held = first.try_acquire(1);
  {
    auto lease = first.try_acquire(2);
    EXPECT_FALSE(lease);
    lease = second.try_acquire(2);
    EXPECT_TRUE(lease);
    EXPECT_FALSE(second.try_acquire(3));
  }
  EXPECT_TRUE(second.try_acquire(3));
  EXPECT_FALSE(first.try_acquire(3));
}

TEST_P(ObjectPool, ReleaseOfNullDoesNothing) {
  pool_type pool(4);
  pool.release(nullptr);
  EXPECT_EQ(tracked::counts().destroyed, 0);
  EXPECT_EQ(pool.stats().in_use, 0U);
}

TEST_P(ObjectPool, AcquireWhenExhaustedThrows) {
  pool_type pool(1);
  const auto held = pool.acquire();
  EXPECT_THROW((void)pool.acquire(), pool_exhausted);
}

TEST_P(ObjectPool, ExhaustedErrorNamesPoolCapacityAndUse) {
  pool_type pool({.capacity = 2, .name = "jobs"});
  const auto first = pool.acquire();
  const auto second = pool.acquire();
  try {
    (void)pool.acquire();
    FAIL() << "the pool had no slot left";
  } catch (const pool_exhausted& error) {
    EXPECT_THAT(error.what(), HasSubstr("'jobs'"));
    EXPECT_THAT(error.what(), HasSubstr("2 of 2"));
    EXPECT_EQ(error.pool_name(), "jobs");
  }
}

TEST_P(ObjectPool, TryAcquireWhenExhaustedReturnsAnEmptyLease) {
  pool_type pool(1);
  const auto held = pool.try_acquire();
  EXPECT_TRUE(held);
  EXPECT_FALSE(pool.try_acquire());
}

TEST_P(ObjectPool, TryAcquirePtrWhenExhaustedReturnsNull) {
  pool_type pool(1);
  const auto held = pool.acquire();
  EXPECT_EQ(pool.try_acquire_ptr(), nullptr);
}

TEST_P(ObjectPool, AcquireWorksAgainAfterExhaustion) {
  pool_type pool(1);
  for (int round = 0; round < 100; ++round) {
    const auto held = pool.acquire(round);
    EXPECT_FALSE(pool.try_acquire());
    EXPECT_EQ(held->value(), round);
  }
}

TEST_P(ObjectPool, ObjectsDoNotMove) {
  pool_type pool(100);
  const auto first = pool.acquire(7);
  const tracked* const address = first.get();
  test::release_all(pool, test::drain(pool));
  EXPECT_EQ(first.get(), address);
  EXPECT_EQ(first->value(), 7);
}

TEST_P(ObjectPool, OwnsWhatItHandsOut) {
  pool_type pool(100);
  const auto all = test::drain(pool);
  for (const tracked* const object : all) {
    EXPECT_TRUE(pool.owns(object));
  }
  test::release_all(pool, all);
}

TEST_P(ObjectPool, OwnsFreeSlotsToo) {
  pool_type pool(1);
  auto held = pool.acquire();
  const tracked* const slot = held.get();
  held.reset();
  EXPECT_TRUE(pool.owns(slot));
}

TEST_P(ObjectPool, DoesNotOwnNeighboursOrStrangers) {
  pool_type pool(10);
  pool_type other(10);
  const auto all = test::drain(pool);
  const auto foreign = other.acquire();
  const auto [first, last] = std::minmax_element(all.begin(), all.end(), std::less<>());
  EXPECT_FALSE(pool.owns(*last + 1));
  EXPECT_FALSE(
      pool.owns(reinterpret_cast<const tracked*>(reinterpret_cast<const char*>(*first) + 1)));
  EXPECT_FALSE(pool.owns(foreign.get()));
  EXPECT_FALSE(pool.owns(nullptr));
  test::release_all(pool, all);
}

TEST_P(ObjectPool, StatsOfANewPoolSayThatAllIsShared) {
  const pool_type pool(100);
  const slot_pool_stats stats = pool.stats();
  EXPECT_EQ(stats.capacity, 100U);
  EXPECT_EQ(stats.idle - stats.cached, 100U);
  EXPECT_EQ(stats.in_use, 0U);
  EXPECT_EQ(stats.cached, 0U);
  EXPECT_GT(stats.bookkeeping_bytes, 0U);
  EXPECT_GE(stats.total_bytes, 100 * sizeof(pool_type::value_type) + stats.bookkeeping_bytes);
}

TEST_P(ObjectPool, StatsCountWhatIsInUse) {
  pool_type pool(100);
  std::vector<pool_type::lease_type> held;
  for (std::size_t i = 1; i <= 100; ++i) {
    held.push_back(pool.acquire());
    const slot_pool_stats stats = pool.stats();
    ASSERT_EQ(stats.in_use, i);
    ASSERT_EQ(stats.in_use + stats.idle, 100U);
  }
}

TEST_P(ObjectPool, StatsCountAcquiresThatFoundNothing) {
  pool_type pool(1);
  const auto held = pool.acquire();
  (void)pool.try_acquire_ptr();
  (void)pool.try_acquire_ptr();
  EXPECT_EQ(pool.stats().exhausted, 2U);
}

TEST_P(ObjectPool, ForEachInUseVisitsNothingInANewPool) {
  tracking_pool pool(10);
  pool.for_each_in_use([](int& /*object*/) { FAIL() << "nothing is in use"; });
}

TEST_P(ObjectPool, ForEachInUseVisitsWhatIsInUseInTheOrderOfAddresses) {
  tracking_pool pool(10);
  const auto all = test::drain(pool);
  for (int* const object : all) {
    *object = static_cast<int>(object - *std::min_element(all.begin(), all.end()));
  }
  for (std::size_t i = 0; i < 10; i += 2) {
    pool.release(*std::find_if(all.begin(), all.end(),
                               [&](const int* object) { return *object == static_cast<int>(i); }));
  }
  std::vector<int> visited;
  std::vector<int*> left;
  pool.for_each_in_use([&](int& object) {
    visited.push_back(object);
    left.push_back(&object);
  });
  EXPECT_THAT(visited, ElementsAre(1, 3, 5, 7, 9));
  test::release_all(pool, left);
}

TEST_P(ObjectPool, ForEachInUseMayChangeTheObjects) {
  tracking_pool pool(10);
  const auto held = pool.acquire(1);
  pool.for_each_in_use([](int& object) { object = 2; });
  EXPECT_EQ(*held, 2);
}

TEST(ObjectPoolType, CapacityAndNameAreAsAskedFor) {
  const object_pool<int> pool({.capacity = 33, .name = "jobs"});
  EXPECT_EQ(pool.capacity(), 33U);
  EXPECT_EQ(pool.name(), "jobs");
}

TEST(ObjectPoolType, CannotBeCopiedOrMoved) {
  EXPECT_FALSE(std::is_copy_constructible_v<object_pool<int>>);
  EXPECT_FALSE(std::is_move_constructible_v<object_pool<int>>);
  EXPECT_FALSE(std::is_copy_assignable_v<object_pool<int>>);
  EXPECT_FALSE(std::is_move_assignable_v<object_pool<int>>);
}

TEST(ObjectPoolType, ReleaseIsNoexcept) {
  EXPECT_TRUE(noexcept(std::declval<object_pool<int>&>().release(nullptr)));
  EXPECT_TRUE(noexcept(std::declval<object_pool<int>&>().release_n({})));
}

TEST(ObjectPoolType, TryAcquirePtrIsNoexceptWhereTheConstructorIs) {
  EXPECT_TRUE(noexcept(std::declval<object_pool<int>&>().try_acquire_ptr(1)));
  EXPECT_FALSE(noexcept(std::declval<object_pool<tracked>&>().try_acquire_ptr(1)));
}

TEST(ObjectPoolType, LeaseOfADefaultPoolIsThatOfItsType) {
  EXPECT_TRUE((std::is_same_v<object_pool<int>::lease_type, lease<int>>));
}

}  // namespace
}  // namespace lido
