// Handles of slot maps that are reserved before their values exist, and values under given handles
// in any order.
#include <gtest/gtest.h>

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <ctime>
#include <functional>
#include <limits>
#include <map>
#include <random>
#include <set>
#include <stdexcept>
#include <string>
#include <utility>
#include <vector>

#include "lido/slot_map.hpp"
#include "support/few_generations.hpp"
#include "support/tracked.hpp"

namespace lido {
namespace {

using kept_map = slot_map<int, test::few_generations<3>>;
using kept_handle = slot_handle<int>;

TEST(SlotMapReserved, IsStaleUntilItsValueIsMade) {
  kept_map map;
  const kept_handle handle = map.reserve_handle();
  ASSERT_TRUE(handle);
  EXPECT_FALSE(map.contains(handle));
  EXPECT_EQ(map.find(handle), nullptr);
  EXPECT_EQ(map.iterator_to(handle), map.end());
  EXPECT_FALSE(map.take(handle));
  EXPECT_TRUE(map.empty());
  EXPECT_NE(map.insert(1), handle);
  map.clear();
  EXPECT_TRUE(map.emplace_at(handle, 2));
  EXPECT_EQ(map.at(handle), 2);
  EXPECT_FALSE(map.emplace_at(handle, 3)) << "it has a value";
  EXPECT_TRUE(map.erase(handle));
}

TEST(SlotMapReserved, CanBeGivenUp) {
  kept_map map;
  std::set<kept_handle> given;
  for (int i = 0; i < 7; ++i) {
    const kept_handle handle = map.reserve_handle();
    EXPECT_TRUE(given.insert(handle).second) << "a handle is given twice";
    EXPECT_TRUE(map.erase(handle));
    EXPECT_FALSE(map.erase(handle));
    EXPECT_FALSE(map.contains(handle));
  }
  EXPECT_EQ(map.used_up_slots(), 3U) << "each of them also skips the generation after it";
}

TEST(SlotMapReserved, CannotBeFulfilledOnceItIsGivenUp) {
  for (const bool shrinks : {false, true}) {
    kept_map map;
    for (int generation = 1; generation <= 3; ++generation) {
      const kept_handle handle = map.reserve_handle();
      EXPECT_TRUE(map.erase(handle));
      if (shrinks) {
        map.shrink_to_fit();
      }
      EXPECT_FALSE(map.emplace_at(handle, 1)) << "a cancelled value comes late";
      EXPECT_NE(map.insert(2), handle);
      map.clear();
    }
  }
}

TEST(SlotMapReserved, NoOtherHandleOfItsSlotIsAccepted) {
  kept_map map;
  const kept_handle handle = map.reserve_handle();
  for (std::uint32_t generation = 0; generation < 5; ++generation) {
    if (generation != handle.generation()) {
      EXPECT_FALSE(map.emplace_at({handle.index(), generation}, 1));
      EXPECT_FALSE(map.erase({handle.index(), generation}));
    }
  }
  const kept_handle marked = kept_handle::from_bits(handle.to_bits() | std::uint64_t{1} << 63U);
  EXPECT_FALSE(map.erase(marked));
  map.erase(map.insert(1));
  const kept_handle free{1, 2};
  EXPECT_FALSE(map.erase(free)) << "no one has reserved it";
  EXPECT_TRUE(map.emplace_at(handle, 1));
}

TEST(SlotMapReserved, MayBeReservedInAWalkAndMadeAfterIt) {
  kept_map map({.compaction = compaction_mode::immediate});
  for (int i = 0; i < 4; ++i) {
    (void)map.insert(i);
  }
  std::vector<kept_handle> born;
  map.for_each([&](int& value) {
    born.push_back(map.reserve_handle());
    EXPECT_FALSE(map.emplace_at(born.back(), 0)) << "a walk is running";
    return value % 2 == 0 ? step::erase : step::next;
  });
  for (const kept_handle each : born) {
    EXPECT_TRUE(map.emplace_at(each, 10));
  }
  EXPECT_EQ(map.size(), 6U);
}

TEST(SlotMapReserved, CountsAgainstMaxSize) {
  kept_map map({.max_size = 2});
  (void)map.insert(1);
  const kept_handle handle = map.reserve_handle();
  EXPECT_TRUE(handle);
  EXPECT_FALSE(map.reserve_handle());
  EXPECT_TRUE(map.emplace_at(handle, 2));
  EXPECT_FALSE(map.reserve_handle());
}

TEST(SlotMapReserved, LeavesItsPlaceToNoInsert) {
  kept_map map({.max_size = 2, .reserve = 2});
  const std::size_t bytes = map.bookkeeping_bytes();
  const kept_handle handle = map.reserve_handle();
  const kept_handle first = map.insert(1);
  EXPECT_THROW((void)map.insert(2), pool_exhausted);
  EXPECT_FALSE(map.try_emplace(2));
  EXPECT_THROW((void)map.insert_with([](kept_handle) { return 2; }), pool_exhausted);
  EXPECT_THROW((void)map.insert_range(std::vector{2}), pool_exhausted);
  EXPECT_FALSE(map.emplace_at({1, 3}, 2)) << "the slot has a value";
  const kept_handle second = map.emplace_or_evict(std::less<>(), 2);
  EXPECT_TRUE(second) << "it replaces a value";
  EXPECT_FALSE(map.contains(first));
  EXPECT_TRUE(map.emplace_at(handle, 3));
  EXPECT_EQ(map.at(second) + map.at(handle), 5);
  EXPECT_FALSE(map.try_emplace(4));
  EXPECT_EQ(map.capacity(), 2U);
  EXPECT_EQ(map.bookkeeping_bytes(), bytes) << "the table has grown";
}

TEST(SlotMapReserved, LeavesItsPlaceToAnInsertOnceItIsGivenUp) {
  kept_map map({.max_size = 1});
  EXPECT_TRUE(map.erase(map.reserve_handle()));
  const kept_handle value = map.insert(1);
  EXPECT_FALSE(map.reserve_handle());
  map.erase(value);
  const kept_handle handle = map.reserve_handle();
  EXPECT_THROW((void)map.emplace_or_evict(std::less<>(), 2), pool_exhausted) << "nothing to evict";
  EXPECT_TRUE(map.emplace_at(handle, 3));
}

TEST(SlotMapReserved, CountsInCopiesMovedSwappedAndRestoredMaps) {
  kept_map map({.max_size = 2});
  (void)map.insert(1);
  const kept_handle handle = map.reserve_handle();
  kept_map copy(map);
  kept_map assigned;
  assigned = map;
  kept_map restored({.max_size = 2});
  restored.restore(map.snapshot());
  kept_map small({.max_size = 1});
  EXPECT_THROW(small.restore(map.snapshot()), std::invalid_argument) << "no place for its value";
  kept_map swapped;
  kept_map moved(std::move(map));
  // NOLINTNEXTLINE(bugprone-use-after-move): what it does then is what is tested
  EXPECT_TRUE(map.insert(1) && map.insert(2)) << "it has no reserved handle any more";
  swapped.swap(moved);
  EXPECT_TRUE(moved.insert(1) && moved.insert(2) && moved.insert(3));
  for (kept_map* each : {&copy, &assigned, &restored, &swapped}) {
    EXPECT_FALSE(each->try_emplace(2));
    EXPECT_TRUE(each->emplace_at(handle, 7));
  }
  restored.restore(kept_map().snapshot());
  EXPECT_TRUE(restored.insert(1) && restored.insert(2));
}

/// A type whose constructor calls a function.
struct made_by {
  template <class F>
  explicit made_by(const F& f) {
    f();
  }
};

TEST(SlotMapReserved, KeepsItsPlaceFromInsertsOfConstructors) {
  slot_map<made_by> map({.max_size = 2});
  const auto handle = map.reserve_handle();
  const auto insert = [&] { EXPECT_TRUE(map.try_emplace([] {})); };
  EXPECT_FALSE(map.try_emplace(insert)) << "its constructor took the last place";
  EXPECT_TRUE(map.emplace_at(handle, [&] { EXPECT_FALSE(map.try_emplace([] {})); }));
  EXPECT_EQ(map.size(), 2U);
}

TEST(SlotMapReserved, OutlivesCompactionShrinkingCopiesAndSnapshots) {
  kept_map map;
  std::vector<kept_handle> gone;
  for (int i = 0; i < 50; ++i) {
    gone.push_back(map.insert(i));
  }
  const kept_handle handle = map.reserve_handle();
  for (const kept_handle each : gone) {
    map.erase(each);
  }
  map.shrink_to_fit();
  kept_map copy(map);
  kept_map restored;
  restored.restore(map.snapshot());
  kept_map restored_const;
  restored_const.restore(std::as_const(map).snapshot());
  kept_map moved(std::move(map));
  for (kept_map* each : {&copy, &restored, &restored_const, &moved}) {
    EXPECT_FALSE(each->contains(handle));
    EXPECT_TRUE(each->emplace_at(handle, 7));
    EXPECT_EQ(each->at(handle), 7);
  }
}

/// A type whose constructor and moves throw on request.
struct fussy_value {
  explicit fussy_value(bool refuse = false) {
    if (refuse) {
      throw test::refused();
    }
  }
  // NOLINTNEXTLINE(performance-noexcept-move-constructor,bugprone-exception-escape): on request
  fussy_value(fussy_value&& /*other*/) {
    if (refuse_in > 0 && --refuse_in == 0) {
      throw test::refused();
    }
  }
  static inline int refuse_in = 0;
};

TEST(SlotMapReserved, StaysReservedIfMakingTheValueThrows) {
  slot_map<fussy_value> map({.reserve = 4});
  const auto other = map.emplace();
  const auto handle = map.reserve_handle();
  EXPECT_THROW((void)map.emplace_at(handle, true), test::refused);
  for (int at = 1; at <= 2; ++at) {
    fussy_value::refuse_in = at;
    if (at == 1) {
      EXPECT_THROW((void)map.emplace_at(handle), test::refused);
      EXPECT_FALSE(map.contains(handle));
      EXPECT_NE(map.emplace(), handle) << "it is still reserved";
    } else {
      EXPECT_TRUE(map.emplace_at(handle));
    }
  }
  fussy_value::refuse_in = 0;
  EXPECT_TRUE(map.contains(handle) && map.contains(other));
}

/// Hooks that refuse a value on request.
struct refuses_some {
  bool refuse = false;
  template <class T>
  void on_insert(T& /*value*/, slot_handle<T> /*handle*/) const {
    if (refuse) {
      throw test::refused();
    }
  }
};

TEST(SlotMapReserved, IsStaleIfOnInsertThrows) {
  slot_map<int, refuses_some> map;
  const auto handle = map.reserve_handle();
  map.hooks().refuse = true;
  EXPECT_THROW((void)map.emplace_at(handle, 1), test::refused);
  map.hooks().refuse = false;
  EXPECT_FALSE(map.contains(handle));
  EXPECT_FALSE(map.erase(handle));
  EXPECT_NE(map.insert(2), handle);
}

/// Random operations, beside a map of the standard library.
class beside_a_map {
 public:
  explicit beside_a_map(compaction_mode mode) : map_({.compaction = mode}) {}

  void step_once() {
    const kept_handle any{static_cast<std::uint32_t>(random_() % 300),
                          static_cast<std::uint32_t>(random_() % 3) + 1};
    switch (random_() % 6) {
      case 0:
        add(map_.insert(number_));
        break;
      case 1:
        EXPECT_EQ(map_.erase(any), values_.erase(any) + reserved_.erase(any) != 0);
        break;
      case 2: {
        const kept_handle handle = map_.reserve_handle();
        EXPECT_TRUE(reserved_.insert(handle).second);
        EXPECT_FALSE(values_.contains(handle));
        break;
      }
      case 3:
        if (!reserved_.empty()) {
          const kept_handle handle = *reserved_.begin();
          EXPECT_TRUE(map_.emplace_at(handle, number_));
          reserved_.erase(handle);
          add(handle);
        }
        break;
      default:
        if (map_.emplace_at(any, number_)) {
          reserved_.erase(any);
          add(any);
        }
    }
    ++number_;
  }

  void check() const {
    EXPECT_EQ(map_.size(), values_.size());
    for (const auto& [handle, value] : values_) {
      EXPECT_EQ(map_.at(handle), value);
    }
    for (const kept_handle each : reserved_) {
      EXPECT_FALSE(map_.contains(each));
    }
    kept_map copy;
    copy.restore(map_.snapshot());  // refuses a table with a broken list
    EXPECT_EQ(copy.size(), map_.size());
  }

 private:
  void add(kept_handle handle) {
    EXPECT_TRUE(values_.emplace(handle, number_).second) << "two values have one handle";
    EXPECT_FALSE(reserved_.contains(handle));
  }

  kept_map map_;
  std::map<kept_handle, int> values_;
  std::set<kept_handle> reserved_;
  std::minstd_rand random_{11};
  int number_ = 0;
};

TEST(SlotMapReserved, AgreesWithAMapUnderRandomOperations) {
  for (const compaction_mode mode :
       {compaction_mode::immediate, compaction_mode::deferred, compaction_mode::manual}) {
    beside_a_map both(mode);
    for (int i = 0; i < 3000; ++i) {
      both.step_once();
      if (i % 50 == 0) {
        both.check();
      }
    }
  }
}

/// Returns the processor time that it takes to make `count` values under handles in a random order,
/// first in a new map, and again after all have been erased.
std::clock_t time_to_fill(int count) {
  std::vector<kept_handle> handles;
  slot_map<int> from;
  for (int i = 0; i < count; ++i) {
    handles.push_back(from.insert(i));
  }
  std::minstd_rand random(3);
  slot_map<int> map;
  std::clock_t taken = 0;
  for (int round = 0; round < 2; ++round) {
    std::shuffle(handles.begin(), handles.end(), random);
    const std::clock_t began = std::clock();
    for (const kept_handle each : handles) {
      EXPECT_TRUE(map.emplace_at(each, from.at(each)));
    }
    taken += std::clock() - began;
    for (const kept_handle each : handles) {
      EXPECT_EQ(map.at(each), from.at(each));
      map.erase(each);
    }
    map.compact();
  }
  return taken;
}

// If each search began at the first free slot, eight times as many handles would take 64 times as
// long. The least of several times is hardly disturbed by other programs.
TEST(EmplaceAt, TakesManyHandlesInAnyOrderInLinearTime) {
  std::clock_t few = std::numeric_limits<std::clock_t>::max();
  std::clock_t many = few;
  for (int round = 0; round < 5; ++round) {
    few = std::min(few, time_to_fill(10'000));
    many = std::min(many, time_to_fill(80'000));
  }
  EXPECT_LT(many, 32 * few);
}

}  // namespace
}  // namespace lido
