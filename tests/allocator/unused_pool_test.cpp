// The table of caches that unused pools share.
#include <gtest/gtest.h>

#include <cstddef>
#include <cstdint>
#include <memory>
#include <vector>

#include "allocator/spare_tables.hpp"
#include "support/allocated_slots.hpp"
#include "support/crew.hpp"
#include "support/take_number.hpp"

namespace lido::detail {
namespace {

using test::allocated_slots;
using slots = allocated_slots::list;

TEST(UnusedPool, FirstUseOfEachOfManyPoolsIsAMissInTheSharedTable) {
  spares.drop();
  std::vector<std::unique_ptr<allocated_slots>> pools;
  for (int i = 0; i < 20; ++i) {
    pools.push_back(std::make_unique<allocated_slots>(64, lido::cache_kind::revocable));
  }
  test::run_crew(4, [&](unsigned /*index*/) {
    for (const auto& pool : pools) {
      void* const slot = pool->pool().acquire();
      ASSERT_TRUE(pool->owns(slot));
      pool->pool().release(slot);
    }
  });
  for (const auto& pool : pools) {
    EXPECT_EQ(pool->acquire_all().size(), 64U);
  }
}

/// A miss in the shared table leaves no trace that the next unused pool could encounter.
TEST(UnusedPool, MissesOfEveryKindLeaveNoTrace) {
  for (int i = 0; i < 4; ++i) {
    spares.drop();
    allocated_slots first(64, lido::cache_kind::revocable);
    allocated_slots second(64, lido::cache_kind::revocable);
    allocated_slots third(64, lido::cache_kind::revocable);
    const slots all = first.acquire_n(3);
    void* taken = nullptr;
    EXPECT_FALSE(third.pool().try_hit(taken));
    taken = third.pool().acquire_after_miss();
    test::run_in_new_thread([&] { second.pool().release_n(second.acquire_n(5)); });
    second.release_all(second.acquire_n(3));
    third.pool().release(taken);
    first.release_all(all);
    EXPECT_EQ(second.acquire_all().size(), 64U);
    EXPECT_EQ(third.acquire_all().size(), 64U);
    EXPECT_EQ(first.acquire_all().size(), 64U);
  }
}

TEST(UnusedPool, BulkOperationsAloneMakeItAUsedOne) {
  allocated_slots pool(64, lido::cache_kind::revocable);
  slots some(10);
  ASSERT_EQ(pool.pool().acquire_n(some), 10U);
  pool.pool().release_n(some);
  EXPECT_EQ(pool.acquire_all().size(), 64U);
}

TEST(UnusedPool, ReleaseMayBeAThreadsFirstCall) {
  allocated_slots pool(64, lido::cache_kind::revocable);
  const slots all = pool.acquire_all();
  test::run_in_new_thread([&] { pool.release_all(all); });
  EXPECT_EQ(pool.acquire_all().size(), 64U);
}

TEST(ManyThreads, OneTheftEmptiesMoreCachesThanOneFenceIsFor) {
  constexpr unsigned threads = 150;
  allocated_slots pool(threads * 64, lido::cache_kind::revocable);
  const test::parked_crew crew(threads, [&](unsigned /*index*/) {
    if (test::take_thread_number()) {
      pool.release_all(pool.acquire_n(4));
    }
  });
  EXPECT_GT(pool.pool().stats().open_caches, 128U);
  EXPECT_EQ(pool.acquire_all().size(), std::size_t{threads} * 64);
}

}  // namespace
}  // namespace lido::detail
