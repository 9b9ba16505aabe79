#include "lido/magazine/depot.hpp"

#include <gtest/gtest.h>

#include <algorithm>
#include <array>
#include <cstdint>
#include <span>
#include <vector>

#include "support/crew.hpp"
#include "support/drain.hpp"
#include "support/stack_kinds.hpp"

namespace lido::detail {
namespace {

using indices = std::vector<slot_index>;
constexpr std::array<std::uint32_t, 12> capacities{1,  2,  31,  32,   33,   34,
                                                   35, 64, 100, 1000, 1024, 5000};

template <class Stack>
class Depot : public ::testing::Test {
 protected:
  using depot_type = depot<Stack>;

  /// Takes once; returns what was taken.
  static indices take(depot_type& from, std::uint32_t want) {
    std::array<slot_index, most_per_trip> out{};
    const std::uint32_t count = from.take(out, want);
    return {out.begin(), out.begin() + count};
  }

  /// Takes everything, asking for another amount each time.
  static indices take_all(depot_type& from) {
    constexpr std::array<std::uint32_t, 8> wants{1, 31, 32, 5, 33, 100, most_per_trip, 2};
    indices all;
    for (std::size_t round = 0;; ++round) {
      const indices some = take(from, wants.at(round % wants.size()));
      if (some.empty()) {
        return all;
      }
      all.insert(all.end(), some.begin(), some.end());
    }
  }

  /// Gives everything, another amount each time.
  static void give_all(depot_type& to, const indices& slots) {
    constexpr std::array<std::size_t, 8> sizes{31, 1, 64, 33, most_per_trip, 32, 2, 100};
    std::span<const slot_index> left = slots;
    for (std::size_t round = 0; !left.empty(); ++round) {
      const std::size_t size = std::min(left.size(), sizes.at(round % sizes.size()));
      to.give(left.first(size));
      left = left.subspan(size);
    }
  }
};
TYPED_TEST_SUITE(Depot, test::shared_stacks, test::stack_names);

TYPED_TEST(Depot, StartsWithEverySlotOnce) {
  for (const std::uint32_t capacity : capacities) {
    depot<TypeParam> store(capacity);
    const indices all = this->take_all(store);
    EXPECT_EQ(all.size(), capacity);
    EXPECT_EQ(test::count_distinct(all), capacity);
    EXPECT_EQ(*std::max_element(all.begin(), all.end()), capacity - 1);
  }
}

TYPED_TEST(Depot, EverySlotComesBackOnceWhateverTheSizes) {
  for (const std::uint32_t capacity : capacities) {
    depot<TypeParam> store(capacity);
    for (int round = 0; round < 5; ++round) {
      const indices all = this->take_all(store);
      EXPECT_EQ(test::count_distinct(all), capacity) << "round " << round;
      EXPECT_EQ(all.size(), capacity) << "round " << round;
      this->give_all(store, all);
    }
  }
}

TYPED_TEST(Depot, SinglesComeBackInTrips) {
  depot<TypeParam> store(1000);
  for (const slot_index slot : this->take_all(store)) {
    store.push_single(slot);
  }
  EXPECT_EQ(test::count_distinct(this->take_all(store)), 1000U);
}

TYPED_TEST(Depot, PopSingleLeavesMagazinesAlone) {
  depot<TypeParam> store(1000);
  indices singles;
  for (slot_index slot = store.pop_single(); slot != null_slot; slot = store.pop_single()) {
    singles.push_back(slot);
  }
  EXPECT_FALSE(store.empty());
  EXPECT_EQ(singles.size() + this->take_all(store).size(), 1000U);
}

TYPED_TEST(Depot, SmallRequestIsServedFromSinglesFirst) {
  depot<TypeParam> store(64);  // one magazine and 32 singles
  EXPECT_EQ(this->take(store, 5).size(), 5U);
}

TYPED_TEST(Depot, SmallRequestGetsAWholeMagazineWhenThereIsNothingElse) {
  depot<TypeParam> store(64);
  while (store.pop_single() != null_slot) {
  }
  EXPECT_EQ(this->take(store, 5).size(), magazine_size);
}

TYPED_TEST(Depot, LargeRequestIsServedInMagazines) {
  depot<TypeParam> store(1000);
  EXPECT_EQ(this->take(store, 70).size(), 2 * magazine_size);
}

TYPED_TEST(Depot, LargeRequestFallsBackToSingles) {
  depot<TypeParam> store(33);  // no magazine
  EXPECT_EQ(this->take(store, most_per_trip).size(), 33U);
}

TYPED_TEST(Depot, RequestIsNeverServedWithMoreThanATrip) {
  depot<TypeParam> store(5000);
  EXPECT_EQ(this->take(store, most_per_trip).size(), most_per_trip);
}

TYPED_TEST(Depot, SmallDepotHandsOutLowIndicesFirst) {
  depot<TypeParam> store(10);
  EXPECT_EQ(store.pop_single(), 0U);
  EXPECT_EQ(store.pop_single(), 1U);
}

TYPED_TEST(Depot, LastSlotOfTheFirstMagazineIsTheLowest) {
  depot<TypeParam> store(1000);
  EXPECT_EQ(this->take(store, magazine_size).back(), 0U);
}

TYPED_TEST(Depot, IsEmptyWhenAllIsTaken) {
  depot<TypeParam> store(100);
  EXPECT_FALSE(store.empty());
  (void)this->take_all(store);
  EXPECT_TRUE(store.empty());
  EXPECT_EQ(store.pop_single(), null_slot);
}

TYPED_TEST(Depot, GivingNothingChangesNothing) {
  depot<TypeParam> store(100);
  const std::uint64_t before = store.version();
  store.give({});
  EXPECT_EQ(store.version(), before);
}

TYPED_TEST(Depot, VersionMovesWithEverythingGiven) {
  depot<TypeParam> store(1000);
  const indices all = this->take_all(store);
  const std::uint64_t empty = store.version();
  store.push_single(all[0]);
  const std::uint64_t after_single = store.version();
  store.give(std::span(all).subspan(1, magazine_size));
  EXPECT_NE(after_single, empty);
  EXPECT_NE(store.version(), after_single);
}

TYPED_TEST(Depot, VersionOfAnEmptyDepotTellsWhatWasThereInBetween) {
  depot<TypeParam> store(1000);
  const indices all = this->take_all(store);
  std::vector<std::uint64_t> versions{store.version()};
  for (const std::size_t size : {std::size_t{1}, std::size_t{magazine_size}, std::size_t{40}}) {
    store.give(std::span(all).first(size));
    (void)this->take_all(store);
    versions.push_back(store.version());
  }
  EXPECT_EQ(test::count_distinct(versions), versions.size());
}

TYPED_TEST(Depot, SlotsBelongToOneThreadAtATime) {
  constexpr std::uint32_t capacity = 500;
  depot<TypeParam> store(capacity);
  std::vector<int> touched(capacity);
  test::run_crew(4, [&](unsigned crew_index) {
    for (unsigned round = 0; round < 5000; ++round) {
      const indices some = this->take(store, 1 + (round * 13 + crew_index * 50) % most_per_trip);
      for (const slot_index slot : some) {
        ++touched[slot];
      }
      store.give(some);
    }
  });
  EXPECT_EQ(test::count_distinct(this->take_all(store)), capacity);
}

TEST(DepotOfTreiberStacks, OwnsAtMostEightBytesASlot) {
  for (std::uint32_t capacity = 1; capacity <= 3000; ++capacity) {
    ASSERT_LE(depot<treiber_stack<>>(capacity).memory(), std::size_t{8} * capacity);
  }
}

TEST(DepotOfTreiberStacks, OwnsAtMostEightBytesASlotWhenLarge) {
  EXPECT_LE(depot<treiber_stack<>>(1'000'003).memory(), std::size_t{8} * 1'000'003);
}

}  // namespace
}  // namespace lido::detail
