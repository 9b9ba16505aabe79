#include "lido/base/huge_pages.hpp"

#include <gtest/gtest.h>

#include <cstdint>
#include <limits>
#include <utility>
#include <vector>

#include "lido/slot_map.hpp"
#include "support/address.hpp"

namespace lido::detail {
namespace {

using test::address;

TEST(HugePages, SmallArraysAreLeftAlone) {
  EXPECT_EQ(array_bytes(huge_page - 1), huge_page - 1);
  EXPECT_EQ(array_alignment(huge_page - 1, 64), 64U);
}

TEST(HugePages, AtMostAnEighthIsAdded) {
  EXPECT_EQ(array_bytes(huge_page), huge_page);
  EXPECT_EQ(array_bytes(huge_page + 1), huge_page + 1);
  EXPECT_EQ(array_bytes(8 * huge_page + 1), 9 * huge_page);
  EXPECT_EQ(array_bytes(std::numeric_limits<std::size_t>::max()),
            std::numeric_limits<std::size_t>::max());
}

TEST(HugePages, ALargerAlignmentIsKept) {
  EXPECT_EQ(array_alignment(huge_page, 64), huge_page);
  EXPECT_EQ(array_alignment(huge_page, 2 * huge_page), 2 * huge_page);
}

TEST(HugePages, AVectorMayBeOfAnySize) {
  std::vector<std::uint64_t, array_allocator<std::uint64_t>> all;
  for (std::uint64_t i = 0; i < huge_page / 4; ++i) {
    all.push_back(i);
  }
  EXPECT_EQ(address(all.data()) % huge_page, 0U);
  EXPECT_EQ(all.back(), huge_page / 4 - 1);
  EXPECT_THROW(
      (void)array_allocator<std::uint64_t>().allocate(std::numeric_limits<std::size_t>::max() / 4),
      std::bad_array_new_length);
}

// They do also when the map grows, and when it gives memory back.
TEST(HugePages, TheValuesOfALargeMapLieOnThem) {
  slot_map<std::uint64_t> map;
  const std::uint32_t many = 1'000'000;
  std::vector<slot_handle<std::uint64_t>> all;
  for (std::uint64_t i = 0; i < many; ++i) {
    all.push_back(map.insert(i));
  }
  EXPECT_EQ(address(map.find(all[0])) % huge_page, 0U);
  for (std::uint32_t i = many / 2; i < many; ++i) {
    map.erase(all[i]);
  }
  map.shrink_to_fit();
  EXPECT_EQ(address(map.find(all[0])) % huge_page, 0U);
  for (std::uint32_t i = 0; i < many; ++i) {
    const std::uint64_t* const found = map.find(all[i]);
    ASSERT_EQ(found != nullptr, i < many / 2);
    ASSERT_TRUE(found == nullptr || *found == i);
  }
}

// A map keeps the option when it grows and shrinks, and passes it on.
TEST(HugePages, AMapDoesWithoutThemIfItsOptionsSaySo) {
  using map_type = slot_map<std::uint64_t>;
  const auto lies_on_them = [](map_type& map) { return address(&*map.begin()) % huge_page == 0; };
  map_type map({.reserve = 400'000, .huge_pages = false});
  const auto first = map.insert(0);
  EXPECT_FALSE(lies_on_them(map));
  for (std::uint64_t i = 1; i < 1'000'000; ++i) {
    (void)map.insert(i);
  }
  EXPECT_FALSE(lies_on_them(map));
  map_type copy(map);
  EXPECT_FALSE(lies_on_them(copy));
  copy.restore(map.snapshot());
  EXPECT_FALSE(lies_on_them(copy));
  copy.erase_if([](std::uint64_t value) { return value >= 500'000; });
  copy.shrink_to_fit();
  EXPECT_FALSE(lies_on_them(copy));
  map_type moved(std::move(map));
  // NOLINTNEXTLINE(bugprone-use-after-move): it keeps its options
  map.reserve(400'000);
  (void)map.insert(1);
  EXPECT_FALSE(lies_on_them(map));
  map_type huge;
  huge.swap(moved);
  EXPECT_EQ(huge.at(first), 0U);
  moved.reserve(400'000);
  (void)moved.insert(1);
  EXPECT_TRUE(lies_on_them(moved));
  moved = std::move(huge);
  EXPECT_EQ(moved.at(first), 0U);
}

}  // namespace
}  // namespace lido::detail
