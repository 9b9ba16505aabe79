#include "lido/magazine/cache_sizing.hpp"

#include <gtest/gtest.h>

#include <cstdint>

namespace lido::detail {
namespace {

constexpr std::uint32_t roomy = 1000;

cache_sizing sizing_with_limit(std::uint32_t limit) {
  cache_sizing sizing;
  while (sizing.limit() < limit) {
    sizing.grow(limit);
  }
  return sizing;
}

std::uint32_t operations_until_open(cache_sizing& sizing, std::uint32_t scarcity) {
  std::uint32_t operations = 1;
  while (!sizing.wants_to_open(scarcity, roomy)) {
    ++operations;
  }
  return operations;
}

TEST(CacheSizing, StartsClosed) {
  EXPECT_TRUE(cache_sizing().closed());
  EXPECT_EQ(cache_sizing().limit(), 0U);
}

TEST(CacheSizing, NewCacheOpensAtItsFirstOperation) {
  EXPECT_TRUE(cache_sizing().wants_to_open(/*scarcity=*/0, roomy));
}

TEST(CacheSizing, FirstGrowthGivesTheSmallestLimit) {
  cache_sizing sizing;
  sizing.grow(roomy);
  EXPECT_EQ(sizing.limit(), cache_sizing::smallest);
}

TEST(CacheSizing, GrowthDoubles) {
  cache_sizing sizing = sizing_with_limit(16);
  sizing.grow(roomy);
  EXPECT_EQ(sizing.limit(), 32U);
}

TEST(CacheSizing, GrowthStopsAtTheCeiling) {
  cache_sizing sizing = sizing_with_limit(16);
  sizing.grow(20);
  EXPECT_EQ(sizing.limit(), 20U);
}

TEST(CacheSizing, GrowthUnderALowerCeilingShrinks) {
  cache_sizing sizing = sizing_with_limit(64);
  sizing.grow(10);
  EXPECT_EQ(sizing.limit(), 10U);
}

TEST(CacheSizing, CeilingBelowTheSmallestCloses) {
  cache_sizing sizing = sizing_with_limit(64);
  sizing.grow(cache_sizing::smallest - 1);
  EXPECT_TRUE(sizing.closed());
}

TEST(CacheSizing, TheftHalvesTheLimit) {
  cache_sizing sizing = sizing_with_limit(64);
  sizing.shrink(/*scarcity=*/0);
  EXPECT_EQ(sizing.limit(), 32U);
}

TEST(CacheSizing, TheftFromTheSmallestCloses) {
  cache_sizing sizing = sizing_with_limit(cache_sizing::smallest);
  sizing.shrink(/*scarcity=*/0);
  EXPECT_TRUE(sizing.closed());
}

TEST(CacheSizing, ClosedCacheOpensAgainAfterItsPatience) {
  cache_sizing sizing = sizing_with_limit(64);
  sizing.close();
  EXPECT_EQ(operations_until_open(sizing, 0), cache_sizing::patience + 1);
}

TEST(CacheSizing, ScarcityStartsThePatienceAnew) {
  cache_sizing sizing = sizing_with_limit(64);
  sizing.close();
  for (std::uint32_t i = 0; i < cache_sizing::patience; ++i) {
    (void)sizing.wants_to_open(/*scarcity=*/0, roomy);
  }
  EXPECT_EQ(operations_until_open(sizing, 1), 2 * cache_sizing::patience + 1);
}

TEST(CacheSizing, TheftAndExhaustionTogetherClose) {
  cache_sizing sizing = sizing_with_limit(64);
  sizing.shrink(/*scarcity=*/1);
  EXPECT_TRUE(sizing.closed());
  EXPECT_EQ(operations_until_open(sizing, 1), 2 * cache_sizing::patience + 1);
}

TEST(CacheSizing, PatienceDoublesWithEachExhaustionUpToItsMost) {
  cache_sizing sizing;
  for (std::uint32_t scarcity = 1; scarcity < 20; ++scarcity) {
    (void)sizing.wants_to_open(scarcity, roomy);
  }
  sizing.close();
  EXPECT_EQ(operations_until_open(sizing, 19), cache_sizing::most_patience + 1);
}

TEST(CacheSizing, PatienceReturnsWithTheTripsOfAnOpenCache) {
  cache_sizing sizing;
  for (std::uint32_t scarcity = 1; scarcity < 20; ++scarcity) {
    (void)sizing.wants_to_open(scarcity, roomy);
  }
  for (int trip = 0; trip < 200; ++trip) {
    sizing.grow(roomy);
  }
  sizing.close();
  EXPECT_LT(operations_until_open(sizing, 19), 2 * cache_sizing::patience);
}

TEST(CacheSizing, LowCeilingKeepsItClosed) {
  cache_sizing sizing;
  EXPECT_FALSE(sizing.wants_to_open(/*scarcity=*/0, cache_sizing::smallest - 1));
}

TEST(CacheSizing, ResetMakesItLikeNew) {
  cache_sizing sizing = sizing_with_limit(64);
  sizing.close();
  sizing.reset(/*scarcity=*/7);
  EXPECT_TRUE(sizing.closed());
  EXPECT_TRUE(sizing.wants_to_open(/*scarcity=*/7, roomy));
}

TEST(CacheSizing, ResetForgetsThePatienceOfTheThreadBefore) {
  cache_sizing sizing;
  for (std::uint32_t scarcity = 1; scarcity < 20; ++scarcity) {
    (void)sizing.wants_to_open(scarcity, roomy);
  }
  sizing.reset(/*scarcity=*/19);
  sizing.grow(roomy);
  sizing.close();
  EXPECT_EQ(operations_until_open(sizing, 19), cache_sizing::patience + 1);
}

}  // namespace
}  // namespace lido::detail
