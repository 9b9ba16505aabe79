// fmt must print the same text as streams.
#include "lido/fmt.hpp"

#include <gtest/gtest.h>

#include <string>

#include "telemetry/known_pools.hpp"

namespace lido {
namespace {

TEST(PoolFmt, PrintsStatisticsAndReports) {
  EXPECT_EQ(fmt::format("[{}]", test::slots_of_a_pool()),
            "[capacity 8, in_use 3, idle 5, waiting 2, caches locked]");
  EXPECT_EQ(fmt::format("{:.10}", test::report_of_resources()->stats), "capacity 4");
  registry pools;
  const test::known_pool slots(pools, "slots", {});
  pools.visit([](const pool_report& report) {
    EXPECT_EQ(fmt::format("{}", report),
              "slots#1 known: capacity 8, in_use 3, idle 5, waiting 2, caches locked");
  });
}

}  // namespace
}  // namespace lido
