#include "lido/freelist/treiber_stack.hpp"

#include <gtest/gtest.h>

namespace lido::detail {
namespace {

TEST(TreiberStack, OwnsFourBytesForEachNode) {
  EXPECT_EQ(treiber_stack<>(1000).memory(), 4000U);
}

TEST(TreiberStack, TagTakesTheBitsThatTheIndexLeaves) {
  EXPECT_EQ(treiber_stack<>(1000).tag_bits(), 54U);
  EXPECT_EQ(treiber_stack<>(1).tag_bits(), 63U);
}

TEST(TreiberStack, TagCanBeNarrowed) {
  EXPECT_EQ(treiber_stack<1>(1000).tag_bits(), 1U);
}

TEST(TreiberStack, ChainMovesTheVersionLikeOnePush) {
  treiber_stack<> by_chain(4);
  treiber_stack<> by_push(4);
  const slot_index chain[] = {0, 1, 2};  // NOLINT(modernize-avoid-c-arrays)
  by_chain.push_chain(chain);
  by_push.push(0);
  EXPECT_EQ(by_chain.version(), by_push.version());
}

TEST(TreiberStack, PopLeavesTheTagInPlace) {
  treiber_stack<> stack(2);
  const std::uint64_t never_used = stack.version();
  stack.push(0);
  (void)stack.pop();
  treiber_stack<> other(2);
  other.push(1);
  (void)other.pop();
  EXPECT_EQ(stack.version(), other.version());
  EXPECT_NE(stack.version(), never_used);
}

TEST(TreiberStack, VersionOfANarrowTagRepeatsAfterItsWrap) {
  treiber_stack<1> stack(2);
  const std::uint64_t before = stack.version();
  for (int push = 0; push < 2; ++push) {
    stack.push(0);
    (void)stack.pop();
  }
  EXPECT_EQ(stack.version(), before);
}

}  // namespace
}  // namespace lido::detail
