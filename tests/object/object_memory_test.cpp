// A pool's use of memory: it does not touch free objects, and needs little beside them.
#include <gtest/gtest.h>
#if defined(__GLIBC__)
#include <malloc.h>
#include <sys/resource.h>
#endif

#include <algorithm>
#include <array>
#include <cstddef>
#include <cstdlib>
#include <cstring>
#include <memory>
#include <vector>

#include "lido/checked.hpp"
#include "lido/concurrent_slot_map.hpp"
#include "lido/freelist/boost_list.hpp"
#include "support/crew.hpp"
#include "support/drain.hpp"
#include "support/forbidden_pages.hpp"
#include "support/pool_kinds.hpp"
#include "support/pools.hpp"
#include "support/resident.hpp"
#include "support/sanitizers.hpp"

#if LIDO_TEST_ASAN
#include <sanitizer/asan_interface.h>
#include <sanitizer/lsan_interface.h>
#endif

namespace lido {
namespace {

using test::forbidden_pages;
using test::page;

class ObjectMemory : public ::testing::Test, public ::testing::WithParamInterface<test::pool_kind> {
 protected:
  using pool_type = test::kind_pool<page>;
};
INSTANTIATE_TEST_SUITE_P(Kinds, ObjectMemory, test::pool_kinds, test::pool_kind_name);

// Links, caches and statistics lie elsewhere. Objects with a page to themselves cannot be read
// without the end of the program.
TEST_P(ObjectMemory, NothingReadsOrWritesAFreeObject) {
  constexpr std::size_t capacity = 600;
  pool_type pool(capacity);
  std::vector<page*> all(capacity);
  std::generate(all.begin(), all.end(), [&] { return pool.try_acquire_ptr(default_init); });
  ASSERT_EQ(test::count_distinct(all), capacity);
  const forbidden_pages nobody(all);
  test::release_all(pool, all);
  test::run_crew(3, [&](unsigned /*thread*/) {
    for (int round = 0; round < 50; ++round) {
      std::vector<page*> some(150);
      std::generate(some.begin(), some.end(), [&] { return pool.try_acquire_ptr(default_init); });
      test::release_all(pool, some);
    }
  });
  const slot_pool_stats stats = pool.stats();
  EXPECT_EQ(stats.in_use, 0U);
  EXPECT_EQ(stats.idle, capacity);
}

template <class Pool>
double bytes_a_slot(std::size_t slots, cache_kind caches = cache_kind::revocable) {
  // The bookkeeping of one slot is what does not depend on their number.
  const Pool small({.capacity = 1, .caches = caches});
  const Pool large({.capacity = slots, .caches = caches});
  const std::size_t more = large.stats().bookkeeping_bytes - small.stats().bookkeeping_bytes;
  return static_cast<double>(more) / static_cast<double>(slots - 1);
}

// Each slot has 4 bytes for the link of the list, and some for the depot's magazines.
TEST(ObjectMemoryBeside, BookkeepingOfALargePoolTakesAtMostEightBytesASlot) {
  constexpr std::size_t slots = 1'000'000;
  EXPECT_LE(bytes_a_slot<object_pool<int>>(slots), 8.0);
  EXPECT_LE(bytes_a_slot<object_pool<int>>(slots, cache_kind::locked), 8.0);
  EXPECT_LE(bytes_a_slot<object_pool<int>>(slots, cache_kind::none), 8.0);
  EXPECT_GE(bytes_a_slot<object_pool<int>>(slots), 4.0);
}

template <class T>
struct tracked_kept_traits : pool_traits<T> {
  using hooks = keep;
  static constexpr bool track_in_use = true;
};

// Records for each slot count, too.
TEST(ObjectMemoryBeside, UseAndContentTakeOneByteASlotTogether) {
  constexpr std::size_t slots = 1'000'000;
  const double bare = bytes_a_slot<object_pool<int>>(slots);
  EXPECT_NEAR((bytes_a_slot<object_pool<int, test::tracking_traits<int>>>(slots)) - bare, 1.0,
              0.01);
  EXPECT_NEAR((bytes_a_slot<object_pool<int, tracked_kept_traits<int>>>(slots)) - bare, 1.0, 0.01);
}

template <class Pool>
void expect_bytes_are_foreseen(const object_pool_options& options) {
  Pool pool(options);
  if (options.when_full == when_full::grow) {
    EXPECT_LT(pool.stats().total_bytes, Pool::bytes_needed(options));
    pool.reserve(options.max_capacity);
  }
  EXPECT_EQ(pool.stats().total_bytes, Pool::bytes_needed(options));
}

TEST(ObjectMemoryNeeded, IsWhatAnUnusedPoolReports) {
  using object = std::array<int, 3>;
  // On both sides of the capacity from which the depot has shards, and without a magazine.
  for (const std::size_t capacity : {std::size_t{1}, std::size_t{40}, std::size_t{1023},
                                     std::size_t{1024}, std::size_t{100'000}}) {
    SCOPED_TRACE(capacity);
    expect_bytes_are_foreseen<object_pool<object>>({.capacity = capacity});
    expect_bytes_are_foreseen<object_pool<object>>({.capacity = capacity, .warm = true});
    expect_bytes_are_foreseen<object_pool<object>>({.capacity = capacity, .list = boost_list()});
    expect_bytes_are_foreseen<object_pool<object, test::tracking_traits<object>>>(
        {.capacity = capacity});
    expect_bytes_are_foreseen<object_pool<object, tracked_kept_traits<object>>>(
        {.capacity = capacity, .creation = creation::eager});
    expect_bytes_are_foreseen<object_pool<object, checked_traits<object>>>({.capacity = capacity});
  }
}

TEST(ObjectMemoryNeeded, OfAGrowingPoolIsThatOfAllSlots) {
  for (const std::size_t most : {std::size_t{1}, std::size_t{1024}, std::size_t{100'000}}) {
    SCOPED_TRACE(most);
    const object_pool_options options{.max_capacity = most, .when_full = when_full::grow};
    expect_bytes_are_foreseen<object_pool<double>>(options);
    expect_bytes_are_foreseen<object_pool<double, tracked_kept_traits<double>>>(options);
  }
}

#if defined(__GLIBC__)
#define LIDO_TEST_GLIBC_TELLS __GLIBC_PREREQ(2, 33)
#endif
#if !LIDO_TEST_TSAN && !LIDO_TEST_ASAN && LIDO_TEST_GLIBC_TELLS  // their allocators report nothing
std::size_t bytes_from_the_system() {
  return test::memory_of_process().mapped - ::mallinfo2().fordblks;
}

// Checks all that the pool requests from the system, including the first cells of 128 caches, which
// take no memory until they are used.
template <class T, class Traits = pool_traits<T>>
void expect_total_is_taken(std::size_t bytes_a_slot, object_pool_options options = {}) {
  constexpr std::size_t slots = 1'000'000;
  constexpr std::size_t table_and_ends_of_pages = 192 * 1024;
  const std::size_t before = bytes_from_the_system();
  options.capacity = slots;
  const auto pool = std::make_unique<object_pool<T, Traits>>(options);
  const std::size_t taken = bytes_from_the_system() - before;
  EXPECT_LE(taken, slots * bytes_a_slot + table_and_ends_of_pages);
  EXPECT_GE(taken, pool->stats().total_bytes);
  EXPECT_LE(taken, pool->stats().total_bytes + table_and_ends_of_pages);
}

// Slots are no larger than their objects, and at most eight bytes are added to each. Records of
// hooks and checks are added to that.
TEST(ObjectMemoryBeside, ALargePoolTakesItsObjectsAndEightBytesASlot) {
  using object = std::array<int, 3>;
  constexpr std::size_t bare = sizeof(object) + 8;
  expect_total_is_taken<object>(bare);
  expect_total_is_taken<object>(bare, {.caches = cache_kind::locked});
  expect_total_is_taken<object>(bare, {.caches = cache_kind::none});
  expect_total_is_taken<object>(bare, {.when_full = when_full::wait});
  expect_total_is_taken<object, tracked_kept_traits<object>>(bare + 1);
  expect_total_is_taken<object, checked_traits<object>>(bare + sizeof(detail::slot_record));
}

std::size_t page_faults() {
  rusage used{};
  (void)::getrusage(RUSAGE_SELF, &used);
  return static_cast<std::size_t>(used.ru_minflt);
}

/// Makes malloc serve up to 32 MiB from memory that was in use before, where calloc has to write
/// the zeros.
class recycled_heap {
 public:
  recycled_heap() {
    constexpr std::size_t most_on_the_heap = std::size_t{31} << 20U;
    std::free(allocate(most_on_the_heap));  // mapped; from now on such blocks are not
    void* const block = allocate(most_on_the_heap);
    end_ = allocate(1);
    std::free(block);
    (void)::malloc_trim(0);  // the pages go back, the block stays
  }
  recycled_heap(const recycled_heap&) = delete;
  recycled_heap& operator=(const recycled_heap&) = delete;
  ~recycled_heap() { std::free(end_); }

 private:
  static void* allocate(std::size_t bytes) {
    void* const volatile block = std::malloc(bytes);
    std::memset(block, 1, bytes);
    return block;
  }

  void* end_ = nullptr;  ///< keeps the block away from the end of the heap
};

template <class Traits>
void expect_unused_pool_costs_nothing(std::size_t slots) {
  const std::size_t resident = test::resident_bytes();
  const std::size_t faults = page_faults();
  const object_pool<int, Traits> pool(slots);
  EXPECT_LT(page_faults() - faults, 64U) << "each costs about as much time as to make a pool";
  EXPECT_LT(test::resident_bytes() - resident, std::size_t{256} * 1024) << slots << " slots";
}

TEST(ObjectMemoryBeside, AnUnusedPoolIsNotResidentWhateverWasFreedBefore) {
  { const object_pool<int> first(8); }
  for (const std::size_t slots : {27'308U, 100'000U, 1'000'000U, 4'000'000U}) {
    const recycled_heap heap;
    expect_unused_pool_costs_nothing<pool_traits<int>>(slots);
    expect_unused_pool_costs_nothing<test::tracking_traits<int>>(slots);
  }
}

// Low slots come first, so the list of all slots is written.
TEST(ObjectMemoryBeside, OfAnUnusedMapOnlyTheBookkeepingIsResident) {
  constexpr std::size_t slots = 100'000;
  const std::size_t resident = test::resident_bytes();
  const concurrent_slot_map<std::array<std::byte, 1024>> map(slots);
  EXPECT_LT(test::resident_bytes() - resident, slots * 17 + std::size_t{256} * 1024);
}
#endif

#if LIDO_TEST_ASAN
TEST(ObjectMemoryWatched, WhatASegmentGaveBackIsStillPoisoned) {
  test::growing_pool<std::array<long, 8>> pool({.max_capacity = 1000});
  auto* const object = pool.try_acquire_ptr();
  ASSERT_NE(object, nullptr);
  pool.release(object);
  EXPECT_TRUE(__asan_address_is_poisoned(object));
  EXPECT_EQ(pool.shrink_to(0), 0U);
  EXPECT_TRUE(__asan_address_is_poisoned(object));
}

// Objects in a segment must behave as objects anywhere else.
TEST(ObjectMemoryWatched, WhatAnObjectInASegmentOwnsIsNoLeak) {
  if (__lsan_do_recoverable_leak_check() != 0) {
    GTEST_SKIP() << "another test has left a pool with Boost's list, which hides its nodes";
  }
  test::growing_pool<std::unique_ptr<int>> pool({.max_capacity = 1000});
  concurrent_slot_map<std::unique_ptr<int>> map(100);
  auto* const object = pool.try_acquire_ptr(std::make_unique<int>(1));
  (void)map.emplace(std::make_unique<int>(2));
  EXPECT_EQ(__lsan_do_recoverable_leak_check(), 0);
  pool.release(object);
}
#endif

}  // namespace
}  // namespace lido
