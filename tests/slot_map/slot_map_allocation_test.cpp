#include <gtest/gtest.h>

#include <functional>
#include <memory>
#include <new>
#include <vector>

#include "lido/slot_map.hpp"
#include "support/failing_new.hpp"
#include "support/few_generations.hpp"

namespace lido {
namespace {

// dcm_pool promises this with max_size and reserve: no new and no delete.
TEST(SlotMapAllocation, AReservedMapAllocatesNothing) {
  for (const compaction_mode mode :
       {compaction_mode::immediate, compaction_mode::deferred, compaction_mode::manual}) {
    slot_map<int> map({.max_size = 1000, .reserve = 1000, .compaction = mode});
    std::vector<slot_handle<int>> handles;
    handles.reserve(1000);
    const long before = test::allocations().allocations;
    for (int round = 0; round < 10; ++round) {
      for (int i = 0; i < 1000; ++i) {
        handles.push_back(map.emplace(i));
      }
      EXPECT_FALSE(map.try_emplace(0));
      for (int i = 0; i < 10; ++i) {
        (void)map.emplace_or_evict([](int left, int right) { return left < right; }, 2000 + i);
      }
      map.for_each([](int& value) { return value % 3 == 0 ? step::erase : step::next; });
      map.compact();
      for (const slot_handle<int>& one : handles) {
        map.erase(one);
      }
      handles.clear();
      map.clear();
    }
    EXPECT_EQ(test::allocations().allocations, before);
  }
}

TEST(SlotMapAllocation, AHoleOfAFullMapIsFilledWithoutAny) {
  slot_map<int> map({.max_size = 1000, .reserve = 1000});
  const slot_handle<int> first = map.emplace(0);
  for (int i = 1; i < 1000; ++i) {
    (void)map.emplace(i);
  }
  const long before = test::allocations().allocations;
  map.erase(first);
  (void)map.emplace(1);
  EXPECT_EQ(test::allocations().allocations, before);
}

// The value's own slot is used up, and there is no memory for another.
TEST(SlotMapAllocation, WhereNoSlotCanBeHadAHoleStaysAndNothingIsMade) {
  slot_map<std::shared_ptr<int>, test::few_generations<1>> map({.reserve = 2});
  const auto shared = std::make_shared<int>(0);
  const auto first = map.emplace(shared);
  (void)map.emplace(shared);
  map.erase(first);
  {
    const test::failing_allocations none(1, /*sticky=*/true);
    EXPECT_THROW((void)map.emplace(shared), std::bad_alloc);
  }
  EXPECT_EQ(shared.use_count(), 2);
  EXPECT_EQ(map.holes(), 1U);
  EXPECT_EQ(map.size(), 1U);
  (void)map.emplace(shared);
  EXPECT_EQ(map.holes(), 0U);
}

// The slot of the value to evict is used up.
TEST(SlotMapAllocation, AnEvictionThatFindsNoSlotChangesNothing) {
  slot_map<int, test::few_generations<1>> map({.max_size = 2, .reserve = 2});
  const auto first = map.emplace(1);
  const auto second = map.emplace(2);
  {
    const test::failing_allocations none(1, /*sticky=*/true);
    EXPECT_THROW((void)map.emplace_or_evict(std::less<>(), 3), std::bad_alloc);
  }
  EXPECT_EQ(map[first], 1);
  EXPECT_EQ(map[second], 2);
  EXPECT_EQ(map.used_up_slots(), 0U);
  EXPECT_EQ(map[map.emplace_or_evict(std::less<>(), 3)], 3);
  EXPECT_FALSE(map.contains(first));
  EXPECT_EQ(map.used_up_slots(), 1U);
}

}  // namespace
}  // namespace lido
