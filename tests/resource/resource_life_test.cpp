#include "lido/resource/resource_life.hpp"

#include <gtest/gtest.h>

#include <atomic>
#include <chrono>
#include <limits>
#include <set>

#include "lido/resource/refill.hpp"
#include "lido/resource/resource_slot.hpp"
#include "support/crew.hpp"

namespace lido::detail {
namespace {

using kind = verdict::kind;

// Time is a number here: nothing sleeps, nothing reads a clock.
constexpr nanos second = 1'000'000'000;
constexpr life_limits limits{.max_lifetime = 100 * second,
                             .lifetime_jitter = 0.25,
                             .idle_timeout = 50 * second,
                             .validate_after = 2 * second,
                             .keepalive = 10 * second,
                             .max_uses = 3};
constexpr std::uint32_t epoch = 7;

class ResourceLife : public ::testing::Test {
 protected:
  life_word birth_at(nanos now, double draw = 0) {
    EXPECT_TRUE(life.reserve());
    return life.be_born(now, limits, draw, epoch);
  }
  life_word lend() {
    life_word ticket;
    EXPECT_TRUE(life.lend(ticket));
    return ticket;
  }

  resource_life life;  // NOLINT(*-non-private-member-*,readability-identifier-naming)
};

TEST_F(ResourceLife, BeginsEmptyAndIsReservedOnce) {
  EXPECT_EQ(life.state(), life_state::empty);
  EXPECT_TRUE(life.reserve());
  EXPECT_EQ(life.state(), life_state::creating);
  EXPECT_FALSE(life.reserve());
}

TEST_F(ResourceLife, AFailedCreateLeavesThePlaceEmpty) {
  ASSERT_TRUE(life.reserve());
  life.vanish();
  EXPECT_EQ(life.state(), life_state::empty);
  EXPECT_TRUE(life.reserve());
}

TEST_F(ResourceLife, GoesRoundFromUseToUse) {
  life_word ticket = birth_at(0);
  EXPECT_EQ(life.state(), life_state::in_use);
  EXPECT_TRUE(life.put_back(ticket));
  EXPECT_EQ(life.state(), life_state::idle);
  ticket = lend();
  EXPECT_EQ(life.state(), life_state::in_use);
  EXPECT_TRUE(life.begin_closing(ticket));
  EXPECT_EQ(life.state(), life_state::closing);
  life.vanish();
  EXPECT_EQ(life.state(), life_state::empty);
}

TEST_F(ResourceLife, IsLentToOneAtATime) {
  const life_word ticket = birth_at(0);
  life_word other;
  EXPECT_FALSE(life.lend(other));
  ASSERT_TRUE(life.put_back(ticket));
  (void)lend();
  EXPECT_FALSE(life.lend(other, life_state::checking));
}

// netty/netty #9433 (F1), dotnet/runtime #75518 (F3): returned twice. The check costs nothing (F2):
// it is the compare of the compare-and-swap that releases.
TEST_F(ResourceLife, F1F3ATicketIsGoodForOneTurn) {
  const life_word first = birth_at(0);
  ASSERT_TRUE(life.put_back(first));
  EXPECT_FALSE(life.put_back(first));
  const life_word second_turn = lend();
  EXPECT_FALSE(life.put_back(first));
  EXPECT_FALSE(life.begin_closing(first));
  EXPECT_EQ(life.state(), life_state::in_use);
  EXPECT_TRUE(life.put_back(second_turn));
}

TEST_F(ResourceLife, F1OfTwoThatReturnTheSameAtOnceOneDoes) {
  life_word ticket = birth_at(0);
  for (int round = 0; round < 500; ++round) {
    std::atomic<int> returned{0};
    std::atomic<int> ready{0};
    test::run_crew(2, [&](unsigned) {
      ++ready;
      while (ready != 2) {
      }
      returned += life.put_back(ticket) ? 1 : 0;
    });
    ASSERT_EQ(returned, 1);
    ticket = lend();
  }
}

TEST_F(ResourceLife, ATurnThatOverflowsLeavesTheBirthAlone) {
  life_word word(~std::uint64_t{0} >> 1U);
  const std::uint64_t birth = word.birth();
  word = word.with_next_turn();
  EXPECT_EQ(word.birth(), birth);
}

TEST_F(ResourceLife, EachResourceHasABirthOfItsOwn) {
  std::set<std::uint64_t> births;
  for (int i = 0; i < 100; ++i) {
    const life_word ticket = birth_at(0);
    EXPECT_TRUE(births.insert(ticket.birth()).second);
    EXPECT_NE(ticket.birth(), 0U);
    ASSERT_TRUE(life.begin_closing(ticket));
    life.vanish();
  }
}

TEST_F(ResourceLife, ADoomedOneIsNotPutBack) {
  const life_word ticket = birth_at(0);
  EXPECT_TRUE(life.doom(ticket.birth()));
  EXPECT_FALSE(life.put_back(ticket));
  EXPECT_EQ(life.judge(0, epoch), (verdict{kind::retire, destroy_reason::killed}));
  EXPECT_TRUE(life.begin_closing(ticket));
}

// It was doomed before it was lent, and whoever looks at the ticket too late must not keep it.
TEST_F(ResourceLife, WhatWasLentDoomedIsNotIdleAgain) {
  ASSERT_TRUE(life.put_back(birth_at(0)));
  EXPECT_TRUE(life.doom(life.word().birth()));
  const life_word ticket = lend();
  EXPECT_TRUE(ticket.doomed());
  EXPECT_FALSE(life.put_back(ticket));
  EXPECT_TRUE(life.begin_closing(ticket));
}

TEST_F(ResourceLife, DoomDoesNotReachTheNextResource) {
  const life_word first = birth_at(0);
  ASSERT_TRUE(life.begin_closing(first));
  EXPECT_FALSE(life.doom(first.birth()));
  life.vanish();
  const life_word next = birth_at(0);
  EXPECT_FALSE(life.doom(first.birth()));
  EXPECT_TRUE(life.put_back(next));
}

TEST_F(ResourceLife, IsFreshUntilTheBypassWindowEnds) {
  const life_word ticket = birth_at(0);
  life.used_until(5 * second, limits);
  ASSERT_TRUE(life.put_back(ticket));
  EXPECT_TRUE(life.is_fresh(7 * second - 1, epoch));
  EXPECT_EQ(life.judge(7 * second - 1, epoch).what, kind::fit);
  EXPECT_FALSE(life.is_fresh(7 * second, epoch));
  EXPECT_EQ(life.judge(7 * second, epoch).what, kind::validate);
}

TEST_F(ResourceLife, ValidationMakesItFreshButNotLessIdle) {
  (void)birth_at(0);
  life.used_until(5 * second, limits);
  life.validated(20 * second, limits);
  EXPECT_TRUE(life.is_fresh(21 * second, epoch));
  EXPECT_EQ(life.idle_for(25 * second), 20 * second);
  EXPECT_EQ(life.neglected_for(25 * second), 5 * second);
}

TEST_F(ResourceLife, LifetimeCountsFromBirthWhateverIsDoneWithIt) {
  (void)birth_at(10 * second);
  life.used_until(110 * second - 1, limits);
  EXPECT_EQ(life.judge(110 * second - 1, epoch).what, kind::fit);
  EXPECT_EQ(life.judge(110 * second, epoch), (verdict{kind::retire, destroy_reason::too_old}));
}

TEST_F(ResourceLife, AFlushEndsThoseBornBefore) {
  (void)birth_at(0);
  EXPECT_EQ(life.judge(1, epoch + 1), (verdict{kind::retire, destroy_reason::flushed}));
  EXPECT_FALSE(life.is_fresh(1, epoch + 1));
}

TEST_F(ResourceLife, CountsUsesUpToTheLast) {
  (void)birth_at(0);
  EXPECT_TRUE(life.count_use(limits.max_uses));
  EXPECT_TRUE(life.count_use(limits.max_uses));
  EXPECT_FALSE(life.count_use(limits.max_uses));
  EXPECT_EQ(life.uses(), 3U);
}

// https://github.com/brettwooldridge/HikariCP/issues/2004: all expire together, 2.5 % are too few.
TEST_F(ResourceLife, D1JitterIsDrawnOnceAndUpToAQuarter) {
  EXPECT_EQ(end_of_life(0, limits, 0), 100 * second);
  EXPECT_EQ(end_of_life(0, limits, 0.5), 87 * second + second / 2);
  EXPECT_GE(end_of_life(0, limits, 0.999999), 75 * second);
  (void)birth_at(0, 0.5);
  const nanos drawn = life.expires();
  life.used_until(second, limits);
  life.validated(2 * second, limits);
  EXPECT_EQ(life.expires(), drawn);
}

TEST_F(ResourceLife, AYearOfLifetimeHasAQuarterOfAYearOfJitter) {
  constexpr nanos year = 365L * 24 * 3600 * second;
  const life_limits long_lived{.max_lifetime = year, .lifetime_jitter = 0.25};
  EXPECT_NEAR(static_cast<double>(end_of_life(0, long_lived, 1 - 1e-9)),
              0.75 * static_cast<double>(year), 1e9);
}

TEST_F(ResourceLife, NeverIsLaterThanAnything) {
  EXPECT_EQ(later(5, never), never);
  EXPECT_EQ(later(never - 1, 5), never);
  EXPECT_EQ(end_of_life(5, life_limits{}, 0.5), never);
}

// https://github.com/brettwooldridge/HikariCP/issues/1710: falls to 0 and does not refill.
TEST(Refill, B5IsAFunctionOfWhatThereIs) {
  const refill_counts empty{.max_size = 10,
                            .min_idle = 4,
                            .creating_limit = 3,
                            .live = 0,
                            .creating = 0,
                            .idle = 0,
                            .waiters = 0};
  EXPECT_EQ(creates_wanted(empty), 3U);
  refill_counts counts = empty;
  counts.live = counts.creating = 3;
  EXPECT_EQ(creates_wanted(counts), 0U);
  counts.creating = 1;
  counts.idle = 2;
  EXPECT_EQ(creates_wanted(counts), 1U);
}

TEST(Refill, WaitersGetOneEachWithinTheLimits) {
  refill_counts counts{.max_size = 5,
                       .min_idle = 0,
                       .creating_limit = 10,
                       .live = 3,
                       .creating = 1,
                       .idle = 0,
                       .waiters = 8};
  EXPECT_EQ(creates_wanted(counts), 2U);
  counts.waiters = 1;
  EXPECT_EQ(creates_wanted(counts), 0U);
  counts.waiters = 2;
  EXPECT_EQ(creates_wanted(counts), 1U);
  counts.live = 9;  // after the pool was made smaller
  EXPECT_EQ(creates_wanted(counts), 0U);
}

TEST(Refill, WhatIsMadeForWaitersIsNotIdle) {
  const refill_counts counts{.max_size = 10,
                             .min_idle = 2,
                             .creating_limit = 10,
                             .live = 2,
                             .creating = 2,
                             .idle = 0,
                             .waiters = 2};
  EXPECT_EQ(creates_wanted(counts), 2U);
}

TEST(ResourceSlot, AMarkReachesTheLeaseItIsMeantForOnly) {
  resource_slot slot;
  ASSERT_TRUE(slot.reserve());
  const life_word first = slot.be_born(0, limits, 0, epoch);
  slot.note_holder(0, 1, {}, first);
  EXPECT_TRUE(slot.mark(first, reported_slow, reported_slow));
  EXPECT_FALSE(slot.mark(first, reported_slow, reported_slow)) << "twice";
  EXPECT_EQ(slot.marks(), reported_slow);
  slot.forget_holder();
  EXPECT_FALSE(slot.mark(first, reported_leak, reported_leak)) << "it has ended";
  ASSERT_TRUE(slot.put_back(first));
  life_word next;
  ASSERT_TRUE(slot.lend(next));
  slot.note_holder(5, 2, {}, next);
  EXPECT_FALSE(slot.mark(first, reported_leak, reported_leak));
  EXPECT_EQ(slot.marks(), 0U);
}

TEST(ResourceSlot, AnExtensionStaysBesideTheLeaseInItsWord) {
  resource_slot slot;
  ASSERT_TRUE(slot.reserve());
  const life_word lease = slot.be_born(0, limits, 0, epoch);
  slot.note_holder(0, 1, {}, lease);
  slot.extend(std::chrono::hours(24 * 365 * 100));
  slot.extend(std::chrono::hours(1));
  EXPECT_EQ(slot.extension(), nanos{longest_extension} * extension_unit);
  EXPECT_TRUE(slot.mark(lease, reported_slow, reported_slow));
  EXPECT_EQ(slot.end_reports().second, lease.lease());
  EXPECT_FALSE(slot.mark(lease, reported_leak, ended_lease));
}

static_assert(alignof(resource_slot) >= no_false_sharing);

TEST_F(ResourceLife, BirthsHave36Bits) {
  EXPECT_EQ(life_word(~std::uint64_t{0}).birth(), (std::uint64_t{1} << 36U) - 1);
}

TEST(ResourceSlot, NobodyHoldsForLongWhatIsOnItsWay) {
  resource_slot slot;
  EXPECT_EQ(slot.held_for(1000), 0);
  slot.note_holder(10, 1, {}, {});
  EXPECT_EQ(slot.held_for(1000), 990);
  slot.forget_holder();
  slot.note_receiver(2);
  EXPECT_EQ(slot.held_for(1000), 0);
  EXPECT_EQ(slot.thread(), 2U);
}

}  // namespace
}  // namespace lido::detail
