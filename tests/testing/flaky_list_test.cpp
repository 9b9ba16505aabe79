#include "lido/testing/torture.hpp"

#include <gtest/gtest.h>

#include <array>
#include <atomic>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <set>
#include <span>
#include <thread>
#include <utility>
#include <vector>

#include "lido/checked.hpp"
#include "lido/testing.hpp"
#include "support/crew.hpp"
#include "support/drain.hpp"

namespace lido::testing {
namespace {

std::vector<bool> first_throws(std::uint64_t seed) {
  const torture_scope scope({.seed = seed, .cache_misses = 500});
  std::vector<bool> throws;
  for (int i = 0; i < 64; ++i) {
    throws.push_back(detail::happens(detail::torture_now.cache_misses));
  }
  return throws;
}

TEST(Torture, TheSameSeedGivesTheSameSequence) {
  EXPECT_EQ(first_throws(7), first_throws(7));
}

TEST(Torture, AnotherSeedGivesAnotherSequence) {
  EXPECT_NE(first_throws(7), first_throws(8));
}

TEST(Torture, ThreadsHaveSequencesOfTheirOwn) {
  const torture_scope scope({.seed = 7, .cache_misses = 500});
  std::set<std::vector<bool>> sequences;
  for (int thread = 0; thread < 4; ++thread) {
    test::run_in_new_thread([&] {
      std::vector<bool> throws;
      for (int i = 0; i < 64; ++i) {
        throws.push_back(detail::happens(detail::torture_now.cache_misses));
      }
      sequences.insert(throws);
    });
  }
  EXPECT_EQ(sequences.size(), 4U);
}

TEST(Torture, ChancesAreThoseAskedFor) {
  const torture_scope scope({.cas_failures = 100, .cache_misses = 1000, .delays = 0});
  int failures = 0;
  for (int i = 0; i < 100'000; ++i) {
    failures += detail::happens(detail::torture_now.cas_failures) ? 1 : 0;
    EXPECT_TRUE(detail::happens(detail::torture_now.cache_misses));
    EXPECT_FALSE(detail::happens(detail::torture_now.delays));
  }
  EXPECT_NEAR(failures, 10'000, 500);
}

TEST(Torture, EndsWithItsScope) {
  { const torture_scope scope({.cache_misses = 1000}); }
  EXPECT_FALSE(detail::happens(detail::torture_now.cache_misses));
}

TEST(Torture, PausesForOneThread) {
  const torture_scope scope({.cache_misses = 1000});
  const detail::torture_pause in_peace;
  EXPECT_FALSE(detail::happens(detail::torture_now.cache_misses));
  test::run_in_new_thread([] { EXPECT_TRUE(detail::happens(detail::torture_now.cache_misses)); });
}

// ---- what happens to pools
// -----------------------------------------------------------------------

TEST(FlakyAtomic, FailsAsOftenAsTold) {
  const torture_scope scope({.cas_failures = 1000, .delays = 0});
  detail::flaky_atomic<std::uint64_t> word(3);
  std::uint64_t seen = 3;
  EXPECT_FALSE(
      word.compare_exchange_weak(seen, 4, std::memory_order_relaxed, std::memory_order_relaxed));
  EXPECT_EQ(seen, 3U);
  EXPECT_EQ(word.load(std::memory_order_relaxed), 3U);
}

TEST(FlakyAtomic, SucceedsOtherwise) {
  detail::flaky_atomic<std::uint64_t> word(3);
  std::uint64_t seen = 3;
  EXPECT_TRUE(
      word.compare_exchange_weak(seen, 4, std::memory_order_relaxed, std::memory_order_relaxed));
  EXPECT_EQ(word.load(std::memory_order_relaxed), 4U);
}

TEST(NarrowTags, AreAsNarrowAsTold) {
  EXPECT_EQ(narrow_tags<3>::stack(100).tag_bits(), 3U);
  EXPECT_EQ(flaky_list<3>::stack(100).tag_bits(), 3U);
}

TEST(NarrowTags, WrapWhileOneThreadWorks) {
  object_pool<int, narrow_tags<1>, policy::no_cache> pool(8);
  for (int round = 0; round < 1000; ++round) {
    EXPECT_EQ(test::count_acquirable(pool), 8U);
  }
}

TEST(MissingCache, MissesEveryTimeIfTold) {
  const torture_scope scope({.cas_failures = 0, .cache_misses = 1000, .delays = 0});
  object_pool<int, missing_cache> pool(1000);
  test::fill_own_cache(pool, 500);
  EXPECT_EQ(pool.stats().refills, 0U);
  EXPECT_EQ(pool.stats().cached, 0U);
}

TEST(MissingCache, HitsOtherwise) {
  object_pool<int, missing_cache> pool(1000);
  test::fill_own_cache(pool, 500);
  EXPECT_GT(pool.stats().refills, 0U);
  EXPECT_GT(pool.stats().cached, 0U);
}

TEST(MissingCache, RefusesAsOftenAsTold) {
  const torture_scope scope({.delays = 0, .refusals = 250});
  object_pool<int, missing_cache> pool(10);
  int refused = 0;
  for (int i = 0; i < 10'000; ++i) {
    refused += pool.try_acquire() ? 0 : 1;
  }
  EXPECT_NEAR(refused, 2500, 250);
}

// Several at once are refused together.
TEST(MissingCache, RefusesSeveralAtOnceAsOftenAsTold) {
  const torture_scope scope({.delays = 0, .refusals = 250});
  object_pool<int, missing_cache> pool(10);
  std::array<int*, 4> some{};
  int refused = 0;
  for (int i = 0; i < 10'000; ++i) {
    const std::size_t got = pool.try_acquire_n(some);
    ASSERT_TRUE(got == 0 || got == some.size());
    refused += got == 0 ? 1 : 0;
    pool.release_n(std::span(some).first(got));
  }
  EXPECT_NEAR(refused, 2500, 250);
}

TEST(MissingCache, MissesWithSeveralAtOnceIfTold) {
  const torture_scope scope({.cache_misses = 1000, .delays = 0});
  object_pool<int, missing_cache> pool(1000);
  std::array<int*, 300> some{};
  ASSERT_EQ(pool.try_acquire_n(some), some.size());
  EXPECT_EQ(pool.stats().refills, 0U);
  pool.release_n(some);
  EXPECT_EQ(pool.stats().cached, 0U);
}

TEST(Torture, WithoutRefusalsFailsNoAcquireThatMustNotFail) {
  constexpr unsigned threads = 4;
  for (std::uint64_t seed = 1; seed <= 8; ++seed) {
    const torture_scope scope({.seed = seed});
    object_pool<std::array<long, 4>, torture<>, policy::checked> pool(std::size_t{threads} * 3);
    test::run_crew(threads, [&](unsigned self) {
      std::array<std::array<long, 4>*, 3> held{};
      for (int round = 0; round < 500; ++round) {
        for (auto*& object : held) {
          object = pool.try_acquire_ptr();
          ASSERT_NE(object, nullptr) << "seed " << seed;
          object->fill(self);
        }
        for (auto* const object : held) {
          pool.release(object);
        }
      }
    });
    EXPECT_TRUE(conserved(pool)) << "seed " << seed << ": " << conserved(pool);
  }
}

/// Refused, late and past their caches, and more of them than slots: everyone is served all the
/// same.
TEST(Torture, ServesEveryWaiter) {
  for (std::uint64_t seed = 1; seed <= 4; ++seed) {
    const torture_scope scope({.seed = seed, .refusals = 200});
    object_pool<std::array<long, 4>, policy::block, torture<>> pool(3);
    // More than once, if no thread had to wait: a busy machine may let them come one after the
    // other.
    for (int attempt = 0; attempt < 20 && pool.stats().handed_over == 0; ++attempt) {
      std::atomic<int> served{0};
      test::run_crew(6, [&](unsigned self) {
        for (int round = 0; round < 200; ++round) {
          const auto mine = pool.acquire();
          mine->fill(self);
          std::this_thread::yield();
          served += mine->front() == static_cast<long>(self) ? 1 : 0;
        }
      });
      EXPECT_EQ(served, 6 * 200) << "seed " << seed;
    }
    EXPECT_GT(pool.stats().handed_over, 0U) << "seed " << seed;
    EXPECT_TRUE(conserved(pool)) << "seed " << seed << ": " << conserved(pool);
  }
}

/// Refusals make a pool grow that need not.
TEST(Torture, LetsPoolsGrow) {
  const torture_scope scope({.seed = 5, .refusals = 100});
  object_pool<std::array<long, 64>, policy::grow, torture<>> pool(
      {.capacity = 1, .name = "growing", .max_capacity = 4096});
  test::run_crew(4, [&](unsigned self) {
    for (int round = 0; round < 300; ++round) {
      std::vector<decltype(pool.try_acquire())> held;
      for (int i = 0; i < 8; ++i) {
        if (auto mine = pool.try_acquire()) {
          mine->fill(self);
          held.push_back(std::move(mine));
        }
      }
      for (const auto& mine : held) {
        ASSERT_EQ(mine->back(), static_cast<long>(self));
      }
    }
  });
  EXPECT_EQ(pool.stats().in_use, 0U);
  EXPECT_TRUE(conserved(pool)) << conserved(pool);
}

TEST(Torture, NarrowsTagsAsWell) {
  EXPECT_EQ(torture<5>::stack(100).tag_bits(), 5U);
}

}  // namespace
}  // namespace lido::testing
