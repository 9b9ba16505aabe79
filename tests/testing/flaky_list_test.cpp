#include <gtest/gtest.h>

#include <array>
#include <atomic>
#include <cstddef>
#include <cstdint>
#include <set>
#include <thread>
#include <utility>
#include <vector>

#include "lido/checked.hpp"
#include "lido/testing.hpp"
#include "support/crew.hpp"
#include "support/drain.hpp"
#include "support/list_for_tests.hpp"

namespace lido::test {
namespace {

using words = std::array<long, 4>;

TEST(FlakyAtomic, FailsOnceInFive) {
  flaky_atomic word(0);
  std::uint64_t seen = 0;
  int failures = 0;
  for (int i = 0; i < 100'000; ++i) {
    const std::uint64_t before = seen;
    if (word.compare_exchange_weak(seen, before + 1, std::memory_order_relaxed,
                                   std::memory_order_relaxed)) {
      ++seen;
    } else {
      ++failures;
      ASSERT_EQ(seen, before);
    }
  }
  EXPECT_EQ(word.load(std::memory_order_relaxed), seen);
  EXPECT_NEAR(failures, 20'000, 1000);
}

TEST(FlakyAtomic, EachThreadThrowsASequenceOfItsOwn) {
  std::set<std::vector<bool>> sequences;
  for (int thread = 0; thread < 4; ++thread) {
    run_in_new_thread([&] {
      std::vector<bool> throws;
      for (int i = 0; i < 64; ++i) {
        throws.push_back(throw_flaky_dice() % 2 == 0);
      }
      sequences.insert(throws);
    });
  }
  EXPECT_EQ(sequences.size(), 4U);
}

TEST(NarrowTags, WrapWhileOneThreadWorks) {
  const narrow_tags list(1);
  object_pool<int> pool({.capacity = 8, .caches = cache_kind::none, .list = &list});
  for (int round = 0; round < 1000; ++round) {
    EXPECT_EQ(count_acquirable(pool), 8U);
  }
}

TEST(FlakyList, FailsNoAcquireThatMustNotFail) {
  constexpr unsigned threads = 4;
  const flaky_list list;
  for (const auto caches : {cache_kind::revocable, cache_kind::locked, cache_kind::none}) {
    object_pool<words, checked_traits<words>> pool(
        {.capacity = std::size_t{threads} * 3, .caches = caches, .list = &list});
    run_crew(threads, [&](unsigned self) {
      std::array<words*, 3> held{};
      for (int round = 0; round < 500; ++round) {
        for (auto*& object : held) {
          object = pool.try_acquire_ptr();
          ASSERT_NE(object, nullptr);
          object->fill(self);
        }
        for (auto* const object : held) {
          pool.release(object);
        }
      }
    });
    EXPECT_TRUE(testing::conserved(pool)) << testing::conserved(pool);
  }
}

/// There are more waiters than slots: all are served nevertheless.
TEST(FlakyList, ServesEveryWaiter) {
  const flaky_list list;
  object_pool<words> pool(
      {.capacity = 3, .when_full = when_full::wait, .caches = cache_kind::none, .list = &list});
  // Runs again if no thread had to wait: on a busy machine they may come one after the other.
  for (int attempt = 0; attempt < 20 && pool.stats().handed_over == 0; ++attempt) {
    std::atomic<int> served{0};
    run_crew(6, [&](unsigned self) {
      for (int round = 0; round < 200; ++round) {
        const auto mine = pool.acquire();
        mine->fill(self);
        std::this_thread::yield();
        served += mine->front() == static_cast<long>(self) ? 1 : 0;
      }
    });
    EXPECT_EQ(served, 6 * 200);
  }
  EXPECT_GT(pool.stats().handed_over, 0U);
  EXPECT_TRUE(testing::conserved(pool)) << testing::conserved(pool);
}

TEST(FlakyList, LetsPoolsGrow) {
  const flaky_list list;
  object_pool<std::array<long, 64>> pool({.capacity = 1,
                                          .name = "growing",
                                          .max_capacity = 4096,
                                          .when_full = when_full::grow,
                                          .list = &list});
  run_crew(4, [&](unsigned self) {
    for (int round = 0; round < 300; ++round) {
      std::vector<decltype(pool.try_acquire())> held;
      for (int i = 0; i < 8; ++i) {
        auto mine = pool.try_acquire();
        ASSERT_TRUE(mine);
        mine->fill(self);
        held.push_back(std::move(mine));
      }
      for (const auto& mine : held) {
        ASSERT_EQ(mine->back(), static_cast<long>(self));
      }
    }
  });
  EXPECT_EQ(pool.stats().in_use, 0U);
  EXPECT_TRUE(testing::conserved(pool)) << testing::conserved(pool);
}

}  // namespace
}  // namespace lido::test
