// Assignment and swap of slot maps, and the handles of maps that were moved from.
#include <gtest/gtest.h>

#include <cstddef>
#include <memory>
#include <set>
#include <stdexcept>
#include <string>
#include <utility>
#include <vector>

#include "lido/slot_map.hpp"
#include "support/few_generations.hpp"
#include "support/tracked.hpp"

namespace lido {
namespace {

using assigned_map = slot_map<std::string>;
using assigned_handle = slot_handle<std::string>;

constexpr const char* long_word = "a word too long for the string itself";

TEST(AssignedMap, HasTheValuesHandlesAndOptionsOfTheOther) {
  assigned_map from({.max_size = 3, .compaction = compaction_mode::manual, .name = "from"});
  const assigned_handle gone = from.insert("gone");
  const assigned_handle kept = from.insert(long_word);
  from.erase(gone);
  assigned_map map;
  for (int i = 0; i < 10; ++i) {
    (void)map.insert("old");
  }
  map = std::move(from);
  EXPECT_EQ(map.at(kept), long_word);
  EXPECT_EQ(map.size(), 1U);
  EXPECT_EQ(map.holes(), 1U);
  EXPECT_EQ(map.max_size(), 3U);
  EXPECT_EQ(map.name(), "from");
  EXPECT_FALSE(map.contains(gone));
  // NOLINTNEXTLINE(bugprone-use-after-move): what it says of a map moved from is what is tested
  EXPECT_TRUE(from.empty());
}

TEST(AssignedMap, ByCopyHasCopies) {
  assigned_map from;
  const assigned_handle handle = from.insert(long_word);
  assigned_map map;
  (void)map.insert("old");
  map = from;
  EXPECT_EQ(map.at(handle), long_word);
  EXPECT_NE(map.find(handle), from.find(handle));
  const assigned_map& same = map;
  map = same;
  EXPECT_EQ(map.at(handle), long_word);
}

TEST(AssignedMap, ToItselfKeepsItsValues) {
  assigned_map map;
  const assigned_handle handle = map.insert(long_word);
  assigned_map& same = map;
  map = std::move(same);
  EXPECT_EQ(map.at(handle), long_word);
}

/// A class whose assignment is that of its members.
struct assigned_world {
  assigned_map words;
  slot_map<std::unique_ptr<int>> owned;
};

TEST(AssignedMap, LetsAClassThatHoldsOneKeepItsAssignment) {
  assigned_world one;
  const auto owned = one.owned.emplace(new int(1));
  assigned_world other;
  other = std::move(one);
  EXPECT_EQ(*other.owned.at(owned), 1);
}

TEST(SwappedMaps, ExchangeEverything) {
  assigned_map one({.name = "one"});
  assigned_map two({.max_size = 1, .name = "two"});
  const assigned_handle first = one.insert("first");
  const assigned_handle second = two.insert("second");
  using std::swap;
  swap(one, two);
  EXPECT_EQ(one.at(second), "second");
  EXPECT_EQ(two.at(first), "first");
  EXPECT_EQ(one.name(), "two");
  EXPECT_EQ(one.max_size(), 1U);
  one.swap(two);
  EXPECT_EQ(one.at(first), "first");
  one.swap(one);
  EXPECT_EQ(one.at(first), "first");
}

/// Hooks that count erased values, and whose copies and swaps throw on request.
struct swapped_hooks {
  int* count = nullptr;
  bool refuse = false;
  swapped_hooks() = default;
  explicit swapped_hooks(int& counted) : count(&counted) {}
  swapped_hooks(const swapped_hooks& other) = default;
  swapped_hooks& operator=(const swapped_hooks& other) = default;
  // NOLINTNEXTLINE(bugprone-exception-escape): it throws on request
  friend void swap(swapped_hooks& a, swapped_hooks& b) {
    if (a.refuse || b.refuse) {
      throw test::refused();
    }
    std::swap(a.count, b.count);
  }
  template <class T>
  void on_erase(T& /*value*/, slot_handle<T> /*handle*/) const noexcept {
    ++*count;
  }
};

TEST(SwappedMaps, SwapTheirHooks) {
  int ones = 0;
  int twos = 0;
  slot_map<int, swapped_hooks> one({}, swapped_hooks(ones));
  slot_map<int, swapped_hooks> two({}, swapped_hooks(twos));
  const auto handle = one.insert(1);
  one.swap(two);
  EXPECT_TRUE(two.erase(handle));
  EXPECT_EQ(ones, 1);
  EXPECT_EQ(twos, 0);
}

TEST(SwappedMaps, AreUnchangedIfSwappingTheHooksThrows) {
  int count = 0;
  slot_map<int, swapped_hooks> one({}, swapped_hooks(count));
  slot_map<int, swapped_hooks> two({}, swapped_hooks(count));
  const auto handle = one.insert(1);
  two.hooks().refuse = true;
  EXPECT_THROW(one.swap(two), test::refused);
  EXPECT_TRUE(one.contains(handle));
  EXPECT_THROW(one = two, test::refused);
  EXPECT_TRUE(one.contains(handle));
}

/// A type whose copies throw on request.
struct copied_in {
  copied_in() { ++alive; }
  copied_in(const copied_in& /*other*/) {
    if (refuse_in > 0 && --refuse_in == 0) {
      throw test::refused();
    }
    ++alive;
  }
  ~copied_in() { --alive; }
  static inline int alive = 0;
  static inline int refuse_in = 0;
};

TEST(AssignedMap, IsUnchangedIfACopyThrows) {
  {
    slot_map<copied_in> from({.reserve = 4});
    slot_map<copied_in> map({.reserve = 4});
    for (int i = 0; i < 4; ++i) {
      (void)from.emplace();
    }
    const auto kept = map.emplace();
    for (int at = 1; at <= 4; ++at) {
      copied_in::refuse_in = at;
      EXPECT_THROW(map = from, test::refused);
      EXPECT_TRUE(map.contains(kept));
      EXPECT_EQ(copied_in::alive, 5);
    }
    map = from;
    EXPECT_EQ(copied_in::alive, 8);
  }
  EXPECT_EQ(copied_in::alive, 0);
}

TEST(MovedFromMap, GivesNoHandleThatItHasGivenBefore) {
  slot_map<int> map;
  std::set<slot_handle<int>> given;
  std::vector<slot_map<int>> others;
  for (int round = 0; round < 5; ++round) {
    std::vector<slot_handle<int>> now;
    for (int i = 0; i < 40; ++i) {
      now.push_back(map.insert(i));
      EXPECT_TRUE(given.insert(now.back()).second) << "a handle is given twice";
    }
    for (int i = 0; i < 40; i += 1 + round) {
      map.erase(now[static_cast<std::size_t>(i)]);
    }
    given.insert(map.reserve_handle());
    others.push_back(std::move(map));
    for (const slot_handle<int> each : given) {
      // NOLINTNEXTLINE(bugprone-use-after-move): what it does then is what is tested
      EXPECT_FALSE(map.contains(each));
    }
  }
}

TEST(MovedFromMap, ThrowsIfAllGenerationsAreUsedUp) {
  slot_map<int, test::few_generations<3>> map;
  for (int i = 0; i < 3; ++i) {
    map.erase(map.insert(i));
  }
  const auto other = std::move(map);
  EXPECT_EQ(other.used_up_slots(), 1U);
  // NOLINTBEGIN(bugprone-use-after-move,clang-analyzer-cplusplus.Move): what it does then is tested
  EXPECT_THROW((void)map.insert(1), std::length_error);
  EXPECT_TRUE(map.empty());
  map = slot_map<int, test::few_generations<3>>();
  EXPECT_TRUE(map.contains(map.insert(1)));
  // NOLINTEND(bugprone-use-after-move,clang-analyzer-cplusplus.Move)
}

}  // namespace
}  // namespace lido
