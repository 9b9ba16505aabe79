// Who validates, and for how long. The letters are those of docs/explanation/resource-pool.md.
#include <gtest/gtest.h>

#include <atomic>
#include <chrono>
#include <thread>
#include <vector>

#include "support/crew.hpp"
#include "support/resource_fixtures.hpp"

namespace lido {
namespace {

using namespace std::chrono_literals;
using test::eventually;
using test::outcome;

struct peer {
  std::atomic<int> alive{0};
  std::atomic<int> invalid{0};
  std::atomic<int> answers{0};
  std::atomic<bool> is_silent{false};
};

/// In the best of health, but no answer takes less than 3 ms.
struct distant {
  peer* to;

  [[nodiscard]] int create() const { return ++to->alive; }
  bool validate(int& /*link*/, const create_context& context) const {
    const auto answer = std::chrono::steady_clock::now() + 3ms;
    while (to->is_silent && std::chrono::steady_clock::now() < context.deadline) {
      std::this_thread::sleep_for(1ms);
    }
    if (answer > context.deadline || to->is_silent) {
      return false;
    }
    std::this_thread::sleep_until(answer);
    ++to->answers;
    return true;
  }
  void destroy(int& /*link*/, destroy_reason why) const noexcept {
    to->invalid += why == destroy_reason::invalid ? 1 : 0;
    --to->alive;
  }
};

class ResourceValidation : public ::testing::Test {
 protected:
  using links = resource_pool<int>;

  /// With so many that have been idle for long enough to be validated.
  static void let_grow_stale(links& pool, std::size_t count) {
    std::vector<resource_lease<int>> all;
    while (all.size() < count) {
      all.push_back(pool.acquire_for(10s));
    }
  }
  void TearDown() override { EXPECT_EQ(all.alive, 0); }

  peer all;  // NOLINT(*-non-private-member-*,readability-identifier-naming)
};

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
  all.is_silent = true;
  EXPECT_TRUE(eventually([&] {
    try {
      return static_cast<bool>(pool.acquire_for(10ms));
    } catch (const acquire_error&) {
      return false;
    }
  }));
  EXPECT_TRUE(eventually([&] { return all.invalid == 2; }));
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
