// The slot of one resource in isolation. Time is a number here: no test sleeps or reads a clock.
#include "lido/resource/slot.hpp"

#include <gtest/gtest.h>

#include <atomic>
#include <set>

#include "support/crew.hpp"

namespace lido::detail {
namespace {

constexpr nanos second = 1'000'000'000;
constexpr life_limits limits{.max_lifetime = 100 * second,
                             .lifetime_jitter = 0.25,
                             .idle_timeout = 50 * second,
                             .validate_after = 2 * second,
                             .keepalive = 10 * second,
                             .max_uses = 3};
constexpr std::uint32_t epoch = 7;

class ResourceSlot : public ::testing::Test {
 protected:
  slot_word activate_at(nanos now, double draw = 0) {
    (void)slot.move(resource_state::creating);
    slot.epoch.set(epoch);
    return slot.activate(now, limits, draw);
  }
  slot_word take() {
    slot_word ticket;
    EXPECT_TRUE(slot.take(ticket));
    return ticket;
  }

  pool_slot slot;  // NOLINT(*-non-private-member-*,readability-identifier-naming)
};

TEST_F(ResourceSlot, IsLentToOneAtATime) {
  const slot_word ticket = activate_at(0);
  slot_word other;
  EXPECT_FALSE(slot.take(other));
  ASSERT_TRUE(slot.put_back(ticket));
  (void)take();
  EXPECT_FALSE(slot.take(other, resource_state::checking));
}

// netty/netty #9433 (F1), dotnet/runtime #75518 (F3): returned twice. The check is free (F2): it is
// the comparison of the compare-and-swap that releases.
TEST_F(ResourceSlot, F1F3ATicketIsGoodForOneTurn) {
  const slot_word first = activate_at(0);
  ASSERT_TRUE(slot.put_back(first));
  EXPECT_FALSE(slot.put_back(first));
  const slot_word second_turn = take();
  EXPECT_FALSE(slot.put_back(first));
  EXPECT_EQ(slot.state(), resource_state::in_use);
  EXPECT_TRUE(slot.put_back(second_turn));
}

TEST_F(ResourceSlot, F1OneOfTwoReleasesOfTheSameTicketSucceeds) {
  slot_word ticket = activate_at(0);
  for (int round = 0; round < 100; ++round) {
    std::atomic<int> returned{0};
    std::atomic<int> ready{0};
    test::run_crew(2, [&](unsigned) {
      ++ready;
      while (ready != 2) {
      }
      returned += slot.put_back(ticket) ? 1 : 0;
    });
    ASSERT_EQ(returned, 1);
    ticket = take();
  }
}

TEST_F(ResourceSlot, AMarkedResourceIsNotPutBack) {
  const slot_word ticket = activate_at(0);
  EXPECT_TRUE(slot.mark());
  EXPECT_FALSE(slot.put_back(ticket));
  (void)slot.move(resource_state::idle);
  EXPECT_FALSE(slot.word().marked());
  EXPECT_FALSE(slot.mark()) << "no thread holds it";
}

TEST_F(ResourceSlot, ATurnThatOverflowsLeavesTheBirthAlone) {
  slot_word word(~std::uint64_t{0} >> 1U);
  const std::uint64_t birth = word.birth();
  word = word.with_next_turn();
  EXPECT_EQ(word.birth(), birth);
  EXPECT_EQ(slot_word(~std::uint64_t{0}).birth(), (std::uint64_t{1} << 36U) - 1);
}

TEST_F(ResourceSlot, EachResourceHasABirthOfItsOwn) {
  std::set<std::uint64_t> births;
  for (int i = 0; i < 100; ++i) {
    const slot_word ticket = activate_at(0);
    EXPECT_TRUE(births.insert(ticket.birth()).second);
    EXPECT_NE(ticket.birth(), 0U);
    (void)slot.move(resource_state::closing);
    (void)slot.move(resource_state::empty);
  }
}

TEST_F(ResourceSlot, IsFreshUntilTheBypassWindowEnds) {
  const slot_word ticket = activate_at(0);
  slot.used_until(5 * second, limits);
  ASSERT_TRUE(slot.put_back(ticket));
  EXPECT_TRUE(slot.is_fresh(7 * second - 1, epoch));
  EXPECT_FALSE(slot.is_fresh(7 * second, epoch));
  EXPECT_FALSE(slot.is_over(7 * second, epoch));
}

TEST_F(ResourceSlot, ValidationMakesItFreshButNotLessIdle) {
  (void)activate_at(0);
  slot.used_until(5 * second, limits);
  slot.validated(20 * second, limits);
  EXPECT_TRUE(slot.is_fresh(21 * second, epoch));
  EXPECT_EQ(slot.ages.last_used.get(), 5 * second);
  EXPECT_EQ(slot.ages.looked_after.get(), 20 * second);
}

TEST_F(ResourceSlot, LifetimeCountsFromBirthHoweverItIsUsed) {
  (void)activate_at(10 * second);
  slot.used_until(110 * second - 1, limits);
  EXPECT_FALSE(slot.is_over(110 * second - 1, epoch));
  EXPECT_TRUE(slot.is_over(110 * second, epoch));
  EXPECT_FALSE(slot.is_fresh(110 * second, epoch));
}

TEST_F(ResourceSlot, AFlushEndsResourcesMadeBefore) {
  (void)activate_at(0);
  EXPECT_TRUE(slot.is_over(1, epoch + 1));
  EXPECT_FALSE(slot.is_fresh(1, epoch + 1));
}

TEST_F(ResourceSlot, CountsUsesOfOneResource) {
  (void)activate_at(0);
  slot.count_use(/*queued=*/true);
  slot.count_use(/*queued=*/false);
  slot.count_use(/*queued=*/false);
  EXPECT_EQ(slot.handed.get(), 1U);
  EXPECT_EQ(slot.hits.get(), 2U);
  EXPECT_EQ(slot.uses(), 3U);
}

// https://github.com/brettwooldridge/HikariCP/issues/2004: all expire together, and 2.5 % of jitter
// is too little.
TEST_F(ResourceSlot, D1JitterIsDrawnOnceAndUpToAQuarter) {
  EXPECT_EQ(end_of_life(0, limits, 0), 100 * second);
  EXPECT_EQ(end_of_life(0, limits, 0.5), 87 * second + second / 2);
  EXPECT_GE(end_of_life(0, limits, 0.999999), 75 * second);
  (void)activate_at(0, 0.5);
  const nanos drawn = slot.ages.expires.get();
  slot.used_until(second, limits);
  slot.validated(2 * second, limits);
  EXPECT_EQ(slot.ages.expires.get(), drawn);
}

TEST_F(ResourceSlot, AYearOfLifetimeHasAQuarterOfAYearOfJitter) {
  constexpr nanos year = 365L * 24 * 3600 * second;
  const life_limits long_lived{.max_lifetime = year, .lifetime_jitter = 0.25};
  EXPECT_NEAR(static_cast<double>(end_of_life(0, long_lived, 1 - 1e-9)),
              0.75 * static_cast<double>(year), 1e9);
}

TEST_F(ResourceSlot, NeverIsLaterThanAnything) {
  EXPECT_EQ(later(5, never), never);
  EXPECT_EQ(later(never - 1, 5), never);
  EXPECT_EQ(end_of_life(5, life_limits{}, 0.5), never);
}

TEST_F(ResourceSlot, AResourceBeingHandedOverIsHeldForNoTime) {
  EXPECT_EQ(slot.held_for(1000), 0);
  slot.note_holder(10, 1, 0, {});
  EXPECT_EQ(slot.held_for(1000), 990);
  slot.note_receiver(2);
  EXPECT_EQ(slot.held_for(1000), 0);
  EXPECT_EQ(slot.lease.thread.get(), 2U);
}

static_assert(alignof(pool_slot) >= no_false_sharing);

}  // namespace
}  // namespace lido::detail
