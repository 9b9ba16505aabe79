// The exact text and JSON of pools' numbers.
#include <gtest/gtest.h>

#include <chrono>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <set>
#include <sstream>
#include <string>
#include <string_view>
#include <utility>

#include "lido/block_resource.hpp"
#include "lido/concurrent_slot_map.hpp"
#include "lido/object_pool.hpp"
#include "lido/registry.hpp"
#include "lido/resource_pool.hpp"
#include "telemetry/known_pools.hpp"

namespace lido {
namespace {

template <class T>
std::string text_of(const T& what) {
  std::ostringstream out;
  out << what;
  return out.str();
}

TEST(PoolText, NamesWhatIsNotZeroInALine) {
  EXPECT_EQ(text_of(test::slots_of_a_pool()),
            "capacity 8, in_use 3, idle 5, waiting 2, caches locked");
  EXPECT_EQ(text_of(pool_stats{}), "capacity 0");
  slot_pool_stats slots;
  slots.tag_headroom = 1U << 30U;
  EXPECT_EQ(text_of(slots), "capacity 0") << "for experts";
  slots.growth = {.segments = 2};
  EXPECT_EQ(text_of(slots), "capacity 0, segments 2");
}

TEST(PoolText, HasWhatOnlyResourcesHave) {
  const resource_pool_stats stats = test::report_of_resources()->stats;
  EXPECT_EQ(text_of(stats),
            "capacity 4, in_use 1, creating 2, suspended, timed_out 7, destroyed{too_old} 3, "
            "longest_wait 1.5 s");
}

TEST(PoolText, NamesThePoolOfAReportAndSumsUpItsTimes) {
  registry pools;
  const test::known_pool db(pools, "db", test::report_of_resources());
  std::string text;
  pools.visit([&text](const pool_report& report) { text += text_of(report) + "\n"; });
  EXPECT_EQ(text,
            "db#1 known: capacity 4, in_use 1, creating 2, suspended, timed_out 7, "
            "destroyed{too_old} 3, longest_wait 1.5 s; creates: 2, median 0.002015231 s, 99 % "
            "1.996488703 s\n");
}

TEST(PoolText, IsPaddedAsOneWord) {
  std::ostringstream out;
  out.width(14);
  out << pool_stats{};
  EXPECT_EQ(out.str(), "    capacity 0");
}

std::string json_named(std::string_view name) {
  registry pools;
  const test::known_pool one(pools, name, {});
  const std::string json = to_json(pools);
  const std::string before = R"({"pools":[{"name":)";
  EXPECT_EQ(json.substr(0, before.size()), before);
  return json.substr(before.size(), json.find(R"(,"number")") - before.size());
}

#if defined(__cpp_lib_jthread)
// Totals over all keys: the sum of their values, or the largest of them.
TEST(PoolMetrics, ASumOfKeysHasEachMember) {
  const std::set<std::string_view> largest{"suspended", "mutex_locks", "longest_wait",
                                           "longest_create"};
  const auto filled = [](std::uint64_t from) {
    resource_pool_stats all;
    using stats = resource_pool_stats;
    constexpr std::size_t stats::*gauges[] = {
        &stats::capacity,   &stats::in_use,   &stats::idle,     &stats::live,   &stats::waiting,
        &stats::high_water, &stats::creating, &stats::checking, &stats::closing};
    constexpr std::uint64_t stats::*counts[] = {
        &stats::acquires,        &stats::hits,      &stats::exhausted,       &stats::refused,
        &stats::handed_over,     &stats::timed_out, &stats::cancelled,       &stats::created,
        &stats::create_failures, &stats::detached,  &stats::suspected_leaks, &stats::mutex_locks};
    for (const auto gauge : gauges) {
      all.*gauge = from += 3;
    }
    for (const auto count : counts) {
      all.*count = from += 3;
    }
    for (std::uint64_t& reason : all.destroyed) {
      reason = from += 3;
    }
    for (const auto member :
         {&stats::waited_for, &stats::longest_wait, &stats::creating_for, &stats::longest_create}) {
      all.*member = std::chrono::nanoseconds(from += 3);
    }
    all.suspended = true;
    return all;
  };
  const resource_pool_stats one = filled(1000);
  const resource_pool_stats two = filled(50'000);
  for (const auto& [first, second] : {std::pair(one, two), std::pair(two, one)}) {
    resource_pool_stats sum = first;
    sum.add(second);
    for (const metric& row : pool_metrics()) {
      detail::for_each_value_of(
          row, {.pool = sum, .slot_stats = nullptr, .resources = &sum},
          [&](const metric&, std::size_t index, std::uint64_t value) {
            const std::uint64_t left = *row.read({one, nullptr, &one, index});
            const std::uint64_t right = *row.read({two, nullptr, &two, index});
            EXPECT_NE(left, 0U) << row.member << ": the test does not fill it";
            if (row.member !=
                "high_water") {  // of all keys together; see keyed_resource_pool_stats
              EXPECT_EQ(value, largest.contains(row.member) ? right : left + right) << row.member;
            }
          });
    }
  }
}
#endif

TEST(PoolJson, ReplacesWhatANameMayNotHave) {
  EXPECT_EQ(json_named("net/in [0]"), R"("net/in [0]")");
  EXPECT_EQ(json_named("a\"b\\c~"), R"("a?b?c~")");
  EXPECT_EQ(json_named(std::string_view("\n\0\x1f\x7f\xFF", 5)), R"("?????")");
}

TEST(PoolJson, KeepsANameInUtf8) {
  EXPECT_EQ(json_named("caché 漢字 😀"), R"("caché 漢字 😀")");
  EXPECT_EQ(json_named("\xC2\x80\xDF\xBF"), "\"\xC2\x80\xDF\xBF\"");
  EXPECT_EQ(json_named("\xE0\xA0\x80\xED\x9F\xBF\xEE\x80\x80\xF0\x90\x80\x80\xF4\x8F\xBF\xBF"),
            "\"\xE0\xA0\x80\xED\x9F\xBF\xEE\x80\x80\xF0\x90\x80\x80\xF4\x8F\xBF\xBF\"");
}

TEST(PoolJson, ReplacesEachByteOfANameThatIsNoUtf8) {
  EXPECT_EQ(json_named("a\xC3"), R"("a?")");              // the rest is missing
  EXPECT_EQ(json_named("\xC3(\xE6\xBC!"), R"("?(??!")");  // a part is missing
  EXPECT_EQ(json_named("\x80\xBFz"), R"("??z")");         // the beginning is missing
  EXPECT_EQ(json_named("\xC0\xAF\xC1\x81\xE0\x9F\xBF"), R"("???????")");  // too long a form
  EXPECT_EQ(json_named("\xF0\x8F\xBF\xBF"), R"("????")");                 // too long a form
  EXPECT_EQ(json_named("\xED\xA0\x80"), R"("???")");            // half of a pair in UTF-16
  EXPECT_EQ(json_named("\xF4\x90\x80\x80\xF5"), R"("?????")");  // beyond U+10FFFF
}

TEST(PoolJson, LeavesOutWhatAPoolDoesNotCount) {
  registry pools;
  EXPECT_EQ(to_json(pools), "{\"pools\":[]}\n");
  const object_pool<int> objects({.capacity = 1000, .name = "objects", .registry = &pools});
  const std::string slots = to_json(pools);
  EXPECT_NE(slots.find(R"("refills":0)"), std::string::npos) << slots;
  for (const char* absent : {"growths", "created", "destroyed", "times", "suspended"}) {
    EXPECT_EQ(slots.find(absent), std::string::npos) << absent;
  }
  const bool counts = objects.stats().caches != cache_kind::revocable;
  EXPECT_EQ(slots.find(R"("acquires")") != std::string::npos, counts);
  EXPECT_EQ(slots.find(R"("hits")") != std::string::npos, counts);
}

TEST(PoolJson, HasNoWaitsOfPoolsInWhichCallersCannotWait) {
  registry pools;
  const auto has_waits = [&pools] {
    const std::string json = to_json(pools);
    const bool has = json.find(R"("waiting":0)") != std::string::npos;
    EXPECT_EQ(json.find(R"("handed_over":0)") != std::string::npos, has) << json;
    return has;
  };
  {
    const block_resource blocks({.block_bytes = 8, .blocks = 1, .registry = &pools});
    const concurrent_slot_map<int> map({.max_size = 1, .registry = &pools});
    EXPECT_FALSE(has_waits());
  }
  const object_pool<int> objects({.capacity = 1, .registry = &pools});
  EXPECT_TRUE(has_waits());
}

TEST(PoolJson, HasAllAcquiresOfAPoolThatCountsThem) {
  registry pools;
  object_pool<int> objects({.capacity = 1, .registry = &pools, .caches = cache_kind::none});
  (void)objects.acquire();
  const std::string slots = to_json(pools);
  EXPECT_NE(slots.find(R"("slow_acquires":1,"acquires":1,"hits":0,)"), std::string::npos) << slots;
}

TEST(PoolJson, NamesTheKindOfCaches) {
  const auto json_with = [](cache_kind caches) {
    registry pools;
    const object_pool<int> objects({.capacity = 1000, .registry = &pools, .caches = caches});
    return to_json(pools);
  };
  EXPECT_NE(json_with(cache_kind::none).find(R"("caches":"none")"), std::string::npos);
  EXPECT_NE(json_with(cache_kind::locked).find(R"("caches":"locked")"), std::string::npos);
  const object_pool<int> objects(1000);
  const bool has_fence = objects.stats().caches == cache_kind::revocable;
  EXPECT_NE(json_with(cache_kind::revocable)
                .find(has_fence ? R"("caches":"revocable")" : R"("caches":"locked")"),
            std::string::npos);
}

TEST(PoolJson, HasTheGrowthOfAPoolThatGrows) {
  registry pools;
  const object_pool<int> objects(
      {.registry = &pools, .max_capacity = 100, .when_full = when_full::grow});
  const std::string slots = to_json(pools);
  EXPECT_NE(slots.find(R"("max_capacity":100,"segments":)"), std::string::npos) << slots;
}

TEST(PoolJson, HasTimesAndReasonsOfResources) {
  registry pools;
  const test::known_pool db(pools, "db", test::report_of_resources());
  const std::string json = to_json(pools);
  for (
      const char* present :
      {R"("suspended":true)", R"("timed_out":7)", R"("longest_wait":1.5)",
       R"("destroyed":{"invalid":0,"reset_refused":0,"too_old":3,"idle_too_long":0,)",
       R"("times":{"waits":{"count":0,"sum":0,"p50":0,"p99":0,"max":0},)"
       R"("creates":{"count":2,"sum":2.002,"p50":0.002015231,"p99":1.996488703,"max":1.996488703}}})"}) {
    EXPECT_NE(json.find(present), std::string::npos) << present << " is not in " << json;
  }
  EXPECT_EQ(json.find("refills"), std::string::npos);
}

}  // namespace
}  // namespace lido
