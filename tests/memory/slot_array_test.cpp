#include "lido/memory/slot_array.hpp"

#include <gtest/gtest.h>

#include <cstddef>
#include <cstdint>
#include <new>

#include "support/sanitizers.hpp"

namespace lido::detail {
namespace {

struct twelve {
  std::uint32_t words[3];  // NOLINT(modernize-avoid-c-arrays)
};
struct alignas(256) wide {
  char byte;
};

template <class T>
const T* at(const slot_array<T>& slots, slot_index index) {
  return static_cast<const T*>(slots.address_of(index));
}

TEST(SlotArray, SlotsLieSideBySide) {
  const slot_array<twelve> slots(10);
  EXPECT_EQ(at(slots, 9) - at(slots, 0), 9);
}

TEST(SlotArray, IndexOfInvertsAddressOf) {
  const slot_array<twelve> slots(100);
  for (slot_index index = 0; index < 100; ++index) {
    EXPECT_EQ(slots.index_of(at(slots, index)), index);
    EXPECT_EQ(slots.geometry().index_of(at(slots, index)), index);
  }
}

TEST(SlotArray, SlotsHaveTheAlignmentOfTheirType) {
  const slot_array<wide> slots(3);
  for (slot_index index = 0; index < 3; ++index) {
    EXPECT_EQ(reinterpret_cast<std::uintptr_t>(slots.address_of(index)) % alignof(wide), 0U);
  }
}

TEST(SlotArray, FirstSlotStartsACacheLine) {
  EXPECT_EQ(reinterpret_cast<std::uintptr_t>(slot_array<char>(5).address_of(0)) % cache_line, 0U);
}

TEST(SlotArray, OwnsEverySlot) {
  const slot_array<twelve> slots(10);
  for (slot_index index = 0; index < 10; ++index) {
    EXPECT_TRUE(slots.owns(at(slots, index)));
  }
}

TEST(SlotArray, DoesNotOwnThePlacePastTheLastSlot) {
  const slot_array<twelve> slots(10);
  EXPECT_FALSE(slots.owns(at(slots, 0) + 10));
}

TEST(SlotArray, DoesNotOwnThePlaceBeforeTheFirstSlot) {
  const slot_array<twelve> slots(10);
  EXPECT_FALSE(slots.owns(
      reinterpret_cast<const twelve*>(reinterpret_cast<std::uintptr_t>(at(slots, 0)) - 12)));
}

TEST(SlotArray, DoesNotOwnTheMiddleOfASlot) {
  const slot_array<twelve> slots(10);
  EXPECT_FALSE(slots.owns(reinterpret_cast<const twelve*>(&at(slots, 3)->words[1])));
}

TEST(SlotArray, DoesNotOwnNull) {
  EXPECT_FALSE(slot_array<twelve>(10).owns(nullptr));
}

TEST(SlotArray, DoesNotOwnForeignObjects) {
  const twelve foreign{};
  EXPECT_FALSE(slot_array<twelve>(10).owns(&foreign));
}

struct huge {
  char bytes[std::size_t{1} << 32U];  // NOLINT(modernize-avoid-c-arrays)
};

TEST(SlotArray, SizeThatOverflowsIsABadArrayLength) {
  EXPECT_THROW(slot_array<huge>{0x8000'0000U}, std::bad_array_new_length);
}

#if !LIDO_TEST_TSAN && !LIDO_TEST_ASAN  // their allocators end the program instead
TEST(SlotArray, SizeBeyondAllMemoryIsABadAlloc) {
  EXPECT_THROW(slot_array<huge>{0x7FFF'FFFFU}, std::bad_alloc);
}
#endif

}  // namespace
}  // namespace lido::detail
