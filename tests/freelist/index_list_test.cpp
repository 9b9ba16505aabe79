#include "lido/freelist/index_list.hpp"

#include <gtest/gtest.h>

#include <array>
#include <cstdint>
#include <numeric>
#include <span>
#include <vector>

#include "support/drain.hpp"
#include "support/list_kinds.hpp"

namespace lido::detail {
namespace {

using indices = std::vector<slot_index>;

/// The facts that hold for every list, seen by one thread.
class IndexList : public ::testing::TestWithParam<test::list_kind> {
 protected:
  static indices pop_all(index_list& list) {
    indices all;
    for (slot_index index = list.pop(); index != null_slot; index = list.pop()) {
      all.push_back(index);
    }
    return all;
  }
};
INSTANTIATE_TEST_SUITE_P(Each, IndexList, ::testing::ValuesIn(test::all_lists()), test::list_name);

TEST_P(IndexList, StartsEmpty) {
  const auto list = GetParam().make_empty(4);
  EXPECT_TRUE(list->empty());
  EXPECT_EQ(list->pop(), null_slot);
}

TEST_P(IndexList, PopReturnsTheIndexPushedLast) {
  const auto list = GetParam().make_empty(4);
  list->push(1);
  list->push(3);
  EXPECT_EQ(list->pop(), 3U);
  EXPECT_EQ(list->pop(), 1U);
}

TEST_P(IndexList, PopOfTheLastIndexLeavesItEmpty) {
  const auto list = GetParam().make_empty(4);
  list->push(2);
  EXPECT_FALSE(list->empty());
  EXPECT_EQ(list->pop(), 2U);
  EXPECT_TRUE(list->empty());
}

TEST_P(IndexList, HoldsTheFirstAndTheLastIndexOfAnySize) {
  for (const std::uint32_t nodes : {1U, 2U, 3U, 4U, 31U, 32U, 33U, 1000U, 65'535U, 65'536U}) {
    const auto list = GetParam().make_empty(nodes);
    list->push(0);
    EXPECT_EQ(list->pop(), 0U) << nodes << " nodes";
    list->push(nodes - 1);
    EXPECT_EQ(list->pop(), nodes - 1) << nodes << " nodes";
    EXPECT_EQ(list->pop(), null_slot) << nodes << " nodes";
  }
}

TEST_P(IndexList, HoldsAllItsIndicesAtOnce) {
  const auto list = GetParam().make_empty(1000);
  for (slot_index index = 0; index < 1000; ++index) {
    list->push(index);
  }
  EXPECT_EQ(test::count_distinct(pop_all(*list)), 1000U);
}

TEST_P(IndexList, ListOfNoNodesIsEmpty) {
  const auto list = GetParam().make_empty(0);
  slot_index out = 7;
  EXPECT_TRUE(list->empty());
  EXPECT_EQ(list->pop(), null_slot);
  EXPECT_EQ(list->pop_chain({&out, 1}), 0U);
}

TEST_P(IndexList, FirstElementOfAChainEndsOnTop) {
  const auto list = GetParam().make_empty(4);
  list->push_chain(indices{2, 0, 3});
  EXPECT_EQ(pop_all(*list), (indices{2, 0, 3}));
}

TEST_P(IndexList, ChainGoesOnTopOfWhatIsThere) {
  const auto list = GetParam().make_empty(4);
  list->push(1);
  list->push_chain(indices{2, 0});
  EXPECT_EQ(pop_all(*list), (indices{2, 0, 1}));
}

TEST_P(IndexList, ChainOfOneIsAPush) {
  const auto list = GetParam().make_empty(4);
  list->push_chain(indices{3});
  EXPECT_EQ(pop_all(*list), indices{3});
}

TEST_P(IndexList, EmptyChainChangesNothing) {
  const auto list = GetParam().make_empty(4);
  list->push(1);
  const std::uint64_t before = list->version();
  list->push_chain({});
  EXPECT_EQ(list->version(), before);
  EXPECT_EQ(pop_all(*list), indices{1});
}

TEST_P(IndexList, ChainOfAllNodesComesBackWhole) {
  const auto list = GetParam().make_empty(256);
  indices all(256);
  std::iota(all.begin(), all.end(), 0U);
  list->push_chain(all);
  indices out(256);
  EXPECT_EQ(list->pop_chain(out), 256U);
  EXPECT_EQ(out, all);
}

TEST_P(IndexList, PopChainTakesFromTheTop) {
  const auto list = GetParam().make_empty(8);
  list->push_chain(indices{5, 4, 3, 2});
  std::array<slot_index, 3> out{};
  EXPECT_EQ(list->pop_chain(out), 3U);
  EXPECT_EQ(out, (std::array<slot_index, 3>{5, 4, 3}));
  EXPECT_EQ(pop_all(*list), indices{2});
}

TEST_P(IndexList, PopChainStopsAtTheBottom) {
  const auto list = GetParam().make_empty(8);
  list->push_chain(indices{5, 4});
  std::array<slot_index, 4> out{};
  EXPECT_EQ(list->pop_chain(out), 2U);
  EXPECT_TRUE(list->empty());
}

TEST_P(IndexList, PopChainOnEmptyReturnsZero) {
  const auto list = GetParam().make_empty(8);
  std::array<slot_index, 4> out{};
  EXPECT_EQ(list->pop_chain(out), 0U);
}

TEST_P(IndexList, PopChainIntoNothingTakesNothing) {
  const auto list = GetParam().make_empty(8);
  list->push(1);
  EXPECT_EQ(list->pop_chain({}), 0U);
  EXPECT_EQ(list->pop(), 1U);
}

TEST_P(IndexList, VersionMovesWithEachPush) {
  const auto list = GetParam().make_empty(8);
  for (slot_index index = 0; index < 8; ++index) {
    const std::uint64_t before = list->version();
    list->push(index);
    EXPECT_NE(list->version(), before) << "push of " << index;
  }
}

TEST_P(IndexList, VersionMovesWhenTheSameIndexComesBack) {
  const auto list = GetParam().make_empty(1);
  list->push(0);
  const std::uint64_t before = list->version();
  (void)list->pop();
  list->push(0);
  EXPECT_NE(list->version(), before);
}

TEST_P(IndexList, VersionMovesWithAChain) {
  const auto list = GetParam().make_empty(8);
  const std::uint64_t before = list->version();
  list->push_chain(indices{1, 2, 3});
  EXPECT_NE(list->version(), before);
}

TEST_P(IndexList, VersionOfAnEmptyListTellsOfPushesInBetween) {
  const auto list = GetParam().make_empty(1);
  const std::uint64_t before = list->version();
  list->push(0);
  (void)list->pop();
  EXPECT_TRUE(list->empty());
  EXPECT_NE(list->version(), before);
}

}  // namespace
}  // namespace lido::detail
