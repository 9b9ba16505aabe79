// Times of a pool: each wait, create and use is in its histogram once.
#include <gtest/gtest.h>

#include <atomic>
#include <chrono>
#include <cstdint>
#include <thread>

#include "lido/keyed_resource_pool.hpp"
#include "lido/resource_pool.hpp"
#include "support/crew.hpp"

namespace lido {
namespace {

using namespace std::chrono_literals;
using std::chrono::nanoseconds;

int make_number() {
  return 1;
}

/// Lets time pass, to make a use longer.
void pass(nanoseconds length) {
  std::this_thread::sleep_for(length);
}

TEST(ResourceTimes, HaveEachUseOnceWhateverEndsIt) {
  resource_pool<int> pool(&make_number, {.max_size = 2, .time_uses = true});
  const auto began = std::chrono::steady_clock::now();
  for (int i = 0; i < 3; ++i) {
    const auto lease = pool.acquire();
    pass(20ms);
  }
  {
    auto lease = pool.acquire();
    pass(20ms);
    lease.discard();
  }
  {
    auto lease = pool.acquire();
    pass(20ms);
    EXPECT_EQ(std::move(lease).detach(), 1);
  }
  const nanoseconds most = std::chrono::steady_clock::now() - began;
  const duration_histogram uses = pool.times().uses;
  EXPECT_EQ(uses.count(), 5U);
  EXPECT_EQ(uses.count(), pool.stats().acquires);
  EXPECT_GE(uses.quantile(0), 19ms) << "two percent less than 20";
  EXPECT_GE(uses.sum(), 100ms);
  EXPECT_LE(uses.sum(), most);
}

TEST(ResourceTimes, HaveNoUsesUnlessAsked) {
  resource_pool<int> pool(&make_number, {.max_size = 2});
  { const auto lease = pool.acquire(); }
  EXPECT_EQ(pool.times().uses.count(), 0U);
}

TEST(ResourceTimes, HaveTheUsesOfAllThreads) {
  resource_pool<int> pool(&make_number, {.max_size = 3, .time_uses = true});
  std::atomic<std::uint64_t> wrong{0};
  test::run_crew(4, [&](unsigned thread) {
    for (int i = 0; i < 2000; ++i) {
      const auto lease = pool.acquire();
      if (thread == 0 && i % 100 == 0) {
        wrong += pool.times().uses.count() > 8000 ? 1 : 0;
      }
    }
  });
  EXPECT_EQ(wrong, 0U);
  EXPECT_EQ(pool.times().uses.count(), 8000U);
  EXPECT_EQ(pool.stats().acquires, 8000U);
}

TEST(ResourceTimes, HaveEachWaitAndEachCreate) {
  resource_pool<int> pool(
      [] {
        pass(10ms);
        return 1;
      },
      {.max_size = 1, .time_uses = true});
  auto held = pool.acquire();
  std::jthread waiter([&pool] { (void)pool.acquire(); });
  while (pool.stats().waiting == 0) {
  }
  pass(30ms);
  held = {};
  waiter.join();
  const resource_pool_times times = pool.times();
  EXPECT_EQ(times.creates.count(), 1U);
  EXPECT_GE(times.creates.quantile(0.5), 9800us);
  EXPECT_EQ(times.creates.sum(), pool.stats().creating_for);
  EXPECT_GE(times.waits.quantile(1), 29400us);
  EXPECT_EQ(times.waits.sum(), pool.stats().waited_for);
}

TEST(ResourceTimes, AreOfAllKeys) {
  keyed_resource_pool<int, int> pool([](const int& key) { return key; },
                                     {.max_total = 4, .each_key = {.time_uses = true}});
  { const auto one = pool.at(1).acquire(); }
  { const auto two = pool.at(2).acquire(); }
  { const auto again = pool.at(2).acquire(); }
  EXPECT_EQ(pool.times().uses.count(), 3U);
  EXPECT_EQ(pool.times().creates.count(), 2U);
}

}  // namespace
}  // namespace lido
