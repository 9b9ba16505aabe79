#include "lido/slot_map/slot_table.hpp"

#include <gtest/gtest.h>

#include <set>
#include <utility>

namespace lido::detail {
namespace {

using few = slot_table<generations<3>>;

slot_index take(few& table, std::uint32_t place) {
  table.prepare();
  return table.take(place);
}

TEST(SlotTable, FindsThePlaceThatWasTakenFor) {
  few table;
  const slot_index slot = take(table, 5);
  EXPECT_EQ(table.find(slot, 1), 5U);
  table.move(slot, 9);
  EXPECT_EQ(table.find(slot, 1), 9U);
}

TEST(SlotTable, RefusesASlotThatWasNeverThere) {
  const few table;
  EXPECT_EQ(table.find(0, 1), null_slot);
}

TEST(SlotTable, RefusesTheNullHandleWhateverTheSlotHasBeenThrough) {
  few table;
  EXPECT_EQ(table.find(0, 0), null_slot);
  for (int i = 0; i < 5; ++i) {
    const slot_index slot = take(table, 0);
    EXPECT_EQ(table.find(0, 0), null_slot);
    table.give_back(slot);
    EXPECT_EQ(table.find(0, 0), null_slot);
  }
}

TEST(SlotTable, GivesNoPairOfSlotAndGenerationTwice) {
  few table;
  std::set<std::pair<slot_index, std::uint32_t>> given;
  for (int i = 0; i < 100; ++i) {
    const slot_index slot = take(table, 0);
    EXPECT_TRUE(given.insert({slot, table.generation(slot)}).second);
    table.give_back(slot);
    if (i % 10 == 0) {
      table.shrink(0, [](slot_index) { return false; });
    }
  }
}

// As a handle of another map may be.
TEST(SlotTable, AFreeSlotIsFoundByNoGeneration) {
  few table;
  const slot_index first = take(table, 0);
  const slot_index second = take(table, 1);
  table.give_back(second);
  table.give_back(first);
  for (std::uint32_t generation = 0; generation < 4; ++generation) {
    EXPECT_EQ(table.find(first, generation), null_slot);
    EXPECT_EQ(table.find(second, generation), null_slot);
  }
  EXPECT_EQ(take(table, 2), first);
  EXPECT_EQ(table.find(first, 2), 2U);
}

TEST(SlotTable, RetiresASlotAfterItsLastGeneration) {
  few table;
  for (int i = 0; i < 3; ++i) {
    table.give_back(take(table, 0));
  }
  EXPECT_EQ(table.used_up(), 1U);
  EXPECT_EQ(take(table, 0), 1U);
}

TEST(SlotTable, ShrinkKeepsWhatIsTaken) {
  few table;
  const slot_index first = take(table, 10);
  const slot_index second = take(table, 20);
  const slot_index third = take(table, 30);
  table.give_back(first);
  table.give_back(third);
  table.shrink(0, [&](slot_index slot) { return slot == second; });
  EXPECT_EQ(table.find(second, 1), 20U);
  EXPECT_EQ(take(table, 40), first);
  EXPECT_EQ(take(table, 50), third);
  EXPECT_EQ(table.find(third, 1), null_slot);
  EXPECT_EQ(table.find(third, 2), 50U);
}

TEST(SlotTable, ShrinkOfAnEmptyTableGivesAllMemoryBack) {
  few table;
  table.reserve(100);
  table.give_back(take(table, 0));
  table.shrink(0, [](slot_index) { return false; });
  EXPECT_EQ(table.memory(), 0U);
}

}  // namespace
}  // namespace lido::detail
