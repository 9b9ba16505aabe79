// Threads that end in the middle of using a pool: by pthread_exit, or cancelled.
#include <gtest/gtest.h>
#include <pthread.h>
#include <unistd.h>

#include <atomic>
#include <thread>

#include "lido/concurrency/backoff.hpp"
#include "lido/object_pool.hpp"
#include "support/drain.hpp"

namespace lido {
namespace {

TEST(KilledThread, ExitGivesBackWhatTheThreadHeldAndCached) {
  object_pool<int> pool(64);
  std::thread([&] {
    test::fill_own_cache(pool, 20);
    const auto held = pool.acquire(1);
    EXPECT_GT(pool.stats().cached, 0U);
    ::pthread_exit(nullptr);
  }).join();
  EXPECT_EQ(pool.stats().in_use, 0U);
  EXPECT_EQ(pool.stats().open_caches, 0U);
  EXPECT_EQ(test::count_acquirable(pool), 64U);
}

TEST(KilledThread, CancelledOneGivesBackWhatItHeldAndCached) {
  object_pool<int> pool(64);
  std::atomic<bool> holds{false};
  std::thread other([&] {
    test::fill_own_cache(pool, 20);
    const auto held = pool.acquire(1);
    holds = true;
    for (;;) {
      (void)::pause();
    }
  });
  while (!holds) {
    std::this_thread::yield();
  }
  ASSERT_EQ(::pthread_cancel(other.native_handle()), 0);
  other.join();
  EXPECT_EQ(pool.stats().in_use, 0U);
  EXPECT_EQ(pool.stats().open_caches, 0U);
  EXPECT_EQ(test::count_acquirable(pool), 64U);
}

// What waits for a moment inside an acquire or a release is no place to be cancelled at.
TEST(KilledThread, NoneIsCancelledInANap) {
  std::atomic<bool> naps{false};
  std::atomic<bool> cancelled{false};
  const auto nap = []() noexcept { detail::nap_thread(); };
  std::thread other([&] {
    while (!cancelled) {
      nap();
      naps = true;
    }
    nap();
    for (;;) {
      (void)::pause();
    }
  });
  while (!naps) {
    std::this_thread::yield();
  }
  ASSERT_EQ(::pthread_cancel(other.native_handle()), 0);
  cancelled = true;
  other.join();
}

}  // namespace
}  // namespace lido
