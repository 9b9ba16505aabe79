#include "lido/concurrency/zeroed_array.hpp"

#include <gtest/gtest.h>

#include <cstddef>
#include <cstdint>

namespace lido::detail {
namespace {

TEST(ZeroedArray, ItemsStayWhereTheyAreWhenMoreCome) {
  zeroed_array<std::uint64_t> array(1'000'000, room::grows);
  EXPECT_EQ(array.size(), 0U);
  ASSERT_EQ(array.extend_to(3), 0);
  array[2] = 5;
  const std::uint64_t* const place = &array[2];
  ASSERT_EQ(array.extend_to(1'000'000), 0);
  EXPECT_EQ(&array[2], place);
  EXPECT_EQ(array[2], 5U);
  EXPECT_EQ(array[999'999], 0U);
  EXPECT_EQ(array.size(), 1'000'000U);
}

TEST(ZeroedArray, ExtendingToLessChangesNothing) {
  zeroed_array<int> array(100, room::grows);
  ASSERT_EQ(array.extend_to(50), 0);
  ASSERT_EQ(array.extend_to(20), 0);
  EXPECT_EQ(array.size(), 50U);
}

TEST(ZeroedArray, ArrayOfNothingIsPossible) {
  zeroed_array<int> array(0, room::grows);
  EXPECT_EQ(array.extend_to(0), 0);
  EXPECT_EQ(array.size(), 0U);
}

}  // namespace
}  // namespace lido::detail
