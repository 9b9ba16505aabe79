// Walks of a concurrent_slot_map, which enter many values at once, and the promises they must keep.
#include <gtest/gtest.h>

#include <atomic>
#include <chrono>
#include <cstddef>
#include <memory>
#include <stdexcept>
#include <thread>
#include <utility>
#include <vector>

#include "lido/concurrent_slot_map.hpp"
#include "support/crew.hpp"

namespace lido {
namespace {

using watched_int = std::shared_ptr<int>;
using watched_map = concurrent_slot_map<watched_int>;

TEST(ConcurrentSlotMapWalk, WhatItsCallbackErasesLivesUntilItGoesOnAndNoLonger) {
  const auto watched = std::make_shared<int>(1);
  watched_map map(2);
  const auto first = map.insert(watched);
  const auto second = map.insert(watched);
  int met = 0;
  map.for_each([&](watched_int& /*value*/) {
    ++met;
    EXPECT_TRUE(map.erase(first) && map.erase(second));
    EXPECT_EQ(watched.use_count(), 3);
    EXPECT_FALSE(map.contains(first) || map.contains(second));
  });
  EXPECT_EQ(met, 1) << "an erased value was met";
  EXPECT_EQ(watched.use_count(), 1);
  EXPECT_TRUE(map.try_emplace(watched) && map.try_emplace(watched)) << "a slot is lost";
}

TEST(ConcurrentSlotMapWalk, ItsCallbackMayReplaceValuesOfAFullMap) {
  const auto watched = std::make_shared<int>(1);
  watched_map map(2);
  (void)map.insert(watched);
  auto second = map.insert(watched);
  map.for_each([&](watched_int& /*value*/, watched_map::handle_type own) {
    if (own != second) {
      ASSERT_TRUE(map.erase(second));
      second = map.try_emplace(watched);
      EXPECT_TRUE(second) << "one value, and no room for another";
      ASSERT_TRUE(map.erase(own));
      EXPECT_FALSE(map.try_emplace(watched)) << "in the place of a value that a walk is at";
    }
  });
  EXPECT_TRUE(map.try_emplace(watched));
}

TEST(ConcurrentSlotMapWalk, WhatWasErasedBesideItMakesRoom) {
  concurrent_slot_map<std::shared_ptr<int>> map(100);
  const auto watched = std::make_shared<int>(1);
  std::vector<watched_map::handle_type> all;
  while (const auto made = map.try_emplace(watched)) {
    all.push_back(made);
  }
  std::thread changer;
  map.for_each([&](watched_int& /*value*/, watched_map::handle_type own) {
    if (own == all.front()) {
      changer = std::thread([&] {
        for (std::size_t i = 1; i < 100; ++i) {
          EXPECT_TRUE(map.erase(all[i]));
        }
        for (int i = 1; i < 100; ++i) {
          EXPECT_TRUE(map.try_emplace(watched)) << i;
        }
        EXPECT_FALSE(map.try_emplace(watched));
      });
      changer.join();
    }
  });
  EXPECT_EQ(map.size(), 100U);
}

TEST(ConcurrentSlotMapWalk, CallbackThatThrowsLeavesWhatItErasedToBeDestroyed) {
  const auto watched = std::make_shared<int>(1);
  watched_map map(300);
  std::vector<watched_map::handle_type> all;
  for (int i = 0; i < 300; ++i) {
    all.push_back(map.insert(watched));
  }
  EXPECT_THROW(map.for_each([&](watched_int& /*value*/) {
    for (const auto each : all) {
      (void)map.erase(each);
    }
    throw std::runtime_error("no");
  }),
               std::runtime_error);
  EXPECT_EQ(watched.use_count(), 1);
  EXPECT_EQ(map.size(), 0U);
  EXPECT_TRUE(map.visit(map.insert(watched), [](watched_int&) {})) << "a walk is still there";
}

TEST(ConcurrentSlotMapWalk, CallbackMayVisitEachOtherValue) {
  concurrent_slot_map<int> map(100);
  std::vector<slot_handle<int>> all;
  for (int i = 0; i < 100; ++i) {
    all.push_back(map.insert(0));
  }
  map.for_each([&](int& /*value*/, slot_handle<int> own) {
    for (const auto each : all) {
      EXPECT_TRUE(each == own || map.visit(each, [](int& value) { ++value; }));
    }
  });
  std::as_const(map).for_each([&](const int& outer) {
    EXPECT_EQ(outer, 99);
    std::as_const(map).for_each([](const int& inner) { EXPECT_EQ(inner, 99); });
  });
}

// A thread that stays in one value keeps other threads out of that value only.
TEST(ConcurrentSlotMapWalk, KeepsOthersFromTheValueItIsWithOnly) {
  concurrent_slot_map<int> map(2);
  const auto first = map.insert(0);
  const auto second = map.insert(0);
  std::atomic<bool> other_done = false;
  std::atomic<bool> alone = true;
  std::atomic<bool> there = false;
  slot_handle<int> walked;
  std::thread other([&] {
    while (!there) {
      std::this_thread::yield();
    }
    const auto free = walked == first ? second : first;
    EXPECT_TRUE(map.visit(free, [](int& value) { ++value; }));
    std::thread late([&] { EXPECT_TRUE(map.visit(walked, [&](int&) { EXPECT_TRUE(alone); })); });
    other_done = true;
    late.join();
  });
  map.for_each([&](int& /*value*/, slot_handle<int> own) {
    if (there) {
      return;
    }
    walked = own;
    alone = false;
    there = true;
    while (!other_done) {
      std::this_thread::yield();
    }
    std::this_thread::sleep_for(std::chrono::milliseconds(20));
    alone = true;
  });
  other.join();
}

TEST(ConcurrentSlotMapWalk, WalksVisitsAndErasesBesideOneAnotherLoseNothing) {
  struct pair {
    long first = 0;
    long second = 0;
  };
  concurrent_slot_map<pair> map(64);
  const auto kept = map.emplace();
  std::atomic<long> changes = 0;
  const auto change = [&](pair& value) {
    EXPECT_EQ(value.first, value.second);
    ++value.first;
    ++value.second;
  };
  test::run_crew(4, [&](unsigned member) {
    for (int i = 0; i < 2000; ++i) {
      const auto fresh = map.try_emplace();
      if (member == 0) {
        map.for_each([&](pair& value, slot_handle<pair> own) {
          change(value);
          changes += own == kept ? 1 : 0;
        });
      } else if (member == 1) {
        std::as_const(map).for_each(
            [](const pair& value) { EXPECT_EQ(value.first, value.second); });
      } else if (map.visit(kept, change)) {
        ++changes;
      }
      (void)map.erase(fresh);
    }
  });
  EXPECT_EQ(map.size(), 1U);
  map.read(kept, [&](const pair& value) { EXPECT_EQ(value.first, changes); });
}

}  // namespace
}  // namespace lido
