// Stale idle resources: which thread validates them, and for which waiters. docs/reference/tests.md
// explains the letters and numbers in test names.
#include <chrono>

#include "resource/kernel/kernel_fixture.hpp"

namespace lido {
namespace {

using namespace std::chrono_literals;
using test::kernel;

/// A pool with that many idle resources, all of them stale.
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
    test::fill(k, count);
    k.tick(500);
  }
  /// Makes two idle resources in a pool without threads.
  static void fill_by_threads(kernel& k) {
    for (const char name : {'A', 'B'}) {
      k.acquire(name);
    }
    for (const char name : {'A', 'B'}) {
      EXPECT_EQ(k.has_created(name, true).size(), 1U);  // and it needs no validation
      k.release(name);
    }
    k.tick(500);
  }
  kernel k{setup_of(maintenance::background)};  // NOLINT(*-non-private-member-*)
};

TEST_F(KernelValidation, AThreadAloneWithTheOnlyResourceValidatesIt) {
  k.limits({.max_size = 1, .min_idle = 0, .max_creating = 1});
  fill(k, 1);
  EXPECT_FALSE(k.acquire_fast('A'));
  EXPECT_EQ(k.acquire('A', {.for_ms = 1000}), "A validates 0");
  EXPECT_EQ(k.has_validated('A', true), "");
  EXPECT_EQ(k.release('A'), "");
}

TEST_F(KernelValidation, AResourceIsStaleAfterTheBypassWindow) {
  k.limits({.max_size = 1, .min_idle = 0, .max_creating = 1});
  fill(k, 1);
  k.acquire('A');
  k.has_validated('A', true);
  k.release('A');
  k.tick(499);
  EXPECT_TRUE(k.acquire_fast('A'));
  k.release('A');
  k.tick(499);
  EXPECT_TRUE(k.acquire_fast('A'));
  k.release('A');
  k.tick(500);
  EXPECT_FALSE(k.acquire_fast('A'));
  EXPECT_EQ(k.acquire('A'), "A validates 0");
}

TEST_F(KernelValidation, AnInvalidResourceEndsAndItsThreadIsFirstAgain) {
  k.limits({.max_size = 1, .min_idle = 0, .max_creating = 1});
  fill(k, 1);
  k.acquire('A');
  EXPECT_EQ(k.has_validated('A', false), "destroy 0 (invalid)");
  EXPECT_EQ(k.destroyed(0), "create 0");
  EXPECT_EQ(k.created(0), "A has 0");
}

TEST_F(KernelValidation, A11AThreadWithoutEnoughTimeLeavesItToTheRunner) {
  fill(k, 1);
  EXPECT_EQ(k.acquire('A', {.for_ms = 50}), "validate 0");
  EXPECT_EQ(k.validated(0), "A has 0");
}

TEST_F(KernelValidation, A11AThreadThatHasWaitedForLongLeavesItToTheRunner) {
  test::pool_setup setup = setup_of(maintenance::background);
  setup.options.max_size = 1;
  setup.options.validate_if_idle_longer_than = 0ms;
  kernel each(setup);
  each.acquire('A');
  EXPECT_EQ(each.created(0), "A has 0");
  EXPECT_EQ(each.acquire('B', {.for_ms = 120}), "");
  each.pass(50);
  EXPECT_EQ(each.release('A'), "validate 0");
  EXPECT_EQ(each.validated(0), "B has 0");
}

TEST_F(KernelValidation, ACallbackLeavesItToTheRunner) {
  fill(k, 1);
  EXPECT_EQ(k.acquire('a'), "validate 0");
  EXPECT_EQ(k.validated(0), "a has 0");
}

TEST_F(KernelValidation, A9AnAcquireWithoutTimeWaitsForTwoAnswersAtMost) {
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
  EXPECT_EQ(k.validated(0, false), "validate 2; destroy 0 (invalid)");  // only 2 is left
}

TEST_F(KernelValidation, C11ASilentResourceHoldsUpNoWaiter) {
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

// Each validation has its own time limit, which a later one does not extend.
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

// A hand-over is a use, too, and is preceded by a validation.
TEST_F(KernelValidation, A7ACallbackWhoseResourceIsInvalidGetsAnother) {
  test::pool_setup setup = setup_of(maintenance::background);
  setup.options.max_size = 1;
  setup.options.validate_if_idle_longer_than = 0ms;
  kernel each(setup);
  each.acquire('a');
  each.acquire('b');
  each.acquire('c');
  EXPECT_EQ(each.created(0), "a has 0");  // a new resource needs no validation
  EXPECT_EQ(each.release('a'), "validate 0");
  EXPECT_EQ(each.validated(0, false), "destroy 0 (invalid)");
  EXPECT_EQ(each.destroyed(0), "create 0");
  EXPECT_EQ(each.created(0), "b has 0");
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
  fill_by_threads(manual);
  manual.suspend();
  manual.acquire('A');
  manual.acquire('B');
  manual.tick(500);
  EXPECT_EQ(manual.suspend(false), "A validates 0; B validates 1");
}

TEST_F(KernelValidation, A9AThreadWithoutTimeFindsTheValidResourceItself) {
  kernel manual(setup_of(maintenance::by_tick));
  fill_by_threads(manual);
  EXPECT_EQ(manual.acquire('A', {.for_ms = 0}), "A validates 0");
  EXPECT_EQ(manual.has_validated('A', false), "destroy 0 (invalid); A validates 1");
}

// The answer came too late. It freed a slot, but the thread has no time left to create.
TEST_F(KernelValidation, NoCreateBeginsForAThreadWhoseTimeIsUp) {
  kernel manual(setup_of(maintenance::by_tick));
  manual.acquire('A');
  manual.has_created('A', true);
  manual.release('A');
  manual.tick(500);
  EXPECT_EQ(manual.acquire('A', {.for_ms = 50}), "A validates 0");
  manual.pass(60);
  EXPECT_EQ(manual.has_validated('A', false), "destroy 0 (invalid); A fails: timed out");
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

// pgx #2394, HikariCP #234: several dead connections, and an acquire waits for each of them.
TEST_F(KernelValidation, AFreshResourceIsMadeInPlaceOfOneWhereTwoDoNotAnswer) {
  k.limits({.max_size = 4, .min_idle = 0, .max_creating = 1});
  fill(k, 4);
  EXPECT_EQ(k.acquire('a'), "validate 0");
  EXPECT_EQ(k.tick(20), "validate 1");
  EXPECT_EQ(k.tick(20), "");
  EXPECT_EQ(k.next_timer_in_ms(), 40);
  EXPECT_EQ(k.tick(40), "destroy 2 (invalid)");
  EXPECT_EQ(k.tick(40), "");  // one for each waiter
  EXPECT_EQ(k.destroyed(2), "create 2");
  EXPECT_EQ(k.created(2), "a has 2");
  EXPECT_EQ(k.validated(0, false), "destroy 0 (invalid)");  // by its own validation
  EXPECT_EQ(k.validated(1), "");
  EXPECT_EQ(k.stats().idle, 2);
}

TEST_F(KernelValidation, OneLostAnswerEndsNoOtherResource) {
  fill(k, 4);
  EXPECT_EQ(k.acquire('a'), "validate 0");
  EXPECT_EQ(k.tick(20), "validate 1");
  EXPECT_EQ(k.validated(1), "a has 1");
  EXPECT_EQ(k.tick(500), "");
  EXPECT_EQ(k.validated(0), "");
  EXPECT_EQ(k.stats().live, 4);
}

TEST_F(KernelValidation, ADistantServerIsNotTakenForASilentOne) {
  k.limits({.max_size = 4, .min_idle = 0, .max_creating = 1});
  fill(k, 4);
  for (int i = 0; i < 3; ++i) {
    EXPECT_EQ(k.acquire('a'), "validate 0");
    EXPECT_EQ(k.tick(20), "validate 1");
    EXPECT_EQ(k.tick(55), "");  // answers take 75 ms
    EXPECT_EQ(k.validated(0), "a has 0");
    EXPECT_EQ(k.validated(1), "");
    EXPECT_EQ(k.release('a'), "");
    k.tick(500);
  }
  EXPECT_EQ(k.acquire('a'), "validate 0");
  EXPECT_EQ(k.tick(20), "validate 1");
  EXPECT_EQ(k.tick(200), "");
  EXPECT_EQ(k.stats().live, 4);
}

}  // namespace
}  // namespace lido
