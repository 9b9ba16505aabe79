#include "allocator/owned_cache.hpp"

#include <gtest/gtest.h>

#include <array>
#include <bit>
#include <cstddef>
#include <cstdint>

namespace lido::detail {
namespace {

constexpr std::uint32_t roomy = 1000;

cache_limit limit_of(std::uint32_t slots) {
  cache_limit limit;
  while (limit.slots() < slots) {
    limit.grow(slots);
  }
  return limit;
}

std::uint32_t operations_until_open(cache_limit& limit, std::uint32_t scarcity) {
  std::uint32_t operations = 1;
  while (!limit.wants_to_open(scarcity, roomy)) {
    ++operations;
  }
  return operations;
}

TEST(CacheLimit, StartsClosed) {
  EXPECT_TRUE(cache_limit().closed());
  EXPECT_EQ(cache_limit().slots(), 0U);
}

TEST(CacheLimit, NewCacheOpensAtItsFirstOperation) {
  EXPECT_TRUE(cache_limit().wants_to_open(/*scarcity=*/0, roomy));
}

TEST(CacheLimit, FirstGrowthGivesTheSmallestLimit) {
  cache_limit limit;
  limit.grow(roomy);
  EXPECT_EQ(limit.slots(), cache_limit::smallest);
}

TEST(CacheLimit, GrowthDoubles) {
  cache_limit limit = limit_of(16);
  limit.grow(roomy);
  EXPECT_EQ(limit.slots(), 32U);
}

TEST(CacheLimit, GrowthStopsAtTheCeiling) {
  cache_limit limit = limit_of(16);
  limit.grow(20);
  EXPECT_EQ(limit.slots(), 20U);
}

TEST(CacheLimit, GrowthUnderALowerCeilingShrinks) {
  cache_limit limit = limit_of(64);
  limit.grow(10);
  EXPECT_EQ(limit.slots(), 10U);
}

TEST(CacheLimit, CeilingBelowTheSmallestCloses) {
  cache_limit limit = limit_of(64);
  limit.grow(cache_limit::smallest - 1);
  EXPECT_TRUE(limit.closed());
}

TEST(CacheLimit, TheftHalvesTheLimit) {
  cache_limit limit = limit_of(64);
  limit.shrink(/*scarcity=*/0);
  EXPECT_EQ(limit.slots(), 32U);
}

TEST(CacheLimit, TheftFromTheSmallestCloses) {
  cache_limit limit = limit_of(cache_limit::smallest);
  limit.shrink(/*scarcity=*/0);
  EXPECT_TRUE(limit.closed());
}

TEST(CacheLimit, ClosedCacheOpensAgainAfterItsPatience) {
  cache_limit limit = limit_of(64);
  limit.close();
  EXPECT_EQ(operations_until_open(limit, 0), cache_limit::patience + 1);
}

TEST(CacheLimit, ScarcityStartsThePatienceAnew) {
  cache_limit limit = limit_of(64);
  limit.close();
  for (std::uint32_t i = 0; i < cache_limit::patience; ++i) {
    (void)limit.wants_to_open(/*scarcity=*/0, roomy);
  }
  EXPECT_EQ(operations_until_open(limit, 1), 2 * cache_limit::patience + 1);
}

TEST(CacheLimit, TheftAndExhaustionTogetherClose) {
  cache_limit limit = limit_of(64);
  limit.shrink(/*scarcity=*/1);
  EXPECT_TRUE(limit.closed());
  EXPECT_EQ(operations_until_open(limit, 1), 2 * cache_limit::patience + 1);
}

TEST(CacheLimit, PatienceDoublesWithEachExhaustionUpToItsMost) {
  cache_limit limit;
  for (std::uint32_t scarcity = 1; scarcity < 20; ++scarcity) {
    (void)limit.wants_to_open(scarcity, roomy);
  }
  limit.close();
  EXPECT_EQ(operations_until_open(limit, 19), cache_limit::most_patience + 1);
}

TEST(CacheLimit, PatienceReturnsWithTheTripsOfAnOpenCache) {
  cache_limit limit;
  for (std::uint32_t scarcity = 1; scarcity < 20; ++scarcity) {
    (void)limit.wants_to_open(scarcity, roomy);
  }
  for (int trip = 0; trip < 200; ++trip) {
    limit.grow(roomy);
  }
  limit.close();
  EXPECT_LT(operations_until_open(limit, 19), 2 * cache_limit::patience);
}

TEST(CacheLimit, LowCeilingKeepsItClosed) {
  cache_limit limit;
  EXPECT_FALSE(limit.wants_to_open(/*scarcity=*/0, cache_limit::smallest - 1));
}

TEST(CacheLimit, ZeroMemoryIsANewOne) {
  const std::array<std::byte, sizeof(cache_limit)> zeros{};
  auto limit = std::bit_cast<cache_limit>(zeros);
  EXPECT_TRUE(limit.closed());
  EXPECT_TRUE(limit.wants_to_open(/*scarcity=*/0, roomy));
}

TEST(CacheLimit, ResetMakesItLikeNew) {
  cache_limit limit = limit_of(64);
  limit.close();
  limit.reset(/*scarcity=*/7);
  EXPECT_TRUE(limit.closed());
  EXPECT_TRUE(limit.wants_to_open(/*scarcity=*/7, roomy));
}

TEST(CacheLimit, ResetForgetsThePatienceOfTheThreadBefore) {
  cache_limit limit;
  for (std::uint32_t scarcity = 1; scarcity < 20; ++scarcity) {
    (void)limit.wants_to_open(scarcity, roomy);
  }
  limit.reset(/*scarcity=*/19);
  limit.grow(roomy);
  limit.close();
  EXPECT_EQ(operations_until_open(limit, 19), cache_limit::patience + 1);
}

}  // namespace
}  // namespace lido::detail
