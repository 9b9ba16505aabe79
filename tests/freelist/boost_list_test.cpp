#include "lido/freelist/boost_list.hpp"

#include <gtest/gtest.h>

namespace lido::detail {
namespace {

TEST(BoostList, CountsACacheLineForEachNode) {
  EXPECT_EQ(boost_index_list(100, 0).memory(), 6400U);
}

TEST(BoostList, VersionIsTheNumberOfPushes) {
  boost_index_list list(4, 4);
  const slot_index chain[] = {0, 1, 2};  // NOLINT(modernize-avoid-c-arrays)
  list.push_chain(chain);
  EXPECT_EQ(list.version(), 3U);
}

TEST(BoostList, StartsWithTheIndicesFromTheFirstOn) {
  const auto list = boost_list()->make(4, 2, growth::none);
  EXPECT_EQ(list->pop(), 2U);
  EXPECT_EQ(list->pop(), 3U);
  EXPECT_EQ(list->pop(), null_slot);
}

TEST(BoostList, CannotGrow) {
  EXPECT_FALSE(boost_list()->can_grow());
  EXPECT_EQ(boost_list()->make(4, 0, growth::none)->extend_to(8), ENOTSUP);
}

}  // namespace
}  // namespace lido::detail
