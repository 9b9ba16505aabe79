#include "lido/base/slot_index.hpp"

#include <gtest/gtest.h>

#include <cstddef>
#include <cstdint>
#include <vector>

namespace lido::detail {
namespace {

// Only addresses are computed, so an address far beyond any real object will do.
std::byte* far_away() {
  // NOLINTNEXTLINE(performance-no-int-to-ptr)
  return reinterpret_cast<std::byte*>(std::uintptr_t{1} << sizeof(std::uintptr_t) * 4);
}

TEST(SlotGeometry, FirstSlotIsAtTheBase) {
  EXPECT_EQ(slot_geometry(far_away(), 24).address_of(0), far_away());
}

TEST(SlotGeometry, SlotsAreAStrideApart) {
  EXPECT_EQ(slot_geometry(far_away(), 24).address_of(7), far_away() + std::ptrdiff_t{7} * 24);
}

TEST(SlotGeometry, IndexOfInvertsAddressOfForEveryStrideUpTo4096) {
  for (std::size_t stride = 1; stride <= 4096; ++stride) {
    const slot_geometry slots(far_away(), stride);
    for (const slot_index index : {0U, 1U, 2U, 31U, 1000U, 65'535U, 524'289U}) {
      ASSERT_EQ(slots.index_of(slots.address_of(index)), index) << "stride " << stride;
    }
  }
}

#if SIZE_MAX > 0xFFFF'FFFF  // no 32-bit system has such sizes
TEST(SlotGeometry, IndexOfInvertsAddressOfAtTheLargestIndex) {
  for (const std::size_t stride : std::vector<std::size_t>{1, 3, 24, 64, 4096, 12'345}) {
    const slot_geometry slots(far_away(), stride);
    EXPECT_EQ(slots.index_of(slots.address_of(max_capacity - 1)), max_capacity - 1)
        << "stride " << stride;
  }
}

TEST(SlotGeometry, StrideMayBeLargerThanFourGigabytes) {
  for (const std::size_t stride : {(std::size_t{1} << 33U) + 8, (std::size_t{3} << 31U) + 24}) {
    const slot_geometry slots(far_away(), stride);
    EXPECT_EQ(slots.index_of(slots.address_of(1000)), 1000U) << "stride " << stride;
  }
}
#endif

}  // namespace
}  // namespace lido::detail
