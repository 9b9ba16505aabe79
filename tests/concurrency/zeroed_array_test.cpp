#include "lido/concurrency/zeroed_array.hpp"

#include <gtest/gtest.h>

#include <array>
#include <bit>
#include <cstddef>
#include <cstdint>
#include <new>

namespace lido::detail {
namespace {

TEST(ZeroedArray, ItemsStayWhereTheyAreWhenMoreCome) {
  zeroed_array<std::uint64_t> array(1'000'000, growth::by_steps);
  EXPECT_EQ(array.size(), 0U);
  ASSERT_EQ(array.extend_to(3), 0);
  array[2] = 5;
  const std::uint64_t* const item = &array[2];
  ASSERT_EQ(array.extend_to(1'000'000), 0);
  EXPECT_EQ(&array[2], item);
  EXPECT_EQ(array[2], 5U);
  EXPECT_EQ(array[999'999], 0U);
  EXPECT_EQ(array.size(), 1'000'000U);
}

TEST(ZeroedArray, ExtendingToLessChangesNothing) {
  zeroed_array<int> array(100, growth::by_steps);
  ASSERT_EQ(array.extend_to(50), 0);
  ASSERT_EQ(array.extend_to(20), 0);
  EXPECT_EQ(array.size(), 50U);
}

// From the heap and from the system.
TEST(ZeroedArray, FixedOneIsAlignedZerosOfAnySize) {
  struct alignas(128) item {
    std::array<std::uint64_t, 16> words;
  };
  for (const std::size_t items : {1U, 10U, 127U, 128U, 1000U}) {
    const zeroed_array<item> array(items, growth::none);
    EXPECT_EQ(array.size(), items);
    EXPECT_EQ(std::bit_cast<std::uintptr_t>(&array[0]) % alignof(item), 0U);
    EXPECT_EQ(array[0].words.front(), 0U);
    EXPECT_EQ(array[items - 1].words.back(), 0U);
  }
}

TEST(ZeroedArray, TooLargeOneIsRefused) {
  EXPECT_THROW(zeroed_array<std::uint64_t>(SIZE_MAX / 8, growth::none), std::bad_alloc);
  EXPECT_THROW(zeroed_array<std::uint64_t>(SIZE_MAX / 2, growth::none), std::bad_alloc);
}

TEST(ZeroedArray, ArrayOfNothingIsPossible) {
  zeroed_array<int> array(0, growth::by_steps);
  EXPECT_EQ(array.extend_to(0), 0);
  EXPECT_EQ(array.size(), 0U);
  EXPECT_EQ(zeroed_array<int>(0, growth::none).size(), 0U);
}

}  // namespace
}  // namespace lido::detail
