#include "lido/magazine/slot_source.hpp"

#include <gtest/gtest.h>

#include <barrier>
#include <cstddef>
#include <cstdint>
#include <string>
#include <vector>

#include "support/bare_slots.hpp"
#include "support/crew.hpp"
#include "support/ending_thread.hpp"
#include "support/drain.hpp"
#include "support/take_number.hpp"

namespace lido::detail {
namespace {

using test::bare_slots;
using slots = bare_slots::list;

class SlotSource : public ::testing::TestWithParam<cache_choice> {};

std::string choice_name(cache_choice caches) {
  if (caches == cache_choice::none) {
    return "none";
  }
  return caches == cache_choice::locked ? "locked" : "automatic";
}

INSTANTIATE_TEST_SUITE_P(Caches, SlotSource,
                         ::testing::Values(cache_choice::automatic, cache_choice::locked,
                                           cache_choice::none),
                         [](const auto& kind) { return choice_name(kind.param); });

TEST_P(SlotSource, HandsOutEverySlotOnce) {
  bare_slots bare(1000, GetParam());
  const slots all = bare.acquire_all();
  EXPECT_EQ(all.size(), 1000U);
  EXPECT_EQ(test::count_distinct(all), 1000U);
}

TEST_P(SlotSource, HandsOutOnlyItsOwnSlots) {
  bare_slots bare(100, GetParam());
  for (void* const slot : bare.acquire_all()) {
    EXPECT_TRUE(bare.owns(slot));
  }
}

TEST_P(SlotSource, ReturnsNullWhenExhausted) {
  bare_slots bare(100, GetParam());
  (void)bare.acquire_all();
  EXPECT_EQ(bare.source().acquire(), nullptr);
  EXPECT_EQ(bare.source().acquire_shared(), nullptr);
}

TEST_P(SlotSource, OneReleaseMakesOneAcquirePossible) {
  bare_slots bare(100, GetParam());
  const slots all = bare.acquire_all();
  bare.source().release(all[17]);
  EXPECT_EQ(bare.source().acquire(), all[17]);
  EXPECT_EQ(bare.source().acquire(), nullptr);
}

TEST_P(SlotSource, SlotReleasedPastTheCachesIsFound) {
  bare_slots bare(100, GetParam());
  const slots all = bare.acquire_all();
  bare.source().release_shared(all[17]);
  EXPECT_EQ(bare.source().acquire(), all[17]);
}

TEST_P(SlotSource, SlotReleasedToTheCacheIsFoundPastTheCaches) {
  bare_slots bare(100, GetParam());
  const slots all = bare.acquire_all();
  bare.release_all(all);
  slots again;
  for (void* slot = bare.source().acquire_shared(); slot != nullptr;
       slot = bare.source().acquire_shared()) {
    again.push_back(slot);
  }
  EXPECT_EQ(test::count_distinct(again), 100U);
}

TEST_P(SlotSource, BulkAcquireFillsTheWholeSpan) {
  bare_slots bare(1000, GetParam());
  slots out(700);
  EXPECT_EQ(bare.source().acquire_n(out), 700U);
  EXPECT_EQ(test::count_distinct(out), 700U);
}

TEST_P(SlotSource, BulkAcquireStopsAtTheCapacity) {
  bare_slots bare(100, GetParam());
  slots out(150);
  EXPECT_EQ(bare.source().acquire_n(out), 100U);
}

TEST_P(SlotSource, BulkAcquireFindsWhatTheOwnCacheHolds) {
  bare_slots bare(1000, GetParam());
  bare.release_all(bare.acquire_all());
  slots out(1000);
  EXPECT_EQ(bare.source().acquire_n(out), 1000U);
  EXPECT_EQ(test::count_distinct(out), 1000U);
}

TEST_P(SlotSource, BulkAcquireOfNothingTakesNothing) {
  bare_slots bare(100, GetParam());
  EXPECT_EQ(bare.source().acquire_n({}), 0U);
  EXPECT_EQ(bare.acquire_all().size(), 100U);
}

TEST_P(SlotSource, BulkReleaseReturnsEverySlot) {
  for (const std::size_t size :
       {std::size_t{1}, std::size_t{255}, std::size_t{256}, std::size_t{600}}) {
    bare_slots bare(1000, GetParam());
    slots out(size);
    ASSERT_EQ(bare.source().acquire_n(out), size);
    bare.source().release_n(out);
    EXPECT_EQ(test::count_distinct(bare.acquire_all()), 1000U) << "after " << size;
  }
}

TEST_P(SlotSource, StatsAddUpWhenQuiet) {
  bare_slots bare(1000, GetParam());
  const slots all = bare.acquire_all();
  for (std::size_t released = 0; released < all.size(); ++released) {
    const pool_stats stats = bare.source().stats();
    ASSERT_EQ(stats.in_use, 1000U - released);
    ASSERT_EQ(stats.in_use + stats.cached + stats.shared, 1000U);
    bare.source().release(all[released]);
  }
}

TEST_P(SlotSource, CacheOfAnEndedThreadIsEmpty) {
  bare_slots bare(1000, GetParam());
  test::run_in_new_thread([&] { bare.release_all(bare.acquire_all()); });
  EXPECT_EQ(bare.source().stats().cached, 0U);
  EXPECT_EQ(bare.source().stats().shared, 1000U);
  EXPECT_EQ(bare.source().stats().open_caches, 0U);
}

TEST_P(SlotSource, ExhaustionIsCounted) {
  bare_slots bare(100, GetParam());
  (void)bare.acquire_all();
  EXPECT_EQ(bare.source().stats().exhausted, 1U);
  (void)bare.source().acquire();
  EXPECT_EQ(bare.source().stats().exhausted, 2U);
}

TEST_P(SlotSource, ParkedCachesAreEmptiedBeforeItIsExhausted) {
  bare_slots bare(1000, GetParam());
  const test::parked_crew crew(8, [&](unsigned /*index*/) {
    slots some(50);
    for (void*& slot : some) {
      slot = bare.source().acquire();
    }
    bare.release_all(some);
  });
  EXPECT_EQ(test::count_distinct(bare.acquire_all()), 1000U);
}

TEST_P(SlotSource, ThreadWhoseCacheWasEmptiedGoesOn) {
  bare_slots bare(1000, GetParam());
  test::run_in_new_thread([&] {
    bare.release_all(bare.acquire_all());
    slots stolen;
    test::run_in_new_thread([&] { stolen = bare.acquire_all(); });
    EXPECT_EQ(stolen.size(), 1000U);
    EXPECT_EQ(bare.source().acquire(), nullptr);
    bare.release_all(stolen);
    EXPECT_EQ(test::count_distinct(bare.acquire_all()), 1000U);
  });
}

class SlotSourceWithCaches : public SlotSource {};

INSTANTIATE_TEST_SUITE_P(Caches, SlotSourceWithCaches,
                         ::testing::Values(cache_choice::automatic, cache_choice::locked),
                         [](const auto& kind) { return choice_name(kind.param); });

TEST_P(SlotSourceWithCaches, RobbedCacheIsFilledHalfAsMuch) {
  bare_slots bare(1000, GetParam());
  slots held;
  const auto cached_after_a_refill = [&] {
    const std::uint64_t refills = bare.source().stats().refills;
    while (bare.source().stats().refills == refills) {
      held.push_back(bare.source().acquire());
    }
    return bare.source().stats().cached;
  };
  std::size_t before = 0;
  for (int refill = 0; refill < 8; ++refill) {
    before = cached_after_a_refill();
  }
  test::run_in_new_thread([&] { bare.source().release_n(bare.acquire_all()); });
  EXPECT_LE(cached_after_a_refill(), before / 2 + 1);
  bare.release_all(held);
  EXPECT_EQ(test::count_distinct(bare.acquire_all()), 1000U);
}

TEST_P(SlotSource, OneCacheHoldsHalfAtMost) {
  bare_slots bare(4096, GetParam(), 1022);
  bare.release_all(bare.acquire_all());
  bare.release_all(bare.acquire_all());
  EXPECT_LE(bare.source().stats().cached, 2048U);
}

TEST_P(SlotSource, CachesTogetherHoldHalfAtMostOnceAllHaveBeenToTheDepotAgain) {
  bare_slots bare(1024, GetParam(), 1022);
  constexpr unsigned threads = 8;
  const auto burst = [&](std::size_t size) {
    slots some(size);
    for (void*& slot : some) {
      slot = bare.source().acquire();
    }
    bare.release_all(some);
  };
  std::barrier next(threads);
  const test::parked_crew crew(threads, [&](unsigned index) {
    for (unsigned turn = 0; turn < threads; ++turn) {  // one after another, each for itself
      for (int i = 0; turn == index && i < 20; ++i) {
        burst(100);
      }
      next.arrive_and_wait();
    }
    for (unsigned turn = 0; turn < threads; ++turn) {
      for (int i = 0; turn == index && i < 4; ++i) {
        burst(400);  // more than any cache holds by now
      }
      next.arrive_and_wait();
    }
  });
  EXPECT_LE(bare.source().stats().cached, 512U);
}

// Bursts that fit into a share of all, but not of half.
TEST_P(SlotSource, CachesTogetherHoldHalfAtMostAfterBurstsThatWouldFitIntoMore) {
  bare_slots bare(256, GetParam(), 1022);
  constexpr unsigned threads = 4;
  std::barrier next(threads);
  const test::parked_crew crew(threads, [&](unsigned index) {
    for (unsigned turn = 0; turn < 30 * threads; ++turn) {  // one after another, each for itself
      if (turn % threads == index) {
        bare.release_all(bare.acquire_n(turn < threads ? 1 : 60));  // first, all open
      }
      next.arrive_and_wait();
    }
  });
  EXPECT_LE(bare.source().stats().cached, 128U);
}

TEST_P(SlotSource, OneCacheHoldsAtMostWhatTheOptionSays) {
  for (const std::uint32_t max_cached : {0U, 3U, 4U, 31U, 100U, 1022U}) {
    bare_slots bare(3000, GetParam(), max_cached);
    for (int burst = 0; burst < 8; ++burst) {
      bare.release_all(bare.acquire_all());
      ASSERT_LE(bare.source().stats().cached, max_cached);
    }
  }
}

TEST(SlotSourceCaches, BurstsMakeACacheGrow) {
  bare_slots bare(4096, cache_choice::automatic);
  for (int burst = 0; burst < 40; ++burst) {
    slots some(400);
    for (void*& slot : some) {
      slot = bare.source().acquire();
    }
    bare.release_all(some);
  }
  const std::uint64_t refills = bare.source().stats().refills;
  slots some(300);
  for (void*& slot : some) {
    slot = bare.source().acquire();
  }
  bare.release_all(some);
  EXPECT_LE(bare.source().stats().refills - refills, 2U);
  EXPECT_GT(bare.source().stats().cached, 200U);
}

TEST(SlotSourceThreads, BulkAcquireWorksWithoutAThreadNumber) {
  bare_slots source(256, cache_choice::automatic);
  test::run_in_ending_thread([&source] {
    slots all(256);
    ASSERT_FALSE(test::take_thread_number());
    EXPECT_EQ(source.source().acquire_n(all), all.size());
    source.source().release_n(all);
    EXPECT_EQ(source.source().stats().in_use, 0U);
  });
}

TEST(SlotSourceCaches, TheftsAreCounted) {
  bare_slots bare(1000, cache_choice::automatic);
  const test::parked_crew crew(3, [&](unsigned /*index*/) {
    ASSERT_TRUE(test::take_thread_number());  // else a thread may go past the caches
    bare.source().release(bare.source().acquire());
  });
  (void)bare.acquire_all();
  EXPECT_GE(bare.source().stats().thefts, 3U);
  EXPECT_LE(bare.source().stats().heavy_fences, bare.source().stats().thefts);
}

TEST(SlotSourceCaches, LockedCachesNeedNoHeavyFence) {
  bare_slots bare(1000, cache_choice::locked);
  const test::parked_crew crew(
      3, [&](unsigned /*index*/) { bare.source().release(bare.source().acquire()); });
  EXPECT_EQ(bare.acquire_all().size(), 1000U);
  EXPECT_EQ(bare.source().stats().heavy_fences, 0U);
}

TEST(SlotSourceCaches, SourceWithoutCachesNeverFillsOne) {
  bare_slots bare(1000, cache_choice::none);
  bare.release_all(bare.acquire_all());
  EXPECT_EQ(bare.source().stats().cached, 0U);
  EXPECT_EQ(bare.source().stats().refills, 0U);
}

// The table of caches, whatever the capacity and however few threads.
constexpr std::size_t fixed_bytes = 18 * 1024;

TEST(SlotSourceBookkeeping, CostsAtMostEightBytesASlotBesideTheTable) {
  for (const std::uint32_t capacity : {1U, 100U, 4096U, 100'000U}) {
    bare_slots bare(capacity, cache_choice::automatic);
    EXPECT_LE(bare.source().stats().bookkeeping_bytes, fixed_bytes + std::size_t{8} * capacity)
        << capacity << " slots";
  }
}

TEST(SlotSourceBookkeeping, CostsAtMostOneKibibyteAThreadUntilACacheGrows) {
  constexpr std::uint32_t capacity = 4096;
  constexpr std::size_t threads = 20;
  bare_slots bare(capacity, cache_choice::automatic);
  const std::size_t before = bare.source().stats().bookkeeping_bytes;
  const test::parked_crew crew(
      threads, [&](unsigned /*index*/) { bare.source().release(bare.source().acquire()); });
  const std::size_t after = bare.source().stats().bookkeeping_bytes;
  EXPECT_GT(after, before);
  EXPECT_LE(after - before, threads * (1024 - sizeof(thread_cache)));
  EXPECT_LE(after, fixed_bytes + std::size_t{8} * capacity + threads * 1024);
}

TEST(SlotSourceBookkeeping, CountsTheCellsThatACacheGrowsInto) {
  bare_slots bare(4096, cache_choice::automatic);
  bare.source().release(bare.source().acquire());
  const std::size_t before = bare.source().stats().bookkeeping_bytes;
  for (int burst = 0; burst < 40; ++burst) {
    slots some(400);
    for (void*& slot : some) {
      slot = bare.source().acquire();
    }
    bare.release_all(some);
  }
  const std::size_t grown = bare.source().stats().bookkeeping_bytes - before;
  EXPECT_GE(grown, 200 * sizeof(void*));
  // Blocks double up to what max_cached allows, and the older ones stay.
  EXPECT_LE(grown, 3 * 514 * sizeof(void*));
}

}  // namespace
}  // namespace lido::detail
