#include "freelist/treiber_list.hpp"

#include <gtest/gtest.h>

#include <array>
#include <cstdint>
#include <numeric>
#include <vector>

#include "support/resident.hpp"
#include "support/sanitizers.hpp"

namespace lido::detail {
namespace {

/// Returns a list that contains all of its indices.
treiber_list full_list(std::uint32_t nodes, unsigned tag_bits = 64) {
  return {nodes, 0, growth::none, tag_bits};
}

treiber_list empty_list(std::uint32_t nodes, unsigned tag_bits = 64) {
  return {nodes, nodes, growth::none, tag_bits};
}

TEST(TreiberList, OwnsFourBytesForEachNode) {
  EXPECT_EQ(empty_list(1000).memory(), 4000U);
}

TEST(TreiberList, TagTakesTheBitsThatTheIndexLeaves) {
  EXPECT_EQ(empty_list(1000).tag_bits(), 54U);
  EXPECT_EQ(empty_list(1).tag_bits(), 63U);
}

TEST(TreiberList, TagCanBeNarrowed) {
  EXPECT_EQ(empty_list(1000, 1).tag_bits(), 1U);
}

TEST(TreiberList, ChainMovesTheVersionLikeOnePush) {
  treiber_list by_chain = empty_list(4);
  treiber_list by_push = empty_list(4);
  const slot_index chain[] = {0, 1, 2};  // NOLINT(modernize-avoid-c-arrays)
  by_chain.push_chain(chain);
  by_push.push(0);
  EXPECT_EQ(by_chain.version(), by_push.version());
}

TEST(TreiberList, PopLeavesTheTagInPlace) {
  treiber_list list = empty_list(2);
  const std::uint64_t never_used = list.version();
  list.push(0);
  (void)list.pop();
  treiber_list other = empty_list(2);
  other.push(1);
  (void)other.pop();
  EXPECT_EQ(list.version(), other.version());
  EXPECT_NE(list.version(), never_used);
}

TEST(TreiberList, VersionOfANarrowTagRepeatsAfterItsWrap) {
  treiber_list list = empty_list(2, 1);
  const std::uint64_t before = list.version();
  for (int push = 0; push < 2; ++push) {
    list.push(0);
    (void)list.pop();
  }
  EXPECT_EQ(list.version(), before);
}

TEST(TreiberList, StartsWithAllIndicesInTheirOrder) {
  for (const std::uint32_t nodes : {1U, 2U, 3U, 4U, 31U, 32U, 1000U, 65'535U, 65'536U}) {
    treiber_list list = full_list(nodes);
    std::vector<slot_index> expected(nodes);
    std::iota(expected.begin(), expected.end(), 0U);
    std::vector<slot_index> all(nodes + 1);
    all.resize(list.pop_chain(all));
    EXPECT_EQ(all, expected);
    EXPECT_TRUE(list.empty());
  }
}

TEST(TreiberList, StartsWithTheIndicesFromTheFirstOn) {
  treiber_list list(1000, 998, growth::none);
  EXPECT_EQ(list.pop(), 998U);
  EXPECT_EQ(list.pop(), 999U);
  EXPECT_EQ(list.pop(), null_slot);
}

TEST(TreiberList, IndicesThatComeBackLieOnThoseNeverUsed) {
  treiber_list list = full_list(4);
  const slot_index first = list.pop();
  const slot_index second = list.pop();
  list.push(first);
  list.push(second);
  std::array<slot_index, 4> all{};
  EXPECT_EQ(list.pop_chain(all), 4U);
  EXPECT_EQ(all, (std::array<slot_index, 4>{1, 0, 2, 3}));
}

TEST(TreiberList, GrowingOneHasRoomForNoneAtFirst) {
  treiber_list list(1000, 1000, growth::by_steps);
  EXPECT_TRUE(list.empty());
  EXPECT_EQ(list.memory(), 0U);
  ASSERT_EQ(list.extend_to(10), 0);
  list.push(9);
  EXPECT_EQ(list.pop(), 9U);
  EXPECT_EQ(list.memory(), 40U);
}

TEST(TreiberList, TwentyMillionIndicesAreNotInMemoryBeforeTheirUse) {
#if LIDO_TEST_TSAN || LIDO_TEST_ASAN
  GTEST_SKIP() << "a sanitizer keeps books on all memory";
#endif
  const std::size_t before = test::resident_bytes();
  treiber_list list = full_list(20'000'000);
  EXPECT_EQ(list.pop(), 0U);
  EXPECT_LT(test::resident_bytes() - before, std::size_t{1} << 20U);
}

}  // namespace
}  // namespace lido::detail
