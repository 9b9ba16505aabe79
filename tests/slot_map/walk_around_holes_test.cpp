// Callbacks that change the map while a walk skips holes, by the bits of the indices.
#include <gtest/gtest.h>

#include <cstddef>
#include <map>
#include <vector>

#include "lido/slot_map.hpp"

namespace lido {
namespace {

using number_map = slot_map<int>;
using number_handle = slot_handle<int>;

/// Erases each third of 200 values at the first visit, so that the rest of the walk skips holes in
/// each mode. The last value is among them: the end is at 199 then. Value i is at index i.
class WalkAroundHoles : public ::testing::TestWithParam<compaction_mode> {
 protected:
  static constexpr int count = 200;
  static constexpr std::size_t all_holes = 66;
  static constexpr std::size_t left = 133;

  static bool is_hole(int value) { return value % 3 == 1; }

  void erase(int value) { values.erase(handles[static_cast<std::size_t>(value)]); }

  /// Walks; `f(value)` returns a step at each visit.
  template <class F>
  bool walk(F f) {
    values.clear();
    handles.clear();
    visits.clear();
    for (int i = 0; i < count; ++i) {
      handles.push_back(values.insert(i));
    }
    return values.for_each([&](int& value) {
      const int own = value;  // an insert may move the value
      for (int i = 1; visits.empty() && i < count; i += 3) {
        erase(i);
      }
      ++visits[own];
      return f(own);
    });
  }

  /// Checks that the visited values are those of the first ones that `wanted(value)` selects, each
  /// once.
  template <class Wanted>
  void expect_visited(Wanted wanted) const {
    for (int i = 0; i < count; ++i) {
      EXPECT_EQ(visits.count(i) != 0, !is_hole(i) && wanted(i)) << i;
    }
    for (const auto& [value, times] : visits) {
      EXPECT_EQ(times, 1) << value;
    }
  }

  number_map values{{.compaction = GetParam()}};
  std::vector<number_handle> handles;
  std::map<int, int> visits;
};

INSTANTIATE_TEST_SUITE_P(Modes, WalkAroundHoles,
                         ::testing::Values(compaction_mode::immediate, compaction_mode::deferred,
                                           compaction_mode::manual));

const auto every_value = [](int /*value*/) { return true; };

TEST_P(WalkAroundHoles, ErasesEarlierOwnAndLaterOnesNearAndFar) {
  EXPECT_TRUE(walk([&](int own) {
    if (own == 33) {
      for (const int other : {8, 32, 33, 35, 41, 99}) {  // 35: same eight; 41: next; 99: next word
        erase(other);
      }
    }
    return step::next;
  }));
  expect_visited([](int value) { return value != 35 && value != 41 && value != 99; });
  EXPECT_EQ(values.size(), left - 6);
}

// The latest hole is filled first.
TEST_P(WalkAroundHoles, InsertsIntoEarlierAndLaterHoles) {
  EXPECT_TRUE(walk([&](int own) {
    if (own == 35) {
      (void)values.insert(1000);  // at the index of 33
    } else if (own == 36) {
      erase(38);
      (void)values.insert(1001);  // at the index of 38
    } else if (own == 39) {
      (void)values.insert(1002);  // at the index of 196
    }
    return own == 33 ? step::erase : step::next;
  }));
  expect_visited([](int value) { return value != 38; });
  EXPECT_EQ(visits.count(1000), 0U);
  EXPECT_EQ(values.size(), left + 1);
}

TEST_P(WalkAroundHoles, FillsAllOfThemInTheMiddleOfAWord) {
  for (const bool erases_own : {false, true}) {
    EXPECT_TRUE(walk([&](int own) {
      if (own == 33 && erases_own) {
        erase(own);
      }
      for (int next = 1000; own == 33 && values.holes() != 0; ++next) {
        (void)values.insert(next);
      }
      return step::next;
    }));
    expect_visited(every_value);
    EXPECT_EQ(values.size(), left + all_holes);
  }
}

TEST_P(WalkAroundHoles, FillsAllOfThemAndGrows) {
  EXPECT_TRUE(walk([&](int own) {
    const std::size_t before = values.capacity();
    for (int next = 1000; own == 33 && values.capacity() == before; ++next) {
      (void)values.insert(next);
    }
    return step::next;
  }));
  expect_visited(every_value);
}

TEST_P(WalkAroundHoles, ReserveThatMovesAllValuesKeepsThem) {
  EXPECT_TRUE(walk([&](int own) {
    if (own == 33) {
      values.reserve(2 * values.capacity());
      EXPECT_EQ(values.holes(), all_holes);
    }
    return step::next;
  }));
  expect_visited(every_value);
}

TEST_P(WalkAroundHoles, ClearsAndInsertsAndSaysThatItsValueGoes) {
  number_handle fresh;
  EXPECT_TRUE(walk([&](int own) {
    if (own == 33) {
      values.clear();
      fresh = values.insert(1000);
    }
    return own == 33 ? step::erase : step::next;
  }));
  expect_visited([](int value) { return value <= 33; });
  EXPECT_EQ(values.size(), 1U);
  EXPECT_TRUE(values.contains(fresh));
}

TEST_P(WalkAroundHoles, WalkInAWalkErasesOwnAndLaterOnes) {
  EXPECT_TRUE(walk([&](int own) {
    if (own != 33) {
      return step::next;
    }
    values.for_each(
        [](int& value) { return value >= 30 && value % 2 != 0 ? step::erase : step::next; });
    return step::erase;  // it is already gone
  }));
  expect_visited([](int value) { return value <= 33 || value % 2 == 0; });
}

TEST_P(WalkAroundHoles, CompactMovesNothingUntilTheEnd) {
  EXPECT_TRUE(walk([&](int own) {
    if (own == 33) {
      values.compact();
      values.shrink_to_fit();
      EXPECT_EQ(values.holes(), all_holes);
    }
    return step::next;
  }));
  expect_visited(every_value);
  EXPECT_EQ(values.holes(), 0U);
}

TEST_P(WalkAroundHoles, StopsInTheMiddleAndAtTheLastPlace) {
  for (const step verdict : {step::stop, step::erase_and_stop}) {
    for (const int at : {33, 198}) {
      EXPECT_FALSE(walk([&](int own) { return own == at ? verdict : step::next; }));
      expect_visited([at](int value) { return value <= at; });
      EXPECT_EQ(values.contains(handles[static_cast<std::size_t>(at)]), verdict == step::stop);
      EXPECT_EQ(values.size(), verdict == step::stop ? left : left - 1);
    }
  }
}

}  // namespace
}  // namespace lido
