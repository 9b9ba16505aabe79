// Stale idle resources: which thread validates them, and for which waiters.
#include <chrono>

#include "resource/kernel/kernel_fixture.hpp"

namespace lido {
namespace {

using namespace std::chrono_literals;
using test::kernel;

/// A pool with so many idle resources, all of them stale.
class KernelValidation : public ::testing::Test {
 protected:
  static test::pool_setup setup_of(maintenance by) {
    return {.options = {.max_size = 4,
                        .validate_timeout = 100ms,
                        .keepalive = 0ms,
                        .validate_if_idle_longer_than = 500ms,
                        .max_creating = 4,
                        .maintenance = by},
            .validates = true};
  }
  static void fill(kernel& k, std::uint32_t count) {
    for (std::uint32_t i = 0; i < count; ++i) {
      k.acquire(static_cast<char>('a' + i));
    }
    for (std::uint32_t i = 0; i < count; ++i) {
      k.created(i);
    }
    for (std::uint32_t i = 0; i < count; ++i) {
      k.release(static_cast<char>('a' + i));
    }
    k.tick(500);
  }
  kernel k{setup_of(maintenance::background)};  // NOLINT(*-non-private-member-*)
};

TEST_F(KernelValidation, AThreadAloneWithTheOnlyResourceValidatesIt) {
  fill(k, 1);
  EXPECT_FALSE(k.acquire_fast('A'));
  EXPECT_EQ(k.acquire('A', {.for_ms = 1000}), "A validates 0");
  EXPECT_EQ(k.has_validated('A', true), "");
  EXPECT_EQ(k.release('A'), "");
}

TEST_F(KernelValidation, AnInvalidResourceEndsAndItsThreadIsFirstAgain) {
  fill(k, 1);
  k.acquire('A');
  EXPECT_EQ(k.has_validated('A', false), "destroy 0 (invalid); create 1");
  EXPECT_EQ(k.created(1), "A has 1");
}

TEST_F(KernelValidation, AThreadWithoutEnoughTimeLeavesItToTheRunner) {
  fill(k, 1);
  EXPECT_EQ(k.acquire('A', {.for_ms = 50}), "validate 0");
  EXPECT_EQ(k.validated(0), "A has 0");
}

TEST_F(KernelValidation, ACallbackLeavesItToTheRunner) {
  fill(k, 1);
  EXPECT_EQ(k.acquire('a'), "validate 0");
  EXPECT_EQ(k.validated(0), "a has 0");
}

TEST_F(KernelValidation, AnAcquireWithoutTimeWaitsForTwoAnswersAtMost) {
  fill(k, 3);
  EXPECT_EQ(k.acquire('A', {.for_ms = 0}), "validate 0");
  EXPECT_EQ(k.tick(20), "validate 1");
  EXPECT_EQ(k.validated(1), "A has 1");
  EXPECT_EQ(k.acquire('B', {.for_ms = 0}), "validate 2");
  EXPECT_EQ(k.tick(39), "create 3");
  EXPECT_EQ(k.tick(1), "B fails: timed out");
}

TEST_F(KernelValidation, TheRunnerValidatesOneOfSeveralForEachWaiter) {
  fill(k, 3);
  EXPECT_EQ(k.acquire('A'), "validate 0");
  EXPECT_EQ(k.acquire('B'), "validate 1");
  EXPECT_EQ(k.validated(1), "A has 1");
  EXPECT_EQ(k.validated(0, false), "B validates 2; destroy 0 (invalid)");  // only 2 is left
}

TEST_F(KernelValidation, ASilentResourceHoldsUpNoWaiter) {
  fill(k, 2);
  EXPECT_EQ(k.acquire('A'), "validate 0");
  EXPECT_EQ(k.next_timer_in_ms(), 20);
  EXPECT_EQ(k.tick(19), "");
  EXPECT_EQ(k.tick(1), "validate 1");
  EXPECT_EQ(k.tick(19), "");
  EXPECT_EQ(k.tick(1), "create 2");
  EXPECT_EQ(k.created(2), "A has 2");
  EXPECT_EQ(k.validated(0), "");
}

// Each validation has its own time limit, which a younger one does not extend.
TEST_F(KernelValidation, ASilentResourceHoldsUpNoWaiterBesideAYoungerValidation) {
  fill(k, 2);
  EXPECT_EQ(k.acquire('A'), "validate 0");
  k.tick(15);
  EXPECT_EQ(k.acquire('B'), "validate 1");
  EXPECT_EQ(k.tick(5), "create 2");
  EXPECT_EQ(k.tick(15), "create 3");
}

TEST_F(KernelValidation, SilentResourcesAreValidatedUpToALimit) {
  k.limits({.max_size = 4, .min_idle = 0, .max_creating = 4});
  fill(k, 4);
  k.limits({.max_size = 4, .min_idle = 0, .max_creating = 1});
  EXPECT_EQ(k.acquire('A'), "validate 0");
  EXPECT_EQ(k.tick(20), "validate 1");
  EXPECT_EQ(k.tick(20), "");
  EXPECT_EQ(k.validated(1, false), "validate 2; destroy 1 (invalid)");
}

TEST_F(KernelValidation, AnAcquirerIsServedBesideAResourceUnderValidation) {
  fill(k, 2);
  EXPECT_EQ(k.acquire('A'), "validate 0");
  EXPECT_EQ(k.acquire('B'), "validate 1");
  EXPECT_EQ(k.validated(1), "A has 1");
  EXPECT_EQ(k.release('A'), "B has 1");  // at once, although 0 is still validated
  EXPECT_EQ(k.validated(0), "");
  EXPECT_TRUE(k.acquire_fast('A'));
}

TEST_F(KernelValidation, EachUseByAWaiterIsValidatedToo) {
  test::pool_setup setup = setup_of(maintenance::background);
  setup.options.max_size = 1;
  setup.options.validate_if_idle_longer_than = 0ms;
  kernel each(setup);
  each.acquire('a');
  each.acquire('b');
  each.acquire('c');
  EXPECT_EQ(each.created(0), "a has 0");  // a new resource needs no validation
  EXPECT_EQ(each.release('a'), "validate 0");
  EXPECT_EQ(each.validated(0), "b has 0");
  EXPECT_EQ(each.release('b'), "validate 0");
  EXPECT_EQ(each.validated(0), "c has 0");
}

TEST_F(KernelValidation, ASuspendedPoolValidatesForNoWaiter) {
  fill(k, 2);
  k.acquire('A');
  k.acquire('B');
  k.suspend();
  k.validated(0, false);
  EXPECT_EQ(k.acquire('C'), "");
}

TEST_F(KernelValidation, InAPoolWithoutThreadsEachThreadValidatesForItself) {
  kernel manual(setup_of(maintenance::by_tick));
  for (const char name : {'A', 'B'}) {
    manual.acquire(name);
  }
  for (const char name : {'A', 'B'}) {
    manual.has_created(name, true);
    manual.release(name);
  }
  manual.suspend();
  manual.acquire('A');
  manual.acquire('B');
  manual.tick(500);
  EXPECT_EQ(manual.suspend(false), "A validates 0; B validates 1");
}

TEST_F(KernelValidation, ValidationsOfAnOldFactoryCountNoMore) {
  k.limits({.max_size = 4, .min_idle = 0, .max_creating = 1});
  fill(k, 2);
  EXPECT_EQ(k.acquire('a'), "validate 0");
  EXPECT_EQ(k.acquire('b'), "validate 1");
  EXPECT_EQ(k.replace_factory(), "");
  EXPECT_EQ(k.tick(20), "create 2");
  EXPECT_EQ(k.created(2), "a has 2; create 3");
  EXPECT_EQ(k.created(3), "b has 3");
  EXPECT_EQ(k.release('a'), "");
  k.tick(500);
  EXPECT_EQ(k.acquire('a'), "validate 2");
  EXPECT_EQ(k.validated(0), "destroy 0 (flushed)");
  EXPECT_EQ(k.validated(2), "a has 2");
}

TEST_F(KernelValidation, AWaiterWithAValidationDoesNotCountTowardsTheLimit) {
  test::pool_setup setup = setup_of(maintenance::background);
  setup.options.max_size = 2;
  setup.options.max_waiters = 1;
  kernel few(setup);
  fill(few, 2);
  EXPECT_EQ(few.acquire('a'), "validate 0");
  EXPECT_EQ(few.acquire('b'), "validate 1");
  EXPECT_EQ(few.acquire('c'), "");
  EXPECT_EQ(few.acquire('d'), "d fails: too many");
}

// ---- ages
// -----------------------------------------------------------------------------------------

class KernelAges : public ::testing::Test {
 protected:
  static resource_pool_options fresh(resource_pool_options options) {
    options.validate_if_idle_longer_than = 1h;
    return options;
  }
  static void fill(kernel& k, std::uint32_t count) {
    for (std::uint32_t i = 0; i < count; ++i) {
      k.acquire(static_cast<char>('a' + i));
      k.created(i);
    }
    for (std::uint32_t i = 0; i < count; ++i) {
      k.release(static_cast<char>('a' + i));
    }
    k.tick(0);
  }
};

TEST_F(KernelAges, AnIdleResourceEndsAfterIdleTimeout) {
  kernel k({.options = fresh({.max_size = 3, .idle_timeout = 1000ms, .keepalive = 0ms})});
  fill(k, 2);
  EXPECT_EQ(k.tick(999), "");
  EXPECT_TRUE(k.acquire_fast('A'));
  EXPECT_EQ(k.release('A'), "");  // 0 was used again
  EXPECT_EQ(k.tick(251), "destroy 1 (idle too long)");
  EXPECT_EQ(k.destroyed(1), "");
  EXPECT_EQ(k.tick(1000), "destroy 0 (idle too long)");
}

TEST_F(KernelAges, MinIdleResourcesStayIdle) {
  kernel k(
      {.options = fresh({.max_size = 3, .min_idle = 1, .idle_timeout = 1000ms, .keepalive = 0ms})});
  k.acquire('A');
  k.created(0);
  k.acquire('B');
  k.created(1);
  k.acquire('C');
  k.created(2);
  for (const char name : {'A', 'B', 'C'}) {
    k.release(name);
  }
  EXPECT_EQ(k.tick(1000), "destroy 0 (idle too long); destroy 1 (idle too long)");
  k.destroyed(0);
  k.destroyed(1);
  EXPECT_EQ(k.tick(1000), "");
  EXPECT_EQ(k.stats().idle, 1);
}

TEST_F(KernelAges, AnOldResourceEndsIdleOrWhenItComesBack) {
  kernel k({.options = fresh({.max_size = 3,
                              .idle_timeout = 0ms,
                              .max_lifetime = 1000ms,
                              .lifetime_jitter = 0,
                              .keepalive = 0ms})});
  fill(k, 2);
  k.acquire_fast('A');
  EXPECT_EQ(k.tick(1000), "destroy 1 (too old)");
  EXPECT_EQ(k.release('A'), "destroy 0 (too old)");
}

TEST_F(KernelAges, JitterTakesPartOfTheLifetime) {
  kernel k({.options = fresh({.max_size = 20,
                              .idle_timeout = 0ms,
                              .max_lifetime = 1000ms,
                              .lifetime_jitter = 0.5,
                              .keepalive = 0ms})});
  fill(k, 20);
  EXPECT_EQ(k.tick(499), "");
  const std::size_t half = k.tick(251).size();
  EXPECT_GT(half, 2U);
  EXPECT_LT(half, 18U);
  EXPECT_EQ(k.tick(500).size(), 20 - half);
}

TEST_F(KernelAges, AnOldResourceIsNotGivenToAWaiter) {
  kernel k({.options = fresh({.max_size = 1,
                              .idle_timeout = 0ms,
                              .max_lifetime = 1000ms,
                              .lifetime_jitter = 0,
                              .keepalive = 0ms})});
  fill(k, 1);
  k.pass(1000);
  EXPECT_EQ(k.acquire('A'), "destroy 0 (too old)");
  EXPECT_EQ(k.destroyed(0), "create 0");
}

TEST_F(KernelAges, KeepaliveValidatesIdleResources) {
  kernel k({.options = {.max_size = 3,
                        .idle_timeout = 0ms,
                        .keepalive = 1000ms,
                        .validate_if_idle_longer_than = 100000ms,
                        .max_creating = 2},
            .validates = true});
  fill(k, 3);
  EXPECT_EQ(k.tick(1000), "validate 0; validate 1");  // max_creating at once
  EXPECT_EQ(k.validated(0), "");
  EXPECT_EQ(k.validated(1, false), "destroy 1 (invalid)");
  EXPECT_EQ(k.tick(250), "validate 2");
  EXPECT_EQ(k.validated(2), "");
  EXPECT_EQ(k.tick(500), "");
}

TEST_F(KernelAges, AUsedUpResourceEnds) {
  kernel k({.options = fresh({.max_size = 1, .max_uses = 2})});
  fill(k, 1);
  k.acquire_fast('A');
  EXPECT_EQ(k.release('A'), "destroy 0 (used up)");
}

TEST_F(KernelAges, AResetBelongsToTheRunner) {
  kernel k({.options = {.max_size = 1}, .resets = true});
  k.acquire('A');
  k.created(0);
  k.acquire('B');
  EXPECT_EQ(k.release('A'), "reset 0");
  EXPECT_EQ(k.was_reset(0), "B has 0");
  EXPECT_EQ(k.release('B'), "reset 0");
  EXPECT_EQ(k.was_reset(0, false), "destroy 0 (reset refused)");
}

// ---- leases
// ---------------------------------------------------------------------------------------

TEST_F(KernelAges, ALongLeaseIsReportedOnceAndWhenItComesBack) {
  kernel k({.options =
                fresh({.max_size = 1, .report_slow_after = 1000ms, .report_leak_after = 2000ms})});
  fill(k, 1);
  k.acquire_fast('A');
  EXPECT_EQ(k.tick(999), "");
  EXPECT_EQ(k.tick(251), "slow 0");
  EXPECT_EQ(k.tick(250), "");
  EXPECT_EQ(k.tick(500), "leak 0");
  EXPECT_EQ(k.tick(5000), "");
  EXPECT_EQ(k.stats().suspected_leaks, 1);
  EXPECT_EQ(k.release('A'), "returned 0");
  EXPECT_TRUE(k.acquire_fast('A'));
  EXPECT_EQ(k.release('A'), "");
}

TEST_F(KernelAges, AnExtendedLeaseIsReportedLater) {
  kernel k({.options = fresh({.max_size = 2, .report_slow_after = 1000ms})});
  fill(k, 2);
  k.acquire_fast('A');
  k.acquire_fast('B');
  k.extend('A', 1000);
  k.extend('B', kernel::never);
  EXPECT_EQ(k.tick(1999), "");
  EXPECT_EQ(k.tick(251), "slow 0");
  EXPECT_EQ(k.tick(100000), "");
}

TEST_F(KernelAges, TheLongestLeasesAreKnown) {
  kernel k({.options = fresh({.max_size = 6})});
  fill(k, 6);
  for (char name = 'A'; name < 'G'; ++name) {
    k.acquire_fast(name);
    k.tick(1000);
  }
  k.tick(1000);
  k.tick(1000);
  k.release('B');
  const auto longest = k.longest_leases();
  ASSERT_EQ(longest.size(), 3U);  // four are noted, one has come back
  EXPECT_EQ(longest[0].thread, 1U);
  EXPECT_EQ(longest[1].thread, 3U);
  EXPECT_EQ(longest[0].held_for, 8000ms);
}

}  // namespace
}  // namespace lido
