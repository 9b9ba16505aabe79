#include <gtest/gtest.h>

#include <array>
#include <optional>

#include "lido/allocator/slot_cache.hpp"
#include "support/driven_slot_cache.hpp"

namespace lido::detail {
namespace {

using test::driven_slot_cache;
using test::item;
using items = driven_slot_cache::items;

/// The owner and thieves, in every relevant order.
class SlotCacheTheft : public ::testing::TestWithParam<lido::cache_kind> {
 protected:
  driven_slot_cache& driven() { return driven_; }
  slot_cache& cache() { return driven_.cache(); }

 private:
  driven_slot_cache driven_{GetParam()};
};

INSTANTIATE_TEST_SUITE_P(Kinds, SlotCacheTheft,
                         ::testing::Values(lido::cache_kind::revocable, lido::cache_kind::locked),
                         [](const auto& kind) { return test::kind_name(kind.param); });

TEST_P(SlotCacheTheft, TakesAllItemsOfAnOpenCache) {
  driven().push_all({item(1), item(2), item(3)});
  EXPECT_EQ(driven().rob(), (items{item(1), item(2), item(3)}));
}

TEST_P(SlotCacheTheft, LeavesTheCacheFrozen) {
  driven().push_all({item(1), item(2)});
  (void)driven().rob();
  EXPECT_EQ(driven().state(), slot_cache::phase::frozen);
}

TEST_P(SlotCacheTheft, TakesNothingFromAnEmptyCache) {
  EXPECT_EQ(driven().rob(), items{});
  EXPECT_EQ(driven().state(), slot_cache::phase::frozen);
}

TEST_P(SlotCacheTheft, TakesAFullCache) {
  driven().push_all(items(driven_slot_cache::limit, item(1)));
  EXPECT_EQ(driven().rob().size(), driven_slot_cache::limit);
}

TEST_P(SlotCacheTheft, FirstPopAfterwardsReportsEmpty) {
  driven().push_all({item(1), item(2)});
  (void)driven().rob();
  EXPECT_EQ(driven().pop(), nullptr);
}

TEST_P(SlotCacheTheft, FirstPushAfterwardsLands) {
  driven().push_all({item(1), item(2)});
  (void)driven().rob();
  EXPECT_TRUE(driven().push(item(3)));
  EXPECT_EQ(driven().pop_all(), items{item(3)});
}

TEST_P(SlotCacheTheft, FirstPushAfterATheftOfNothingLands) {
  (void)driven().rob();
  EXPECT_TRUE(driven().push(item(3)));
  EXPECT_EQ(driven().pop_all(), items{item(3)});
}

TEST_P(SlotCacheTheft, SettlingAfterwardsFindsNothing) {
  driven().push_all({item(1), item(2)});
  (void)driven().rob();
  const auto found = cache().settle(GetParam());
  EXPECT_EQ(found.count, 0U);
  EXPECT_TRUE(found.robbed);
}

TEST_P(SlotCacheTheft, CacheLeftFrozenCanBeRobbedNoMore) {
  driven().push_all({item(1)});
  (void)driven().rob();
  // Thieves look for open caches; one that relies on an outdated look is refused.
  EXPECT_EQ(cache().revoke(cache().state().next(slot_cache::phase::open)), std::nullopt);
}

TEST_P(SlotCacheTheft, AnnouncementOnAnOldLookIsRefused) {
  const slot_cache::control seen = cache().state();
  driven().replace_cells();
  EXPECT_EQ(cache().revoke(seen), std::nullopt);
  EXPECT_EQ(driven().state(), slot_cache::phase::open);
}

TEST_P(SlotCacheTheft, OnlyOneOfTwoThievesAnnouncesItself) {
  const slot_cache::control seen = cache().state();
  EXPECT_TRUE(cache().revoke(seen).has_value());
  EXPECT_FALSE(cache().revoke(seen).has_value());
}

TEST_P(SlotCacheTheft, AnnouncementEndsTheHits) {
  driven().push_all({item(1)});
  (void)driven().announce();
  void* found = nullptr;
  EXPECT_FALSE(cache().pop(found));
}

TEST_P(SlotCacheTheft, PopBeforeTheHarvestCancelsIt) {
  driven().push_all({item(1), item(2)});
  const auto announced = driven().announce();
  EXPECT_EQ(driven().pop(), item(2));
  EXPECT_EQ(driven().harvest(*announced), std::nullopt);
  EXPECT_EQ(driven().pop_all(), items{item(1)});
}

TEST_P(SlotCacheTheft, PushBeforeTheHarvestCancelsIt) {
  driven().push_all({item(1)});
  const auto announced = driven().announce();
  EXPECT_TRUE(driven().push(item(2)));
  EXPECT_EQ(driven().harvest(*announced), std::nullopt);
  EXPECT_EQ(driven().pop_all(), (items{item(2), item(1)}));
}

TEST_P(SlotCacheTheft, OwnerLearnsThatItCancelledOne) {
  driven().push_all({item(1)});
  (void)driven().announce();
  const auto found = cache().settle(GetParam());
  EXPECT_TRUE(found.contested);
  EXPECT_FALSE(found.robbed);
  EXPECT_EQ(found.count, 1U);
}

TEST_P(SlotCacheTheft, HarvestOfABusyCacheFails) {
  driven().push_all({item(1)});
  const auto announced = driven().announce();
  (void)cache().settle(GetParam());
  EXPECT_EQ(driven().harvest(*announced), std::nullopt);
  EXPECT_EQ(driven().state(), slot_cache::phase::busy);
}

TEST_P(SlotCacheTheft, HarvestOfAClosedCacheFails) {
  driven().push_all({item(1)});
  const auto announced = driven().announce();
  (void)cache().settle(GetParam());
  cache().close();
  EXPECT_EQ(driven().harvest(*announced), std::nullopt);
}

TEST_P(SlotCacheTheft, HarvestTwiceTakesOnce) {
  driven().push_all({item(1)});
  const auto announced = driven().announce();
  EXPECT_EQ(driven().harvest(*announced), items{item(1)});
  EXPECT_EQ(driven().harvest(*announced), std::nullopt);
}

TEST_P(SlotCacheTheft, StuckAnnouncementCanBeTakenOver) {
  driven().push_all({item(1), item(2)});
  const auto stuck = driven().announce();
  const auto taken_over = driven().announce();
  ASSERT_TRUE(taken_over.has_value());
  EXPECT_EQ(driven().harvest(*taken_over), (items{item(1), item(2)}));
  EXPECT_EQ(driven().harvest(*stuck), std::nullopt);
}

TEST_P(SlotCacheTheft, ThiefThatWasTakenOverGetsNothing) {
  driven().push_all({item(1), item(2)});
  const auto stuck = driven().announce();
  const auto taken_over = driven().announce();
  EXPECT_EQ(driven().harvest(*stuck), std::nullopt);
  EXPECT_EQ(driven().harvest(*taken_over), (items{item(1), item(2)}));
}

TEST_P(SlotCacheTheft, WithdrawingLosesNothing) {
  driven().push_all({item(1), item(2)});
  const auto announced = driven().announce();
  cache().withdraw(*announced);
  EXPECT_EQ(driven().state(), slot_cache::phase::open);
  EXPECT_EQ(driven().pop_all(), (items{item(2), item(1)}));
}

TEST_P(SlotCacheTheft, CacheCanBeRobbedAfterAWithdrawal) {
  driven().push_all({item(1), item(2)});
  cache().withdraw(*driven().announce());
  EXPECT_EQ(driven().rob(), (items{item(1), item(2)}));
}

TEST_P(SlotCacheTheft, WithdrawingWhatTheOwnerCancelledChangesNothing) {
  driven().push_all({item(1)});
  const auto announced = driven().announce();
  (void)driven().pop();
  const std::uint64_t before = cache().state().word();
  cache().withdraw(*announced);
  EXPECT_EQ(cache().state().word(), before);
}

TEST_P(SlotCacheTheft, ReplacingTheCellsCancelsIt) {
  driven().push_all({item(1), item(2)});
  const auto announced = driven().announce();
  driven().replace_cells();
  EXPECT_EQ(driven().harvest(*announced), std::nullopt);
  EXPECT_EQ(driven().pop_all(), (items{item(2), item(1)}));
}

TEST_P(SlotCacheTheft, HarvestWhileTheCellsAreReplacedFails) {
  driven().push_all({item(1), item(2)});
  const auto announced = driven().announce();
  (void)cache().settle(GetParam());
  std::array<slot_cache::cell, 4> smaller{};
  cache().use_cells(smaller);
  EXPECT_EQ(driven().harvest(*announced), std::nullopt);
  cache().open(GetParam(), 0, 2);
  EXPECT_EQ(driven().harvest(*announced), std::nullopt);
  (void)cache().settle(GetParam());
  cache().close();
}

TEST_P(SlotCacheTheft, HarvestIntoTooSmallAnArrayFails) {
  driven().push_all({item(1), item(2)});
  const auto announced = driven().announce();
  std::array<void*, 1> loot{};
  EXPECT_EQ(cache().harvest(GetParam(), *announced, loot), std::nullopt);
}

/// The one operation that straddles a theft: its first step came after the announcement, its second
/// after the harvest. The cases differ in whether the thief read the top before or after the first
/// step.
class StraddlingTheft : public ::testing::Test {
 protected:
  StraddlingTheft() { driven_.push_all({item(1), item(2)}); }
  driven_slot_cache& driven() { return driven_; }
  slot_cache& cache() { return driven_.cache(); }

 private:
  driven_slot_cache driven_{lido::cache_kind::revocable};
};

TEST_F(StraddlingTheft, PopThatTheThiefDidNotSeeIsLost) {
  const auto announced = driven().announce();
  const auto loot = driven().harvest(*announced);
  void* popped = nullptr;
  EXPECT_FALSE(cache().pop(popped));
  EXPECT_EQ(loot, (items{item(1), item(2)}));
  EXPECT_EQ(driven().finish_pop(), nullptr);
}

TEST_F(StraddlingTheft, PopThatTheThiefSawIsTheOwners) {
  const auto announced = driven().announce();
  void* popped = nullptr;
  EXPECT_FALSE(cache().pop(popped));
  EXPECT_EQ(driven().harvest(*announced), items{item(1)});
  EXPECT_EQ(driven().finish_pop(), item(2));
  EXPECT_EQ(driven().pop(), nullptr);
}

TEST_F(StraddlingTheft, PushThatTheThiefDidNotSeeStaysWithTheOwner) {
  const auto announced = driven().announce();
  const auto loot = driven().harvest(*announced);
  EXPECT_FALSE(cache().push(item(3)));
  EXPECT_EQ(loot, (items{item(1), item(2)}));
  EXPECT_TRUE(driven().finish_push(item(3)));
  EXPECT_EQ(driven().pop_all(), items{item(3)});
}

TEST_F(StraddlingTheft, PushThatTheThiefSawIsGone) {
  const auto announced = driven().announce();
  EXPECT_FALSE(cache().push(item(3)));
  EXPECT_EQ(driven().harvest(*announced), (items{item(1), item(2), item(3)}));
  EXPECT_TRUE(driven().finish_push(item(3)));
  EXPECT_EQ(driven().pop_all(), items{});
}

TEST_F(StraddlingTheft, PopOfTheLastItemThatTheThiefSawIsTheOwners) {
  (void)driven().pop();
  const auto announced = driven().announce();
  void* popped = nullptr;
  EXPECT_FALSE(cache().pop(popped));
  EXPECT_EQ(driven().harvest(*announced), items{});
  EXPECT_EQ(driven().finish_pop(), item(1));
}

TEST_F(StraddlingTheft, PopOnEmptyStaysEmpty) {
  (void)driven().pop_all();
  const auto announced = driven().announce();
  void* popped = nullptr;
  EXPECT_FALSE(cache().pop(popped));
  EXPECT_EQ(driven().harvest(*announced), items{});
  EXPECT_EQ(driven().finish_pop(), nullptr);
  EXPECT_TRUE(driven().push(item(4)));
  EXPECT_EQ(driven().pop_all(), items{item(4)});
}

}  // namespace
}  // namespace lido::detail
