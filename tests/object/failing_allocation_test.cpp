#include <gtest/gtest.h>

#include <cstddef>
#include <new>
#include <string>
#include <vector>

#include "lido/object_pool.hpp"
#include "support/crew.hpp"
#include "support/drain.hpp"
#include "support/failing_new.hpp"
#include "support/pool_kinds.hpp"
#include "support/sanitizers.hpp"

namespace lido {
namespace {

using test::allocation_plan;
using test::allocations;
using test::failing_allocations;

/// Remains of a pool when memory runs out.
class FailingAllocation : public ::testing::Test,
                          public ::testing::WithParamInterface<test::pool_kind> {
 protected:
  using pool_type = test::kind_pool<int>;
  using string_pool = test::kind_pool<std::string>;
  using tracking_pool = test::kind_pool<int, test::tracking_traits<int>>;

  /// Makes the first pool, which allocates what the process keeps permanently, such as the list of
  /// checked pools.
  static void SetUpTestSuite() { const object_pool<int, test::kind_traits<int>> first(1); }

  /// Constructs a pool while the n-th allocation fails, for each n until none does; returns how
  /// many allocations construction makes.
  template <class Pool>
  static long fail_each_allocation_of_construction(bool sticky) {
    for (long n = 1;; ++n) {
      const long before = allocation_plan::outstanding;
      bool failed = false;
      try {
        const failing_allocations plan(n, sticky);
        const Pool pool(
            {.capacity = 1000, .name = "a name too long for the small string optimisation"});
      } catch (const std::bad_alloc&) {
        failed = true;
      }
      // The constructor of Boost's list leaks its nodes when it cannot get one more.
      if (GetParam() != test::pool_kind::boost || !failed) {
        EXPECT_EQ(allocation_plan::outstanding, before) << "allocation " << n << " failed";
      }
      if (!failed) {
        return n - 1;
      }
    }
  }
};
INSTANTIATE_TEST_SUITE_P(Kinds, FailingAllocation, test::pool_kinds, test::pool_kind_name);

TEST_P(FailingAllocation, InConstructionIsABadAllocAndLeaksNothing) {
  if (LIDO_TEST_ASAN && GetParam() == test::pool_kind::boost) {
    GTEST_SKIP() << "the constructor of Boost's list leaks";
  }
  using pool = pool_type;
  EXPECT_GE(this->template fail_each_allocation_of_construction<pool>(/*sticky=*/false), 5);
}

TEST_P(FailingAllocation, AllMemoryGoneInConstructionIsABadAllocAndLeaksNothing) {
  if (LIDO_TEST_ASAN && GetParam() == test::pool_kind::boost) {
    GTEST_SKIP() << "the constructor of Boost's list leaks";
  }
  using pool = tracking_pool;
  EXPECT_GE(this->template fail_each_allocation_of_construction<pool>(/*sticky=*/true), 6);
}

TEST_P(FailingAllocation, InReleaseAllIsABadAllocWithoutEffect) {
  string_pool pool(1000);
  const std::vector<std::string*> all = test::drain(pool);
  pool.release(all.back());
  {
    const failing_allocations plan(1, /*sticky=*/true);
    EXPECT_THROW(pool.release_all(), std::bad_alloc);
  }
  EXPECT_EQ(pool.stats().in_use, 999U);
  for (std::size_t i = 0; i + 1 < all.size(); ++i) {
    EXPECT_EQ(*all[i], "");
  }
  pool.release_all();
  EXPECT_EQ(test::count_acquirable(pool), 1000U);
}

TEST_P(FailingAllocation, IsNoneInReleaseAllOfTrivialObjects) {
  if (LIDO_TEST_ASAN) {
    GTEST_SKIP() << "AddressSanitizer makes every pool track its objects";
  }
  pool_type pool(1000);
  (void)test::drain(pool);
  const failing_allocations plan(1, /*sticky=*/true);
  EXPECT_NO_THROW(pool.release_all());
  failing_allocations::stop();
  EXPECT_EQ(test::count_acquirable(pool), 1000U);
}

TEST_P(FailingAllocation, IsNoneInAShrinkThatDestroysIdleObjects) {
  test::keeping_pool<std::string, keep> pool(1000);
  EXPECT_EQ(test::count_acquirable(pool), 1000U);
  const failing_allocations plan(1, /*sticky=*/true);
  (void)pool.shrink_to(10);
  failing_allocations::stop();
  EXPECT_EQ(pool.stats().live, 10U);
}

TEST_P(FailingAllocation, AtFirstUseLosesNothing) {
  for (long n = 1; n <= 5; ++n) {
    pool_type pool(1000);
    std::vector<int*> all;
    all.reserve(1000);
    test::run_in_new_thread([&] {
      const failing_allocations plan(n, /*sticky=*/true);
      while (int* const object = pool.try_acquire_ptr()) {
        all.push_back(object);
      }
    });
    EXPECT_EQ(test::count_distinct(all), 1000U);
    test::release_all(pool, all);
  }
}

TEST_P(FailingAllocation, WhileCachesWantToGrowLosesNothing) {
  pool_type pool(5000);
  std::vector<int*> all;
  all.reserve(5000);
  const failing_allocations plan(1, /*sticky=*/true);
  for (int burst = 0; burst < 20; ++burst) {
    all.clear();
    while (int* const object = pool.try_acquire_ptr()) {
      all.push_back(object);
    }
    ASSERT_EQ(all.size(), 5000U);
    test::release_all(pool, all);
  }
}

// A new handler, or a user's operator new, might use the cache that is growing.
TEST_P(FailingAllocation, ACacheGrowsWithoutAnOperatorNew) {
  pool_type pool(5000);
  std::vector<int*> all;
  all.reserve(5000);
  const std::size_t bytes = pool.stats().bookkeeping_bytes;
  const long by_new = allocations().allocations - allocations().of_malloc;
  for (int burst = 0; burst < 20; ++burst) {
    all.clear();
    while (int* const object = pool.try_acquire_ptr()) {
      all.push_back(object);
    }
    test::release_all(pool, all);
  }
  EXPECT_EQ(allocations().allocations - allocations().of_malloc, by_new);
  if (GetParam() != test::pool_kind::uncached) {
    EXPECT_GT(pool.stats().bookkeeping_bytes, bytes) << "none has grown";
  }
}

TEST_P(FailingAllocation, OnceWhileACacheGrowsLosesNothing) {
  for (long n = 1; n <= 12; ++n) {
    pool_type pool(5000);
    std::vector<int*> all;
    all.reserve(5000);
    const failing_allocations plan(n, /*sticky=*/false);
    for (int burst = 0; burst < 10; ++burst) {
      all.clear();
      while (int* const object = pool.try_acquire_ptr()) {
        all.push_back(object);
      }
      ASSERT_EQ(all.size(), 5000U);
      test::release_all(pool, all);
    }
    failing_allocations::stop();
    EXPECT_EQ(test::count_distinct(all), 5000U);
  }
}

TEST_P(FailingAllocation, InAnObjectsConstructorLosesNoSlot) {
  string_pool pool(10);
  for (int round = 0; round < 50; ++round) {
    const failing_allocations plan(1, /*sticky=*/false);
    EXPECT_THROW((void)pool.acquire(1000U, 'x'), std::bad_alloc);
  }
  EXPECT_EQ(pool.stats().in_use, 0U);
  EXPECT_EQ(test::count_acquirable(pool), 10U);
}

TEST_P(FailingAllocation, WhenExhaustedIsStillAnError) {
  for (long n = 1; n <= 8; ++n) {
    pool_type pool({.capacity = 1, .name = "a name too long for the small string optimisation"});
    const auto held = pool.acquire();
    const failing_allocations plan(n, /*sticky=*/true);
    EXPECT_ANY_THROW((void)pool.acquire()) << "allocation " << n << " failed";
  }
}

TEST_P(FailingAllocation, DoesNotConcernRelease) {
  pool_type pool(5000);
  for (int burst = 0; burst < 10; ++burst) {
    const auto all = test::drain(pool);
    const long before = allocations().allocations;
    const failing_allocations plan(1, /*sticky=*/true);
    test::release_all(pool, all);
    EXPECT_EQ(allocations().allocations, before);
    EXPECT_TRUE(failing_allocations::pending());
  }
  EXPECT_EQ(test::count_acquirable(pool), 5000U);
}

TEST_P(FailingAllocation, DoesNotConcernReleaseInAThreadThatNeverAcquired) {
  pool_type pool(5000);
  const auto all = test::drain(pool);
  test::run_in_new_thread([&] {
    const failing_allocations plan(1, /*sticky=*/true);
    test::release_all(pool, all);
    EXPECT_TRUE(failing_allocations::pending());
  });
  EXPECT_EQ(test::count_acquirable(pool), 5000U);
}

TEST_P(FailingAllocation, DoesNotConcernBulkRelease) {
  pool_type pool(5000);
  const auto all = test::drain(pool);
  const failing_allocations plan(1, /*sticky=*/true);
  pool.release_n(all);
  EXPECT_TRUE(failing_allocations::pending());
}

TEST_P(FailingAllocation, ThereIsNoneToFailInTryAcquireOfASmallPool) {
  pool_type pool(64);
  std::vector<int*> all;
  all.reserve(64);
  const failing_allocations plan(1, /*sticky=*/true);
  for (int burst = 0; burst < 10; ++burst) {
    while (int* const object = pool.try_acquire_ptr()) {
      all.push_back(object);
    }
    test::release_all(pool, all);
    all.clear();
  }
  EXPECT_TRUE(failing_allocations::pending());
}

TEST_P(FailingAllocation, PoolThatEndsHasFreedAllItsMemory) {
  const long before = allocation_plan::outstanding;
  {
    pool_type pool(5000);
    for (int burst = 0; burst < 10; ++burst) {
      test::release_all(pool, test::drain(pool));
    }
  }
  EXPECT_EQ(allocation_plan::outstanding, before);
}

}  // namespace
}  // namespace lido
