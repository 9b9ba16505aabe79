// What happens to requests that find no block: try_allocate, and larger blocks in place of smaller
// ones.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <array>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <list>
#include <memory_resource>
#include <new>
#include <stdexcept>
#include <utility>
#include <vector>

#include "lido/block_resource.hpp"
#include "support/counting_upstream.hpp"
#include "support/crew.hpp"
#include "support/drain.hpp"
#include "support/failing_upstream.hpp"
#include "support/misuse_log.hpp"
#include "support/sanitizers.hpp"

#if LIDO_TEST_ASAN
#include <sanitizer/asan_interface.h>
#endif

namespace lido {
namespace {

using test::counting_upstream;
using test::failing_upstream;
using ::testing::ElementsAre;
using ::testing::IsEmpty;

/// Returns the index of the size that has one block in use, or -1.
int used_size(const block_resource& blocks) {
  int found = -1;
  for (std::size_t i = 0; i < blocks.count_sizes(); ++i) {
    if (blocks.stats(i).blocks.in_use != 0) {
      EXPECT_EQ(found, -1);
      found = static_cast<int>(i);
    }
  }
  return found;
}

// ---- try_allocate

static_assert(noexcept(std::declval<block_resource&>().try_allocate(1)));

TEST(BlockTryAllocate, ReturnsNullOnlyIfEveryBlockIsInUse) {
  counting_upstream upstream;
  block_resource blocks({.block_bytes = 64, .blocks = 8, .upstream = &upstream});
  std::vector<void*> all;
  for (void* one = blocks.try_allocate(64); one != nullptr; one = blocks.try_allocate(64)) {
    EXPECT_TRUE(blocks.owns(one));
    std::memset(one, 0xAB, 64);
    all.push_back(one);
  }
  EXPECT_EQ(test::count_distinct(all), 8U);
  EXPECT_EQ(blocks.stats().overflowed, 1U);
  EXPECT_EQ(blocks.upstream_requests(), 0U);
  blocks.deallocate(all.back(), 64);
  EXPECT_EQ(blocks.try_allocate(1, 1), all.back());
  for (void* const one : all) {
    blocks.deallocate(one, 64);
  }
  EXPECT_EQ(blocks.stats().blocks.in_use, 0U);
}

TEST(BlockTryAllocate, GetsABlockOfTheSizeThatAllocateGets) {
  counting_upstream upstream;
  block_resource blocks(
      {.sizes = {{64, 70}, {256, 70}, {4096, 2}, {8192, 2}}, .upstream = &upstream});
  for (int round = 0; round < 3; ++round) {  // with an empty cache, and from the cache
    for (const std::size_t bytes : {0U, 1U, 64U, 65U, 256U, 4096U, 4097U, 8192U, 8193U}) {
      for (const std::size_t alignment : {1U, 16U, 32U, 4096U}) {
        void* const one = blocks.allocate(bytes, alignment);
        const int expected = used_size(blocks);
        blocks.deallocate(one, bytes, alignment);
        void* const other = blocks.try_allocate(bytes, alignment);
        ASSERT_NE(other, nullptr);
        EXPECT_EQ(reinterpret_cast<std::uintptr_t>(other) % alignment, 0U);
        EXPECT_EQ(used_size(blocks), expected) << bytes << " aligned to " << alignment;
        EXPECT_EQ(blocks.owns(other), expected != -1);
        blocks.deallocate(other, bytes, alignment);
      }
    }
  }
  EXPECT_EQ(blocks.upstream_requests(), upstream.requests());
}

TEST(BlockTryAllocate, GoesUpstreamIfAllocateDoes) {
  counting_upstream upstream;
  block_resource blocks(
      {.block_bytes = 64, .blocks = 1, .upstream = &upstream, .overflow_to_upstream = true});
  const std::array all{blocks.try_allocate(64), blocks.try_allocate(64), blocks.try_allocate(65),
                       blocks.try_allocate(8, 64)};
  EXPECT_EQ(upstream.out(), 3U);
  EXPECT_EQ(blocks.upstream_requests(), 3U);
  EXPECT_EQ(blocks.stats().largest_upstream, 65U);
  blocks.deallocate(all[0], 64);
  blocks.deallocate(all[1], 64);
  blocks.deallocate(all[2], 65);
  blocks.deallocate(all[3], 8, 64);
  EXPECT_EQ(upstream.out(), 0U);
}

TEST(BlockTryAllocate, ReturnsNullWhateverUpstreamThrows) {
  failing_upstream failing;
  for (std::pmr::memory_resource* const upstream :
       {std::pmr::null_memory_resource(), static_cast<std::pmr::memory_resource*>(&failing)}) {
    block_resource blocks(
        {.block_bytes = 64, .blocks = 1, .upstream = upstream, .overflow_to_upstream = true});
    void* const one = blocks.try_allocate(64);
    EXPECT_EQ(blocks.try_allocate(64), nullptr);
    EXPECT_EQ(blocks.try_allocate(65), nullptr);
    EXPECT_EQ(blocks.try_allocate(8, 64), nullptr);
    EXPECT_EQ(blocks.upstream_requests(), 3U);
    EXPECT_EQ(blocks.stats().blocks.in_use, 1U);
    blocks.deallocate(one, 64);
  }
}

TEST(BlockTryAllocate, ReturnsNullForMoreThanAllMemory) {
  failing_upstream upstream;
  for (const bool overflow : {false, true}) {
    block_resource blocks({.sizes = {{64, 2}, {256, 2}},
                           .upstream = &upstream,
                           .use_larger_blocks = overflow,
                           .overflow_to_upstream = overflow});
    for (const std::size_t bytes : {SIZE_MAX, SIZE_MAX - 6, SIZE_MAX / 2 + 1}) {
      for (const std::size_t alignment : {1U, 16U, 64U, 4096U}) {
        EXPECT_EQ(blocks.try_allocate(bytes, alignment), nullptr);
        EXPECT_THROW((void)blocks.allocate(bytes, alignment), no_block);
      }
    }
    EXPECT_EQ(used_size(blocks), -1);
    EXPECT_EQ(blocks.upstream_requests(), 0U) << "too large for any upstream";
    EXPECT_EQ(blocks.stats().largest_upstream, 0U);
    EXPECT_EQ(blocks.try_allocate(SIZE_MAX / 2), nullptr);
    EXPECT_EQ(blocks.upstream_requests(), 1U);
    EXPECT_EQ(blocks.stats().largest_upstream, SIZE_MAX / 2);
  }
}

TEST(BlockTryAllocate, FindsBlocksInTheCachesOfOtherThreads) {
  block_resource blocks({.block_bytes = 32, .blocks = 1000});
  const test::parked_crew crew(3, [&](unsigned /*me*/) {
    std::pmr::list<int> list(&blocks);
    list.assign(300, 1);
  });
  for (int i = 0; i < 1000; ++i) {
    ASSERT_NE(blocks.try_allocate(32), nullptr) << i;
  }
  EXPECT_EQ(blocks.try_allocate(32), nullptr);
}

TEST(BlockTryAllocate, ThreadsShareFewBlocks) {
  constexpr std::size_t few = 6;
  constexpr unsigned crew = 4;
  block_resource blocks({.block_bytes = sizeof(unsigned), .blocks = few});
  std::array<std::uint64_t, crew> refused{};
  test::run_crew(crew, [&](unsigned me) {
    for (int round = 0; round < 2000; ++round) {
      std::array<unsigned*, few / 2> mine{};
      for (unsigned*& one : mine) {
        one = static_cast<unsigned*>(blocks.try_allocate(sizeof(unsigned), alignof(unsigned)));
        if (one != nullptr) {
          *one = me;
        } else {
          ++refused[me];
        }
      }
      for (unsigned* const one : mine) {
        if (one != nullptr) {
          EXPECT_EQ(*one, me) << "two threads have a block";
          blocks.deallocate(one, sizeof(unsigned), alignof(unsigned));
        }
      }
    }
  });
  EXPECT_EQ(blocks.stats().blocks.in_use, 0U);
  EXPECT_EQ(blocks.stats().overflowed, refused[0] + refused[1] + refused[2] + refused[3]);
}

TEST(BlockTryAllocate, BlocksAreChecked) {
  test::misuse_log log;
  block_resource blocks({.sizes = {{64, 1}, {256, 1}}, .checked = true});
  for (const std::size_t bytes : {64U, 256U}) {
    void* const one = blocks.try_allocate(bytes);
    ASSERT_NE(one, nullptr);
    EXPECT_EQ(blocks.try_allocate(bytes), nullptr);
    blocks.deallocate(one, bytes);
    EXPECT_THAT(log.kinds(), IsEmpty());
  }
  void* const one = blocks.try_allocate(64);
  blocks.deallocate(one, 64);
  blocks.deallocate(one, 64);
  EXPECT_THAT(log.kinds(), ElementsAre(misuse_kind::double_release));
}

// ---- use_larger_blocks

/// Returns the blocks in use of each size.
std::vector<std::size_t> used(const block_resource& blocks) {
  std::vector<std::size_t> sizes;
  for (std::size_t i = 0; i < blocks.count_sizes(); ++i) {
    sizes.push_back(blocks.stats(i).blocks.in_use);
  }
  return sizes;
}

TEST(BlockLarger, ServesARequestIfItsSizeIsInUse) {
  counting_upstream upstream;
  block_resource blocks(
      {.sizes = {{64, 2}, {256, 2}, {8192, 1}}, .upstream = &upstream, .use_larger_blocks = true});
  std::vector<void*> all{blocks.allocate(64), blocks.allocate(64), blocks.allocate(64),
                         blocks.allocate(64)};
  EXPECT_THAT(used(blocks), ElementsAre(2, 2, 0));
  all.push_back(blocks.allocate(60, 8));
  EXPECT_THAT(used(blocks), ElementsAre(2, 2, 1));
  EXPECT_EQ(test::count_distinct(all), 5U);
  EXPECT_THROW((void)blocks.allocate(64), no_block);
  EXPECT_EQ(blocks.try_allocate(64), nullptr);
  EXPECT_EQ(blocks.try_allocate(200), nullptr);
  EXPECT_EQ(blocks.try_allocate(8192), nullptr);
  EXPECT_EQ(blocks.stats(0).served_by_larger, 3U);
  EXPECT_EQ(blocks.stats(0).overflowed, 5U);
  EXPECT_EQ(blocks.stats(1).served_by_larger, 0U);
  EXPECT_EQ(blocks.stats(1).overflowed, 4U) << "three requests for the smaller size";
  EXPECT_EQ(blocks.stats(2).served_by_larger, 0U);
  EXPECT_EQ(blocks.stats(2).overflowed, 4U) << "every refusal";
  EXPECT_EQ(blocks.upstream_requests(), 0U);
  blocks.deallocate(all.back(), 60, 8);
  all.pop_back();
  for (void* const one : all) {
    std::memset(one, 0xAB, 64);
    blocks.deallocate(one, 64);
  }
  EXPECT_THAT(used(blocks), ElementsAre(0, 0, 0));
}

TEST(BlockLarger, ServesNoRequestBySmallerBlocks) {
  block_resource blocks({.sizes = {{64, 9}, {256, 1}}, .use_larger_blocks = true});
  void* const one = blocks.allocate(256);
  EXPECT_THROW((void)blocks.allocate(256), no_block);
  EXPECT_EQ(blocks.try_allocate(65), nullptr);
  blocks.deallocate(one, 256);
  EXPECT_EQ(blocks.stats(1).served_by_larger, 0U);
}

TEST(BlockLarger, ServesBothFormsAndEachSizeOfRequest) {
  constexpr std::size_t sizes = 4;
  block_resource blocks({.sizes = {{16, 1}, {32, 1}, {5000, 1}, {9000, 1}},
                         .upstream = std::pmr::null_memory_resource(),
                         .use_larger_blocks = true});
  for (std::size_t size = 0; size < sizes; ++size) {
    const std::size_t bytes = blocks.stats(size).block_bytes;
    std::vector<void*> all;
    for (std::size_t i = size; i < sizes; ++i) {
      all.push_back(i % 2 == 0 ? blocks.allocate(bytes) : blocks.try_allocate(bytes));
      EXPECT_EQ(blocks.stats(i).blocks.in_use, 1U) << size << ' ' << i;
    }
    EXPECT_EQ(blocks.try_allocate(bytes), nullptr);
    EXPECT_EQ(blocks.stats(size).served_by_larger, sizes - 1 - size);
    for (void* const one : all) {
      blocks.deallocate(one, bytes);
    }
    EXPECT_THAT(used(blocks), ElementsAre(0, 0, 0, 0));
  }
}

TEST(BlockLarger, GoesUpstreamOnlyIfNoLargerBlockIsFree) {
  counting_upstream upstream;
  block_resource blocks({.sizes = {{64, 1}, {256, 1}},
                         .upstream = &upstream,
                         .use_larger_blocks = true,
                         .overflow_to_upstream = true});
  std::vector<std::pair<void*, std::size_t>> all;
  for (const std::size_t bytes : {64U, 64U, 64U, 256U, 257U}) {
    all.emplace_back(blocks.allocate(bytes), bytes);
  }
  EXPECT_EQ(upstream.requests(), 3U);
  EXPECT_EQ(blocks.upstream_requests(), 3U);
  all.emplace_back(blocks.try_allocate(64), 64);
  EXPECT_EQ(blocks.upstream_requests(), 4U);
  EXPECT_EQ(blocks.stats().served_by_larger, 1U);
  for (const auto& [one, bytes] : all) {
    blocks.deallocate(one, bytes);
  }
  EXPECT_THAT(used(blocks), ElementsAre(0, 0));
}

TEST(BlockLarger, HasNoEffectIfThereIsOneSize) {
  block_resource blocks({.block_bytes = 64, .blocks = 1, .use_larger_blocks = true});
  void* const one = blocks.allocate(64);
  EXPECT_THROW((void)blocks.allocate(64), no_block);
  EXPECT_EQ(blocks.stats().served_by_larger, 0U);
  blocks.deallocate(one, 64);
}

TEST(BlockLarger, ServesContainers) {
  block_resource blocks({.sizes = {{32, 10}, {64, 10}, {128, 10}},
                         .alignment = 8,
                         .upstream = std::pmr::null_memory_resource(),
                         .use_larger_blocks = true});
  std::pmr::list<int> list(&blocks);
  list.assign(15, 1);
  std::list<int, block_allocator<int>> other(15, 2, blocks);
  EXPECT_THAT(used(blocks), ElementsAre(10, 10, 10));
  EXPECT_THROW(list.push_back(3), std::bad_alloc);
  list.clear();
  other.clear();
  EXPECT_THAT(used(blocks), ElementsAre(0, 0, 0));
}

TEST(BlockLarger, ThreadsCountWhatTheyGet) {
  constexpr unsigned crew = 4;
  constexpr unsigned rounds = 2000;
  block_resource blocks({.sizes = {{64, 1}, {256, crew}}, .use_larger_blocks = true});
  void* const held = blocks.allocate(64);
  test::run_crew(crew, [&](unsigned me) {
    for (unsigned i = 0; i < rounds; ++i) {
      auto* const one = static_cast<unsigned*>(blocks.allocate(64));
      *one = me;
      EXPECT_EQ(*one, me);
      blocks.deallocate(one, 64);
    }
  });
  EXPECT_EQ(blocks.stats().served_by_larger, std::uint64_t{crew} * rounds);
  EXPECT_THAT(used(blocks), ElementsAre(1, 0));
  blocks.deallocate(held, 64);
}

TEST(BlockLarger, BlocksAreChecked) {
  test::misuse_log log;
  block_resource blocks({.sizes = {{64, 1}, {256, 1}}, .use_larger_blocks = true, .checked = true});
  void* const small = blocks.allocate(64);
  void* const large = blocks.allocate(64);
  EXPECT_THROW((void)blocks.allocate(64), no_block);
  EXPECT_THAT(used(blocks), ElementsAre(1, 1));
  blocks.deallocate(small, 64);
  blocks.deallocate(large, 64);
  EXPECT_THAT(log.kinds(), IsEmpty());
  blocks.deallocate(large, 64);
  EXPECT_THAT(log.kinds(), ElementsAre(misuse_kind::double_release));
}

#if LIDO_TEST_ASAN

TEST(BlockLarger, TheRestOfALargerBlockIsPoisoned) {
  block_resource blocks({.sizes = {{64, 1}, {256, 1}}, .use_larger_blocks = true});
  void* const small = blocks.allocate(64);
  auto* const large = static_cast<char*>(blocks.allocate(40));
  EXPECT_FALSE(__asan_address_is_poisoned(large + 39));
  EXPECT_TRUE(__asan_address_is_poisoned(large + 40));
  blocks.deallocate(small, 64);
  blocks.deallocate(large, 40);
}

#endif

}  // namespace
}  // namespace lido
