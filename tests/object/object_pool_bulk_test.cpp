#include <gtest/gtest.h>

#include <array>
#include <cstddef>
#include <span>
#include <vector>

#include "lido/object_pool.hpp"
#include "support/drain.hpp"
#include "support/pool_kinds.hpp"
#include "support/tracked_test.hpp"

namespace lido {
namespace {

using test::refused;
using test::tracked;

class ObjectPoolBulk : public test::tracked_test,
                       public ::testing::WithParamInterface<test::pool_kind> {
 protected:
  using pool_type = test::kind_pool<tracked>;
  using tracking_pool = test::kind_pool<tracked, test::tracking_traits<tracked>>;
};
INSTANTIATE_TEST_SUITE_P(Kinds, ObjectPoolBulk, test::pool_kinds, test::pool_kind_name);

constexpr std::array<std::size_t, 10> bulk_sizes{1, 2, 31, 32, 33, 64, 255, 256, 257, 700};

TEST_P(ObjectPoolBulk, AcquireFillsTheWholeSpan) {
  for (const std::size_t size : bulk_sizes) {
    pool_type pool(1000);
    std::vector<tracked*> out(size);
    EXPECT_EQ(pool.try_acquire_n(out), size);
    EXPECT_EQ(test::count_distinct(out), size);
    EXPECT_EQ(tracked::counts().live(), static_cast<int>(size));
    pool.release_n(out);
    EXPECT_EQ(tracked::counts().live(), 0);
  }
}

TEST_P(ObjectPoolBulk, ReleaseReturnsEverySlot) {
  pool_type pool(1000);
  for (const std::size_t size : bulk_sizes) {
    std::vector<tracked*> out(size);
    (void)pool.try_acquire_n(out);
    pool.release_n(out);
    EXPECT_EQ(pool.stats().in_use, 0U) << "bulk of " << size;
    EXPECT_EQ(test::count_acquirable(pool), 1000U) << "bulk of " << size;
  }
}

TEST_P(ObjectPoolBulk, AcquireIntoNothingTakesNothing) {
  pool_type pool(10);
  EXPECT_EQ(pool.try_acquire_n({}), 0U);
  EXPECT_EQ(pool.stats().in_use, 0U);
}

TEST_P(ObjectPoolBulk, ReleaseSkipsWhatAShortAcquireLeftEmpty) {
  pool_type pool(300);
  std::vector<tracked*> out(700);
  EXPECT_EQ(pool.try_acquire_n(out), 300U);
  pool.release_n(out);
  EXPECT_EQ(tracked::counts().live(), 0);
  EXPECT_EQ(test::count_acquirable(pool), 300U);
}

TEST_P(ObjectPoolBulk, ReleaseOfNothingDoesNothing) {
  pool_type pool(10);
  pool.release_n({});
  EXPECT_EQ(pool.stats().in_use, 0U);
}

TEST_P(ObjectPoolBulk, AcquireStopsAtTheCapacity) {
  for (const std::size_t capacity :
       {std::size_t{1}, std::size_t{33}, std::size_t{100}, std::size_t{300}}) {
    pool_type pool(capacity);
    std::vector<tracked*> out(400);
    EXPECT_EQ(pool.try_acquire_n(out), capacity);
    out.resize(capacity);
    pool.release_n(out);
  }
}

TEST_P(ObjectPoolBulk, AcquireFromAnExhaustedPoolTakesNothing) {
  pool_type pool(10);
  const auto all = test::drain(pool);
  std::array<tracked*, 4> out{};
  EXPECT_EQ(pool.try_acquire_n(out), 0U);
  pool.release_n(all);
}

TEST_P(ObjectPoolBulk, SinglesAndBulkMix) {
  pool_type pool(300);
  std::vector<tracked*> bulk(100);
  for (int round = 0; round < 20; ++round) {
    const auto single = pool.acquire();
    ASSERT_EQ(pool.try_acquire_n(bulk), 100U);
    for (tracked* const object : std::span(bulk).first(50)) {
      pool.release(object);
    }
    pool.release_n(std::span<tracked* const>(bulk).subspan(50));
  }
  EXPECT_EQ(test::count_acquirable(pool), 300U);
}

TEST_P(ObjectPoolBulk, ThrowingConstructorLosesNothingAtAnyPosition) {
  pool_type pool(300);
  for (const int position : {1, 2, 3, 31, 32, 33, 100, 255, 256, 257, 258, 299, 300}) {
    std::vector<tracked*> out(300);
    tracked::counts() = {};
    tracked::counts().refuse_at = position;
    EXPECT_THROW((void)pool.try_acquire_n(out), refused);
    EXPECT_EQ(tracked::counts().constructed, position - 1);
    EXPECT_EQ(tracked::counts().destroyed, position - 1);
    EXPECT_EQ(pool.stats().in_use, 0U) << "position " << position;
    EXPECT_EQ(test::count_acquirable(pool), 300U) << "position " << position;
  }
}

TEST_P(ObjectPoolBulk, ThrowingConstructorLosesNothingAtEveryPositionOfASmallPool) {
  for (int position = 1; position <= 40; ++position) {
    pool_type pool(40);
    std::vector<tracked*> out(40);
    tracked::counts().refuse_at = position;
    EXPECT_THROW((void)pool.try_acquire_n(out), refused);
    EXPECT_EQ(test::count_acquirable(pool), 40U) << "position " << position;
  }
}

TEST_P(ObjectPoolBulk, BulkIsTrackedToo) {
  tracking_pool pool(50);
  std::vector<tracked*> out(20);
  (void)pool.try_acquire_n(out);
  std::size_t visited = 0;
  pool.for_each_in_use([&](const tracked& /*object*/) { ++visited; });
  EXPECT_EQ(visited, 20U);
  pool.release_n(out);
  pool.for_each_in_use([](const tracked& /*object*/) { FAIL() << "nothing is in use"; });
}

TEST_P(ObjectPoolBulk, BulkThatThrewIsNotTracked) {
  tracking_pool pool(50);
  std::vector<tracked*> out(20);
  tracked::counts().refuse_at = 10;
  EXPECT_THROW((void)pool.try_acquire_n(out), refused);
  pool.for_each_in_use([](const tracked& /*object*/) { FAIL() << "nothing is in use"; });
}

}  // namespace
}  // namespace lido
