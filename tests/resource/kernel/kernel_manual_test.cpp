// Pools without threads. docs/reference/tests.md explains the letters and numbers in test names.
#include <chrono>

#include "resource/kernel/kernel_fixture.hpp"

namespace lido {
namespace {

using namespace std::chrono_literals;
using test::kernel;

class KernelManual : public ::testing::Test {
 protected:
  kernel k{{.options = {.max_size = 2,
                        .max_creating = 2,
                        .retry_first = 100ms,
                        .maintenance = maintenance::by_tick}}};  // NOLINT(*-non-private-member-*)
};

TEST_F(KernelManual, AThreadIsToldToCreate) {
  EXPECT_EQ(k.acquire('A'), "A creates 0");
  EXPECT_EQ(k.has_created('A', true), "A has 0");
  EXPECT_EQ(k.release('A'), "");
}

TEST_F(KernelManual, AThreadThatFailsIsFirstAgain) {
  EXPECT_EQ(k.acquire('A'), "A creates 0");
  EXPECT_EQ(k.acquire('B'), "B creates 1");
  EXPECT_EQ(k.acquire('C'), "");
  EXPECT_EQ(k.has_created('A', false), "call C");               // for the next try
  EXPECT_EQ(k.has_created('B', true), "B has 1; A creates 0");  // the backoff has ended
  EXPECT_EQ(k.has_created('A', false), "");
  EXPECT_EQ(k.release('B'), "A has 1");
  EXPECT_EQ(k.tick(100), "C creates 0");
}

TEST_F(KernelManual, A9AReleaseServesOthersBesideAThreadThatCreates) {
  k.acquire('A');
  k.has_created('A', true);
  EXPECT_EQ(k.acquire('B'), "B creates 1");
  EXPECT_EQ(k.acquire('C'), "");
  EXPECT_EQ(k.release('A'), "C has 0");
  EXPECT_EQ(k.release('C'), "");
  EXPECT_TRUE(k.acquire_fast('D'));
  EXPECT_EQ(k.has_created('B', true), "B has 1");
}

TEST_F(KernelManual, A9AThreadWhoseCreateFailsGetsAReleasedResource) {
  k.acquire('A');
  k.has_created('A', true);
  EXPECT_EQ(k.acquire('B'), "B creates 1");
  EXPECT_EQ(k.release('A'), "");
  EXPECT_EQ(k.has_created('B', false), "B has 0");
}

TEST_F(KernelManual, APermanentFailureRefusesTheThreadThatCreates) {
  k.acquire('A');
  EXPECT_EQ(k.has_created('A', false, /*permanent=*/true), "A fails: create failed");
}

// apache/commons-pool PR #346.
TEST_F(KernelManual, A15ASleepingThreadIsWokenForTheNextTry) {
  k.limits({.max_size = 1, .min_idle = 0, .max_creating = 1});
  EXPECT_EQ(k.acquire('A', {.for_ms = 0}), "A creates 0");
  EXPECT_EQ(k.acquire('B'), "");
  EXPECT_EQ(k.acquire('C'), "");
  EXPECT_EQ(k.has_created('A', false), "call B; A fails: timed out");
  EXPECT_EQ(k.look('B'), "");
  ASSERT_TRUE(k.give_up('B'));
  EXPECT_EQ(k.leave('B'), "call C");
  k.pass(100);
  EXPECT_EQ(k.look('C'), "C creates 0");
}

TEST_F(KernelManual, ASleepingThreadIsWokenToTryBesideOneWhoseCreateHangs) {
  k.limits({.max_size = 3, .min_idle = 0, .max_creating = 2});
  k.acquire('A');
  EXPECT_EQ(k.acquire('B'), "B creates 0");
  EXPECT_EQ(k.acquire('C'), "");
  EXPECT_EQ(k.acquire('D'), "");
  EXPECT_EQ(k.has_created('A', false), "call C");  // to sleep until the next try
  k.pass(94);
  EXPECT_EQ(k.look('C'), "");
  EXPECT_EQ(k.next_timer_in_ms(), 1);
  k.pass(1);
  EXPECT_EQ(k.tick(0), "A creates 2");
  EXPECT_EQ(k.tick(1000), "");  // two at once
}

TEST_F(KernelManual, AThreadThatLooksEndsLateWaits) {
  k.limits({.max_size = 1, .min_idle = 0, .max_creating = 1});
  k.acquire('A');
  k.has_created('A', true);
  EXPECT_EQ(k.acquire('B'), "");
  EXPECT_EQ(k.acquire('c', {.for_ms = 5}), "");
  k.pass(10);
  EXPECT_EQ(k.look('B'), "c fails: timed out");
  EXPECT_EQ(k.next_timer_in_ms(), kernel::never);
}

TEST_F(KernelManual, CreatesOfCallbacksAreTasks) {
  EXPECT_EQ(k.acquire('a'), "create 0");
  EXPECT_EQ(k.acquire('B'), "create 1");  // a is first
  EXPECT_EQ(k.created(0), "a has 0");
}

TEST_F(KernelManual, AResourceMadeBeforeAFlushEndsAndItsThreadIsFirstAgain) {
  k.acquire('A');
  EXPECT_EQ(k.flush(), "");
  EXPECT_EQ(k.has_created('A', true), "destroy 0 (flushed); A creates 1");
}

// A thread that creates is in no queue, where its claim to the reserve would be seen.
TEST_F(KernelManual, TheReserveServesTheUrgentThreadThatCreates) {
  kernel with_reserve(
      {.options = {.max_size = 1, .reserve = 1, .maintenance = maintenance::by_tick}});
  with_reserve.acquire('A');
  with_reserve.has_created('A', true);
  EXPECT_EQ(with_reserve.acquire('B'), "");
  EXPECT_EQ(with_reserve.acquire('C', {.is_urgent = true}), "C creates 1");
  EXPECT_EQ(with_reserve.acquire('D', {.is_urgent = true}), "");  // the reserve is in use
  EXPECT_EQ(with_reserve.has_created('C', true), "C has 1");
  EXPECT_EQ(with_reserve.release('C'), "D has 1");
  EXPECT_EQ(with_reserve.release('D'), "destroy 1 (surplus)");
  EXPECT_EQ(with_reserve.destroyed(1), "");
  EXPECT_EQ(with_reserve.release('A'), "B has 0");
}

TEST_F(KernelManual, AResourceBeyondASmallerLimitEndsThoughItsThreadWaits) {
  k.acquire('A');
  k.has_created('A', true);
  EXPECT_EQ(k.acquire('B'), "B creates 1");
  EXPECT_EQ(k.limits({.max_size = 1, .min_idle = 0, .max_creating = 1}), "");
  EXPECT_EQ(k.has_created('B', true), "destroy 1 (surplus)");
  EXPECT_EQ(k.destroyed(1), "");
  EXPECT_EQ(k.release('A'), "B has 0");
}

TEST_F(KernelManual, CreatesOfThreadsDoNotCountForOthers) {
  k.limits({.max_size = 3, .min_idle = 0, .max_creating = 3});
  EXPECT_EQ(k.acquire('A'), "A creates 2");
  EXPECT_EQ(k.acquire('b'), "create 0");
  EXPECT_EQ(k.acquire('c'), "create 1");
}

}  // namespace
}  // namespace lido
