#include "lido/object/options.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cstddef>
#include <cstdint>
#include <new>
#include <stdexcept>
#include <string>

#include "lido/checked.hpp"
#include "lido/object_pool.hpp"
#include "support/drain.hpp"
#include "support/sanitizers.hpp"

namespace lido {
namespace {

using ::testing::AllOf;
using ::testing::HasSubstr;

struct quarter_of_a_gigabyte {
  char bytes[std::size_t{1} << 28U];  // NOLINT(modernize-avoid-c-arrays)
};
struct huge {
  char bytes[(SIZE_MAX >> 24U) + 1];  // NOLINT(modernize-avoid-c-arrays)
};

/// Returns the text of the error that a pool with these options throws.
template <class T = int>
std::string refusal(const object_pool_options& options) {
  try {
    const object_pool<T> pool(options);
  } catch (const std::invalid_argument& error) {
    return error.what();
  }
  return "";
}

TEST(ObjectPoolOptions, CapacityOfZeroIsRefused) {
  EXPECT_THAT(refusal({.capacity = 0, .name = "jobs"}), HasSubstr("capacity 0"));
  EXPECT_THAT(refusal({.name = "jobs"}), HasSubstr("capacity 0"));
}

TEST(ObjectPoolOptions, RefusalNamesThePool) {
  EXPECT_THAT(refusal({.capacity = 0, .name = "jobs"}), HasSubstr("'jobs'"));
}

TEST(ObjectPoolOptions, CapacityThatNoIndexReachesIsRefused) {
  EXPECT_THAT(refusal({.capacity = 0xFFFF'FFFF}), HasSubstr("capacity 4294967295"));
  EXPECT_THAT(refusal({.capacity = SIZE_MAX}), HasSubstr("capacity " + std::to_string(SIZE_MAX)));
}

TEST(ObjectPoolOptions, CapacityIsRefusedBeforeItsMemoryIsAskedFor) {
  EXPECT_THAT(refusal<huge>({.capacity = 0xFFFF'FFFF}), HasSubstr("capacity"));
}

TEST(ObjectPoolOptions, CacheLargerThanAnyCanBeIsRefused) {
  EXPECT_THAT(refusal({.capacity = 10, .max_cached = 1023}), HasSubstr("max_cached 1023"));
}

TEST(ObjectPoolOptions, CacheIsRefusedBeforeMemoryIsAskedFor) {
  EXPECT_THAT(refusal<huge>({.capacity = 0xFFFF'FFFE, .max_cached = 1023}),
              HasSubstr("max_cached"));
}

TEST(ObjectPoolOptions, LargestCacheIsAccepted) {
  EXPECT_EQ(refusal({.capacity = 10, .max_cached = 1022}), "");
}

TEST(ObjectPoolOptions, SizeThatOverflowsIsABadArrayLength) {
  EXPECT_THROW(object_pool<huge>(0x80'0000), std::bad_array_new_length);
}

TEST(ObjectPoolOptions, MistakesNameTheOption) {
  EXPECT_THAT(refusal({.capacity = 1, .name = "jobs", .max_capacity = 2}),
              AllOf(HasSubstr("'jobs'"), HasSubstr("max_capacity")));
  EXPECT_THAT(refusal({.capacity = 1, .name = "jobs", .creation = creation::eager}),
              AllOf(HasSubstr("'jobs'"), HasSubstr("creation")));
  EXPECT_THAT(refusal({.capacity = 1, .name = "jobs", .when_full = when_full::grow}),
              AllOf(HasSubstr("'jobs'"), HasSubstr("when_full::grow needs max_capacity")));
  EXPECT_THAT(
      refusal({.capacity = 3, .name = "jobs", .max_capacity = 2, .when_full = when_full::grow}),
      AllOf(HasSubstr("'jobs'"), HasSubstr("capacity 3")));
}

TEST(ObjectPoolOptions, CheckedPoolThatGrowsIsRefused) {
  EXPECT_THROW((object_pool<int, checked_traits<int>>(
                   object_pool_options{.max_capacity = 2, .when_full = when_full::grow})),
               std::invalid_argument);
}

TEST(ObjectPoolOptions, FixedPoolReservesAndShrinksNothing) {
  object_pool<int> pool({.capacity = 10, .name = "jobs"});
  pool.reserve(10);
  EXPECT_EQ(pool.shrink_to(3), 10U);
  EXPECT_EQ(pool.capacity(), 10U);
  EXPECT_THROW(pool.reserve(11), std::invalid_argument);
}

#if !LIDO_TEST_TSAN && !LIDO_TEST_ASAN  // their allocators end the program instead
TEST(ObjectPoolOptions, SizeBeyondAllMemoryIsABadAlloc) {
  EXPECT_THROW(object_pool<quarter_of_a_gigabyte>(0xFFFF'FFFE), std::bad_alloc);
}
#endif

TEST(ObjectPoolOptions, PoolWithoutCachesByOptionHandsOutEverySlot) {
  object_pool<int> pool({.capacity = 100, .max_cached = 0});
  EXPECT_EQ(test::count_acquirable(pool), 100U);
  EXPECT_EQ(pool.stats().cached, 0U);
}

TEST(ObjectPoolOptions, AnyCacheSizeHandsOutEverySlot) {
  for (std::size_t most = 0; most <= 1022; most += most < 40 ? 1 : 97) {
    object_pool<int> pool({.capacity = 100, .max_cached = most});
    test::release_all(pool, test::drain(pool));
    EXPECT_EQ(test::count_acquirable(pool), 100U) << "max_cached " << most;
  }
}

TEST(ObjectPoolOptions, NameIsCopied) {
  std::string name = "a name too long for the small string optimisation";
  const object_pool<int> pool({.capacity = 1, .name = name});
  name.assign(name.size(), '?');
  EXPECT_EQ(pool.name(), "a name too long for the small string optimisation");
}

TEST(ObjectPoolOptions, PoolWithoutNameIsUnnamed) {
  EXPECT_EQ(object_pool<int>(1).name(), "unnamed");
}

}  // namespace
}  // namespace lido
