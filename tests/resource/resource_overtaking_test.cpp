// Pools whose waiters may be overtaken. The letters and numbers are those of
// docs/explanation/resource-pool.md.
#include <gtest/gtest.h>

#include <atomic>
#include <stdexcept>
#include <thread>

#include "support/crew.hpp"
#include "support/resource_fixtures.hpp"

namespace lido {
namespace {

using namespace std::chrono_literals;
using test::eventually;
using test::failure_of;
using test::fake_lease;
using test::fake_pool;
using test::outcome;

constexpr auto for_ever = 1h;

class ResourceOvertaking : public test::resource_in_each_mode {};

// Not each time: who was woken may have been faster.
TEST_P(ResourceOvertaking, A6WhoAsksNextMayTakeWhatHasComeBack) {
  fake_pool& pool = start({.max_size = 1, .overtake_for = for_ever});
  int overtook = 0;
  for (int i = 0; i < 100 && overtook == 0; ++i) {
    fake_lease held = pool.acquire();
    std::jthread waiting([&] { EXPECT_NO_THROW((void)pool.acquire_for(20s)); });
    ASSERT_TRUE(eventually([&] { return pool.stats().waiters == 1; }));
    held.reset();
    held = pool.try_acquire();
    overtook += held ? 1 : 0;
    held.reset();
  }
  EXPECT_GT(overtook, 0);
}

// The bound of A6: it ages.
TEST_P(ResourceOvertaking, A6NobodyIsOvertakenForLongerThanAsked) {
  fake_pool& pool = start({.max_size = 1, .overtake_for = 1ms});
  fake_lease held = pool.acquire();
  std::atomic<bool> served{false};
  std::jthread waiting([&] {
    (void)pool.acquire_for(20s);
    served = true;
  });
  ASSERT_TRUE(eventually([&] { return pool.stats().waiters == 1; }));
  // Never idle for longer than a call takes, so who waits has no chance but to be handed one.
  const auto give_up = std::chrono::steady_clock::now() + 10s;
  while (pool.stats().waiters == 1 && std::chrono::steady_clock::now() < give_up) {
    held.reset();
    held = pool.try_acquire();
  }
  held.reset();
  waiting.join();
  EXPECT_TRUE(served);
}

// boostorg/mysql #509: who gives up swallows the wake-up of the next.
TEST_P(ResourceOvertaking, A2WhoGivesUpPassesOnWhatItWasWokenFor) {
  fake_pool& pool = start({.max_size = 1, .overtake_for = for_ever});
  for (int i = 0; i < 100; ++i) {
    fake_lease held = pool.acquire();
    std::stop_source stop;
    std::jthread first([&] {
      try {
        (void)pool.acquire_for(20s, stop.get_token());
      } catch (const acquire_error& error) {
        EXPECT_EQ(error.cause(), acquire_failure::cancelled);
      }
    });
    ASSERT_TRUE(eventually([&] { return pool.stats().waiters == 1; }));
    std::jthread second([&] { EXPECT_NO_THROW((void)pool.acquire_for(20s)); });
    ASSERT_TRUE(eventually([&] { return pool.stats().waiters == 2; }));
    std::jthread stopping([&] { stop.request_stop(); });
    held.reset();
  }
}

// A callback cannot be woken to look.
TEST_P(ResourceOvertaking, ACallbackIsHandedWhatComesBack) {
  outcome first;
  fake_pool& pool = start({.max_size = 1, .overtake_for = for_ever});
  fake_lease held = pool.acquire();
  pool.async_acquire(first.receiver(), 10s);
  held.reset();
  ASSERT_TRUE(eventually([&] { return first.calls == 1; }));
  EXPECT_TRUE(first.lease);
  first.lease.reset();
}

TEST_P(ResourceOvertaking, ASuspendedPoolLendsNothingToAnybody) {
  fake_pool& pool = start({.max_size = 1, .overtake_for = for_ever});
  fake_lease held = pool.acquire();
  std::jthread waiting([&] { EXPECT_NO_THROW((void)pool.acquire_for(20s)); });
  ASSERT_TRUE(eventually([&] { return pool.stats().waiters == 1; }));
  pool.suspend();
  held.reset();
  EXPECT_FALSE(pool.try_acquire());
  EXPECT_EQ(failure_of(pool, 5ms), acquire_failure::timed_out);
  EXPECT_EQ(pool.stats().waiters, 1U);
  pool.resume();
}

TEST(ResourceOvertakingOptions, ATimeThatIsNegativeIsRefused) {
  test::fake_server server;
  EXPECT_THROW(fake_pool(test::fake_factory{&server}, {.overtake_for = -1ns}),
               std::invalid_argument);
}

LIDO_TEST_IN_ALL_MODES(ResourceOvertaking);

}  // namespace
}  // namespace lido
