// Threads that end in the middle of a use of a pool, by pthread_exit.
#include <gtest/gtest.h>
#include <pthread.h>

#include <thread>

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

}  // namespace
}  // namespace lido
