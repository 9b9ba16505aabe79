#include "lido/allocator/slot_cache.hpp"

#include <gtest/gtest.h>

#include <array>
#include <cstddef>
#include <cstdint>
#include <memory>

#include "support/driven_slot_cache.hpp"

namespace lido::detail {
namespace {

using test::driven_slot_cache;
using test::item;
using items = driven_slot_cache::items;

/// Operations of the owner alone.
class SlotCache : public ::testing::TestWithParam<lido::cache_kind> {
 protected:
  driven_slot_cache& driven() { return driven_; }
  slot_cache& cache() { return driven_.cache(); }

 private:
  driven_slot_cache driven_{GetParam()};
};

INSTANTIATE_TEST_SUITE_P(Kinds, SlotCache,
                         ::testing::Values(lido::cache_kind::revocable, lido::cache_kind::locked),
                         [](const auto& kind) { return test::kind_name(kind.param); });

TEST_P(SlotCache, NewCacheIsFrozenAndEmpty) {
  const test::lone_cache alone;
  const slot_cache& fresh = alone.cache;
  EXPECT_EQ(fresh.state().now(), slot_cache::phase::frozen);
  EXPECT_EQ(fresh.visible_count(GetParam()), 0U);
  EXPECT_TRUE(fresh.cells().empty());
}

TEST_P(SlotCache, NewCacheTakesNothing) {
  test::lone_cache alone;
  slot_cache& fresh = alone.cache;
  EXPECT_FALSE(fresh.push(item(1)));
  EXPECT_TRUE(fresh.forget_operation_if_idle());
}

TEST_P(SlotCache, NewCacheHasNothing) {
  test::lone_cache alone;
  slot_cache& fresh = alone.cache;
  void* found = nullptr;
  EXPECT_FALSE(fresh.pop(found));
  EXPECT_TRUE(fresh.forget_operation_if_idle());
}

TEST_P(SlotCache, OperationsOnACacheNeverOpenedLeaveNoTrace) {
  test::lone_cache alone;
  slot_cache& fresh = alone.cache;
  for (int i = 0; i < 100; ++i) {
    void* found = nullptr;
    EXPECT_FALSE(i % 3 == 0 ? fresh.pop(found) : fresh.push(item(1)));
    EXPECT_TRUE(fresh.forget_operation_if_idle());
  }
  EXPECT_EQ(fresh.state().generation(), 0U);
}

TEST_P(SlotCache, PopOnEmptyReportsEmpty) {
  EXPECT_EQ(driven().pop(), nullptr);
  EXPECT_EQ(driven().count(), 0U);
}

TEST_P(SlotCache, PopReturnsTheItemPushedLast) {
  driven().push_all({item(1), item(2)});
  EXPECT_EQ(driven().pop(), item(2));
  EXPECT_EQ(driven().pop(), item(1));
  EXPECT_EQ(driven().pop(), nullptr);
}

TEST_P(SlotCache, TakesAsManyItemsAsItsLimit) {
  for (std::uint32_t i = 1; i <= driven_slot_cache::limit; ++i) {
    EXPECT_TRUE(driven().push(item(i))) << "item " << i;
  }
  EXPECT_EQ(driven().count(), driven_slot_cache::limit);
}

TEST_P(SlotCache, PushBeyondTheLimitIsNotAHit) {
  items full(driven_slot_cache::limit, item(1));
  driven().push_all(full);
  EXPECT_FALSE(cache().push(item(2)));
}

TEST_P(SlotCache, ItemBeyondTheLimitIsSettledOnce) {
  driven().push_all(items(driven_slot_cache::limit, item(1)));
  ASSERT_FALSE(cache().push(item(2)));
  const auto found = cache().settle_push(GetParam(), item(2));
  // Either the item lies in the one cell above the limit, or the owner still has it.
  EXPECT_EQ(found.count + (found.item != nullptr ? 1 : 0), driven_slot_cache::limit + 1);
  EXPECT_FALSE(found.robbed);
  EXPECT_FALSE(found.contested);
}

TEST_P(SlotCache, SettlingMakesItBusy) {
  EXPECT_EQ(driven().state(), slot_cache::phase::open);
  (void)cache().settle(GetParam());
  EXPECT_EQ(driven().state(), slot_cache::phase::busy);
}

TEST_P(SlotCache, SettlingBetweenOperationsFindsTheCount) {
  driven().push_all({item(1), item(2), item(3)});
  const auto found = cache().settle(GetParam());
  EXPECT_EQ(found.count, 3U);
  EXPECT_EQ(found.item, nullptr);
}

TEST_P(SlotCache, ItemsLieInTheCellsFromTheOldestOn) {
  driven().push_all({item(1), item(2)});
  (void)cache().settle(GetParam());
  EXPECT_EQ(cache().cells()[0].load(std::memory_order_relaxed), item(1));
  EXPECT_EQ(cache().cells()[1].load(std::memory_order_relaxed), item(2));
}

TEST_P(SlotCache, OpensWithTheItemsThatLieInItsCells) {
  (void)cache().settle(GetParam());
  cache().cells()[0].store(item(5), std::memory_order_relaxed);
  cache().cells()[1].store(item(6), std::memory_order_relaxed);
  cache().open(GetParam(), 2, driven_slot_cache::limit);
  EXPECT_EQ(driven().pop_all(), (items{item(6), item(5)}));
}

TEST_P(SlotCache, ClosedCacheIsFrozenAndEmpty) {
  driven().push_all({item(1)});
  (void)cache().settle(GetParam());
  cache().close();
  EXPECT_EQ(driven().state(), slot_cache::phase::frozen);
  EXPECT_EQ(driven().count(), 0U);
}

TEST_P(SlotCache, OperationsOnAClosedCacheAreForgotten) {
  (void)cache().settle(GetParam());
  cache().close();
  EXPECT_FALSE(cache().push(item(1)));
  EXPECT_TRUE(cache().forget_operation_if_idle());
  void* found = nullptr;
  EXPECT_FALSE(cache().pop(found));
  EXPECT_TRUE(cache().forget_operation_if_idle());
}

TEST_P(SlotCache, ClosedCacheOpensAgainEmpty) {
  driven().push_all({item(1)});
  (void)cache().settle(GetParam());
  cache().close();
  (void)cache().settle(GetParam());
  cache().open(GetParam(), 0, driven_slot_cache::limit);
  EXPECT_EQ(driven().pop(), nullptr);
  EXPECT_TRUE(driven().push(item(2)));
  EXPECT_EQ(driven().pop(), item(2));
}

TEST_P(SlotCache, OperationOnAnOpenCacheIsNotForgotten) {
  void* found = nullptr;
  EXPECT_FALSE(cache().pop(found));
  EXPECT_FALSE(cache().forget_operation_if_idle());
}

TEST_P(SlotCache, NewCellsKeepTheItems) {
  driven().push_all({item(1), item(2), item(3)});
  driven().replace_cells();
  EXPECT_GT(cache().cells().size(), driven_slot_cache::limit + 1);
  EXPECT_EQ(driven().pop_all(), (items{item(3), item(2), item(1)}));
}

TEST_P(SlotCache, EveryChangeOfStateIsANewGeneration) {
  const std::uint64_t start = cache().state().generation();
  (void)cache().settle(GetParam());
  EXPECT_EQ(cache().state().generation(), start + 1);
  cache().open(GetParam(), 0, driven_slot_cache::limit);
  EXPECT_EQ(cache().state().generation(), start + 2);
}

/// The cells are a separate array, so a sanitizer sees every access beside them.
TEST_P(SlotCache, PopOnEmptyReadsNothingBesideItsCells) {
  test::lone_cache alone;
  slot_cache& lonely = alone.cache;
  const auto cells = std::make_unique<slot_cache::cell[]>(5);  // NOLINT(modernize-avoid-c-arrays)
  (void)lonely.settle(GetParam());
  lonely.use_cells({cells.get(), 5});
  lonely.open(GetParam(), 0, 3);
  void* found = nullptr;
  EXPECT_FALSE(lonely.pop(found));
  EXPECT_EQ(lonely.settle_pop(GetParam()).item, nullptr);
}

TEST_P(SlotCache, PushBeyondTheLimitWritesNothingBesideItsCells) {
  test::lone_cache alone;
  slot_cache& lonely = alone.cache;
  const auto cells = std::make_unique<slot_cache::cell[]>(5);  // NOLINT(modernize-avoid-c-arrays)
  (void)lonely.settle(GetParam());
  lonely.use_cells({cells.get(), 5});
  lonely.cells()[0].store(item(1), std::memory_order_relaxed);
  lonely.open(GetParam(), 3, 3);
  EXPECT_FALSE(lonely.push(item(2)));
  const auto found = lonely.settle_push(GetParam(), item(2));
  EXPECT_EQ(found.count + (found.item != nullptr ? 1 : 0), 4U);
}

TEST_P(SlotCache, ZeroMemoryIsAClosedCache) {
  alignas(test::lone_cache) std::array<std::byte, sizeof(test::lone_cache)> zeros{};
  auto& cache = static_cast<test::lone_cache*>(static_cast<void*>(zeros.data()))->cache;
  EXPECT_EQ(cache.state().now(), slot_cache::phase::frozen);
  EXPECT_EQ(cache.visible_count(GetParam()), 0U);
  void* found = nullptr;
  for (int i = 0; i < 3; ++i) {
    EXPECT_FALSE(cache.pop(found));
    EXPECT_TRUE(cache.forget_operation_if_idle());
    EXPECT_FALSE(cache.push(item(1)));
    EXPECT_TRUE(cache.forget_operation_if_idle());
  }
  (void)cache.settle(GetParam());
  std::array<slot_cache::cell, 5> cells{};
  cache.use_cells(cells);
  cache.open(GetParam(), 0, 3);
  EXPECT_TRUE(GetParam() == lido::cache_kind::locked ? cache.push_locked(item(2), 3)
                                                     : cache.push(item(2)));
  EXPECT_EQ(cache.visible_count(GetParam()), 1U);
  (void)cache.settle(GetParam());
  cache.close();
}

/// The child of a fork finds such a cache if the fork stopped its thread on the slow path.
TEST_P(SlotCache, ZeroMemoryRefusesWhatFollowsAnOperationThatWasNotForgotten) {
  alignas(test::lone_cache) std::array<std::byte, sizeof(test::lone_cache)> zeros{};
  auto& pushed = static_cast<test::lone_cache*>(static_cast<void*>(zeros.data()))->cache;
  void* found = nullptr;
  EXPECT_FALSE(pushed.push(item(1)));
  EXPECT_FALSE(pushed.pop(found));
  EXPECT_EQ(pushed.settle_pop(GetParam()).item, nullptr);
  zeros.fill(std::byte{0});
  EXPECT_FALSE(pushed.pop(found));
  EXPECT_FALSE(pushed.push(item(2)));
}

/// Cells below the cache have negative indices.
TEST_P(SlotCache, CellsMayLieBelowTheCacheAndAboveIt) {
  struct {
    std::array<slot_cache::cell, 6> below;
    slot_cache cache;
    std::array<slot_cache::cell, 6> above;
  } layout;
  for (auto* const cells : {&layout.below, &layout.above}) {
    slot_cache& cache = layout.cache;
    (void)cache.settle(GetParam());
    cache.use_cells(*cells);
    cache.open(GetParam(), 0, 4);
    void* found = nullptr;
    const bool revocable = GetParam() == lido::cache_kind::revocable;
    EXPECT_EQ(cache.push(item(1)), revocable);
    const auto announced = cache.revoke(cache.state());
    EXPECT_FALSE(cache.push(item(2))) << "a revoked cache took an item";
    ASSERT_TRUE(announced.has_value());
    (void)cache.settle_push(GetParam(), item(2));
    cache.close();
    EXPECT_FALSE(cache.pop(found));
    EXPECT_TRUE(cache.forget_operation_if_idle());
  }
}

TEST(RevocableSlotCache, HitsLeaveTheControlWordAlone) {
  driven_slot_cache driven(lido::cache_kind::revocable);
  const std::uint64_t before = driven.cache().state().word();
  ASSERT_TRUE(driven.cache().push(item(1)));
  void* found = nullptr;
  ASSERT_TRUE(driven.cache().pop(found));
  EXPECT_EQ(driven.cache().state().word(), before);
}

TEST(SlotCacheLayout, CacheIsOneLine) {
  EXPECT_EQ(sizeof(slot_cache), cache_line);
}

}  // namespace
}  // namespace lido::detail
