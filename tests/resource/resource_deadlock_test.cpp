// Threads that hold what they wait for. The letters and numbers are those of
// docs/reference/tests.md.
#include <gtest/gtest.h>

#include <atomic>
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

class ResourceDeadlock : public test::resource_in_each_mode {};

// brettwooldridge/HikariCP #442, aio-libs/aiopg #113: a thread waits for what it holds itself.
TEST_P(ResourceDeadlock, A14AThreadThatHasAllDoesNotWaitForMore) {
  fake_pool& pool = start({.max_size = 2});
  const fake_lease first = pool.acquire();
  const fake_lease second = pool.acquire();
  EXPECT_EQ(failure_of(pool, 10s), acquire_failure::self_deadlock);
}

TEST_P(ResourceDeadlock, A14SeveralThreadsThatWaitForOneAnotherAreTold) {
  fake_pool& pool = start({.max_size = 2});
  std::atomic<int> told{0};
  std::atomic<int> holding{0};
  test::run_crew(2, [&](unsigned) {
    const fake_lease mine = pool.acquire();
    ++holding;
    eventually([&] { return holding == 2; });
    try {
      (void)pool.acquire_for(10s);
    } catch (const acquire_error& error) {
      told += error.cause() == acquire_failure::self_deadlock ? 1 : 0;
    }
  });
  EXPECT_EQ(told, 1);  // and the other then gets what that one gave back
}

// What closes the ring is that the place for one more is taken away, before its create fails or
// afterwards.
TEST_P(ResourceDeadlock, A14WhoWaitsForItselfInASmallerPoolIsTold) {
  for (const bool early : {true, false}) {
    server.creates = 0;
    fake_pool& pool = start({.max_size = 2, .retry_first = 100s, .retry_longest = 100s});
    const fake_lease mine = pool.acquire();
    server.slow = early;
    server.down = true;
    std::jthread other([&] {
      EXPECT_TRUE(eventually([&] {
        return server.creates == 2 && server.creating == (early ? 1 : 0) &&
               pool.stats().waiters == 1;
      }));
      pool.resize(1);
      server.slow = false;
    });
    EXPECT_EQ(failure_of(pool, 20s), acquire_failure::self_deadlock);
    other.join();
    server.down = false;
  }
}

TEST_P(ResourceDeadlock, A14WhatWasPassedOnMayComeBack) {
  fake_pool& pool = start({.max_size = 1});
  fake_lease mine = pool.acquire();
  std::jthread other([theirs = std::move(mine)]() mutable {
    std::this_thread::sleep_for(5ms);
    theirs.reset();
  });
  EXPECT_TRUE(pool.acquire_for(10s));
}

LIDO_TEST_IN_ALL_MODES(ResourceDeadlock);

}  // namespace
}  // namespace lido
