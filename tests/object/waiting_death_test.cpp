// Pools that end while threads wait, and waits where the kernel refuses the heavy fence.
#include <gtest/gtest.h>
#include <linux/membarrier.h>
#include <unistd.h>

#include <atomic>
#include <chrono>
#include <cstdlib>
#include <memory>
#include <optional>
#include <thread>
#include <vector>

#include "concurrency/pool_scope.hpp"
#include "lido/co_acquire.hpp"
#include "support/crew.hpp"
#include "support/drain.hpp"
#include "support/forbidden_membarrier.hpp"

namespace lido {
namespace {

using waited_for = object_pool<int>;

TEST(WaitingDeathTest, PoolMustNotEndWhileThreadsWait) {
  EXPECT_DEATH(
      {
        waited_for::lease_type held;
        auto pool = std::make_unique<waited_for>(object_pool_options{
            .capacity = 1, .name = "connections", .when_full = when_full::wait});
        held = pool->acquire();
        std::thread([&] { (void)pool->acquire(); }).detach();
        while (pool->stats().waiting != 1) {
          std::this_thread::yield();
        }
        pool.reset();
      },
      "lido: pool 'connections' ends while 1 acquires wait for it");
}

TEST(WaitingDeathTest, PoolMustNotEndWhileCallbacksWait) {
  EXPECT_DEATH(
      {
        waited_for::lease_type held;
        auto pool =
            std::make_unique<waited_for>(object_pool_options{.capacity = 1, .name = "connections"});
        held = pool->acquire();
        pool->async_acquire([](const waited_for::lease_type& /*lease*/) {});
        pool->async_acquire([](const waited_for::lease_type& /*lease*/) {}, std::chrono::hours(1));
        pool.reset();
      },
      "lido: pool 'connections' ends while 2 acquires wait for it");
}

// A callback that changes its thread finds the marks of another thread, here one mark too many.
TEST(WaitingDeathTest, ACallbackMustEndInItsThread) {
  EXPECT_DEATH(
      {
        waited_for pool(1);
        auto held = pool.acquire();
        std::optional<detail::pool_scope> mark;
        pool.async_acquire([&](const waited_for::lease_type& /*lease*/) { mark.emplace(nullptr); });
        held.reset();
      },
      "lido: code that a pool called has ended in another thread");
}

[[noreturn]] void end(bool as_expected) {
  std::exit(as_expected ? 0 : 1);  // NOLINT(concurrency-mt-unsafe): no other thread is left
}

/// Twice as many threads as slots, which are released into caches all the time.
bool serve_everyone(waited_for& pool) {
  test::run_crew(8, [&](unsigned /*me*/) {
    for (int round = 0; round < 300; ++round) {
      const auto first = pool.acquire(round);
      std::this_thread::yield();
    }
  });
  return pool.stats().in_use == 0 && pool.stats().waiting == 0;
}

class WaitingWithoutFenceDeathTest : public ::testing::Test {
 protected:
  void SetUp() override {
    if (!test::can_forbid_membarrier() || !test::has_membarrier()) {
      GTEST_SKIP() << "this system has no heavy fence, or cannot forbid it";
    }
    GTEST_FLAG_SET(death_test_style, "threadsafe");
  }
};

TEST_F(WaitingWithoutFenceDeathTest, FromTheStartEveryoneIsServed) {
  EXPECT_EXIT(
      {
        test::forbid_membarrier(
            {MEMBARRIER_CMD_REGISTER_PRIVATE_EXPEDITED, MEMBARRIER_CMD_PRIVATE_EXPEDITED});
        waited_for pool({.capacity = 4, .when_full = when_full::wait});
        end(serve_everyone(pool) && pool.stats().heavy_fences == 0);
      },
      ::testing::ExitedWithCode(0), "");
}

TEST_F(WaitingWithoutFenceDeathTest, WhileAPoolLivesEveryoneIsServed) {
  EXPECT_EXIT(
      {
        waited_for pool({.capacity = 16, .when_full = when_full::wait});
        std::vector<waited_for::lease_type> held;
        // In a thread that ends: no thread could empty the cache of an idle one.
        std::thread([&] {
          for (int i = 0; i < 12; ++i) {
            held.push_back(pool.acquire(i));
          }
        }).join();
        test::forbid_membarrier(
            {MEMBARRIER_CMD_REGISTER_PRIVATE_EXPEDITED, MEMBARRIER_CMD_PRIVATE_EXPEDITED});
        (void)serve_everyone(pool);
        end(pool.stats().waiting == 0 && pool.stats().in_use == held.size());
      },
      ::testing::ExitedWithCode(0), "");
}

/// Checks a pool whose free slots are in the cache of an idle thread.
bool gives_up_in_time(waited_for& pool) {
  const test::parked_crew onlooker(1, [&](unsigned /*index*/) {
    for (int burst = 0; burst < 10; ++burst) {
      test::fill_own_cache(pool, 20);
    }
  });
  test::forbid_membarrier(
      {MEMBARRIER_CMD_REGISTER_PRIVATE_EXPEDITED, MEMBARRIER_CMD_PRIVATE_EXPEDITED});
  const std::vector<int*> held = test::drain(pool);
  const bool is_uncertain = pool.stats().cached > 0;
  const bool had_one = static_cast<bool>(pool.acquire_for(std::chrono::milliseconds(20)));
  test::release_all(pool, held);
  return is_uncertain && !had_one;
}

// The threads that pools share look again on behalf of callbacks.
TEST_F(WaitingWithoutFenceDeathTest, WhileAPoolLivesCallbacksAreServed) {
  EXPECT_EXIT(
      {
        (void)::alarm(120);  // ends a wait that would never end
        waited_for pool({.capacity = 16});
        std::vector<waited_for::lease_type> held;
        // In a thread that ends: no thread could empty the cache of an idle one.
        std::thread([&] {
          for (int i = 0; i < 12; ++i) {
            held.push_back(pool.acquire(i));
          }
        }).join();
        test::forbid_membarrier(
            {MEMBARRIER_CMD_REGISTER_PRIVATE_EXPEDITED, MEMBARRIER_CMD_PRIVATE_EXPEDITED});
        std::atomic<int> served{0};
        test::run_crew(4, [&](unsigned /*me*/) {
          for (int round = 0; round < 300; ++round) {
            pool.async_acquire([&](waited_for::lease_type lease) {
              lease.reset();
              ++served;
            });
            std::this_thread::yield();
          }
        });
        while (served != 4 * 300) {
          std::this_thread::yield();
        }
        end(pool.stats().waiting == 0 && pool.stats().in_use == held.size());
      },
      ::testing::ExitedWithCode(0), "");
}

// It looks again and again, since it cannot know that there is no slot, but gives up in time.
TEST_F(WaitingWithoutFenceDeathTest, WhileAPoolLivesThreadsWithoutASlotGiveUpInTime) {
  EXPECT_EXIT(
      {
        (void)::alarm(120);  // ends a wait that would never end
        waited_for pool({.capacity = 64, .when_full = when_full::wait});
        end(gives_up_in_time(pool));
      },
      ::testing::ExitedWithCode(0), "");
}

}  // namespace
}  // namespace lido
