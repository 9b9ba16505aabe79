#include "lido/slot_map.hpp"
#include "support/few_generations.hpp"

#include <gtest/gtest.h>

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <iterator>
#include <memory>
#include <ranges>
#include <stdexcept>
#include <string>
#include <type_traits>
#include <vector>

namespace lido {
namespace {

using word_map = slot_map<std::string>;
using word_handle = word_map::handle_type;

TEST(SlotMap, FindsWhatWasInserted) {
  word_map words;
  const word_handle one = words.insert("one");
  const word_handle two = words.emplace(3U, 'x');
  ASSERT_NE(words.find(one), nullptr);
  EXPECT_EQ(*words.find(one), "one");
  EXPECT_EQ(words[two], "xxx");
  EXPECT_EQ(words.size(), 2U);
}

TEST(SlotMap, StaleHandleIsRefused) {
  word_map words;
  const word_handle one = words.insert("one");
  EXPECT_TRUE(words.erase(one));
  EXPECT_FALSE(words.erase(one));
  EXPECT_FALSE(words.contains(one));
  (void)words.insert("takes its slot");
  EXPECT_EQ(words.find(one), nullptr);
}

TEST(SlotMap, NullHandleIsRefused) {
  word_map words;
  EXPECT_FALSE(words.contains({}));
  (void)words.insert("one");
  EXPECT_FALSE(words.contains({}));
  EXPECT_FALSE(words.erase({}));
}

TEST(SlotMap, HandlesStayGoodWhenTheArrayGrows) {
  word_map words;
  std::vector<word_handle> handles;
  for (int i = 0; i < 1000; ++i) {
    handles.push_back(words.insert(std::to_string(i)));
  }
  for (int i = 0; i < 1000; ++i) {
    EXPECT_EQ(words[handles[static_cast<std::size_t>(i)]], std::to_string(i));
  }
}

TEST(SlotMap, EmplaceOfOneOfItsOwnValuesWorksWhenTheArrayGrows) {
  word_map words({.reserve = 1});
  const word_handle one = words.insert("a word too long for the string itself");
  const word_handle two = words.emplace(words[one]);
  EXPECT_EQ(words[one], words[two]);
}

TEST(SlotMap, FullMapThrowsWithItsNameAndNumbers) {
  word_map words({.max_size = 2, .name = "words"});
  (void)words.insert("one");
  (void)words.insert("two");
  try {
    (void)words.insert("three");
    FAIL();
  } catch (const pool_exhausted& error) {
    EXPECT_EQ(error.pool_name(), "words");
    EXPECT_EQ(error.capacity(), 2U);
    EXPECT_EQ(error.in_use(), 2U);
  }
  EXPECT_FALSE(words.try_emplace("three"));
  EXPECT_EQ(words.size(), 2U);
}

TEST(SlotMap, FullMapHasRoomAgainAfterAnErase) {
  word_map words({.max_size = 2});
  const word_handle one = words.insert("one");
  (void)words.insert("two");
  words.erase(one);
  EXPECT_TRUE(words.try_emplace("three"));
  EXPECT_EQ(words.capacity(), 2U);
}

TEST(SlotMap, BadOptionsAreRefused) {
  EXPECT_THROW(word_map({.max_size = 0}), std::invalid_argument);
  EXPECT_THROW(word_map({.max_size = 10, .reserve = 11}), std::invalid_argument);
  EXPECT_THROW(word_map({.reserve = 0xFFFF'FFFF}), std::invalid_argument);
}

TEST(SlotMap, ReservedMapDoesNotMoveItsValues) {
  word_map words({.max_size = 100, .reserve = 100});
  const word_handle one = words.insert("first");
  const std::string* const first = words.find(one);
  const std::size_t memory = words.bookkeeping_bytes();
  for (int i = 1; i < 100; ++i) {
    (void)words.insert("more");
  }
  EXPECT_EQ(words.find(one), first);
  EXPECT_EQ(words.bookkeeping_bytes(), memory);
}

TEST(SlotMap, EndStaysWhereItIsWhenTheLastValueGoes) {
  for (const compaction_mode mode : {compaction_mode::manual, compaction_mode::deferred}) {
    word_map words({.compaction = mode});
    (void)words.insert("one");
    (void)words.insert("two");
    const word_handle last = words.insert("three");
    std::vector<std::string> seen;
    for (const std::string& word : words) {
      seen.push_back(word);
      ASSERT_LE(seen.size(), 3U);
      words.erase(last);
    }
    EXPECT_EQ(seen, (std::vector<std::string>{"one", "two"}));
  }
}

TEST(SlotMap, WhatWasReservedStaysUntilShrinkToFit) {
  for (const compaction_mode mode : {compaction_mode::immediate, compaction_mode::deferred}) {
    word_map words({.shrink_threshold = 8, .compaction = mode});
    words.reserve(1000);
    words.for_each([](std::string& /*word*/) {});
    (void)words.values();
    words.erase(words.insert("gone"));
    words.clear();
    EXPECT_EQ(words.capacity(), 1000U);
    words.shrink_to_fit();
    EXPECT_EQ(words.capacity(), 0U);
    for (int i = 0; i < 1000; ++i) {
      (void)words.insert("more");
    }
    words.clear();
    words.compact();
    EXPECT_EQ(words.capacity(), 0U) << "what was reserved before is not kept any more";
  }
}

TEST(SlotMap, ASmallerReserveGivesNothingBack) {
  word_map words({.shrink_threshold = 8});
  words.reserve(1000);
  words.reserve(10);
  words.erase(words.insert("gone"));
  words.compact();
  EXPECT_EQ(words.capacity(), 1000U);
}

TEST(SlotMap, BookkeepingTakesSixteenBytesAndABitAPlace) {
  constexpr std::size_t places = 64'000;
  EXPECT_LE(word_map({.max_size = places, .reserve = places}).bookkeeping_bytes(),
            places * 16 + places / 8 + 1024);
}

TEST(SlotMap, ReserveIsBoundByTheLargestSize) {
  word_map words({.max_size = 10});
  words.reserve(1000);
  EXPECT_EQ(words.capacity(), 10U);
}

TEST(SlotMap, HandleOfAValueFindsIt) {
  word_map words;
  (void)words.insert("one");
  const word_handle two = words.insert("two");
  EXPECT_EQ(words.handle_of(*words.find(two)), two);
}

TEST(SlotMap, AnIteratorBecomesOneThatOnlyReads) {
  word_map words;
  (void)words.insert("one");
  const word_map::const_iterator first = words.begin();
  EXPECT_EQ(*first, "one");
  static_assert(!std::is_convertible_v<word_map::const_iterator, word_map::iterator>);
  const word_map::iterator nowhere;
  const word_map::const_iterator nowhere_either = nowhere;
  EXPECT_EQ(nowhere_either, word_map::const_iterator());
}

TEST(SlotMap, IteratorsGoOverAllValuesAndStepOverHoles) {
  word_map words({.compaction = compaction_mode::manual});
  std::vector<word_handle> handles;
  for (int i = 0; i < 200; ++i) {
    handles.push_back(words.insert(std::to_string(i)));
  }
  for (std::size_t i = 0; i < 200; i += 3) {
    words.erase(handles[i]);
  }
  std::size_t seen = 0;
  for (auto it = words.begin(); it != words.end(); ++it) {
    EXPECT_EQ(it.handle(), words.handle_of(*it));
    EXPECT_NE(std::stoi(*it) % 3, 0);
    ++seen;
  }
  EXPECT_EQ(seen, words.size());
}

TEST(SlotMap, IsAForwardRange) {
  static_assert(std::ranges::forward_range<word_map> && std::ranges::forward_range<const word_map>);
  static_assert(std::ranges::sized_range<word_map>);
  word_map words;
  (void)words.insert("b");
  (void)words.insert("a");
  EXPECT_EQ(*std::ranges::min_element(words), "a");
  EXPECT_EQ(std::ranges::distance(std::as_const(words)), 2);
}

TEST(SlotMap, ValuesAreOneArrayWithoutHoles) {
  word_map words({.compaction = compaction_mode::manual});
  const word_handle one = words.insert("one");
  (void)words.insert("two");
  (void)words.insert("three");
  words.erase(one);
  const std::span<std::string> values = words.values();
  EXPECT_EQ(std::vector(values.begin(), values.end()), (std::vector<std::string>{"three", "two"}));
}

TEST(SlotMap, ClearMakesEveryHandleStale) {
  word_map words;
  const word_handle one = words.insert("one");
  const word_handle two = words.insert("two");
  words.clear();
  EXPECT_TRUE(words.empty());
  EXPECT_FALSE(words.contains(one) || words.contains(two));
  EXPECT_EQ(words.begin(), words.end());
  EXPECT_EQ(words[words.insert("three")], "three");
}

// Such handles may name values that this map has not inserted yet.
TEST(SlotMap, AHandleOfAnotherMapLeadsToNoValueThatIsGone) {
  word_map here;
  word_map there;
  const word_handle first = here.insert("first");
  const word_handle second = here.insert("second");
  here.erase(second);
  here.erase(first);
  there.erase(there.insert("gone"));
  const word_handle foreign = there.insert("of another map");
  EXPECT_FALSE(here.contains(foreign));
  EXPECT_FALSE(here.erase(foreign));
  const word_handle third = here.insert("third");
  const word_handle fourth = here.insert("fourth");
  EXPECT_NE(third, fourth);
  EXPECT_EQ(here[third], "third");
  EXPECT_EQ(here[fourth], "fourth");
}

TEST(SlotMap, PointerFollowsItsValueAndIsNullWhenThatIsGone) {
  word_map words({.compaction = compaction_mode::immediate});
  const word_handle one = words.insert("one");
  word_map::pointer_type two = words.pointer(words.insert("two"));
  words.erase(one);
  ASSERT_TRUE(two);
  EXPECT_EQ(two->size(), 3U);
  EXPECT_EQ(*two, "two");
  words.erase(two.handle());
  EXPECT_FALSE(two);
  EXPECT_FALSE(word_map::pointer_type());
}

TEST(SlotMap, EvictsTheLeastImportantWhenFull) {
  slot_map<int> loudness({.max_size = 3});
  const auto quiet = loudness.insert(1);
  const auto loud = loudness.insert(9);
  (void)loudness.insert(5);
  const auto fresh = loudness.emplace_or_evict(std::less<>(), 7);
  EXPECT_FALSE(loudness.contains(quiet));
  EXPECT_TRUE(loudness.contains(loud));
  EXPECT_EQ(loudness[fresh], 7);
  EXPECT_EQ(loudness.size(), 3U);
}

TEST(SlotMap, EvictsNothingWhileThereIsRoom) {
  slot_map<int> loudness({.max_size = 2});
  const auto quiet = loudness.insert(1);
  (void)loudness.emplace_or_evict(std::less<>(), 7);
  EXPECT_TRUE(loudness.contains(quiet));
}

TEST(SlotMap, EvictionStepsOverHoles) {
  slot_map<int> loudness({.max_size = 2, .compaction = compaction_mode::manual});
  const auto gone = loudness.insert(1);
  (void)loudness.insert(3);
  loudness.erase(gone);
  const auto two = loudness.insert(2);
  (void)loudness.emplace_or_evict(std::less<>(), 4);
  EXPECT_FALSE(loudness.contains(two));
}

TEST(SlotMap, SlotWithoutGenerationsLeftIsNotUsedAgain) {
  slot_map<int, test::few_generations<2>> numbers({.max_size = 1});
  std::vector<slot_handle<int>> stale;
  for (int i = 0; i < 10; ++i) {
    const auto given = numbers.insert(i);
    EXPECT_EQ(std::ranges::count(stale, given), 0);
    EXPECT_EQ(numbers[given], i);
    numbers.erase(given);
    stale.push_back(given);
  }
  EXPECT_EQ(numbers.used_up_slots(), 5U);
}

// New slots continue at the age of the oldest slot removed, so no generations are lost.
TEST(SlotMap, ShrinkingUsesNoSlotsUp) {
  constexpr std::uint32_t generations = 100;
  slot_map<int, test::few_generations<generations>> numbers;
  constexpr std::size_t rounds = 1000;
  for (std::size_t round = 0; round < rounds; ++round) {
    numbers.erase(numbers.insert(1));
    numbers.shrink_to_fit();
  }
  EXPECT_LE(numbers.used_up_slots(), rounds / (generations / 2) + 1);
}

}  // namespace
}  // namespace lido
