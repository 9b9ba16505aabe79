// Control of a pool: kills, limits, suspensions, and its close.
#include <chrono>

#include "resource/kernel/kernel_fixture.hpp"

namespace lido {
namespace {

using namespace std::chrono_literals;
using test::kernel;

/// Three resources: 0 and 1 are held by A and B, 2 is idle.
class KernelControl : public ::testing::Test {
 protected:
  KernelControl() {
    for (const char name : {'A', 'B', 'C'}) {
      k.acquire(name);
    }
    for (const std::uint32_t slot : {0U, 1U, 2U}) {
      k.created(slot);
    }
    k.release('C');
  }
  kernel k{{.options = {.max_size = 3, .max_creating = 3}}};  // NOLINT(*-non-private-member-*)
};

TEST_F(KernelControl, AnIdleResourceIsKilledAtOnce) {
  EXPECT_EQ(k.kill(2), "destroy 2 (killed)");
  EXPECT_EQ(k.kill(2), "");
  EXPECT_EQ(k.destroyed(2), "");
}

TEST_F(KernelControl, AResourceInUseIsKilledWhenItComesBack) {
  EXPECT_EQ(k.kill(0), "");
  EXPECT_EQ(k.release('A'), "destroy 0 (killed)");
}

TEST_F(KernelControl, ASmallerPoolEndsIdleResourcesFirst) {
  EXPECT_EQ(k.limits({.max_size = 1, .min_idle = 0, .max_creating = 1}), "destroy 2 (surplus)");
  EXPECT_EQ(k.release('A'), "destroy 0 (surplus)");
  EXPECT_EQ(k.release('B'), "");
  EXPECT_EQ(k.stats().idle, 1);
}

TEST_F(KernelControl, ASmallerPoolSeesReleasesOnTheFastPath) {
  k.release('A');
  k.release('B');
  ASSERT_TRUE(k.acquire_fast('A'));
  ASSERT_TRUE(k.acquire_fast('B'));
  EXPECT_EQ(k.limits({.max_size = 1, .min_idle = 0, .max_creating = 1}), "destroy 2 (surplus)");
  EXPECT_EQ(k.release('A'), "destroy 0 (surplus)");
  EXPECT_EQ(k.release('B'), "");
}

TEST_F(KernelControl, ResourcesThatAreEndingAreNoSurplus) {
  EXPECT_EQ(k.discard('A'), "destroy 0 (discarded)");
  EXPECT_EQ(k.limits({.max_size = 2, .min_idle = 0, .max_creating = 1}), "");
  EXPECT_EQ(k.release('B'), "");
  EXPECT_EQ(k.stats().idle, 2);
}

TEST_F(KernelControl, ALargerPoolCreatesForItsWaiters) {
  k.acquire('C');
  k.acquire('D');
  k.acquire('E');
  EXPECT_EQ(k.limits({.max_size = 5, .min_idle = 0, .max_creating = 2}), "create 3; create 4");
  EXPECT_EQ(k.created(4), "D has 4");
}

TEST_F(KernelControl, APoolOfSizeZeroKeepsNothing) {
  EXPECT_EQ(k.limits({.max_size = 0, .min_idle = 0, .max_creating = 1}), "destroy 2 (surplus)");
  EXPECT_EQ(k.release('A'), "destroy 0 (surplus)");
  EXPECT_EQ(k.discard('B'), "destroy 1 (discarded)");
  for (const std::uint32_t slot : {0U, 1U, 2U}) {
    EXPECT_EQ(k.destroyed(slot), "");
  }
  EXPECT_EQ(k.acquire('A'), "");
  EXPECT_EQ(k.limits({.max_size = 1, .min_idle = 0, .max_creating = 1}), "create 2");
}

TEST_F(KernelControl, ASuspendedPoolGivesNothing) {
  EXPECT_EQ(k.suspend(), "");
  EXPECT_FALSE(k.acquire_fast('C'));
  EXPECT_EQ(k.acquire('C'), "");
  EXPECT_EQ(k.acquire('d'), "");
  EXPECT_EQ(k.acquire('E', {.for_ms = 0}), "E fails: timed out");
  EXPECT_EQ(k.release('A'), "");
  EXPECT_EQ(k.stats().idle, 2);
  EXPECT_EQ(k.suspend(false), "C has 0; d has 2");
}

TEST_F(KernelControl, ASuspendedPoolCreatesNothingForWaiters) {
  EXPECT_EQ(k.discard('A'), "destroy 0 (discarded)");
  EXPECT_EQ(k.destroyed(0), "");
  k.acquire('C');  // has 2
  k.suspend();
  EXPECT_EQ(k.acquire('D'), "");
  EXPECT_EQ(k.suspend(false), "create 0");
}

/// What may ask for a create: min_idle, and what ends or changes while the pool is suspended.
TEST(KernelSuspend, NothingIsCreatedUntilThePoolResumes) {
  struct row {
    const char* name;
    void (*act)(kernel&);
  };
  const row rows[] = {
      {"nothing", [](kernel&) {}},
      {"flush", [](kernel& k) { EXPECT_EQ(k.flush(), "destroy 1 (flushed)"); }},
      {"kill", [](kernel& k) { EXPECT_EQ(k.kill(1), "destroy 1 (killed)"); }},
      {"discard", [](kernel& k) { EXPECT_EQ(k.discard('A'), "destroy 0 (discarded)"); }},
      {"detach", [](kernel& k) { EXPECT_EQ(k.detach('A'), ""); }},
      {"replace the factory",
       [](kernel& k) { EXPECT_EQ(k.replace_factory(), "destroy 1 (flushed)"); }},
      {"a larger pool",
       [](kernel& k) {
         EXPECT_EQ(k.limits({.max_size = 6, .min_idle = 4, .max_creating = 6}), "");
       }},
      {"a waiter", [](kernel& k) { EXPECT_EQ(k.acquire('C'), ""); }},
      {"a callback", [](kernel& k) { EXPECT_EQ(k.acquire('c'), ""); }},
      {"an urgent waiter", [](kernel& k) { EXPECT_EQ(k.acquire('C', {.is_urgent = true}), ""); }},
      {"ticks",
       [](kernel& k) {
         k.flush();
         EXPECT_EQ(k.tick(1000), "");
         EXPECT_EQ(k.tick(60'000), "");
       }},
  };
  for (const auto by : {maintenance::background, maintenance::by_tick}) {
    for (const row& one : rows) {
      SCOPED_TRACE(one.name);
      kernel k({.options = {.max_size = 5, .reserve = 1, .max_creating = 5, .maintenance = by}});
      test::fill(k, 2);
      k.acquire('A');
      EXPECT_EQ(k.suspend(), "");
      EXPECT_EQ(k.limits({.max_size = 5, .min_idle = 2, .max_creating = 5}), "");
      one.act(k);
      while (!k.doomed().empty()) {
        EXPECT_EQ(k.destroyed(k.doomed().front()), "");
      }
      EXPECT_EQ(k.stats().creating, 0);
      k.suspend(false);
      k.tick(1);
      k.end_tasks();
      EXPECT_GE(k.stats().idle, 2U);
    }
  }
}

TEST(KernelSuspend, ACreateThatFailsMeanwhileIsNotTriedAgain) {
  kernel k({.options = {.max_size = 2, .min_idle = 1}});
  EXPECT_EQ(k.suspend(false), "create 0");
  EXPECT_EQ(k.suspend(), "");
  EXPECT_EQ(k.created(0, false), "");
  EXPECT_EQ(k.tick(60'000), "");
  EXPECT_EQ(k.suspend(false), "create 0");
}

TEST_F(KernelControl, OfManyThatFlushAGenerationOneDoes) {
  const std::uint32_t seen = k.generation();
  EXPECT_EQ(k.flush_of(seen), "destroy 2 (flushed)");
  EXPECT_EQ(k.flush_of(seen), "");
  EXPECT_EQ(k.destroyed(2), "");
  k.acquire('C');
  EXPECT_EQ(k.created(2), "C has 2");
  EXPECT_EQ(k.release('C'), "");
  EXPECT_EQ(k.flush_of(seen), "");  // 2 is younger
  EXPECT_EQ(k.release('A'), "destroy 0 (flushed)");
  EXPECT_EQ(k.flush_of(k.generation()), "destroy 2 (flushed)");
}

TEST_F(KernelControl, AnAdoptedResourceTakesTheRoomOfACreate) {
  EXPECT_EQ(k.adopt(), std::nullopt);
  EXPECT_EQ(k.discard('A'), "destroy 0 (discarded)");
  EXPECT_EQ(k.adopt(), std::nullopt);  // until it is gone
  EXPECT_EQ(k.destroyed(0), "");
  ASSERT_EQ(k.adopt(), 0U);
  EXPECT_EQ(k.adopt(), std::nullopt);
  EXPECT_EQ(k.acquire('C'), "C has 2");
  EXPECT_EQ(k.acquire('D'), "");
  EXPECT_EQ(k.adopted(0), "D has 0");
  EXPECT_EQ(k.release('D'), "");
  EXPECT_EQ(k.stats().idle, 1);
}

/// What may happen between the begin and the end of an adoption.
TEST_F(KernelControl, AnAdoptedResourceEndsIfItsPoolDidNotWaitForIt) {
  EXPECT_EQ(k.discard('A'), "destroy 0 (discarded)");
  k.destroyed(0);
  ASSERT_EQ(k.adopt(), 0U);
  EXPECT_EQ(k.adopted(0, false), "");  // moving it has thrown
  ASSERT_EQ(k.adopt(), 0U);
  EXPECT_EQ(k.flush(), "destroy 2 (flushed)");
  EXPECT_EQ(k.adopted(0), "destroy 0 (flushed)");
  k.destroyed(0);
  k.destroyed(2);
  ASSERT_EQ(k.adopt(), 2U);
  EXPECT_EQ(k.close(), "");
  EXPECT_EQ(k.adopted(2), "destroy 2 (closed)");
  k.destroyed(2);
  EXPECT_EQ(k.adopt(), std::nullopt);
}

TEST_F(KernelControl, AClosedPoolEndsAndIsDrained) {
  k.acquire('C');  // has 2
  k.acquire('D');
  k.acquire('e');
  EXPECT_EQ(k.release('C'), "D has 2");
  EXPECT_EQ(k.close(), "e fails: closed");
  EXPECT_EQ(k.acquire('F'), "F fails: closed");
  EXPECT_EQ(k.release('A'), "destroy 0 (closed)");
  EXPECT_EQ(k.destroyed(0), "");
  EXPECT_EQ(k.release('D'), "destroy 2 (closed)");
  EXPECT_EQ(k.detach('B'), "");
  EXPECT_FALSE(k.is_drained());
  EXPECT_EQ(k.destroyed(2), "drained");
  EXPECT_EQ(k.tick(1000), "");  // only once
}

TEST_F(KernelControl, AThreadThatCreatesGetsNothingFromAClosedPool) {
  kernel manual({.options = {.max_size = 1, .maintenance = maintenance::by_tick}});
  EXPECT_EQ(manual.acquire('A', {.for_ms = 0}), "A creates 0");
  EXPECT_EQ(manual.close(), "");
  EXPECT_EQ(manual.unsettled(), 1U);
  EXPECT_EQ(manual.has_created('A', true), "destroy 0 (closed); A fails: closed");
  EXPECT_EQ(manual.destroyed(0), "drained");
}

TEST_F(KernelControl, AResourceMadeAfterTheCloseEnds) {
  k.acquire('C');
  k.detach('C');
  k.acquire('D');  // create 2
  EXPECT_EQ(k.close(), "D fails: closed");
  EXPECT_EQ(k.created(2), "destroy 2 (closed)");
}

/// What ends the use of a resource that is being interrupted, and what happens to it.
TEST(KernelInterrupts, AResourceOutlivesItsInterrupt) {
  constexpr auto now = ongoing_uses::interrupt;
  struct row {
    const char* name;
    void (*interrupt)(kernel&);
    void (*end)(kernel&);
    const char* destroyed;
  };
  const auto kill = [](kernel& k) {
    EXPECT_EQ(k.kill(0, now), "interrupt 0");
    EXPECT_EQ(k.kill(0, now), "");  // the hook is being called
  };
  const auto flush = [](kernel& k) { EXPECT_EQ(k.flush(0, now), "interrupt 0"); };
  const auto close_and_kill = [](kernel& k) {
    k.close();
    EXPECT_EQ(k.kill(0, now), "interrupt 0");
  };
  const auto release = [](kernel& k) { EXPECT_EQ(k.release('A'), ""); };
  const auto discard = [](kernel& k) { EXPECT_EQ(k.discard('A'), ""); };
  const auto waited_for = [](kernel& k) {  // there is no other, and it is not handed over
    EXPECT_EQ(k.acquire('B'), "");
    EXPECT_EQ(k.acquire('c'), "");
    EXPECT_EQ(k.release('A'), "");
  };
  const row rows[] = {
      {"kill, release", kill, release, "destroy 0 (killed)"},
      {"kill, discard", kill, discard, "destroy 0 (discarded)"},
      {"kill, waiters", kill, waited_for, "destroy 0 (killed)"},
      {"flush, release", flush, release, "destroy 0 (flushed)"},
      {"flush, discard", flush, discard, "destroy 0 (discarded)"},
      {"flush, waiters", flush, waited_for, "destroy 0 (flushed)"},
      {"closed, release", close_and_kill, release, "destroy 0 (closed)"},
  };
  for (const row& one : rows) {
    for (const bool resets : {false, true}) {
      SCOPED_TRACE(one.name);
      kernel k({.options = {.max_size = 1}, .resets = resets, .interrupts = true});
      k.acquire('A');
      EXPECT_EQ(k.created(0), "A has 0");
      one.interrupt(k);
      EXPECT_TRUE(k.is_marked(0));
      EXPECT_EQ(k.flush(0, now), "");
      one.end(k);
      EXPECT_EQ(k.stats().closing, 1);
      EXPECT_EQ(k.kill(0, now), "");  // it is closing
      EXPECT_EQ(k.interrupted(0), one.destroyed);
      k.destroyed(0);
      EXPECT_EQ(k.stats().idle + k.stats().in_use, 0);
    }
  }
}

TEST(KernelInterrupts, OnlyUsesAreInterruptedAndOnlyByAFactoryThatCan) {
  for (const bool interrupts : {false, true}) {
    kernel k({.options = {.max_size = 3, .max_creating = 3}, .interrupts = interrupts});
    fill(k, 2);
    k.acquire('A');
    EXPECT_EQ(k.acquire('B'), "B has 1");
    EXPECT_EQ(k.release('B'), "");
    k.acquire('C');
    k.acquire('D');  // create 2
    EXPECT_EQ(k.release('C'), "D has 1");
    EXPECT_EQ(k.release('D'), "");
    EXPECT_EQ(k.flush(), "destroy 1 (flushed)");  // lets uses finish
    EXPECT_EQ(k.flush(0, ongoing_uses::interrupt), interrupts ? "interrupt 0" : "");
    if (interrupts) {
      EXPECT_EQ(k.interrupted(0), "");
      EXPECT_EQ(k.kill(0, ongoing_uses::interrupt), "interrupt 0");  // again, as the use continues
      EXPECT_EQ(k.interrupted(0), "");
    }
    EXPECT_EQ(k.release('A'), interrupts ? "destroy 0 (killed)" : "destroy 0 (flushed)");
  }
}

TEST(KernelInterrupts, AThreadThatValidatesForItselfIsInterrupted) {
  kernel k({.options = {.max_size = 1, .validate_if_idle_longer_than = 0ms},
            .validates = true,
            .interrupts = true});
  test::fill(k, 1);
  EXPECT_EQ(k.acquire('A'), "A validates 0");
  EXPECT_EQ(k.kill(0, ongoing_uses::interrupt), "interrupt 0");
  EXPECT_EQ(k.has_validated('A', false), "");  // and waits for another one
  EXPECT_EQ(k.interrupted(0), "destroy 0 (invalid)");
  EXPECT_EQ(k.destroyed(0), "create 0");
  EXPECT_EQ(k.created(0), "A has 0");
}

TEST(KernelInterrupts, AnOwnerThatMovesTheResourceOutIsLeftAlone) {
  kernel k({.options = {.max_size = 2, .max_creating = 2}, .interrupts = true});
  k.acquire('A');
  EXPECT_EQ(k.created(0), "A has 0");
  EXPECT_TRUE(k.begin_detach('A'));
  EXPECT_EQ(k.flush(0, ongoing_uses::interrupt), "");
  EXPECT_EQ(k.kill(0, ongoing_uses::interrupt), "");
  k.give_up_detach('A');  // moving it has thrown
  EXPECT_EQ(k.kill(0, ongoing_uses::interrupt), "interrupt 0");
  EXPECT_FALSE(k.begin_detach('A'));
  EXPECT_EQ(k.interrupted(0), "");
  EXPECT_TRUE(k.begin_detach('A'));
  EXPECT_EQ(k.detach('A'), "");
  k.acquire('A');
  EXPECT_EQ(k.created(0), "A has 0");
  EXPECT_EQ(k.kill(0, ongoing_uses::interrupt), "interrupt 0");  // a new one
  EXPECT_EQ(k.interrupted(0), "");
}

// jedis #561, r2dbc-pool #232: farewells take long. They are tasks of threads, and delay no others.
TEST(KernelEnds, EightResourcesAreDestroyedAtOnce) {
  kernel k({.options = {.max_size = 10, .max_creating = 10}});
  fill(k, 10);
  EXPECT_EQ(k.flush().size(), 8U);
  EXPECT_EQ(k.stats().closing, 10);
  EXPECT_EQ(k.acquire('A'), "");  // max_size counts those that wait for their end
  EXPECT_EQ(k.destroyed(3).size(), 2U);
  EXPECT_EQ(k.stats().closing, 9);
  EXPECT_EQ(k.stats().creating, 1);
  EXPECT_EQ(k.destroyed(4), "destroy 9 (flushed)");
  EXPECT_EQ(k.destroyed(5), "");
  EXPECT_EQ(k.created(3), "A has 3");
  EXPECT_EQ(k.discard('A'), "destroy 3 (discarded)");
  k.end_tasks();
  EXPECT_EQ(k.stats().live, 0);
}

TEST(KernelEnds, WithoutThreadsTheCallerDestroysAll) {
  kernel k({.options = {.max_size = 10,
                        .min_idle = 10,
                        .max_creating = 10,
                        .maintenance = maintenance::by_tick}});
  k.tick(0);
  k.end_tasks();
  EXPECT_EQ(k.flush().size(), 10U);
}

}  // namespace
}  // namespace lido
