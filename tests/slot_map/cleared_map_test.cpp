// Clear of values without destructors, and the order of slots after many were freed.
#include <gtest/gtest.h>

#include <algorithm>
#include <array>
#include <cstddef>
#include <cstdint>
#include <random>
#include <set>
#include <string>
#include <vector>

#include "lido/slot_map.hpp"

namespace lido {
namespace {

constexpr std::array cleared_modes{compaction_mode::immediate, compaction_mode::deferred,
                                   compaction_mode::manual};

/// Hooks that do nothing, and are no reason to visit each value. Slots have three generations.
struct three_generations {
  template <class T>
  void on_insert(T& /*value*/, slot_handle<T> /*handle*/) const noexcept {}
};

}  // namespace

template <>
inline constexpr std::uint64_t detail::last_generation_with<three_generations> = 3;

namespace {

TEST(ClearedMap, MakesAllHandlesStaleAndGivesNoneTwice) {
  for (const compaction_mode mode : cleared_modes) {
    slot_map<int, three_generations> map({.compaction = mode});
    std::set<slot_handle<int>> given;
    const auto reserved = map.reserve_handle();
    for (std::size_t round = 0; round < 8; ++round) {
      std::vector<slot_handle<int>> now;
      for (int i = 0; i < 100; ++i) {
        now.push_back(map.insert(i));
        EXPECT_TRUE(given.insert(now.back()).second) << "a handle is given twice";
      }
      for (std::size_t i = 0; i < now.size(); i += round + 1) {
        map.erase(now[i]);
      }
      map.clear();
      EXPECT_TRUE(map.empty());
      EXPECT_EQ(map.holes(), 0U);
      EXPECT_EQ(map.begin(), map.end());
      for (const auto& each : now) {
        EXPECT_FALSE(map.contains(each));
      }
      slot_map<int, three_generations> copy;
      copy.restore(map.snapshot());  // refuses a table with a broken list
      EXPECT_EQ(copy.used_up_slots(), map.used_up_slots());
    }
    EXPECT_EQ(map.used_up_slots(), 200U);
    EXPECT_TRUE(map.emplace_at(reserved, 1));
  }
}

TEST(ClearedMap, LeavesHolesInAWalk) {
  slot_map<int> map({.compaction = compaction_mode::manual});
  for (int i = 0; i < 10; ++i) {
    (void)map.insert(i);
  }
  int visited = 0;
  map.for_each([&](int& /*value*/) {
    ++visited;
    map.clear();
    EXPECT_TRUE(map.empty());
  });
  EXPECT_EQ(visited, 1);
}

/// A type without a destructor, whose constructor clears its map.
struct clears_its_map {
  clears_its_map() = default;
  explicit clears_its_map(slot_map<clears_its_map>& map) { map.clear(); }
};

TEST(ClearedMap, KeepsTheValueUnderConstruction) {
  slot_map<clears_its_map> map;
  const auto gone = map.emplace();
  const auto made = map.emplace(map);
  EXPECT_FALSE(map.contains(gone));
  EXPECT_TRUE(map.contains(made));
  EXPECT_EQ(map.size(), 1U);
}

TEST(ClearedMap, OfFewValuesBesideALargeTableIsCleared) {
  slot_map<int> map;
  std::vector<slot_handle<int>> all;
  for (int i = 0; i < 1000; ++i) {
    all.push_back(map.insert(i));
  }
  for (std::size_t i = 0; i < 990; ++i) {
    map.erase(all[i]);
  }
  map.compact();
  map.clear();
  EXPECT_TRUE(map.empty());
  EXPECT_FALSE(map.contains(all.back()));
}

TEST(ClearedMap, ShrinksByItselfAsBefore) {
  slot_map<int> map({.shrink_threshold = 0, .compaction = compaction_mode::immediate});
  for (int i = 0; i < 1000; ++i) {
    (void)map.insert(i);
  }
  map.clear();
  EXPECT_LT(map.capacity(), 1000U);
}

/// Erases `gone` random values and closes the holes. Returns the slots of the next values.
template <class T, class Free>
std::vector<std::uint32_t> next_slots(std::size_t gone, const Free& free) {
  slot_map<T> map;
  std::vector<slot_handle<T>> all;
  for (int i = 0; i < 1000; ++i) {
    all.push_back(map.emplace());
  }
  std::shuffle(all.begin(), all.end(), std::minstd_rand(5));
  free(map, all, gone);
  std::vector<std::uint32_t> slots;
  for (std::size_t i = 0; i < gone; ++i) {
    slots.push_back(map.emplace().index());
  }
  return slots;
}

// A list of free slots in random order took 250 ns for each insert into a map of a million values.
TEST(FreeSlots, AreFilledInTheOrderOfMemoryAfterManyHolesWereClosed) {
  const auto erase = [](auto& map, const auto& all, std::size_t gone) {
    for (std::size_t i = 0; i < gone; ++i) {
      map.erase(all[i]);
    }
    map.compact();
  };
  const auto slots = next_slots<int>(900, erase);
  EXPECT_TRUE(std::is_sorted(slots.begin(), slots.end()));
}

TEST(FreeSlots, AreFilledInTheOrderOfMemoryAfterAClear) {
  const auto clear = [](auto& map, const auto& /*all*/, std::size_t /*gone*/) { map.clear(); };
  const auto plain = next_slots<int>(1000, clear);
  EXPECT_TRUE(std::is_sorted(plain.begin(), plain.end()));
  const auto destroyed = next_slots<std::string>(1000, clear);
  EXPECT_TRUE(std::is_sorted(destroyed.begin(), destroyed.end()));
}

}  // namespace
}  // namespace lido
