// The waiters of one group: which of them is served, and in which order. docs/reference/tests.md
// explains the letters and numbers in test names.
#include <chrono>

#include "resource/kernel/kernel_fixture.hpp"

namespace lido {
namespace {

using namespace std::chrono_literals;
using test::kernel;

TEST(KernelOrder, A6AReleasedResourceGoesToTheFirstWaiter) {
  kernel k({.options = {.max_size = 1}});
  EXPECT_EQ(k.acquire('A'), "create 0");
  EXPECT_EQ(k.created(0), "A has 0");
  EXPECT_EQ(k.acquire('B'), "");
  EXPECT_EQ(k.acquire('c'), "");
  EXPECT_EQ(k.acquire('D'), "");
  EXPECT_EQ(k.release('A'), "B has 0");
  EXPECT_EQ(k.release('B'), "c has 0");
  EXPECT_EQ(k.release('c'), "D has 0");
  EXPECT_EQ(k.release('D'), "");
  EXPECT_EQ(k.stats().idle, 1);
  EXPECT_EQ(k.stats().handed_over, 4);
}

TEST(KernelOrder, A6ANewcomerLeavesIdleResourcesToWaiters) {
  kernel k({.options = {.max_size = 1}});
  k.acquire('A');
  k.created(0);
  k.acquire('B');
  EXPECT_FALSE(k.acquire_fast('C'));
  EXPECT_EQ(k.release('A'), "B has 0");
  EXPECT_EQ(k.release('B'), "");
  EXPECT_TRUE(k.acquire_fast('C'));
}

/// An action on a pool whose only resource is held by A.
struct way_to_make_room {
  const char* name;
  void (*make_room)(kernel&);
  test::pool_setup setup = {.options = {.max_size = 1}};
};
const way_to_make_room ways_to_make_room[] = {
    {"release", [](kernel& k) { k.release('A'); }},
    {"discard", [](kernel& k) { k.discard('A'); }},
    {"detach", [](kernel& k) { k.detach('A'); }},
    {"refused reset",
     [](kernel& k) {
       k.release('A');
       k.was_reset(0, false);
     },
     {.options = {.max_size = 1}, .resets = true}},
    {"last use", [](kernel& k) { k.release('A'); }, {.options = {.max_size = 1, .max_uses = 1}}},
    {"kill",
     [](kernel& k) {
       k.kill(0);
       k.release('A');
     }},
    {"flush",
     [](kernel& k) {
       k.flush();
       k.release('A');
     }},
    {"resume with one idle",
     [](kernel& k) {
       k.suspend();
       k.release('A');
       k.suspend(false);
     }},
    {"resume with none",
     [](kernel& k) {
       k.suspend();
       k.discard('A');
       k.suspend(false);
     }},
    {"another factory",
     [](kernel& k) {
       k.replace_factory();
       k.release('A');
     }},
    {"resize", [](kernel& k) { k.limits({.max_size = 2, .min_idle = 0, .max_creating = 1}); }},
    {"end of a lifetime",
     [](kernel& k) {
       k.tick(1000);
       k.release('A');
     },
     {.options = {.max_size = 1, .max_lifetime = 1000ms}}},
};

// djc/bb8 #167, POOL-424: no waiter learns that there is room again.
TEST(KernelOrder, A7EveryWayToFreeRoomServesAWaiter) {
  for (const way_to_make_room& way : ways_to_make_room) {
    SCOPED_TRACE(way.name);
    kernel k(way.setup);
    k.acquire('A');
    k.end_tasks();
    EXPECT_EQ(k.acquire('B'), "");
    EXPECT_EQ(k.acquire('c'), "");
    way.make_room(k);
    k.end_tasks();
    ASSERT_TRUE(k.holds('B'));
    k.release('B');
    k.end_tasks();
    EXPECT_TRUE(k.holds('c'));
  }
}

TEST(KernelOrder, TheLowestIdleSlotIsTaken) {
  kernel k({.options = {.max_size = 3, .max_creating = 3}});
  for (const char name : {'A', 'B', 'C'}) {
    k.acquire(name);
  }
  for (const std::uint32_t slot : {2U, 0U, 1U}) {
    k.created(slot);  // for A, B and C
  }
  for (const char name : {'A', 'B', 'C'}) {
    EXPECT_EQ(k.release(name), "");
  }
  EXPECT_TRUE(k.acquire_fast('D'));
  EXPECT_EQ(k.slot_of('D'), 0U);
  EXPECT_EQ(k.acquire('e'), "e has 1");
  EXPECT_EQ(k.acquire('F'), "F has 2");
}

TEST(KernelOrder, AReleaseIsReportedByAMarkWhileOthersWait) {
  kernel k({.options = {.max_size = 1}});
  k.acquire('A');
  k.created(0);
  EXPECT_FALSE(k.is_marked(0));
  k.acquire('B');  // it has seen the slot in use
  EXPECT_TRUE(k.is_marked(0));
  k.acquire('C');
  EXPECT_EQ(k.release('A'), "B has 0");
  EXPECT_TRUE(k.is_marked(0));  // C still waits
  EXPECT_EQ(k.release('B'), "C has 0");
  EXPECT_FALSE(k.is_marked(0));
}

TEST(KernelOrder, AWaiterWhoseTimeIsUpIsRefusedByTheTick) {
  kernel k({.options = {.max_size = 1}});
  k.acquire('A');
  k.created(0);
  k.acquire('B', {.for_ms = 10});
  k.acquire('c', {.for_ms = 5});
  k.tick(0);
  EXPECT_EQ(k.next_tick_in_ms(), 5);
  EXPECT_EQ(k.tick(4), "");
  EXPECT_EQ(k.tick(1), "c fails: timed out");
  EXPECT_EQ(k.tick(5), "B fails: timed out");
  EXPECT_EQ(k.release('A'), "");
  EXPECT_EQ(k.stats().timed_out, 2);
}

TEST(KernelOrder, A3AWaiterWhoseTimeIsUpIsSkippedBeforeTheTick) {
  kernel k({.options = {.max_size = 1}});
  k.acquire('A');
  k.created(0);
  k.acquire('B', {.for_ms = 10});
  k.acquire('C');
  k.pass(10);
  EXPECT_EQ(k.release('A'), "B fails: timed out; C has 0");
}

TEST(KernelOrder, AThreadThatGaveUpIsSkipped) {
  kernel k({.options = {.max_size = 1}});
  k.acquire('A');
  k.created(0);
  k.acquire('B');
  k.acquire('C');
  ASSERT_TRUE(k.give_up('B'));
  EXPECT_EQ(k.release('A'), "C has 0");
  EXPECT_EQ(k.leave('B'), "");
  EXPECT_EQ(k.stats().timed_out, 1);
}

TEST(KernelOrder, ACancelledCallbackGetsNothing) {
  kernel k({.options = {.max_size = 1}});
  k.acquire('A');
  k.created(0);
  k.acquire('b');
  EXPECT_EQ(k.cancel('b'), "b fails: cancelled");
  EXPECT_EQ(k.cancel('b'), "");
  EXPECT_EQ(k.release('A'), "");
  EXPECT_EQ(k.stats().cancelled, 1);
}

TEST(KernelOrder, ACallbackIsCancelledTooLateOnceItHasAResource) {
  kernel k({.options = {.max_size = 1}});
  k.acquire('A');
  k.created(0);
  k.acquire('b');
  EXPECT_EQ(k.release('A'), "b has 0");
  EXPECT_EQ(k.cancel('b'), "");
  EXPECT_EQ(k.release('b'), "");
}

TEST(KernelOrder, AnAcquireWithoutTimeTakesAnIdleResourceOrNothing) {
  kernel k({.options = {.max_size = 1}});
  EXPECT_EQ(k.acquire('A', {.for_ms = 0}), "A fails: timed out; create 0");
  EXPECT_EQ(k.created(0), "");
  EXPECT_EQ(k.acquire('A', {.for_ms = 0}), "A has 0");
  EXPECT_EQ(k.acquire('b', {.for_ms = 0}), "b fails: timed out");
  EXPECT_EQ(k.release('A'), "");
}

TEST(KernelOrder, AnAcquireWithoutTimeIsNotFirst) {
  kernel k({.options = {.max_size = 1}});
  k.acquire('A');
  k.created(0);
  k.acquire('B');
  EXPECT_EQ(k.acquire('C', {.for_ms = 0}), "C fails: timed out");
  EXPECT_EQ(k.release('A'), "B has 0");
}

TEST(KernelOrder, A10OneWaiterTooManyIsRefused) {
  kernel k({.options = {.max_size = 1, .max_waiters = 1}});
  k.acquire('A');
  k.created(0);
  EXPECT_EQ(k.acquire('B'), "");
  EXPECT_EQ(k.acquire('C'), "C fails: too many");
  EXPECT_EQ(k.acquire('d'), "d fails: too many");
  EXPECT_EQ(k.stats().refused, 2);
  EXPECT_EQ(k.release('A'), "B has 0");
}

TEST(KernelOrder, AWaiterWithACreateDoesNotCountTowardsTheLimit) {
  kernel k({.options = {.max_size = 2, .max_waiters = 0, .max_creating = 2}});
  EXPECT_EQ(k.acquire('A'), "create 0");
  EXPECT_EQ(k.acquire('B'), "create 1");
  EXPECT_EQ(k.acquire('C'), "C fails: too many");
}

TEST(KernelOrder, MoreThanSixteenWaitersEndInSeveralRounds) {
  kernel k({.options = {.max_size = 1}});
  k.acquire('Z');
  k.created(0);
  for (char name = 'A'; name < 'U'; ++name) {  // twenty
    k.acquire(name, {.for_ms = 10 + name - 'A'});
  }
  k.calls_more = false;
  EXPECT_EQ(k.tick(40),
            "A fails: timed out; B fails: timed out; C fails: timed out; D fails: timed out; E "
            "fails: timed out; F fails: timed out; "
            "G fails: timed out; H fails: timed out; I fails: timed out; J fails: timed out; K "
            "fails: timed out; L fails: timed out; "
            "M fails: timed out; N fails: timed out; O fails: timed out; P fails: timed out; more");
  EXPECT_EQ(k.tick(0),
            "Q fails: timed out; R fails: timed out; S fails: timed out; T fails: timed out");
  EXPECT_EQ(k.release('Z'), "");
}

TEST(KernelOrder, A4MoreThanSixteenLateWaitersAreSkippedByARelease) {
  kernel k({.options = {.max_size = 1}});
  k.acquire('Z');
  k.created(0);
  for (char name = 'A'; name < 'U'; ++name) {
    k.acquire(name, {.for_ms = 10});
  }
  k.acquire('V');
  k.pass(10);
  const test::happenings all = k.release('Z');
  ASSERT_EQ(all.size(), 21U);
  EXPECT_EQ(test::to_text({all.back()}), "V has 0");
}

TEST(KernelOrder, AClosedPoolRefusesAllWaitersInRounds) {
  kernel k({.options = {.max_size = 1}});
  k.acquire('Z');
  k.created(0);
  for (char name = 'A'; name < 'U'; ++name) {
    k.acquire(name);
  }
  const test::happenings all = k.close();
  EXPECT_EQ(all.size(), 20U);
  EXPECT_EQ(k.stats().waiting, 0);
}

TEST(KernelOrder, ManyIdleResourcesGoToManyWaiters) {
  kernel k({.options = {.max_size = 20, .max_creating = 20}});
  k.suspend();
  for (char name = 'A'; name < 'U'; ++name) {
    k.acquire(name);
  }
  const test::happenings created = k.suspend(false);
  EXPECT_EQ(created.size(), 20U);
  k.suspend();
  for (std::uint32_t slot = 0; slot < 20; ++slot) {
    EXPECT_EQ(k.created(slot), "");
  }
  EXPECT_EQ(k.suspend(false).size(), 20U);
  EXPECT_EQ(k.stats().in_use, 20);
}

// ---- the reserve --------------------------------------------------------------------------------

TEST(KernelOrder, C23UrgentWaitersGoBeforeOthersInTheirOrder) {
  kernel k({.options = {.max_size = 1}});
  k.acquire('A');
  k.created(0);
  k.acquire('B');
  k.acquire('C', {.is_urgent = true});
  k.acquire('d', {.is_urgent = true});
  k.acquire('E');
  EXPECT_EQ(k.release('A'), "C has 0");
  EXPECT_EQ(k.release('C'), "d has 0");
  EXPECT_EQ(k.release('d'), "B has 0");
  EXPECT_EQ(k.release('B'), "E has 0");
}

TEST(KernelOrder, C23TheReserveIsForUrgentWaitersAlone) {
  kernel k({.options = {.max_size = 1, .reserve = 1}});
  k.acquire('A');
  k.created(0);
  EXPECT_EQ(k.acquire('B'), "");
  EXPECT_EQ(k.acquire('C', {.is_urgent = true}), "create 1");
  EXPECT_EQ(k.acquire('D', {.is_urgent = true}), "");  // the reserve is in use
  EXPECT_EQ(k.created(1), "C has 1");
  EXPECT_EQ(k.release('A'), "D has 0");  // surplus, but an urgent waiter is there
  EXPECT_EQ(k.release('C'), "destroy 1 (surplus)");
  EXPECT_EQ(k.destroyed(1), "");
  EXPECT_EQ(k.release('D'), "B has 0");
}

TEST(KernelOrder, OneUrgentWaiterTakesOneOfTheReserve) {
  kernel k({.options = {.max_size = 1, .reserve = 2, .max_creating = 4}});
  k.acquire('A');
  k.created(0);
  EXPECT_EQ(k.acquire('B'), "");
  EXPECT_EQ(k.acquire('C', {.is_urgent = true}), "create 1");
  EXPECT_EQ(k.tick(1), "");
  EXPECT_EQ(k.acquire('D', {.is_urgent = true}), "create 2");
  EXPECT_EQ(k.created(1), "C has 1");
  EXPECT_EQ(k.created(2), "D has 2");
}

TEST(KernelOrder, AnUrgentCreateNeedNotWaitForOthers) {
  kernel k({.options = {.max_size = 2, .reserve = 1, .max_creating = 1}});
  EXPECT_EQ(k.acquire('A'), "create 0");  // and hangs
  EXPECT_EQ(k.acquire('B', {.is_urgent = true}), "create 1");
  EXPECT_EQ(k.created(1), "B has 1");
}

// ---- hold and wait ------------------------------------------------------------------------------

TEST(KernelOrder, A14AThreadThatHoldsTheOnlyResourceDoesNotWaitForIt) {
  kernel k({.options = {.max_size = 1}});
  k.acquire('A');
  k.created(0);
  EXPECT_EQ(k.acquire('B', {.thread = 1, .holds = true}), "B fails: deadlock");
}

TEST(KernelOrder, A14TheLastThreadOfACycleIsRefused) {
  kernel k({.options = {.max_size = 2, .max_creating = 2}});
  k.acquire('A');
  k.acquire('B');
  k.created(0);
  k.created(1);
  EXPECT_EQ(k.acquire('C', {.thread = 1, .holds = true}), "");
  EXPECT_EQ(k.acquire('D', {.thread = 2, .holds = true}), "D fails: deadlock");
  EXPECT_EQ(k.release('B'), "C has 1");
}

TEST(KernelOrder, AResourceOfACallbackMayComeBack) {
  kernel k({.options = {.max_size = 2, .max_creating = 2}});
  k.acquire('A');
  k.acquire('b');
  k.created(0);
  k.created(1);
  EXPECT_EQ(k.acquire('C', {.thread = 1, .holds = true}), "");
  EXPECT_EQ(k.release('b'), "C has 1");
}

TEST(KernelOrder, ASmallerPoolClosesACycle) {
  kernel k({.options = {.max_size = 2, .max_creating = 2}});
  k.acquire('A');
  k.acquire('b');
  k.created(0);
  k.created(1);
  k.acquire('C', {.thread = 1, .holds = true});
  EXPECT_EQ(k.limits({.max_size = 1, .min_idle = 0, .max_creating = 1}), "");
  EXPECT_EQ(k.release('b'), "destroy 1 (surplus)");
  EXPECT_EQ(k.destroyed(1), "C fails: deadlock");
}

// The waiter's thread had a lease a moment ago, which another thread has ended.
TEST(KernelOrder, NoThreadWaitsForItselfWhereNothingIsHeld) {
  kernel k({.options = {.max_size = 1}});
  k.acquire('A');
  k.created(0);
  k.limits({.max_size = 0, .min_idle = 0, .max_creating = 1});
  k.discard('A');
  k.destroyed(0);
  EXPECT_EQ(k.acquire('B', {.thread = 1, .holds = true}), "");
}

}  // namespace
}  // namespace lido
