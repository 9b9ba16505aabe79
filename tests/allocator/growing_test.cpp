// Slots that are added and removed in segments.
#include <gtest/gtest.h>

#include <algorithm>
#include <array>
#include <atomic>
#include <cerrno>
#include <chrono>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <latch>
#include <string>
#include <thread>
#include <utility>
#include <vector>

#include "allocator/slot_waiter_queue.hpp"
#include "lido/allocator/segment_memory.hpp"
#include "lido/allocator/slot_allocator.hpp"
#include "lido/base/address_space.hpp"
#include "lido/base/scope_exit.hpp"
#include "support/crew.hpp"
#include "support/real_time.hpp"

namespace lido::detail {
namespace {

using namespace std::chrono_literals;
using slots = std::vector<void*>;

constexpr std::size_t stride = 64;
constexpr std::uint32_t segment = 1024;  // slots in a segment of 64 KiB

/// Memory that refuses on request, and runs a test's function when segments are added and removed.
class scripted_memory final : public segment_memory, public segment_fill {
 public:
  scripted_memory(std::uint32_t capacity, std::size_t slot_bytes)
      : slot_bytes_(slot_bytes), space_(slot_bytes * capacity, 64) {}

  [[nodiscard]] std::byte* data() const { return space_.data(); }

  int commit(slot_index first, std::uint32_t count) noexcept override {
    ++commits;
    const int refusal = refused_commit;
    return refusal != 0 ? refusal : space_.commit(slot_bytes_ * first, slot_bytes_ * count);
  }
  void vacate(slot_index first, std::uint32_t count, work_progress& progress) noexcept override {
    if (on_vacate) {
      on_vacate(first, count, progress);
    }
  }
  int decommit(slot_index first, std::uint32_t count) noexcept override {
    return refused_decommit != 0 ? refused_decommit
                                 : space_.decommit(slot_bytes_ * first, slot_bytes_ * count);
  }
  void fill(slot_index first, std::uint32_t count, work_progress& progress) override {
    on_fill(first, count, progress);
  }

  using script = std::function<void(slot_index, std::uint32_t, work_progress&)>;
  std::atomic<int> commits = 0;
  std::atomic<int> refused_commit = 0;
  int refused_decommit = 0;
  script on_vacate;
  script on_fill;

 private:
  std::size_t slot_bytes_;
  address_space space_;
};

class grown {
 public:
  explicit grown(std::uint32_t most, std::uint32_t present = 0,
                 cache_kind caches = cache_kind::revocable, std::size_t slot_bytes = stride)
      : memory(most, slot_bytes),
        allocator_({.geometry = slot_geometry(memory.data(), slot_bytes),
                    .capacity = most,
                    .caches = caches,
                    .segments = &memory}) {
    EXPECT_EQ(allocator_.reserve(present), 0);
  }

  slot_allocator* operator->() { return &allocator_; }

  /// Takes up to `most` slots, by default all there are.
  [[nodiscard]] slots take(std::size_t most = ~std::size_t{0}) {
    slots all;
    while (all.size() < most) {
      void* const slot = allocator_.acquire();
      if (slot == nullptr) {
        break;
      }
      all.push_back(slot);
    }
    return all;
  }
  /// Takes slots beside threads that take, give and shrink. An acquire may fail if one of these
  /// does not run for a tenth of a second, but not before, and not for ever.
  [[nodiscard]] slots take_beside_others(std::size_t count) {
    slots all;
    for (int refusals = 0; all.size() < count && refusals < 100;) {
      const auto begin = std::chrono::steady_clock::now();
      if (void* const slot = allocator_.acquire(); slot != nullptr) {
        all.push_back(slot);
      } else {
        EXPECT_GE(std::chrono::steady_clock::now() - begin, 100ms);
        ++refusals;
      }
    }
    EXPECT_EQ(all.size(), count);
    return all;
  }
  void give(const slots& all) {
    for (void* const slot : all) {
      allocator_.release(slot);
    }
  }
  [[nodiscard]] void* wait(std::chrono::nanoseconds most) {
    slot_waiter me;
    return allocator_.wait_for_slot(me, deadline::after(most));
  }
  /// Returns how many different slots can be out at once; writes to all of them.
  [[nodiscard]] std::size_t count() {
    slots all = take();
    for (void* const slot : all) {
      *static_cast<std::uint64_t*>(slot) = 1;
    }
    give(all);
    std::sort(all.begin(), all.end());
    return static_cast<std::size_t>(std::unique(all.begin(), all.end()) - all.begin());
  }
  [[nodiscard]] std::size_t index_of(const void* slot) const {
    return static_cast<std::size_t>(static_cast<const std::byte*>(slot) - memory.data()) / stride;
  }

  scripted_memory memory;

 private:
  slot_allocator allocator_;
};

class Growing : public ::testing::TestWithParam<cache_kind> {};
std::string name_of(const ::testing::TestParamInfo<cache_kind>& tested) {
  constexpr std::array names{"revocable", "locked", "none"};
  return names.at(static_cast<std::size_t>(tested.param));
}
INSTANTIATE_TEST_SUITE_P(Caches, Growing,
                         ::testing::Values(cache_kind::revocable, cache_kind::locked,
                                           cache_kind::none),
                         name_of);

TEST_P(Growing, GrowsToItsMaximumAndNoFurther) {
  grown pool(5000, 0, GetParam());
  EXPECT_EQ(pool->capacity(), 0U);
  for (int round = 0; round < 3; ++round) {
    EXPECT_EQ(pool.count(), 5000U);
  }
  EXPECT_EQ(pool->capacity(), 5000U);
  EXPECT_EQ(pool.memory.commits, 5);
}

TEST_P(Growing, GrowsOnlyWhenThereIsNoFreeSlot) {
  grown pool(100 * segment, 1, GetParam());
  ASSERT_EQ(pool->capacity(), segment);
  const test::parked_crew others(3, [&](unsigned) { pool.give(pool.take(200)); });
  const slots all = pool.take(segment);
  EXPECT_EQ(pool->capacity(), segment) << "the caches of others were looked into";
  pool->release(pool->acquire());
  EXPECT_EQ(pool->capacity(), 2 * segment);
  pool.give(all);
}

TEST_P(Growing, ReserveAddsWholeSegments) {
  grown pool(5000, 1, GetParam());
  EXPECT_EQ(pool->capacity(), segment);
  EXPECT_EQ(pool->reserve(segment), 0);
  EXPECT_EQ(pool->capacity(), segment);
  EXPECT_EQ(pool->reserve(segment + 1), 0);
  EXPECT_EQ(pool->capacity(), 2 * segment);
  EXPECT_EQ(pool->reserve(5000), 0);
  EXPECT_EQ(pool->capacity(), 5000U);
}

TEST_P(Growing, ShrinksToWhatIsAskedForWhenAllIsFree) {
  grown pool(10 * segment, 10 * segment, GetParam());
  EXPECT_EQ(pool.count(), 10 * segment);
  EXPECT_EQ(pool->shrink_to(2 * segment + 1), 3 * segment) << "whole segments";
  EXPECT_EQ(pool->shrink_to(2 * segment), 2 * segment);
  EXPECT_EQ(pool->shrink_to(3 * segment), 2 * segment);
  EXPECT_EQ(pool->stats().in_use, 0U);
  EXPECT_EQ(pool->stats().growth->segments, 2U);
  EXPECT_EQ(pool->stats().growth->shrinks, 8U);
  EXPECT_EQ(pool->shrink_to(0), 0U);
  EXPECT_EQ(pool.count(), 10 * segment) << "and grows again";
}

TEST_P(Growing, ShrinkFindsSlotsInTheCachesOfOthers) {
  grown pool(4 * segment, 4 * segment, GetParam());
  const test::parked_crew others(3, [&](unsigned) { pool.give(pool.take(700)); });
  pool.give(pool.take(700));
  EXPECT_EQ(pool->shrink_to(0), 0U);
}

TEST_P(Growing, ShrinkKeepsSegmentsThatAreInUse) {
  grown pool(7 * segment + 9, 7 * segment + 9, GetParam());
  slots all = pool.take();
  std::sort(all.begin(), all.end());
  void* const low = all.front();
  void* const high = all.back();
  all.pop_back();
  all.erase(all.begin());
  pool.give(all);
  EXPECT_EQ(pool->shrink_to(0), segment + 9);
  EXPECT_EQ(pool->stats().growth->segments, 2U);
  EXPECT_EQ(pool->stats().in_use, 2U);
  EXPECT_EQ(pool.count(), 7 * segment + 9 - 2);
  pool->release(high);
  pool->release(low);
  EXPECT_EQ(pool->shrink_to(0), 0U);
}

// High segments become free, and can be removed, only if low slots are used first.
TEST_P(Growing, ShrinkLeavesTheLowestSlotsOnTop) {
  grown pool(8 * segment, 8 * segment, GetParam());
  slots all = pool.take();
  std::sort(all.begin(), all.end());
  pool.give(all);
  EXPECT_EQ(pool->shrink_to(2 * segment), 2 * segment);
  void* const next = pool->acquire();
  EXPECT_LT(pool.index_of(next), segment);
  pool->release(next);
}

TEST_P(Growing, ManyThreadsThatGrowAtOnceGrowNoMoreThanNeeded) {
  grown pool(64 * segment, 0, GetParam());
  constexpr unsigned threads = 8;
  std::vector<slots> held(threads);
  test::run_crew(threads, [&](unsigned me) { held[me] = pool.take_beside_others(2 * segment); });
  slots all;
  for (const slots& some : held) {
    ASSERT_EQ(some.size(), 2 * segment);
    all.insert(all.end(), some.begin(), some.end());
  }
  std::sort(all.begin(), all.end());
  EXPECT_EQ(std::unique(all.begin(), all.end()), all.end());
  EXPECT_LE(pool->capacity(), threads * 2 * segment * 9 / 8 + segment);
  pool.give(all);
}

TEST_P(Growing, ShrinksBesideAcquiresLoseNoSlot) {
  grown pool(6 * segment, 0, GetParam());
  std::atomic<unsigned> done{0};
  test::run_crew(4, [&](unsigned me) {
    for (int round = 0; me == 0 && done != 3; ++round) {
      (void)pool->shrink_to(segment * static_cast<std::uint32_t>(round % 3));
    }
    for (int round = 0; me != 0 && round < 20; ++round) {
      pool.give(pool.take_beside_others(2 * segment));
    }
    done += me != 0 ? 1 : 0;
  });
  EXPECT_EQ(pool->shrink_to(0), 0U);
  EXPECT_EQ(pool.count(), 6 * segment);
}

// A pool that grows slot by slot must do so seldom.
TEST(GrowingOrder, AGrowthAddsAnEighthOfThePool) {
  grown pool(100 * segment, 16 * segment);
  const slots all = pool.take(16 * segment + 1);
  EXPECT_EQ(pool->stats().growth->segments, 18U);
  pool.give(all);
}

TEST(GrowingOrder, StatsTellOfSegments) {
  grown pool(5000, 2000);
  slot_pool_stats stats = pool->stats();
  EXPECT_EQ(stats.capacity, 2 * segment);
  EXPECT_EQ(stats.growth->max_capacity, 5000U);
  EXPECT_EQ(stats.growth->segments, 2U);
  EXPECT_EQ(stats.growth->slot_bytes, 2 * segment * stride);
  EXPECT_EQ(stats.growth->growths, 2U);
  EXPECT_EQ(stats.exhausted, 0U);
  EXPECT_EQ(pool.count(), 5000U);
  stats = pool->stats();
  EXPECT_EQ(stats.growth->segments, 5U);
  EXPECT_EQ(stats.exhausted, 1U) << "growing is not being exhausted";
}

TEST(GrowingOrder, SegmentsOfOneLargeSlot) {
  grown pool(100, 100, cache_kind::revocable, std::size_t{1} << 20U);
  EXPECT_EQ(pool->stats().growth->segments, 100U);
  slots all = pool.take();
  ASSERT_EQ(all.size(), 100U);
  std::sort(all.begin(), all.end());
  void* const highest = all.back();
  all.pop_back();
  pool.give(all);
  EXPECT_EQ(pool->shrink_to(0), 1U);
  pool->release(highest);
  EXPECT_EQ(pool->shrink_to(0), 0U);
}

TEST(GrowingMemory, RefusedMemoryIsToldAndCostsNothing) {
  grown pool(4 * segment);
  pool.memory.refused_commit = ENOMEM;
  EXPECT_EQ(pool->acquire(), nullptr);
  EXPECT_EQ(pool->growth_error(), ENOMEM);
  EXPECT_EQ(pool->reserve(1), ENOMEM);
  EXPECT_EQ(pool->capacity(), 0U);
  EXPECT_EQ(pool->stats().exhausted, 1U);
  pool.memory.refused_commit = 0;
  EXPECT_EQ(pool.count(), 4 * segment);
  EXPECT_EQ(pool->growth_error(), 0);
}

TEST(GrowingMemory, SegmentWhoseMemoryTheSystemKeepsStays) {
  grown pool(4 * segment, 4 * segment);
  pool.memory.refused_decommit = EINVAL;
  EXPECT_EQ(pool->shrink_to(0), 4 * segment);
  EXPECT_EQ(pool->stats().growth->shrinks, 0U);
  EXPECT_EQ(pool.count(), 4 * segment);
  pool.memory.refused_decommit = 0;
  EXPECT_EQ(pool->shrink_to(0), 0U);
}

TEST(GrowingFill, SlotsAreFilledBeforeAThreadCanHaveThem) {
  grown pool(4 * segment);
  std::vector<slot_index> firsts;
  pool.memory.on_fill = [&](slot_index first, std::uint32_t count, work_progress& /*progress*/) {
    EXPECT_EQ(count, segment);
    EXPECT_EQ(pool->capacity(), first);
    firsts.push_back(first);
  };
  EXPECT_EQ(pool->reserve(3 * segment, &pool.memory), 0);
  EXPECT_EQ(firsts, (std::vector<slot_index>{0, segment, 2 * segment}));
  EXPECT_EQ(pool->capacity(), 3 * segment);
}

TEST(GrowingFill, SegmentWhoseFillThrowsStays) {
  grown pool(4 * segment);
  pool.memory.on_fill = [](slot_index first, std::uint32_t /*count*/, work_progress& /*progress*/) {
    if (first == segment) {
      throw 7;
    }
  };
  EXPECT_THROW((void)pool->reserve(3 * segment, &pool.memory), int);
  EXPECT_EQ(pool->capacity(), 2 * segment);
  EXPECT_EQ(pool.count(), 4 * segment);
  EXPECT_EQ(pool->shrink_to(0), 0U);
}

// ---- hooks that end the objects of a segment may take their time, and use the pool -------------

TEST(GrowingVacate, MayTakeItsTimeWhileOthersFindTheFreeSlots) {
  grown pool(2 * segment, 2 * segment);
  std::latch begun(1);
  std::latch all_taken(1);
  pool.memory.on_vacate = [&](slot_index /*first*/, std::uint32_t /*count*/, work_progress& /*p*/) {
    begun.count_down();
    all_taken.wait();
  };
  std::jthread shrinker([&] { EXPECT_EQ(pool->shrink_to(segment), segment); });
  begun.wait();
  const slots all = pool.take(segment);
  EXPECT_EQ(all.size(), segment);
  EXPECT_EQ(pool->acquire(), nullptr) << "waits for a tenth of a second";
  EXPECT_EQ(pool->reserve(2 * segment), EBUSY);
  all_taken.count_down();
  shrinker.join();
  EXPECT_EQ(pool->reserve(2 * segment), 0);
  pool.give(all);
  EXPECT_EQ(pool.count(), 2 * segment);
}

// A nap takes only a few microseconds there, so a number of naps is no measure of time.
TEST(GrowingVacate, ARealTimeThreadWaitsATenthOfASecondToo) {
  grown pool(2 * segment, 2 * segment);
  std::latch begun(1);
  std::latch tried(1);
  pool.memory.on_vacate = [&](slot_index /*first*/, std::uint32_t /*count*/, work_progress& /*p*/) {
    begun.count_down();
    tried.wait();
  };
  std::jthread shrinker([&] { EXPECT_EQ(pool->shrink_to(segment), segment); });
  begun.wait();
  const slots all = pool.take(segment);
  test::run_in_new_thread([&] {
    const scope_exit end([&] { tried.count_down(); });
    if (!test::try_become_real_time(1)) {
      GTEST_SKIP() << test::no_real_time;
    }
    const auto begin = std::chrono::steady_clock::now();
    EXPECT_EQ(pool->acquire(), nullptr);
    const auto time = std::chrono::steady_clock::now() - begin;
    EXPECT_GE(time, 100ms);
    EXPECT_LT(time, 1s);
  });
  shrinker.join();
  pool.give(all);
}

// On a busy machine the hook may be stopped for as long as a thread waits that sees no progress,
// but not each time.
TEST(GrowingVacate, IsWaitedForAsLongAsItGetsOn) {
  grown pool(2 * segment, 2 * segment);
  std::size_t taken = 0;
  for (int attempt = 0; attempt < 5 && taken < 2 * segment; ++attempt) {
    ASSERT_EQ(pool->reserve(2 * segment), 0);
    std::latch begun(1);
    pool.memory.on_vacate = [&](slot_index /*first*/, std::uint32_t /*count*/,
                                work_progress& progress) {
      begun.count_down();
      for (int i = 0; i < 30; ++i) {
        std::this_thread::sleep_for(10ms);
        progress.note();
      }
    };
    std::jthread shrinker([&] { (void)pool->shrink_to(segment); });
    begun.wait();
    const slots all = pool.take();
    taken = all.size();
    shrinker.join();
    pool.give(all);
  }
  EXPECT_EQ(taken, 2 * segment);
}

TEST(GrowingVacate, MayUseThePool) {
  grown pool(2 * segment, 2 * segment);
  bool called = false;
  pool.memory.on_vacate = [&](slot_index /*first*/, std::uint32_t /*count*/, work_progress& /*p*/) {
    called = true;
    void* const slot = pool->acquire();
    EXPECT_NE(slot, nullptr);
    pool->release(slot);
    EXPECT_EQ(pool->shrink_to(segment), segment);
    EXPECT_EQ(pool->reserve(segment), 0);
    EXPECT_EQ(pool->reserve(2 * segment), EBUSY) << "the segment is being given back";
  };
  EXPECT_EQ(pool->shrink_to(segment), segment);
  EXPECT_TRUE(called);
  EXPECT_EQ(pool->reserve(2 * segment), 0);
}

TEST(GrowingVacate, MayNeedTheSegmentThatLeavesNext) {
  grown pool(2 * segment, 2 * segment);
  slots held;
  std::vector<slot_index> vacated;
  pool.memory.on_vacate = [&](slot_index first, std::uint32_t /*count*/, work_progress& /*p*/) {
    vacated.push_back(first);
    held = pool.take(segment);
  };
  EXPECT_EQ(pool->shrink_to(0), segment);
  EXPECT_EQ(vacated, std::vector<slot_index>{segment}) << "the other is in service again";
  EXPECT_EQ(held.size(), segment);
  EXPECT_EQ(pool->stats().growth->growths, 2U) << "its memory was still there";
  pool.give(held);
}

// ---- waiters --------------------------------------------------------------------------------

TEST(GrowingWaiter, GrowsFirst) {
  grown pool(2 * segment);
  slots all;
  while (all.size() < 2 * segment) {
    all.push_back(pool.wait(30s));
    ASSERT_NE(all.back(), nullptr);
  }
  EXPECT_EQ(pool.wait(1ms), nullptr);
  std::jthread waiter([&] { EXPECT_NE(pool.wait(30s), nullptr); });
  while (pool->count_waiting() == 0) {
    std::this_thread::yield();
  }
  pool->release(all.back());
}

TEST(GrowingWaiter, GetsMemoryThatWasRefusedAtFirst) {
  grown pool(segment);
  pool.memory.refused_commit = ENOMEM;
  std::jthread waiter([&] { EXPECT_NE(pool.wait(30s), nullptr); });
  while (pool.memory.commits < 10) {
    std::this_thread::yield();
  }
  pool.memory.refused_commit = 0;
}

// Slots that are released for a waiter may be held by a thread that shrinks.
TEST_P(Growing, ShrinkForgetsNoWaiter) {
  constexpr std::uint32_t few = 4;
  grown pool(few, 0, GetParam(), std::size_t{1} << 16U);  // a segment each
  for (int round = 0; round < 300; ++round) {
    const slots all = pool.take();
    ASSERT_EQ(all.size(), few);
    test::run_crew(4, [&](unsigned me) {
      if (me == 0) {
        pool.give(all);
      } else if (me == 1) {
        (void)pool->shrink_to(0);
      } else {
        void* const slot = pool.wait(30s);
        ASSERT_NE(slot, nullptr);
        pool->release(slot);
      }
    });
  }
  EXPECT_EQ(pool.count(), few);
}

}  // namespace
}  // namespace lido::detail
