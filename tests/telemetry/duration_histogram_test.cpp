// Histograms of durations, and their precision.
#include "lido/resource/duration_histogram.hpp"

#include <gtest/gtest.h>

#include <algorithm>
#include <chrono>
#include <cmath>
#include <cstdint>
#include <random>
#include <vector>

namespace lido {
namespace {

using namespace std::chrono_literals;
using std::chrono::nanoseconds;

constexpr double most_error = 0.02;

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

}  // namespace
}  // namespace lido
