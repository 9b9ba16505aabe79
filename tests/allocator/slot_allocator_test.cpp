#include "lido/allocator/slot_allocator.hpp"

#include <gtest/gtest.h>

#include <barrier>
#include <cstddef>
#include <cstdint>
#include <string>
#include <vector>

#include "support/allocated_slots.hpp"
#include "support/crew.hpp"
#include "support/drain.hpp"
#include "support/ending_thread.hpp"
#include "support/take_number.hpp"

namespace lido::detail {
namespace {

using test::allocated_slots;
using slots = allocated_slots::list;

class SlotAllocator : public ::testing::TestWithParam<lido::cache_kind> {};

std::string choice_name(lido::cache_kind caches) {
  if (caches == lido::cache_kind::none) {
    return "none";
  }
  return caches == lido::cache_kind::locked ? "locked" : "revocable";
}

INSTANTIATE_TEST_SUITE_P(Caches, SlotAllocator,
                         ::testing::Values(lido::cache_kind::revocable, lido::cache_kind::locked,
                                           lido::cache_kind::none),
                         [](const auto& kind) { return choice_name(kind.param); });

TEST_P(SlotAllocator, HandsOutEverySlotOnce) {
  allocated_slots bare(1000, GetParam());
  const slots all = bare.acquire_all();
  EXPECT_EQ(all.size(), 1000U);
  EXPECT_EQ(test::count_distinct(all), 1000U);
}

TEST_P(SlotAllocator, HandsOutOnlyItsOwnSlots) {
  allocated_slots bare(100, GetParam());
  for (void* const slot : bare.acquire_all()) {
    EXPECT_TRUE(bare.owns(slot));
  }
}

TEST_P(SlotAllocator, ReturnsNullWhenExhausted) {
  allocated_slots bare(100, GetParam());
  (void)bare.acquire_all();
  EXPECT_EQ(bare.pool().acquire(), nullptr);
}

TEST_P(SlotAllocator, OneReleaseMakesOneAcquirePossible) {
  allocated_slots bare(100, GetParam());
  const slots all = bare.acquire_all();
  bare.pool().release(all[17]);
  EXPECT_EQ(bare.pool().acquire(), all[17]);
  EXPECT_EQ(bare.pool().acquire(), nullptr);
}

TEST_P(SlotAllocator, BulkAcquireFillsTheWholeSpan) {
  allocated_slots bare(1000, GetParam());
  slots out(700);
  EXPECT_EQ(bare.pool().acquire_n(out), 700U);
  EXPECT_EQ(test::count_distinct(out), 700U);
}

TEST_P(SlotAllocator, BulkAcquireStopsAtTheCapacity) {
  allocated_slots bare(100, GetParam());
  slots out(150);
  EXPECT_EQ(bare.pool().acquire_n(out), 100U);
}

TEST_P(SlotAllocator, BulkAcquireFindsWhatTheOwnCacheHolds) {
  allocated_slots bare(1000, GetParam());
  bare.release_all(bare.acquire_all());
  slots out(1000);
  EXPECT_EQ(bare.pool().acquire_n(out), 1000U);
  EXPECT_EQ(test::count_distinct(out), 1000U);
}

TEST_P(SlotAllocator, BulkAcquireOfNothingTakesNothing) {
  allocated_slots bare(100, GetParam());
  EXPECT_EQ(bare.pool().acquire_n({}), 0U);
  EXPECT_EQ(bare.acquire_all().size(), 100U);
}

TEST_P(SlotAllocator, BulkReleaseReturnsEverySlot) {
  for (const std::size_t size :
       {std::size_t{1}, std::size_t{255}, std::size_t{256}, std::size_t{600}}) {
    allocated_slots bare(1000, GetParam());
    slots out(size);
    ASSERT_EQ(bare.pool().acquire_n(out), size);
    bare.pool().release_n(out);
    EXPECT_EQ(test::count_distinct(bare.acquire_all()), 1000U) << "after " << size;
  }
}

TEST_P(SlotAllocator, StatsAddUpWhenQuiet) {
  allocated_slots bare(1000, GetParam());
  const slots all = bare.acquire_all();
  for (std::size_t released = 0; released < all.size(); ++released) {
    const slot_pool_stats stats = bare.pool().stats();
    ASSERT_EQ(stats.in_use, 1000U - released);
    ASSERT_EQ(stats.in_use + stats.idle, 1000U);
    bare.pool().release(all[released]);
  }
}

TEST_P(SlotAllocator, CacheOfAnEndedThreadIsEmpty) {
  allocated_slots bare(1000, GetParam());
  test::run_in_new_thread([&] { bare.release_all(bare.acquire_all()); });
  EXPECT_EQ(bare.pool().stats().cached, 0U);
  EXPECT_EQ(bare.pool().stats().idle - bare.pool().stats().cached, 1000U);
  EXPECT_EQ(bare.pool().stats().open_caches, 0U);
}

TEST_P(SlotAllocator, ExhaustionIsCounted) {
  allocated_slots bare(100, GetParam());
  (void)bare.acquire_all();
  EXPECT_EQ(bare.pool().stats().exhausted, 1U);
  (void)bare.pool().acquire();
  EXPECT_EQ(bare.pool().stats().exhausted, 2U);
}

TEST_P(SlotAllocator, ParkedCachesAreEmptiedBeforeItIsExhausted) {
  allocated_slots bare(1000, GetParam());
  const test::parked_crew crew(8, [&](unsigned /*index*/) {
    slots some(50);
    for (void*& slot : some) {
      slot = bare.pool().acquire();
    }
    bare.release_all(some);
  });
  EXPECT_EQ(test::count_distinct(bare.acquire_all()), 1000U);
}

TEST_P(SlotAllocator, ThreadWhoseCacheWasEmptiedGoesOn) {
  allocated_slots bare(1000, GetParam());
  test::run_in_new_thread([&] {
    bare.release_all(bare.acquire_all());
    slots stolen;
    test::run_in_new_thread([&] { stolen = bare.acquire_all(); });
    EXPECT_EQ(stolen.size(), 1000U);
    EXPECT_EQ(bare.pool().acquire(), nullptr);
    bare.release_all(stolen);
    EXPECT_EQ(test::count_distinct(bare.acquire_all()), 1000U);
  });
}

class SlotAllocatorWithCaches : public SlotAllocator {};

INSTANTIATE_TEST_SUITE_P(Caches, SlotAllocatorWithCaches,
                         ::testing::Values(lido::cache_kind::revocable, lido::cache_kind::locked),
                         [](const auto& kind) { return choice_name(kind.param); });

TEST_P(SlotAllocatorWithCaches, RobbedCacheIsFilledHalfAsMuch) {
  allocated_slots bare(1000, GetParam());
  slots held;
  const auto cached_after_a_refill = [&] {
    const std::uint64_t refills = bare.pool().stats().refills;
    while (bare.pool().stats().refills == refills) {
      held.push_back(bare.pool().acquire());
    }
    return bare.pool().stats().cached;
  };
  std::size_t before = 0;
  for (int refill = 0; refill < 8; ++refill) {
    before = cached_after_a_refill();
  }
  test::run_in_new_thread([&] { bare.pool().release_n(bare.acquire_all()); });
  EXPECT_LE(cached_after_a_refill(), before / 2 + 1);
  bare.release_all(held);
  EXPECT_EQ(test::count_distinct(bare.acquire_all()), 1000U);
}

TEST_P(SlotAllocator, OneCacheHoldsHalfAtMost) {
  allocated_slots bare(4096, GetParam(), 1022);
  bare.release_all(bare.acquire_all());
  bare.release_all(bare.acquire_all());
  EXPECT_LE(bare.pool().stats().cached, 2048U);
}

TEST_P(SlotAllocator, CachesTogetherHoldHalfAtMostOnceAllHaveBeenToTheDepotAgain) {
  allocated_slots bare(1024, GetParam(), 1022);
  constexpr unsigned threads = 8;
  const auto burst = [&](std::size_t size) {
    slots some(size);
    for (void*& slot : some) {
      slot = bare.pool().acquire();
    }
    bare.release_all(some);
  };
  std::barrier next(threads);
  const test::parked_crew crew(threads, [&](unsigned index) {
    for (unsigned turn = 0; turn < threads; ++turn) {  // one after another, each on its own
      for (int i = 0; turn == index && i < 20; ++i) {
        burst(100);
      }
      next.arrive_and_wait();
    }
    for (unsigned turn = 0; turn < threads; ++turn) {
      for (int i = 0; turn == index && i < 4; ++i) {
        burst(400);  // more than any cache can hold by then
      }
      next.arrive_and_wait();
    }
  });
  EXPECT_LE(bare.pool().stats().cached, 512U);
}

// Bursts that fit into a thread's share of all slots, but not of half of them.
TEST_P(SlotAllocator, CachesTogetherHoldHalfAtMostAfterBurstsThatWouldFitIntoMore) {
  allocated_slots bare(256, GetParam(), 1022);
  constexpr unsigned threads = 4;
  std::barrier next(threads);
  const test::parked_crew crew(threads, [&](unsigned index) {
    for (unsigned turn = 0; turn < 30 * threads; ++turn) {  // one after another, each on its own
      if (turn % threads == index) {
        bare.release_all(bare.acquire_n(turn < threads ? 1 : 60));  // first, all caches open
      }
      next.arrive_and_wait();
    }
  });
  EXPECT_LE(bare.pool().stats().cached, 128U);
}

TEST_P(SlotAllocator, OneCacheHoldsAtMostWhatTheOptionSays) {
  for (const std::uint32_t max_cached : {0U, 3U, 4U, 31U, 100U, 1022U}) {
    allocated_slots bare(3000, GetParam(), max_cached);
    for (int burst = 0; burst < 8; ++burst) {
      bare.release_all(bare.acquire_all());
      ASSERT_LE(bare.pool().stats().cached, max_cached);
    }
  }
}

TEST(SlotAllocatorCaches, BurstsMakeACacheGrow) {
  allocated_slots bare(4096, lido::cache_kind::revocable);
  for (int burst = 0; burst < 40; ++burst) {
    slots some(400);
    for (void*& slot : some) {
      slot = bare.pool().acquire();
    }
    bare.release_all(some);
  }
  const std::uint64_t refills = bare.pool().stats().refills;
  slots some(300);
  for (void*& slot : some) {
    slot = bare.pool().acquire();
  }
  bare.release_all(some);
  EXPECT_LE(bare.pool().stats().refills - refills, 2U);
  EXPECT_GT(bare.pool().stats().cached, 200U);
}

TEST(SlotAllocatorThreads, BulkAcquireWorksWithoutAThreadNumber) {
  allocated_slots source(256, lido::cache_kind::revocable);
  test::run_in_ending_thread([&source] {
    slots all(256);
    ASSERT_FALSE(test::take_thread_number());
    EXPECT_EQ(source.pool().acquire_n(all), all.size());
    source.pool().release_n(all);
    EXPECT_EQ(source.pool().stats().in_use, 0U);
  });
}

TEST(SlotAllocatorCaches, TheftsAreCounted) {
  allocated_slots bare(1000, lido::cache_kind::revocable);
  const test::parked_crew crew(3, [&](unsigned /*index*/) {
    ASSERT_TRUE(test::take_thread_number());  // otherwise a thread may bypass the caches
    bare.pool().release(bare.pool().acquire());
  });
  (void)bare.acquire_all();
  EXPECT_GE(bare.pool().stats().thefts, 3U);
  EXPECT_LE(bare.pool().stats().heavy_fences, bare.pool().stats().thefts);
}

TEST(SlotAllocatorCaches, LockedCachesNeedNoHeavyFence) {
  allocated_slots bare(1000, lido::cache_kind::locked);
  const test::parked_crew crew(
      3, [&](unsigned /*index*/) { bare.pool().release(bare.pool().acquire()); });
  EXPECT_EQ(bare.acquire_all().size(), 1000U);
  EXPECT_EQ(bare.pool().stats().heavy_fences, 0U);
}

TEST(SlotAllocatorCaches, SourceWithoutCachesNeverFillsOne) {
  allocated_slots bare(1000, lido::cache_kind::none);
  bare.release_all(bare.acquire_all());
  EXPECT_EQ(bare.pool().stats().cached, 0U);
  EXPECT_EQ(bare.pool().stats().refills, 0U);
}

/// Returns bytes that do not depend on the capacity; large pools add the heads of shards.
std::size_t fixed_bytes(std::uint32_t capacity) {
  return capacity < 1024 ? 1024 : std::size_t{4} * 1024;
}

TEST(SlotAllocatorBookkeeping, CostsAtMostEightBytesASlotBesideOneKibibyteAndHeads) {
  for (const std::uint32_t capacity : {1U, 100U, 1023U, 1024U, 4096U, 100'000U}) {
    allocated_slots bare(capacity, lido::cache_kind::revocable);
    EXPECT_LE(bare.pool().stats().bookkeeping_bytes,
              fixed_bytes(capacity) + std::size_t{8} * capacity)
        << capacity << " slots";
  }
}

TEST(SlotAllocatorBookkeeping, CostsAtMostOneKibibyteAThreadUntilACacheGrows) {
  constexpr std::uint32_t capacity = 4096;
  constexpr std::size_t threads = 20;
  allocated_slots bare(capacity, lido::cache_kind::revocable);
  const std::size_t before = bare.pool().stats().bookkeeping_bytes;
  const test::parked_crew crew(
      threads, [&](unsigned /*index*/) { bare.pool().release(bare.pool().acquire()); });
  const std::size_t after = bare.pool().stats().bookkeeping_bytes;
  EXPECT_GT(after, before);
  EXPECT_LE(after - before, threads * 1024);
  EXPECT_LE(after, fixed_bytes(capacity) + std::size_t{8} * capacity + threads * 1024);
}

TEST(SlotAllocatorBookkeeping, CountsTheCellsThatACacheGrowsInto) {
  allocated_slots bare(4096, lido::cache_kind::revocable);
  bare.pool().release(bare.pool().acquire());
  const std::size_t before = bare.pool().stats().bookkeeping_bytes;
  for (int burst = 0; burst < 40; ++burst) {
    slots some(400);
    for (void*& slot : some) {
      slot = bare.pool().acquire();
    }
    bare.release_all(some);
  }
  const std::size_t grown = bare.pool().stats().bookkeeping_bytes - before;
  EXPECT_GE(grown, 200 * sizeof(void*));
  // Blocks double up to what max_cached allows, and the older ones are never freed.
  EXPECT_LE(grown, 3 * 514 * sizeof(void*));
}

}  // namespace
}  // namespace lido::detail
