// Promises of a concurrent_slot_map about the start and end of a value, and of the map itself.
#include <gtest/gtest.h>

#include <algorithm>
#include <array>
#include <bit>
#include <cstddef>
#include <cstdint>
#include <new>
#include <thread>
#include <utility>
#include <vector>

#include "lido/concurrent_slot_map.hpp"

namespace lido {
namespace {

/// Erases another value in its destructor.
struct owner {
  explicit owner(int& count) : ended(&count) {}
  owner(const owner&) = delete;
  owner& operator=(const owner&) = delete;
  ~owner() {
    ++*ended;
    if (child) {
      (void)map->erase(child);
    }
  }

  int* ended;
  concurrent_slot_map<owner>* map = nullptr;
  slot_handle<owner> child;
};

TEST(ConcurrentSlotMapEnds, EndsAValueOnceThatTheDestructorOfAnotherErases) {
  for (const bool child_is_lower : {true, false}) {
    int ended = 0;
    {
      concurrent_slot_map<owner> map(2);
      slot_handle<owner> child = map.emplace(ended);
      slot_handle<owner> parent = map.emplace(ended);
      const auto slot = [&](auto which) {
        return which.to_bits() % std::bit_ceil(map.max_size() + 1);
      };
      if ((slot(child) < slot(parent)) != child_is_lower) {
        std::swap(child, parent);
      }
      map.visit(parent, [&](owner& value) {
        value.map = &map;
        value.child = child;
      });
    }
    EXPECT_EQ(ended, 2);
  }
}

struct counting_hooks {
  int* inserted;
  int* erased;
  void on_insert(int& /*value*/, slot_handle<int> /*handle*/) const { ++*inserted; }
  void on_erase(int& /*value*/, slot_handle<int> /*handle*/) const noexcept { ++*erased; }
};

TEST(ConcurrentSlotMapEnds, ValuesThatAreThereAtTheEndAreNotAnnounced) {
  int inserted = 0;
  int erased = 0;
  {
    concurrent_slot_map<int, counting_hooks> map({.max_size = 1}, {&inserted, &erased});
    (void)map.insert(1);
  }
  EXPECT_EQ(inserted, 1);
  EXPECT_EQ(erased, 0);
}

struct asking_hooks {
  concurrent_slot_map<int, asking_hooks>** map;
  int* told;
  void on_insert(int& /*value*/, slot_handle<int> given) const {
    ++*told;
    EXPECT_FALSE((*map)->contains(given));
    EXPECT_FALSE((*map)->visit(given, [](int&) { FAIL(); }));
  }
};

TEST(ConcurrentSlotMapEnds, NoThreadReachesAValueBeforeItsHookHasSeenIt) {
  concurrent_slot_map<int, asking_hooks>* there = nullptr;
  int told = 0;
  concurrent_slot_map<int, asking_hooks> map({.max_size = 1}, {&there, &told});
  there = &map;
  EXPECT_TRUE(map.contains(map.insert(1)));
  EXPECT_EQ(told, 1);
}

TEST(ConcurrentSlotMapEnds, WalkErasesTheValueItStopsAt) {
  concurrent_slot_map<int> numbers(3);
  for (int i = 0; i < 3; ++i) {
    (void)numbers.insert(i);
  }
  EXPECT_FALSE(numbers.for_each([](int&) { return step::erase_and_stop; }));
  EXPECT_EQ(numbers.size(), 2U);
}

TEST(ConcurrentSlotMapEnds, WalkGoesInTheOrderOfMemoryAndGivesTheMap) {
  concurrent_slot_map<int> numbers(300);
  for (int i = 0; i < 300; ++i) {
    (void)numbers.insert(i);
  }
  std::vector<const int*> met;
  numbers.for_each([&](int& value, slot_handle<int> own, concurrent_slot_map<int>& map) {
    EXPECT_TRUE(&map == &numbers && map.contains(own));
    met.push_back(&value);
  });
  EXPECT_EQ(met.size(), 300U);
  EXPECT_TRUE(std::is_sorted(met.begin(), met.end()));
}

TEST(ConcurrentSlotMapEnds, FullMapThrowsWithItsNameAndNumbers) {
  concurrent_slot_map<int> numbers({.max_size = 1, .name = "numbers"});
  (void)numbers.insert(1);
  try {
    (void)numbers.insert(2);
    FAIL();
  } catch (const pool_exhausted& error) {
    EXPECT_EQ(error.pool_name(), "numbers");
    EXPECT_EQ(error.capacity(), 1U);
    EXPECT_EQ(error.in_use(), 1U);
  }
  EXPECT_EQ(numbers.name(), "numbers");
}

void fill(concurrent_slot_map<int>& numbers, int count) {
  for (int i = 0; i < count; ++i) {
    (void)numbers.insert(i);
  }
}

/// Holds whatever caches contain, and however many values there may be.
TEST(ConcurrentSlotMapEnds, FirstSlotsOfANewMapAreTheLowest) {
  for (const std::size_t most : {10'000U, 1'000'000U}) {
    for (const std::size_t cached : {0U, 16U, 100U, 512U}) {
      concurrent_slot_map<int> numbers({.max_size = most, .max_cached = cached});
      fill(numbers, 100);
      EXPECT_LE(numbers.extent(), 500U) << "of " << most << ", caches of " << cached;
      fill(numbers, 9'900);
      EXPECT_LE(numbers.extent(), 25'000U) << "caches of " << cached;
    }
  }
}

TEST(ConcurrentSlotMapEnds, FirstSlotsOfSeveralThreadsAreLowToo) {
  concurrent_slot_map<int> numbers(1'000'000);
  std::vector<std::thread> threads;
  for (int i = 0; i < 4; ++i) {
    threads.emplace_back([&] { fill(numbers, 100); });
  }
  for (std::thread& thread : threads) {
    thread.join();
  }
  EXPECT_LE(numbers.extent(), 2'000U);
}

TEST(ConcurrentSlotMapEnds, ExtentStaysWhereTheHighestValueWas) {
  concurrent_slot_map<int> numbers(1'000);
  fill(numbers, 1'000);
  EXPECT_FALSE(numbers.try_emplace(1)) << "every slot is there";
  EXPECT_EQ(numbers.extent(), 1'000U);
  numbers.clear();
  EXPECT_EQ(numbers.extent(), 1'000U);
}

TEST(ConcurrentSlotMapEnds, BytesBeyondTheAddressSpaceAreRefused) {
  struct huge {
    std::array<char, (SIZE_MAX >> 24U) + 1> bytes;
  };
  EXPECT_THROW(concurrent_slot_map<huge>(0xFFFF'FFFE), std::bad_array_new_length);
}

}  // namespace
}  // namespace lido
