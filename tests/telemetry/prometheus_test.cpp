// The metrics of pools, as prometheus-cpp writes them.
#include "lido/prometheus.hpp"

#include <gtest/gtest.h>
#include <prometheus/text_serializer.h>

#include <algorithm>
#include <set>
#include <sstream>
#include <string>

#include "telemetry/known_pools.hpp"

namespace lido {
namespace {

/// Returns the lines that begin so.
std::string lines_of(const registry& pools, const std::string& begin) {
  std::istringstream all(::prometheus::TextSerializer().Serialize(pool_collector(pools).Collect()));
  std::string found;
  for (std::string line; std::getline(all, line);) {
    found += line.rfind(begin, 0) == 0 ? line + "\n" : "";
  }
  return found;
}

TEST(PoolCollector, HasOneFamilyOfANameAndAValueForEachPoolAndState) {
  registry pools;
  const test::known_pool db(pools, "same", test::report_of_resources());
  const test::known_pool slots(pools, "same", {});
  EXPECT_EQ(lines_of(pools, "lido_pool_slots"),
            "lido_pool_slots{pool=\"same\",kind=\"known\",number=\"1\",state=\"used\"} 1\n"
            "lido_pool_slots{pool=\"same\",kind=\"known\",number=\"1\",state=\"idle\"} 0\n"
            "lido_pool_slots{pool=\"same\",kind=\"known\",number=\"1\",state=\"creating\"} 2\n"
            "lido_pool_slots{pool=\"same\",kind=\"known\",number=\"1\",state=\"checking\"} 0\n"
            "lido_pool_slots{pool=\"same\",kind=\"known\",number=\"1\",state=\"closing\"} 0\n"
            "lido_pool_slots{pool=\"same\",kind=\"known\",number=\"2\",state=\"used\"} 3\n"
            "lido_pool_slots{pool=\"same\",kind=\"known\",number=\"2\",state=\"idle\"} 5\n");
  std::set<std::string> names;
  for (const ::prometheus::MetricFamily& family : pool_collector(pools).Collect()) {
    EXPECT_TRUE(names.insert(family.name).second) << family.name;
    EXPECT_FALSE(family.help.empty()) << family.name;
  }
  EXPECT_EQ(names.count("lido_pool_use_time_seconds"), 0U) << "not counted";
}

TEST(PoolCollector, TellsKindsUnitsAndReasons) {
  registry pools;
  const test::known_pool db(pools, "db", test::report_of_resources());
  const std::string pool = "{pool=\"db\",kind=\"known\",number=\"1\"";
  EXPECT_EQ(lines_of(pools, "# TYPE lido_pool_timeouts_total"),
            "# TYPE lido_pool_timeouts_total counter\n");
  EXPECT_EQ(lines_of(pools, "# TYPE lido_pool_max"), "# TYPE lido_pool_max gauge\n");
  EXPECT_EQ(lines_of(pools, "lido_pool_timeouts_total"),
            "lido_pool_timeouts_total" + pool + "} 7\n");
  EXPECT_EQ(lines_of(pools, "lido_pool_longest_wait_seconds"),
            "lido_pool_longest_wait_seconds" + pool + "} 1.5\n");
  EXPECT_EQ(lines_of(pools, "lido_pool_destroyed_total" + pool + ",reason=\"too_old\""),
            "lido_pool_destroyed_total" + pool + ",reason=\"too_old\"} 3\n");
}

// Prometheus takes each fall of a counter for a restart, and shows no rate of a gauge.
TEST(PoolCollector, WhatOnlyGrowsIsACounterAndSaysSoInItsName) {
  registry pools;
  const test::known_pool db(pools, "db", test::report_of_resources());
  const test::known_pool slots(pools, "slots", {});
  for (const ::prometheus::MetricFamily& family : pool_collector(pools).Collect()) {
    const bool is_total = family.name.ends_with("_total");
    EXPECT_EQ(family.type == ::prometheus::MetricType::Counter, is_total) << family.name;
    const bool is_time = family.name.ends_with("_time_seconds");
    EXPECT_EQ(family.type == ::prometheus::MetricType::Histogram, is_time) << family.name;
  }
}

TEST(PoolCollector, SortsTimesIntoBucketsOfOpenTelemetry) {
  registry pools;
  const test::known_pool db(pools, "db", test::report_of_resources());
  const std::string name = "lido_pool_create_time_seconds";
  const std::string pool = "{pool=\"db\",kind=\"known\",number=\"1\"";
  std::string wanted = name + "_count" + pool + "} 2\n" + name + "_sum" + pool + "} 2.002\n";
  for (const char* bucket : {"0.001\"} 0", "0.005\"} 1", "0.01\"} 1", "0.05\"} 1", "0.1\"} 1",
                             "0.5\"} 1", "1\"} 1", "5\"} 2", "10\"} 2", "+Inf\"} 2"}) {
    wanted += name + "_bucket" + pool + ",le=\"" + bucket + "\n";
  }
  EXPECT_EQ(lines_of(pools, name), wanted);
}

// Prometheus refuses all metrics of a process if one name is not UTF-8.
TEST(PoolCollector, ReplacesWhatANameMayNotHave) {
  registry pools;
  const test::known_pool odd(pools, "a\xFF\"\n", {});
  EXPECT_EQ(lines_of(pools, "lido_pool_max"),
            "lido_pool_max{pool=\"a???\",kind=\"known\",number=\"1\"} 8\n");
}

}  // namespace
}  // namespace lido
