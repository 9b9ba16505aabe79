#include "lido/concurrent_slot_map.hpp"

#include <gtest/gtest.h>

#include <atomic>
#include <memory>
#include <mutex>
#include <set>
#include <stdexcept>
#include <string>
#include <thread>
#include <vector>

#include "support/crew.hpp"
#include "support/few_generations.hpp"
#include "support/tracked.hpp"

namespace lido {
namespace {

using concurrent_word_map = concurrent_slot_map<std::string>;
using word_handle = concurrent_word_map::handle_type;

std::string text_of(const concurrent_word_map& words, word_handle which) {
  std::string text;
  EXPECT_TRUE(words.read(which, [&](const std::string& value) { text = value; }));
  return text;
}

TEST(ConcurrentSlotMap, VisitsAndReadsWhatWasInserted) {
  concurrent_word_map words(10);
  const word_handle one = words.insert("one");
  const word_handle three = words.emplace(3U, 'x');
  EXPECT_TRUE(words.visit(one, [](std::string& value) { value += "!"; }));
  EXPECT_EQ(text_of(words, one), "one!");
  EXPECT_EQ(text_of(words, three), "xxx");
  EXPECT_EQ(words.size(), 2U);
}

TEST(ConcurrentSlotMap, StaleAndNullHandlesAreRefused) {
  concurrent_word_map words(1);
  EXPECT_FALSE(words.contains({}) || words.erase({}));
  const word_handle one = words.insert("one");
  EXPECT_FALSE(words.contains({}) || words.erase({}));
  EXPECT_TRUE(words.erase(one));
  EXPECT_FALSE(words.erase(one));
  const word_handle two = words.insert("two");
  EXPECT_NE(one, two);
  EXPECT_FALSE(words.contains(one));
  EXPECT_FALSE(words.visit(one, [](std::string&) { FAIL(); }));
  EXPECT_FALSE(words.read(one, [](const std::string&) { FAIL(); }));
  EXPECT_FALSE(words.erase(one));
  EXPECT_TRUE(words.contains(two));
}

TEST(ConcurrentSlotMap, HandleOfAnotherMapIsRefusedWhenItsSlotIsNotThere) {
  concurrent_word_map large(1000);
  concurrent_word_map small(1);
  for (int i = 0; i < 1000; ++i) {
    const word_handle foreign = large.insert("far");
    EXPECT_FALSE(small.contains(foreign));
  }
}

TEST(ConcurrentSlotMap, FullMapThrowsOrGivesTheNullHandle) {
  concurrent_word_map words({.max_size = 2, .name = "words"});
  (void)words.insert("one");
  const word_handle two = words.insert("two");
  EXPECT_FALSE(words.try_emplace("three"));
  EXPECT_THROW((void)words.insert("three"), pool_exhausted);
  words.erase(two);
  EXPECT_TRUE(words.try_emplace("three"));
}

TEST(ConcurrentSlotMap, BadOptionsAreRefused) {
  EXPECT_THROW(concurrent_word_map(0), std::invalid_argument);
  EXPECT_THROW(concurrent_word_map(0xFFFF'FFFF), std::invalid_argument);
  EXPECT_THROW(concurrent_word_map({.max_size = 1, .max_cached = 100'000}), std::invalid_argument);
}

TEST(ConcurrentSlotMap, WalkMeetsEachValueOnceAndMayEraseInsertAndStop) {
  concurrent_slot_map<int> numbers(300);
  for (int i = 0; i < 200; ++i) {
    (void)numbers.insert(i);
  }
  std::set<int> met;
  EXPECT_TRUE(numbers.for_each([&](int& value, slot_handle<int> own) {
    EXPECT_TRUE(met.insert(value).second);
    if (value % 4 == 0) {
      EXPECT_TRUE(numbers.erase(own));
      EXPECT_FALSE(numbers.contains(own));
      value = -1;  // it exists until the callback ends
    }
    return value % 2 == 1 ? step::erase : step::next;
  }));
  EXPECT_EQ(met.size(), 200U);
  EXPECT_EQ(numbers.size(), 50U);
  EXPECT_FALSE(numbers.for_each([](int&) { return false; }));
  const auto& fixed = numbers;
  int visits = 0;
  EXPECT_TRUE(fixed.for_each([&](const int& value) {
    EXPECT_EQ(value % 4, 2);
    ++visits;
  }));
  EXPECT_EQ(visits, 50);
  EXPECT_FALSE(fixed.for_each([](const int&, slot_handle<int>) { return false; }));
}

TEST(ConcurrentSlotMap, ValueThatIsErasedDuringItsVisitLivesUntilThatEnds) {
  concurrent_slot_map<std::shared_ptr<int>> map(2);
  const auto watched = std::make_shared<int>(1);
  const auto there = map.insert(watched);
  EXPECT_TRUE(map.visit(there, [&](std::shared_ptr<int>& value) {
    EXPECT_TRUE(map.erase(there));
    EXPECT_FALSE(map.contains(there));
    EXPECT_EQ(watched.use_count(), 2);
    EXPECT_EQ(*value, 1);
  }));
  EXPECT_EQ(watched.use_count(), 1);
  EXPECT_EQ(map.size(), 0U);
}

TEST(ConcurrentSlotMap, ValueThatIsErasedWhileItIsReadLivesUntilThatEnds) {
  concurrent_slot_map<std::shared_ptr<int>> map(2);
  const auto watched = std::make_shared<int>(1);
  const auto there = map.insert(watched);
  EXPECT_TRUE(map.read(there, [&](const std::shared_ptr<int>&) {
    EXPECT_TRUE(map.read(there, [&](const std::shared_ptr<int>&) { map.erase(there); }));
    EXPECT_EQ(watched.use_count(), 2);
  }));
  EXPECT_EQ(watched.use_count(), 1);
}

TEST(ConcurrentSlotMap, CallbackThatThrowsLeavesTheValue) {
  concurrent_slot_map<int> numbers(1);
  const auto one = numbers.insert(1);
  EXPECT_THROW(numbers.visit(one, [](int&) { throw std::runtime_error("no"); }),
               std::runtime_error);
  EXPECT_THROW(numbers.read(one, [](const int&) { throw std::runtime_error("no"); }),
               std::runtime_error);
  EXPECT_TRUE(numbers.visit(one, [](int& value) { ++value; }));
}

struct refusing {
  explicit refusing(bool refuse) {
    if (refuse) {
      throw test::refused();
    }
  }
};

TEST(ConcurrentSlotMap, ThrowingConstructorLosesNoSlot) {
  concurrent_slot_map<refusing> map(2);
  for (int i = 0; i < 100; ++i) {
    EXPECT_THROW((void)map.emplace(true), test::refused);
  }
  (void)map.emplace(false);
  (void)map.emplace(false);
  EXPECT_EQ(map.size(), 2U);
}

/// Hooks that refuse, and count.
struct strict_hooks {
  std::atomic<int>* inserted;
  std::atomic<int>* erased;
  void on_insert(std::shared_ptr<int>& value, slot_handle<std::shared_ptr<int>> /*handle*/) {
    if (value == nullptr) {
      throw test::refused();
    }
    ++*inserted;
  }
  void on_erase(std::shared_ptr<int>& /*value*/,
                slot_handle<std::shared_ptr<int>> /*handle*/) noexcept {
    ++*erased;
  }
};

TEST(ConcurrentSlotMap, HooksAreToldAndMayRefuse) {
  std::atomic<int> inserted = 0;
  std::atomic<int> erased = 0;
  concurrent_slot_map<std::shared_ptr<int>, strict_hooks> map({.max_size = 1},
                                                              {&inserted, &erased});
  EXPECT_THROW((void)map.insert(nullptr), test::refused);
  const auto one = map.insert(std::make_shared<int>(1));
  map.erase(one);
  EXPECT_EQ(inserted, 1);
  EXPECT_EQ(erased, 1);
}

/// Hooks that store the handle they are given, and refuse.
struct remembering_hooks {
  slot_handle<int>* seen;
  bool* refuse;
  void on_insert(int& /*value*/, slot_handle<int> given) const {
    *seen = given;
    if (*refuse) {
      throw test::refused();
    }
  }
};

TEST(ConcurrentSlotMap, HandleThatARefusingHookSawIsStaleForEver) {
  slot_handle<int> seen;
  bool refuse = true;
  concurrent_slot_map<int, remembering_hooks> map({.max_size = 1}, {&seen, &refuse});
  EXPECT_THROW((void)map.insert(1), test::refused);
  const slot_handle<int> refused = seen;
  refuse = false;
  EXPECT_NE(map.insert(2), refused);
  EXPECT_FALSE(map.contains(refused));
}

TEST(ConcurrentSlotMap, RefusedInsertsUseASlotUp) {
  slot_handle<int> seen;
  bool refuse = true;
  concurrent_slot_map<int, test::few_generations_with<2, remembering_hooks>> map(
      {.max_size = 1}, {{&seen, &refuse}});
  EXPECT_THROW((void)map.insert(1), test::refused);
  EXPECT_EQ(map.used_up_slots(), 0U);
  EXPECT_THROW((void)map.insert(1), test::refused);
  EXPECT_EQ(map.used_up_slots(), 1U);
  EXPECT_FALSE(map.try_emplace(1));
}

TEST(ConcurrentSlotMap, DestructorEndsAllValues) {
  const auto watched = std::make_shared<int>(1);
  {
    concurrent_slot_map<std::shared_ptr<int>> map(100);
    const auto gone = map.insert(watched);
    for (int i = 0; i < 50; ++i) {
      (void)map.insert(watched);
    }
    map.erase(gone);
    EXPECT_EQ(watched.use_count(), 51);
  }
  EXPECT_EQ(watched.use_count(), 1);
}

/// A type that can be neither copied nor moved.
struct fixed_value {
  explicit fixed_value(int number) : value(number) {}
  fixed_value(const fixed_value&) = delete;
  fixed_value& operator=(const fixed_value&) = delete;
  ~fixed_value() = default;
  int value;
};

TEST(ConcurrentSlotMap, HoldsWhatCannotMove) {
  concurrent_slot_map<fixed_value> map(4);
  EXPECT_TRUE(map.visit(map.emplace(1), [](fixed_value& value) { EXPECT_EQ(value.value, 1); }));
}

TEST(ConcurrentSlotMap, SlotWithoutGenerationsLeftIsNotUsedAgain) {
  concurrent_slot_map<int, test::few_generations<2>> numbers(2);
  std::set<slot_handle<int>> given;
  for (int i = 0; i < 4; ++i) {
    const auto fresh = numbers.insert(i);
    EXPECT_TRUE(given.insert(fresh).second);
    numbers.erase(fresh);
  }
  EXPECT_EQ(numbers.used_up_slots(), 2U);
  EXPECT_EQ(numbers.size(), 0U);
  EXPECT_FALSE(numbers.try_emplace(5));
  EXPECT_THROW((void)numbers.insert(5), pool_exhausted);
  for (const auto stale : given) {
    EXPECT_FALSE(numbers.contains(stale));
  }
}

TEST(ConcurrentSlotMap, ParallelWalkMeetsEachValueOnce) {
  concurrent_slot_map<int> numbers(1000);
  for (int i = 0; i < 1000; ++i) {
    (void)numbers.insert(0);
  }
  std::atomic<int> erased = 0;
  numbers.for_each(test::two_threads(), [&](int& value, slot_handle<int>) {
    ++value;
    return ++erased % 2 == 0 ? step::erase : step::next;
  });
  EXPECT_EQ(numbers.size(), 500U);
  numbers.for_each([](int& value) { EXPECT_EQ(value, 1); });
}

TEST(ConcurrentSlotMap, ParallelWalkOverAConstMapReads) {
  concurrent_slot_map<int> numbers(1000);
  for (int i = 0; i < 1000; ++i) {
    (void)numbers.insert(i);
  }
  std::atomic<int> sum = 0;
  std::as_const(numbers).for_each(test::two_threads(), [&](const int& value) { sum += value; });
  EXPECT_EQ(sum, 1000 * 999 / 2);
}

TEST(ConcurrentSlotMap, WalkAloneMeetsEachValueOnceAndMayEraseInsertAndStop) {
  concurrent_slot_map<int> numbers(300);
  for (int i = 0; i < 200; ++i) {
    (void)numbers.insert(i);
  }
  std::set<int> met;
  EXPECT_TRUE(numbers.for_each_alone([&](int& value, slot_handle<int> own) {
    EXPECT_TRUE(numbers.contains(own));
    if (value < 0) {
      return step::next;  // a new one, which the walk may visit or not
    }
    EXPECT_TRUE(met.insert(value).second);
    (void)numbers.try_emplace(-1);
    return value % 2 == 1 ? step::erase : step::next;
  }));
  EXPECT_EQ(met.size(), 200U);
  int old = 0;
  EXPECT_TRUE(numbers.for_each_alone([&](const int& value) { old += value >= 0 ? 1 : 0; }));
  EXPECT_EQ(old, 100);
  const std::size_t before = numbers.size();
  EXPECT_FALSE(numbers.for_each_alone([](int&) { return step::erase_and_stop; }));
  EXPECT_EQ(numbers.size(), before - 1);
}

TEST(ConcurrentSlotMap, WalkAloneOnSeveralThreadsErasesWhatTheCallbackSays) {
  concurrent_slot_map<int> numbers(1000);
  for (int i = 0; i < 1000; ++i) {
    (void)numbers.insert(i);
  }
  numbers.for_each_alone(test::two_threads(), [](int& value) {
    value += 1;
    return value % 2 == 0 ? step::erase : step::next;
  });
  EXPECT_EQ(numbers.size(), 500U);
  numbers.for_each([](int& value) { EXPECT_EQ(value % 2, 1); });
}

TEST(ConcurrentSlotMap, VisitorsAreAloneAndReadersNeverSeeHalfAChange) {
  struct pair {
    long first = 0;
    long second = 0;
  };
  concurrent_slot_map<pair> map(1);
  const auto only = map.emplace();
  constexpr long rounds = 20'000;
  std::vector<std::thread> threads;
  for (int i = 0; i < 2; ++i) {
    threads.emplace_back([&] {
      for (long round = 0; round < rounds; ++round) {
        map.visit(only, [](pair& value) {
          ++value.first;
          ++value.second;
        });
      }
    });
    threads.emplace_back([&] {
      for (long round = 0; round < rounds; ++round) {
        map.read(only, [](const pair& value) { EXPECT_EQ(value.first, value.second); });
      }
    });
  }
  for (std::thread& thread : threads) {
    thread.join();
  }
  map.read(only, [](const pair& value) { EXPECT_EQ(value.first, 2 * rounds); });
}

TEST(ConcurrentSlotMap, OfManyErasersOneSucceeds) {
  concurrent_slot_map<std::shared_ptr<int>> map(1);
  const auto watched = std::make_shared<int>(0);
  for (int round = 0; round < 500; ++round) {
    const auto there = map.insert(watched);
    std::atomic<int> successes = 0;
    std::atomic<bool> go = false;
    std::vector<std::thread> threads;
    for (int i = 0; i < 3; ++i) {
      threads.emplace_back([&, i] {
        while (!go) {
        }
        if (i == 0) {
          map.read(there, [](const std::shared_ptr<int>& value) { EXPECT_NE(value, nullptr); });
        }
        successes += map.erase(there) ? 1 : 0;
      });
    }
    go = true;
    for (std::thread& thread : threads) {
      thread.join();
    }
    ASSERT_EQ(successes, 1);
    ASSERT_EQ(watched.use_count(), 1);
  }
}

}  // namespace
}  // namespace lido
