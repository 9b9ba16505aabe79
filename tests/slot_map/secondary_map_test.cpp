// secondary_map: data beside the values of a slot map.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <array>
#include <cstddef>
#include <cstdint>
#include <map>
#include <memory>
#include <random>
#include <string>
#include <tuple>
#include <type_traits>
#include <utility>
#include <vector>

#include "lido/slot_map.hpp"

namespace lido {
namespace {

using testing::ElementsAre;
using testing::UnorderedElementsAre;

using int_handle = slot_handle<int>;
using names = secondary_map<int, std::string>;

/// Returns the entries by handle, as a walk sees them.
template <class Value>
std::map<int_handle, Value> entries_of(const secondary_map<int, Value>& map) {
  std::map<int_handle, Value> all;
  map.for_each([&](const Value& value, int_handle own) {
    EXPECT_TRUE(all.emplace(own, value).second) << "an entry is visited twice";
  });
  return all;
}

TEST(SecondaryMap, FindsWhatWasInsertedUnderAHandle) {
  slot_map<int> map;
  names of;
  const int_handle one = map.insert(1);
  const int_handle two = map.insert(2);
  EXPECT_EQ(of.find(one), nullptr);
  EXPECT_EQ(*of.insert(two, "two"), "two");
  EXPECT_EQ(of.find(one), nullptr);
  ASSERT_NE(std::as_const(of).find(two), nullptr);
  EXPECT_EQ(*of.find(two), "two");
  EXPECT_EQ(*of.insert(two, "zwei"), "zwei");
  EXPECT_EQ(of.size(), 1U);
  EXPECT_TRUE(of.contains(two));
  EXPECT_TRUE(of.erase(two));
  EXPECT_FALSE(of.contains(two));
  EXPECT_FALSE(of.erase(two));
  EXPECT_TRUE(of.empty());
}

TEST(SecondaryMap, IsSavedAsBitsAndValues) {
  slot_map<int> map;
  names saved;
  for (int i = 0; i < 10; ++i) {
    (void)saved.insert(map.insert(i), std::to_string(i));
  }
  std::vector<std::uint64_t> bits;
  for (const int_handle each : saved.handles()) {
    bits.push_back(each.to_bits());
  }
  const std::vector<std::string> values(saved.values().begin(), saved.values().end());

  names loaded;
  (void)loaded.insert({0, 9}, "a later handle of the same slot");
  loaded.clear();
  for (std::size_t n = 0; n < bits.size(); ++n) {
    EXPECT_NE(loaded.insert(int_handle::from_bits(bits[n]), values[n]), nullptr);
  }
  for (const int_handle each : saved.handles()) {
    EXPECT_EQ(*loaded.find(each), *saved.find(each));
  }
  EXPECT_EQ(loaded.size(), 10U);
}

TEST(SecondaryMap, RefusesHandlesThatNoSlotMapGives) {
  names of;
  EXPECT_EQ(of.insert({}, "null"), nullptr);
  EXPECT_EQ(of.insert({7, 0}, "generation 0"), nullptr);
  EXPECT_EQ(of.insert({0xFFFF'FFFF, 1}, "no slot"), nullptr);
  EXPECT_FALSE(of.contains({}));
  EXPECT_FALSE(of.contains({7, 0}));
  EXPECT_FALSE(of.erase({}));
  EXPECT_EQ(of.find({0xFFFF'FFFF, 0xFFFF'FFFF}), nullptr);
  EXPECT_TRUE(of.empty());
}

TEST(SecondaryMap, TakesTheHighestHandle) {
  names of;
  const int_handle last(0xFFFF'FFFE, 0xFFFF'FFFF);
  ASSERT_NE(of.insert(last, "last"), nullptr);
  EXPECT_EQ(*of.find(last), "last");
  EXPECT_EQ(of.insert({0xFFFF'FFFE, 0xFFFF'FFFE}, "older"), nullptr);
  EXPECT_TRUE(of.erase(last));
}

TEST(SecondaryMap, AnEntryIsNotThatOfALaterValueOfTheSlot) {
  slot_map<int> map;
  names of;
  const int_handle old = map.insert(1);
  (void)of.insert(old, "old");
  map.erase(old);
  const int_handle fresh = map.insert(2);
  ASSERT_EQ(fresh.index(), old.index());
  EXPECT_EQ(of.find(fresh), nullptr);
  EXPECT_NE(of.insert(fresh, "fresh"), nullptr);
  EXPECT_EQ(of.find(old), nullptr);
  std::string again = "a string that is not moved out of when it is refused";
  EXPECT_EQ(of.insert(old, std::move(again)), nullptr);
  EXPECT_FALSE(again.empty());  // NOLINT(bugprone-use-after-move): refused
  EXPECT_FALSE(of.erase(old));
  EXPECT_EQ(*of.find(fresh), "fresh");
  EXPECT_EQ(of.size(), 1U);
  EXPECT_THAT(of.handles(), ElementsAre(fresh));
}

TEST(SecondaryMap, RemembersALaterHandleWhoseEntryIsErased) {
  names of;
  (void)of.insert({3, 2}, "later");
  EXPECT_TRUE(of.erase({3, 2}));
  EXPECT_EQ(of.insert({3, 1}, "earlier"), nullptr);
  EXPECT_NE(of.insert({3, 2}, "the same"), nullptr);
  of.clear();
  EXPECT_NE(of.insert({3, 1}, "earlier"), nullptr) << "clear forgets the generations";
}

TEST(SecondaryMap, ConstructsEntriesFromArguments) {
  secondary_map<int, std::pair<int, std::string>> of;
  EXPECT_EQ(of.emplace({1, 1}, 4, "four")->second, "four");
  EXPECT_EQ(of.emplace({1, 1}, 5, "five")->first, 5);
  EXPECT_EQ(of.emplace({1, 2})->second, "");
  EXPECT_EQ(of.size(), 1U);
  struct point {
    int x;
    int y;
  };
  secondary_map<int, point> points;
  EXPECT_EQ(points.emplace({1, 1}, 2, 3)->y, 3);
  EXPECT_EQ(points.emplace({1, 2})->x, 0);
}

TEST(SecondaryMap, TakesArgumentsFromItsOwnEntries) {
  const std::string sentence = "an entry that is copied while the array grows";
  names of;
  (void)of.insert({0, 1}, sentence);
  for (std::uint32_t slot = 1; slot != 100; ++slot) {
    (void)of.insert({slot, 1}, *of.find({slot - 1, 1}));
    (void)of.emplace({slot - 1, 2}, *of.find({slot - 1, 1}), 3U, 5U);
  }
  EXPECT_EQ(*of.find({99, 1}), sentence);
  EXPECT_EQ(*of.find({98, 2}), "entry");
  EXPECT_EQ(of.size(), 100U);
}

TEST(SecondaryMap, ErasesWhatItsMapHasNoLonger) {
  slot_map<int> map;
  names of;
  std::vector<int_handle> all;
  for (int i = 0; i < 10; ++i) {
    all.push_back(map.insert(i));
    (void)of.insert(all.back(), std::to_string(i));
  }
  map.erase_if([](int value) { return value % 2 == 0; });
  of.erase_stale(map);
  EXPECT_THAT(of.values(), UnorderedElementsAre("1", "3", "5", "7", "9"));
  for (std::size_t i = 0; i != of.size(); ++i) {
    EXPECT_EQ(std::to_string(map.at(of.handles()[i])), of.values()[i]);
  }
}

TEST(SecondaryMap, FollowsAMapThatIsRestored) {
  slot_map<int> map;
  const auto old = map.insert(1);
  const slot_map saved = map;
  map.erase(old);
  const auto later = map.insert(2);
  for (const bool has_entry : {true, false}) {
    names of;
    ASSERT_NE(of.insert(later, "two"), nullptr);
    if (!has_entry) {
      of.erase(later);
    }
    slot_map now = map;
    of.erase_stale(now);
    EXPECT_EQ(of.insert(old, "one"), nullptr);
    now.restore(slot_map(saved).snapshot());
    of.erase_stale(now);
    EXPECT_NE(of.insert(old, "one"), nullptr) << "a handle that is valid again is refused";
  }
}

TEST(SecondaryMap, TakesWhatCanOnlyBeMoved) {
  secondary_map<int, std::unique_ptr<int>> of;
  for (std::uint32_t slot = 0; slot != 40; ++slot) {
    (void)of.insert({slot * 100, 1}, std::make_unique<int>(slot));
  }
  EXPECT_EQ(**of.find({300, 1}), 3);
  EXPECT_TRUE(of.erase({300, 1}));
  EXPECT_EQ(**of.find({3900, 1}), 39);
  const auto moved = std::move(of);
  EXPECT_EQ(moved.size(), 39U);
}

TEST(SecondaryMap, TakesBools) {
  secondary_map<int, bool> of;
  (void)of.insert({1, 1}, true);
  (void)of.insert({2, 1}, false);
  EXPECT_TRUE(*of.find({1, 1}));
  EXPECT_FALSE(*of.find({2, 1}));
  EXPECT_THAT(of.values(), ElementsAre(true, false));
}

// Assignment of a tuple of references would assign to what they refer to.
TEST(SecondaryMap, MovesReferencesAndConstMembers) {
  int one = 1;
  int two = 2;
  secondary_map<int, std::tuple<int&, const int>> of;
  (void)of.emplace({1, 1}, one, 10);
  (void)of.emplace({2, 1}, two, 20);
  EXPECT_TRUE(of.erase({1, 1}));
  EXPECT_EQ(one, 1);
  EXPECT_EQ(&std::get<0>(*of.find({2, 1})), &two);
  EXPECT_EQ(std::get<1>(*of.emplace({2, 2}, one, 30)), 30);
  EXPECT_EQ(two, 2);
}

struct alignas(128) aligned {
  int number = 0;
};

TEST(SecondaryMap, KeepsTheAlignmentOfItsValues) {
  secondary_map<int, aligned> of;
  for (std::uint32_t slot = 0; slot != 40; ++slot) {
    const aligned* const made = of.emplace({slot, 1});
    EXPECT_EQ(reinterpret_cast<std::uintptr_t>(made) % alignof(aligned), 0U);
  }
}

TEST(SecondaryMap, MayHoldMapsOfItsOwnKind) {
  struct node {
    secondary_map<int, node> children;
  };
  node root;
  (void)root.children.emplace({1, 1})->children.emplace({2, 1});
  EXPECT_EQ(root.children.find({1, 1})->children.size(), 1U);
}

TEST(SecondaryMapMemory, IsReservedAndKept) {
  names of;
  EXPECT_EQ(of.capacity(), 0U);
  of.reserve(100);
  EXPECT_EQ(of.capacity(), 100U);
  of.reserve(5);
  EXPECT_EQ(of.capacity(), 100U);
  const std::string* const first = of.insert({0, 1}, "first");
  for (std::uint32_t slot = 1; slot != 100; ++slot) {
    (void)of.insert({slot, 1}, "more");
  }
  EXPECT_EQ(of.find({0, 1}), first);
  of.clear();
  EXPECT_TRUE(of.empty());
  EXPECT_FALSE(of.contains({0, 1}));
  EXPECT_EQ(of.capacity(), 100U);
  EXPECT_EQ(of.insert({5, 1}, "again"), first);
  of = {};
  EXPECT_EQ(of.capacity(), 0U);
}

TEST(SecondaryMapCopy, IsIndependent) {
  names of;
  (void)of.insert({1, 1}, "one");
  (void)of.insert({2000, 3}, "two");
  (void)of.insert({3, 5}, "erased");
  of.erase({3, 5});
  names copy = of;
  EXPECT_EQ(entries_of(copy), entries_of(of));
  EXPECT_EQ(copy.insert({3, 4}, "earlier"), nullptr) << "a copy has the same generations";
  (void)copy.insert({1, 1}, "uno");
  copy.erase({2000, 3});
  EXPECT_EQ(*of.find({1, 1}), "one");
  EXPECT_EQ(*of.find({2000, 3}), "two");
  const names& itself = of;
  of = itself;
  EXPECT_EQ(of.size(), 2U);
  of = copy;
  EXPECT_EQ(entries_of(copy), entries_of(of));
}

TEST(SecondaryMapCopy, MovesAndSwaps) {
  static_assert(std::is_nothrow_move_constructible_v<names>);
  static_assert(std::is_nothrow_move_assignable_v<names>);
  static_assert(std::is_nothrow_swappable_v<names>);
  names of;
  const std::string* const one = of.insert({1, 1}, "one");
  names other = std::move(of);
  EXPECT_EQ(other.find({1, 1}), one) << "a move moves no values";
  // NOLINTBEGIN(bugprone-use-after-move,clang-analyzer-cplusplus.Move): it may be used again
  EXPECT_TRUE(of.empty());
  EXPECT_FALSE(of.contains({1, 1}));
  EXPECT_EQ(*of.insert({1, 1}, "anew"), "anew");
  // NOLINTEND(bugprone-use-after-move,clang-analyzer-cplusplus.Move)
  swap(of, other);
  EXPECT_EQ(of.find({1, 1}), one);
  EXPECT_EQ(*other.find({1, 1}), "anew");
  other = std::move(of);
  EXPECT_EQ(other.find({1, 1}), one);
  EXPECT_EQ(other.size(), 1U);
  names& itself = other;
  other = std::move(itself);
  EXPECT_EQ(other.find({1, 1}), one);
}

/// Makes a map of the numbers 0 to `count` - 1, each under the slot of that number.
secondary_map<int, int> numbers(int count) {
  secondary_map<int, int> of;
  for (int i = 0; i < count; ++i) {
    (void)of.insert({static_cast<std::uint32_t>(i), 1}, i);
  }
  return of;
}

TEST(SecondaryMapWalk, PassesWhatTheCallbackTakes) {
  auto of = numbers(4);
  int sum = 0;
  EXPECT_TRUE(of.for_each([](int& value) { value += 10; }));
  EXPECT_TRUE(of.for_each([&](int value, int_handle own) {
    sum += value == static_cast<int>(own.index()) + 10 ? 1 : 0;
  }));
  EXPECT_TRUE(of.for_each([&](int value, int_handle own, secondary_map<int, int>& all) {
    sum += *all.find(own) == value ? 1 : 0;
  }));
  EXPECT_TRUE(std::as_const(of).for_each([&](const int& value, int_handle own) {
    sum += std::as_const(of).find(own) == &value ? 1 : 0;
  }));
  EXPECT_EQ(sum, 12);
  EXPECT_TRUE(numbers(0).for_each([](int) { return false; }));
}

TEST(SecondaryMapWalk, StopsAndErasesAsTheCallbackSays) {
  auto of = numbers(10);
  int met = 0;
  EXPECT_FALSE(of.for_each([&](int) { return ++met != 3; }));
  EXPECT_EQ(met, 3);
  EXPECT_TRUE(of.for_each([](int value) { return value % 2 == 0 ? step::erase : step::next; }));
  EXPECT_THAT(of.values(), UnorderedElementsAre(1, 3, 5, 7, 9));
  EXPECT_FALSE(of.for_each([](int) { return step::erase_and_stop; }));
  EXPECT_FALSE(of.for_each([](int) { return step::stop; }));
  EXPECT_EQ(of.size(), 4U);
}

TEST(SecondaryMapWalk, VisitsEachOnceWhileTheCallbackErasesTheCurrentEntry) {
  auto of = numbers(100);
  std::vector<int> met;
  of.for_each([&](int value, int_handle own) {
    met.push_back(value);
    if (value % 3 != 0) {
      EXPECT_TRUE(of.erase(own));
    }
  });
  std::sort(met.begin(), met.end());
  EXPECT_EQ(std::unique(met.begin(), met.end()), met.end());
  EXPECT_EQ(met.size(), 100U);
  EXPECT_EQ(of.size(), 34U);
}

TEST(SecondaryMapWalk, MissesNoneWhileTheCallbackErasesOthers) {
  for (std::uint32_t round = 0; round != 200; ++round) {
    std::minstd_rand random(round + 1);
    auto of = numbers(30);
    std::vector<int> met(30);
    std::vector<bool> erased(30);
    std::size_t erases = 0;
    of.for_each([&](int value) {
      ++met[static_cast<std::size_t>(value)];
      for (int i = static_cast<int>(random() % 3); i != 0; --i) {
        const auto victim = static_cast<std::uint32_t>(random() % 30);
        erased[victim] = true;
        erases += of.erase({victim, 1}) ? 1U : 0U;
      }
    });
    std::size_t visits = 0;
    for (std::size_t i = 0; i != met.size(); ++i) {
      EXPECT_TRUE(erased[i] || met[i] != 0) << "an entry is not visited";
      visits += static_cast<std::size_t>(met[i]);
    }
    EXPECT_LE(visits, 30U + erases);
  }
}

TEST(SecondaryMapWalk, DoesNotVisitWhatTheCallbackInserts) {
  auto of = numbers(10);
  int met = 0;
  of.for_each([&](int value) {
    ++met;
    (void)of.insert({static_cast<std::uint32_t>(1000 + value), 1}, value);
    (void)of.insert({static_cast<std::uint32_t>(value), 2}, value);
  });
  EXPECT_EQ(met, 10);
  EXPECT_EQ(of.size(), 20U);
  of.for_each([&](int) { of.clear(); });
  EXPECT_TRUE(of.empty());
}

TEST(SecondaryMapWalk, JoinsItWithItsMap) {
  slot_map<int> map;
  secondary_map<int, int> of;
  for (int i = 0; i < 100; ++i) {
    const auto made = map.insert(i);
    if (i % 10 == 0) {
      (void)of.insert(made, 2 * i);
    }
    if (i % 20 == 0) {
      map.erase(made);
    }
  }
  int from_entries = 0;
  int from_values = 0;
  of.for_each([&](int twice, int_handle own) {
    if (const int* const value = map.find(own)) {
      from_entries += twice + *value;
    }
  });
  map.for_each([&](int value, int_handle own) {
    if (const int* const twice = of.find(own)) {
      from_values += *twice + value;
    }
  });
  EXPECT_EQ(from_entries, 3 * (10 + 30 + 50 + 70 + 90));
  EXPECT_EQ(from_values, from_entries);
}

/// A map of the entries, and the latest generation of each slot, as a model of a secondary map.
struct model {
  std::map<int_handle, int> entries;
  std::map<std::uint32_t, std::uint32_t> latest;

  bool insert(int_handle handle, int value) {
    std::uint32_t& now = latest[handle.index()];
    if (handle.generation() < now) {
      return false;
    }
    entries.erase({handle.index(), now});
    now = handle.generation();
    entries[handle] = value;
    return true;
  }
};

TEST(SecondaryMapModel, BehavesAsAMapOfHandles) {
  for (std::uint32_t seed = 0; seed != 20; ++seed) {
    std::minstd_rand random(seed + 1);
    secondary_map<int, int> of;
    model wanted;
    for (int i = 0; i < 2000; ++i) {
      // A few slots of each of several pages.
      const auto slot = static_cast<std::uint32_t>(random() % 4 * 511 + random() % 8);
      const int_handle handle(slot, static_cast<std::uint32_t>(1 + random() % 5));
      if (const auto step = random() % 16; step < 8) {
        int* const made = of.insert(handle, i);
        ASSERT_EQ(made != nullptr, wanted.insert(handle, i));
        ASSERT_TRUE(made == nullptr || *made == i);
      } else if (step < 14) {
        ASSERT_EQ(of.erase(handle), wanted.entries.erase(handle) != 0);
      } else if (step == 14 && i % 10 == 0) {
        of = secondary_map<int, int>(of);
      } else if (step == 15 && i % 20 == 0) {
        of.clear();
        wanted = {};
      }
      const auto known = wanted.entries.find(handle);
      const int* const found = of.find(handle);
      ASSERT_EQ(found != nullptr, known != wanted.entries.end());
      ASSERT_TRUE(found == nullptr || *found == known->second);
    }
    EXPECT_EQ(entries_of(of), wanted.entries);
  }
}

}  // namespace
}  // namespace lido
