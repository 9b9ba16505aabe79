#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <array>
#include <cstddef>
#include <set>
#include <type_traits>
#include <vector>

#include "lido/checked.hpp"
#include "support/crew.hpp"
#include "support/drain.hpp"
#include "support/misuse_log.hpp"
#include "support/tracked_test.hpp"

namespace lido {
namespace {

using test::tracked;
using ::testing::ElementsAre;
using ::testing::IsEmpty;

struct tracked_and_checked : checked_traits<int> {
  static constexpr bool track_in_use = true;
};

/// Correct use of a checked pool, of which nothing is reported.
class CheckedPool : public test::tracked_test {
 protected:
  void TearDown() override {
    EXPECT_THAT(log_.kinds(), IsEmpty());
    tracked_test::TearDown();
  }

  test::misuse_log log_;
};

TEST_F(CheckedPool, FreshObjectsAreMadeAsEver) {
  object_pool<std::array<int, 20>, checked_traits<std::array<int, 20>>> pool(4);
  const auto lease = pool.acquire();
  EXPECT_EQ(lease->at(19), 0);
}

TEST_F(CheckedPool, MayBeWarm) {
  object_pool<std::array<long, 8>, checked_traits<std::array<long, 8>>> pool(
      {.capacity = 200, .warm = true});
  auto held = test::drain(pool);
  test::release_all(pool, held);
}

TEST_F(CheckedPool, ReleaseOfNullDoesNothing) {
  object_pool<int, checked_traits<int>> pool(4);
  pool.release(nullptr);
}

TEST_F(CheckedPool, ConstructorsThatThrowLeaveTheirSlotFilled) {
  object_pool<tracked, checked_traits<tracked>> pool(1);
  for (int round = 0; round < 10; ++round) {
    tracked::counts().refuse_at = 1;
    EXPECT_THROW((void)pool.try_acquire_ptr(1), test::refused);
    pool.release(pool.try_acquire_ptr(2));
  }
}

TEST_F(CheckedPool, BulkConstructorsThatThrowLeaveTheirSlotsFilled) {
  object_pool<tracked, checked_traits<tracked>> pool(40);
  std::array<tracked*, 40> all{};
  for (int at = 1; at <= 40; ++at) {
    tracked::counts().refuse_at = at;
    EXPECT_THROW((void)pool.try_acquire_n(all), test::refused);
  }
  tracked::counts().refuse_at = 0;
  EXPECT_EQ(pool.try_acquire_n(all), 40U);
  pool.release_n(all);
}

TEST_F(CheckedPool, WalkSeesWhatIsInUseWithoutFurtherTraits) {
  object_pool<int, checked_traits<int>> pool(8);
  const auto first = pool.acquire(1);
  const auto second = pool.acquire(2);
  pool.release(pool.try_acquire_ptr(3));
  std::set<int> seen;
  pool.for_each_in_use([&seen](int& value) { seen.insert(value); });
  EXPECT_THAT(seen, ElementsAre(1, 2));
}

TEST_F(CheckedPool, GoesWithTracking) {
  object_pool<int, tracked_and_checked> pool(8);
  const auto held = pool.acquire(1);
  int seen = 0;
  pool.for_each_in_use([&seen](int& value) { seen += value; });
  EXPECT_EQ(seen, 1);
}

TEST_F(CheckedPool, ObjectsMayBeReleasedInAnotherThread) {
  object_pool<std::array<long, 9>, checked_traits<std::array<long, 9>>> pool(64);
  for (int round = 0; round < 50; ++round) {
    auto held = test::drain(pool);
    test::run_in_new_thread([&] { test::release_all(pool, held); });
  }
}

TEST_F(CheckedPool, SurvivesThreadsThatCompeteForEverySlot) {
  object_pool<std::array<long, 3>, checked_traits<std::array<long, 3>>> pool(6);
  test::run_crew(4, [&](unsigned self) {
    for (int round = 0; round < 20'000; ++round) {
      if (auto* const object = pool.try_acquire_ptr()) {
        object->fill(self);
        pool.release(object);
      }
    }
  });
  EXPECT_EQ(test::count_acquirable(pool), 6U);
}

TEST_F(CheckedPool, DestructorMayReleaseToItsOwnPool) {
  struct node {
    object_pool<node, checked_traits<node>>* home = nullptr;
    node* next = nullptr;
    ~node() {
      if (next != nullptr) {
        home->release(next);
      }
    }
  };
  object_pool<node, checked_traits<node>> pool(8);
  node* const inner = pool.try_acquire_ptr();
  node* const outer = pool.try_acquire_ptr();
  outer->home = &pool;
  outer->next = inner;
  pool.release(outer);
  EXPECT_EQ(pool.stats().in_use, 0U);
}

// A pool that requests no checks pays nothing for them.
TEST(UncheckedPool, HasRoomForNoChecks) {
  EXPECT_TRUE(std::is_empty_v<detail::no_checks>);
  EXPECT_LT(sizeof(object_pool<int>), sizeof(object_pool<int, checked_traits<int>>));
}

}  // namespace
}  // namespace lido
