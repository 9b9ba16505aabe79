#include "lido/freelist/index_stack.hpp"

#include <gtest/gtest.h>

#include <array>
#include <cstdint>
#include <numeric>
#include <span>
#include <vector>

#include "support/drain.hpp"
#include "support/stack_kinds.hpp"

namespace lido::detail {
namespace {

using indices = std::vector<slot_index>;

/// The facts that hold for every stack, seen by one thread.
template <class Stack>
class IndexStack : public ::testing::Test {
 protected:
  static indices pop_all(Stack& stack) {
    indices all;
    for (slot_index index = stack.pop(); index != null_slot; index = stack.pop()) {
      all.push_back(index);
    }
    return all;
  }
};
TYPED_TEST_SUITE(IndexStack, test::all_stacks, test::stack_names);

TYPED_TEST(IndexStack, StartsEmpty) {
  TypeParam stack(4);
  EXPECT_TRUE(stack.empty());
  EXPECT_EQ(stack.pop(), null_slot);
}

TYPED_TEST(IndexStack, PopReturnsTheIndexPushedLast) {
  TypeParam stack(4);
  stack.push(1);
  stack.push(3);
  EXPECT_EQ(stack.pop(), 3U);
  EXPECT_EQ(stack.pop(), 1U);
}

TYPED_TEST(IndexStack, PopOfTheLastIndexLeavesItEmpty) {
  TypeParam stack(4);
  stack.push(2);
  EXPECT_FALSE(stack.empty());
  EXPECT_EQ(stack.pop(), 2U);
  EXPECT_TRUE(stack.empty());
}

TYPED_TEST(IndexStack, HoldsTheFirstAndTheLastIndexOfAnySize) {
  for (const std::uint32_t nodes : {1U, 2U, 3U, 4U, 31U, 32U, 33U, 1000U, 65'535U, 65'536U}) {
    TypeParam stack(nodes);
    stack.push(0);
    EXPECT_EQ(stack.pop(), 0U) << nodes << " nodes";
    stack.push(nodes - 1);
    EXPECT_EQ(stack.pop(), nodes - 1) << nodes << " nodes";
    EXPECT_EQ(stack.pop(), null_slot) << nodes << " nodes";
  }
}

TYPED_TEST(IndexStack, HoldsAllItsIndicesAtOnce) {
  TypeParam stack(1000);
  for (slot_index index = 0; index < 1000; ++index) {
    stack.push(index);
  }
  EXPECT_EQ(test::count_distinct(this->pop_all(stack)), 1000U);
}

TYPED_TEST(IndexStack, StackOfNoNodesIsEmpty) {
  TypeParam stack(0);
  slot_index out = 7;
  EXPECT_TRUE(stack.empty());
  EXPECT_EQ(stack.pop(), null_slot);
  EXPECT_EQ(stack.pop_chain({&out, 1}), 0U);
}

TYPED_TEST(IndexStack, FirstElementOfAChainEndsOnTop) {
  TypeParam stack(4);
  stack.push_chain(indices{2, 0, 3});
  EXPECT_EQ(this->pop_all(stack), (indices{2, 0, 3}));
}

TYPED_TEST(IndexStack, ChainGoesOnTopOfWhatIsThere) {
  TypeParam stack(4);
  stack.push(1);
  stack.push_chain(indices{2, 0});
  EXPECT_EQ(this->pop_all(stack), (indices{2, 0, 1}));
}

TYPED_TEST(IndexStack, ChainOfOneIsAPush) {
  TypeParam stack(4);
  stack.push_chain(indices{3});
  EXPECT_EQ(this->pop_all(stack), indices{3});
}

TYPED_TEST(IndexStack, EmptyChainChangesNothing) {
  TypeParam stack(4);
  stack.push(1);
  const std::uint64_t before = stack.version();
  stack.push_chain({});
  EXPECT_EQ(stack.version(), before);
  EXPECT_EQ(this->pop_all(stack), indices{1});
}

TYPED_TEST(IndexStack, ChainOfAllNodesComesBackWhole) {
  TypeParam stack(256);
  indices all(256);
  std::iota(all.begin(), all.end(), 0U);
  stack.push_chain(all);
  indices out(256);
  EXPECT_EQ(stack.pop_chain(out), 256U);
  EXPECT_EQ(out, all);
}

TYPED_TEST(IndexStack, PopChainTakesFromTheTop) {
  TypeParam stack(8);
  stack.push_chain(indices{5, 4, 3, 2});
  std::array<slot_index, 3> out{};
  EXPECT_EQ(stack.pop_chain(out), 3U);
  EXPECT_EQ(out, (std::array<slot_index, 3>{5, 4, 3}));
  EXPECT_EQ(this->pop_all(stack), indices{2});
}

TYPED_TEST(IndexStack, PopChainStopsAtTheBottom) {
  TypeParam stack(8);
  stack.push_chain(indices{5, 4});
  std::array<slot_index, 4> out{};
  EXPECT_EQ(stack.pop_chain(out), 2U);
  EXPECT_TRUE(stack.empty());
}

TYPED_TEST(IndexStack, PopChainOnEmptyReturnsZero) {
  TypeParam stack(8);
  std::array<slot_index, 4> out{};
  EXPECT_EQ(stack.pop_chain(out), 0U);
}

TYPED_TEST(IndexStack, PopChainIntoNothingTakesNothing) {
  TypeParam stack(8);
  stack.push(1);
  EXPECT_EQ(stack.pop_chain({}), 0U);
  EXPECT_EQ(stack.pop(), 1U);
}

TYPED_TEST(IndexStack, VersionMovesWithEachPush) {
  TypeParam stack(8);
  for (slot_index index = 0; index < 8; ++index) {
    const std::uint64_t before = stack.version();
    stack.push(index);
    EXPECT_NE(stack.version(), before) << "push of " << index;
  }
}

TYPED_TEST(IndexStack, VersionMovesWhenTheSameIndexComesBack) {
  TypeParam stack(1);
  stack.push(0);
  const std::uint64_t before = stack.version();
  (void)stack.pop();
  stack.push(0);
  EXPECT_NE(stack.version(), before);
}

TYPED_TEST(IndexStack, VersionMovesWithAChain) {
  TypeParam stack(8);
  const std::uint64_t before = stack.version();
  stack.push_chain(indices{1, 2, 3});
  EXPECT_NE(stack.version(), before);
}

TYPED_TEST(IndexStack, VersionOfAnEmptyStackTellsOfPushesInBetween) {
  TypeParam stack(1);
  const std::uint64_t before = stack.version();
  stack.push(0);
  (void)stack.pop();
  EXPECT_TRUE(stack.empty());
  EXPECT_NE(stack.version(), before);
}

}  // namespace
}  // namespace lido::detail
