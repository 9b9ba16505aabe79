#include <gtest/gtest.h>

#include <cstdio>
#include <cstdlib>

#include "lido/object_pool.hpp"
#include "support/drain.hpp"

namespace lido {
namespace {

struct abort_when_exhausted {
  [[noreturn]] static void on_exhausted(const exhaustion& what) {
    std::fprintf(stderr, "%.*s: all %zu in use", static_cast<int>(what.pool_name.size()),
                 what.pool_name.data(), what.capacity);
    std::abort();
  }
};

TEST(ObjectPoolDeathTest, ExhaustionPolicyMayEndTheProgram) {
  object_pool<int, abort_when_exhausted> pool({.capacity = 1, .name = "jobs"});
  const auto held = pool.acquire();
  EXPECT_DEATH((void)pool.acquire(), "jobs: all 1 in use");
}

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
