// The handles passed to hooks of slot maps, and the defaults without hooks.
#include <gtest/gtest.h>

#include <optional>
#include <utility>
#include <vector>

#include "lido/concurrent_slot_map.hpp"
#include "lido/slot_map.hpp"

namespace lido {
namespace {

using number_handle = slot_handle<int>;
using number_handles = std::vector<number_handle>;

/// Hooks that record the handles.
struct scribe {
  number_handles* inserted;
  number_handles* erased;
  number_handles* moved;
  void on_insert(int& /*value*/, number_handle which) const { inserted->push_back(which); }
  void on_erase(int& /*value*/, number_handle which) const noexcept { erased->push_back(which); }
  void on_move(int& /*value*/, number_handle which) const noexcept { moved->push_back(which); }
};

class SlotMapTold : public ::testing::Test {
 protected:
  // NOLINTBEGIN(*-non-private-member-*,readability-identifier-naming)
  number_handles inserted;
  number_handles erased;
  number_handles moved;
  // NOLINTEND(*-non-private-member-*,readability-identifier-naming)
  [[nodiscard]] scribe hooks() { return {&inserted, &erased, &moved}; }
};

TEST_F(SlotMapTold, HooksGetTheHandleOfTheirValue) {
  slot_map<int, scribe> map({.reserve = 2, .compaction = compaction_mode::immediate}, hooks());
  const number_handle one = map.insert(1);
  const number_handle two = map.insert(2);
  EXPECT_EQ(inserted, (number_handles{one, two}));
  map.erase(one);
  EXPECT_EQ(erased, number_handles{one});
  EXPECT_EQ(moved, number_handles{two}) << "it fills the hole";
}

TEST_F(SlotMapTold, AnInsertThatMakesTheArrayGrowTellsThatValuesMove) {
  slot_map<int, scribe> map({.reserve = 1}, hooks());
  const number_handle one = map.insert(1);
  EXPECT_TRUE(moved.empty());
  (void)map.insert(2);
  EXPECT_EQ(moved, number_handles{one});
}

TEST_F(SlotMapTold, TheEndOfTheMapIsNoErase) {
  {
    slot_map<int, scribe> map({}, hooks());
    (void)map.insert(1);
  }
  EXPECT_TRUE(erased.empty());
}

TEST_F(SlotMapTold, HooksOfAConcurrentMapGetTheHandleOfTheirValue) {
  struct short_scribe {
    number_handles* inserted;
    number_handles* erased;
    void on_insert(int& /*value*/, number_handle which) const { inserted->push_back(which); }
    void on_erase(int& /*value*/, number_handle which) const noexcept { erased->push_back(which); }
  };
  concurrent_slot_map<int, short_scribe> map({.max_size = 2}, {&inserted, &erased});
  EXPECT_TRUE(map.empty());
  EXPECT_EQ(std::as_const(map).hooks().inserted, &inserted);
  const number_handle one = map.insert(1);
  const number_handle two = map.insert(2);
  EXPECT_EQ(inserted, (number_handles{one, two}));
  map.erase(two);
  EXPECT_EQ(erased, number_handles{two});
  EXPECT_FALSE(map.empty());
}

TEST(SlotMapDefaults, AreThoseOfTheDocumentation) {
  EXPECT_EQ(slot_map_options{}.shrink_threshold, unlimited);
  EXPECT_EQ(slot_map_options{}.compaction, compaction_mode::deferred);
}

TEST(SlotMapDefaults, MemoryThatIsAskedBackInAWalkGoesBehindIt) {
  slot_map<int> map({.compaction = compaction_mode::manual});
  const number_handle one = map.insert(1);
  (void)map.insert(2);
  map.for_each([&](int& value) {
    if (value == 1) {
      map.erase(one);
      map.shrink_to_fit();
      EXPECT_EQ(map.holes(), 1U);
    }
  });
  EXPECT_EQ(map.holes(), 0U);
}

}  // namespace
}  // namespace lido
