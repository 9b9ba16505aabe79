#include <gtest/gtest.h>

#include <cstddef>
#include <functional>
#include <memory>
#include <new>
#include <utility>
#include <vector>

#include "lido/concurrent_slot_map.hpp"
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

TEST(SlotMapAllocation, ASnapshotOfAConstMapCopiesTheTableOnce) {
  slot_map<int> map;
  for (int i = 0; i < 1000; ++i) {
    (void)map.emplace(i);
  }
  map.erase(map.begin().handle());
  const long before = test::allocations().allocations;
  const auto now = std::as_const(map).snapshot();
  EXPECT_EQ(test::allocations().allocations, before + 1);
  EXPECT_EQ(now.table.size(), 1000U);
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

/// Calls `act` with the first allocation failing, then with the second, and so on until none fails.
/// Checks after each failure that nothing has changed.
template <class Act, class Check>
void sweep(const Act& act, const Check& unchanged) {
  for (long at = 1;; ++at) {
    bool failed = false;
    {
      const test::failing_allocations one(at, /*sticky=*/false);
      try {
        act();
      } catch (const std::bad_alloc&) {
        failed = true;
      }
    }
    if (!failed) {
      EXPECT_NE(at, 1) << "no allocation failed";
      return;
    }
    unchanged();
  }
}

TEST(SlotMapAllocation, ThatFailsInASnapshotRestoreOrAssignmentChangesNothing) {
  slot_map<std::shared_ptr<int>> from({.compaction = compaction_mode::manual});
  const auto shared = std::make_shared<int>(0);
  const auto hole = from.emplace(shared);
  const auto kept = from.emplace(shared);
  from.erase(hole);
  slot_map<std::shared_ptr<int>> map;
  const auto old = map.emplace(shared);
  const auto unchanged = [&] {
    EXPECT_TRUE(map.contains(old) && map.size() == 1 && from.contains(kept));
    EXPECT_EQ(shared.use_count(), 3);
  };
  sweep([&] { (void)std::as_const(from).snapshot(); }, unchanged);
  sweep([&] { map.restore(std::as_const(from).snapshot()); }, unchanged);
  EXPECT_TRUE(map.contains(kept));
  map = slot_map<std::shared_ptr<int>>();
  (void)map.emplace(shared);
  sweep([&] { map = from; }, [&] { EXPECT_EQ(shared.use_count(), 3); });
  EXPECT_TRUE(map.contains(kept));
}

TEST(SlotMapAllocation, ThatFailsUnderAGivenHandleLeavesTheHandleAsItWas) {
  slot_map<int> map;
  slot_handle<int> reserved;
  sweep([&] { reserved = map.reserve_handle(); }, [&] { EXPECT_FALSE(reserved); });
  const auto unchanged = [&] { EXPECT_TRUE(map.empty() && !map.contains(reserved)); };
  sweep([&] { EXPECT_TRUE(map.emplace_at(reserved, 1)); }, unchanged);
  EXPECT_EQ(map.at(reserved), 1);
  slot_map<int> other;
  sweep([&] { EXPECT_TRUE(other.emplace_at({40, 1}, 1)); }, [&] { EXPECT_TRUE(other.empty()); });
  sweep([&] { EXPECT_TRUE(other.emplace_at({7, 1}, 1)); }, [&] { EXPECT_EQ(other.size(), 1U); });
}

TEST(SlotMapAllocation, ThatFailsInARestoreLosesNoSlotOfAConcurrentMap) {
  concurrent_slot_map<int> from(100);
  std::vector<slot_handle<int>> handles;
  for (int i = 0; i < 100; ++i) {
    handles.push_back(from.emplace(i));
  }
  for (std::size_t i = 0; i < 100; i += 2) {
    from.erase(handles[i]);
  }
  concurrent_slot_map<int> map(100);
  const auto now = from.snapshot();
  sweep([&] { map.restore(now); }, [&] { EXPECT_TRUE(map.empty()); });
  EXPECT_TRUE(map.contains(handles[1]));
  for (int i = 0; i < 50; ++i) {
    EXPECT_TRUE(map.try_emplace(i)) << "a slot is lost";
  }
}

}  // namespace
}  // namespace lido
