#include "lido/concurrency/atomic.hpp"

#include <gtest/gtest.h>

#include "support/crew.hpp"

namespace lido::detail {
namespace {

TEST(HeavyFence, AvailabilityDoesNotChange) {
  const bool first = heavy_fence_available();
  EXPECT_EQ(heavy_fence_available(), first);
}

TEST(HeavyFence, RunsWhereItIsAvailable) {
  if (heavy_fence_available()) {
    EXPECT_TRUE(heavy_fence());
  }
}

TEST(HeavyFence, RunsFromManyThreadsAtOnce) {
  if (!heavy_fence_available()) {
    GTEST_SKIP() << "this system has no heavy fence";
  }
  test::run_crew(4, [](unsigned /*index*/) {
    for (int i = 0; i < 100; ++i) {
      ASSERT_TRUE(heavy_fence());
    }
  });
}

}  // namespace
}  // namespace lido::detail
