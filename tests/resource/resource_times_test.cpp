// Histograms of times: how exact they are, and that each wait, create and use is in one once.
#include <gtest/gtest.h>

#include <algorithm>
#include <atomic>
#include <cmath>
#include <cstdint>
#include <limits>
#include <random>
#include <thread>
#include <vector>

#include "lido/keyed_resource_pool.hpp"
#include "lido/resource_pool.hpp"
#include "support/crew.hpp"

namespace lido {
namespace {

using namespace std::chrono_literals;
using std::chrono::nanoseconds;

constexpr double most_error = 0.02;

int make_number() {
  return 1;
}

/// A moment that the test waits for in the thread that makes a use longer.
void pass(nanoseconds length) {
  std::this_thread::sleep_for(length);
}

TEST(DurationHistogram, TellsEachLengthToTwoPercent) {
  std::mt19937_64 random(7);
  std::uniform_real_distribution<double> bits(0, 42);
  for (int i = 0; i < 100'000; ++i) {
    const auto length = static_cast<std::int64_t>(std::exp2(bits(random)));
    duration_histogram one;
    one.add(nanoseconds(length));
    const auto told = static_cast<double>(one.quantile(0.5).count());
    ASSERT_LE(std::abs(told - static_cast<double>(length)),
              most_error * static_cast<double>(length))
        << length;
    ASSERT_EQ(one.sum().count(), length);
  }
}

TEST(DurationHistogram, TellsQuantilesOfManyToTwoPercent) {
  std::mt19937_64 random(8);
  std::lognormal_distribution<double> lengths(13, 2);  // about half a millisecond
  std::vector<std::int64_t> all;
  duration_histogram counted;
  for (int i = 0; i < 50'000; ++i) {
    all.push_back(static_cast<std::int64_t>(lengths(random)));
    counted.add(nanoseconds(all.back()));
  }
  std::sort(all.begin(), all.end());
  for (const double part : {0.01, 0.5, 0.9, 0.99, 0.999, 1.0}) {
    const auto rank =
        static_cast<std::size_t>(std::ceil(part * static_cast<double>(all.size()))) - 1;
    const auto exact = static_cast<double>(all[rank]);
    EXPECT_NEAR(static_cast<double>(counted.quantile(part).count()), exact, most_error * exact)
        << part;
  }
  EXPECT_EQ(counted.count(), all.size());
  EXPECT_EQ(counted.count_up_to(1h), all.size());
  const auto below =
      std::count_if(all.begin(), all.end(), [](auto one) { return one <= 1'000'000; });
  EXPECT_NEAR(static_cast<double>(counted.count_up_to(1ms)), static_cast<double>(below),
              static_cast<double>(below) / 50);
}

TEST(DurationHistogram, KeepsWhatIsOutOfRangeInItsFirstAndLastBuckets) {
  duration_histogram counted;
  EXPECT_EQ(counted.quantile(0.5), 0ns);
  counted.add(-5ns);
  EXPECT_EQ(counted.quantile(1), 0ns);
  counted.add(nanoseconds::max());
  EXPECT_GT(counted.quantile(1), 70min);
  EXPECT_EQ(counted.count(), 2U);
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
  { const auto one = pool.acquire(1); }
  { const auto two = pool.acquire(2); }
  { const auto again = pool.acquire(2); }
  EXPECT_EQ(pool.times().uses.count(), 3U);
  EXPECT_EQ(pool.times().creates.count(), 2U);
}

}  // namespace
}  // namespace lido
