// Groups: several keys that share a total. docs/reference/tests.md explains the letters and numbers
// in test names.
#include <chrono>

#include "resource/kernel/kernel_fixture.hpp"

namespace lido {
namespace {

using namespace std::chrono_literals;
using test::kernel;

/// Three groups of at most 4 resources, 4 in total.
class KernelGroups : public ::testing::Test {
 protected:
  KernelGroups() : KernelGroups(4, 0) {}
  KernelGroups(std::uint32_t max_total, int prefer_ms)
      : k({.options = {.max_size = 4, .idle_timeout = 0ms, .keepalive = 0ms, .retry_first = 100ms},
           .max_total = max_total,
           .prefer_same_key_ms = prefer_ms}) {
    for (int i = 0; i < 3; ++i) {
      k.add_group({.max_size = 4, .min_idle = 0, .max_creating = 4});
    }
  }
  /// Lets `name` acquire a resource of the group.
  void take(char name, std::uint32_t group) {
    k.acquire(name, {.group = group});
    k.created(k.tasks(test::happening::kind::create).front());
  }
  kernel k;  // NOLINT(*-non-private-member-*)
};

TEST_F(KernelGroups, ResourcesStayInTheirGroup) {
  take('A', 0);
  EXPECT_EQ(k.release('A'), "");
  EXPECT_FALSE(k.acquire_fast('B', 1));
  EXPECT_TRUE(k.acquire_fast('B', 0));
  EXPECT_EQ(k.acquire('C', {.group = 1}), "create 1");
}

TEST_F(KernelGroups, NothingIsMadeAheadForAGroupUntilItIsAskedForAfterAFlush) {
  const std::uint32_t group = k.add_group({.max_size = 4, .min_idle = 1, .max_creating = 4});
  take('A', group);
  k.end_tasks();
  EXPECT_EQ(k.stats(group).idle, 1U);
  EXPECT_EQ(k.release('A'), "");
  EXPECT_EQ(k.flush(group), "destroy 0 (flushed); destroy 1 (flushed)");
  EXPECT_EQ(k.destroyed(0), "");
  EXPECT_EQ(k.destroyed(1), "");
  EXPECT_EQ(k.tick(60'000), "");
  EXPECT_FALSE(k.is_failing(group));
  k.acquire('B', {.group = group});
  k.end_tasks();
  EXPECT_TRUE(k.holds('B'));
  EXPECT_EQ(k.stats(group).idle, 1U);  // made ahead again
}

TEST_F(KernelGroups, AWaiterThatSurvivesAFlushStillAsks) {
  const std::uint32_t group = k.add_group({.max_size = 2, .min_idle = 1, .max_creating = 4});
  EXPECT_EQ(k.acquire('A', {.group = group}), "create 0; create 1");
  EXPECT_EQ(k.flush(group), "");
  EXPECT_EQ(k.created(0), "destroy 0 (flushed)");
  EXPECT_EQ(k.destroyed(0), "create 0");
  EXPECT_EQ(k.created(1, false), "create 1");
}

test::pool_setup kept_alive(std::uint32_t size) {
  return {.options = {.max_size = size,
                      .idle_timeout = 0ms,
                      .keepalive = 1000ms,
                      .validate_if_idle_longer_than = 100000ms},
          .max_total = size,
          .validates = true};
}

/// Six idle resources for each of that many groups.
void fill_groups(kernel& k, std::uint32_t count) {
  for (std::uint32_t group = 0; group < count; ++group) {
    k.add_group({.max_size = 6, .min_idle = 0, .max_creating = 6});
    for (char name = 'A'; name < 'G'; ++name) {
      k.acquire(name, {.group = group});
      k.end_tasks();
    }
    for (char name = 'A'; name < 'G'; ++name) {
      k.release(name);
    }
  }
}

// HikariCP #306: keepalives fall behind, and a firewall drops the rest.
TEST(KernelKeepalives, ASilentGroupLeavesValidationsToOthers) {
  kernel k(kept_alive(12));
  fill_groups(k, 2);
  EXPECT_EQ(k.tick(1000), "validate 0; validate 1; validate 6; validate 7");  // 0 to 5 are silent
  EXPECT_EQ(k.validated(6), "validate 8");
  EXPECT_EQ(k.validated(7), "validate 9");
  EXPECT_EQ(k.validated(9), "validate 10");
  EXPECT_EQ(k.validated(8), "validate 11");
  EXPECT_EQ(k.validated(0, false), "destroy 0 (invalid)");
  EXPECT_EQ(k.tick(50), "validate 2");
}

TEST(KernelKeepalives, TwoSilentGroupsLeaveValidationsToOthers) {
  kernel k(kept_alive(18));
  fill_groups(k, 3);
  EXPECT_EQ(k.tick(1000), "validate 0; validate 1; validate 6; validate 7");  // 0 to 11 are silent
  EXPECT_EQ(k.tick(50), "validate 12; validate 13");
  EXPECT_EQ(k.validated(12), "validate 14");
  EXPECT_EQ(k.validated(13), "validate 15");
  EXPECT_EQ(k.validated(14), "validate 16");
  EXPECT_EQ(k.validated(15), "validate 17");
  EXPECT_EQ(k.validated(17), "");
  EXPECT_EQ(k.tick(50), "");
  EXPECT_EQ(k.validated(16), "");
  EXPECT_EQ(k.validated(0, false), "destroy 0 (invalid)");
  EXPECT_EQ(k.tick(50), "validate 2");
}

TEST_F(KernelGroups, AllTogetherStayWithinTheTotal) {
  take('A', 0);
  take('B', 0);
  take('C', 1);
  take('D', 2);
  EXPECT_EQ(k.acquire('E', {.group = 1}), "");
  EXPECT_EQ(k.discard('A'), "destroy 0 (discarded)");
  EXPECT_EQ(k.destroyed(0), "create 0");
  EXPECT_EQ(k.created(0), "E has 0");
}

TEST_F(KernelGroups, TheLeastRecentlyUsedIdleResourceIsEvicted) {
  take('A', 0);
  take('B', 1);
  take('C', 0);
  take('D', 1);
  for (const char name : {'B', 'C', 'A', 'D'}) {  // 1, 2, 0, 3
    k.release(name);
    k.tick(1);
  }
  EXPECT_EQ(k.acquire('E', {.group = 2}), "destroy 1 (surplus)");
  EXPECT_EQ(k.destroyed(1), "create 1");
  EXPECT_EQ(k.created(1), "E has 1");
  EXPECT_EQ(k.acquire('F', {.group = 2}), "destroy 2 (surplus)");
}

TEST_F(KernelGroups, AResourceThatWasUsedSinceIsEvictedLater) {
  take('A', 0);
  take('B', 1);
  take('C', 0);
  take('D', 1);
  for (const char name : {'A', 'B', 'C', 'D'}) {
    k.release(name);
    k.tick(1);
  }
  EXPECT_TRUE(k.acquire_fast('A', 0));  // on the fast path, unseen by the kernel
  k.release('A');
  EXPECT_EQ(k.acquire('E', {.group = 2}), "destroy 1 (surplus)");
}

TEST_F(KernelGroups, OneIsEvictedEvenIfAllWereUsedSince) {
  for (const char name : {'A', 'B', 'C', 'D'}) {
    take(name, 0);
  }
  k.tick(1);
  for (const char name : {'D', 'C', 'B', 'A'}) {
    k.release(name);
  }
  EXPECT_EQ(k.acquire('E', {.group = 1}).size(), 1U);
}

TEST_F(KernelGroups, AReleasedResourceIsEvictedForAWaiterOfAnotherGroup) {
  for (const char name : {'A', 'B', 'C', 'D'}) {
    take(name, 0);
  }
  EXPECT_EQ(k.acquire('E', {.group = 1}), "");
  EXPECT_EQ(k.release('B'), "destroy 1 (surplus)");
  EXPECT_EQ(k.release('A'), "");  // one resource is enough
  EXPECT_EQ(k.destroyed(1), "create 1");
}

TEST_F(KernelGroups, GroupsAreServedInTheOrderOfTheirFirstWaiters) {
  for (const char name : {'A', 'B', 'C', 'D'}) {
    take(name, 0);
  }
  k.acquire('E', {.group = 1});
  k.acquire('F', {.group = 2});
  k.acquire('G', {.group = 1});
  k.discard('A');
  k.discard('B');
  EXPECT_EQ(k.destroyed(0), "create 0");
  EXPECT_EQ(k.destroyed(1), "create 1");
  EXPECT_EQ(k.created(0), "E has 0");
  EXPECT_EQ(k.created(1), "F has 1");
}

TEST_F(KernelGroups, AnOlderWaiterOfAnotherGroupComesFirst) {
  for (const char name : {'A', 'B', 'C', 'D'}) {
    take(name, 0);
  }
  k.acquire('E', {.group = 1});
  k.acquire('F', {.group = 0});
  k.tick(1);
  EXPECT_EQ(k.release('A'), "destroy 0 (surplus)");
  EXPECT_EQ(k.release('B'), "F has 1");
}

TEST_F(KernelGroups, AYoungerWaiterOfAnotherGroupComesLater) {
  for (const char name : {'A', 'B', 'C', 'D'}) {
    take(name, 0);
  }
  k.acquire('E', {.group = 0});
  k.acquire('F', {.group = 1});
  k.tick(1);
  EXPECT_EQ(k.release('A'), "E has 0");
  EXPECT_EQ(k.release('B'), "destroy 1 (surplus)");
}

TEST_F(KernelGroups, APermanentFailureRefusesNoOtherGroup) {
  k.acquire('A', {.group = 0});
  k.acquire('B', {.group = 1});
  EXPECT_EQ(k.created(0, false, /*permanent=*/true), "A fails: create failed");
  EXPECT_EQ(k.created(1), "B has 1");
  EXPECT_EQ(k.stats(0).create_failures, 1);
  EXPECT_EQ(k.stats(1).create_failures, 0);
}

TEST_F(KernelGroups, AClosedPoolRefusesWaitersOfAllGroups) {
  for (const char name : {'A', 'B', 'C', 'D'}) {
    take(name, 0);
  }
  for (const auto& [name, group] : {std::pair('E', 0U), std::pair('F', 1U), std::pair('G', 2U)}) {
    EXPECT_EQ(k.acquire(name, {.group = group}), "");
  }
  EXPECT_EQ(k.close(), "E fails: closed; F fails: closed; G fails: closed");
  EXPECT_EQ(k.acquire('H', {.group = 1}), "H fails: closed");
}

TEST_F(KernelGroups, AResumedPoolServesTheFirstWaiterFirst) {
  take('A', 1);
  take('B', 1);
  take('C', 1);
  take('D', 2);
  k.suspend();
  k.acquire('E', {.group = 2});
  k.acquire('F', {.group = 0});
  k.release('D');
  EXPECT_EQ(k.suspend(false), "E has 3");
}

TEST_F(KernelGroups, AResumedPoolTakesNothingFromWaitersThatCameBefore) {
  take('A', 1);
  take('B', 1);
  take('C', 1);
  take('D', 2);
  k.suspend();
  for (const auto& [name, group] : {std::pair('E', 1U), std::pair('F', 2U), std::pair('G', 1U)}) {
    k.acquire(name, {.group = group});
  }
  k.release('A');
  k.release('D');
  EXPECT_EQ(k.suspend(false), "E has 0; F has 3");
}

TEST_F(KernelGroups, OnlyAGroupThatMayCreateIsOwedSomething) {
  take('A', 0);
  take('B', 0);
  take('C', 1);
  take('D', 1);
  k.limits({.max_size = 2, .min_idle = 0, .max_creating = 1}, 1);
  k.acquire('E', {.group = 1});
  k.acquire('F', {.group = 0});
  k.tick(1);
  EXPECT_EQ(k.release('A'), "F has 0");  // group 1 has all that it may have
  EXPECT_EQ(k.release('C'), "E has 2");
}

TEST_F(KernelGroups, B6AFailingGroupTakesNoQuotaThatAnotherCouldUse) {
  k.acquire('A', {.group = 0});
  k.created(0, false);
  k.acquire('B', {.group = 1});
  k.acquire('C', {.group = 1});
  k.acquire('D', {.group = 1});
  EXPECT_EQ(k.stats(1).creating, 2);  // of a new group, at most half of the total at once
  EXPECT_EQ(k.created(0), "B has 0; create 2");
}

TEST_F(KernelGroups, C12ADeadHostLeavesHalfOfTheTotalToOthers) {
  EXPECT_EQ(k.acquire('A', {.group = 0}), "create 0");
  EXPECT_EQ(k.acquire('B', {.group = 0}), "create 1");
  EXPECT_EQ(k.acquire('C', {.group = 0}), "");          // these creates never end
  EXPECT_EQ(k.acquire('D', {.group = 1}), "create 2");  // a host that has never been tried
  EXPECT_EQ(k.created(2), "D has 2");
  EXPECT_EQ(k.acquire('E', {.group = 1}), "create 3");
  EXPECT_EQ(k.created(3), "E has 3");
}

TEST_F(KernelGroups, ATryThatHangsIsNoReasonToEvict) {
  for (const char name : {'A', 'B', 'C'}) {
    take(name, 0);
  }
  EXPECT_EQ(k.acquire('D', {.group = 1}), "create 3");
  k.created(3, false);
  EXPECT_EQ(k.tick(95), "create 3");
  EXPECT_EQ(k.release('A'), "");  // the total is reached
  EXPECT_EQ(k.tick(1000), "");
  EXPECT_EQ(k.flush(0), "destroy 0 (flushed)");
  EXPECT_EQ(k.destroyed(0), "");
  EXPECT_EQ(k.tick(50), "create 0");
}

TEST_F(KernelGroups, C12bAGroupIsGrantedOnlyWhatItCanUse) {
  k.limits({.max_size = 4, .min_idle = 0, .max_creating = 1}, 0);
  EXPECT_EQ(k.acquire('A', {.group = 0}), "create 0");
  EXPECT_EQ(k.acquire('B', {.group = 0}), "");
  EXPECT_EQ(k.stats(0).live, 1);
}

TEST_F(KernelGroups, ADeadHostIsServedInItsTurnWithinItsHalf) {
  take('A', 1);
  take('B', 1);
  take('C', 1);
  EXPECT_EQ(k.acquire('D', {.group = 0}), "create 3");  // never ends
  EXPECT_EQ(k.acquire('E', {.group = 0}), "");
  EXPECT_EQ(k.acquire('F', {.group = 1}), "");
  k.discard('A');
  EXPECT_EQ(k.destroyed(0), "create 0");
  EXPECT_EQ(k.stats(0).creating, 2);
  k.discard('B');
  EXPECT_EQ(k.destroyed(1), "create 1");
  EXPECT_EQ(k.created(1), "F has 1");
}

TEST_F(KernelGroups, WhileCreatesFailNoneTakesAResourceOfAGroupThatWorks) {
  take('A', 0);
  take('B', 0);
  take('C', 0);
  EXPECT_EQ(k.acquire('E', {.group = 1}), "create 3");
  EXPECT_EQ(k.created(3, false), "");
  take('D', 0);
  k.release('D');
  int waited = 0;
  for (; k.backs_off(1, /*is_asked=*/false); ++waited) {
    const auto all = k.tick(1);
    EXPECT_EQ(all, k.backs_off(1, /*is_asked=*/false) ? "" : "destroy 3 (surplus)");
  }
  EXPECT_GE(waited, 50);
  EXPECT_EQ(k.destroyed(3), "create 3");  // the pause has ended
  EXPECT_EQ(k.created(3, false), "");     // and now there is room
  const int wait = k.next_asked_try_in_ms(1);
  EXPECT_LE(wait, 95);
  EXPECT_EQ(k.tick(wait), "create 3");
  EXPECT_EQ(k.created(3), "E has 3");
}

TEST_F(KernelGroups, NothingIsEvictedForCreatesThatMayNotBegin) {
  k.acquire('A', {.group = 0});
  k.acquire('B', {.group = 0});  // these never end
  k.acquire('C', {.group = 0});
  k.acquire('D', {.group = 1});
  k.created(2);
  k.acquire('E', {.group = 1});
  k.created(3);
  k.release('D');
  k.tick(1);
  k.release('E');
  EXPECT_EQ(k.acquire('F', {.group = 2}), "destroy 2 (surplus)");
}

TEST_F(KernelGroups, GroupsAreTriedBesideDeadHosts) {
  k.acquire('A', {.group = 0});
  k.acquire('B', {.group = 0});
  EXPECT_EQ(k.acquire('C', {.group = 1}), "create 2");
  EXPECT_EQ(k.acquire('D', {.group = 1}), "");
  EXPECT_EQ(k.acquire('E', {.group = 2}), "create 3");
}

TEST_F(KernelGroups, AnUnusedGroupCanBeRemoved) {
  take('A', 1);
  EXPECT_FALSE(k.remove_group(1));
  k.release('A');
  EXPECT_FALSE(k.remove_group(1));  // it has an idle resource
  EXPECT_EQ(k.flush(1), "destroy 0 (flushed)");
  EXPECT_FALSE(k.remove_group(1));
  k.destroyed(0);
  EXPECT_TRUE(k.remove_group(1));
  EXPECT_EQ(k.acquire('B', {.group = 1}), "create 0");  // formerly the third group
}

TEST_F(KernelGroups, AGroupStaysUntilItsLastThreadHasLeft) {
  for (const char name : {'A', 'B', 'C', 'D'}) {
    take(name, 0);
  }
  k.acquire('E', {.group = 1});
  ASSERT_TRUE(k.give_up('E'));
  EXPECT_FALSE(k.remove_group(1));
  k.flush(1);  // the kernel finds that the wait has ended
  EXPECT_FALSE(k.remove_group(1));
  EXPECT_EQ(k.leave('E'), "");
  EXPECT_TRUE(k.remove_group(1));
}

TEST_F(KernelGroups, AFailingGroupStays) {
  k.acquire('a', {.group = 1});
  k.created(0, false);
  k.cancel('a');
  EXPECT_FALSE(k.remove_group(1));
}

TEST_F(KernelGroups, AThreadThatMayReleaseKeepsAllGroups) {
  k.beside_a_release([&] { EXPECT_FALSE(k.remove_group(2)); });
  EXPECT_TRUE(k.remove_group(2));
}

/// Three groups, and one resource in total.
class KernelGroupsOfOne : public KernelGroups {
 protected:
  KernelGroupsOfOne() : KernelGroups(1, 0) {}
};

// It does not matter how the busy threads end their leases.
TEST_F(KernelGroupsOfOne, B6ABusyKeyDoesNotStarveOthers) {
  using way = void (*)(kernel&, char);
  for (const way end : {way([](kernel&in, char name) { in.release(name); }),
                        way([](kernel&in, char name) { in.discard(name); }),
                        way([](kernel&in, char name) { in.detach(name); })}) {
    k.acquire('A', {.group = 0});
    k.end_tasks();
    k.acquire('B', {.group = 0});
    k.acquire('C', {.group = 1});
    k.acquire('D', {.group = 0});
    k.tick(1);
    for (const char name : {'A', 'B', 'C', 'D'}) {
      ASSERT_TRUE(k.holds(name));
      end(k, name);
      k.end_tasks();
    }
  }
}

TEST_F(KernelGroupsOfOne, B6AHostThatComesUpAgainIsServed) {
  k.acquire('A', {.group = 0});
  EXPECT_EQ(k.created(0, false), "");
  EXPECT_EQ(k.acquire('B', {.group = 1}), "create 0");
  EXPECT_EQ(k.created(0), "B has 0");
  EXPECT_EQ(k.release('B'), "");  // and stays idle
  EXPECT_EQ(k.tick(100), "destroy 0 (surplus)");
  EXPECT_EQ(k.destroyed(0), "create 0");
  EXPECT_EQ(k.created(0), "A has 0");
}

class KernelPreference : public KernelGroups {
 protected:
  KernelPreference() : KernelGroups(4, 5) {}
};

TEST_F(KernelPreference, AGroupKeepsItsReleasedResourcesForATime) {
  for (const char name : {'A', 'B', 'C', 'D'}) {
    take(name, 0);
  }
  k.acquire('E', {.group = 1});
  k.acquire('F', {.group = 0});
  k.acquire('G', {.group = 0});
  k.tick(5);
  EXPECT_EQ(k.release('A'), "F has 0");
  k.tick(1);
  EXPECT_EQ(k.release('B'), "destroy 1 (surplus)");
  EXPECT_EQ(k.release('C'), "G has 2");
}

}  // namespace
}  // namespace lido
