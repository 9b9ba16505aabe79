// Pools whose waiters may be overtaken. The letters and numbers are those of
// docs/reference/tests.md.
#include <gtest/gtest.h>

#include <atomic>
#include <chrono>
#include <optional>
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

// The bound of A6, it ages: who was overtaken for so long is handed the next one, before anybody
// can ask for it.
TEST_P(ResourceOvertaking, A6NobodyIsOvertakenForLongerThanAsked) {
  fake_pool& pool = start({.max_size = 1, .overtake_for = 1ms});
  int overtaken = 0;
  for (int i = 0; i < 1000 && overtaken < 50; ++i) {
    fake_lease held = pool.acquire();
    std::atomic<bool> leave{false};
    std::jthread waiting([&] {
      const fake_lease mine = pool.acquire_for(20s);
      EXPECT_TRUE(eventually([&] { return leave.load(); }));
    });
    ASSERT_TRUE(eventually([&] { return pool.stats().waiters == 1; }));
    held.reset();
    held = pool.try_acquire();  // overtakes it, unless it was faster
    if (held) {
      ++overtaken;
      std::this_thread::sleep_for(2ms);
      held.reset();
      EXPECT_FALSE(pool.try_acquire()) << "overtaken for longer than asked";
    }
    leave = true;
  }
  EXPECT_GT(overtaken, 0);
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

// Who would have to look may be in a callback; what comes back is then given to it as without the
// option.
TEST_P(ResourceOvertaking, WhoCallsACallbackIsNotWaitedFor) {
  fake_pool& pool = start({.max_size = 3, .overtake_for = for_ever, .detect_hold_and_wait = false});
  fake_lease one = pool.acquire();
  fake_lease two = pool.acquire();
  fake_lease last = pool.acquire();
  bool first = false;
  bool second = false;
  const std::uint64_t waits = pool.stats().waits;
  pool.async_acquire(
      [&](fake_lease got, const std::exception_ptr& /*error*/) {
        got.reset();
        first = static_cast<bool>(pool.acquire_for(10s));  // calls the other one before it sleeps
      },
      10s);
  pool.async_acquire(
      [&](const fake_lease& got, const std::exception_ptr& /*error*/) {
        second = got && pool.acquire_for(10s);
      },
      10s);
  const auto begin = std::chrono::steady_clock::now();
  std::jthread releasing([&] { last.reset(); });
  ASSERT_TRUE(eventually([&] { return pool.stats().waits == waits + 4; }));
  one.reset();
  two.reset();
  releasing.join();
  EXPECT_TRUE(first);
  EXPECT_TRUE(second);
  EXPECT_LT(std::chrono::steady_clock::now() - begin, 8s);
}

// Who was woken for a new resource needs no other.
TEST_P(ResourceOvertaking, NoMoreAreMadeThanAreWaitedFor) {
  fake_pool& pool = start({.max_size = 10, .overtake_for = for_ever});
  pool.acquire().reset();
  ASSERT_TRUE(eventually([&] { return pool.stats().creating == 0; }));
  EXPECT_EQ(pool.stats().created, 1U);
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

// By callers, who waits may be making a resource, and not looking.
TEST(ResourceOvertakingOptions, ByCallersNobodyMayOvertake) {
  test::fake_server server;
  EXPECT_THROW(fake_pool(test::fake_factory{&server},
                         {.overtake_for = 1ms, .upkeep = maintenance::by_callers}),
               std::invalid_argument);
}

INSTANTIATE_TEST_SUITE_P(Modes, ResourceOvertaking,
                         ::testing::Values(maintenance::background, maintenance::by_tick),
                         [](const auto& test) { return test::name_of(test.param); });

/// Two come back and are counted as theirs, so that none is made for what was discarded; then both
/// are taken by somebody else, and the first who waits gives up. Returns how long the second waits;
/// nothing if those who wait were faster.
std::optional<std::chrono::nanoseconds> behind_one_that_gives_up() {
  test::fake_server server;
  fake_pool pool(test::fake_factory{&server},
                 {.max_size = 3, .validate_if_idle_longer_than = 10s, .overtake_for = for_ever});
  fake_lease one = pool.acquire();
  fake_lease another = pool.acquire();
  fake_lease third = pool.acquire();
  std::stop_source stop;
  std::atomic<bool> served{false};
  std::jthread first([&] {
    try {
      (void)pool.acquire_for(20s, stop.get_token());
    } catch (const acquire_error& error) {
      EXPECT_EQ(error.cause(), acquire_failure::cancelled);
    }
  });
  EXPECT_TRUE(eventually([&] { return pool.stats().waiters == 1; }));
  std::jthread second([&] { served = static_cast<bool>(pool.acquire_for(20s)); });
  EXPECT_TRUE(eventually([&] { return pool.stats().waiters == 2; }));
  std::this_thread::sleep_for(2ms);  // both sleep
  one.reset();
  another.reset();
  third.discard();
  one = pool.try_acquire();
  another = pool.try_acquire();
  stop.request_stop();
  if (!one || !another) {
    return std::nullopt;
  }
  const auto begin = std::chrono::steady_clock::now();
  EXPECT_TRUE(eventually([&] { return served.load(); }));
  return std::chrono::steady_clock::now() - begin;
}

TEST(ResourceOvertakingRoom, WhoIsBehindOneThatGivesUpGetsTheRoom) {
  EXPECT_TRUE(test::is_mostly_soon([] {
    std::optional<std::chrono::nanoseconds> took;
    for (int i = 0; i < 10 && !took; ++i) {
      took = behind_one_that_gives_up();
    }
    return took.value_or(0ns);
  }));
}

}  // namespace
}  // namespace lido
