// Slot maps that have been moved, and their moved-from sources.
#include <gtest/gtest.h>

#include <cstddef>
#include <string>
#include <utility>
#include <vector>

#include "lido/slot_map.hpp"

namespace lido {
namespace {

using word_map = slot_map<std::string>;
using word_handle = slot_handle<std::string>;

TEST(SlotMap, MovedMapTakesTheHandlesAlong) {
  word_map words({.name = "words"});
  const word_handle one = words.insert("one");
  word_map others(std::move(words));
  EXPECT_EQ(others[one], "one");
  EXPECT_EQ(others.name(), "words");
  // NOLINTNEXTLINE(bugprone-use-after-move): what it says of a map moved from is what is tested
  EXPECT_TRUE(words.empty() && !words.contains(one));
}

TEST(SlotMap, AMapThatWasMovedFromIsANewOne) {
  word_map words;
  words.erase(words.insert("one"));
  const word_map others(std::move(words));
  // NOLINTNEXTLINE(bugprone-use-after-move): what it does then is what is tested
  const word_handle two = words.insert("two");
  EXPECT_EQ(words[two], "two");
  EXPECT_TRUE(others.empty());
}

TEST(SlotMap, AMapThatWasMovedFromKeepsItsNumbersAndItsMode) {
  word_map words({.max_size = 40,
                  .reserve = 10,
                  .shrink_threshold = 4,
                  .compaction = compaction_mode::immediate,
                  .name = "words"});
  (void)words.insert("gone");
  const word_map others(std::move(words));
  EXPECT_EQ(others.capacity(), 10U);
  // NOLINTBEGIN(bugprone-use-after-move): what it does then is what is tested
  EXPECT_EQ(words.max_size(), 40U);
  EXPECT_EQ(words.capacity(), 0U) << "room for reserve went with the values";
  std::vector<word_handle> handles;
  for (int i = 0; i < 40; ++i) {
    handles.push_back(words.insert(std::to_string(i)));
  }
  EXPECT_FALSE(words.try_emplace("too many"));
  EXPECT_THROW((void)words.insert("too many"), pool_exhausted);
  for (const word_handle gone : handles) {
    words.erase(gone);
    EXPECT_EQ(words.holes(), 0U);
  }
  EXPECT_EQ(words.capacity(), 10U) << "shrunk by itself, but not below reserve";
  // NOLINTEND(bugprone-use-after-move)
}

/// Inserts as many as fit, and then erases all.
void fill_and_empty(word_map& words) {
  const std::size_t room = words.capacity();
  while (words.size() < room) {
    (void)words.insert("gone");
  }
  while (!words.empty()) {
    words.erase(words.begin().handle());
  }
  words.compact();
}

TEST(SlotMap, AMapThatIsMovedToHasTheNumbersAndTheModeOfTheOther) {
  word_map words({.max_size = 20'000, .reserve = 10, .compaction = compaction_mode::manual});
  words.reserve(10'000);
  word_map others(std::move(words));
  fill_and_empty(others);
  EXPECT_EQ(others.capacity(), 10'000U) << "reserved before the move";
  others.shrink_to_fit();
  EXPECT_EQ(others.capacity(), 10U);
  EXPECT_EQ(others.max_size(), 20'000U);
  const word_handle gone = others.insert("one");
  (void)others.insert("two");
  others.erase(gone);
  others.for_each([](const std::string& /*word*/) {});
  EXPECT_EQ(others.holes(), 1U);
}

TEST(SlotMap, AMapThatIsMovedToHasTheShrinkThresholdOfTheOther) {
  for (const std::size_t threshold : {std::size_t{100}, unlimited}) {
    word_map words({.shrink_threshold = threshold});
    while (words.size() < 512) {
      (void)words.insert("gone");
    }
    word_map others(std::move(words));
    const std::size_t before = others.capacity();
    fill_and_empty(others);
    EXPECT_EQ(others.capacity(), threshold == unlimited ? before : 0U);
  }
}

}  // namespace
}  // namespace lido
