// Ages: which resources expire, or are validated, by how long they have been idle or alive.
// docs/reference/tests.md explains the letters and numbers in test names.
#include <algorithm>
#include <chrono>
#include <cstdint>
#include <vector>

#include "resource/kernel/kernel_fixture.hpp"

namespace lido {
namespace {

using namespace std::chrono_literals;
using test::fill;
using test::fresh;
using test::kernel;

TEST(KernelAges, AnIdleResourceEndsAfterIdleTimeout) {
  kernel k({.options = fresh({.max_size = 3, .idle_timeout = 1000ms, .keepalive = 0ms})});
  fill(k, 2);
  EXPECT_EQ(k.tick(999), "");
  EXPECT_TRUE(k.acquire_fast('A'));
  EXPECT_EQ(k.release('A'), "");  // 0 was used again
  EXPECT_EQ(k.tick(251), "destroy 1 (idle too long)");
  EXPECT_EQ(k.destroyed(1), "");
  EXPECT_EQ(k.tick(1000), "destroy 0 (idle too long)");
}

// djc/bb8 #123: the reaper goes below min_idle. deadpool-rs/deadpool #178, sidorares/node-mysql2
// #1797: no idle timeout, and no lifetime.
TEST(KernelAges, D2D4IdleResourcesEndDownToMinIdle) {
  kernel k(
      {.options = fresh({.max_size = 3, .min_idle = 1, .idle_timeout = 1000ms, .keepalive = 0ms})});
  k.acquire('A');
  k.created(0);
  k.acquire('B');
  k.created(1);
  k.acquire('C');
  k.created(2);
  for (const char name : {'A', 'B', 'C'}) {
    k.release(name);
  }
  EXPECT_EQ(k.tick(1000), "destroy 0 (idle too long); destroy 1 (idle too long)");
  k.destroyed(0);
  k.destroyed(1);
  EXPECT_EQ(k.tick(1000), "");
  EXPECT_EQ(k.stats().idle, 1);
}

// djc/bb8 PR #158: a lifetime shorter than the reaper's period has no effect.
// sidorares/node-mysql2 #4384: a busy pool never retires anything.
TEST(KernelAges, D3D5AnOldResourceEndsIdleOrWhenItComesBack) {
  kernel k({.options = fresh({.max_size = 3,
                              .idle_timeout = 0ms,
                              .max_lifetime = 1000ms,
                              .lifetime_jitter = 0,
                              .keepalive = 0ms})});
  fill(k, 2);
  k.acquire_fast('A');
  EXPECT_EQ(k.tick(1000), "destroy 1 (too old)");
  EXPECT_EQ(k.release('A'), "destroy 0 (too old)");
}

// https://github.com/brettwooldridge/HikariCP/issues/2004: resources made together must not expire
// together.
TEST(KernelAges, D1ResourcesMadeTogetherExpireOneAfterTheOther) {
  kernel k({.options = fresh({.max_size = 20,
                              .idle_timeout = 0ms,
                              .max_lifetime = 1000ms,
                              .lifetime_jitter = 0.5,
                              .keepalive = 0ms})});
  fill(k, 20);
  EXPECT_EQ(k.tick(499), "");
  k.tick(251);
  k.end_tasks();
  EXPECT_GT(k.stats().live, 2U);
  EXPECT_LT(k.stats().live, 18U);
  k.tick(500);
  k.end_tasks();
  EXPECT_EQ(k.stats().live, 0U);
}

TEST(KernelAges, AnOldResourceIsNotGivenToAWaiter) {
  kernel k({.options = fresh({.max_size = 1,
                              .idle_timeout = 0ms,
                              .max_lifetime = 1000ms,
                              .lifetime_jitter = 0,
                              .keepalive = 0ms})});
  fill(k, 1);
  k.pass(1000);
  EXPECT_EQ(k.acquire('A'), "destroy 0 (too old)");
  EXPECT_EQ(k.destroyed(0), "create 0");
}

TEST(KernelAges, KeepaliveValidatesIdleResources) {
  kernel k({.options = {.max_size = 6,
                        .idle_timeout = 0ms,
                        .keepalive = 1000ms,
                        .validate_if_idle_longer_than = 100000ms,
                        .max_creating = 1},
            .validates = true});
  fill(k, 6);
  EXPECT_EQ(k.tick(1000), "validate 0; validate 1; validate 2");  // half of the idle ones
  EXPECT_EQ(k.validated(2), "validate 3");
  EXPECT_EQ(k.validated(1, false), "validate 4; destroy 1 (invalid)");
  EXPECT_EQ(k.validated(0), "validate 5");
  EXPECT_EQ(k.validated(3), "");
  EXPECT_EQ(k.tick(500), "");
}

// HikariCP #306, node-pool #230: keepalives fall behind, and a firewall drops the rest.
TEST(KernelAges, KeepaliveIsInTimeAndPaced) {
  constexpr std::uint32_t size = 100;
  kernel k({.options = {.max_size = size,
                        .min_idle = size,
                        .idle_timeout = 0ms,
                        .max_lifetime = 0ms,
                        .keepalive = 1000ms,
                        .validate_if_idle_longer_than = 100000ms,
                        .max_creating = 1},
            .validates = true});
  k.suspend(false);
  k.end_tasks();
  std::vector<int> last(size, 0);
  int longest = 0;
  std::size_t most = 0;
  std::vector<int> in_50_ms(201, 0);
  for (int ms = 1; ms < 10'000; ++ms) {  // each validation takes a millisecond
    std::vector<std::uint32_t> in_progress = k.tasks(test::happening::kind::validate);
    most = std::max(most, in_progress.size());
    for (const std::uint32_t slot : in_progress) {
      longest = std::max(longest, ms - last[slot]);
      last[slot] = ms;
      ++in_50_ms[static_cast<std::size_t>(ms / 50)];
      k.validated(slot);
    }
    k.tick(1);
  }
  for (const int when : last) {
    longest = std::max(longest, 10'000 - when);
  }
  EXPECT_LE(longest, 1200);
  EXPECT_LE(most, 4U);
  EXPECT_LE(*std::max_element(in_50_ms.begin(), in_50_ms.end()), 80);
}

TEST(KernelAges, SilentKeepalivesLeaveValidationsToOthersUpToALimit) {
  kernel k({.options = {.max_size = 40,
                        .idle_timeout = 0ms,
                        .keepalive = 1000ms,
                        .validate_if_idle_longer_than = 100000ms},
            .validates = true});
  fill(k, 40);
  EXPECT_EQ(k.tick(1000), "validate 0; validate 1; validate 2; validate 3");
  EXPECT_EQ(k.tick(50), "validate 4; validate 5; validate 6; validate 7");
  EXPECT_EQ(k.validated(7), "validate 8");
  EXPECT_EQ(k.tick(50), "");  // eight are silent
  EXPECT_EQ(k.validated(0, false), "validate 9; destroy 0 (invalid)");
  EXPECT_EQ(k.validated(9), "validate 10");
}

TEST(KernelAges, AResetThatEndsLeavesKeepalivesDue) {
  kernel k({.options = {.max_size = 10,
                        .idle_timeout = 0ms,
                        .keepalive = 1000ms,
                        .validate_if_idle_longer_than = 100000ms},
            .validates = true,
            .resets = true});
  fill(k, 10);
  k.end_tasks();
  EXPECT_TRUE(k.acquire_fast('A'));
  EXPECT_EQ(k.tick(1000), "validate 1; validate 2; validate 3; validate 4");
  EXPECT_EQ(k.release('A'), "reset 0");
  EXPECT_EQ(k.was_reset(0), "");
  EXPECT_EQ(k.validated(1), "validate 5");
}

TEST(KernelAges, KeepalivesHoldUpNoValidationForAWaiter) {
  kernel k({.options = {.max_size = 9,
                        .idle_timeout = 0ms,
                        .keepalive = 1000ms,
                        .validate_if_idle_longer_than = 500ms,
                        .max_creating = 1},
            .validates = true});
  fill(k, 9);
  EXPECT_EQ(k.tick(1000), "validate 0; validate 1; validate 2; validate 3");  // four at once
  k.tick(20);                                                                 // none has answered
  EXPECT_EQ(k.acquire('a'), "validate 4");
  EXPECT_EQ(k.validated(4), "a has 4");
}

TEST(KernelAges, D5MaxUsesCountsHoweverBusy) {
  kernel k({.options = fresh({.max_size = 1, .max_uses = 2})});
  for (int i = 0; i < 3; ++i) {
    EXPECT_EQ(k.acquire('A'), "create 0");
    EXPECT_EQ(k.created(0), "A has 0");
    EXPECT_EQ(k.release('A'), "");
    EXPECT_TRUE(k.acquire_fast('A'));
    EXPECT_EQ(k.release('A'), "destroy 0 (used up)");
    EXPECT_EQ(k.destroyed(0), "");
  }
}

// A validation is not a use.
TEST(KernelAges, D2AnIdleResourceThatIsKeptAliveEndsInTime) {
  kernel k({.options = fresh({.max_size = 1, .idle_timeout = 600ms, .keepalive = 200ms}),
            .validates = true});
  fill(k, 1);
  for (int i = 0; i < 2; ++i) {
    EXPECT_EQ(k.tick(210), "validate 0");
    EXPECT_EQ(k.validated(0), "");
  }
  EXPECT_EQ(k.tick(190), "destroy 0 (idle too long)");
}

// Resources of min_idle are kept in spite of the idle timeout.
TEST(KernelAges, D2ResourcesKeptByMinIdleEndByTheirLifetime) {
  kernel k({.options = fresh({.max_size = 1,
                              .min_idle = 1,
                              .idle_timeout = 100ms,
                              .max_lifetime = 1000ms,
                              .lifetime_jitter = 0})});
  EXPECT_EQ(k.suspend(false), "create 0");
  k.created(0);
  EXPECT_EQ(k.tick(990), "");
  EXPECT_EQ(k.tick(50), "destroy 0 (too old)");
  EXPECT_EQ(k.destroyed(0), "create 0");
}

// golang/go #22950: each collection drops all pooled objects.
TEST(KernelAges, D7NothingIsDroppedWithoutALimit) {
  kernel k(
      {.options = fresh({.max_size = 3, .idle_timeout = 0s, .max_lifetime = 0s, .keepalive = 0s})});
  fill(k, 3);
  for (int day = 0; day < 100; ++day) {
    EXPECT_EQ(k.tick(24 * 3600 * 1000), "");
  }
  EXPECT_EQ(k.stats().idle, 3);
}

// brettwooldridge/HikariCP #1208: the pool does not get smaller.
TEST(KernelAges, D9ResourcesThatTheLoadDoesNotNeedExpire) {
  kernel k({.options = fresh({.max_size = 5, .idle_timeout = 60ms})});
  fill(k, 5);
  for (int i = 0; i < 100; ++i) {
    ASSERT_TRUE(k.acquire_fast('A'));
    k.release('A');
    k.tick(1);
  }
  EXPECT_EQ(k.stats().idle, 1);
}

// jackc/puddle, r2dbc-pool #166: a low load that touches each resource keeps all of them.
TEST(KernelAges, D9ThreadsForgetTheirLastResourceFourTimesInAnIdleTimeout) {
  for (const int idle_timeout : {0, 40, 400}) {
    kernel k({.options =
                  fresh({.max_size = 2, .idle_timeout = std::chrono::milliseconds(idle_timeout)})});
    fill(k, 2);
    int forgotten = 0;
    for (int ms = 0; ms < 800; ++ms) {
      k.last().set(k.slot_at(1));
      k.tick(1);
      forgotten += k.last().get() == nullptr ? 1 : 0;
    }
    EXPECT_EQ(forgotten, idle_timeout == 0 ? 0 : 800 / (idle_timeout / 4));
  }
}

// vitessio/vitess #20080: refreshing idle resources makes acquires wait.
TEST(KernelAges, D6AnAcquireBesideMaintenanceDoesNotWait) {
  kernel k({.options = fresh({.max_size = 2, .keepalive = 1000ms, .max_creating = 1}),
            .validates = true});
  fill(k, 2);
  EXPECT_EQ(k.tick(1000), "validate 0");
  EXPECT_TRUE(k.acquire_fast('A'));
  EXPECT_EQ(k.acquire('b'), "");
  EXPECT_EQ(k.validated(0), "b has 0");  // and not validated again
}

TEST(KernelAges, D6MaintenanceYieldsToWaiters) {
  kernel k({.options = fresh({.max_size = 1, .keepalive = 1000ms}), .validates = true});
  fill(k, 1);
  k.suspend();  // only a suspended pool has both idle resources and waiters
  EXPECT_EQ(k.acquire('b'), "");
  EXPECT_EQ(k.tick(1100), "");
  EXPECT_EQ(k.suspend(false), "b has 0");
}

TEST(KernelAges, ASilentKeepaliveLetsOthersEnd) {
  kernel k({.options =
                fresh({.max_size = 2, .idle_timeout = 300ms, .keepalive = 20ms, .max_creating = 1}),
            .validates = true});
  fill(k, 2);
  EXPECT_EQ(k.tick(20), "validate 0");
  EXPECT_EQ(k.tick(300), "destroy 1 (idle too long)");
}

// golang/go #23199: one huge buffer is kept for ever.
TEST(KernelAges, D8AResetMayRefuse) {
  kernel k({.options = {.max_size = 1}, .resets = true});
  k.acquire('A');
  k.created(0);
  k.acquire('B');
  EXPECT_EQ(k.release('A'), "reset 0");
  EXPECT_EQ(k.was_reset(0), "B has 0");
  EXPECT_EQ(k.release('B'), "reset 0");
  EXPECT_EQ(k.was_reset(0, false), "destroy 0 (reset refused)");
}

}  // namespace
}  // namespace lido
