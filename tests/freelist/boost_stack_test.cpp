#include "lido/freelist/boost_stack.hpp"

#include <gtest/gtest.h>

#include "lido/object/policy.hpp"

namespace lido::detail {
namespace {

TEST(BoostStack, CountsACacheLineForEachNode) {
  EXPECT_EQ(boost_stack(100).memory(), 6400U);
}

TEST(BoostStack, VersionIsTheNumberOfPushes) {
  boost_stack stack(4);
  const slot_index chain[] = {0, 1, 2};  // NOLINT(modernize-avoid-c-arrays)
  stack.push_chain(chain);
  EXPECT_EQ(stack.version(), 3U);
}

TEST(BoostStack, PolicyNamesIt) {
  EXPECT_TRUE((std::is_same_v<policy::boost_list::stack, boost_stack>));
}

}  // namespace
}  // namespace lido::detail
