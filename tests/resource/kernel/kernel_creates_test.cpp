// When creates begin, how many at once, and what follows when they fail. docs/reference/tests.md
// explains the letters and numbers in test names.
#include <chrono>

#include "resource/kernel/kernel_fixture.hpp"

namespace lido {
namespace {

using namespace std::chrono_literals;
using test::kernel;

TEST(KernelCreates, OneCreateBeginsForEachWaiter) {
  kernel k({.options = {.max_size = 4, .max_creating = 4}});
  EXPECT_EQ(k.acquire('A'), "create 0");
  EXPECT_EQ(k.acquire('b'), "create 1");
  EXPECT_EQ(k.created(1), "A has 1");
  EXPECT_EQ(k.acquire('C'), "create 2");
  EXPECT_EQ(k.created(2), "b has 2");
  EXPECT_EQ(k.created(0), "C has 0");
}

TEST(KernelCreates, NoMoreBeginAtOnceThanMaxCreating) {
  kernel k({.options = {.max_size = 4, .max_creating = 2}});
  EXPECT_EQ(k.acquire('A'), "create 0");
  EXPECT_EQ(k.acquire('B'), "create 1");
  EXPECT_EQ(k.acquire('C'), "");
  EXPECT_EQ(k.created(0), "A has 0; create 2");
}

// jackc/pgx #1780: connections that are being closed are not counted, so too many are made.
TEST(KernelCreates, B7ThereAreNoMoreResourcesThanMaxSize) {
  kernel k({.options = {.max_size = 1, .max_creating = 4}});
  EXPECT_EQ(k.acquire('A'), "create 0");
  EXPECT_EQ(k.acquire('B'), "");
  EXPECT_EQ(k.created(0), "A has 0");
  EXPECT_EQ(k.discard('A'), "destroy 0 (discarded)");  // it counts until it has ended
  EXPECT_EQ(k.destroyed(0), "create 0");
}

TEST(KernelCreates, ADetachedResourceMakesRoomAtOnce) {
  kernel k({.options = {.max_size = 1}});
  k.acquire('A');
  k.created(0);
  k.acquire('B');
  EXPECT_EQ(k.detach('A'), "create 0");
  EXPECT_EQ(k.stats().detached, 1);
}

TEST(KernelCreates, MinIdleResourcesAreMadeAhead) {
  kernel k({.options = {.max_size = 3, .min_idle = 2, .max_creating = 3}});
  EXPECT_EQ(k.limits({.max_size = 3, .min_idle = 2, .max_creating = 3}), "create 0; create 1");
  EXPECT_EQ(k.created(0), "");
  EXPECT_EQ(k.created(1), "");
  EXPECT_EQ(k.acquire('A'), "A has 0; create 2");
  EXPECT_EQ(k.created(2), "");
  EXPECT_EQ(k.acquire('B'), "B has 1");  // max_size is reached
  EXPECT_EQ(k.release('A'), "");
}

TEST(KernelCreates, AResourceInResetIsSoonIdle) {
  kernel k({.options = {.max_size = 3, .min_idle = 1, .max_creating = 3}, .resets = true});
  EXPECT_EQ(k.acquire('A'), "create 0; create 1");
  k.created(0);
  k.created(1);
  EXPECT_EQ(k.acquire('B'), "B has 1; create 2");
  k.created(2);
  EXPECT_EQ(k.acquire('C'), "C has 2");
  EXPECT_EQ(k.discard('C'), "destroy 2 (discarded)");
  EXPECT_EQ(k.release('A'), "reset 0");
  EXPECT_EQ(k.destroyed(2), "");
  EXPECT_EQ(k.was_reset(0), "");
}

TEST(KernelCreates, AWaiterWaitsForAResetUnlessItTakesLong) {
  kernel k({.options = {.max_size = 2}, .resets = true});
  k.acquire('A');
  k.created(0);
  EXPECT_EQ(k.release('A'), "reset 0");
  EXPECT_EQ(k.acquire('B'), "");
  EXPECT_EQ(k.was_reset(0), "B has 0");
  EXPECT_EQ(k.release('B'), "reset 0");
  EXPECT_EQ(k.acquire('C'), "");
  EXPECT_EQ(k.tick(100), "create 1");
  EXPECT_EQ(k.was_reset(0), "C has 0");
}

// puddle initResourceValue: the timeout of the caller ends the connect.
TEST(KernelCreates, A8ACreateGoesOnWithoutItsWaiter) {
  kernel k({.options = {.max_size = 1}});
  EXPECT_EQ(k.acquire('A', {.for_ms = 10}), "create 0");
  EXPECT_EQ(k.tick(10), "A fails: timed out");
  EXPECT_EQ(k.created(0), "");
  EXPECT_EQ(k.acquire('A'), "A has 0");
}

// deadpool-rs/deadpool #462: a waiter for a create cannot get a resource that is released.
TEST(KernelCreates, A9AReleaseServesAWaiterForACreate) {
  kernel k({.options = {.max_size = 2}});
  k.acquire('A');
  k.created(0);
  EXPECT_EQ(k.acquire('B'), "create 1");
  EXPECT_EQ(k.release('A'), "B has 0");
  EXPECT_EQ(k.created(1), "");
  EXPECT_EQ(k.stats().idle, 1);
}

// pocoproject/poco #2986: returned objects are not lent again when capacity == peak.
TEST(KernelCreates, B8OneResourceIsLentAgainAndAgain) {
  kernel k({.options = {.max_size = 1}});
  k.acquire('A');
  k.created(0);
  for (int i = 0; i < 5; ++i) {
    EXPECT_EQ(k.release('A'), "");
    EXPECT_EQ(k.acquire('A'), "A has 0");
  }
  EXPECT_EQ(k.stats().created, 1);
}

TEST(KernelCreates, AnAcquireWithoutTimeCreatesNothingLater) {
  kernel k({.options = {.max_size = 4, .max_creating = 1}});
  EXPECT_EQ(k.acquire('A'), "create 0");
  EXPECT_EQ(k.acquire('b', {.for_ms = 0}), "b fails: timed out");
  EXPECT_EQ(k.created(0), "A has 0");
}

TEST(KernelCreates, AGroupMayHaveHundredsOfResources) {
  kernel k({.options = {.max_size = 200, .min_idle = 200, .max_creating = 200}});
  EXPECT_EQ(k.suspend(false).size(), 200U);
  for (std::uint32_t slot = 0; slot < 200; ++slot) {
    k.created(slot);
  }
  EXPECT_EQ(k.stats().idle, 200);
  k.limits({.max_size = 1, .min_idle = 0, .max_creating = 1});
  EXPECT_EQ(k.stats().closing, 199);
  k.end_tasks();
  EXPECT_EQ(k.acquire('A'), "A has 199");
}

// ---- failures -----------------------------------------------------------------------------------

// apache/commons-pool PR #346: no thread will ever release a resource, and none is created.
TEST(KernelCreates, A15AFailedCreateIsTriedAgainAfterADrawnDelay) {
  kernel k({.options = {.max_size = 2, .retry_first = 100ms, .retry_longest = 400ms}});
  k.acquire('A');
  EXPECT_EQ(k.created(0, false), "");
  k.tick(0);
  const int wait = k.next_tick_in_ms();
  EXPECT_GT(wait, 0);
  EXPECT_LE(wait, 100);
  EXPECT_EQ(k.acquire('B'), "");  // newcomers create nothing either
  EXPECT_EQ(k.tick(100), "create 0");
  EXPECT_EQ(k.created(0), "A has 0; create 1");
  EXPECT_EQ(k.stats().create_failures, 1);
}

// jackc/pgx PR #2350: no timeout while creates fail.
TEST(KernelCreates, A11AWaiterTimesOutAlthoughCreatesFail) {
  kernel k({.options = {.max_size = 1, .retry_first = 1ms, .retry_longest = 1ms}});
  EXPECT_EQ(k.acquire('A', {.for_ms = 3}), "create 0");
  EXPECT_EQ(k.created(0, false), "");
  EXPECT_EQ(k.tick(1), "create 0");
  EXPECT_EQ(k.tick(2), "A fails: timed out");
}

// deadpool CHANGELOG 0.9.5: max_size exceeded after a failed recycle.
TEST(KernelCreates, B2ARefusedResetLeavesRoomForOneResource) {
  kernel k({.options = {.max_size = 1}, .resets = true});
  for (int i = 0; i < 3; ++i) {
    EXPECT_EQ(k.acquire('A'), "create 0");
    EXPECT_EQ(k.created(0), "A has 0");
    EXPECT_EQ(k.acquire('B', {.for_ms = 0}), "B fails: timed out");
    EXPECT_EQ(k.release('A'), "reset 0");
    EXPECT_EQ(k.was_reset(0, false), "destroy 0 (reset refused)");
    EXPECT_EQ(k.destroyed(0), "");
    EXPECT_EQ(k.stats().live, 0);
  }
}

// deadpool CHANGELOG 0.9.5; #18: wrong counts after a failed create.
TEST(KernelCreates, B2B4AFailedCreateTakesNoRoom) {
  kernel k({.options = {.max_size = 2, .retry_first = 1ms, .retry_longest = 1ms}});
  k.acquire('A');
  EXPECT_EQ(k.created(0, false), "");
  EXPECT_EQ(k.stats().live, 0);
  EXPECT_EQ(k.stats().create_failures, 1);
  EXPECT_EQ(k.tick(1), "create 0");
  EXPECT_EQ(k.created(0), "A has 0");
  EXPECT_EQ(k.acquire('B'), "create 1");
  EXPECT_EQ(k.created(1), "B has 1");
  EXPECT_EQ(k.acquire('C'), "");
}

// brettwooldridge/HikariCP #1710, #1972: the pool falls to 0 and stays there.
TEST(KernelCreates, B5APoolRefillsAfterEverythingWasLost) {
  kernel k({.options = {.max_size = 4,
                        .min_idle = 2,
                        .max_creating = 4,
                        .retry_first = 1ms,
                        .retry_longest = 1ms}});
  EXPECT_EQ(k.suspend(false), "create 0; create 1");
  k.end_tasks();
  EXPECT_EQ(k.flush(), "create 2; create 3; destroy 0 (flushed); destroy 1 (flushed)");
  EXPECT_EQ(k.destroyed(0), "");
  EXPECT_EQ(k.destroyed(1), "");
  for (int i = 0; i < 5; ++i) {
    for (const std::uint32_t slot : k.tasks(test::happening::kind::create)) {
      k.created(slot, false);
    }
    EXPECT_EQ(k.stats().live, 0);
    EXPECT_EQ(k.tick(1).size(), 1U);  // one at a time while they fail
  }
  k.end_tasks();
  EXPECT_EQ(k.stats().idle, 2);
}

TEST(KernelCreates, TheDelayDoublesUpToALimit) {
  kernel k({.options = {.max_size = 1, .retry_first = 100ms, .retry_longest = 400ms}});
  k.acquire('A');
  int longest = 0;
  for (int round = 0; round < 50; ++round) {
    k.created(0, false);
    const int wait = k.next_try_in_ms();
    const int limit = round == 0 ? 100 : round == 1 ? 200 : 400;
    EXPECT_LE(wait, limit);
    longest = std::max(longest, wait);
    EXPECT_EQ(k.tick(400), "create 0");
  }
  EXPECT_GT(longest, 300);  // full jitter: one of fifty delays is long
}

TEST(KernelCreates, ASuccessEndsTheBackoff) {
  kernel k({.options = {.max_size = 2, .retry_first = 100ms, .retry_longest = 400ms}});
  k.acquire('A');
  k.created(0, false);
  k.tick(100);
  k.created(0);
  EXPECT_EQ(k.acquire('B'), "create 1");
  k.created(1, false);
  EXPECT_LE(k.next_try_in_ms(), 100);
}

TEST(KernelCreates, AWaiterGetsAReleasedResourceDuringTheBackoff) {
  kernel k({.options = {.max_size = 2}});
  k.acquire('A');
  k.created(0);
  k.acquire('B');
  EXPECT_EQ(k.created(1, false), "");
  EXPECT_EQ(k.release('A'), "B has 0");
}

TEST(KernelCreates, CreatesThatFailTogetherDoubleThePauseOnce) {
  kernel k(
      {.options = {
           .max_size = 4, .max_creating = 4, .retry_first = 1000ms, .retry_longest = 100000ms}});
  for (const char name : {'A', 'B', 'C', 'D'}) {
    k.acquire(name);
  }
  k.pass(1);
  for (std::uint32_t slot = 0; slot < 4; ++slot) {
    EXPECT_EQ(k.created(slot, false), "");
  }
  EXPECT_LE(k.next_try_in_ms(), 1000);
}

// HikariCP #1674, r2dbc-pool #68: users wait for seconds after a short outage.
TEST(KernelCreates, WhileAClientWaitsOneCreateIsTriedTenTimesASecond) {
  kernel k({.options = {.max_size = 3, .max_creating = 3}});
  k.acquire('A');
  k.acquire('B');
  k.acquire('C');
  for (std::uint32_t slot = 0; slot < 3; ++slot) {
    k.created(slot, false);
  }
  for (int round = 0; round < 20; ++round) {
    const int wait = k.next_asked_try_in_ms();
    EXPECT_GE(wait, 50);
    EXPECT_LE(wait, 95);
    EXPECT_EQ(k.next_timer_in_ms(), wait);
    const auto begun = k.tick(wait);
    ASSERT_EQ(begun.size(), 1U);
    EXPECT_EQ(k.tick(94), "");  // not beside the one in progress
    k.created(begun[0].slot, false);
  }
  const auto begun = k.tick(95);
  ASSERT_EQ(begun.size(), 1U);
  const auto all = k.created(begun[0].slot);
  ASSERT_EQ(all.size(), 3U);  // one has a resource, and the other creates begin at once
  EXPECT_EQ(all[0].what, test::happening::kind::has);
}

// Packets are dropped, so each try hangs until create_timeout.
TEST(KernelCreates, WhileCreatesFailATryThatHangsHoldsUpTheNextForATenthOfASecond) {
  kernel k({.options = {.max_size = 4, .create_timeout = 10s, .max_creating = 3}});
  EXPECT_EQ(k.acquire('A'), "create 0");
  EXPECT_EQ(k.tick(1000), "");  // no failure is known: the server may only be slow
  EXPECT_EQ(k.created(0, false), "");
  EXPECT_EQ(k.tick(95), "create 0");
  EXPECT_EQ(k.next_timer_in_ms(), 95);
  EXPECT_EQ(k.tick(94), "");
  EXPECT_EQ(k.tick(1), "create 1");
  EXPECT_EQ(k.tick(95), "create 2");
  EXPECT_EQ(k.tick(1000), "");  // three hang: no storm of connects
  EXPECT_EQ(k.next_timer_in_ms(), kernel::never);
  EXPECT_EQ(k.created(0, false), "");
  EXPECT_EQ(k.tick(95), "create 0");
  EXPECT_EQ(k.acquire('B'), "");
  EXPECT_EQ(k.created(2), "A has 2");  // those that hang may still end well
  EXPECT_EQ(k.created(0), "B has 0");
  EXPECT_EQ(k.created(1), "");
}

TEST(KernelCreates, ATryThatHangsForNoClientIsLeftAlone) {
  kernel k({.options = {.max_size = 4,
                        .min_idle = 2,
                        .max_creating = 3,
                        .retry_first = 100ms,
                        .retry_longest = 100ms}});
  EXPECT_EQ(k.suspend(false), "create 0; create 1");
  k.created(0, false);
  k.created(1, false);
  EXPECT_EQ(k.tick(100), "create 1");
  EXPECT_EQ(k.tick(1000), "");
  EXPECT_EQ(k.acquire('A'), "create 0");
  EXPECT_EQ(k.acquire('B'), "");
  EXPECT_EQ(k.cancel('A'), "A fails: cancelled");
  EXPECT_EQ(k.cancel('B'), "B fails: cancelled");
  EXPECT_EQ(k.tick(1000), "");
}

TEST(KernelCreates, TriesThatHangStayWithinMaxSize) {
  kernel k({.options = {.max_size = 2, .max_creating = 8}});
  k.acquire('A');
  k.created(0);
  EXPECT_EQ(k.acquire('B'), "create 1");
  k.created(1, false);
  EXPECT_EQ(k.tick(95), "create 1");
  EXPECT_EQ(k.tick(1000), "");
  EXPECT_EQ(k.release('A'), "B has 0");
}

TEST(KernelCreates, ThePauseHoldsBackCreatesThatNoClientWaitsFor) {
  kernel k({.options = {.max_size = 2,
                        .min_idle = 1,
                        .max_creating = 2,
                        .retry_first = 10000ms,
                        .retry_longest = 10000ms}});
  EXPECT_EQ(k.suspend(false), "create 0");
  k.created(0, false);
  while (k.next_try_in_ms() < 200) {
    const auto begun = k.tick(k.next_try_in_ms());
    ASSERT_EQ(begun.size(), 1U);
    k.created(begun[0].slot, false);
  }
  EXPECT_EQ(k.tick(95), "");
  EXPECT_EQ(k.acquire('A'), "create 0");
  EXPECT_EQ(k.created(0, false), "");
  EXPECT_EQ(k.cancel('A'), "A fails: cancelled");
  EXPECT_EQ(k.tick(95), "");  // no client waits any more
  EXPECT_EQ(k.acquire('A'), "create 0");
  EXPECT_EQ(k.created(0), "A has 0; create 1");
  EXPECT_EQ(k.created(1), "");
}

// HikariCP #1674: errors continue long after the server is back.
TEST(KernelCreates, AfterAPermanentFailureOneAcquireInATenthOfASecondTries) {
  kernel k({.options = {.max_size = 4, .max_creating = 4}});
  EXPECT_EQ(k.acquire('A'), "create 0");
  k.created(0, false, /*permanent=*/true);
  for (int round = 0; round < 20; ++round) {
    EXPECT_EQ(k.acquire('A'), "A fails: create failed");
    k.tick(95);
    EXPECT_EQ(k.acquire('A'), "create 0");
    EXPECT_EQ(k.acquire('b', {.for_ms = 1000}), "");  // shares the result
    EXPECT_EQ(k.created(0, false, /*permanent=*/true),
              "A fails: create failed; b fails: create failed");
  }
  k.tick(95);
  EXPECT_EQ(k.acquire('A'), "create 0");
  EXPECT_EQ(k.acquire('B'), "");
  EXPECT_EQ(k.created(0), "A has 0; create 1");
}

TEST(KernelCreates, RetryNowEndsThePause) {
  kernel k({.options = {.max_size = 2,
                        .min_idle = 2,
                        .max_creating = 2,
                        .retry_first = 10000ms,
                        .retry_longest = 10000ms}});
  EXPECT_EQ(k.retry_now(), "create 0; create 1");  // as any event
  k.created(0, false);
  k.created(1, false, /*permanent=*/true);
  EXPECT_EQ(k.acquire('A'), "A fails: create failed");
  EXPECT_EQ(k.retry_now(), "create 1");
  EXPECT_EQ(k.retry_now(), "");  // one at a time
  EXPECT_EQ(k.acquire('A'), "");
  EXPECT_EQ(k.created(1), "A has 1; create 0");
  k.close();
  EXPECT_EQ(k.retry_now(), "");
}

// djc/bb8 #227, PR #147: a wrong password is retried for thirty seconds.
TEST(KernelCreates, D10APermanentFailureRefusesAllWaiters) {
  kernel k({.options = {.max_size = 2, .retry_first = 100ms}});
  k.acquire('A');
  k.acquire('b');
  EXPECT_EQ(k.created(0, false, /*permanent=*/true),
            "A fails: create failed; b fails: create failed");
  EXPECT_EQ(k.acquire('C'), "C fails: create failed");  // until the next try
  k.tick(100);
  EXPECT_EQ(k.acquire('C'), "create 0");
}

TEST(KernelCreates, WaitersStayAfterAPermanentFailureWhileAResourceMayComeBack) {
  kernel k({.options = {.max_size = 2, .retry_first = 10000ms, .retry_longest = 10000ms}});
  k.acquire('A');
  k.created(0);
  k.acquire('B');
  EXPECT_EQ(k.created(1, false, /*permanent=*/true), "");
  EXPECT_EQ(k.acquire('C'), "");
  EXPECT_EQ(k.discard('A'), "destroy 0 (discarded)");
  EXPECT_EQ(k.destroyed(0), "B fails: create failed; C fails: create failed");
}

// ---- flush and replaced factories ---------------------------------------------------------------

TEST(KernelCreates, AFlushEndsIdleResourcesAtOnceAndOthersOnRelease) {
  kernel k({.options = {.max_size = 2, .max_creating = 2}});
  k.acquire('A');
  k.acquire('B');
  k.created(0);
  k.created(1);
  k.release('A');
  EXPECT_EQ(k.flush(), "destroy 0 (flushed)");
  EXPECT_EQ(k.release('B'), "destroy 1 (flushed)");
  EXPECT_EQ(k.destroyed(0), "");
}

TEST(KernelCreates, HangingCreatesDoNotHoldUpCreatesAfterAFlush) {
  kernel k({.options = {.max_size = 4, .max_creating = 1}});
  k.acquire('A');
  EXPECT_EQ(k.flush(), "create 1");
  EXPECT_EQ(k.flush(), "create 2");
  EXPECT_EQ(k.created(2), "A has 2");
  EXPECT_EQ(k.created(0), "destroy 0 (flushed)");
  EXPECT_EQ(k.created(1, false), "");
  EXPECT_FALSE(k.is_failing());  // it says nothing about the present factory
}

TEST(KernelCreates, CreatesThatHangCountAgainstMaxSize) {
  kernel k({.options = {.max_size = 2, .max_creating = 1}});
  k.acquire('A');
  EXPECT_EQ(k.flush(), "create 1");
  EXPECT_EQ(k.flush(), "");
  EXPECT_EQ(k.created(0, false), "create 0");
}

TEST(KernelCreates, AReplacedFactoryMakesTheNextResources) {
  kernel k({.options = {.max_size = 2, .max_creating = 1}});
  k.acquire('A');
  EXPECT_EQ(k.replace_factory(), "create 1");
  EXPECT_EQ(k.factory_of(0), 0U);
  EXPECT_EQ(k.factory_of(1), 1U);
  EXPECT_EQ(k.created(1), "A has 1");
}

TEST(KernelCreates, ACreateOfAnOldFactoryDoesNotEndTheBackoff) {
  kernel k({.options = {.max_size = 3, .retry_first = 10000ms, .retry_longest = 10000ms}});
  k.acquire('A');
  EXPECT_EQ(k.replace_factory(), "create 1");
  EXPECT_EQ(k.created(1, false), "");
  EXPECT_EQ(k.created(0), "destroy 0 (flushed)");
  EXPECT_EQ(k.destroyed(0), "");
}

TEST(KernelCreates, APermanentFailureRefusesWaitersBesideACreateOfAnOldFactory) {
  kernel k({.options = {.max_size = 2}});
  k.acquire('A');
  EXPECT_EQ(k.replace_factory(), "create 1");
  EXPECT_EQ(k.created(1, false, /*permanent=*/true), "A fails: create failed");
}

TEST(KernelCreates, AFlushEndsTheBackoff) {
  kernel k({.options = {.max_size = 1, .retry_first = 10000ms, .retry_longest = 10000ms}});
  k.acquire('A');
  k.created(0, false);
  EXPECT_EQ(k.flush(), "create 0");
}

}  // namespace
}  // namespace lido
