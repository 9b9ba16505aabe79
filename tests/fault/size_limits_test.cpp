#include <gtest/gtest.h>
#include <sys/resource.h>

#include <array>
#include <cstdint>
#include <cstdio>
#include <limits>
#include <new>
#include <stdexcept>
#include <string>

#include "lido/object_pool.hpp"
#include "support/drain.hpp"
#include "support/sanitizers.hpp"

namespace lido {
namespace {

constexpr std::size_t largest = 0xFFFF'FFFE;

TEST(SizeLimits, NoneAndTooManyAreRefusedBeforeAnyMemoryIsTaken) {
  for (const std::size_t capacity :
       {std::size_t{0}, largest + 1, largest + 2, std::numeric_limits<std::size_t>::max()}) {
    EXPECT_THROW(object_pool<char> pool(capacity), std::invalid_argument) << capacity;
  }
}

TEST(SizeLimits, OneAndTwoSlotsWork) {
  for (const std::size_t capacity : {std::size_t{1}, std::size_t{2}}) {
    object_pool<char> pool(capacity);
    for (int round = 0; round < 100; ++round) {
      ASSERT_EQ(test::count_acquirable(pool), capacity);
    }
  }
}

TEST(SizeLimits, BytesBeyondTheAddressSpaceAreABadAlloc) {
  struct huge {
    std::array<char, std::size_t{1} << 40U> bytes;
  };
  EXPECT_THROW(object_pool<huge> pool(largest), std::bad_array_new_length);
  EXPECT_THROW(object_pool<huge> pool(std::size_t{1} << 23U), std::bad_alloc);
}

#if !LIDO_TEST_TSAN && !LIDO_TEST_ASAN  // both need far more address space than a limit leaves

/// Ends the process with an exit status after it makes a pool within `bytes` of address space.
[[noreturn]] void make_pool_within(std::size_t bytes, std::size_t capacity) {
  const rlimit limit{bytes, bytes};
  if (::setrlimit(RLIMIT_AS, &limit) != 0) {
    std::_Exit(3);
  }
  try {
    const object_pool<char> pool(capacity);
  } catch (const std::bad_alloc&) {
    // Nothing of the attempt remains: what fits still fits.
    object_pool<char> small(1'000'000);
    std::_Exit(test::count_acquirable(small) == 1'000'000 ? 1 : 2);
  }
  std::_Exit(0);
}

TEST(SizeLimitsDeathTest, LargestPoolWithoutMemoryIsABadAllocAndLeavesNothing) {
  constexpr std::size_t gib = std::size_t{1} << 30U;
  // First even the slots do not fit; then the slots fit, and the magazines do not.
  for (const std::size_t bytes : {gib, 6 * gib}) {
    EXPECT_EXIT(make_pool_within(bytes, largest), ::testing::ExitedWithCode(1), "") << bytes;
  }
}

TEST(SizeLimits, PoolOfSixteenMillionSlotsHandsOutEachOfThem) {
  constexpr std::size_t capacity = std::size_t{1} << 24U;
  object_pool<char> pool(capacity);
  const auto all = test::drain(pool);
  EXPECT_EQ(all.size(), capacity);
  EXPECT_EQ(test::count_distinct(all), capacity);
  pool.release_n(all);
  EXPECT_EQ(pool.stats().in_use, 0U);
}

#endif

}  // namespace
}  // namespace lido
