#include "allocator/depot.hpp"

#include <gtest/gtest.h>

#include <algorithm>
#include <array>
#include <cstdint>
#include <memory>
#include <span>
#include <vector>

#include "support/crew.hpp"
#include "support/drain.hpp"
#include "support/list_kinds.hpp"
#include "support/resident.hpp"
#include "support/sanitizers.hpp"

namespace lido::detail {
namespace {

using indices = std::vector<slot_index>;
constexpr std::array<std::uint32_t, 12> capacities{1,  2,  31,  32,   33,   34,
                                                   35, 64, 100, 1000, 1024, 5000};

/// Runs with Lido's own lists, and with other lists.
class Depot : public ::testing::TestWithParam<test::list_kind> {
 protected:
  /// Makes a depot that contains every slot.
  static std::unique_ptr<depot> make(std::uint32_t capacity) {
    const auto [name, lists, kind] = GetParam();
    auto store = std::make_unique<depot>(capacity, kind, lists);
    if (kind == growth::by_steps) {
      EXPECT_EQ(store->extend_to(capacity), 0);
      store->add(0, capacity);
    }
    return store;
  }

  /// Takes once; returns the indices taken.
  static indices take(depot& from, std::uint32_t want) {
    std::array<slot_index, most_per_trip> out{};
    const std::uint32_t count = from.take({}, out, want);
    return {out.begin(), out.begin() + count};
  }

  /// Takes everything, in changing amounts.
  static indices take_all(depot& from) {
    constexpr std::array<std::uint32_t, 8> wants{1, 31, 32, 5, 33, 50, most_per_trip, 2};
    indices all;
    for (std::size_t round = 0;; ++round) {
      const indices some = take(from, wants.at(round % wants.size()));
      if (some.empty()) {
        return all;
      }
      all.insert(all.end(), some.begin(), some.end());
    }
  }

  /// Gives everything, in changing amounts.
  static void give_all(depot& to, const indices& slots) {
    constexpr std::array<std::size_t, 8> sizes{31, 1, 64, 33, most_per_trip, 32, 2, 50};
    std::span<const slot_index> left = slots;
    for (std::size_t round = 0; !left.empty(); ++round) {
      const std::size_t size = std::min(left.size(), sizes.at(round % sizes.size()));
      to.give({}, left.first(size));
      left = left.subspan(size);
    }
  }
};

std::vector<test::list_kind> depot_kinds() {
  std::vector<test::list_kind> kinds = test::shared_lists();
  kinds.push_back({"direct", nullptr});
  kinds.push_back({"direct_growing", nullptr, growth::by_steps});
  return kinds;
}
INSTANTIATE_TEST_SUITE_P(Each, Depot, ::testing::ValuesIn(depot_kinds()), test::list_name);

TEST_P(Depot, StartsWithEverySlotOnce) {
  for (const std::uint32_t capacity : capacities) {
    const auto store = make(capacity);
    const indices all = take_all(*store);
    EXPECT_EQ(all.size(), capacity);
    EXPECT_EQ(test::count_distinct(all), capacity);
    EXPECT_EQ(*std::max_element(all.begin(), all.end()), capacity - 1);
  }
}

TEST_P(Depot, EverySlotComesBackOnceWhateverTheSizes) {
  for (const std::uint32_t capacity : capacities) {
    const auto store = make(capacity);
    for (int round = 0; round < 5; ++round) {
      const indices all = take_all(*store);
      EXPECT_EQ(test::count_distinct(all), capacity) << "round " << round;
      EXPECT_EQ(all.size(), capacity) << "round " << round;
      give_all(*store, all);
    }
  }
}

TEST_P(Depot, SinglesComeBackInTrips) {
  const auto store = make(1000);
  for (const slot_index slot : take_all(*store)) {
    store->push_single({}, slot);
  }
  EXPECT_EQ(test::count_distinct(take_all(*store)), 1000U);
}

TEST_P(Depot, PopSingleLeavesMagazinesAlone) {
  const auto store = make(1000);
  indices singles;
  for (slot_index slot = store->pop_single({}); slot != null_slot; slot = store->pop_single({})) {
    singles.push_back(slot);
  }
  EXPECT_FALSE(store->empty());
  EXPECT_EQ(singles.size() + take_all(*store).size(), 1000U);
}

TEST_P(Depot, SmallRequestIsServedFromSinglesFirst) {
  const auto store = make(64);  // one magazine and 32 singles
  EXPECT_EQ(take(*store, 5).size(), 5U);
}

TEST_P(Depot, SmallRequestGetsAWholeMagazineWhenThereIsNothingElse) {
  const auto store = make(64);
  while (store->pop_single({}) != null_slot) {
  }
  EXPECT_EQ(take(*store, 5).size(), magazine_size);
}

TEST_P(Depot, LargeRequestIsServedInMagazines) {
  const auto store = make(1000);
  EXPECT_EQ(take(*store, magazine_size + 1).size(), magazine_size);
  EXPECT_EQ(take(*store, 2 * magazine_size).size(), 2 * magazine_size);
}

TEST_P(Depot, LargeRequestFallsBackToSingles) {
  const auto store = make(33);  // no magazine
  EXPECT_EQ(take(*store, most_per_trip).size(), 33U);
}

TEST_P(Depot, RequestIsNeverServedWithMoreThanATrip) {
  const auto store = make(5000);
  EXPECT_EQ(take(*store, most_per_trip).size(), most_per_trip);
}

TEST_P(Depot, IsEmptyWhenAllIsTaken) {
  const auto store = make(100);
  EXPECT_FALSE(store->empty());
  (void)take_all(*store);
  EXPECT_TRUE(store->empty());
  EXPECT_EQ(store->pop_single({}), null_slot);
}

TEST_P(Depot, GivingNothingChangesNothing) {
  const auto store = make(100);
  const std::uint64_t before = store->version();
  store->give({}, {});
  EXPECT_EQ(store->version(), before);
}

TEST_P(Depot, VersionMovesWithEverythingGiven) {
  const auto store = make(1000);
  const indices all = take_all(*store);
  const std::uint64_t empty = store->version();
  store->push_single({}, all[0]);
  const std::uint64_t after_single = store->version();
  store->give({}, std::span(all).subspan(1, magazine_size));
  EXPECT_NE(after_single, empty);
  EXPECT_NE(store->version(), after_single);
}

TEST_P(Depot, VersionOfAnEmptyDepotTellsWhatWasThereInBetween) {
  const auto store = make(1000);
  const indices all = take_all(*store);
  std::vector<std::uint64_t> versions{store->version()};
  for (const std::size_t size : {std::size_t{1}, std::size_t{magazine_size}, std::size_t{40}}) {
    store->give({}, std::span(all).first(size));
    (void)take_all(*store);
    versions.push_back(store->version());
  }
  EXPECT_EQ(test::count_distinct(versions), versions.size());
}

TEST_P(Depot, RestartedOneHandsOutSlotsInTheOrderOfANewOne) {
  for (const std::uint32_t capacity : capacities) {
    SCOPED_TRACE(capacity);
    const auto store = make(capacity);
    const indices when_new = take_all(*make(capacity));
    for (const std::uint32_t taken : {0U, 1U, 40U, capacity}) {
      indices some;
      while (some.size() < taken && !store->empty()) {
        const indices more = take(*store, most_per_trip);
        some.insert(some.end(), more.begin(), more.end());
      }
      some.resize(some.size() / 2);  // the others stay away
      give_all(*store, some);
      for (const slot_index slot : take(*store, 1)) {
        store->push_single({}, slot);
      }
      store->restart();
      if (GetParam().kind == growth::by_steps) {
        EXPECT_TRUE(store->empty());
        store->add(0, capacity);
      }
      EXPECT_EQ(take_all(*store), when_new);
      store->restart();
      if (GetParam().kind == growth::by_steps) {
        store->add(0, capacity);
      }
    }
  }
}

TEST_P(Depot, SlotsThatAreTakenBeforeARestartIncludeAllThatWereGivenBack) {
  for (const std::uint32_t capacity : capacities) {
    SCOPED_TRACE(capacity);
    const auto store = make(capacity);
    indices out = take(*store, most_per_trip);
    const indices given(out.begin(), out.begin() + static_cast<std::ptrdiff_t>(out.size() / 2));
    out.erase(out.begin(), out.begin() + static_cast<std::ptrdiff_t>(given.size()));
    give_all(*store, given);
    std::vector<bool> free(capacity);
    std::array<slot_index, most_per_trip> some{};
    while (const std::uint32_t count = store->take_touched(some)) {
      for (const slot_index slot : std::span(some).first(count)) {
        EXPECT_FALSE(free[slot]) << "slot " << slot << " was taken twice";
        free[slot] = true;
      }
    }
    if (GetParam().kind == growth::by_steps) {
      EXPECT_EQ(std::count(free.begin(), free.end(), true), capacity - out.size());
      continue;
    }
    indices used;
    store->for_each_touched_range([&](slot_index first, slot_index last) {
      for (slot_index slot = first; slot < last; ++slot) {
        if (!free[slot]) {
          used.push_back(slot);
        }
      }
    });
    std::sort(out.begin(), out.end());
    EXPECT_EQ(used, out);
  }
}

TEST_P(Depot, SlotsThatAreSetAsideAreTakenLast) {
  const auto [name, lists, kind] = GetParam();
  constexpr std::uint32_t slots = 200;
  depot store(slots, kind, lists, /*sets_aside=*/true);
  if (kind == growth::by_steps) {
    ASSERT_EQ(store.extend_to(slots), 0);
    store.add(0, slots);
  }
  std::array<slot_index, most_per_trip> some{};
  for (std::uint32_t count = 0; (count = store.take_stored({}, some, most_per_trip)) != 0;) {
    store.set_aside(std::span<const slot_index>(some).first(count));
  }
  EXPECT_FALSE(store.empty());
  const slot_index one = store.pop_aside();
  store.give({}, {&one, 1});
  EXPECT_EQ(take(store, 1), indices{one});
  EXPECT_EQ(store.pop_single({}), null_slot);
  EXPECT_EQ(test::count_distinct(take_all(store)), slots - 1);
  EXPECT_TRUE(store.empty());
  EXPECT_EQ(store.pop_aside(), null_slot);
}

TEST_P(Depot, SlotsBelongToOneThreadAtATime) {
  constexpr std::uint32_t capacity = 500;
  const auto store = make(capacity);
  std::vector<int> touched(capacity);
  test::run_crew(4, [&](unsigned crew_index) {
    for (unsigned round = 0; round < 5000; ++round) {
      const indices some = take(*store, 1 + (round * 13 + crew_index * 50) % most_per_trip);
      for (const slot_index slot : some) {
        ++touched[slot];
      }
      store->give({}, some);
    }
  });
  EXPECT_EQ(test::count_distinct(take_all(*store)), capacity);
}

TEST(DepotOfOwnLists, HandsOutLowIndicesFirst) {
  depot small(10, growth::none);
  EXPECT_EQ(small.pop_single({}), 0U);
  EXPECT_EQ(small.pop_single({}), 1U);
  depot large(1000, growth::none);
  std::array<slot_index, magazine_size> out{};
  ASSERT_EQ(large.take({}, out, magazine_size), magazine_size);
  EXPECT_EQ(out.front(), magazine_size - 1);
  EXPECT_EQ(out.back(), 0U);
}

TEST(DepotOfOwnLists, OwnsAtMostEightBytesASlotBesideTheHeadsOfShards) {
  constexpr std::size_t heads = std::size_t{8} * 3 * sizeof(depot_list);
  for (std::uint32_t capacity = 1; capacity <= 3000; ++capacity) {
    ASSERT_LE(depot(capacity, growth::none).memory(),
              std::size_t{8} * capacity + (capacity < 1024 ? 0 : heads));
  }
  EXPECT_LE(depot(1'000'003, growth::none).memory(), std::size_t{8} * 1'000'003 + heads);
}

/// Operations of two threads on a depot that has shards for both.
class DepotInShards : public ::testing::Test {
 protected:
  indices take(depot_home at, std::uint32_t want) {
    std::array<slot_index, most_per_trip> out{};
    const std::uint32_t count = store_.take(at, out, want);
    return {out.begin(), out.begin() + count};
  }
  void give(depot_home at, const indices& slots) { store_.give(at, slots); }
  /// Takes all that is left.
  indices drain(depot_home at) {
    indices all;
    for (indices some = take(at, most_per_trip); !some.empty(); some = take(at, most_per_trip)) {
      all.insert(all.end(), some.begin(), some.end());
    }
    return all;
  }

  static constexpr std::uint32_t capacity = 157 * magazine_size;
  depot store_{capacity, growth::none};
  depot_home here_{.shard = store_.shard_of(1)};
  depot_home there_{.shard = store_.shard_of(2)};
};

TEST_F(DepotInShards, SmallPoolsHaveNoneNorHaveListsOfOthers) {
  const test::narrow_tags others;
  EXPECT_EQ(depot(1023, growth::none).shard_of(1), 0U);
  EXPECT_EQ(depot(1024, growth::none, &others).shard_of(1), 0U);
  EXPECT_NE(depot(1024, growth::none).shard_of(1), depot(1024, growth::none).shard_of(2));
}

TEST_F(DepotInShards, EightThreadsHaveOneEachAndThreadsWithoutANumberTheCommonOne) {
  std::vector<std::uint32_t> all{store_.shard_of(0)};
  for (std::uint32_t number = 1; number <= 8; ++number) {
    all.push_back(store_.shard_of(number));
  }
  EXPECT_EQ(test::count_distinct(all), 9U);
  EXPECT_EQ(store_.shard_of(0), 0U);
}

TEST_F(DepotInShards, WhatIsGivenComesBackToItsGiver) {
  const indices mine = take(here_, 2 * magazine_size);
  give(here_, mine);
  const indices others = take(there_, most_per_trip);
  EXPECT_TRUE(std::none_of(others.begin(), others.end(), [&mine](slot_index slot) {
    return std::find(mine.begin(), mine.end(), slot) != mine.end();
  }));
  EXPECT_EQ(take(here_, 2 * magazine_size), mine);
}

TEST_F(DepotInShards, FreshSlotsLeaveInWholeRunsHoweverFewAreWanted) {
  for (int turn = 0; turn < 20; ++turn) {
    const indices run = take(turn % 2 == 0 ? here_ : there_, 1);
    ASSERT_EQ(run.size(), magazine_size);
    EXPECT_EQ(*std::min_element(run.begin(), run.end()) % magazine_size, 0U);
    const auto [low, high] = std::minmax_element(run.begin(), run.end());
    EXPECT_EQ(*high - *low, magazine_size - 1);
  }
}

TEST_F(DepotInShards, WhatOthersGaveIsFoundWhereNothingElseIs) {
  const indices all = drain(here_);
  ASSERT_EQ(all.size(), capacity);
  give(there_, {all.begin(), all.begin() + 40});
  EXPECT_FALSE(store_.empty());
  EXPECT_EQ(drain(here_).size(), 40U);
  store_.push_single(there_, all[0]);
  EXPECT_FALSE(store_.empty());
  EXPECT_EQ(store_.pop_single(here_), all[0]);
  EXPECT_TRUE(store_.empty());
}

TEST_F(DepotInShards, ThreadThatRoamsTakesWhatOthersGaveBeforeFreshSlots) {
  const indices used = take(there_, magazine_size);
  give(there_, used);
  EXPECT_EQ(take({.shard = here_.shard, .roams = true}, magazine_size), used);
}

TEST_F(DepotInShards, VersionMovesWithWhatAnyShardIsGiven) {
  const indices all = drain(here_);
  const std::uint64_t before = store_.version();
  give(there_, {all.begin(), all.begin() + magazine_size});
  const std::uint64_t magazine = store_.version();
  store_.push_single(here_, all.back());
  EXPECT_NE(magazine, before);
  EXPECT_NE(store_.version(), magazine);
}

TEST_F(DepotInShards, MagazinesThatOneShardLacksAreThoseOfAnother) {
  const indices all = drain(here_);  // all empty magazines are here
  give(there_, {all.begin(), all.begin() + most_per_trip});
  EXPECT_EQ(take(there_, most_per_trip).size(), most_per_trip);
}

TEST_F(DepotInShards, SlotsBelongToOneThreadAtATime) {
  std::vector<int> touched(capacity);
  test::run_crew(4, [&](unsigned crew_index) {
    for (unsigned round = 0; round < 5000; ++round) {
      const depot_home at{.shard = store_.shard_of(crew_index + round % 2),
                          .roams = round % 3 == 0};
      const indices some = take(at, 1 + (round * 13 + crew_index * 50) % most_per_trip);
      for (const slot_index slot : some) {
        ++touched[slot];
      }
      give(at, some);
    }
  });
  EXPECT_EQ(test::count_distinct(drain(here_)), capacity);
}

TEST(DepotOfOwnLists, TwentyMillionSlotsAreNotInMemoryBeforeTheirUse) {
#if LIDO_TEST_TSAN || LIDO_TEST_ASAN
  GTEST_SKIP() << "a sanitizer keeps books on all memory";
#endif
  const std::size_t before = test::resident_bytes();
  depot store(20'000'000, growth::none);
  std::array<slot_index, most_per_trip> out{};
  EXPECT_EQ(store.take({}, out, most_per_trip), most_per_trip);
  EXPECT_LT(test::resident_bytes() - before, std::size_t{8} << 20U);
}

TEST(DepotOfOwnLists, GrowingOneIsEmptyAtFirst) {
  depot store(1000, growth::by_steps);
  EXPECT_TRUE(store.empty());
  EXPECT_EQ(store.memory(), 0U);
}

TEST(DepotOfOwnLists, GrowsBesideWhatItHas) {
  depot store(5000, growth::by_steps);
  std::vector<slot_index> all;
  for (std::uint32_t slots = 0; slots < 5000; slots += 500) {
    ASSERT_EQ(store.extend_to(slots + 500), 0);
    store.add(slots, slots + 500);
    all.push_back(store.pop_single({}));
  }
  std::array<slot_index, most_per_trip> out{};
  while (const std::uint32_t count = store.take({}, out, most_per_trip)) {
    all.insert(all.end(), out.begin(), out.begin() + count);
  }
  std::erase(all, null_slot);
  EXPECT_EQ(all.size(), 5000U);
  EXPECT_EQ(test::count_distinct(all), 5000U);
}

}  // namespace
}  // namespace lido::detail
