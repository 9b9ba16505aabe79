// Which thread validates, and for how long. docs/reference/tests.md explains the letters in test
// names.
#include <gtest/gtest.h>

#include <atomic>
#include <chrono>
#include <thread>
#include <utility>

#include "support/crew.hpp"
#include "support/distant_peer.hpp"
#include "support/resource_fixtures.hpp"

namespace lido {
namespace {

using namespace std::chrono_literals;
using test::distant;
using test::eventually;

using ResourceValidation = test::DistantPeer;

// An acquire that has no time for the answer leaves the validation to the pool.
TEST_F(ResourceValidation, A11ABriefAcquireEndsNoHealthyResource) {
  links pool(distant{&all}, {.max_size = 4, .validate_if_idle_longer_than = 0ns});
  let_grow_stale(pool, 4);
  EXPECT_TRUE(eventually([&] { return static_cast<bool>(pool.try_acquire_for(1ms)); }));
  EXPECT_EQ(all.invalid, 0);
  EXPECT_GT(all.answers, 0);
}

TEST_F(ResourceValidation, ASilentResourceIsReplaced) {
  links pool(distant{&all},
             {.max_size = 2, .validate_timeout = 20ms, .validate_if_idle_longer_than = 20ms});
  let_grow_stale(pool, 2);
  std::this_thread::sleep_for(100ms);
  all.silent = 2;
  auto time = 10ms;
  EXPECT_TRUE(eventually(
      [&] { return static_cast<bool>(pool.try_acquire_for(std::exchange(time, 2 * time))); }));
  EXPECT_TRUE(eventually([&] { return all.invalid >= 2; }));  // on a slow machine others, too
  EXPECT_GT(all.made, 2);
}

TEST_F(ResourceValidation, A9AnAcquireWithoutTimeFindsTheValidResource) {
  for (const maintenance mode : {maintenance::background, maintenance::by_tick}) {
    int found = 0;
    // Repeated, since on a busy machine the answer may take 20 ms, and then a new one is made.
    for (int attempt = 0; attempt < 5 && found != 2; ++attempt) {
      all.made = 0;
      all.invalid = 0;
      links pool(distant{&all},
                 {.max_size = 2, .validate_if_idle_longer_than = 0ns, .maintenance = mode});
      let_grow_stale(pool, 2);
      all.dead = 1;
      found = *pool.try_acquire();
      all.dead = 0;
      EXPECT_EQ(all.invalid, 1);
    }
    EXPECT_EQ(found, 2);
  }
}

// A hand-over is a use, too, and is preceded by a validation.
TEST_F(ResourceValidation, A7ACallbackWhoseResourceIsInvalidGetsAnother) {
  for (const maintenance mode : {maintenance::background, maintenance::by_tick}) {
    all.made = 0;
    links pool(distant{&all},
               {.max_size = 1, .validate_if_idle_longer_than = 0ns, .maintenance = mode});
    std::jthread ticking([&pool, mode](const std::stop_token& stop) {
      while (mode == maintenance::by_tick && !stop.stop_requested()) {
        pool.tick();
        std::this_thread::sleep_for(1ms);
      }
    });
    resource_lease<int> held = pool.acquire();
    const std::uint64_t before = pool.stats().handed_over;
    std::atomic<int> served{0};
    count_calls(pool, 3, served);
    all.dead = *held;
    held.reset();
    EXPECT_TRUE(eventually([&] { return served == 3; }));
    EXPECT_EQ(pool.stats().handed_over, before + 3);
    EXPECT_EQ(pool.stats().destroyed_for(destroy_reason::invalid), 1U);
  }
}

// A closed pool has no waiters for the answers.
TEST_F(ResourceValidation, CloseWaitsForNoAnswer) {
  links pool(distant{&all}, {.max_size = 4, .validate_if_idle_longer_than = 0ns});
  let_grow_stale(pool, 4);
  const int before = all.asked;
  all.is_silent = true;
  std::atomic<int> served{0};
  count_calls(pool, 4, served);
  EXPECT_TRUE(eventually([&] { return all.asked > before; }));
  EXPECT_FALSE(pool.close(0ns).complete());
  EXPECT_EQ(all.invalid, 0) << "the close waited until the validations timed out";
  all.is_silent = false;
  EXPECT_TRUE(pool.close(10s).complete());
}

// A new resource counts as valid. If it were validated at once, an invalid one would be replaced
// again and again.
TEST_F(ResourceValidation, ANewResourceIsNotValidated) {
  for (const maintenance mode : {maintenance::background, maintenance::by_tick}) {
    links pool(distant{&all},
               {.max_size = 1, .validate_if_idle_longer_than = 0ns, .maintenance = mode});
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
  pool.async_acquire([&](acquire_result<int> got) {
    got.lease().reset();
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

TEST_F(ResourceValidation, ThePoolMayEndDuringValidations) {
  for (int i = 0; i < 20; ++i) {
    links pool(distant{&all}, {.max_size = 8, .validate_if_idle_longer_than = 0ns});
    let_grow_stale(pool, 8);
    test::run_crew(3, [&](unsigned) { (void)pool.try_acquire_for(1ms); });
  }
}

}  // namespace
}  // namespace lido
