// Options and texts: how durations are written, which options are refused, and what is printed.
#include <gtest/gtest.h>

#include <chrono>
#include <functional>
#include <limits>
#include <memory>
#include <stdexcept>
#include <utility>

#include "lido/resource_pool.hpp"

namespace lido {
namespace {

using namespace std::chrono_literals;
using std::chrono::hours;
using std::chrono::nanoseconds;
using fractions = std::chrono::duration<double>;

TEST(EventListener, TakesAnyFunction) {
  auto owned = std::make_unique<int>(0);
  int& told = *owned;
  const event_listener moved = [owned = std::move(owned)](const pool_event& /*event*/) {
    ++*owned;
  };
  const event_listener copy = moved;  // NOLINT(performance-unnecessary-copy-initialization)
  moved({.what = pool_event::kind::create_failed});
  copy({.what = pool_event::kind::create_failed});
  EXPECT_EQ(told, 2);

  EXPECT_TRUE(moved != nullptr);
  EXPECT_TRUE(event_listener() == nullptr);
  EXPECT_TRUE(event_listener(nullptr) == nullptr);
  EXPECT_TRUE(event_listener(std::function<void(const pool_event&)>()) == nullptr);
  EXPECT_FALSE(static_cast<bool>(event_listener()));
  EXPECT_FALSE((std::is_constructible_v<event_listener, std::string pool_event::*>));
}

TEST(TimeLimit, IsTheDurationThatItIsMadeFrom) {
  EXPECT_EQ(time_limit(), 0ns);
  EXPECT_EQ(time_limit(5s), 5s);
  EXPECT_EQ(time_limit(-5s), -5s);
  EXPECT_EQ(time_limit(fractions(0.25)), 250ms);
  EXPECT_EQ(time_limit(0.25ns), 1ns) << "rounded up";
  EXPECT_EQ(time_limit(nanoseconds::max() - 1h), nanoseconds::max() - 1h);
}

TEST(TimeLimit, IsTheLongestTimeInsteadOfAnOverflow) {
  static_assert(time_limit(hours::max()) == nanoseconds::max());
  EXPECT_EQ(time_limit(std::chrono::years(1000)), nanoseconds::max());
  EXPECT_EQ(time_limit(nanoseconds::max()), nanoseconds::max());
  EXPECT_EQ(time_limit(hours::min()), nanoseconds::min());
  EXPECT_EQ(time_limit(fractions(std::numeric_limits<double>::infinity())), nanoseconds::max());
}

TEST(TimeLimit, APoolMayWaitForEver) {
  constexpr auto for_ever = hours::max();
  for (const maintenance by : {maintenance::background, maintenance::by_tick}) {
    resource_pool<int> pool([] { return 1; }, {.max_size = 1,
                                               .acquire_timeout = for_ever,
                                               .create_timeout = for_ever,
                                               .validate_timeout = for_ever,
                                               .idle_timeout = for_ever,
                                               .max_lifetime = for_ever,
                                               .keepalive = for_ever,
                                               .validate_if_idle_longer_than = for_ever,
                                               .retry_first = for_ever,
                                               .retry_longest = for_ever,
                                               .close_timeout = for_ever,
                                               .report_slow_after = for_ever,
                                               .report_leak_after = for_ever,
                                               .maintenance = by});
    pool.acquire().reset();
    EXPECT_EQ(*pool.acquire(), 1);
    EXPECT_EQ(pool.stats().created, 1U);
  }
}

bool is_refused(const resource_pool_options& options) {
  try {
    const resource_pool<int> pool([] { return 1; }, options);
  } catch (const std::invalid_argument&) {
    return true;
  }
  return false;
}

TEST(ResourceWords, NegativeTimesAndTooManyCreatesAreRefused) {
  EXPECT_TRUE(is_refused({.acquire_timeout = fractions(std::numeric_limits<double>::quiet_NaN())}));
  EXPECT_TRUE(is_refused({.idle_timeout = hours::min()}));
  EXPECT_TRUE(is_refused({.keepalive = -1s}));
  EXPECT_TRUE(is_refused({.validate_if_idle_longer_than = -1s}));
  EXPECT_TRUE(is_refused({.report_slow_after = -1s}));
  EXPECT_TRUE(is_refused({.report_leak_after = -1s}));
  EXPECT_TRUE(is_refused({.max_creating = 70'000}));
  EXPECT_TRUE(is_refused({.reserve = 65'530}));
  EXPECT_FALSE(is_refused({}));
}

// The shortest limit decides how often a pool checks its resources: between a millisecond and a
// second.
TEST(ResourceWords, EachLimitIsCheckedFourTimes) {
  const resource_pool_options none{
      .idle_timeout = 0s, .max_lifetime = 0s, .keepalive = 0s, .validate_if_idle_longer_than = 0s};
  const auto period = [&](time_limit resource_pool_options::*limit, nanoseconds time) {
    resource_pool_options options = none;
    options.*limit = time;
    return nanoseconds(detail::pool_settings(options).period);
  };
  using options = resource_pool_options;
  for (const auto limit : {&options::idle_timeout, &options::max_lifetime,
                           &options::report_slow_after, &options::report_leak_after}) {
    EXPECT_EQ(period(limit, 400ms), 100ms);
    EXPECT_EQ(period(limit, 1ms), 1ms);
    EXPECT_EQ(period(limit, 1h), 1s);
  }
  EXPECT_EQ(nanoseconds(detail::pool_settings(none).period), 1s);
}

TEST(ResourceWords, AreReadable) {
  EXPECT_EQ(to_string(destroy_reason::too_old), "too old");
  EXPECT_EQ(to_string(destroy_reason::used_up), "used up");
  EXPECT_EQ(to_string(acquire_failure::timed_out), "timed out");
  EXPECT_EQ(to_string(acquire_failure::cancelled), "cancelled");
  EXPECT_EQ(to_string(pool_event::kind::create_failed), "create failed");
  EXPECT_EQ(to_string(pool_event::kind::orphaned), "orphaned");
}

}  // namespace
}  // namespace lido
