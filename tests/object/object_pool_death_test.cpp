#include <gtest/gtest.h>

#include <cstdlib>

#include "lido/object_pool.hpp"
#include "support/drain.hpp"

namespace lido {
namespace {

TEST(ObjectPoolDeathTest, ForkedChildFindsEveryFreeSlot) {
  object_pool<int> pool(64);
  test::fill_own_cache(pool, 20);
  EXPECT_EXIT(std::_Exit(test::count_acquirable(pool) == 64 ? 0 : 1), ::testing::ExitedWithCode(0),
              "");
}

TEST(ObjectPoolDeathTest, ForkedChildMayMakeItsOwnPool) {
  object_pool<int> pool(64);
  test::fill_own_cache(pool, 20);
  EXPECT_EXIT(
      {
        object_pool<int> own(32);
        std::_Exit(test::count_acquirable(own) == 32 ? 0 : 1);
      },
      ::testing::ExitedWithCode(0), "");
}

TEST(ObjectPoolDeathTest, ParentGoesOnAfterAFork) {
  object_pool<int> pool(64);
  test::fill_own_cache(pool, 20);
  EXPECT_EXIT(std::_Exit(0), ::testing::ExitedWithCode(0), "");
  EXPECT_EQ(test::count_acquirable(pool), 64U);
}

}  // namespace
}  // namespace lido
