// The heavy fence on a system that refuses it. Each check runs in a new process, because a process
// asks the system once.
#include <gtest/gtest.h>
#include <linux/membarrier.h>

#include <cstdlib>

#include "lido/concurrency/atomic.hpp"
#include "support/forbidden_membarrier.hpp"

namespace lido::detail {
namespace {

constexpr int ask = MEMBARRIER_CMD_REGISTER_PRIVATE_EXPEDITED;
constexpr int run = MEMBARRIER_CMD_PRIVATE_EXPEDITED;

[[noreturn]] void end(bool as_expected) {
  std::exit(as_expected ? 0 : 1);  // NOLINT(concurrency-mt-unsafe): the only thread
}

class HeavyFenceDeathTest : public ::testing::Test {
 protected:
  void SetUp() override {
    if (!test::can_forbid_membarrier()) {
      GTEST_SKIP() << "this system cannot forbid a system call";
    }
    GTEST_FLAG_SET(death_test_style, "threadsafe");
  }
};

TEST_F(HeavyFenceDeathTest, IsNotAvailableWhereItIsForbidden) {
  EXPECT_EXIT(
      {
        test::forbid_membarrier({ask, run});
        end(!heavy_fence_available() && !heavy_fence());
      },
      ::testing::ExitedWithCode(0), "");
}

TEST_F(HeavyFenceDeathTest, SaysSoWhenItIsForbiddenLater) {
  if (!test::has_membarrier()) {
    GTEST_SKIP() << "this system has no heavy fence";
  }
  EXPECT_EXIT(
      {
        const bool before = heavy_fence_available() && heavy_fence();
        test::forbid_membarrier({run});
        end(before && !heavy_fence());
      },
      ::testing::ExitedWithCode(0), "");
}

TEST_F(HeavyFenceDeathTest, RegistersTheProcessThatHasNotAsked) {
  if (!test::has_membarrier()) {
    GTEST_SKIP() << "this system has no heavy fence";
  }
  EXPECT_EXIT(end(heavy_fence()), ::testing::ExitedWithCode(0), "");
}

}  // namespace
}  // namespace lido::detail
