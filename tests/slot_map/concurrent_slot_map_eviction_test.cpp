#include <gtest/gtest.h>

#include <atomic>
#include <chrono>
#include <thread>
#include <utility>
#include <vector>

#include "lido/slot_map.hpp"
#include "support/tracked.hpp"

namespace lido {
namespace {

using namespace std::chrono_literals;

int itself(int value) {
  return value;
}

/// What is counted of inserts into a map of `few_slots` slots.
struct insert_counts {
  std::atomic<int> begun = 0;
  std::atomic<int> erased = 0;
  std::atomic<int> too_many = 0;  ///< erased though an insert less would have done
};
constexpr int few_slots = 8;

struct insert_counting_hooks {
  insert_counts* counts;
  void on_erase(int& /*value*/, slot_handle<int> /*handle*/) const noexcept {
    const int erased = ++counts->erased;
    counts->too_many += erased > counts->begun - few_slots ? 1 : 0;
  }
};
using evicting_map = concurrent_slot_map<int, insert_counting_hooks>;

TEST(ConcurrentSlotMapEviction, WaitsForTheValueItErasedInsteadOfErasingAnother) {
  concurrent_slot_map<int> loudness(3);
  const auto quiet = loudness.insert(1);
  const auto louder = loudness.insert(2);
  (void)loudness.insert(9);
  std::atomic<bool> reading = false;
  std::atomic<bool> enough = false;
  std::thread reader([&] {
    loudness.read(quiet, [&](int) {
      reading = true;
      while (!enough) {
        std::this_thread::yield();
      }
    });
  });
  while (!reading) {
    std::this_thread::yield();
  }
  std::atomic<bool> inserted = false;
  std::thread evictor([&] {
    (void)loudness.emplace_or_evict(itself, 5);
    inserted = true;
  });
  while (loudness.contains(quiet)) {
    std::this_thread::yield();
  }
  std::this_thread::sleep_for(50ms);
  EXPECT_FALSE(inserted) << "the slot is not free before its reader has left";
  EXPECT_TRUE(loudness.contains(louder));
  enough = true;
  reader.join();
  evictor.join();
  EXPECT_TRUE(loudness.contains(louder)) << "one insert, one eviction";
  EXPECT_EQ(loudness.size(), 3U);
}

TEST(ConcurrentSlotMapEviction, SlotThatIsUsedUpIsNotWaitedFor) {
  concurrent_slot_map<int, no_hooks, 1> numbers(2);
  (void)numbers.insert(1);
  (void)numbers.insert(2);
  EXPECT_THROW((void)numbers.emplace_or_evict(itself, 3), pool_exhausted);
  EXPECT_EQ(numbers.used_up_slots(), 2U);
}

TEST(ConcurrentSlotMapEviction, ReaderOfAValueWhoseSlotIsUsedUpIsWaitedFor) {
  concurrent_slot_map<int, no_hooks, 1> numbers(1);
  const auto only = numbers.insert(1);
  std::atomic<bool> reading = false;
  std::thread reader([&] {
    numbers.read(only, [&](int) {
      reading = true;
      while (numbers.contains(only)) {
        std::this_thread::yield();
      }
    });
  });
  while (!reading) {
    std::this_thread::yield();
  }
  EXPECT_THROW((void)numbers.emplace_or_evict(itself, 3), pool_exhausted);
  reader.join();
}

/// Walks until `left` is 0, slowly.
template <class Map>
void walk_while(Map& map, const std::atomic<int>& left) {
  while (left != 0) {
    map.for_each([](auto&) { std::this_thread::yield(); });
  }
}

// Every insert beyond the capacity ends one value, while readers and walkers hold others up.
TEST(ConcurrentSlotMapEviction, EndsAsManyValuesAsDoNotFit) {
  constexpr int threads = 3;
  constexpr int inserts = 50;
  for (int round = 0; round < 100; ++round) {
    insert_counts counts;
    std::atomic<int> left = threads;
    evicting_map numbers({.max_size = few_slots}, {&counts});
    std::vector<std::thread> all;
    for (int i = 0; i < threads; ++i) {
      all.emplace_back([&, i] {
        for (int n = 0; n < inserts; ++n) {
          ++counts.begun;
          (void)numbers.emplace_or_evict(itself, n * threads + i);
        }
        --left;
      });
    }
    all.emplace_back([&] { walk_while(numbers, left); });
    all.emplace_back([&] { walk_while(std::as_const(numbers), left); });
    for (std::thread& thread : all) {
      thread.join();
    }
    ASSERT_EQ(numbers.size(), static_cast<std::size_t>(few_slots));
    ASSERT_EQ(counts.erased, threads * inserts - few_slots);
    ASSERT_EQ(counts.too_many, 0);
  }
}

TEST(ConcurrentSlotMapEviction, ImportanceThatThrowsErasesNothing) {
  concurrent_slot_map<int> numbers(2);
  const auto one = numbers.insert(1);
  const auto two = numbers.insert(2);
  const auto refuse = [](int) -> int { throw test::refused(); };
  EXPECT_THROW((void)numbers.emplace_or_evict(refuse, 3), test::refused);
  EXPECT_TRUE(numbers.visit(one, [](int&) {}));
  EXPECT_TRUE(numbers.visit(two, [](int&) {}));
}

struct picky_hooks {
  void on_insert(int& value, slot_handle<int> /*handle*/) const {
    if (value < 0) {
      throw test::refused();
    }
  }
};

TEST(ConcurrentSlotMapEviction, HookThatRefusesCostsTheVictimAndNoSlot) {
  concurrent_slot_map<int, picky_hooks> numbers({.max_size = 2});
  const auto least = numbers.insert(1);
  (void)numbers.insert(2);
  EXPECT_THROW((void)numbers.emplace_or_evict(itself, -1), test::refused);
  EXPECT_FALSE(numbers.contains(least));
  EXPECT_EQ(numbers.size(), 1U);
  EXPECT_TRUE(numbers.try_emplace(3));
  EXPECT_FALSE(numbers.try_emplace(4));
}

}  // namespace
}  // namespace lido
