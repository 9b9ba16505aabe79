#include <gtest/gtest.h>

#include <algorithm>
#include <cstddef>
#include <iterator>
#include <vector>

#include "lido/slot_map.hpp"

namespace lido {
namespace {

/// Counts the moves reported to it.
struct move_count {
  int moves = 0;
  void on_move(int& /*value*/, slot_handle<int> /*handle*/) noexcept { ++moves; }
};
using compacted_map = slot_map<int, move_count>;

compacted_map filled(compaction_mode mode, int count, std::vector<slot_handle<int>>& handles) {
  compacted_map map({.reserve = static_cast<std::size_t>(count), .compaction = mode});
  for (int i = 0; i < count; ++i) {
    handles.push_back(map.insert(i));
  }
  return map;
}

TEST(Compaction, ImmediateLeavesNoHole) {
  std::vector<slot_handle<int>> handles;
  compacted_map map = filled(compaction_mode::immediate, 100, handles);
  for (std::size_t i = 0; i < 100; i += 2) {
    map.erase(handles[i]);
    EXPECT_EQ(map.holes(), 0U);
  }
  EXPECT_LE(map.hooks().moves, 50);
  for (std::size_t i = 1; i < 100; i += 2) {
    EXPECT_EQ(map[handles[i]], static_cast<int>(i));
  }
}

TEST(Compaction, DeferredLeavesHolesUntilTheNextWalk) {
  std::vector<slot_handle<int>> handles;
  compacted_map map = filled(compaction_mode::deferred, 100, handles);
  for (std::size_t i = 0; i < 50; ++i) {
    map.erase(handles[i]);
  }
  EXPECT_EQ(map.holes(), 50U);
  EXPECT_EQ(map.hooks().moves, 0);
  map.for_each([](int&) {});
  EXPECT_EQ(map.holes(), 0U);
}

TEST(Compaction, InsertsFillHolesSoThatNothingNeedsToMove) {
  std::vector<slot_handle<int>> handles;
  compacted_map map = filled(compaction_mode::deferred, 100, handles);
  for (std::size_t i = 0; i < 50; ++i) {
    map.erase(handles[i]);
    (void)map.insert(0);
  }
  map.for_each([](int&) {});
  EXPECT_EQ(map.hooks().moves, 0);
  EXPECT_EQ(map.capacity(), 100U);
}

TEST(Compaction, ManualLeavesHolesInWalks) {
  std::vector<slot_handle<int>> handles;
  compacted_map map = filled(compaction_mode::manual, 100, handles);
  map.erase(handles[10]);
  int visited = 0;
  map.for_each([&](int&) { ++visited; });
  EXPECT_EQ(visited, 99);
  EXPECT_EQ(map.holes(), 1U);
  map.compact();
  EXPECT_EQ(map.holes(), 0U);
  EXPECT_EQ(map.hooks().moves, 1);
}

TEST(Compaction, CostsOneMoveForEachHoleAtMost) {
  std::vector<slot_handle<int>> handles;
  compacted_map map = filled(compaction_mode::manual, 100'000, handles);
  for (std::size_t i = 0; i < 7; ++i) {
    map.erase(handles[i * 1000]);
  }
  map.compact();
  EXPECT_EQ(map.hooks().moves, 7);
}

TEST(Compaction, MayGiveMemoryBackWhichMovesAll) {
  compacted_map map({.shrink_threshold = 1000, .compaction = compaction_mode::manual});
  std::vector<slot_handle<int>> handles;
  for (int i = 0; i < 100'000; ++i) {
    handles.push_back(map.emplace(i));
  }
  for (std::size_t i = 20'000; i < handles.size(); ++i) {
    map.erase(handles[i]);
  }
  map.erase(handles[0]);
  map.hooks().moves = 0;
  map.compact();
  EXPECT_GT(map.hooks().moves, 19'000);
  EXPECT_LT(map.capacity(), 50'000U);
}

TEST(Compaction, HolesAtTheEndCostNoMove) {
  std::vector<slot_handle<int>> handles;
  compacted_map map = filled(compaction_mode::manual, 100, handles);
  for (std::size_t i = 50; i < 100; ++i) {
    map.erase(handles[i]);
  }
  map.compact();
  EXPECT_EQ(map.hooks().moves, 0);
  EXPECT_EQ(map.values().size(), 50U);
}

TEST(Compaction, AllErasedLeavesAnEmptyArray) {
  std::vector<slot_handle<int>> handles;
  compacted_map map = filled(compaction_mode::manual, 100, handles);
  for (const auto handle : handles) {
    map.erase(handle);
  }
  map.compact();
  EXPECT_EQ(map.holes(), 0U);
  EXPECT_TRUE(map.values().empty());
  EXPECT_EQ(map.hooks().moves, 0);
}

TEST(Compaction, MemoryIsGivenBackWhenMoreThanTheThresholdIsFree) {
  slot_map<int> map({.shrink_threshold = 100, .compaction = compaction_mode::immediate});
  std::vector<slot_handle<int>> handles;
  for (int i = 0; i < 1000; ++i) {
    handles.push_back(map.insert(i));
  }
  EXPECT_GE(map.capacity(), 1000U);
  for (std::size_t i = 100; i < 1000; ++i) {
    map.erase(handles[i]);
  }
  EXPECT_LE(map.capacity(), 500U);
  for (std::size_t i = 0; i < 100; ++i) {
    EXPECT_EQ(map[handles[i]], static_cast<int>(i));
  }
}

// Otherwise a map of about that size would alternately return and request memory.
TEST(Compaction, TheFirstPlacesStayWhateverTheThreshold) {
  slot_map<int> map({.shrink_threshold = 0, .compaction = compaction_mode::immediate});
  map.erase(map.insert(1));
  const std::size_t first = map.capacity();
  EXPECT_GT(first, 0U);
  for (int i = 0; i < 100; ++i) {
    const slot_handle<int> handle = map.insert(i);
    EXPECT_EQ(map.capacity(), first);
    map.erase(handle);
    EXPECT_EQ(map.capacity(), first);
  }
  map.shrink_to_fit();
  EXPECT_EQ(map.capacity(), 0U);
}

TEST(Compaction, MemoryIsKeptWhileAQuarterIsUsed) {
  slot_map<int> map({.shrink_threshold = 0, .compaction = compaction_mode::immediate});
  std::vector<slot_handle<int>> handles;
  for (int i = 0; i < 1000; ++i) {
    handles.push_back(map.insert(i));
  }
  const auto drop = [&] {
    map.erase(handles.back());
    handles.pop_back();
  };
  const std::size_t before = map.capacity();
  while (map.size() > before / 4) {
    drop();
  }
  EXPECT_EQ(map.capacity(), before);
  drop();
  const std::size_t after = map.capacity();
  EXPECT_LT(after, before);
  for (int i = 0; i < 100; ++i) {
    map.erase(map.insert(i));
    EXPECT_EQ(map.capacity(), after);
  }
}

TEST(Compaction, MemoryBelowTheThresholdIsKept) {
  slot_map<int> map({.shrink_threshold = 2000, .compaction = compaction_mode::immediate});
  std::vector<slot_handle<int>> handles;
  for (int i = 0; i < 1000; ++i) {
    handles.push_back(map.insert(i));
  }
  const std::size_t before = map.capacity();
  for (const auto handle : handles) {
    map.erase(handle);
  }
  EXPECT_EQ(map.capacity(), before);
}

// New pages from the system would cost more than the inserts.
TEST(Compaction, AMapThatBreathesKeepsItsMemory) {
  constexpr int most = 20'000;
  for (const auto mode :
       {compaction_mode::immediate, compaction_mode::deferred, compaction_mode::manual}) {
    slot_map<int> map({.compaction = mode});
    std::vector<slot_handle<int>> handles;
    std::generate_n(std::back_inserter(handles), most, [&map] { return map.insert(1); });
    const int* const where = map.values().data();
    const std::size_t places = map.capacity();
    for (int breath = 0; breath < 3; ++breath) {
      for (std::size_t i = 0; i < handles.size(); ++i) {
        EXPECT_TRUE(i % 20 == 0 || map.erase(handles[i]));
      }
      EXPECT_EQ(map.values().data(), where);
      handles.clear();
      map.for_each([&](int& /*value*/, slot_handle<int> handle) { handles.push_back(handle); });
      EXPECT_EQ(handles.size(), std::size_t{most} / 20);
      std::generate_n(std::back_inserter(handles), most - map.size(),
                      [&map] { return map.insert(1); });
      EXPECT_EQ(map.values().data(), where);
      EXPECT_EQ(map.capacity(), places);
    }
    map.clear();
    EXPECT_EQ(map.capacity(), places);
    map.shrink_to_fit();
    EXPECT_EQ(map.capacity(), 0U);
  }
}

TEST(Compaction, ShrinkToFitTakesHolesAndGivesBackWhatIsUnused) {
  std::vector<slot_handle<int>> handles;
  slot_map<int> map({.compaction = compaction_mode::manual});
  for (int i = 0; i < 100; ++i) {
    handles.push_back(map.insert(i));
  }
  for (std::size_t i = 0; i < 90; ++i) {
    map.erase(handles[i]);
  }
  map.shrink_to_fit();
  EXPECT_EQ(map.capacity(), 10U);
  for (std::size_t i = 0; i < 100; ++i) {
    EXPECT_EQ(map.contains(handles[i]), i >= 90);
  }
}

TEST(Compaction, ShrinkToFitKeepsTheReserve) {
  slot_map<int> map({.reserve = 64});
  map.shrink_to_fit();
  EXPECT_EQ(map.capacity(), 64U);
}

TEST(Compaction, ShrinkToFitKeepsTheReserveOfTheTableOfHandles) {
  slot_map<int> map({.reserve = 1000});
  const std::size_t before = map.bookkeeping_bytes();
  map.shrink_to_fit();
  EXPECT_EQ(map.bookkeeping_bytes(), before);
  for (int i = 0; i < 1000; ++i) {
    (void)map.insert(i);
  }
  EXPECT_EQ(map.bookkeeping_bytes(), before) << "an insert within the reserve has allocated";
}

TEST(Compaction, ClearLeavesNoHole) {
  for (const auto mode :
       {compaction_mode::immediate, compaction_mode::deferred, compaction_mode::manual}) {
    std::vector<slot_handle<int>> handles;
    compacted_map map = filled(mode, 100, handles);
    map.erase(handles[20]);
    map.clear();
    EXPECT_EQ(map.holes(), 0U);
    EXPECT_TRUE(map.values().empty());
    const int before = map.hooks().moves;
    for (int i = 0; i < 100; ++i) {
      (void)map.insert(i);
    }
    EXPECT_EQ(map.holes(), 0U);
    EXPECT_EQ(map.values().front(), 0);
    EXPECT_EQ(map.values().back(), 99);
    EXPECT_EQ(map.hooks().moves, before);
    for (const auto gone : handles) {
      EXPECT_FALSE(map.contains(gone));
    }
  }
}

TEST(Compaction, HandlesFromBeforeAShrinkStayStaleForEver) {
  slot_map<int> map;
  std::vector<slot_handle<int>> stale;
  for (int round = 0; round < 50; ++round) {
    const auto handle = map.insert(round);
    for (const auto old : stale) {
      EXPECT_FALSE(map.contains(old));
    }
    map.erase(handle);
    stale.push_back(handle);
    map.shrink_to_fit();
    EXPECT_EQ(map.capacity(), 0U);
  }
}

}  // namespace
}  // namespace lido
