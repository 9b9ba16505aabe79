// Values whose constructors and destructors use the map they are in.
#include <gtest/gtest.h>

#include <array>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <memory>
#include <numeric>
#include <utility>
#include <vector>

#include "lido/slot_map.hpp"
#include "support/few_generations.hpp"
#include "support/tracked.hpp"

namespace lido {
namespace {

using test::refused;

constexpr std::array reentrant_modes{compaction_mode::immediate, compaction_mode::deferred,
                                     compaction_mode::manual};

/// Makes its child in its constructor; erases it in its destructor.
struct parent {
  parent(slot_map<parent>& owner, int depth) : map(&owner), level(std::make_unique<int>(depth)) {
    if (depth > 0) {
      child = map->emplace(*map, depth - 1);
    }
  }
  parent(slot_map<parent>& owner, int depth, int refuse_at) : map(&owner) {
    if (depth > 0) {
      child = map->emplace(*map, depth - 1, refuse_at);
    }
    level = std::make_unique<int>(depth);
    if (depth == refuse_at) {
      throw refused();
    }
  }
  parent(parent&& other) noexcept
      : map(other.map), child(std::exchange(other.child, {})), level(std::move(other.level)) {}
  ~parent() { map->erase(child); }

  slot_map<parent>* map;
  slot_handle<parent> child;
  std::unique_ptr<int> level;
};

std::vector<int> levels_below(slot_map<parent>& map, slot_handle<parent> root) {
  std::vector<int> levels;
  for (const parent* at = map.find(root); at != nullptr; at = map.find(at->child)) {
    levels.push_back(*at->level);
  }
  return levels;
}

// Runs with space for all values, and with none: the array then grows during the constructors.
TEST(SlotMapReentrant, AConstructorMayInsert) {
  for (const compaction_mode mode : reentrant_modes) {
    for (const std::size_t room : {0U, 1U, 100U}) {
      slot_map<parent> map({.reserve = room, .compaction = mode});
      const auto first = map.emplace(map, 40);
      const auto second = map.emplace(map, 2);
      EXPECT_EQ(map.size(), 44U);
      std::vector<int> wanted(41);
      std::iota(wanted.rbegin(), wanted.rend(), 0);
      EXPECT_EQ(levels_below(map, first), wanted);
      EXPECT_EQ(levels_below(map, second), (std::vector{2, 1, 0}));
    }
  }
}

TEST(SlotMapReentrant, AConstructorMayInsertIntoHoles) {
  for (const compaction_mode mode : reentrant_modes) {
    slot_map<parent> map({.compaction = mode});
    std::vector<slot_handle<parent>> others;
    for (int i = 0; i < 16; ++i) {
      others.push_back(map.emplace(map, 0));
    }
    for (std::size_t i = 0; i < 16; i += 2) {
      map.erase(others[i]);
    }
    const auto root = map.emplace(map, 10);
    EXPECT_EQ(levels_below(map, root).size(), 11U);
    EXPECT_EQ(map.size(), 19U);
    for (std::size_t i = 0; i < 16; ++i) {
      EXPECT_EQ(map.contains(others[i]), i % 2 == 1);
    }
  }
}

TEST(SlotMapReentrant, ADestructorMayErase) {
  for (const compaction_mode mode : reentrant_modes) {
    slot_map<parent> map({.compaction = mode});
    const auto before = map.emplace(map, 0);
    const auto root = map.emplace(map, 40);
    const auto behind = map.emplace(map, 0);
    EXPECT_TRUE(map.erase(root));
    EXPECT_EQ(map.size(), 2U);
    EXPECT_TRUE(map.contains(before) && map.contains(behind));
    (void)map.emplace(map, 5);
    map.clear();
    EXPECT_TRUE(map.empty());
    (void)map.emplace(map, 5);  // and at the end of the map
  }
}

TEST(SlotMapReentrant, AConstructorThatThrowsAfterItHasInsertedLosesNothing) {
  for (const compaction_mode mode : reentrant_modes) {
    for (const std::size_t room : {0U, 1U, 100U}) {
      slot_map<parent> map({.reserve = room, .compaction = mode});
      const auto other = map.emplace(map, 0);
      for (const int refuse_at : {0, 3, 20}) {
        EXPECT_THROW((void)map.emplace(map, 20, refuse_at), refused);
        // The children that were complete before remain.
        map.erase_if([&](parent& each) { return &each != map.find(other); });
        EXPECT_EQ(map.size(), 1U);
      }
      EXPECT_EQ(levels_below(map, map.emplace(map, 30)).size(), 31U);
      EXPECT_TRUE(map.contains(other));
    }
  }
}

/// Runs the given functions in its constructor and its destructor.
struct scripted {
  explicit scripted(int number, std::function<void()> at_start = {},
                    std::function<void()> at_end = {})
      : value(number), end(std::move(at_end)) {
    if (at_start) {
      at_start();
    }
  }
  scripted(scripted&& other) noexcept
      : value(other.value), end(std::exchange(other.end, nullptr)) {}
  ~scripted() {
    if (end) {
      end();
    }
  }
  int value;
  std::function<void()> end;
};

TEST(SlotMapReentrant, AValueUnderConstructionIsNotInTheMap) {
  for (const compaction_mode mode : reentrant_modes) {
    slot_map<scripted> map({.compaction = mode});
    std::vector<slot_handle<scripted>> all;
    for (int i = 0; i < 8; ++i) {
      all.push_back(map.emplace(i));
    }
    int met = 0;
    const auto made = map.emplace(100, [&] {
      EXPECT_EQ(map.size(), 8U);
      EXPECT_TRUE(map.erase(all[2]));
      EXPECT_TRUE(map.erase(all[7]));
      map.compact();
      map.shrink_to_fit();
      map.for_each([&](scripted& each) { met += each.value; });
      EXPECT_EQ(std::distance(map.begin(), map.end()), 6);
    });
    EXPECT_EQ(met, 0 + 1 + 3 + 4 + 5 + 6);
    EXPECT_EQ(map[made].value, 100);
    EXPECT_EQ(map.size(), 7U);
    map.compact();
    EXPECT_EQ(map.holes(), 0U);
    for (const std::size_t i : {0U, 1U, 3U, 4U, 5U, 6U}) {
      EXPECT_EQ(map[all[i]].value, static_cast<int>(i));
    }
  }
}

TEST(SlotMapReentrant, AConstructorMayClearTheMap) {
  for (const compaction_mode mode : reentrant_modes) {
    slot_map<scripted> map({.compaction = mode});
    const auto old = map.emplace(1);
    slot_handle<scripted> inner;
    const auto made = map.emplace(2, [&] {
      map.clear();
      inner = map.emplace(3);
    });
    EXPECT_FALSE(map.contains(old));
    EXPECT_EQ(map[made].value, 2);
    EXPECT_EQ(map[inner].value, 3);
    EXPECT_EQ(map.size(), 2U);
  }
}

TEST(SlotMapReentrant, ADestructorMayInsert) {
  for (const compaction_mode mode : reentrant_modes) {
    for (const bool is_last : {true, false}) {
      slot_map<scripted> map({.compaction = mode});
      std::vector<slot_handle<scripted>> fresh;
      const auto old = map.emplace(1, nullptr, [&] {
        for (int i = 0; i < 40; ++i) {  // the array grows
          fresh.push_back(map.emplace(i));
        }
      });
      const auto other = is_last ? slot_handle<scripted>() : map.emplace(2);
      EXPECT_TRUE(map.erase(old));
      EXPECT_EQ(map.size(), is_last ? 40U : 41U);
      EXPECT_EQ(map.contains(other), !is_last);
      for (std::size_t i = 0; i < 40; ++i) {
        EXPECT_EQ(map[fresh[i]].value, static_cast<int>(i));
      }
    }
  }
}

TEST(SlotMapReentrant, WhatIsUnderConstructionCountsForTheLargestSize) {
  slot_map<scripted> map({.max_size = 2});
  const auto inserts = [&] { EXPECT_TRUE(map.try_emplace(2)); };
  (void)map.emplace(1, inserts);
  EXPECT_EQ(map.size(), 2U);
  map.clear();
  map.shrink_to_fit();
  // With the array already grown, both have their slots; otherwise the last one has none.
  map.reserve(2);
  EXPECT_NO_THROW((void)map.emplace(1, inserts));
  map.clear();
  slot_map<scripted> one({.max_size = 1, .reserve = 1});
  EXPECT_NO_THROW((void)one.emplace(1, [&] { EXPECT_FALSE(one.try_emplace(2)); }));
  EXPECT_EQ(one.size(), 1U);
}

struct compacts {
  explicit compacts(slot_map<compacts>& map) { map.compact(); }
};

TEST(SlotMapReentrant, AConstructorThatClosesHolesLeavesThemToTheUser) {
  slot_map<compacts> map({.compaction = compaction_mode::manual});
  const auto first = map.emplace(map);
  const auto second = map.emplace(map);
  const compacts* const last = map.find(map.emplace(map));
  map.erase(first);
  map.erase(second);
  EXPECT_EQ(map.holes(), 2U) << "an erase has moved values";
  EXPECT_EQ(&*map.begin(), last);
}

TEST(SlotMapReentrant, AnEvictionWhoseConstructorUsesTheMap) {
  const auto less = [](const scripted& a, const scripted& b) { return a.value < b.value; };
  slot_map<scripted> map({.max_size = 2});
  (void)map.emplace(1);
  const auto two = map.emplace(2);
  const auto three = map.emplace_or_evict(less, 3, [&] { map.clear(); });
  EXPECT_EQ(map.size(), 1U);
  EXPECT_EQ(map[three].value, 3);
  EXPECT_FALSE(map.contains(two));
  slot_map<scripted> one({.max_size = 1, .reserve = 1});
  (void)one.emplace(1, [&] { EXPECT_THROW((void)one.emplace_or_evict(less, 2), pool_exhausted); });
  EXPECT_EQ(one.size(), 1U);
}

TEST(SlotMapReentrant, AHandleIsGivenOnceWhenSlotsAreUsedUp) {
  using few = slot_map<int, test::few_generations<2>>;
  struct maker {
    static int make(few& map, std::vector<slot_handle<int>>& all, int depth) {
      if (depth > 0) {
        all.push_back(map.insert_with([&](auto) { return make(map, all, depth - 1); }));
      }
      return depth;
    }
  };
  few map({.compaction = compaction_mode::manual});
  std::vector<slot_handle<int>> all;
  for (int round = 0; round < 20; ++round) {
    const std::size_t before = all.size();
    (void)maker::make(map, all, 5);
    for (std::size_t i = before; i < all.size(); ++i) {
      EXPECT_EQ(map[all[i]], static_cast<int>(i - before));
    }
    for (std::size_t i = before; i < all.size(); ++i) {
      map.erase(all[i]);
    }
  }
  std::sort(all.begin(), all.end());
  EXPECT_EQ(std::adjacent_find(all.begin(), all.end()), all.end());
  EXPECT_NE(map.used_up_slots(), 0U);
}

}  // namespace
}  // namespace lido
