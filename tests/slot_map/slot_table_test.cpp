#include "lido/slot_map/slot_table.hpp"

#include <gtest/gtest.h>

#include <cstdint>
#include <set>

namespace lido::detail {
namespace {

using few = slot_table<3>;

std::uint32_t find(const few& table, slot_index slot, std::uint32_t generation) {
  return table.find(std::uint64_t{generation} << 32U | slot);
}

slot_index take(few& table, std::uint32_t index) {
  table.prepare();
  const slot_index slot = table.claim(index);
  table.fill(table.next_handle(slot), index);
  return slot;
}

void give_back(few& table, slot_index slot) {
  table.vacate(table.handle(slot), table.index_or_any(slot));
  table.give_up_index(slot);
}

TEST(SlotTable, FindsTheSlotThatWasTakenFor) {
  few table;
  const slot_index slot = take(table, 5);
  EXPECT_EQ(find(table, slot, 1), 5U);
  table.move(slot, 9);
  EXPECT_EQ(find(table, slot, 1), 9U);
}

TEST(SlotTable, RefusesASlotThatWasNeverThere) {
  const few table;
  EXPECT_EQ(find(table, 0, 1), null_slot);
}

TEST(SlotTable, RefusesTheNullHandleWhateverTheSlotHasBeenThrough) {
  few table;
  EXPECT_EQ(find(table, 0, 0), null_slot);
  for (int i = 0; i < 5; ++i) {
    const slot_index slot = take(table, 0);
    EXPECT_EQ(find(table, 0, 0), null_slot);
    give_back(table, slot);
    EXPECT_EQ(find(table, 0, 0), null_slot);
  }
}

TEST(SlotTable, GivesNoPairOfSlotAndGenerationTwice) {
  few table;
  std::set<std::uint64_t> given;
  for (int i = 0; i < 100; ++i) {
    const slot_index slot = take(table, 0);
    EXPECT_TRUE(given.insert(table.handle(slot)).second);
    give_back(table, slot);
    if (i % 10 == 0) {
      table.shrink(0, [](slot_index) { return false; });
    }
  }
}

TEST(SlotTable, AVacantSlotKeepsItsPlaceForItsNextValue) {
  few table;
  const slot_index first = take(table, 5);
  const slot_index second = take(table, 6);
  table.vacate(table.handle(first), 5);
  for (std::uint32_t generation = 0; generation < 5; ++generation) {
    EXPECT_EQ(find(table, first, generation), null_slot);
  }
  EXPECT_EQ(table.index_or_any(first), 5U);
  EXPECT_EQ(table.prepare_to_fill(first), first);
  EXPECT_EQ(table.next_handle(first), std::uint64_t{2} << 32U | first);
  table.fill(table.next_handle(first), 5);
  EXPECT_EQ(find(table, first, 2), 5U);
  EXPECT_EQ(find(table, second, 1), 6U);
  EXPECT_NE(take(table, 7), first) << "a vacant slot was free, too";
}

TEST(SlotTable, AVacantSlotThatIsUsedUpLeavesItsPlaceToAnother) {
  few table;
  const slot_index slot = take(table, 9);
  for (std::uint32_t generation = 1; generation <= 3; ++generation) {
    EXPECT_EQ(find(table, slot, generation), 9U);
    table.vacate(table.handle(slot), 9);
    EXPECT_EQ(table.used_up(), generation / 3);
    const std::uint64_t handle = table.next_handle(table.prepare_to_fill(slot));
    table.fill(handle, 9);
    EXPECT_EQ(table.find(handle), 9U);
    EXPECT_EQ(static_cast<slot_index>(handle) == slot, generation < 3);
  }
  EXPECT_EQ(table.used_up(), 1U);
  EXPECT_EQ(find(table, slot, 3), null_slot);
}

TEST(SlotTable, ASlotThatGivesUpItsPlaceIsFreeUnlessUsedUp) {
  few table;
  for (std::uint32_t generation = 1; generation <= 3; ++generation) {
    EXPECT_EQ(take(table, 4), 0U);
    EXPECT_EQ(find(table, 0, generation), 4U);
    table.vacate(table.handle(0), 4);
    table.give_up_index(0);
    EXPECT_EQ(find(table, 0, generation + 1), null_slot);
  }
  EXPECT_EQ(table.used_up(), 1U);
  EXPECT_EQ(take(table, 4), 1U);
}

// A handle of another map may name such a slot.
TEST(SlotTable, AFreeSlotIsFoundByNoGeneration) {
  few table;
  const slot_index first = take(table, 0);
  const slot_index second = take(table, 1);
  give_back(table, second);
  give_back(table, first);
  for (std::uint32_t generation = 0; generation < 4; ++generation) {
    EXPECT_EQ(find(table, first, generation), null_slot);
    EXPECT_EQ(find(table, second, generation), null_slot);
  }
  EXPECT_EQ(take(table, 2), first);
  EXPECT_EQ(find(table, first, 2), 2U);
}

// The bits of a handle and of an index share one word.
TEST(SlotTable, PlaceAndSlotMayBeAnyNumbers) {
  few table;
  for (const std::uint32_t index : {0U, 1U, 77U, 0x7FFF'FFFFU, 0x8000'0000U, 0xFFFF'FFFEU}) {
    const slot_index slot = take(table, index);
    EXPECT_EQ(table.find(table.handle(slot)), index);
    EXPECT_EQ(table.index_or_any(slot), index);
    table.move(slot, index / 2);
    EXPECT_EQ(table.find(table.handle(slot)), index / 2);
    EXPECT_EQ(table.find(table.handle(slot) + (std::uint64_t{1} << 32U)), null_slot);
  }
}

TEST(SlotTable, RetiresASlotAfterItsLastGeneration) {
  few table;
  for (int i = 0; i < 3; ++i) {
    give_back(table, take(table, 0));
  }
  EXPECT_EQ(table.used_up(), 1U);
  EXPECT_EQ(take(table, 0), 1U);
}

TEST(SlotTable, ShrinkKeepsWhatIsTaken) {
  few table;
  const slot_index first = take(table, 10);
  const slot_index second = take(table, 20);
  const slot_index third = take(table, 30);
  give_back(table, first);
  give_back(table, third);
  table.shrink(0, [&](slot_index slot) { return slot == second; });
  EXPECT_EQ(find(table, second, 1), 20U);
  EXPECT_EQ(take(table, 40), first);
  EXPECT_EQ(take(table, 50), third);
  EXPECT_EQ(find(table, third, 1), null_slot);
  EXPECT_EQ(find(table, third, 2), 50U);
}

TEST(SlotTable, ShrinkOfAnEmptyTableGivesAllMemoryBack) {
  few table;
  table.reserve(100);
  give_back(table, take(table, 0));
  table.shrink(0, [](slot_index) { return false; });
  EXPECT_EQ(table.memory(), 0U);
}

}  // namespace
}  // namespace lido::detail
