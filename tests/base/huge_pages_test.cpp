#include "lido/base/huge_pages.hpp"

#include <gtest/gtest.h>

#include <cstdint>
#include <limits>
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

}  // namespace
}  // namespace lido::detail
