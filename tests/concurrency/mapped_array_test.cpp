#include "lido/concurrency/mapped_array.hpp"

#include <gtest/gtest.h>

#include <array>
#include <cerrno>
#include <cstddef>
#include <cstdint>
#include <new>

namespace lido::detail {
namespace {

TEST(MappedArray, ItemsStayWhereTheyAreWhenMoreCome) {
  mapped_array<std::uint64_t> array(1'000'000);
  EXPECT_EQ(array.size(), 0U);
  ASSERT_EQ(array.extend_to(3), 0);
  array[2] = 5;
  const std::uint64_t* const place = &array[2];
  ASSERT_EQ(array.extend_to(1'000'000), 0);
  EXPECT_EQ(&array[2], place);
  EXPECT_EQ(array[2], 5U);
  EXPECT_EQ(array[999'999], 0U);
  EXPECT_EQ(array.size(), 1'000'000U);
  EXPECT_EQ(array.memory(), 8'000'000U);
}

TEST(MappedArray, ExtendingToLessChangesNothing) {
  mapped_array<int> array(100);
  ASSERT_EQ(array.extend_to(50), 0);
  ASSERT_EQ(array.extend_to(20), 0);
  EXPECT_EQ(array.size(), 50U);
}

TEST(MappedArray, ArrayOfNothingIsPossible) {
  mapped_array<int> array(0);
  EXPECT_EQ(array.extend_to(0), 0);
  EXPECT_EQ(array.size(), 0U);
}

struct counted {
  static inline int alive = 0;
  counted() { ++alive; }
  counted(const counted&) = delete;
  counted& operator=(const counted&) = delete;
  ~counted() { --alive; }
};

TEST(MappedArray, ItemsThatExistAreDestroyedAndNoOthers) {
  {
    mapped_array<counted> array(100);
    ASSERT_EQ(array.extend_to(7), 0);
    ASSERT_EQ(array.extend_to(10), 0);
    EXPECT_EQ(counted::alive, 10);
  }
  EXPECT_EQ(counted::alive, 0);
}

}  // namespace
}  // namespace lido::detail
