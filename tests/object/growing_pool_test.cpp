#include <gtest/gtest.h>

#include <algorithm>
#include <array>
#include <bit>
#include <cstddef>
#include <cstdint>
#include <new>
#include <set>
#include <span>
#include <stdexcept>
#include <string>
#include <type_traits>
#include <vector>

#include "lido/object_pool.hpp"
#include "support/crew.hpp"
#include "support/drain.hpp"
#include "support/pool_kinds.hpp"
#include "support/pools.hpp"

namespace lido {
namespace {

struct item {
  explicit item(std::uint64_t first = 0) : words{first} {}
  std::uint64_t words[8];  // NOLINT(modernize-avoid-c-arrays)
};

constexpr std::size_t segment = 1024;  // slots of 64 bytes in 64 KiB

template <class T>
class pool_of : public test::kind_pool<T> {
 public:
  explicit pool_of(object_pool_options options) : test::kind_pool<T>(growing(options)) {}

 private:
  static object_pool_options growing(object_pool_options options) {
    options.when_full = when_full::grow;
    return options;
  }
};

class GrowingPool : public ::testing::TestWithParam<test::pool_kind> {
 public:
  using pool_type = pool_of<item>;
};
INSTANTIATE_TEST_SUITE_P(Kinds, GrowingPool, test::pool_kinds, test::pool_kind_name);

TEST_P(GrowingPool, GrowsToItsMaximumAndNoFurther) {
  pool_type pool({.max_capacity = 5000});
  EXPECT_EQ(pool.capacity(), 0U);
  EXPECT_EQ(pool.max_capacity(), 5000U);
  for (int round = 0; round < 3; ++round) {
    EXPECT_EQ(test::count_acquirable(pool), 5000U);
  }
  EXPECT_EQ(pool.capacity(), 5000U);
}

TEST_P(GrowingPool, GrowsOnlyWhenThereIsNoFreeSlot) {
  pool_type pool({.capacity = 1, .max_capacity = 100'000});
  ASSERT_EQ(pool.capacity(), segment);
  const test::parked_crew others(3, [&](unsigned) { test::fill_own_cache(pool, 200); });
  std::vector<item*> all;
  for (std::size_t i = 0; i < segment; ++i) {
    all.push_back(pool.try_acquire_ptr());
  }
  EXPECT_EQ(pool.capacity(), segment) << "the caches of others were looked into";
  all.push_back(pool.try_acquire_ptr());
  EXPECT_EQ(pool.capacity(), 2 * segment);
  EXPECT_EQ(test::count_distinct(all), segment + 1);
  test::release_all(pool, all);
}

TEST_P(GrowingPool, ObjectsStayWhereTheyAre) {
  pool_type pool({.max_capacity = 50'000});
  std::vector<item*> all;
  for (std::uint64_t i = 0; i < 50'000; ++i) {
    all.push_back(pool.try_acquire_ptr(i));
    ASSERT_NE(all.back(), nullptr);
    ASSERT_TRUE(pool.owns(all.back()));
  }
  for (std::uint64_t i = 0; i < 50'000; ++i) {
    ASSERT_EQ(all[i]->words[0], i);
  }
  EXPECT_EQ(pool.try_acquire_ptr(), nullptr);
  test::release_all(pool, all);
}

TEST_P(GrowingPool, ReserveTakesWholeSegments) {
  pool_type pool({.max_capacity = 5000});
  pool.reserve(1);
  EXPECT_EQ(pool.capacity(), segment);
  pool.reserve(segment);
  EXPECT_EQ(pool.capacity(), segment);
  pool.reserve(segment + 1);
  EXPECT_EQ(pool.capacity(), 2 * segment);
  pool.reserve(5000);
  EXPECT_EQ(pool.capacity(), 5000U);
  EXPECT_THROW(pool.reserve(5001), std::invalid_argument);
}

TEST_P(GrowingPool, ShrinksToWhatIsAskedForWhenAllIsFree) {
  pool_type pool({.capacity = 10 * segment, .max_capacity = 10 * segment});
  EXPECT_EQ(test::count_acquirable(pool), 10 * segment);
  EXPECT_EQ(pool.shrink_to(2 * segment + 1), 3 * segment) << "whole segments";
  EXPECT_EQ(pool.shrink_to(2 * segment), 2 * segment);
  EXPECT_EQ(pool.stats().in_use, 0U);
  EXPECT_EQ(pool.stats().growth->segments, 2U);
  EXPECT_EQ(pool.stats().growth->shrinks, 8U);
  EXPECT_EQ(pool.shrink_to(0), 0U);
  EXPECT_EQ(test::count_acquirable(pool), 10 * segment) << "and grows again";
}

TEST_P(GrowingPool, ShrinkFindsSlotsInTheCachesOfOthers) {
  pool_type pool({.capacity = 4 * segment, .max_capacity = 4 * segment});
  const test::parked_crew others(3, [&](unsigned) { test::fill_own_cache(pool, 700); });
  test::fill_own_cache(pool, 700);
  EXPECT_EQ(pool.shrink_to(0), 0U);
}

TEST_P(GrowingPool, ShrinkKeepsSegmentsThatAreInUse) {
  pool_type pool({.capacity = 8 * segment, .max_capacity = 8 * segment});
  const std::vector<item*> all = test::drain(pool);
  ASSERT_EQ(all.size(), 8 * segment);
  const auto [lowest, highest] = std::minmax_element(all.begin(), all.end());
  item* const low = *lowest;
  item* const high = *highest;
  high->words[0] = 42;
  for (item* const object : all) {
    if (object != low && object != high) {
      pool.release(object);
    }
  }
  EXPECT_EQ(pool.shrink_to(0), 2 * segment);
  EXPECT_EQ(high->words[0], 42U);
  EXPECT_EQ(pool.stats().in_use, 2U);
  EXPECT_EQ(test::count_acquirable(pool), 8 * segment - 2);
  pool.release(high);
  pool.release(low);
  EXPECT_EQ(pool.shrink_to(0), 0U);
}

TEST_P(GrowingPool, ShrinkToMoreThanThereIsChangesNothing) {
  pool_type pool({.capacity = 2 * segment, .max_capacity = 8 * segment});
  EXPECT_EQ(pool.shrink_to(3 * segment), 2 * segment);
  EXPECT_EQ(pool.shrink_to(SIZE_MAX), 2 * segment);
}

TEST_P(GrowingPool, BulkAcquireGrowsToo) {
  pool_type pool({.max_capacity = 3000});
  std::vector<item*> all(4000);
  ASSERT_EQ(pool.try_acquire_n(all), 3000U);
  all.resize(3000);
  EXPECT_EQ(test::count_distinct(all), 3000U);
  pool.release_n(all);
  EXPECT_EQ(pool.stats().in_use, 0U);
}

TEST_P(GrowingPool, BulkAcquireThatNeedsOneSlotMoreGrowsByASegment) {
  pool_type pool({.capacity = segment, .max_capacity = 3 * segment});
  EXPECT_EQ(pool.try_acquire_n(std::span<item*>()), 0U);
  std::vector<item*> all(segment + 1);
  ASSERT_EQ(pool.try_acquire_n(all), segment + 1);
  EXPECT_EQ(pool.capacity(), 2 * segment);
  EXPECT_EQ(test::count_distinct(all), segment + 1);
  pool.release_n(all);
}

TEST_P(GrowingPool, StatsTellOfSegments) {
  pool_type pool({.capacity = 2000, .max_capacity = 5000});
  slot_pool_stats stats = pool.stats();
  EXPECT_EQ(stats.capacity, 2 * segment);
  EXPECT_EQ(stats.growth->max_capacity, 5000U);
  EXPECT_EQ(stats.growth->segments, 2U);
  EXPECT_EQ(stats.growth->slot_bytes, 2 * segment * sizeof(item));
  EXPECT_EQ(stats.growth->growths, 2U);
  EXPECT_EQ(stats.idle - stats.cached, 2 * segment);
  EXPECT_EQ(stats.exhausted, 0U);
  (void)test::count_acquirable(pool);
  stats = pool.stats();
  EXPECT_EQ(stats.growth->segments, 5U);
  EXPECT_EQ(stats.total_bytes, 5000 * sizeof(item) + stats.bookkeeping_bytes);
  EXPECT_EQ(stats.exhausted, 1U) << "growing is not being exhausted";
}

TEST_P(GrowingPool, BookkeepingStaysWithinItsBudget) {
  pool_type small({.max_capacity = 1'000'000});
  const std::size_t fixed = small.stats().bookkeeping_bytes;
  small.reserve(1'000'000);
  const std::size_t more = small.stats().bookkeeping_bytes - fixed;
  EXPECT_LE(more, 1'000'000 * 8 + 1'000'000 / 8 + 64);
}

TEST_P(GrowingPool, ManyThreadsThatGrowAtOnceGrowNoMoreThanNeeded) {
  pool_type pool({.max_capacity = 64 * segment});
  constexpr unsigned threads = 8;
  std::vector<std::vector<item*>> held(threads);
  test::run_crew(threads, [&](unsigned me) {
    for (std::size_t i = 0; i < 2 * segment; ++i) {
      held[me].push_back(pool.try_acquire_ptr(std::uint64_t{me}));
    }
  });
  std::set<item*> distinct;
  for (unsigned me = 0; me < threads; ++me) {
    for (item* const object : held[me]) {
      ASSERT_NE(object, nullptr);
      ASSERT_EQ(object->words[0], me);
      distinct.insert(object);
    }
  }
  EXPECT_EQ(distinct.size(), threads * 2 * segment);
  EXPECT_LE(pool.capacity(), threads * 2 * segment * 9 / 8 + segment);
  for (const auto& objects : held) {
    pool.release_n(objects);
  }
}

TEST_P(GrowingPool, AcquireBeyondTheMaximumSaysSo) {
  pool_type pool({.name = "jobs", .max_capacity = 1});
  const auto only = pool.acquire();
  try {
    (void)pool.acquire();
    ADD_FAILURE() << "no exception";
  } catch (const pool_exhausted& error) {
    EXPECT_STREQ(error.what(), "lido: pool 'jobs' is exhausted: 1 of 1 slots are in use");
  }
}

TEST_P(GrowingPool, ThrowingConstructorCostsNoSlot) {
  struct thrower {
    explicit thrower(bool now) {
      if (now) {
        throw 1;
      }
    }
  };
  pool_of<thrower> pool({.max_capacity = 3});
  for (int i = 0; i < 10; ++i) {
    EXPECT_THROW((void)pool.acquire(true), int);
  }
  const auto first = pool.acquire(false);
  const auto second = pool.acquire(false);
  const auto third = pool.acquire(false);
  EXPECT_EQ(pool.try_acquire_ptr(false), nullptr);
}

TEST_P(GrowingPool, TypesOfAllSizesAndAlignments) {
  const auto try_type = [](auto tag) {
    using type = decltype(tag);
    pool_of<type> pool({.max_capacity = 300});
    for (int round = 0; round < 2; ++round) {
      const auto all = test::drain(pool);
      EXPECT_EQ(test::count_distinct(all), 300U);
      for (auto* const object : all) {
        EXPECT_EQ(std::bit_cast<std::uintptr_t>(object) % alignof(type), 0U);
        EXPECT_TRUE(pool.owns(object));
      }
      pool.release_n(all);
      EXPECT_EQ(pool.shrink_to(0), 0U);
    }
  };
  struct odd {
    char bytes[5001];  // NOLINT(modernize-avoid-c-arrays)
  };
  struct alignas(8192) wide {
    char byte;
  };
  struct alignas(65536) wider {
    char byte;
  };
  try_type(char{});
  try_type(odd{});
  try_type(wide{});
  try_type(wider{});
}

// ---- options
// ---------------------------------------------------------------------------------------

using growing = test::growing_pool<item>;

std::string refusal(const object_pool_options& options) {
  try {
    const growing pool(options);
  } catch (const std::invalid_argument& error) {
    return error.what();
  }
  return "";
}

TEST(GrowingPoolOptions, MaximumMustBeSaid) {
  EXPECT_EQ(refusal({.capacity = 5, .name = "jobs"}),
            "lido: pool 'jobs': when_full::grow needs max_capacity");
  EXPECT_EQ(refusal({.name = "jobs", .max_capacity = 0xFFFF'FFFF}),
            "lido: pool 'jobs': max_capacity 4294967295 is not between 1 and 4294967294");
}

TEST(GrowingPoolOptions, MoreToBeginWithThanThereMayBeIsRefused) {
  EXPECT_EQ(refusal({.capacity = 11, .name = "jobs", .max_capacity = 10}),
            "lido: pool 'jobs': capacity 11 is more than max_capacity 10");
}

TEST(GrowingPoolOptions, AFixedPoolHasNone) {
  EXPECT_THROW(object_pool<item> pool({.capacity = 10, .max_capacity = 20}), std::invalid_argument);
  EXPECT_EQ(object_pool<item>(10).max_capacity(), 10U);
}

TEST(GrowingPoolOptions, LargestPoolIsNothingButAddresses) {
  test::growing_pool<char> pool({.max_capacity = 0xFFFF'FFFE});
  EXPECT_EQ(pool.max_capacity(), 0xFFFF'FFFEU);
  EXPECT_LT(pool.stats().bookkeeping_bytes, std::size_t{1} << 20U);
  const auto object = pool.acquire();
  EXPECT_EQ(pool.capacity(), 65536U);
}

TEST(GrowingPoolOptions, MoreAddressesThanThereAreIsABadAlloc) {
  struct huge {
    char bytes[std::size_t{1} << 40U];  // NOLINT(modernize-avoid-c-arrays)
  };
  using pool = test::growing_pool<huge>;
  EXPECT_THROW(pool all({.max_capacity = 0xFFFF'FFFE}), std::bad_array_new_length);
  EXPECT_THROW(pool all({.max_capacity = 1U << 22U}), std::bad_alloc);
}

// ---- walking
// ---------------------------------------------------------------------------------------

TEST(GrowingPoolOwnership, SlotsOfRetiredSegmentsAreStillTheirPools) {
  growing pool({.capacity = 5000, .max_capacity = 5000});
  const auto all = test::drain(pool);
  pool.release_n(all);
  EXPECT_EQ(pool.shrink_to(0), 0U);
  for (const item* const object : all) {
    ASSERT_TRUE(pool.owns(object));
  }
  EXPECT_FALSE(pool.owns(all.front() + 5000));
}

}  // namespace
}  // namespace lido
