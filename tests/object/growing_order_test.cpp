// Orders and amounts in which a pool takes and returns segments; the system sees them, too.
#include <gtest/gtest.h>

#include <algorithm>
#include <array>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <vector>

#include "lido/object_pool.hpp"
#include "support/drain.hpp"
#include "support/pools.hpp"
#include "support/resident.hpp"

namespace lido {
namespace {

/// A cache line: 1024 of them are 64 KiB, which is a segment.
struct line {
  std::array<std::uint64_t, 8> words;
};
using pool_of_lines = test::growing_pool<line>;
constexpr std::size_t lines_of_segment = 1024;

/// Takes all that the pool may have, sorted by address.
std::vector<line*> drain_in_order(pool_of_lines& pool) {
  std::vector<line*> all = test::drain(pool);
  std::sort(all.begin(), all.end());
  return all;
}

// A pool that grows slot by slot must do so seldom.
TEST(GrowingOrder, AGrowthAddsAnEighthOfThePool) {
  pool_of_lines pool({.capacity = 16 * lines_of_segment, .max_capacity = 100 * lines_of_segment});
  std::vector<line*> all(16 * lines_of_segment);
  ASSERT_EQ(pool.try_acquire_n(all), all.size());
  ASSERT_EQ(pool.stats().growth->segments, 16U);
  all.push_back(pool.try_acquire_ptr());
  EXPECT_NE(all.back(), nullptr);
  EXPECT_EQ(pool.stats().growth->segments, 18U);
  pool.release_n(all);
}

// High segments become free, and can be removed, only if low slots are used first.
TEST(GrowingOrder, AShrinkLeavesTheLowestSegments) {
  pool_of_lines pool({.capacity = 8 * lines_of_segment, .max_capacity = 8 * lines_of_segment});
  const std::vector<line*> all = drain_in_order(pool);
  ASSERT_EQ(all.size(), 8 * lines_of_segment);
  pool.release_n(all);
  EXPECT_EQ(pool.shrink_to(lines_of_segment), lines_of_segment);
  line* const next = pool.try_acquire_ptr();
  EXPECT_GE(next, all.front());
  EXPECT_LT(next, all.front() + lines_of_segment);
  pool.release(next);
}

TEST(GrowingOrder, AShrinkGivesEveryPageBackToTheSystem) {
  pool_of_lines pool({.capacity = 4 * lines_of_segment, .max_capacity = 4 * lines_of_segment});
  const std::vector<line*> all = drain_in_order(pool);
  for (line* const one : all) {
    one->words[0] = 1;
  }
  const std::size_t bytes = all.size() * sizeof(line);
  const std::optional<std::size_t> before = test::resident_pages(all.front(), bytes);
  pool.release_n(all);
  if (!before) {
    GTEST_SKIP() << "this system does not tell which pages have memory";
  }
  EXPECT_GT(*before, 0U);
  EXPECT_EQ(pool.shrink_to(0), 0U);
  EXPECT_EQ(test::resident_pages(all.front(), bytes), 0U);
}

}  // namespace
}  // namespace lido
