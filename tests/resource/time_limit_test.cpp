// Lengths of time in options, however they are written.
#include "lido/resource/time_limit.hpp"

#include <gtest/gtest.h>

#include <chrono>
#include <limits>
#include <stdexcept>

#include "lido/resource_pool.hpp"

namespace lido {
namespace {

using namespace std::chrono_literals;
using std::chrono::hours;
using std::chrono::nanoseconds;
using fractions = std::chrono::duration<double>;

TEST(TimeLimit, IsTheDurationThatItIsMadeFrom) {
  EXPECT_EQ(time_limit(), 0ns);
  EXPECT_EQ(time_limit(5s), 5s);
  EXPECT_EQ(time_limit(-5s), -5s);
  EXPECT_EQ(time_limit(fractions(0.25)), 250ms);
  EXPECT_EQ(time_limit(0.25ns), 1ns) << "rounded up";
  EXPECT_EQ(time_limit(nanoseconds::max() - 1h), nanoseconds::max() - 1h);
}

TEST(TimeLimit, IsTheLongestThereIsInsteadOfANumberThatHasOverflown) {
  static_assert(time_limit(hours::max()) == nanoseconds::max());
  EXPECT_EQ(time_limit(std::chrono::years(1000)), nanoseconds::max());
  EXPECT_EQ(time_limit(nanoseconds::max()), nanoseconds::max());
  EXPECT_EQ(time_limit(hours::min()), nanoseconds::min());
  EXPECT_EQ(time_limit(fractions(std::numeric_limits<double>::infinity())), nanoseconds::max());
}

TEST(TimeLimit, APoolMayWaitForEver) {
  constexpr auto for_ever = hours::max();
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
                                             .overtake_for = for_ever});
  pool.acquire().reset();
  EXPECT_EQ(*pool.acquire(), 1);
  EXPECT_EQ(pool.stats().created, 1U);
}

TEST(TimeLimit, WhatIsNoTimeIsRefused) {
  const auto not_a_number = fractions(std::numeric_limits<double>::quiet_NaN());
  EXPECT_THROW(resource_pool<int>([] { return 1; }, {.acquire_timeout = not_a_number}),
               std::invalid_argument);
  EXPECT_THROW(resource_pool<int>([] { return 1; }, {.idle_timeout = hours::min()}),
               std::invalid_argument);
}

}  // namespace
}  // namespace lido
