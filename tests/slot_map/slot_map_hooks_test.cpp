#include <gtest/gtest.h>

#include <cstddef>
#include <functional>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "lido/slot_map.hpp"
#include "support/tracked.hpp"

namespace lido {
namespace {

using test::refused;

/// Hooks that record their calls, and refuse on request.
struct journal {
  std::string text;
  bool refuse = false;

  void on_insert(int& value, slot_handle<int> /*handle*/) {
    if (refuse) {
      throw refused();
    }
    text += "+" + std::to_string(value);
  }
  void on_erase(int& value, slot_handle<int> /*handle*/) noexcept {
    text += "-" + std::to_string(value);
  }
  void on_move(int& value, slot_handle<int> /*handle*/) noexcept {
    text += ">" + std::to_string(value);
  }
};

TEST(SlotMapHooks, AreToldWhatHappens) {
  slot_map<int, journal> map({.reserve = 3, .compaction = compaction_mode::immediate});
  const auto one = map.insert(1);
  (void)map.insert(2);
  map.erase(one);
  EXPECT_EQ(map.hooks().text, "+1+2-1>2");
  map.reserve(10);
  EXPECT_EQ(map.hooks().text, "+1+2-1>2>2");
  map.clear();
  EXPECT_EQ(map.hooks().text, "+1+2-1>2>2-2");
}

/// Hooks that count the values whenever one has moved.
struct tally {
  const slot_map<int, tally>* map = nullptr;
  int told = 0;
  int wrong = 0;

  void on_move(int& /*value*/, slot_handle<int> /*handle*/) noexcept {
    std::size_t walked = 0;
    map->for_each([&](const int& /*value*/) { ++walked; });
    ++told;
    wrong += map->size() != walked || map->empty() ? 1 : 0;
  }
};

// The holes at the end are gone when the first value has moved.
TEST(SlotMapHooks, SeeAllNumbersRightWhileHolesAreClosed) {
  slot_map<int, tally> map({.reserve = 100, .compaction = compaction_mode::manual});
  std::vector<slot_handle<int>> all;
  for (int i = 0; i < 100; ++i) {
    all.push_back(map.insert(i));
  }
  const auto erase = [&](std::size_t first, std::size_t end) {
    for (std::size_t i = first; i < end; ++i) {
      map.erase(all[i]);
    }
  };
  erase(40, 99);
  erase(3, 5);
  erase(99, 100);  // the end is now behind a hole
  map.hooks() = {.map = &map};
  map.compact();
  EXPECT_EQ(map.hooks().told, 2);
  EXPECT_EQ(map.hooks().wrong, 0);
  EXPECT_EQ(map.size(), 38U);
  EXPECT_EQ(map.holes(), 0U);
}

TEST(SlotMapHooks, ThatRefuseAnInsertionTakeItBack) {
  slot_map<int, journal> map({.max_size = 1});
  map.hooks().refuse = true;
  EXPECT_THROW((void)map.insert(1), refused);
  EXPECT_TRUE(map.empty());
  map.hooks().refuse = false;
  EXPECT_EQ(map[map.insert(2)], 2);
  EXPECT_EQ(map.hooks().text, "+2");
}

// The value that it grew for is gone, the others are not.
TEST(SlotMapHooks, ThatRefuseAnInsertionAfterGrowthLoseNothing) {
  slot_map<int, journal> map;
  std::vector<slot_handle<int>> all{map.insert(0)};
  while (map.size() < map.capacity()) {
    all.push_back(map.insert(static_cast<int>(map.size())));
  }
  map.hooks().refuse = true;
  EXPECT_THROW((void)map.insert(-1), refused);
  EXPECT_GT(map.capacity(), map.size());
  ASSERT_EQ(map.size(), all.size());
  for (std::size_t i = 0; i < all.size(); ++i) {
    EXPECT_EQ(map[all[i]], static_cast<int>(i));
  }
}

/// Hooks without a move constructor, whose copies may throw.
struct heavy_hooks {
  heavy_hooks() = default;
  heavy_hooks(const heavy_hooks& other) : throws(other.throws) {
    if (throws) {
      throw refused();
    }
  }
  heavy_hooks& operator=(const heavy_hooks&) = delete;
  ~heavy_hooks() = default;
  void on_erase(const int& /*value*/, slot_handle<int> /*handle*/) noexcept { ++erased; }
  int erased = 0;
  bool throws = false;
};

TEST(SlotMapHooks, ThatRefuseToMoveLeaveTheMapAsItWas) {
  using map_type = slot_map<int, heavy_hooks>;
  map_type map({.name = "heavy"});
  const auto seven = map.insert(7);
  map.hooks().throws = true;
  EXPECT_THROW((void)map_type(std::move(map)), refused);
  EXPECT_EQ(map[seven], 7);  // NOLINT(bugprone-use-after-move): it was not
  EXPECT_EQ(map.name(), "heavy");
}

/// Hooks that can only be moved, and show whether they were.
struct unique_hooks {
  std::unique_ptr<int> erased;
  void on_erase(const int& /*value*/, slot_handle<int> /*handle*/) const noexcept {
    if (erased != nullptr) {
      ++*erased;
    }
  }
};

TEST(SlotMapHooks, GoWithTheValuesWhenAMapIsMoved) {
  slot_map<int, unique_hooks> map;
  map.hooks().erased = std::make_unique<int>(0);
  map.erase(map.insert(1));
  (void)map.insert(2);
  slot_map<int, unique_hooks> other(std::move(map));
  ASSERT_NE(other.hooks().erased, nullptr);
  other.clear();
  EXPECT_EQ(*other.hooks().erased, 2);
  // NOLINTNEXTLINE(bugprone-use-after-move): what it does then is what is tested
  map.erase(map.insert(3));
  EXPECT_EQ(map.hooks().erased, nullptr);
}

TEST(SlotMapHooks, AreToldOfWhatAnEvictionTakes) {
  slot_map<int, journal> map({.max_size = 2});
  (void)map.insert(1);
  (void)map.insert(2);
  (void)map.emplace_or_evict(std::less<>(), 3);
  EXPECT_EQ(map.hooks().text, "+1+2-1+3");
}

TEST(SlotMapHooks, ThatRefuseAnEvictionLeaveNoHoleWhereNoneIsToBe) {
  slot_map<int, journal> map({.max_size = 3, .compaction = compaction_mode::immediate});
  for (int value = 1; value <= 3; ++value) {
    (void)map.insert(value);
  }
  map.hooks().refuse = true;
  EXPECT_THROW((void)map.emplace_or_evict(std::less<>(), 4), refused);
  EXPECT_EQ(map.size(), 2U);
  EXPECT_EQ(map.holes(), 0U);
  EXPECT_EQ(map.hooks().text, "+1+2+3-1>3");
}

/// Hooks chosen at run time, as users of std::function choose them.
struct late_hooks {
  std::function<void(int&, slot_handle<int>)> inserted;
  void on_insert(int& value, slot_handle<int> handle) {
    if (inserted) {
      inserted(value, handle);
    }
  }
};

TEST(SlotMapHooks, MayBeChosenAtRunTime) {
  slot_map<int, late_hooks> map;
  int sum = 0;
  map.hooks().inserted = [&](int& value, slot_handle<int>) { sum += value; };
  (void)map.insert(3);
  (void)map.insert(4);
  EXPECT_EQ(sum, 7);
}

}  // namespace
}  // namespace lido
