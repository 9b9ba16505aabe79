#include "lido/slot_map/slot_handle.hpp"

#include <gtest/gtest.h>

#include <type_traits>
#include <unordered_set>

namespace lido {
namespace {

using handle = slot_handle<int>;

TEST(SlotHandle, DefaultOneIsNull) {
  EXPECT_FALSE(handle());
  EXPECT_EQ(handle().to_bits(), 0U);
}

TEST(SlotHandle, BitsThereAndBackAreTheSame) {
  const handle there(7, 0xFFFF'FFFE);
  EXPECT_EQ(handle::from_bits(there.to_bits()), there);
  EXPECT_EQ(there.index(), 7U);
  EXPECT_EQ(there.generation(), 0xFFFF'FFFE);
  EXPECT_TRUE(there);
}

TEST(SlotHandle, HasSixtyFourBitsAndIsTrivial) {
  static_assert(sizeof(handle) == 8 && std::is_trivially_copyable_v<handle>);
}

TEST(SlotHandle, HandlesOfOtherTypesAreOtherTypes) {
  static_assert(!std::is_convertible_v<slot_handle<long>, handle>);
}

TEST(SlotHandle, GoesIntoOrderedAndUnorderedSets) {
  const std::unordered_set<handle> set{handle(1, 1), handle(1, 2), handle(2, 1), handle(1, 1)};
  EXPECT_EQ(set.size(), 3U);
  EXPECT_LT(handle(1, 1), handle(2, 1));
}

/// A handle of its own type inside a type: the type is not complete yet.
struct node {
  slot_handle<node> next;
};

TEST(SlotHandle, NeedsNoCompleteType) {
  EXPECT_FALSE(node().next);
}

}  // namespace
}  // namespace lido
