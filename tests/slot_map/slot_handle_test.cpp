#include "lido/slot_map/slot_handle.hpp"

#include <gtest/gtest.h>

#include <type_traits>
#include <unordered_set>

namespace lido {
namespace {

using number_handle = slot_handle<int>;

TEST(SlotHandle, DefaultOneIsNull) {
  EXPECT_FALSE(number_handle());
  EXPECT_EQ(number_handle().to_bits(), 0U);
}

TEST(SlotHandle, BitsThereAndBackAreTheSame) {
  const number_handle there(7, 0xFFFF'FFFE);
  EXPECT_EQ(number_handle::from_bits(there.to_bits()), there);
  EXPECT_EQ(there.index(), 7U);
  EXPECT_EQ(there.generation(), 0xFFFF'FFFE);
  EXPECT_TRUE(there);
}

TEST(SlotHandle, HasSixtyFourBitsAndIsTrivial) {
  static_assert(sizeof(number_handle) == 8 && std::is_trivially_copyable_v<number_handle>);
}

TEST(SlotHandle, HandlesOfOtherTypesAreOtherTypes) {
  static_assert(!std::is_convertible_v<slot_handle<long>, number_handle>);
}

TEST(SlotHandle, GoesIntoOrderedAndUnorderedSets) {
  const std::unordered_set<number_handle> set{number_handle(1, 1), number_handle(1, 2),
                                              number_handle(2, 1), number_handle(1, 1)};
  EXPECT_EQ(set.size(), 3U);
  EXPECT_LT(number_handle(1, 1), number_handle(2, 1));
}

/// A type that contains a handle of itself while it is still incomplete.
struct node {
  slot_handle<node> next;
};

TEST(SlotHandle, NeedsNoCompleteType) {
  EXPECT_FALSE(node().next);
}

}  // namespace
}  // namespace lido
