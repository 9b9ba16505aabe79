#include "allocator/spare_tables.hpp"

#include <gtest/gtest.h>

#include <algorithm>
#include <array>
#include <cstddef>
#include <memory>
#include <span>
#include <vector>

#include "allocator/allocator_state.hpp"
#include "support/allocated_slots.hpp"
#include "support/crew.hpp"

namespace lido::detail {
namespace {

using test::allocated_slots;
using slots = allocated_slots::list;

/// Starts and ends each test without any spare table.
class SpareTables : public ::testing::Test {
 protected:
  SpareTables() { spares.drop(); }
  ~SpareTables() override { spares.drop(); }

  static void use(allocated_slots& pool) { pool.pool().release(pool.pool().acquire()); }

  /// Takes a table, and puts it back.
  static std::byte* look() {
    std::byte* const table = spares.take();
    EXPECT_TRUE(table == nullptr || spares.put(table));
    return table;
  }
};

TEST_F(SpareTables, PoolThatNoThreadHasUsedLeavesNone) {
  { const allocated_slots pool(64, lido::cache_kind::revocable); }
  EXPECT_EQ(look(), nullptr);
}

TEST_F(SpareTables, NextPoolHasTheTableOfTheLastOne) {
  {
    allocated_slots pool(64, lido::cache_kind::revocable);
    use(pool);
  }
  std::byte* const table = look();
  EXPECT_NE(table, nullptr);
  {
    allocated_slots pool(64, lido::cache_kind::revocable);
    EXPECT_EQ(look(), nullptr);
    use(pool);
  }
  EXPECT_EQ(look(), table);
  { const allocated_slots unused(64, lido::cache_kind::revocable); }
  EXPECT_EQ(look(), table);
}

// Caches that are open, robbed and closed when the pool ends; each kind after each.
TEST_F(SpareTables, PoolFindsNothingOfTheOneBefore) {
  const auto all = {lido::cache_kind::revocable, lido::cache_kind::locked, lido::cache_kind::none};
  for (const lido::cache_kind before : all) {
    for (const lido::cache_kind after : all) {
      auto old = std::make_unique<allocated_slots>(1000, before);
      const test::parked_crew crew(4, [&](unsigned index) {
        const slots some = old->acquire_n(100);
        old->pool().release_n(std::span(some).first(std::size_t{index} * 20));
      });
      const slots rest = old->acquire_all();
      EXPECT_EQ(rest.size(), 1000U - (100 + 80 + 60 + 40));
      old->release_all(rest);
      old.reset();
      ASSERT_NE(look(), nullptr);
      allocated_slots pool(500, after);
      EXPECT_EQ(pool.pool().stats().cached, 0U);
      EXPECT_EQ(pool.pool().stats(/*counts_hits=*/true).acquires, 0U);
      std::vector<slots> taken(4);
      test::run_crew(4, [&](unsigned index) { taken[index] = pool.acquire_n(125); });
      for (const slots& some : taken) {
        EXPECT_EQ(some.size(), 125U);
        EXPECT_TRUE(
            std::all_of(some.begin(), some.end(), [&](void* one) { return pool.owns(one); }));
        pool.release_all(some);
      }
      EXPECT_EQ(pool.acquire_all().size(), 500U);
    }
  }
}

TEST_F(SpareTables, TableOfManyThreadsGoes) {
  {
    allocated_slots pool(1000, lido::cache_kind::revocable);
    const test::parked_crew crew(tuning::most_cleared + 2, [&](unsigned) { use(pool); });
  }
  EXPECT_EQ(look(), nullptr);
}

TEST_F(SpareTables, OnlyAFewAreKept) {
  std::array<std::unique_ptr<allocated_slots>, tuning::most_spare_tables + 2> pools;
  for (auto& pool : pools) {
    pool = std::make_unique<allocated_slots>(16, lido::cache_kind::revocable);
    use(*pool);
  }
  for (auto& pool : pools) {
    pool.reset();
  }
  std::size_t count = 0;
  std::vector<std::byte*> tables;
  while (std::byte* const table = spares.take()) {
    tables.push_back(table);
  }
  for (std::byte* const table : tables) {
    EXPECT_TRUE(spares.put(table));
    ++count;
  }
  EXPECT_EQ(count, tuning::most_spare_tables);
}

TEST_F(SpareTables, ThreadsPassThemOn) {
  allocated_slots shared(64, lido::cache_kind::revocable);
  test::run_crew(4, [&](unsigned /*index*/) {
    for (int i = 0; i < 500; ++i) {
      allocated_slots pool(64, lido::cache_kind::revocable);
      use(shared);
      EXPECT_EQ(pool.acquire_all().size(), 64U);
    }
  });
  EXPECT_EQ(shared.acquire_all().size(), 64U);
}

}  // namespace
}  // namespace lido::detail
