#include <gtest/gtest.h>

#include <cstdint>
#include <iterator>
#include <memory>
#include <numeric>
#include <string>
#include <type_traits>
#include <vector>

#include "lido/concurrent_slot_map.hpp"
#include "lido/slot_map.hpp"
#include "support/crew.hpp"
#include "support/tracked.hpp"

namespace lido {
namespace {

using test::refused;

constexpr std::array modes{compaction_mode::immediate, compaction_mode::deferred,
                           compaction_mode::manual};

static_assert(std::is_nothrow_move_constructible_v<slot_map<int>>);
static_assert(std::is_nothrow_move_assignable_v<slot_map<int>>);
static_assert(std::is_nothrow_swappable_v<slot_map<int>>);
static_assert(std::is_copy_assignable_v<slot_map<int>>);

TEST(SlotMapTypes, MoveOnlyValues) {
  for (const compaction_mode mode : modes) {
    slot_map<std::unique_ptr<int>> map({.compaction = mode});
    std::vector<slot_handle<std::unique_ptr<int>>> handles;
    for (int i = 0; i < 100; ++i) {
      handles.push_back(map.insert(std::make_unique<int>(i)));
    }
    for (std::size_t i = 0; i < 50; ++i) {
      map.erase(handles[i]);
    }
    map.shrink_to_fit();
    for (std::size_t i = 50; i < 100; ++i) {
      EXPECT_EQ(*map[handles[i]], static_cast<int>(i));
    }
  }
}

/// A type without default constructor and assignment.
struct stubborn {
  explicit stubborn(int number) : value(number) {}
  const int value;
};

TEST(SlotMapTypes, ValuesWithoutDefaultConstructorOrAssignment) {
  slot_map<stubborn> map({.max_size = 2, .compaction = compaction_mode::immediate});
  const auto one = map.emplace(1);
  const auto two = map.emplace(2);
  map.erase(one);
  EXPECT_EQ(map[two].value, 2);
  (void)map.emplace(0);
  const auto three =
      map.emplace_or_evict([](const auto& a, const auto& b) { return a.value < b.value; }, 3);
  EXPECT_EQ(map[three].value, 3);
  EXPECT_TRUE(map.contains(two));
}

struct alignas(256) over_aligned {
  int value;
};

TEST(SlotMapTypes, OverAlignedValues) {
  slot_map<over_aligned> map;
  for (int i = 0; i < 40; ++i) {
    (void)map.emplace(i);
  }
  for (over_aligned& value : map) {
    EXPECT_EQ(reinterpret_cast<std::uintptr_t>(&value) % 256, 0U);
  }
}

TEST(SlotMapTypes, Aggregates) {
  struct point {
    int x = 3;
    int y = 4;
  };
  slot_map<point> map;
  EXPECT_EQ(map[map.emplace()].y, 4);
  EXPECT_EQ(map[map.emplace(1, 2)].x, 1);
}

/// A type that conceals its address, as proxies and some smart pointers do.
struct evasive {
  evasive* operator&() const { return nullptr; }  // NOLINT(google-runtime-operator)
  int value = 3;
};

TEST(SlotMapTypes, ValuesWithAnAddressOperatorOfTheirOwn) {
  slot_map<evasive> map;
  (void)map.emplace();
  const auto two = map.emplace();
  EXPECT_EQ(map.handle_of(map[two]), two);
  for (auto it = map.begin(); it != map.end(); ++it) {
    EXPECT_EQ(it->value, 3);
  }
  concurrent_slot_map<evasive> shared(1);
  EXPECT_TRUE(shared.visit(shared.emplace(), [](evasive& each) { each.value = 4; }));
  shared.for_each([](const evasive& each) { EXPECT_EQ(each.value, 4); });
}

TEST(SlotMapTypes, DefaultInitialisedValueIsWrittenFromOutside) {
  struct record {
    std::array<int, 64> numbers;
  };
  slot_map<record> map;
  const auto first = map.emplace(default_init);
  map[first].numbers.fill(7);
  (void)map.emplace(default_init);
  EXPECT_EQ(map[first].numbers[63], 7);
}

/// A type that counts its objects and refuses constructions on request; it can be copied and moved.
struct costly {
  explicit costly(int number) : value(number) { count(); }
  costly(const costly& other) : value(other.value) { count(); }
  ~costly() { --alive; }

  int value;
  static inline int alive = 0;
  static inline int refuse_in = 0;

 private:
  static void count() {
    if (refuse_in > 0 && --refuse_in == 0) {
      throw refused();
    }
    ++alive;
  }
};

/// A type whose moves may throw, as those of costly, without a copy to fall back on.
struct risky {
  explicit risky(int number) : value(std::make_unique<int>(number)), guard(number) {}
  // NOLINTNEXTLINE(performance-noexcept-move-constructor): that it throws is the point
  risky(risky&& other) : value(nullptr), guard(other.guard) { value = std::move(other.value); }
  std::unique_ptr<int> value;
  costly guard;
};

class SlotMapExceptions : public ::testing::Test {
 protected:
  void TearDown() override {
    EXPECT_EQ(costly::alive, 0);
    costly::refuse_in = 0;
  }
  static std::vector<int> values_of(const slot_map<costly>& map) {
    std::vector<int> values;
    map.for_each([&](const costly& value) { values.push_back(value.value); });
    return values;
  }
};

TEST_F(SlotMapExceptions, ThrowingConstructorChangesNothing) {
  slot_map<costly> map({.max_size = 2});
  const auto one = map.emplace(1);
  for (int i = 0; i < 10; ++i) {
    costly::refuse_in = 1;
    EXPECT_THROW((void)map.emplace(2), refused);
  }
  EXPECT_EQ(map.size(), 1U);
  EXPECT_EQ(map[one].value, 1);
  EXPECT_EQ(map[map.emplace(2)].value, 2);
}

TEST_F(SlotMapExceptions, ThrowingConstructorInAHoleKeepsTheHole) {
  slot_map<costly> map({.compaction = compaction_mode::manual});
  const auto one = map.emplace(1);
  const auto two = map.emplace(2);
  map.erase(one);
  costly::refuse_in = 1;
  EXPECT_THROW((void)map.emplace(3), refused);
  EXPECT_EQ(map.holes(), 1U);
  EXPECT_EQ(values_of(map), (std::vector{2}));
  EXPECT_TRUE(map.contains(two));
}

TEST_F(SlotMapExceptions, GrowthThatFailsAtAnyCopyChangesNothing) {
  for (int at = 1; at <= 17; ++at) {
    slot_map<costly> map({.reserve = 16});
    std::vector<slot_handle<costly>> handles;
    for (int i = 0; i < 16; ++i) {
      handles.push_back(map.emplace(i));
    }
    costly::refuse_in = at;
    EXPECT_THROW((void)map.emplace(16), refused);
    EXPECT_EQ(map.size(), 16U);
    EXPECT_EQ(map.capacity(), 16U);
    for (std::size_t i = 0; i < 16; ++i) {
      EXPECT_EQ(map[handles[i]].value, static_cast<int>(i));
    }
  }
}

TEST_F(SlotMapExceptions, CompactionThatFailsAtAnyCopyLosesNothing) {
  for (int at = 1; at <= 5; ++at) {
    slot_map<costly> map({.reserve = 16, .compaction = compaction_mode::manual});
    std::vector<slot_handle<costly>> handles;
    for (int i = 0; i < 16; ++i) {
      handles.push_back(map.emplace(i));
    }
    for (const std::size_t i : {3U, 15U, 7U, 14U, 1U, 0U, 8U}) {
      map.erase(handles[i]);
    }
    costly::refuse_in = at;
    EXPECT_THROW(map.compact(), refused);
    EXPECT_EQ(map.size(), 9U);
    EXPECT_EQ(values_of(map).size(), 9U);
    for (const std::size_t i : {2U, 4U, 5U, 6U, 9U, 10U, 11U, 12U, 13U}) {
      EXPECT_EQ(map[handles[i]].value, static_cast<int>(i));
    }
    costly::refuse_in = 0;
    (void)map.emplace(100);
    map.compact();
    EXPECT_EQ(map.holes(), 0U);
    EXPECT_EQ(map.size(), 10U);
  }
}

// Value 15 is last when it is erased, so that the hole at 14 is beyond the end when the first move
// throws.
TEST_F(SlotMapExceptions, CompactionThatFailsForgetsHolesBehindTheEnd) {
  for (int at = 1; at <= 4; ++at) {
    slot_map<costly> map({.reserve = 16, .compaction = compaction_mode::manual});
    std::vector<slot_handle<costly>> handles;
    for (int i = 0; i < 16; ++i) {
      handles.push_back(map.emplace(i));
    }
    for (const std::size_t which : {3U, 14U, 7U, 15U, 1U}) {
      map.erase(handles[which]);
    }
    costly::refuse_in = at;
    if (at <= 3) {
      EXPECT_THROW(map.compact(), refused);
      EXPECT_EQ(map.holes(), 4U - static_cast<std::size_t>(at));
    } else {
      map.compact();
    }
    costly::refuse_in = 0;
    EXPECT_EQ(map.size(), 11U);
    for (int i = 0; i < 5; ++i) {
      EXPECT_EQ(map[map.emplace(100 + i)].value, 100 + i);
    }
    EXPECT_EQ(std::distance(map.begin(), map.end()), 16);
    EXPECT_EQ(map.capacity(), 16U);
  }
  EXPECT_EQ(costly::alive, 0);
}

TEST_F(SlotMapExceptions, EraseWhoseCompactionFailsLeavesAHole) {
  slot_map<costly> map({.reserve = 4, .compaction = compaction_mode::immediate});
  const auto one = map.emplace(1);
  const auto two = map.emplace(2);
  costly::refuse_in = 1;
  EXPECT_TRUE(map.erase(one));
  EXPECT_EQ(map.holes(), 1U);
  EXPECT_EQ(map[two].value, 2);
  map.compact();
  EXPECT_EQ(values_of(map), (std::vector{2}));
}

TEST_F(SlotMapExceptions, GrowthOfATypeThatOnlyMovesAndThrowsLosesNoHandle) {
  slot_map<risky> map({.reserve = 4});
  std::vector<slot_handle<risky>> handles;
  for (int i = 0; i < 4; ++i) {
    handles.push_back(map.emplace(i));
  }
  costly::refuse_in = 3;  // the new value, one that is moved, and then
  EXPECT_THROW((void)map.emplace(4), refused);
  EXPECT_EQ(map.size(), 4U);
  for (const auto handle : handles) {
    EXPECT_TRUE(map.contains(handle));
  }
  EXPECT_EQ(*map[handles[3]].value, 3);
}

/// Calls ranges in any order, with an empty one, as two threads might.
struct backwards {
  void operator()(std::uint32_t count, const auto& body) const {
    body(count / 2, count);
    body(count / 2, count / 2);
    body(0, count / 2);
  }
};

TEST(SlotMapParallel, ExecutorReachesEachValueOnce) {
  for (const compaction_mode mode : modes) {
    slot_map<int> map({.compaction = mode});
    for (int i = 0; i < 300; ++i) {
      (void)map.insert(i);
    }
    map.for_each([](int& value) { return value % 3 == 0 ? step::erase : step::next; });
    map.for_each(backwards(), [](int& value) { value += 1000; });
    map.for_each(backwards(),
                 [&](int& value, slot_handle<int> handle) { EXPECT_EQ(map.find(handle), &value); });
    EXPECT_EQ(std::accumulate(map.begin(), map.end(), 0), 30'000 + 200'000);
  }
}

TEST(SlotMapParallel, ThreadsOfTheExecutorNeedNoLock) {
  for (const compaction_mode mode : modes) {
    slot_map<int> map({.compaction = mode});
    for (int i = 0; i < 30'000; ++i) {
      (void)map.insert(i);
    }
    map.for_each([](int& value) { return value % 3 == 0 ? step::erase : step::next; });
    map.for_each(test::two_threads(), [&](int& value, slot_handle<int> handle) {
      value = map.find(handle) == &value ? 1 : 0;
    });
    EXPECT_EQ(std::accumulate(map.begin(), map.end(), 0), 20'000);
  }
}

TEST(SlotMapParallel, FalseEndsARangeOfTheExecutor) {
  slot_map<int> map;
  for (int i = 0; i < 300; ++i) {
    (void)map.insert(i);
  }
  int visits = 0;
  map.for_each(backwards(), [&](int& value) {
    ++visits;
    return value != 160 && value != 9;
  });
  EXPECT_EQ(visits, 11 + 10);
}

}  // namespace
}  // namespace lido
