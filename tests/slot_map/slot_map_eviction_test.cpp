// Evictions that fail, the results of emplace_or_evict for each, and one that finds no slot.
#include <gtest/gtest.h>

#include <algorithm>
#include <functional>
#include <set>
#include <vector>

#include "lido/slot_map.hpp"
#include "support/few_generations.hpp"
#include "support/tracked.hpp"

namespace lido {
namespace {

using test::refused;

/// A type that refuses negative numbers, and moves without throwing.
struct wary {
  explicit wary(int number) : value(number) {
    if (number < 0) {
      throw refused();
    }
  }
  int value;
};

constexpr auto quieter = [](const auto& left, const auto& right) {
  return left.value < right.value;
};

/// Hooks that refuse on request.
struct gatekeeper {
  bool refuses = false;
  std::vector<int> gone;

  void on_insert(wary& /*value*/, slot_handle<wary> /*handle*/) const {
    if (refuses) {
      throw refused();
    }
  }
  void on_erase(wary& value, slot_handle<wary> /*handle*/) noexcept { gone.push_back(value.value); }
};

class SlotMapEviction : public ::testing::TestWithParam<compaction_mode> {
 protected:
  SlotMapEviction() : map({.max_size = 3, .compaction = GetParam()}) {
    for (const int value : {5, 1, 3}) {
      handles.push_back(map.emplace(value));
    }
  }

  void expect_all_three() {
    EXPECT_EQ(map.size(), 3U);
    EXPECT_EQ(map[handles[0]].value, 5);
    EXPECT_EQ(map[handles[1]].value, 1);
    EXPECT_EQ(map[handles[2]].value, 3);
    EXPECT_TRUE(map.hooks().gone.empty());
  }

  slot_map<wary, gatekeeper> map;
  std::vector<slot_handle<wary>> handles;
};

INSTANTIATE_TEST_SUITE_P(Modes, SlotMapEviction,
                         ::testing::Values(compaction_mode::immediate, compaction_mode::deferred,
                                           compaction_mode::manual));

TEST_P(SlotMapEviction, WhoseValueCannotBeMadeChangesNothing) {
  EXPECT_THROW((void)map.emplace_or_evict(quieter, -1), refused);
  expect_all_three();
}

TEST_P(SlotMapEviction, WhoseComparisonThrowsChangesNothing) {
  int calls = 0;
  const auto throws = [&](const wary& /*left*/, const wary& /*right*/) -> bool {
    if (++calls == 2) {
      throw refused();
    }
    return false;
  };
  EXPECT_THROW((void)map.emplace_or_evict(throws, 7), refused);
  expect_all_three();
}

TEST_P(SlotMapEviction, ThatIsRefusedByTheHookHasCostTheOldValue) {
  map.hooks().refuses = true;
  EXPECT_THROW((void)map.emplace_or_evict(quieter, 7), refused);
  EXPECT_EQ(map.size(), 2U);
  EXPECT_FALSE(map.contains(handles[1]));
  EXPECT_EQ(map[handles[0]].value, 5);
  EXPECT_EQ(map[handles[2]].value, 3);
  EXPECT_EQ(map.hooks().gone, std::vector<int>{1});
  map.hooks().refuses = false;
  EXPECT_EQ(map[map.emplace_or_evict(quieter, 8)].value, 8) << "there is room now";
  EXPECT_EQ(map.size(), 3U);
}

// Each second one destroys the last value that a slot may have, when no other slot is free.
TEST(SlotMapEvictionOfLastGenerations, TakesANewSlot) {
  slot_map<int, test::few_generations<2>> map({.max_size = 2});
  std::set<slot_handle<int>> given{map.insert(1), map.insert(2)};
  for (int value = 3; value < 100; ++value) {
    const slot_handle<int> fresh = map.emplace_or_evict(std::less<>(), value);
    EXPECT_TRUE(given.insert(fresh).second);
    ASSERT_EQ(map[fresh], value);
    ASSERT_EQ(map.size(), 2U);
  }
  EXPECT_EQ(map.used_up_slots(), 97U / 2);
  EXPECT_EQ(std::ranges::count_if(given, [&](auto handle) { return map.contains(handle); }), 2);
}

}  // namespace
}  // namespace lido
