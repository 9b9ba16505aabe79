// Ages, by the pool's own clock: which resources end, are validated, or are lent first.
// docs/reference/tests.md explains the letters and numbers in test names.
#include <gtest/gtest.h>

#include <array>
#include <chrono>
#include <thread>
#include <utility>
#include <vector>

#include "support/crew.hpp"
#include "support/resource_fixtures.hpp"

namespace lido {
namespace {

using namespace std::chrono_literals;
using test::eventually;
using test::fake_lease;
using test::fake_pool;
using test::outcome;

class ResourceAges : public test::resource_by_tick {};

// djc/bb8 #123: the reaper goes below min_idle. deadpool-rs/deadpool #178, sidorares/node-mysql2
// #1797: no idle timeout, and no lifetime.
TEST_F(ResourceAges, D2D4ExpiredIdleResourcesEndDownToMinIdle) {
  fake_pool& pool = start({.max_size = 5, .min_idle = 2, .idle_timeout = 60s, .max_lifetime = 0s});
  pool.tick();
  EXPECT_EQ(pool.stats().idle, 2U);
  std::vector<fake_lease> held;
  while (held.size() < 5) {
    if (fake_lease lease = pool.try_acquire()) {
      held.push_back(std::move(lease));
    }
    pool.tick();
  }
  held.clear();
  pass(59s);
  EXPECT_EQ(pool.stats().idle, 5U);
  pass(2s);
  EXPECT_EQ(pool.stats().idle, 2U);
  EXPECT_EQ(server.destroyed_for(destroy_reason::idle_too_long), 3);
}

// To validate a resource is not to use it.
TEST_F(ResourceAges, D2AnIdleResourceThatIsKeptAliveEndsInTime) {
  fake_pool& pool =
      start({.max_size = 1, .idle_timeout = 60s, .max_lifetime = 0s, .keepalive = 20s});
  fill(pool, 1);
  pass(21s);
  pass(21s);
  EXPECT_EQ(server.validations, 2);
  EXPECT_EQ(pool.stats().idle, 1U);
  pass(19s);
  EXPECT_EQ(server.destroyed_for(destroy_reason::idle_too_long), 1);
}

// Resources that min_idle keeps in spite of the idle timeout.
TEST_F(ResourceAges, D2ResourcesKeptByMinIdleEndByTheirLifetime) {
  fake_pool& pool = start({.max_size = 2,
                           .min_idle = 2,
                           .idle_timeout = 10s,
                           .max_lifetime = 100s,
                           .lifetime_jitter = 0,
                           .max_creating = 2});
  pool.tick();
  pass(99s);
  EXPECT_EQ(pool.stats().idle, 2U);
  EXPECT_EQ(server.creates, 2);
  pass(2s);
  EXPECT_EQ(server.destroyed_for(destroy_reason::too_old), 2);
  pool.tick();
  EXPECT_EQ(pool.stats().idle, 2U) << "replaced";
}

// djc/bb8 PR #158: a lifetime shorter than the reaper's period has no effect.
// sidorares/node-mysql2 #4384: a busy pool never retires anything.
TEST_F(ResourceAges, D3D5LifetimeCountsAtRelease) {
  fake_pool& pool = start({.max_size = 2, .max_lifetime = 10s, .lifetime_jitter = 0});
  fake_lease held = pool.try_acquire();
  pass(11s);
  EXPECT_EQ(held.age(), 11s);
  held.reset();
  EXPECT_EQ(server.destroyed_for(destroy_reason::too_old), 1);
  EXPECT_EQ(pool.stats().idle, 0U);
}

TEST_F(ResourceAges, D5MaxUsesCountsHoweverBusy) {
  fake_pool& pool = start({.max_size = 1, .max_uses = 3});
  for (int i = 0; i < 9; ++i) {
    EXPECT_TRUE(pool.try_acquire());
  }
  EXPECT_EQ(server.destroyed_for(destroy_reason::used_up), 3);
}

// https://github.com/brettwooldridge/HikariCP/issues/2004: resources made together must not expire
// together.
TEST_F(ResourceAges, D1ResourcesMadeTogetherExpireOneAfterTheOther) {
  fake_pool& pool = start({.max_size = 8, .idle_timeout = 0s, .max_lifetime = 100s});
  fill(pool, 8);
  pass(74s);
  EXPECT_EQ(server.destroyed_for(destroy_reason::too_old), 0);
  int moments = 0;
  for (int second = 75; second <= 101; ++second) {
    const int before = server.destroyed_for(destroy_reason::too_old);
    pass(1s);
    moments += server.destroyed_for(destroy_reason::too_old) > before ? 1 : 0;
  }
  EXPECT_EQ(server.destroyed_for(destroy_reason::too_old), 8);
  EXPECT_GE(moments, 3);
}

// vitessio/vitess #20080: refreshing idle resources makes acquires wait.
TEST_F(ResourceAges, D6AnAcquireBesideMaintenanceDoesNotWait) {
  fake_pool& pool = start({.max_size = 2, .keepalive = 10s, .validate_if_idle_longer_than = 1h});
  fill(pool, 2);
  server.slow_validate = true;
  clock.advance(11s);
  std::jthread upkeep([&] { pool.tick(); });
  ASSERT_TRUE(eventually([&] { return pool.stats().checking == 1; }));
  const fake_lease other = pool.try_acquire();
  EXPECT_TRUE(other);
  outcome waiting;
  pool.async_acquire(waiting.receiver(), 1h);  // for the resource under validation
  EXPECT_EQ(waiting.calls, 0);
  server.slow_validate = false;
  upkeep.join();
  EXPECT_EQ(waiting.calls, 1);
  EXPECT_TRUE(waiting.lease);
  EXPECT_EQ(server.validations, 1) << "validated again for the waiter";
  waiting.lease.reset();
}

TEST_F(ResourceAges, D6MaintenanceYieldsToWaiters) {
  fake_pool& pool = start({.max_size = 1, .keepalive = 10s, .validate_if_idle_longer_than = 1h});
  fill(pool, 1);
  outcome waiting;
  pool.suspend();  // only a suspended pool has idle resources beside waiters
  pool.async_acquire(waiting.receiver(), 1h);
  EXPECT_EQ(waiting.calls, 0);
  pass(11s);
  EXPECT_EQ(server.validations, 0);
  pool.resume();
  EXPECT_EQ(waiting.calls, 1);
  waiting.lease.reset();
}

TEST_F(ResourceAges, IdleResourcesRaiseNoHighWaterMark) {
  fake_pool& pool = start({.max_size = 4, .min_idle = 4, .validate_if_idle_longer_than = 1h});
  for (int i = 0; i < 10; ++i) {
    pass(1s);
  }
  ASSERT_EQ(pool.stats().idle, 4U);
  outcome waiting;
  pool.suspend();
  pool.async_acquire(waiting.receiver(), 1h);
  pool.resume();
  EXPECT_EQ(waiting.calls, 1);
  EXPECT_EQ(pool.stats().high_water, 1U);
  waiting.lease.reset();
}

// golang/go #22950: each collection drops all pooled objects.
TEST_F(ResourceAges, D7NothingIsDroppedWithoutALimit) {
  fake_pool& pool = start({.max_size = 3, .idle_timeout = 0s, .max_lifetime = 0s, .keepalive = 0s});
  fill(pool, 3);
  for (int day = 0; day < 100; ++day) {
    pass(24h);
  }
  EXPECT_EQ(pool.stats().idle, 3U);
  EXPECT_EQ(server.creates, 3);
}

// golang/go #23199: one huge buffer is kept for ever.
TEST_F(ResourceAges, D8ResetMayRefuse) {
  fake_pool& pool = start({.max_size = 1});
  server.refuse_reset = true;
  EXPECT_TRUE(pool.try_acquire());
  EXPECT_EQ(server.destroyed_for(destroy_reason::reset_refused), 1);
  EXPECT_EQ(pool.stats().live, 0U);
}

// brettwooldridge/HikariCP #1208: the pool does not get smaller.
TEST_F(ResourceAges, D9ResourcesThatTheLoadDoesNotNeedExpire) {
  fake_pool& pool = start({.max_size = 5, .idle_timeout = 60s, .max_lifetime = 0s});
  fill(pool, 5);
  for (int i = 0; i < 100; ++i) {
    test::run_in_new_thread([&] { EXPECT_TRUE(pool.try_acquire()); });
    pass(1s);
  }
  EXPECT_EQ(pool.stats().idle, 1U);
}

TEST_F(ResourceAges, D9AThreadTakesItsLastResourceOrElseTheLowest) {
  fake_pool& pool = start({.max_size = 3, .validate_if_idle_longer_than = 5s});
  fill(pool, 3);
  test::run_in_new_thread([&] {
    fake_lease first = pool.try_acquire();
    fake_lease second = pool.try_acquire();
    ASSERT_TRUE(first && second);
    EXPECT_EQ(first.handle().place, 0U);
    EXPECT_EQ(second.handle().place, 1U);
    first.reset();
    second.reset();
    EXPECT_EQ(pool.try_acquire().handle().place, 1U) << "its last resource";
  });
  pass(6s);
  test::run_in_new_thread([&] { EXPECT_EQ(pool.try_acquire().handle().place, 0U); });
  EXPECT_EQ(server.validations, 1);
  // Validating its last resource would take time, and the pool would never get smaller.
  EXPECT_EQ(pool.try_acquire().handle().place, 0U);
  EXPECT_EQ(server.validations, 1);
}

TEST_F(ResourceAges, IdleResourcesAreValidatedOnlyAfterTheBypassWindow) {
  fake_pool& pool = start({.max_size = 1, .validate_if_idle_longer_than = 500ms});
  fill(pool, 1);
  pass(499ms);
  EXPECT_TRUE(pool.try_acquire());
  EXPECT_EQ(server.validations, 0);
  pass(500ms);
  EXPECT_TRUE(pool.try_acquire());
  EXPECT_EQ(server.validations, 1);
  server.broken = true;
  pass(500ms);
  EXPECT_EQ(pool.try_acquire()->id, 2);
  EXPECT_EQ(server.destroyed_for(destroy_reason::invalid), 1);
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
