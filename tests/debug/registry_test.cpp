// Pools by name: what a visit sees, and that it never sees a pool that has been destroyed.
#include "lido/registry.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <atomic>
#include <chrono>
#include <cstddef>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "lido/block_resource.hpp"
#include "lido/concurrent_slot_map.hpp"
#include "lido/keyed_resource_pool.hpp"
#include "lido/object_pool.hpp"
#include "lido/resource_pool.hpp"
#include "support/crew.hpp"

namespace lido {
namespace {

using ::testing::ElementsAre;

std::vector<pool_report> reports_of(const registry& pools) {
  std::vector<pool_report> found;
  pools.visit([&found](const pool_report& one) { found.push_back(one); });
  return found;
}

std::vector<std::string> names_in(const registry& pools) {
  std::vector<std::string> found;
  pools.visit([&found](const pool_report& one) { found.emplace_back(one.name); });
  return found;
}

int make_number() {
  return 1;
}

resource_pool_options options_in(registry& pools, std::size_t max_size) {
  return {.max_size = max_size,
          .name = "numbers",
          .registry = &pools,
          .maintenance = maintenance::by_tick};
}

TEST(Registry, ListsPoolsOfEveryKindInTheOrderOfTheirConstruction) {
  registry pools;
  object_pool<int> objects({.capacity = 10, .name = "objects", .registry = &pools});
  concurrent_slot_map<int> values({.max_size = 20, .name = "values", .registry = &pools});
  block_resource blocks({.block_bytes = 64, .blocks = 30, .name = "blocks", .registry = &pools});
  resource_pool<int> numbers(&make_number, options_in(pools, 4));
  keyed_resource_pool<int, int> keyed([](const int& key) { return key; },
                                      {.max_total = 5, .each_key = options_in(pools, 2)});
  const auto object = objects.acquire();
  const auto number = numbers.acquire();
  const auto first = keyed.at(1).acquire();
  const auto second = keyed.at(2).acquire();
  const std::vector<pool_report> found = reports_of(pools);
  ASSERT_EQ(found.size(), 5U);
  std::vector<std::string> lines;
  for (const pool_report& one : found) {
    lines.push_back(std::string(one.kind) + " " + std::string(one.name) + " " +
                    std::to_string(one.stats.in_use) + "/" + std::to_string(one.stats.capacity));
  }
  EXPECT_THAT(lines, ElementsAre("object_pool objects 1/10", "concurrent_slot_map values 0/20",
                                 "block_resource blocks 0/30", "resource_pool numbers 1/4",
                                 "keyed_resource_pool numbers 2/5"));
  EXPECT_EQ(found[0].resources, nullptr);
  ASSERT_NE(found[4].resources, nullptr);
  EXPECT_EQ(found[4].resources->stats.created, 2U);
}

TEST(Registry, HasNoPoolThatWasNotGivenIt) {
  registry pools;
  const registry others;
  const object_pool<int> inside({.capacity = 1, .name = "inside", .registry = &pools});
  const object_pool<int> outside({.capacity = 1, .name = "outside"});
  const object_pool<int> known({.capacity = 1, .name = "known", .registry = &registry::global()});
  EXPECT_THAT(names_in(pools), ElementsAre("inside"));
  EXPECT_THAT(names_in(others), ElementsAre());
  EXPECT_THAT(names_in(registry::global()), ElementsAre("known"));
}

TEST(Registry, TellsPoolsOfOneNameApart) {
  registry pools;
  const object_pool<int> first({.capacity = 1, .name = "same", .registry = &pools});
  std::uint64_t ended = 0;
  {
    const object_pool<int> second({.capacity = 2, .name = "same", .registry = &pools});
    ended = reports_of(pools).back().number;
  }
  const object_pool<int> third({.capacity = 3, .name = "same", .registry = &pools});
  const std::vector<pool_report> found = reports_of(pools);
  ASSERT_EQ(found.size(), 2U);
  EXPECT_LT(found[0].number, ended);
  EXPECT_GT(found[1].number, ended) << "a number came back";
}

TEST(Registry, NamesEachOfSeveralSizesOfBlocks) {
  registry pools;
  const block_resource blocks({.sizes = {{.bytes = 64, .blocks = 2}, {.bytes = 16, .blocks = 4}},
                               .name = "nodes",
                               .registry = &pools});
  EXPECT_THAT(names_in(pools), ElementsAre("nodes[16]", "nodes[64]"));
}

TEST(Registry, ForgetsAPoolWhoseConstructorThrows) {
  struct thrower {
    thrower() { throw 1; }
  };
  struct eager : pool_traits<thrower> {
    using hooks = keep;
  };
  registry pools;
  using pool_type = object_pool<thrower, eager>;
  EXPECT_THROW(pool_type({.capacity = 1, .registry = &pools, .creation = creation::eager}), int);
  EXPECT_THAT(names_in(pools), ElementsAre());
}

TEST(Registry, LetsAVisitorMakeAndEndPools) {
  registry pools;
  std::optional<object_pool<int>> first;
  std::optional<object_pool<int>> second;
  first.emplace(object_pool_options{.capacity = 1, .name = "first", .registry = &pools});
  std::vector<std::string> seen;
  pools.visit([&](const pool_report& one) {
    seen.emplace_back(one.name);
    if (one.name == "first") {
      second.emplace(object_pool_options{.capacity = 1, .name = "second", .registry = &pools});
      first.reset();
    }
  });
  EXPECT_THAT(seen, ElementsAre("first", "second"));
  EXPECT_THAT(names_in(pools), ElementsAre("second"));
}

TEST(Registry, VisitsEachPoolOnceWhileTheVisitorEndsSomeOfThem) {
  registry pools;
  std::vector<std::unique_ptr<object_pool<int>>> all;
  for (const char* const name : {"0", "1", "2", "3", "4", "5", "6"}) {
    all.push_back(std::make_unique<object_pool<int>>(
        object_pool_options{.capacity = 1, .name = name, .registry = &pools}));
  }
  std::vector<std::string> seen;
  pools.visit([&](const pool_report& one) {
    seen.emplace_back(one.name);
    const std::map<std::string, std::vector<std::size_t>> ended{
        {"1", {0, 1}}, {"2", {3}}, {"4", {2, 6}}};  // those before, at and after the visit
    if (const auto found = ended.find(std::string(one.name)); found != ended.end()) {
      for (const std::size_t which : found->second) {
        all.at(which).reset();
      }
    }
  });
  EXPECT_THAT(seen, ElementsAre("0", "1", "2", "4", "5"));
  EXPECT_THAT(names_in(pools), ElementsAre("4", "5"));
}

// The memory of a destroyed pool may serve the next one at once.
TEST(Registry, GoesOnBehindAnEndedPoolInWhosePlaceAnotherBegins) {
  registry pools;
  registry others;
  const auto nothing = [](void* /*pool*/, pool_report& /*out*/) {};
  std::optional<detail::registration> entry;
  entry.emplace(pools, "known", "one", nothing, nullptr);
  const detail::registration two(pools, "known", "two", nothing, nullptr);
  std::vector<std::string> seen;
  pools.visit([&](const pool_report& one) {
    seen.emplace_back(one.name);
    if (one.name == "one") {
      entry.emplace(others, "known", "elsewhere", nothing, nullptr);
    }
  });
  EXPECT_THAT(seen, ElementsAre("one", "two"));
  EXPECT_THAT(names_in(others), ElementsAre("elsewhere"));
}

// Scrapes thousands of pools: no step looks at all of them.
TEST(Registry, TheTimeOfAVisitIsLinearInThePools) {
  registry pools;
  std::vector<std::unique_ptr<object_pool<int>>> all;
  const auto visit_of = [&](std::size_t count) {
    while (all.size() < count) {
      all.push_back(std::make_unique<object_pool<int>>(
          object_pool_options{.capacity = 1, .registry = &pools}));
    }
    auto least = std::chrono::steady_clock::duration::max();
    for (int round = 0; round < 30; ++round) {  // other tests run, too
      std::size_t seen = 0;
      const auto begin = std::chrono::steady_clock::now();
      pools.visit([&seen](const pool_report& /*one*/) { ++seen; });
      least = std::min(least, std::chrono::steady_clock::now() - begin);
      EXPECT_EQ(seen, count);
    }
    return std::chrono::duration<double>(least).count();
  };
  const double few = visit_of(1'000);
  const double many = visit_of(8'000);
  EXPECT_LT(
      many,
      32 * few);  // 8 when linear, and more for memory that caches do not hold; 64 when quadratic
}

// Each pool is as large as its name says: one that was half made, or destroyed, would not be.
TEST(Registry, SeesPoolsWholeOrNotAtAllBesideThreadsThatMakeAndEndThem) {
  registry pools;
  std::atomic<unsigned> makers{3};
  std::atomic<int> seen{0};
  test::run_crew(5, [&](unsigned thread) {
    if (thread < 3) {
      const std::size_t size = 100 + thread;
      const std::string name = std::to_string(size);
      for (int round = 0; round < 300 || (seen < 100 && round < 100'000); ++round) {
        const object_pool<int> objects({.capacity = size, .name = name, .registry = &pools});
        const concurrent_slot_map<int> values({.max_size = size, .name = name, .registry = &pools});
        const block_resource blocks(
            {.block_bytes = 8, .blocks = size, .name = name, .registry = &pools});
        resource_pool<int> numbers(&make_number, {.max_size = size,
                                                  .name = name,
                                                  .registry = &pools,
                                                  .maintenance = maintenance::by_tick});
      }
      --makers;
      return;
    }
    while (makers != 0) {
      pools.visit([&seen](const pool_report& one) {
        EXPECT_EQ(std::to_string(one.stats.capacity), one.name) << one.kind;
        EXPECT_EQ(one.stats.in_use, 0U);
        ++seen;
      });
    }
  });
  EXPECT_GE(seen, 100);
  EXPECT_THAT(names_in(pools), ElementsAre());
}

}  // namespace
}  // namespace lido
