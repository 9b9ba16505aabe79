// sort, swap and the small calls of a slot map.
#include <gtest/gtest.h>

#include <algorithm>
#include <array>
#include <cstddef>
#include <ctime>
#include <functional>
#include <iterator>
#include <memory>
#include <random>
#include <stdexcept>
#include <string>
#include <utility>
#include <vector>

#include "lido/slot_map.hpp"
#include "support/tracked.hpp"

namespace lido {
namespace {

using test::refused;
using number_map = slot_map<int>;
using int_handle = number_map::handle_type;

constexpr std::array called_modes{compaction_mode::immediate, compaction_mode::deferred,
                                  compaction_mode::manual};

TEST(SlotMapSort, KeepsEveryHandleAndClosesHoles) {
  for (const compaction_mode mode : called_modes) {
    slot_map<std::unique_ptr<int>> map({.compaction = mode});
    std::minstd_rand random(3);
    std::vector<std::pair<slot_handle<std::unique_ptr<int>>, int>> all;
    for (int i = 0; i < 500; ++i) {
      const int value = static_cast<int>(random() % 100);
      all.emplace_back(map.insert(std::make_unique<int>(value)), value);
    }
    for (std::size_t i = 0; i < 100; ++i) {
      map.erase(all.back().first);
      all.pop_back();
      map.erase(all[i].first);
      all.erase(all.begin() + static_cast<std::ptrdiff_t>(i));
    }
    const auto less = [](const auto& a, const auto& b) { return *a < *b; };
    map.sort(less);
    EXPECT_EQ(map.holes(), 0U);
    EXPECT_TRUE(std::is_sorted(map.begin(), map.end(), less));
    for (const auto& [each, value] : all) {
      EXPECT_EQ(*map.at(each), value);
      EXPECT_EQ(map.handle_of(map.at(each)), each);
    }
    EXPECT_EQ(map.size(), all.size());
  }
}

TEST(SlotMapSort, OfNoneOneAndSortedValues) {
  number_map map;
  map.sort();
  (void)map.insert(1);
  map.sort();
  (void)map.insert(2);
  (void)map.insert(3);
  map.sort();
  EXPECT_EQ(std::vector<int>(map.begin(), map.end()), (std::vector{1, 2, 3}));
  map.sort(std::greater<>());
  EXPECT_EQ(std::vector<int>(map.begin(), map.end()), (std::vector{3, 2, 1}));
}

TEST(SlotMapSort, TakesTimeForEachValueOnceInARotation) {
  // Sorts a hundred thousand values in a few milliseconds of processor time; a walk along each
  // cycle would take a minute.
  const std::clock_t began = std::clock();
  number_map map;
  constexpr int count = 100'000;
  for (int i = 1; i <= count; ++i) {
    (void)map.insert(i % count);
  }
  map.sort();
  EXPECT_TRUE(std::is_sorted(map.begin(), map.end()));
  EXPECT_LT(std::clock() - began, 5 * CLOCKS_PER_SEC);
}

TEST(SlotMapSort, WhoseComparisonThrowsChangesNoOrder) {
  number_map map;
  for (const int i : {3, 1, 2}) {
    (void)map.insert(i);
  }
  int left = 2;
  EXPECT_THROW(map.sort([&](int a, int b) {
    if (--left == 0) {
      throw refused();
    }
    return a < b;
  }),
               refused);
  EXPECT_EQ(std::vector<int>(map.begin(), map.end()), (std::vector{3, 1, 2}));
}

/// Records the calls of hooks.
struct told {
  std::vector<std::pair<int, int_handle>> moves;
  std::vector<int> erased;
  int refuse_at = -1;
  void on_insert(int& value, int_handle /*own*/) const {
    if (value == refuse_at) {
      throw refused();
    }
  }
  void on_move(int& value, int_handle own) noexcept { moves.emplace_back(value, own); }
  void on_erase(int& value, int_handle /*own*/) noexcept { erased.push_back(value); }
};

TEST(SlotMapSort, TellsTheHookOfEachValueThatMoved) {
  slot_map<int, told> map({.reserve = 8});
  const auto three = map.insert(3);
  (void)map.insert(2);
  const auto one = map.insert(1);
  map.sort();
  EXPECT_EQ(map.hooks().moves, (std::vector<std::pair<int, int_handle>>{{1, one}, {3, three}}));
}

TEST(SlotMapSwap, ExchangesPlacesAndKeepsHandles) {
  for (const compaction_mode mode : called_modes) {
    slot_map<std::string> map({.compaction = mode});
    const auto one = map.insert("one");
    const auto two = map.insert("two");
    EXPECT_TRUE(map.swap(one, two));
    EXPECT_EQ(map.at(one), "one");
    EXPECT_EQ(map.at(two), "two");
    EXPECT_EQ(*map.begin(), "two");
    EXPECT_TRUE(map.swap(one, one));
    map.erase(one);
    EXPECT_FALSE(map.swap(one, two));
    EXPECT_FALSE(map.swap(two, {}));
    EXPECT_EQ(map.at(two), "two");
  }
}

TEST(SlotMapTake, ReturnsTheValueAndErasesIt) {
  for (const compaction_mode mode : called_modes) {
    slot_map<std::unique_ptr<int>> map({.compaction = mode});
    const auto one = map.insert(std::make_unique<int>(1));
    const auto two = map.insert(std::make_unique<int>(2));
    const auto taken = map.take(one);
    ASSERT_TRUE(taken);
    EXPECT_EQ(**taken, 1);
    EXPECT_FALSE(map.contains(one));
    EXPECT_FALSE(map.take(one));
    EXPECT_EQ(*map.at(two), 2);
  }
}

TEST(SlotMapTake, ShowsTheHookTheValueThatGoes) {
  slot_map<int, told> map;
  EXPECT_EQ(map.take(map.insert(7)), 7);
  EXPECT_EQ(map.hooks().erased, std::vector{7});
}

TEST(SlotMapAt, ThrowsForAStaleHandleAndNamesTheMap) {
  number_map map({.name = "numbers"});
  const int_handle one = map.insert(1);
  EXPECT_EQ(std::as_const(map).at(one), 1);
  map.erase(one);
  try {
    (void)std::as_const(map).at(one);
    FAIL();
  } catch (const std::out_of_range& error) {
    EXPECT_NE(std::string(error.what()).find("numbers"), std::string::npos);
  }
}

TEST(SlotMapInsertWith, MakesAValueThatKnowsItsHandle) {
  struct pinned_id {
    slot_handle<pinned_id> own;
  };
  for (const compaction_mode mode : called_modes) {
    slot_map<pinned_id> map({.compaction = mode});
    std::vector<slot_handle<pinned_id>> all;
    for (int i = 0; i < 100; ++i) {
      all.push_back(map.insert_with([&](auto own) {
        EXPECT_FALSE(map.contains(own));
        return pinned_id{own};
      }));
      if (i % 3 == 0) {
        map.erase(all[all.size() / 2]);
      }
    }
    for (auto it = map.begin(); it != map.end(); ++it) {
      EXPECT_EQ(it->own, it.handle());
    }
  }
}

TEST(SlotMapInsertWith, ThatThrowsLosesNothing) {
  for (const compaction_mode mode : called_modes) {
    number_map map({.max_size = 3, .compaction = mode});
    const int_handle one = map.insert(1);
    (void)map.insert(2);
    map.erase(one);
    slot_handle<int> promised;
    EXPECT_THROW((void)map.insert_with([&](int_handle own) -> int {
      promised = own;
      throw refused();
    }),
                 refused);
    EXPECT_EQ(map.size(), 1U);
    EXPECT_FALSE(map.contains(promised));
    EXPECT_EQ(map.insert(3), promised) << "which names nothing yet";
    (void)map.insert(4);
    EXPECT_THROW((void)map.insert_with([](int_handle) { return 5; }), pool_exhausted);
  }
}

TEST(SlotMapEraseIf, ErasesAndCounts) {
  for (const compaction_mode mode : called_modes) {
    number_map map({.compaction = mode});
    std::vector<int_handle> all;
    for (int i = 0; i < 100; ++i) {
      all.push_back(map.insert(i));
    }
    EXPECT_EQ(map.erase_if([](int value) { return value % 3 == 0; }), 34U);
    EXPECT_EQ(map.erase_if([&](int, int_handle own) { return own == all[1]; }), 1U);
    EXPECT_EQ(map.size(), 65U);
    for (std::size_t i = 0; i < 100; ++i) {
      EXPECT_EQ(map.contains(all[i]), i % 3 != 0 && i != 1);
    }
    EXPECT_THROW(map.erase_if([](int value) { return value == 50 ? throw refused() : true; }),
                 refused);
    EXPECT_TRUE(map.contains(all[50]));
  }
}

TEST(SlotMapIteratorTo, StartsAtTheValue) {
  number_map map({.compaction = compaction_mode::manual});
  std::vector<int_handle> all;
  for (int i = 0; i < 5; ++i) {
    all.push_back(map.insert(i));
  }
  map.erase(all[3]);
  auto it = map.iterator_to(all[2]);
  EXPECT_EQ(*it, 2);
  EXPECT_EQ(*++it, 4);
  EXPECT_EQ(map.iterator_to(all[3]), map.end());
  EXPECT_EQ(std::as_const(map).iterator_to({}), std::as_const(map).end());
}

TEST(SlotMapInsertRange, GivesHandlesInOrder) {
  number_map map;
  const std::vector<int> values{5, 6, 7};
  const std::vector<int_handle> made = map.insert_range(values);
  ASSERT_EQ(made.size(), 3U);
  for (std::size_t i = 0; i < 3; ++i) {
    EXPECT_EQ(map.at(made[i]), values[i]);
  }
  slot_map<std::unique_ptr<int>> moved;
  std::vector<std::unique_ptr<int>> from;
  from.push_back(std::make_unique<int>(1));
  struct rvalues {
    std::vector<std::unique_ptr<int>>& all;
    [[nodiscard]] auto begin() const { return std::make_move_iterator(all.begin()); }
    [[nodiscard]] auto end() const { return std::make_move_iterator(all.end()); }
  };
  EXPECT_EQ(*moved.at(moved.insert_range(rvalues{from}).front()), 1);
}

TEST(SlotMapInsertRange, TakesNoValuesAndThoseOfAnotherMap) {
  number_map from;
  number_map map;
  EXPECT_TRUE(map.insert_range(map).empty());
  EXPECT_TRUE(map.insert_range(std::as_const(map).snapshot().values).empty());
  (void)from.insert(1);
  (void)from.insert(2);
  EXPECT_EQ(map.insert_range(std::as_const(from).snapshot().values).size(), 2U);
  EXPECT_EQ(map.insert_range(from).size(), 2U);
  EXPECT_EQ(map.size(), 4U);
}

TEST(SlotMapInsertRange, AllOrNone) {
  for (const compaction_mode mode : called_modes) {
    slot_map<int, told> map({.max_size = 5, .compaction = mode},
                            {.moves = {}, .erased = {}, .refuse_at = 3});
    const int_handle one = map.insert(1);
    EXPECT_THROW((void)map.insert_range(std::array{7, 8, 3, 9}), refused);
    EXPECT_THROW((void)map.insert_range(std::array{1, 2, 4, 5, 6}), pool_exhausted);
    EXPECT_EQ(map.size(), 1U);
    EXPECT_TRUE(map.contains(one));
    EXPECT_EQ(map.insert_range(std::array{1, 2, 4, 5}).size(), 4U);
  }
}

}  // namespace
}  // namespace lido
