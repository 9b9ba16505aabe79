#include "lido/magazine/slot_census.hpp"

#include <gtest/gtest.h>

#include <algorithm>
#include <array>
#include <functional>
#include <numeric>
#include <random>
#include <set>
#include <utility>
#include <vector>

namespace lido::detail {
namespace {

std::vector<slot_index> take_all(slot_census& census) {
  std::vector<slot_index> all;
  std::array<slot_index, 64> chunk;
  std::uint64_t end = census.end();
  while (const std::size_t count = census.take_highest(chunk, end)) {
    all.insert(all.end(), chunk.begin(), chunk.begin() + static_cast<std::ptrdiff_t>(count));
  }
  return all;
}

TEST(SlotCensus, GivesBackWhatItWasTold) {
  slot_census census(1000);
  ASSERT_EQ(census.extend_to(1000), 0);
  std::set<slot_index, std::greater<>> told;
  std::minstd_rand random(1);
  for (int i = 0; i < 300; ++i) {
    const slot_index slot = static_cast<slot_index>(random() % 1000);
    told.insert(slot);
    census.insert({&slot, 1});
  }
  EXPECT_EQ(take_all(census), std::vector<slot_index>(told.begin(), told.end())) << "descending";
  EXPECT_TRUE(take_all(census).empty());
}

TEST(SlotCensus, KnowsWhetherARangeIsComplete) {
  slot_census census(400);
  ASSERT_EQ(census.extend_to(400), 0);
  for (const auto& [first, last] :
       {std::pair{0U, 64U}, {64U, 400U}, {3U, 7U}, {60U, 70U}, {100U, 101U}, {127U, 257U}}) {
    std::vector<slot_index> range(last - first);
    std::iota(range.begin(), range.end(), first);
    for (const slot_index missing : range) {
      census.insert(range);
      ASSERT_TRUE(census.holds_all(first, last));
      census.erase(missing, missing + 1);
      ASSERT_FALSE(census.holds_all(first, last)) << first << " " << last << " " << missing;
      census.erase(first, last);
      ASSERT_TRUE(take_all(census).empty());
    }
  }
}

TEST(SlotCensus, ErasesNothingBeside) {
  slot_census census(256);
  ASSERT_EQ(census.extend_to(256), 0);
  std::vector<slot_index> all(256);
  std::iota(all.begin(), all.end(), 0U);
  census.insert(all);
  census.erase(65, 190);
  EXPECT_TRUE(census.holds_all(0, 65));
  EXPECT_TRUE(census.holds_all(190, 256));
  EXPECT_EQ(take_all(census).size(), 256U - 125U);
}

}  // namespace
}  // namespace lido::detail
