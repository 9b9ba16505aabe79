#include <gtest/gtest.h>

#include <vector>

#include "lido/object_pool.hpp"
#include "support/drain.hpp"
#include "support/pool_kinds.hpp"
#include "support/tracked_test.hpp"

namespace lido {
namespace {

using test::refused;
using test::tracked;

/// Acquires another object of its pool before it refuses.
struct nested {
  explicit nested(object_pool<nested>* pool, int depth) {
    if (depth == 0) {
      throw refused();
    }
    inner = pool->acquire(pool, depth - 1);
  }
  lease<nested> inner;
};

class ObjectPoolExceptions : public test::tracked_test,
                             public ::testing::WithParamInterface<test::pool_kind> {
 protected:
  using pool_type = test::kind_pool<tracked>;
  using tracking_pool = test::kind_pool<tracked, test::tracking_traits<tracked>>;
};
INSTANTIATE_TEST_SUITE_P(Kinds, ObjectPoolExceptions, test::pool_kinds, test::pool_kind_name);

TEST_P(ObjectPoolExceptions, ThrowingConstructorLosesNoSlot) {
  pool_type pool(8);
  for (int round = 0; round < 100; ++round) {
    tracked::counts().refuse_at = 1;
    EXPECT_THROW((void)pool.acquire(), refused);
  }
  EXPECT_EQ(test::count_acquirable(pool), 8U);
}

TEST_P(ObjectPoolExceptions, EachWayToAcquirePassesTheErrorOn) {
  pool_type pool(8);
  tracked::counts().refuse_at = 1;
  EXPECT_THROW((void)pool.try_acquire(), refused);
  tracked::counts().refuse_at = 1;
  EXPECT_THROW((void)pool.try_acquire_ptr(), refused);
  EXPECT_EQ(pool.stats().in_use, 0U);
}

TEST_P(ObjectPoolExceptions, ObjectThatWasNotBuiltIsNotDestroyed) {
  pool_type pool(8);
  tracked::counts().refuse_at = 1;
  EXPECT_THROW((void)pool.acquire(), refused);
  EXPECT_EQ(tracked::counts().destroyed, 0);
}

TEST_P(ObjectPoolExceptions, ObjectThatWasNotBuiltIsNotInUse) {
  tracking_pool pool(8);
  tracked::counts().refuse_at = 1;
  EXPECT_THROW((void)pool.acquire(), refused);
  pool.for_each_in_use([](const tracked& /*object*/) { FAIL() << "nothing is in use"; });
}

TEST_P(ObjectPoolExceptions, LastSlotSurvivesAThrowingConstructor) {
  pool_type pool(3);
  const auto first = pool.acquire();
  const auto second = pool.acquire();
  tracked::counts().refuse_at = 1;
  EXPECT_THROW((void)pool.acquire(), refused);
  EXPECT_TRUE(pool.try_acquire());
}

TEST(ObjectPoolNesting, ConstructorMayAcquireFromItsOwnPool) {
  object_pool<nested> pool(8);
  EXPECT_THROW((void)pool.acquire(&pool, 5), refused);
  EXPECT_EQ(pool.stats().in_use, 0U);
}

TEST(ObjectPoolNesting, ExhaustionInsideAConstructorLosesNothing) {
  object_pool<nested> pool(8);
  EXPECT_THROW((void)pool.acquire(&pool, 20), pool_exhausted);
  EXPECT_EQ(pool.stats().in_use, 0U);
}

}  // namespace
}  // namespace lido
