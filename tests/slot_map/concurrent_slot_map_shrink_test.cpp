#include <gtest/gtest.h>
#include <sys/mman.h>

#include <algorithm>
#include <array>
#include <atomic>
#include <bit>
#include <cstdint>
#include <set>
#include <thread>
#include <vector>

#include "lido/base/address_space.hpp"
#include "lido/slot_map.hpp"

namespace lido {
namespace {

using concurrent_number_map = concurrent_slot_map<int>;
using number_handle = concurrent_number_map::handle_type;

std::vector<number_handle> fill(concurrent_number_map& numbers, int count) {
  std::vector<number_handle> handles;
  for (int i = 0; i < count; ++i) {
    handles.push_back(numbers.insert(i));
  }
  return handles;
}

/// The place in memory, in units of a value.
std::uint32_t slot_in(const concurrent_number_map& numbers, number_handle which) {
  return static_cast<std::uint32_t>(which.to_bits() % std::bit_ceil(numbers.max_size() + 1));
}

TEST(ConcurrentSlotMapShrink, WalksAreShortAgainAfterABurst) {
  concurrent_number_map numbers(100'000);
  const std::vector<number_handle> handles = fill(numbers, 100'000);
  EXPECT_EQ(numbers.extent(), 100'000U);
  for (const number_handle gone : handles) {
    if (slot_in(numbers, gone) >= 10) {
      numbers.erase(gone);
    }
  }
  EXPECT_EQ(numbers.extent(), 100'000U) << "an erase does not lower it";
  numbers.shrink_to_fit();
  EXPECT_EQ(numbers.extent(), 10U);
  int visits = 0;
  numbers.for_each([&](int&) { ++visits; });
  EXPECT_EQ(visits, 10);
  EXPECT_EQ(numbers.size(), 10U);
}

TEST(ConcurrentSlotMapShrink, AllSlotsAreThereAfterwardsAndTheLowestComeFirst) {
  concurrent_number_map numbers(10'000);
  for (const number_handle gone : fill(numbers, 10'000)) {
    numbers.erase(gone);
  }
  numbers.shrink_to_fit();
  EXPECT_EQ(numbers.extent(), 0U);
  (void)fill(numbers, 100);
  EXPECT_LE(numbers.extent(), 500U);
  std::set<number_handle> all;
  numbers.for_each([&](int&, number_handle own) { all.insert(own); });
  for (const number_handle more : fill(numbers, 9'900)) {
    EXPECT_TRUE(all.insert(more).second);
  }
  EXPECT_EQ(numbers.size(), 10'000U);
  EXPECT_FALSE(numbers.try_emplace(1));
}

/// Whatever caches hold, and however many values there may be.
TEST(ConcurrentSlotMapShrink, FirstSlotsOfANewMapAreTheLowestToo) {
  for (const std::size_t most : {10'000U, 1'000'000U}) {
    for (const std::size_t cached : {0U, 16U, 100U, 512U}) {
      concurrent_number_map numbers({.max_size = most, .max_cached = cached});
      (void)fill(numbers, 100);
      EXPECT_LE(numbers.extent(), 500U) << "of " << most << ", caches of " << cached;
      (void)fill(numbers, 9'900);
      EXPECT_LE(numbers.extent(), 25'000U) << "caches of " << cached;
      numbers.clear();
      numbers.shrink_to_fit();
      (void)fill(numbers, 100);
      EXPECT_LE(numbers.extent(), 500U) << "after a shrink, caches of " << cached;
    }
  }
}

TEST(ConcurrentSlotMapShrink, HolesAmongFirstSlotsAreFilledFirst) {
  for (const std::size_t cached : {0U, 512U}) {
    concurrent_number_map numbers({.max_size = 1'000'000, .max_cached = cached});
    for (const number_handle gone : fill(numbers, 40'000)) {
      if (slot_in(numbers, gone) % 16 != 0) {
        numbers.erase(gone);
      }
    }
    numbers.shrink_to_fit();
    const std::size_t extent = numbers.extent();
    (void)fill(numbers, 10'000);
    EXPECT_EQ(numbers.extent(), extent) << "caches of " << cached;
  }
}

TEST(ConcurrentSlotMapShrink, FirstSlotsOfSeveralThreadsAreLowToo) {
  concurrent_number_map numbers(1'000'000);
  std::vector<std::thread> threads;
  for (int i = 0; i < 4; ++i) {
    threads.emplace_back([&] { (void)fill(numbers, 100); });
  }
  for (std::thread& thread : threads) {
    thread.join();
  }
  EXPECT_LE(numbers.extent(), 2'000U);
}

TEST(ConcurrentSlotMapShrink, SlotsInCachesOfOtherThreadsAreFound) {
  concurrent_number_map numbers(1'000);
  std::thread([&] {
    for (const number_handle gone : fill(numbers, 1'000)) {
      numbers.erase(gone);
    }
    std::thread([&] { numbers.shrink_to_fit(); }).join();  // this thread's cache is open
  }).join();
  EXPECT_EQ(numbers.extent(), 0U);
}

TEST(ConcurrentSlotMapShrink, ValueThatSomebodyIsStillWithKeepsTheEndBehindIt) {
  concurrent_number_map numbers(1'000);
  const std::vector<number_handle> handles = fill(numbers, 1'000);
  number_handle last = handles[0];
  for (const number_handle each : handles) {
    last = slot_in(numbers, each) == 999 ? each : last;
  }
  numbers.visit(last, [&](int&) {
    for (const number_handle gone : handles) {
      numbers.erase(gone);
    }
    numbers.shrink_to_fit();
    EXPECT_EQ(numbers.extent(), 1'000U);
  });
  numbers.shrink_to_fit();
  EXPECT_EQ(numbers.extent(), 0U);
}

TEST(ConcurrentSlotMapShrink, HandlesFromBeforeStayStale) {
  concurrent_number_map numbers(100);
  std::set<number_handle> stale;
  for (int round = 0; round < 50; ++round) {
    for (const number_handle fresh : fill(numbers, 100)) {
      EXPECT_TRUE(stale.insert(fresh).second);
      numbers.erase(fresh);
    }
    numbers.shrink_to_fit();
  }
  for (const number_handle old : stale) {
    EXPECT_FALSE(numbers.contains(old));
  }
}

/// As long as a page of most systems, so that each value has pages of its own.
struct page_of_bytes {
  std::array<char, 65536> bytes;
};

/// Pages of the value that have memory.
std::size_t resident_pages(page_of_bytes& value) {
  std::vector<unsigned char> states(sizeof(value) / detail::page_size() + 1);
  const std::uintptr_t at = std::bit_cast<std::uintptr_t>(&value);
  const std::uintptr_t first = at / detail::page_size() * detail::page_size();
  void* const page = std::bit_cast<void*>(first);
  if (::mincore(page, sizeof(value) - (at - first), states.data()) != 0) {
    return states.size();
  }
  std::size_t resident = 0;
  for (const unsigned char state : states) {
    resident += state & 1U;
  }
  return resident;
}

TEST(ConcurrentSlotMapShrink, PagesBehindTheEndGoBackToTheSystem) {
  concurrent_slot_map<page_of_bytes> pages(64);
  std::vector<slot_handle<page_of_bytes>> handles;
  std::vector<page_of_bytes*> places;
  for (int i = 0; i < 64; ++i) {
    handles.push_back(pages.emplace());
    pages.visit(handles.back(), [&](page_of_bytes& value) {
      value.bytes.fill('x');
      places.push_back(&value);
    });
  }
  page_of_bytes* const highest = *std::max_element(places.begin(), places.end());
  page_of_bytes* const lowest = *std::min_element(places.begin(), places.end());
  ASSERT_GT(resident_pages(*highest), 0U);
  for (std::size_t i = 0; i < handles.size(); ++i) {
    if (places[i] != lowest) {
      pages.erase(handles[i]);
    }
  }
  pages.shrink_to_fit();
  EXPECT_EQ(pages.extent(), 1U);
  EXPECT_LE(resident_pages(*highest), 1U) << "the last page of the array may be in use beyond it";
  EXPECT_GT(resident_pages(*lowest), 0U);
  pages.for_each([](page_of_bytes& value) { EXPECT_EQ(value.bytes[65535], 'x'); });
  for (int i = 0; i < 63; ++i) {
    pages.visit(pages.emplace(), [](page_of_bytes& value) { value.bytes.fill('y'); });
  }
}

// The free slots are out for a moment, which is no reason to refuse an insert.
TEST(ConcurrentSlotMapShrink, NoInsertIsRefusedMeanwhile) {
  concurrent_number_map numbers(5'000);
  std::atomic<bool> over = false;
  std::atomic<int> refused = 0;
  std::vector<std::thread> threads;
  for (int i = 0; i < 2; ++i) {
    threads.emplace_back([&] {
      std::vector<number_handle> own;
      while (!over) {
        for (int n = 0; n < 100; ++n) {
          const number_handle fresh = numbers.try_emplace(n);
          refused += fresh ? 0 : 1;
          own.push_back(fresh);
        }
        for (const number_handle gone : own) {
          numbers.erase(gone);
        }
        own.clear();
      }
    });
  }
  for (int i = 0; i < 1'000; ++i) {
    numbers.shrink_to_fit();
  }
  over = true;
  for (std::thread& thread : threads) {
    thread.join();
  }
  EXPECT_EQ(refused, 0);
  EXPECT_EQ(numbers.size(), 0U);
  numbers.shrink_to_fit();
  EXPECT_EQ(numbers.extent(), 0U);
}

TEST(ConcurrentSlotMapShrink, UsedUpSlotsKeepTheEndUp) {
  concurrent_slot_map<int, no_hooks, 1> numbers(10);
  for (int i = 0; i < 10; ++i) {
    (void)numbers.erase(numbers.insert(i));
  }
  numbers.shrink_to_fit();
  EXPECT_EQ(numbers.extent(), 10U);
}

}  // namespace
}  // namespace lido
