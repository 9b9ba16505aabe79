// Snapshots, refusals of restore, values under given handles, copies.
#include <gtest/gtest.h>

#include <array>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <memory_resource>
#include <random>
#include <stdexcept>
#include <string>
#include <utility>
#include <vector>

#include "lido/pmr_source.hpp"
#include "lido/slot_map.hpp"
#include "support/few_generations.hpp"
#include "support/tracked.hpp"

namespace lido {
namespace {

using test::refused;
using saved_few = slot_map<int, test::few_generations<3>>;
using int_handle = slot_handle<int>;

constexpr std::array saved_modes{compaction_mode::immediate, compaction_mode::deferred,
                                 compaction_mode::manual};

/// A snapshot as a user would read it from a file.
template <class T>
struct saved {
  template <class... Rest>
  explicit saved(const slot_map_snapshot<T, Rest...>& from)
      : format(from.format),
        values(from.values.begin(), from.values.end()),
        table(from.table.begin(), from.table.end()),
        first_free(from.first_free),
        first_generation(from.first_generation) {}
  [[nodiscard]] slot_map_snapshot<T> view() const {
    return {format, values, table, first_free, first_generation};
  }
  std::uint32_t format;
  std::vector<T> values;
  std::vector<std::uint64_t> table;
  std::uint32_t first_free;
  std::uint32_t first_generation;
};

/// Fills a map so that it has holes, free slots and used-up slots.
template <class Map>
std::vector<int_handle> fill(Map& map, int steps) {
  std::minstd_rand random(7);
  std::vector<int_handle> all;
  for (int i = 0; i < steps; ++i) {
    if (all.size() > 20 && random() % 2 == 0) {
      const std::size_t which = random() % all.size();
      map.erase(all[which]);
      all[which] = all.back();
      all.pop_back();
    } else {
      all.push_back(map.insert(i));
    }
  }
  return all;
}

TEST(SavedMap, GivesTheSameValuesAndTheSameHandlesAfterwards) {
  for (const compaction_mode mode : saved_modes) {
    saved_few map({.compaction = mode});
    const std::vector<int_handle> all = fill(map, 1000);
    EXPECT_NE(map.used_up_slots(), 0U);
    const saved<int> file(map.snapshot());
    saved_few other({.compaction = mode});
    const int_handle gone = other.insert(-1);
    other.restore(file.view());
    EXPECT_EQ(other.size(), map.size());
    EXPECT_EQ(other.used_up_slots(), map.used_up_slots());
    EXPECT_TRUE(std::equal(map.begin(), map.end(), other.begin(), other.end()));
    for (const int_handle each : all) {
      EXPECT_EQ(other.at(each), map.at(each));
    }
    EXPECT_EQ(other.contains(gone), map.contains(gone));
    for (int i = 0; i < 100; ++i) {
      EXPECT_EQ(map.insert(i), other.insert(i)) << "as if nothing had been in between";
    }
  }
}

TEST(SavedMap, ItsOwnSnapshotTakesItBack) {
  slot_map<std::string> map;
  const auto kept = map.insert("a word too long for the string itself");
  const saved<std::string> before(map.snapshot());
  const auto later = map.insert("later");
  map.erase(kept);
  map.restore(before.view());
  EXPECT_EQ(map.at(kept), "a word too long for the string itself");
  EXPECT_FALSE(map.contains(later));
  map.restore(map.snapshot());
  EXPECT_EQ(map.at(kept), "a word too long for the string itself");
  map.restore(slot_map<std::string>().snapshot());
  EXPECT_TRUE(map.empty());
}

// Its new slots would begin with a generation after the last one.
TEST(SavedMap, MayBeOneWhoseNewSlotsHaveNoGenerationLeft) {
  slot_map<int, test::few_generations<1>> map;
  (void)map.insert(1);
  const auto other = std::move(map);
  // NOLINTBEGIN(bugprone-use-after-move): what it does then is what is tested
  EXPECT_THROW((void)map.insert(2), std::length_error);
  map.restore(map.snapshot());
  map.restore(std::as_const(map).snapshot());
  EXPECT_THROW((void)map.insert(2), std::length_error) << "it has given its handle already";
  map.restore(other.snapshot());
  EXPECT_EQ(map.size(), 1U);
  // NOLINTEND(bugprone-use-after-move)
  map = slot_map<int, test::few_generations<1>>();
  EXPECT_TRUE(map.insert(3)) << "an assignment makes a new map of it";
}

/// Returns why a snapshot is not restored. Checks that `problem_with` gives the same reason, and
/// has no effect.
std::string refusal_of(saved_few& map, const saved<int>& bad) {
  const std::vector<int> before(map.begin(), map.end());
  const option_problem problem = map.problem_with(bad.view());
  EXPECT_EQ(std::vector<int>(map.begin(), map.end()), before);
  try {
    map.restore(bad.view());
  } catch (const std::invalid_argument& error) {
    EXPECT_TRUE(problem);
    EXPECT_NE(std::string(error.what()).find(problem.text()), std::string::npos) << problem.text();
    return error.what();
  }
  EXPECT_FALSE(problem) << problem.text();
  return "none";
}

template <class Change>
void refuses(const saved_few& map, const saved<int>& good, const Change& change) {
  saved<int> bad = good;
  change(bad);
  saved_few tested(map);
  const std::vector<int> values(map.begin(), map.end());
  const std::string told = refusal_of(tested, bad);
  EXPECT_NE(told.find("not consistent"), std::string::npos) << told;
  EXPECT_EQ(std::vector<int>(tested.begin(), tested.end()), values);
}

constexpr std::uint64_t mark = std::uint64_t{1} << 63U;

TEST(SavedMap, RefusesWhatIsNoSnapshotAndLosesNothing) {
  saved_few map;
  const std::vector<int_handle> all = fill(map, 100);
  const saved<int> good(map.snapshot());
  const auto of = [](int_handle value) { return value.index(); };
  const std::uint32_t free = good.first_free;
  ASSERT_NE(free, 0xFFFF'FFFFU);
  const auto both = [&](auto change) { refuses(map, good, change); };
  both([](auto& s) { s.values.pop_back(); });
  both([](auto& s) { s.values.push_back(1); });
  both([](auto& s) { s.table.pop_back(); });
  both([](auto& s) { s.table.push_back(std::uint64_t{1} << 32U); });
  both([](auto& s) { s.table.push_back(mark | std::uint64_t{1} << 32U); });
  both([](auto& s) { s.first_free = 0xFFFF'FFFF; });
  both([&](auto& s) { s.first_free = of(all[0]); });
  both([](auto& s) { s.first_free = static_cast<std::uint32_t>(s.table.size()); });
  both([](auto& s) { s.first_generation = 0; });
  both([](auto& s) { s.first_generation = 5; });
  both([&](auto& s) { s.table[of(all[0])] = s.table[of(all[1])] ^ of(all[0]) ^ of(all[1]); });
  both([&](auto& s) { s.table[of(all[0])] &= 0xFFFF'FFFF; });
  both([&](auto& s) { s.table[of(all[0])] |= std::uint64_t{4} << 32U; });
  both([&](auto& s) { s.table[of(all[0])] ^= 0x8000'0000; });
  both([&](auto& s) { s.table[of(all[0])] |= mark; });
  both([&](auto& s) { s.table[free] &= ~mark; });
  both([&](auto& s) { s.table[free] |= std::uint64_t{4} << 32U; });
  both([&](auto& s) { s.table[free] = (s.table[free] >> 32U << 32U) | free; });
  both([](auto& s) { s.table.assign(s.table.size(), 0); });
  both([](auto& s) { s.table.clear(); });
  saved_few small({.max_size = 3});
  const std::string told = refusal_of(small, good);
  EXPECT_NE(told.find("too many values"), std::string::npos) << told;
}

// In memory of its own, the map reads the table once for each part of the values.
TEST(SavedMap, RefusesTwoSlotsForOneOfManyValues) {
  pmr_source memory(std::pmr::new_delete_resource());
  for (memory_source* const source :
       {static_cast<memory_source*>(nullptr), static_cast<memory_source*>(&memory)}) {
    saved_few map({.memory = source});
    for (int i = 0; i < 70'000; ++i) {
      (void)map.insert(i);
    }
    const saved<int> good(map.snapshot());
    EXPECT_FALSE(map.problem_with(good.view()));
    for (const std::size_t slot : {0U, 32'767U, 32'768U, 69'999U}) {
      for (const std::size_t other : {1U, 40'000U, 69'998U}) {
        saved<int> bad = good;
        bad.table[slot] = bad.table[other] ^ slot ^ other;
        EXPECT_EQ(map.problem_with(bad.view()).text(), "the snapshot to restore is not consistent");
      }
    }
    map.restore(good.view());
    EXPECT_EQ(map.size(), 70'000U);
  }
}

TEST(SavedMap, ProblemsOfASnapshotOfAConstMapAreFoundToo) {
  saved_few map;
  (void)map.insert(1);
  auto now = std::as_const(map).snapshot();
  static_assert(noexcept(map.problem_with(now)));
  EXPECT_FALSE(map.problem_with(now));
  now.first_generation = 0;
  EXPECT_TRUE(map.problem_with(now));
}

TEST(SavedMap, RefusesAnotherFormatAndAnotherByteOrder) {
  saved_few map;
  const int_handle one = map.insert(1);
  saved<int> other(map.snapshot());
  EXPECT_EQ(other.format, slot_map_format);
  const auto told = [&](std::uint32_t format) {
    other.format = format;
    return refusal_of(map, other);
  };
  EXPECT_EQ(told(slot_map_format), "none");
  const auto* const bytes = reinterpret_cast<const std::uint8_t*>(&slot_map_format);
  std::uint32_t swapped = 0;
  std::reverse_copy(bytes, bytes + sizeof swapped, reinterpret_cast<std::uint8_t*>(&swapped));
  EXPECT_NE(told(swapped).find("has the byte order of another processor"), std::string::npos);
  for (const std::uint32_t format : {0U, 1U, slot_map_format + 1}) {
    EXPECT_NE(told(format).find("not have the format of this version"), std::string::npos);
  }
  EXPECT_THROW(map.restore({}), std::invalid_argument);
  EXPECT_EQ(map.at(one), 1);
}

// If restore accepts a snapshot, the map keeps its promises.
TEST(SavedMap, SurvivesAnyFlippedBit) {
  saved_few map;
  (void)fill(map, 60);
  const saved<int> good(map.snapshot());
  std::size_t accepted = 0;
  for (std::size_t slot = 0; slot < good.table.size(); ++slot) {
    for (unsigned bit = 0; bit < 64; ++bit) {
      saved<int> bad = good;
      bad.table[slot] ^= std::uint64_t{1} << bit;
      saved_few tested;
      try {
        tested.restore(bad.view());
      } catch (const std::invalid_argument&) {
        EXPECT_TRUE(tested.empty());
        continue;
      }
      ++accepted;  // another generation
      EXPECT_GE(bit, 32U);
      EXPECT_EQ(tested.size(), map.size());
      for (auto it = tested.begin(); it != tested.end(); ++it) {
        EXPECT_EQ(tested.find(it.handle()), &*it);
      }
    }
  }
  EXPECT_LT(accepted, good.table.size() * 3);
}

/// A type whose copies throw on request.
struct copied {
  explicit copied(int number) : value(number) { ++alive; }
  copied(const copied& other) : value(other.value) {
    if (refuse_in > 0 && --refuse_in == 0) {
      throw refused();
    }
    ++alive;
  }
  copied(copied&& other) noexcept : value(other.value) { ++alive; }
  ~copied() { --alive; }
  int value;
  static inline int alive = 0;
  static inline int refuse_in = 0;
};

TEST(SavedMap, ARestoreWhoseCopyThrowsChangesNothing) {
  {
    slot_map<copied> map;
    const auto one = map.emplace(1);
    (void)map.emplace(2);
    const saved<copied> two(map.snapshot());
    map.erase(one);
    const auto three = map.emplace(3);
    for (int at = 1; at <= 2; ++at) {
      copied::refuse_in = at;
      EXPECT_THROW(map.restore(two.view()), refused);
      EXPECT_EQ(map.at(three).value, 3);
      EXPECT_EQ(map.size(), 2U);
    }
    map.restore(two.view());
    EXPECT_EQ(map.at(one).value, 1);
  }
  EXPECT_EQ(copied::alive, 0);
}

TEST(SavedMap, ACopyHasCopiesUnderTheSameHandles) {
  for (const compaction_mode mode : saved_modes) {
    slot_map<std::string> map({.max_size = 100, .reserve = 10, .compaction = mode});
    const auto hole = map.insert("hole");
    const auto one = map.insert("a word too long for the string itself");
    (void)map.insert("last");
    map.erase(hole);
    slot_map<std::string> copy(map);
    EXPECT_EQ(copy.at(one), map.at(one));
    EXPECT_NE(copy.find(one), map.find(one));
    EXPECT_FALSE(copy.contains(hole));
    EXPECT_EQ(copy.size(), 2U);
    EXPECT_EQ(copy.holes(), map.holes());
    EXPECT_EQ(copy.max_size(), 100U);
    copy.at(one) = "other";
    EXPECT_NE(map.at(one), "other");
    EXPECT_EQ(copy.insert("next"), map.insert("next"));
    copy.compact();
    EXPECT_EQ(copy.size(), 3U);
  }
  EXPECT_TRUE(slot_map<int>(slot_map<int>()).empty());
}

TEST(SavedMap, ACopyInAWalkIsNoWalk) {
  slot_map<int> map({.compaction = compaction_mode::immediate});
  for (int i = 0; i < 10; ++i) {
    (void)map.insert(i);
  }
  map.for_each([&](int& value) {
    if (value == 5) {
      slot_map<int> copy(map);
      copy.erase_if([](int each) { return each % 2 == 0; });
      EXPECT_EQ(copy.holes(), 0U);
      EXPECT_EQ(copy.size(), 5U);
    }
  });
}

TEST(SavedMap, ACopyThatThrowsLeavesNothingBehind) {
  {
    slot_map<copied> map;
    for (int i = 0; i < 5; ++i) {
      (void)map.emplace(i);
    }
    for (int at = 1; at <= 5; ++at) {
      copied::refuse_in = at;
      EXPECT_THROW((void)slot_map<copied>(map), refused);
      EXPECT_EQ(copied::alive, 5);
    }
  }
  EXPECT_EQ(copied::alive, 0);
}

TEST(EmplaceAt, TakesHandlesOfAnotherMapInAnyOrder) {
  for (const compaction_mode mode : saved_modes) {
    for (const bool backwards : {false, true}) {
      saved_few there({.compaction = mode});
      std::vector<int_handle> all = fill(there, 300);
      if (backwards) {
        std::sort(all.rbegin(), all.rend());
      }
      saved_few here({.compaction = mode});
      for (const int_handle each : all) {
        EXPECT_TRUE(here.emplace_at(each, there.at(each)));
        EXPECT_FALSE(here.emplace_at(each, 0)) << "there is a value";
      }
      EXPECT_EQ(here.size(), there.size());
      for (int i = 0; i < 200; ++i) {
        const int_handle fresh = here.insert(i);
        EXPECT_EQ(std::find(all.begin(), all.end(), fresh), all.end());
      }
      for (const int_handle each : all) {
        EXPECT_EQ(here.at(each), there.at(each));
      }
    }
  }
}

TEST(EmplaceAt, UndoesAnEraseButRevivesNothingOlder) {
  for (const compaction_mode mode : saved_modes) {
    saved_few map({.compaction = mode});
    const int_handle first = map.insert(1);
    (void)map.insert(0);
    map.erase(first);
    EXPECT_TRUE(map.emplace_at(first, 2));
    EXPECT_EQ(map.at(first), 2);
    map.erase(first);
    const int_handle second = map.insert(3);
    EXPECT_EQ(second.index(), first.index());
    EXPECT_FALSE(map.emplace_at(first, 4));
    map.erase(second);
    EXPECT_FALSE(map.emplace_at(first, 4)) << "the slot has given a later one";
    EXPECT_TRUE(map.emplace_at({second.index(), 3}, 5)) << "one that it would have given later";
    map.erase({second.index(), 3});
    EXPECT_FALSE(map.emplace_at({second.index(), 3}, 6)) << "used up";
  }
}

TEST(EmplaceAt, FillsTheHoleOfItsSlotOrAnother) {
  saved_few map({.compaction = compaction_mode::manual});
  std::vector<int_handle> all;
  for (int i = 0; i < 16; ++i) {
    all.push_back(map.insert(i));
  }
  for (const std::size_t i : {3U, 5U, 7U}) {
    map.erase(all[i]);
  }
  EXPECT_TRUE(map.emplace_at(all[5], 50));
  EXPECT_TRUE(map.emplace_at({100, 2}, 60));
  EXPECT_EQ(map.holes(), 0U);
  EXPECT_EQ(map.capacity(), 16U);
  EXPECT_EQ(map.at(all[5]), 50);
  EXPECT_EQ(map.at(int_handle(100, 2)), 60);
  EXPECT_TRUE(map.emplace_at(all[3], 30));
  EXPECT_TRUE(map.emplace_at(all[7], 70));
  EXPECT_EQ(map.size(), 17U);
  EXPECT_EQ(map.at(all[3]) + map.at(all[7]), 100);
}

TEST(EmplaceAt, RefusesHandlesThatNoMapGives) {
  saved_few map;
  EXPECT_FALSE(map.emplace_at({}, 1));
  EXPECT_FALSE(map.emplace_at({0, 4}, 1));
  EXPECT_FALSE(map.emplace_at({0xFFFF'FFFF, 1}, 1));
  EXPECT_TRUE(map.empty());
  EXPECT_EQ(map.bookkeeping_bytes(), saved_few().bookkeeping_bytes());
}

TEST(EmplaceAt, RefusesASlotBeyondThoseOfMaxSize) {
  slot_map<int> map({.max_size = 10});
  EXPECT_FALSE(map.emplace_at({0xFFFF'FFF0, 1}, 1));
  EXPECT_FALSE(map.emplace_at({10, 1}, 1));
  EXPECT_TRUE(map.emplace_at({9, 1}, 1));
}

TEST(EmplaceAt, OfAFullMapIsRefused) {
  saved_few map({.max_size = 1});
  (void)map.insert(1);
  EXPECT_FALSE(map.emplace_at({7, 1}, 2));
  EXPECT_EQ(map.size(), 1U);
}

TEST(EmplaceAt, MayTakeAValueOfItsOwnArrayWhenThatGrows) {
  slot_map<std::string> map({.reserve = 1});
  const auto one = map.insert("a word too long for the string itself");
  EXPECT_TRUE(map.emplace_at({5, 1}, map.at(one)));
  EXPECT_EQ(map.at(slot_handle<std::string>(5, 1)), map.at(one));
}

// Otherwise a later insert would return a handle that was stale.
TEST(EmplaceAt, ThatThrowsLeavesTheGenerationAlone) {
  for (const compaction_mode mode : saved_modes) {
    slot_map<copied> map({.compaction = mode});
    const auto first = map.emplace(1);
    (void)map.emplace(2);
    map.erase(first);
    const copied value(3);
    copied::refuse_in = 1;
    EXPECT_THROW((void)map.emplace_at(first, value), refused);
    EXPECT_FALSE(map.contains(first));
    const auto next = map.emplace(4);
    EXPECT_EQ(next.index(), first.index());
    EXPECT_NE(next, first);
    EXPECT_FALSE(map.contains(first));
  }
}

TEST(EmplaceAt, InAWalkIsRefused) {
  saved_few map;
  const auto gone = map.insert(1);
  (void)map.insert(2);
  map.erase(gone);
  map.for_each([&](int& /*value*/) { EXPECT_FALSE(map.emplace_at(gone, 1)); });
  EXPECT_TRUE(map.emplace_at(gone, 1));
}

TEST(EmplaceAt, WhileItsSlotIsTakenByAConstructorIsRefused) {
  saved_few map;
  const int_handle made = map.insert_with([&](int_handle own) {
    EXPECT_FALSE(map.emplace_at(own, 1));
    return 2;
  });
  EXPECT_EQ(map.at(made), 2);
  EXPECT_EQ(map.size(), 1U);
}

}  // namespace
}  // namespace lido
