// What a pool tells of itself, and what it remembers of creates that failed.
#include <gtest/gtest.h>

#include <chrono>
#include <stdexcept>
#include <string>
#include <thread>

#include "support/resource_fixtures.hpp"

namespace lido {
namespace {

using namespace std::chrono_literals;
using test::eventually;
using test::fake_lease;
using test::fake_pool;

class ResourceNumbers : public test::resource_by_tick {
 protected:
  /// Fails four times, each with a longer pause.
  void fail_often(fake_pool& pool) {
    server.down = true;
    for (int i = 0; i < 4; ++i) {
      pool.tick();
      clock.advance(64s);
    }
  }
  /// Whether the first pause is the short one.
  bool pauses_for_a_second(fake_pool& pool) {
    pool.tick();
    const int before = server.creates;
    clock.advance(1s);
    pool.tick();
    return server.creates == before + 1;
  }
  static constexpr auto patient = [] {
    return resource_pool_options{
        .max_size = 1, .min_idle = 1, .retry_first = 1s, .retry_longest = 64s};
  };
};

TEST_F(ResourceNumbers, ACreateThatGoesWellEndsTheBackOff) {
  fake_pool& pool = start(patient());
  fail_often(pool);
  server.down = false;
  pool.tick();
  ASSERT_EQ(pool.stats().idle, 1U);
  server.down = true;
  pool.flush();
  EXPECT_TRUE(pauses_for_a_second(pool));
}

TEST_F(ResourceNumbers, ANewFactoryBeginsWithoutABackOff) {
  fake_pool& pool = start(patient());
  fail_often(pool);
  pool.replace_factory(test::fake_factory{&server});
  EXPECT_TRUE(pauses_for_a_second(pool));
}

TEST_F(ResourceNumbers, AnErrorTellsNoCreateErrorThatIsOver) {
  fake_pool& pool = start({.max_size = 1, .detect_hold_and_wait = false});
  server.down = true;
  EXPECT_FALSE(pool.try_acquire());
  pool.tick();
  server.down = false;
  pass(10s);
  EXPECT_FALSE(pool.try_acquire());
  pool.tick();
  const fake_lease held = pool.try_acquire();
  ASSERT_TRUE(held);
  try {
    (void)pool.acquire_for(1ms);
    ADD_FAILURE() << "there is no other";
  } catch (const acquire_error& error) {
    EXPECT_FALSE(error.create_error());
    const std::string what = error.what();
    EXPECT_EQ(what.find("refused"), std::string::npos) << what;
    EXPECT_NE(what.find("timed out"), std::string::npos) << what;
  }
}

TEST_F(ResourceNumbers, WhoIsTurnedAwayIsCounted) {
  fake_pool& pool = start({.max_size = 1, .max_waiters = 0, .detect_hold_and_wait = false});
  fill(pool, 1);
  const fake_lease held = pool.try_acquire();
  EXPECT_EQ(test::failure_of(pool, 10'000ms), acquire_failure::too_many_waiters);
  EXPECT_EQ(pool.stats().refused, 1U);
}

TEST_F(ResourceNumbers, ALeaseThatMayBeLongSaysSo) {
  fake_pool& pool = start({.max_size = 1});
  fill(pool, 1);
  fake_lease held = pool.try_acquire();
  EXPECT_FALSE(pool.leases().front().exempt);
  held.expect_long_use();
  EXPECT_TRUE(pool.leases().front().exempt);
}

// The other one will be made, some time.
TEST(ResourceHope, WhoHoldsOneOfTwoWaitsForTheNextTry) {
  test::fake_server server;
  fake_pool pool(test::fake_factory{&server},
                 {.max_size = 2, .retry_first = 100s, .retry_longest = 100s});
  const fake_lease held = pool.acquire();
  server.down = true;
  EXPECT_FALSE(pool.try_acquire());
  ASSERT_TRUE(
      eventually([&] { return pool.stats().create_failures == 1 && pool.stats().live == 1; }));
  EXPECT_EQ(test::failure_of(pool, 20ms), acquire_failure::timed_out);
}

TEST(ResourceFlush, WhatIsFlushedDuringItsCreateIsNotLent) {
  test::fake_server server;
  server.slow = true;
  fake_pool pool(test::fake_factory{&server}, {.max_size = 1, .upkeep = maintenance::by_callers});
  std::jthread trying([&] { EXPECT_FALSE(pool.try_acquire()); });
  ASSERT_TRUE(eventually([&] { return server.creating == 1; }));
  pool.flush();
  server.slow = false;
  trying.join();
  EXPECT_EQ(server.destroyed_for(destroy_reason::flushed), 1);
}

TEST(ResourceFlush, WhatIsFlushedDuringItsValidationIsNotLent) {
  test::fake_server server;
  fake_pool pool(test::fake_factory{&server}, {.max_size = 1, .validate_if_idle_longer_than = 0s});
  const int first = pool.acquire_for(20s)->id;
  const int before = server.validations;
  server.slow_validate = true;
  std::jthread waiting([&] { EXPECT_NE(pool.acquire_for(20s)->id, first); });
  ASSERT_TRUE(eventually([&] { return server.validations > before; }));
  pool.flush();
  server.slow_validate = false;
}

TEST(ResourceWords, SayWhatTheyStandFor) {
  EXPECT_EQ(to_string(destroy_reason::too_old), "too old");
  EXPECT_EQ(to_string(destroy_reason::used_up), "used up");
  EXPECT_EQ(to_string(acquire_failure::timed_out), "timed out");
  EXPECT_EQ(to_string(acquire_failure::cancelled), "cancelled");
  EXPECT_EQ(to_string(pool_event::kind::create_failed), "create failed");
  EXPECT_EQ(to_string(pool_event::kind::orphaned), "orphaned");
}

bool is_refused(const resource_pool_options& options) {
  test::fake_server server;
  try {
    const fake_pool pool(test::fake_factory{&server}, options);
  } catch (const std::invalid_argument&) {
    return true;
  }
  return false;
}

TEST(ResourceWords, TimesBeforeNowAndTooManyCreatesAreRefused) {
  EXPECT_TRUE(is_refused({.keepalive = -1s}));
  EXPECT_TRUE(is_refused({.validate_if_idle_longer_than = -1s}));
  EXPECT_TRUE(is_refused({.report_slow_after = -1s}));
  EXPECT_TRUE(is_refused({.report_leak_after = -1s}));
  EXPECT_TRUE(is_refused({.max_creating = 70'000}));
  EXPECT_FALSE(is_refused({}));
}

// The shortest of all limits says how often a pool looks.
TEST(ResourceWords, EachLimitIsLookedAtFourTimes) {
  const auto period = [](resource_pool_options options) {
    options.idle_timeout = 0s;
    options.keepalive = 0s;
    options.validate_if_idle_longer_than = 0s;
    return std::chrono::nanoseconds(detail::pool_settings(options).period);
  };
  EXPECT_EQ(period({.max_lifetime = 400ms}), 100ms);
  EXPECT_EQ(period({.max_lifetime = 0s, .report_slow_after = 400ms}), 100ms);
  EXPECT_EQ(period({.max_lifetime = 0s, .report_leak_after = 400ms}), 100ms);
}

}  // namespace
}  // namespace lido
