// Ages, by the pool's own clock: which resources expire, are validated, or are lent first.
// docs/reference/tests.md explains the letters and numbers in test names.
#include <gtest/gtest.h>

#include <chrono>

#include "support/crew.hpp"
#include "support/resource_fixtures.hpp"

namespace lido {
namespace {

using namespace std::chrono_literals;
using test::fake_lease;
using test::fake_pool;

class ResourceAges : public test::resource_by_tick {};

TEST_F(ResourceAges, D9AThreadTakesItsLastResourceOrElseTheLowest) {
  fake_pool& pool = start({.max_size = 3, .validate_if_idle_longer_than = 5s});
  fill(pool, 3);
  test::run_in_new_thread([&] {
    fake_lease first = pool.try_acquire();
    fake_lease second = pool.try_acquire();
    ASSERT_TRUE(first && second);
    EXPECT_EQ(first.handle().index, 0U);
    EXPECT_EQ(second.handle().index, 1U);
    first.reset();
    second.reset();
    EXPECT_EQ(pool.try_acquire().handle().index, 1U) << "its last resource";
  });
  pass(6s);
  test::run_in_new_thread([&] { EXPECT_EQ(pool.try_acquire().handle().index, 0U); });
  EXPECT_EQ(server.validations, 1);
  // Validating its last resource would take time, and the pool would never get smaller.
  EXPECT_EQ(pool.try_acquire().handle().index, 0U);
  EXPECT_EQ(server.validations, 1);
}

TEST_F(ResourceAges, AClockThatGoesBackStandsStill) {
  fake_pool& pool = start({.max_size = 1, .idle_timeout = 60s, .report_slow_after = 60s});
  fake_lease held = pool.try_acquire();
  pass(50s);
  pass(-40s);
  EXPECT_EQ(held.age(), 50s);
  EXPECT_EQ(pool.leases().front().held_for, 50s);
  held.reset();
  pass(40s);
  pass(59s);
  EXPECT_EQ(pool.stats().idle, 1U);
  pass(2s);
  EXPECT_EQ(pool.stats().idle, 0U);
}

}  // namespace
}  // namespace lido
