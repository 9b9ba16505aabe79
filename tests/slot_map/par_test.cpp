#include "lido/slot_map/par.hpp"

#include <gtest/gtest.h>
#include <tbb/global_control.h>

#include <atomic>
#include <cstddef>
#include <cstdint>
#include <stdexcept>
#include <thread>
#include <vector>

#include "lido/concurrent_slot_map.hpp"
#include "lido/slot_map.hpp"
#include "lido/tbb.hpp"

namespace lido {
namespace {

constexpr int count = 20'000;

template <class Map>
std::vector<typename Map::handle_type> fill(Map& map) {
  std::vector<typename Map::handle_type> handles;
  for (int i = 0; i < count; ++i) {
    handles.push_back(map.emplace(i));
  }
  return handles;
}

/// Runs with four workers, however few cores there are.
class Par : public ::testing::Test {
 private:
  tbb::global_control workers_{tbb::global_control::max_allowed_parallelism, 4};
};

TEST_F(Par, SlotMapReachesEachValueOnceAroundHoles) {
  for (const auto mode :
       {compaction_mode::immediate, compaction_mode::deferred, compaction_mode::manual}) {
    slot_map<int> map({.compaction = mode});
    const auto handles = fill(map);
    map.for_each([](int& value) { return value % 3 == 0 ? step::erase : step::next; });
    map.for_each(par, [](int& value) { value += count; });
    for (int i = 0; i < count; ++i) {
      const int* const found = map.find(handles[static_cast<std::size_t>(i)]);
      ASSERT_EQ(found == nullptr, i % 3 == 0);
      ASSERT_TRUE(found == nullptr || *found == i + count);
    }
  }
}

TEST_F(Par, ConstSlotMapIsReadByManyAroundHoles) {
  slot_map<int> filled({.compaction = compaction_mode::manual});
  (void)fill(filled);
  filled.for_each([](int& value) { return value % 3 == 0 ? step::erase : step::next; });
  const slot_map<int>& map = filled;
  const std::size_t holes = map.holes();
  std::atomic<std::int64_t> sum = 0;
  std::atomic<int> right = 0;
  map.for_each(par, [&](const int& value) { sum += value; });
  map.for_each(par, [&](const int& value, slot_handle<int> own) {
    right += map.find(own) == &value ? 1 : 0;
  });
  std::int64_t expected = 0;
  map.for_each([&](const int& value) { expected += value; });
  EXPECT_EQ(sum, expected);
  EXPECT_EQ(static_cast<std::size_t>(right), map.size());
  EXPECT_EQ(map.holes(), holes);
}

TEST_F(Par, SlotMapGivesTheHandleOfEachValue) {
  slot_map<int> map;
  (void)fill(map);
  std::atomic<int> right = 0;
  map.for_each(par, [&](int& value, slot_handle<int> own) { right += map.find(own) == &value; });
  EXPECT_EQ(right, count);
}

TEST_F(Par, SlotMapPassesOnWhatACallbackThrows) {
  slot_map<int> map;
  (void)fill(map);
  EXPECT_THROW(map.for_each(par,
                            [](int& value) {
                              if (value == 10'000) {
                                throw std::runtime_error("no");
                              }
                            }),
               std::runtime_error);
  EXPECT_EQ(map.size(), static_cast<std::size_t>(count));
}

TEST_F(Par, ConcurrentSlotMapReachesEachValueOnceAndErasesWhatTheCallbackSays) {
  concurrent_slot_map<int> map(count);
  const auto handles = fill(map);
  map.for_each(par, [](int& value) {
    value += count;
    return value % 3 == 0 ? step::erase : step::next;
  });
  for (int i = 0; i < count; ++i) {
    int value = 0;
    const bool there =
        map.read(handles[static_cast<std::size_t>(i)], [&](const int& own) { value = own; });
    ASSERT_EQ(there, (i + count) % 3 != 0);
    ASSERT_TRUE(!there || value == i + count);
  }
}

TEST_F(Par, ConcurrentSlotMapPassesOnWhatACallbackThrowsAndLeavesItsValues) {
  concurrent_slot_map<int> map(count);
  (void)fill(map);
  EXPECT_THROW(map.for_each(par, [](int&) { throw std::runtime_error("no"); }), std::runtime_error);
  int visits = 0;
  map.for_each([&](int&) { ++visits; });
  EXPECT_EQ(visits, count) << "no thread holds a value any more";
}

// Values are inserted and erased by another thread, and by the callbacks themselves.
TEST_F(Par, ConcurrentSlotMapMeetsWhatStaysWhileOthersComeAndGo) {
  concurrent_slot_map<int> map(2 * count);
  (void)fill(map);
  std::atomic<bool> over = false;
  std::thread other([&] {
    while (!over) {
      (void)map.erase(map.emplace(-1));
    }
  });
  std::atomic<int> met = 0;
  map.for_each(par, [&](int& value) {
    if (value >= 0) {
      ++met;
      (void)map.erase(map.try_emplace(-2));
    }
  });
  over = true;
  other.join();
  EXPECT_EQ(met, count);
  EXPECT_EQ(map.size(), static_cast<std::size_t>(count));
}

}  // namespace
}  // namespace lido
