#include "lido/object/use_tracking.hpp"

#include <gtest/gtest.h>

#include <type_traits>

namespace lido::detail {
namespace {

TEST(UseTracking, StartsWithNothingUsed) {
  const use_tracking<true> tracking(10);
  for (slot_index slot = 0; slot < 10; ++slot) {
    EXPECT_FALSE(tracking.is_used(slot));
  }
}

TEST(UseTracking, RemembersEachSlotByItself) {
  use_tracking<true> tracking(10);
  tracking.mark_used(3);
  tracking.mark_used(4);
  tracking.mark_free(3);
  EXPECT_FALSE(tracking.is_used(3));
  EXPECT_TRUE(tracking.is_used(4));
  EXPECT_FALSE(tracking.is_used(5));
}

TEST(UseTracking, WithoutTrackingThereIsNothingToStore) {
  EXPECT_TRUE(std::is_empty_v<use_tracking<false>>);
}

}  // namespace
}  // namespace lido::detail
