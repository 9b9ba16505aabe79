// Threads that wait, and threads that run and overtake them. docs/reference/tests.md explains the
// letters and numbers in test names.
#include <chrono>

#include "resource/kernel/kernel_fixture.hpp"

namespace lido {
namespace {

using namespace std::chrono_literals;
using test::kernel;

constexpr test::wait_setup looks{.may_look = true};

class KernelOvertaking : public ::testing::Test {
 protected:
  KernelOvertaking() {
    k.acquire('A');
    k.created(0);
  }
  kernel k{{.options = {.max_size = 1}}};  // NOLINT(*-non-private-member-*)
};

class KernelOvertakingOfTwo : public ::testing::Test {
 protected:
  KernelOvertakingOfTwo() {
    k.acquire('A');
    k.created(0);
    k.acquire('B');
    k.created(1);
  }
  kernel k{{.options = {.max_size = 2}}};  // NOLINT(*-non-private-member-*)
};

TEST_F(KernelOvertaking, TheFirstWaiterIsWokenAndLooksForItself) {
  k.acquire('B', looks);
  k.acquire('C', looks);
  EXPECT_EQ(k.release('A'), "call B");
  EXPECT_EQ(k.look('B'), "B has 0");
  EXPECT_EQ(k.release('B'), "call C");
  EXPECT_EQ(k.look('C'), "C has 0");
}

TEST_F(KernelOvertaking, AThreadThatRunsMayTakeTheResourceBefore) {
  k.acquire('B', looks);
  EXPECT_EQ(k.release('A'), "call B");
  EXPECT_TRUE(k.acquire_fast('D'));
  EXPECT_EQ(k.look('B'), "");
  EXPECT_EQ(k.release('D'), "call B");
  EXPECT_EQ(k.look('B'), "B has 0");
}

TEST_F(KernelOvertaking, SoMayAThreadThatHasJustJoinedTheQueue) {
  k.acquire('B', looks);
  EXPECT_EQ(k.release('A'), "call B");
  EXPECT_EQ(k.acquire('C', looks), "C has 0");
  EXPECT_EQ(k.look('B'), "");
}

TEST_F(KernelOvertaking, ACallbackMayNot) {
  k.acquire('B', looks);
  EXPECT_EQ(k.release('A'), "call B");
  EXPECT_EQ(k.acquire('c'), "");
  EXPECT_EQ(k.look('B'), "B has 0");
  EXPECT_EQ(k.release('B'), "c has 0");
}

TEST_F(KernelOvertaking, AWaiterThatIsAwakeIsNotWokenAgain) {
  k.acquire('B', looks);
  EXPECT_EQ(k.release('A'), "call B");
  EXPECT_TRUE(k.acquire_fast('D'));
  EXPECT_EQ(k.release('D'), "");
  EXPECT_EQ(k.look('B'), "B has 0");
}

// The bound of A6.
TEST_F(KernelOvertaking, A6TheFirstWaiterIsHandedAResourceAfterHalfAMillisecond) {
  k.acquire('B', looks);
  k.pass_us(499);
  EXPECT_EQ(k.release('A'), "call B");
  EXPECT_TRUE(k.acquire_fast('D'));
  k.pass_us(1);
  EXPECT_EQ(k.release('D'), "B has 0");
}

TEST_F(KernelOvertakingOfTwo, OneWaiterIsHandedAResourceEveryHundredMicroseconds) {
  for (const char name : {'C', 'D', 'E'}) {
    k.acquire(name, looks);
  }
  k.pass(1);
  EXPECT_EQ(k.release('A'), "C has 0");
  EXPECT_EQ(k.release('B'), "call D");
  EXPECT_TRUE(k.acquire_fast('F'));
  k.pass_us(100);
  EXPECT_EQ(k.release('F'), "D has 1");
  k.pass_us(99);
  EXPECT_EQ(k.release('C'), "call E");
}

TEST_F(KernelOvertakingOfTwo, NoMoreWaitersAreWokenThanResourcesAreIdle) {
  for (const char name : {'C', 'D', 'E'}) {
    k.acquire(name, looks);
  }
  EXPECT_EQ(k.release('A'), "call C");
  EXPECT_TRUE(k.acquire_fast('F'));
  EXPECT_EQ(k.release('F'), "");
  EXPECT_EQ(k.release('B'), "call D");
  EXPECT_EQ(k.look('C'), "C has 0");
  EXPECT_EQ(k.look('D'), "D has 1");
}

TEST_F(KernelOvertaking, ACallbackIsHandedTheResourceInItsTurn) {
  k.acquire('b');
  k.acquire('C', looks);
  EXPECT_EQ(k.release('A'), "b has 0");
  EXPECT_EQ(k.release('b'), "call C");
}

TEST_F(KernelOvertaking, SoIsAThreadThatMayNotLook) {
  k.acquire('B', {.may_look = false});
  EXPECT_EQ(k.release('A'), "B has 0");
}

TEST_F(KernelOvertakingOfTwo, HandOversToCallbacksDoNotDelayThoseToThreads) {
  k.acquire('c');
  k.acquire('D', looks);
  k.pass(1);
  EXPECT_EQ(k.release('A'), "c has 0");
  EXPECT_EQ(k.release('B'), "D has 1");
}

TEST_F(KernelOvertaking, AWaiterIsNotWokenNeedlessly) {
  k.acquire('B', looks);
  k.acquire('C', {.for_ms = 10, .may_look = true});
  EXPECT_EQ(k.tick(10), "C fails: timed out");
  EXPECT_EQ(k.tick(10), "");
}

TEST_F(KernelOvertaking, AWaiterIsNotServedAfterItsTime) {
  k.acquire('B', {.for_ms = 1, .may_look = true});
  EXPECT_EQ(k.release('A'), "call B");
  k.pass(1);
  EXPECT_EQ(k.look('B'), "B fails: timed out");
  EXPECT_TRUE(k.acquire_fast('D'));
}

// boostorg/mysql #509: a waiter that gives up swallows the wake-up of the next.
TEST_F(KernelOvertaking, A2TheNextIsWokenWhenAWokenWaiterGivesUp) {
  k.acquire('B', looks);
  k.acquire('C', looks);
  EXPECT_EQ(k.release('A'), "call B");
  ASSERT_TRUE(k.give_up('B'));
  EXPECT_EQ(k.leave('B'), "call C");
  EXPECT_EQ(k.look('C'), "C has 0");
}

TEST_F(KernelOvertaking, TheNextIsWokenWhenAWokenWaiterIsRefused) {
  k.acquire('B', looks);
  k.acquire('C', looks);
  EXPECT_EQ(k.release('A'), "call B");
  EXPECT_EQ(k.cancel('B'), "B fails: cancelled; call C");
}

TEST_F(KernelOvertaking, NoMoreResourcesAreMadeThanWaitersNeed) {
  kernel large({.options = {.max_size = 10, .max_creating = 10}});
  EXPECT_EQ(large.acquire('A', looks), "create 0");
  EXPECT_EQ(large.created(0), "call A");
  EXPECT_EQ(large.tick(1), "");
  EXPECT_EQ(large.look('A'), "A has 0");
  EXPECT_EQ(large.tick(1), "");
}

TEST(KernelOvertakingStale, AStaleResourceIsValidatedForAWaiterThatSleeps) {
  kernel k({.options = {.max_size = 1, .validate_if_idle_longer_than = 0ms}, .validates = true});
  k.acquire('A');
  k.created(0);
  k.acquire('B', looks);
  k.acquire('C', looks);
  EXPECT_EQ(k.release('A'), "validate 0");
  EXPECT_EQ(k.validated(0), "B has 0");
}

}  // namespace
}  // namespace lido
