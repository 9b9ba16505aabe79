#include <gtest/gtest.h>

#include <array>
#include <optional>

#include "lido/magazine/thread_cache.hpp"
#include "support/driven_cache.hpp"

namespace lido::detail {
namespace {

using test::driven_cache;
using test::item;
using items = driven_cache::items;

/// The owner and thieves, in every order that matters.
class ThreadCacheTheft : public ::testing::TestWithParam<cache_kind> {
 protected:
  driven_cache& driven() { return driven_; }
  thread_cache& cache() { return driven_.cache(); }

 private:
  driven_cache driven_{GetParam()};
};

INSTANTIATE_TEST_SUITE_P(Kinds, ThreadCacheTheft,
                         ::testing::Values(cache_kind::revocable, cache_kind::locked),
                         [](const auto& kind) { return test::kind_name(kind.param); });

TEST_P(ThreadCacheTheft, TakesAllItemsOfAnOpenCache) {
  driven().push_all({item(1), item(2), item(3)});
  EXPECT_EQ(driven().rob(), (items{item(1), item(2), item(3)}));
}

TEST_P(ThreadCacheTheft, LeavesTheCacheFrozen) {
  driven().push_all({item(1), item(2)});
  (void)driven().rob();
  EXPECT_EQ(driven().state(), cache_state::frozen);
}

TEST_P(ThreadCacheTheft, TakesNothingFromAnEmptyCache) {
  EXPECT_EQ(driven().rob(), items{});
  EXPECT_EQ(driven().state(), cache_state::frozen);
}

TEST_P(ThreadCacheTheft, TakesAFullCache) {
  driven().push_all(items(driven_cache::limit, item(1)));
  EXPECT_EQ(driven().rob().size(), driven_cache::limit);
}

TEST_P(ThreadCacheTheft, FirstPopAfterwardsReportsEmpty) {
  driven().push_all({item(1), item(2)});
  (void)driven().rob();
  EXPECT_EQ(driven().pop(), nullptr);
}

TEST_P(ThreadCacheTheft, FirstPushAfterwardsLands) {
  driven().push_all({item(1), item(2)});
  (void)driven().rob();
  EXPECT_TRUE(driven().push(item(3)));
  EXPECT_EQ(driven().pop_all(), items{item(3)});
}

TEST_P(ThreadCacheTheft, FirstPushAfterATheftOfNothingLands) {
  (void)driven().rob();
  EXPECT_TRUE(driven().push(item(3)));
  EXPECT_EQ(driven().pop_all(), items{item(3)});
}

TEST_P(ThreadCacheTheft, SettlingAfterwardsFindsNothing) {
  driven().push_all({item(1), item(2)});
  (void)driven().rob();
  const auto found = cache().settle(GetParam());
  EXPECT_EQ(found.count, 0U);
  EXPECT_TRUE(found.robbed);
}

TEST_P(ThreadCacheTheft, CacheLeftFrozenCanBeRobbedNoMore) {
  driven().push_all({item(1)});
  (void)driven().rob();
  // Thieves look for open caches; one that believes an old look is refused.
  EXPECT_EQ(cache().revoke(cache().control().next(cache_state::open)), std::nullopt);
}

TEST_P(ThreadCacheTheft, AnnouncementOnAnOldLookIsRefused) {
  const cache_control seen = cache().control();
  driven().replace_cells();
  EXPECT_EQ(cache().revoke(seen), std::nullopt);
  EXPECT_EQ(driven().state(), cache_state::open);
}

TEST_P(ThreadCacheTheft, OnlyOneOfTwoThievesAnnouncesItself) {
  const cache_control seen = cache().control();
  EXPECT_TRUE(cache().revoke(seen).has_value());
  EXPECT_FALSE(cache().revoke(seen).has_value());
}

TEST_P(ThreadCacheTheft, AnnouncementEndsTheHits) {
  driven().push_all({item(1)});
  (void)driven().announce();
  void* found = nullptr;
  EXPECT_FALSE(cache().pop(found));
}

TEST_P(ThreadCacheTheft, PopBeforeTheHarvestCancelsIt) {
  driven().push_all({item(1), item(2)});
  const auto announced = driven().announce();
  EXPECT_EQ(driven().pop(), item(2));
  EXPECT_EQ(driven().harvest(*announced), std::nullopt);
  EXPECT_EQ(driven().pop_all(), items{item(1)});
}

TEST_P(ThreadCacheTheft, PushBeforeTheHarvestCancelsIt) {
  driven().push_all({item(1)});
  const auto announced = driven().announce();
  EXPECT_TRUE(driven().push(item(2)));
  EXPECT_EQ(driven().harvest(*announced), std::nullopt);
  EXPECT_EQ(driven().pop_all(), (items{item(2), item(1)}));
}

TEST_P(ThreadCacheTheft, OwnerLearnsThatItCancelledOne) {
  driven().push_all({item(1)});
  (void)driven().announce();
  const auto found = cache().settle(GetParam());
  EXPECT_TRUE(found.contested);
  EXPECT_FALSE(found.robbed);
  EXPECT_EQ(found.count, 1U);
}

TEST_P(ThreadCacheTheft, HarvestOfABusyCacheFails) {
  driven().push_all({item(1)});
  const auto announced = driven().announce();
  (void)cache().settle(GetParam());
  EXPECT_EQ(driven().harvest(*announced), std::nullopt);
  EXPECT_EQ(driven().state(), cache_state::busy);
}

TEST_P(ThreadCacheTheft, HarvestOfAClosedCacheFails) {
  driven().push_all({item(1)});
  const auto announced = driven().announce();
  (void)cache().settle(GetParam());
  cache().close();
  EXPECT_EQ(driven().harvest(*announced), std::nullopt);
}

TEST_P(ThreadCacheTheft, HarvestTwiceTakesOnce) {
  driven().push_all({item(1)});
  const auto announced = driven().announce();
  EXPECT_EQ(driven().harvest(*announced), items{item(1)});
  EXPECT_EQ(driven().harvest(*announced), std::nullopt);
}

TEST_P(ThreadCacheTheft, StuckAnnouncementCanBeTakenOver) {
  driven().push_all({item(1), item(2)});
  const auto stuck = driven().announce();
  const auto taken_over = driven().announce();
  ASSERT_TRUE(taken_over.has_value());
  EXPECT_EQ(driven().harvest(*taken_over), (items{item(1), item(2)}));
  EXPECT_EQ(driven().harvest(*stuck), std::nullopt);
}

TEST_P(ThreadCacheTheft, ThiefThatWasTakenOverGetsNothing) {
  driven().push_all({item(1), item(2)});
  const auto stuck = driven().announce();
  const auto taken_over = driven().announce();
  EXPECT_EQ(driven().harvest(*stuck), std::nullopt);
  EXPECT_EQ(driven().harvest(*taken_over), (items{item(1), item(2)}));
}

TEST_P(ThreadCacheTheft, WithdrawingLosesNothing) {
  driven().push_all({item(1), item(2)});
  const auto announced = driven().announce();
  cache().withdraw(*announced);
  EXPECT_EQ(driven().state(), cache_state::open);
  EXPECT_EQ(driven().pop_all(), (items{item(2), item(1)}));
}

TEST_P(ThreadCacheTheft, CacheCanBeRobbedAfterAWithdrawal) {
  driven().push_all({item(1), item(2)});
  cache().withdraw(*driven().announce());
  EXPECT_EQ(driven().rob(), (items{item(1), item(2)}));
}

TEST_P(ThreadCacheTheft, WithdrawingWhatTheOwnerCancelledChangesNothing) {
  driven().push_all({item(1)});
  const auto announced = driven().announce();
  (void)driven().pop();
  const std::uint64_t before = cache().control().word();
  cache().withdraw(*announced);
  EXPECT_EQ(cache().control().word(), before);
}

TEST_P(ThreadCacheTheft, ReplacingTheCellsCancelsIt) {
  driven().push_all({item(1), item(2)});
  const auto announced = driven().announce();
  driven().replace_cells();
  EXPECT_EQ(driven().harvest(*announced), std::nullopt);
  EXPECT_EQ(driven().pop_all(), (items{item(2), item(1)}));
}

TEST_P(ThreadCacheTheft, HarvestWhileTheCellsAreReplacedFails) {
  driven().push_all({item(1), item(2)});
  const auto announced = driven().announce();
  (void)cache().settle(GetParam());
  std::array<cell, 4> smaller{};
  cache().use_cells(smaller);
  EXPECT_EQ(driven().harvest(*announced), std::nullopt);
  cache().open(GetParam(), 0, 2);
  EXPECT_EQ(driven().harvest(*announced), std::nullopt);
  (void)cache().settle(GetParam());
  cache().close();
}

TEST_P(ThreadCacheTheft, HarvestIntoTooSmallAPlaceFails) {
  driven().push_all({item(1), item(2)});
  const auto announced = driven().announce();
  std::array<void*, 1> loot{};
  EXPECT_EQ(cache().harvest(GetParam(), *announced, loot), std::nullopt);
}

/// The one operation that straddles a theft: its first step came after the announcement, its second
/// after the harvest. What matters is whether the thief read the top before or after the first
/// step.
class StraddlingTheft : public ::testing::Test {
 protected:
  StraddlingTheft() { driven_.push_all({item(1), item(2)}); }
  driven_cache& driven() { return driven_; }
  thread_cache& cache() { return driven_.cache(); }

 private:
  driven_cache driven_{cache_kind::revocable};
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
