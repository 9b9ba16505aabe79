// Who validates, and for how long. The letters are those of docs/reference/tests.md.
#include <gtest/gtest.h>

#include <atomic>
#include <chrono>
#include <optional>
#include <thread>
#include <utility>
#include <vector>

#include "support/crew.hpp"
#include "support/distant_peer.hpp"
#include "support/resource_fixtures.hpp"

namespace lido {
namespace {

using namespace std::chrono_literals;
using test::distant;
using test::eventually;
using test::outcome;

using ResourceValidation = test::DistantPeer;

// Whoever has no time for the answer leaves the question to the pool.
TEST_F(ResourceValidation, A11ABriefAcquireEndsNoHealthyResource) {
  links pool(distant{&all}, {.max_size = 4, .validate_if_idle_longer_than = 0ns});
  let_grow_stale(pool, 4);
  EXPECT_TRUE(eventually([&] {
    try {
      return static_cast<bool>(pool.acquire_for(1ms));
    } catch (const acquire_error&) {
      return false;
    }
  }));
  EXPECT_EQ(all.invalid, 0);
  EXPECT_GT(all.answers, 0);
}

TEST_F(ResourceValidation, A11WhatIsValidatedBeforeEachUseIsServedInTime) {
  links pool(distant{&all}, {.max_size = 1, .validate_if_idle_longer_than = 0ns});
  for (int i = 0; i < 20; ++i) {
    EXPECT_TRUE(pool.acquire_for(4s));  // less than a validation may take
  }
  EXPECT_GE(all.answers, 19);
  EXPECT_EQ(all.invalid, 0);
}

TEST_F(ResourceValidation, WhoGivesNoTimeHasThatOfOneValidation) {
  for (const maintenance mode : {maintenance::background, maintenance::by_callers}) {
    links pool(distant{&all}, {.max_size = 4, .validate_if_idle_longer_than = 0ns, .upkeep = mode});
    let_grow_stale(pool, 4);
    EXPECT_TRUE(pool.acquire_for(0s));
    EXPECT_TRUE(pool.try_acquire());
    EXPECT_EQ(all.invalid, 0);
  }
}

// A thread of an io_context has better things to do.
TEST_F(ResourceValidation, ACallbackDoesNotWaitForAnAnswerInTheThreadThatAsks) {
  links pool(distant{&all}, {.max_size = 1, .validate_if_idle_longer_than = 0ns});
  let_grow_stale(pool, 1);
  all.is_silent = true;
  std::atomic<int> served{0};
  pool.async_acquire(
      [&](const resource_lease<int>& got, const std::exception_ptr&) { served += got ? 1 : 0; });
  EXPECT_EQ(pool.stats().waiters, 1U);  // not over, and this thread is here
  all.is_silent = false;
  EXPECT_TRUE(eventually([&] { return served == 1; }));
  EXPECT_EQ(all.invalid, 0);
}

TEST_F(ResourceValidation, NorInTheThreadThatReleases) {
  links pool(distant{&all}, {.max_size = 1, .validate_if_idle_longer_than = 0ns});
  resource_lease<int> held = pool.acquire();
  std::atomic<int> served{0};
  for (int i = 0; i < 2; ++i) {
    pool.async_acquire(
        [&](const resource_lease<int>& got, const std::exception_ptr&) { served += got ? 1 : 0; });
  }
  all.is_silent = true;
  held.reset();
  EXPECT_EQ(served, 0);
  all.is_silent = false;
  EXPECT_TRUE(eventually([&] { return served == 2; }));
}

TEST_F(ResourceValidation, WhatDoesNotAnswerIsEndedAndAnotherOneMade) {
  links pool(distant{&all},
             {.max_size = 2, .validate_timeout = 20ms, .validate_if_idle_longer_than = 20ms});
  let_grow_stale(pool, 2);
  std::this_thread::sleep_for(100ms);
  all.silent = 2;
  auto time = 10ms;
  EXPECT_TRUE(eventually([&] {
    try {
      return static_cast<bool>(pool.acquire_for(std::exchange(time, 2 * time)));
    } catch (const acquire_error&) {
      return false;
    }
  }));
  EXPECT_TRUE(eventually([&] { return all.invalid >= 2; }));  // on a slow machine others, too
  EXPECT_GT(all.made, 2);
}

TEST_F(ResourceValidation, WhenOneSaysNoTheNextIsAsked) {
  links pool(distant{&all}, {.max_size = 2, .validate_if_idle_longer_than = 0ns});
  let_grow_stale(pool, 2);
  const std::uint64_t before = pool.stats().handed_over;
  all.dead = 1;
  std::atomic<int> served{0};
  count_calls(pool, 1, served);
  EXPECT_TRUE(eventually([&] { return served == 1; }));
  // The next may have been asked, and lent, before the first came to say no.
  EXPECT_TRUE(eventually([&] { return all.invalid == 1; }));
  EXPECT_EQ(pool.stats().handed_over, before + 1);
}

TEST_F(ResourceValidation, WhoWaitsForAnAnswerIsNotOneTooMany) {
  links pool(distant{&all}, {.max_size = 1, .max_waiters = 0, .validate_if_idle_longer_than = 0ns});
  EXPECT_TRUE(eventually([&] { return static_cast<bool>(pool.try_acquire()); }));
  resource_lease<int> held = pool.acquire_for(4s);  // less than an answer may take
  EXPECT_TRUE(held);
  EXPECT_THROW((void)pool.acquire_for(4s), acquire_error);
  held.reset();
  all.is_silent = true;
  std::atomic<int> served{0};
  count_calls(pool, 1, served);
  std::optional<acquire_failure> second;
  pool.async_acquire([&](const resource_lease<int>&, const std::exception_ptr& error) {
    second = test::cause_of(error);
  });
  EXPECT_EQ(second, acquire_failure::too_many_waiters);
  all.is_silent = false;
  EXPECT_TRUE(eventually([&] { return served == 1; }));
}

TEST_F(ResourceValidation, A9ADeadOneDoesNotHideALivingOneFromWhoGivesNoTime) {
  for (const maintenance mode : {maintenance::background, maintenance::by_callers}) {
    all.made = 0;
    links pool(distant{&all}, {.max_size = 2, .validate_if_idle_longer_than = 0ns, .upkeep = mode});
    let_grow_stale(pool, 2);
    all.dead = 1;
    EXPECT_EQ(*pool.try_acquire(), 2);
    all.dead = 0;
  }
  EXPECT_EQ(all.invalid, 2);
}

// By callers: whoever has made room for a callback, or lets go of what it was given
// and refused.
TEST_F(ResourceValidation, A7ACallbackWhoseResourceWasUnfitGetsAnother) {
  for (const maintenance mode :
       {maintenance::background, maintenance::by_callers, maintenance::by_tick}) {
    all.made = 0;
    links pool(distant{&all}, {.max_size = 1, .validate_if_idle_longer_than = 0ns, .upkeep = mode});
    std::jthread ticking([&pool, mode](const std::stop_token& stop) {
      while (mode == maintenance::by_tick && !stop.stop_requested()) {
        pool.tick();
        std::this_thread::sleep_for(1ms);
      }
    });
    resource_lease<int> held = pool.acquire();
    const std::uint64_t before = pool.stats().handed_over;
    std::atomic<int> served{0};
    count_calls(pool, 1, served);
    all.dead = *held;
    held.reset();
    EXPECT_TRUE(eventually([&] { return served == 1; }));
    EXPECT_EQ(pool.stats().handed_over, before + 1);
  }
}

// Nobody wants to know any more.
TEST_F(ResourceValidation, CloseWaitsForNoAnswer) {
  links pool(distant{&all}, {.max_size = 4, .validate_if_idle_longer_than = 0ns});
  let_grow_stale(pool, 4);
  const int before = all.asked;
  all.is_silent = true;
  std::atomic<int> served{0};
  count_calls(pool, 4, served);
  EXPECT_TRUE(eventually([&] { return all.asked > before; }));
  EXPECT_FALSE(pool.close(0ns).complete());
  EXPECT_EQ(all.invalid, 0) << "it has waited until their time was over";
  all.is_silent = false;
  EXPECT_TRUE(pool.close(10s).complete());
}

// One that does not answer holds up nobody: the others are asked at the same time, or made.
TEST_F(ResourceValidation, ASilentOneHoldsUpNobody) {
  links pool(distant{&all},
             {.max_size = 4, .validate_timeout = 60s, .validate_if_idle_longer_than = 0ns});
  let_grow_stale(pool, 2);
  all.is_silent = true;
  EXPECT_TRUE(pool.leases().empty());
  EXPECT_NO_THROW((void)pool.acquire_for(30s)) << "another one can be made";
  EXPECT_EQ(pool.stats().checking, 2U);
  EXPECT_TRUE(pool.leases().empty()) << "nobody has what the pool asks";
  all.is_silent = false;
}

TEST_F(ResourceValidation, ACallbackWithoutTimeGetsWhatATryWould) {
  links pool(distant{&all}, {.max_size = 2, .validate_if_idle_longer_than = 0ns});
  let_grow_stale(pool, 2);
  std::atomic<int> served{0};
  pool.async_acquire(
      [&](const resource_lease<int>& got, const std::exception_ptr&) { served += got ? 1 : 0; },
      0ns);
  EXPECT_EQ(served, 1);
}

// What has just been made is good: if it were asked at once, one that says no would be made again
// and again by whoever happens to be there.
TEST_F(ResourceValidation, ANewOneIsNotAsked) {
  for (const maintenance mode : {maintenance::background, maintenance::by_callers}) {
    links pool(distant{&all}, {.max_size = 1, .validate_if_idle_longer_than = 0ns, .upkeep = mode});
    all.dead = all.made + 1;
    EXPECT_NO_THROW((void)pool.acquire_for(10s));
    all.dead = 0;
  }
  EXPECT_EQ(all.invalid, 0);
}

TEST_F(ResourceValidation, CloseDoesNotWaitForACallback) {
  links pool(distant{&all}, {.max_size = 1, .validate_if_idle_longer_than = 0ns});
  let_grow_stale(pool, 1);
  std::atomic<bool> inside{false};
  std::atomic<bool> leave{false};
  pool.async_acquire([&](resource_lease<int> got, const std::exception_ptr&) {
    got.reset();
    inside = true;
    while (!leave) {
      std::this_thread::sleep_for(1ms);
    }
  });
  EXPECT_TRUE(eventually([&] { return inside.load(); }));
  EXPECT_FALSE(pool.close(0ns).complete());
  leave = true;
  EXPECT_TRUE(pool.close(10s).complete());
}

TEST_F(ResourceValidation, ThePoolMayEndInTheMiddle) {
  for (int i = 0; i < 20; ++i) {
    links pool(distant{&all}, {.max_size = 8, .validate_if_idle_longer_than = 0ns});
    let_grow_stale(pool, 8);
    test::run_crew(3, [&](unsigned) {
      try {
        (void)pool.acquire_for(1ms);
      } catch (const acquire_error&) {  // as it should be
      }
    });
  }
}

}  // namespace
}  // namespace lido
