#include "lido/magazine/thread_cache.hpp"

#include <gtest/gtest.h>

#include <array>
#include <cstdint>
#include <memory>

#include "support/driven_cache.hpp"

namespace lido::detail {
namespace {

using test::driven_cache;
using test::item;
using items = driven_cache::items;

/// The owner alone.
class ThreadCache : public ::testing::TestWithParam<cache_kind> {
 protected:
  driven_cache& driven() { return driven_; }
  thread_cache& cache() { return driven_.cache(); }

 private:
  driven_cache driven_{GetParam()};
};

INSTANTIATE_TEST_SUITE_P(Kinds, ThreadCache,
                         ::testing::Values(cache_kind::revocable, cache_kind::locked),
                         [](const auto& kind) { return test::kind_name(kind.param); });

TEST_P(ThreadCache, NewCacheIsFrozenAndEmpty) {
  const thread_cache fresh;
  EXPECT_EQ(fresh.control().state(), cache_state::frozen);
  EXPECT_EQ(fresh.visible_count(GetParam()), 0U);
  EXPECT_TRUE(fresh.cells().empty());
}

TEST_P(ThreadCache, NewCacheTakesNothing) {
  thread_cache fresh;
  EXPECT_FALSE(fresh.push(item(1)));
  EXPECT_TRUE(fresh.forget_operation_if_idle());
}

TEST_P(ThreadCache, NewCacheHasNothing) {
  thread_cache fresh;
  void* found = nullptr;
  EXPECT_FALSE(fresh.pop(found));
  EXPECT_TRUE(fresh.forget_operation_if_idle());
}

TEST_P(ThreadCache, OperationsOnACacheNeverOpenedLeaveNoTrace) {
  thread_cache fresh;
  for (int i = 0; i < 100; ++i) {
    void* found = nullptr;
    EXPECT_FALSE(i % 3 == 0 ? fresh.pop(found) : fresh.push(item(1)));
    EXPECT_TRUE(fresh.forget_operation_if_idle());
  }
  EXPECT_EQ(fresh.control().generation(), 0U);
}

TEST_P(ThreadCache, PopOnEmptyReportsEmpty) {
  EXPECT_EQ(driven().pop(), nullptr);
  EXPECT_EQ(driven().count(), 0U);
}

TEST_P(ThreadCache, PopReturnsTheItemPushedLast) {
  driven().push_all({item(1), item(2)});
  EXPECT_EQ(driven().pop(), item(2));
  EXPECT_EQ(driven().pop(), item(1));
  EXPECT_EQ(driven().pop(), nullptr);
}

TEST_P(ThreadCache, TakesAsManyItemsAsItsLimit) {
  for (std::uint32_t i = 1; i <= driven_cache::limit; ++i) {
    EXPECT_TRUE(driven().push(item(i))) << "item " << i;
  }
  EXPECT_EQ(driven().count(), driven_cache::limit);
}

TEST_P(ThreadCache, PushBeyondTheLimitIsNotAHit) {
  items full(driven_cache::limit, item(1));
  driven().push_all(full);
  EXPECT_FALSE(cache().push(item(2)));
}

TEST_P(ThreadCache, ItemBeyondTheLimitIsSettledOnce) {
  driven().push_all(items(driven_cache::limit, item(1)));
  ASSERT_FALSE(cache().push(item(2)));
  const auto found = cache().settle_push(GetParam(), item(2));
  // Either it lies in the one cell above the limit, or the owner still has it.
  EXPECT_EQ(found.count + (found.item != nullptr ? 1 : 0), driven_cache::limit + 1);
  EXPECT_FALSE(found.robbed);
  EXPECT_FALSE(found.contested);
}

TEST_P(ThreadCache, SettlingMakesItBusy) {
  EXPECT_EQ(driven().state(), cache_state::open);
  (void)cache().settle(GetParam());
  EXPECT_EQ(driven().state(), cache_state::busy);
}

TEST_P(ThreadCache, SettlingBetweenOperationsFindsTheCount) {
  driven().push_all({item(1), item(2), item(3)});
  const auto found = cache().settle(GetParam());
  EXPECT_EQ(found.count, 3U);
  EXPECT_EQ(found.item, nullptr);
}

TEST_P(ThreadCache, ItemsLieInTheCellsFromTheOldestOn) {
  driven().push_all({item(1), item(2)});
  (void)cache().settle(GetParam());
  EXPECT_EQ(cache().cells()[0].load(std::memory_order_relaxed), item(1));
  EXPECT_EQ(cache().cells()[1].load(std::memory_order_relaxed), item(2));
}

TEST_P(ThreadCache, OpensWithTheItemsThatLieInItsCells) {
  (void)cache().settle(GetParam());
  cache().cells()[0].store(item(5), std::memory_order_relaxed);
  cache().cells()[1].store(item(6), std::memory_order_relaxed);
  cache().open(GetParam(), 2, driven_cache::limit);
  EXPECT_EQ(driven().pop_all(), (items{item(6), item(5)}));
}

TEST_P(ThreadCache, ClosedCacheIsFrozenAndEmpty) {
  driven().push_all({item(1)});
  (void)cache().settle(GetParam());
  cache().close();
  EXPECT_EQ(driven().state(), cache_state::frozen);
  EXPECT_EQ(driven().count(), 0U);
}

TEST_P(ThreadCache, OperationsOnAClosedCacheAreForgotten) {
  (void)cache().settle(GetParam());
  cache().close();
  EXPECT_FALSE(cache().push(item(1)));
  EXPECT_TRUE(cache().forget_operation_if_idle());
  void* found = nullptr;
  EXPECT_FALSE(cache().pop(found));
  EXPECT_TRUE(cache().forget_operation_if_idle());
}

TEST_P(ThreadCache, ClosedCacheOpensAgainEmpty) {
  driven().push_all({item(1)});
  (void)cache().settle(GetParam());
  cache().close();
  (void)cache().settle(GetParam());
  cache().open(GetParam(), 0, driven_cache::limit);
  EXPECT_EQ(driven().pop(), nullptr);
  EXPECT_TRUE(driven().push(item(2)));
  EXPECT_EQ(driven().pop(), item(2));
}

TEST_P(ThreadCache, OperationOnAnOpenCacheIsNotForgotten) {
  void* found = nullptr;
  EXPECT_FALSE(cache().pop(found));
  EXPECT_FALSE(cache().forget_operation_if_idle());
}

TEST_P(ThreadCache, NewCellsKeepTheItems) {
  driven().push_all({item(1), item(2), item(3)});
  driven().replace_cells();
  EXPECT_GT(cache().cells().size(), driven_cache::limit + 1);
  EXPECT_EQ(driven().pop_all(), (items{item(3), item(2), item(1)}));
}

TEST_P(ThreadCache, EveryChangeOfStateIsANewGeneration) {
  const std::uint64_t start = cache().control().generation();
  (void)cache().settle(GetParam());
  EXPECT_EQ(cache().control().generation(), start + 1);
  cache().open(GetParam(), 0, driven_cache::limit);
  EXPECT_EQ(cache().control().generation(), start + 2);
}

/// The cells are an array of their own, so a sanitizer sees every access beside them.
TEST_P(ThreadCache, PopOnEmptyReadsNothingBesideItsCells) {
  thread_cache lonely;
  const auto cells = std::make_unique<cell[]>(5);  // NOLINT(modernize-avoid-c-arrays)
  (void)lonely.settle(GetParam());
  lonely.use_cells({cells.get(), 5});
  lonely.open(GetParam(), 0, 3);
  void* found = nullptr;
  EXPECT_FALSE(lonely.pop(found));
  EXPECT_EQ(lonely.settle_pop(GetParam()).item, nullptr);
}

TEST_P(ThreadCache, PushBeyondTheLimitWritesNothingBesideItsCells) {
  thread_cache lonely;
  const auto cells = std::make_unique<cell[]>(5);  // NOLINT(modernize-avoid-c-arrays)
  (void)lonely.settle(GetParam());
  lonely.use_cells({cells.get(), 5});
  lonely.cells()[0].store(item(1), std::memory_order_relaxed);
  lonely.open(GetParam(), 3, 3);
  EXPECT_FALSE(lonely.push(item(2)));
  const auto found = lonely.settle_push(GetParam(), item(2));
  EXPECT_EQ(found.count + (found.item != nullptr ? 1 : 0), 4U);
}

TEST(RevocableThreadCache, HitsLeaveTheControlWordAlone) {
  driven_cache driven(cache_kind::revocable);
  const std::uint64_t before = driven.cache().control().word();
  ASSERT_TRUE(driven.cache().push(item(1)));
  void* found = nullptr;
  ASSERT_TRUE(driven.cache().pop(found));
  EXPECT_EQ(driven.cache().control().word(), before);
}

TEST(ThreadCacheLayout, CacheIsTwoLines) {
  EXPECT_EQ(sizeof(thread_cache), 2 * cache_line);
}

}  // namespace
}  // namespace lido::detail
