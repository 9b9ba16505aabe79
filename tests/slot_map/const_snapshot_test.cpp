// Snapshots of const maps, and values that can only be moved.
#include <gtest/gtest.h>

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <stdexcept>
#include <string>
#include <utility>
#include <vector>

#include "lido/slot_map.hpp"
#include "support/few_generations.hpp"
#include "support/tracked.hpp"

namespace lido {
namespace {

using few_ints = slot_map<int, test::few_generations<3>>;
using owned_ints = slot_map<std::unique_ptr<int>>;

/// Fills a map with values 0 to 199, erases each third one, and refills some holes, so that there
/// are holes, free slots and used-up slots.
std::vector<few_ints::handle_type> fill_with_holes(few_ints& map) {
  std::vector<few_ints::handle_type> all;
  for (int i = 0; i < 200; ++i) {
    all.push_back(map.insert(i));
  }
  for (int round = 0; round < 4; ++round) {
    for (std::size_t i = 0; i < all.size(); i += 3) {
      map.erase(all[i]);
    }
    for (std::size_t i = 0; i < all.size(); i += 6) {
      all[i] = map.insert(static_cast<int>(i));
    }
  }
  return all;
}

TEST(ConstSnapshot, OfAMapWithHolesHasItsValuesAndHandlesAndChangesNothing) {
  few_ints map({.compaction = compaction_mode::manual});
  const auto all = fill_with_holes(map);
  const std::size_t holes = map.holes();
  EXPECT_NE(holes, 0U);
  EXPECT_NE(map.used_up_slots(), 0U);
  const few_ints& same = map;
  const auto now = same.snapshot();
  EXPECT_EQ(now.format, slot_map_format);
  EXPECT_EQ(now.values.size(), map.size());
  EXPECT_FALSE(now.values.empty());
  EXPECT_TRUE(std::equal(now.values.begin(), now.values.end(), map.begin(), map.end()));
  EXPECT_EQ(map.holes(), holes);
  few_ints other;
  other.restore(now);
  EXPECT_EQ(other.holes(), 0U);
  EXPECT_EQ(other.used_up_slots(), map.used_up_slots());
  EXPECT_TRUE(std::equal(other.begin(), other.end(), map.begin(), map.end()));
  for (const auto& each : all) {
    EXPECT_EQ(other.contains(each), map.contains(each));
    EXPECT_TRUE(!map.contains(each) || other.at(each) == map.at(each));
  }
  for (int i = 0; i < 200; ++i) {
    EXPECT_EQ(std::count(all.begin(), all.end(), other.insert(i)), 0) << "a handle is given twice";
  }
}

TEST(ConstSnapshot, OfAMapWithoutHolesEqualsThatOfTheSameMap) {
  slot_map<int> map;
  const auto gone = map.insert(1);
  (void)map.insert(2);
  map.erase(gone);
  map.compact();
  const auto arrays = map.snapshot();
  const auto now = std::as_const(map).snapshot();
  EXPECT_TRUE(
      std::equal(now.table.begin(), now.table.end(), arrays.table.begin(), arrays.table.end()));
  EXPECT_EQ(now.first_free, arrays.first_free);
  EXPECT_EQ(now.first_generation, arrays.first_generation);
}

TEST(ConstSnapshot, MayBeTakenInAWalk) {
  slot_map<int> map({.compaction = compaction_mode::manual});
  for (int i = 0; i < 10; ++i) {
    (void)map.insert(i);
  }
  map.for_each([&](int& value) {
    if (value == 5) {
      slot_map<int> copy;
      copy.restore(std::as_const(map).snapshot());
      EXPECT_TRUE(std::equal(copy.begin(), copy.end(), map.begin(), map.end()));
    }
    return value % 2 == 0 ? step::erase : step::next;
  });
  EXPECT_EQ(map.size(), 5U);
}

TEST(ConstSnapshot, OfAnEmptyMapRestoresToAnEmptyMap) {
  const slot_map<std::string> none;
  slot_map<std::string> map;
  (void)map.insert("gone");
  map.restore(none.snapshot());
  EXPECT_TRUE(map.empty());
  EXPECT_TRUE(none.snapshot().values.empty());
}

TEST(ConstSnapshot, OfATooLargeMapIsRefused) {
  slot_map<int> from;
  (void)from.insert(1);
  (void)from.insert(2);
  slot_map<int> small({.max_size = 1});
  EXPECT_THROW(small.restore(std::as_const(from).snapshot()), std::invalid_argument);
  EXPECT_TRUE(small.empty());
}

TEST(RestoreOfMoveOnlyValues, MovesThemOutOfTheArray) {
  owned_ints map({.compaction = compaction_mode::manual});
  const auto gone = map.emplace(new int(1));
  const auto kept = map.emplace(new int(2));
  map.erase(gone);
  owned_ints other;
  other.restore(map.snapshot());
  EXPECT_EQ(*other.at(kept), 2);
  EXPECT_FALSE(other.contains(gone));
  EXPECT_EQ(map.at(kept), nullptr) << "moved out of the map that made the snapshot";
}

TEST(RestoreOfMoveOnlyValues, TakesValuesFromAVector) {
  owned_ints map;
  const auto one = map.emplace(new int(1));
  const auto two = map.emplace(new int(2));
  const auto now = map.snapshot();
  const std::vector<std::uint64_t> table(now.table.begin(), now.table.end());
  std::vector<std::unique_ptr<int>> read;
  read.push_back(std::make_unique<int>(10));
  read.push_back(std::make_unique<int>(20));
  map.restore({now.format, read, table, now.first_free, now.first_generation});
  EXPECT_EQ(*map.at(one) + *map.at(two), 30);
}

TEST(RestoreOfMoveOnlyValues, MovesNothingIfTheTableIsNotThatOfTheValues) {
  owned_ints map;
  (void)map.emplace(new int(1));
  auto now = map.snapshot();
  now.table = {};
  owned_ints other;
  EXPECT_THROW(other.restore(now), std::invalid_argument);
  EXPECT_EQ(**now.values.begin(), 1);
}

/// A type that can only be moved, and whose moves throw on request.
struct moved_only {
  moved_only() { ++alive; }
  // NOLINTNEXTLINE(performance-noexcept-move-constructor,bugprone-exception-escape): on request
  moved_only(moved_only&& /*other*/) {
    if (refuse_in > 0 && --refuse_in == 0) {
      throw test::refused();
    }
    ++alive;
  }
  ~moved_only() { --alive; }
  static inline int alive = 0;
  static inline int refuse_in = 0;
};

TEST(RestoreOfMoveOnlyValues, KeepsTheMapIfAMoveThrows) {
  {
    slot_map<moved_only> from({.reserve = 4});
    slot_map<moved_only> map({.reserve = 4});
    for (int i = 0; i < 4; ++i) {
      (void)from.emplace();
    }
    const auto kept = map.emplace();
    for (int at = 1; at <= 4; ++at) {
      moved_only::refuse_in = at;
      EXPECT_THROW(map.restore(from.snapshot()), test::refused);
      EXPECT_TRUE(map.contains(kept));
      EXPECT_EQ(moved_only::alive, 5);
    }
    map.restore(from.snapshot());
    EXPECT_EQ(map.size(), 4U);
  }
  EXPECT_EQ(moved_only::alive, 0);
}

}  // namespace
}  // namespace lido
