#include "lido/pmr/block_resource.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <cstdint>
#include <cstring>
#include <list>
#include <memory_resource>
#include <new>
#include <stdexcept>
#include <string>
#include <type_traits>
#include <unordered_map>
#include <vector>

#include "support/counting_upstream.hpp"
#include "support/drain.hpp"
#include "support/failing_upstream.hpp"
#include "support/sanitizers.hpp"

#if LIDO_TEST_ASAN
#include <sanitizer/asan_interface.h>
#endif

namespace lido {
namespace {

using test::counting_upstream;
using test::failing_upstream;
using ::testing::HasSubstr;

std::vector<void*> take(std::pmr::memory_resource& from, std::size_t count, std::size_t bytes) {
  std::vector<void*> all;
  for (std::size_t i = 0; i < count; ++i) {
    all.push_back(from.allocate(bytes));
  }
  return all;
}

void give(std::pmr::memory_resource& to, const std::vector<void*>& all, std::size_t bytes) {
  for (void* const one : all) {
    to.deallocate(one, bytes);
  }
}

TEST(BlockResource, HandsOutEveryBlockOnce) {
  block_resource blocks({.block_bytes = 48, .blocks = 1000});
  const auto all = take(blocks, 1000, 48);
  EXPECT_EQ(test::count_distinct(all), 1000U);
  for (void* const one : all) {
    EXPECT_TRUE(blocks.owns(one));
    std::memset(one, 0xAB, 48);
  }
  give(blocks, all, 48);
  EXPECT_EQ(blocks.stats().blocks.in_use, 0U);
}

TEST(BlockResource, BlocksDoNotOverlap) {
  block_resource blocks({.block_bytes = 40, .blocks = 64, .alignment = 8});
  auto all = take(blocks, 64, 40);
  std::sort(all.begin(), all.end());
  for (std::size_t i = 1; i < all.size(); ++i) {
    EXPECT_GE(static_cast<char*>(all[i]) - static_cast<char*>(all[i - 1]), 40);
  }
  give(blocks, all, 40);
}

TEST(BlockResource, BlocksAreAlignedAsAsked) {
  for (const std::size_t alignment : {1U, 2U, 8U, 16U, 64U, 256U, 4096U}) {
    block_resource blocks({.block_bytes = 24, .blocks = 16, .alignment = alignment});
    const auto all = take(blocks, 16, 1);
    for (void* const one : all) {
      EXPECT_EQ(reinterpret_cast<std::uintptr_t>(one) % alignment, 0U);
    }
    give(blocks, all, 1);
  }
}

TEST(BlockResource, SizeIsRoundedUpToTheAlignment) {
  const block_resource blocks({.block_bytes = 33, .blocks = 4, .alignment = 32});
  EXPECT_EQ(blocks.stats().block_bytes, 64U);
}

TEST(BlockResource, SmallRequestsGetBlocksToo) {
  block_resource blocks(
      {.block_bytes = 64, .blocks = 8, .upstream = std::pmr::null_memory_resource()});
  for (const std::size_t bytes : {std::size_t{0}, std::size_t{1}, std::size_t{63}}) {
    void* const one = blocks.allocate(bytes, 1);
    EXPECT_TRUE(blocks.owns(one));
    blocks.deallocate(one, bytes, 1);
  }
}

TEST(BlockResource, LargerRequestsGoUpstream) {
  counting_upstream upstream;
  block_resource blocks({.block_bytes = 64, .blocks = 8, .upstream = &upstream});
  void* const one = blocks.allocate(65);
  EXPECT_EQ(upstream.out(), 1U);
  EXPECT_FALSE(blocks.owns(one));
  EXPECT_EQ(blocks.upstream_requests(), 1U);
  EXPECT_EQ(blocks.stats().overflowed, 0U);
  blocks.deallocate(one, 65);
  EXPECT_EQ(upstream.out(), 0U);
}

TEST(BlockResource, OverAlignedRequestsGoUpstream) {
  counting_upstream upstream;
  block_resource blocks({.block_bytes = 64, .blocks = 8, .alignment = 8, .upstream = &upstream});
  void* const one = blocks.allocate(8, 16);
  EXPECT_EQ(upstream.out(), 1U);
  blocks.deallocate(one, 8, 16);
}

// A cache that has blocks must not serve requests that belong upstream.
TEST(BlockResource, OverAlignedRequestsGoUpstreamBesideAFullCache) {
  counting_upstream upstream;
  block_resource blocks({.block_bytes = 64, .blocks = 64, .alignment = 16, .upstream = &upstream});
  for (int round = 0; round < 4; ++round) {
    give(blocks, take(blocks, 16, 64), 64);
  }
  ASSERT_EQ(upstream.requests(), 0U);
  void* const one = blocks.allocate(16, 64);
  EXPECT_FALSE(blocks.owns(one));
  EXPECT_EQ(upstream.out(), 1U);
  blocks.deallocate(one, 16, 64);
  EXPECT_EQ(upstream.out(), 0U);
}

TEST(BlockResource, ThrowsWhenExhausted) {
  counting_upstream upstream;
  block_resource blocks(
      {.block_bytes = 64, .blocks = 8, .name = "sessions", .upstream = &upstream});
  auto all = take(blocks, 8, 64);
  try {
    (void)blocks.allocate(40, 8);
    ADD_FAILURE() << "there was a block";
  } catch (const no_block& error) {
    EXPECT_STREQ(error.what(),
                 "lido: block_resource 'sessions' has no block for 40 bytes aligned to 8: "
                 "8 of 8 blocks are in use");
    EXPECT_EQ(error.resource_name(), "sessions");
    EXPECT_EQ(error.bytes(), 40U);
    EXPECT_EQ(error.alignment(), 8U);
    EXPECT_EQ(error.in_use(), 8U);
    const std::bad_alloc& base = error;  // the type that containers and their users catch
    EXPECT_STREQ(base.what(), error.what());
  }
  EXPECT_EQ(blocks.stats().overflowed, 1U);
  EXPECT_EQ(upstream.requests(), 0U);
  blocks.deallocate(all.back(), 64);
  EXPECT_EQ(blocks.allocate(64), all.back());
  give(blocks, all, 64);
}

TEST(BlockResource, OverflowsToUpstreamWhereItMay) {
  counting_upstream upstream;
  block_resource blocks(
      {.block_bytes = 64, .blocks = 8, .upstream = &upstream, .overflow_to_upstream = true});
  const auto all = take(blocks, 11, 64);
  EXPECT_EQ(upstream.out(), 3U);
  EXPECT_EQ(blocks.stats().overflowed, 3U);
  EXPECT_EQ(blocks.upstream_requests(), 3U);
  give(blocks, all, 64);
  EXPECT_EQ(upstream.out(), 0U);
  EXPECT_EQ(blocks.stats().blocks.in_use, 0U);
}

TEST(BlockResource, AddressNotSizeSaysWhereMemoryGoes) {
  counting_upstream upstream;
  block_resource blocks({.block_bytes = 64, .blocks = 8, .upstream = &upstream});
  void* const one = blocks.allocate(8);
  blocks.deallocate(one, 640);
  EXPECT_EQ(blocks.stats().blocks.in_use, 0U);
}

TEST(BlockResource, UpstreamIsTheDefaultResourceUnlessNamed) {
  counting_upstream chosen;
  std::pmr::memory_resource* const before = std::pmr::set_default_resource(&chosen);
  const block_resource blocks({.block_bytes = 64, .blocks = 8});
  std::pmr::set_default_resource(before);
  EXPECT_EQ(blocks.upstream(), &chosen);
}

TEST(BlockResource, SaysWhatUpstreamHadNoMemoryFor) {
  block_resource blocks({.block_bytes = 64,
                         .blocks = 8,
                         .name = "nodes",
                         .upstream = std::pmr::null_memory_resource()});
  try {
    (void)blocks.allocate(65, 16);
    ADD_FAILURE() << "there was memory";
  } catch (const no_block& error) {
    EXPECT_STREQ(error.what(),
                 "lido: block_resource 'nodes' has no block for 65 bytes aligned to 16: "
                 "none is large or aligned enough, and upstream has no memory");
  }
  EXPECT_EQ(blocks.stats().blocks.in_use, 0U);
  block_resource behind({.block_bytes = 8, .blocks = 8, .name = "front", .upstream = &blocks});
  try {
    (void)behind.allocate(65);
    ADD_FAILURE() << "there was memory";
  } catch (const no_block& error) {
    EXPECT_EQ(error.resource_name(), "nodes");  // the resource that failed
  }
}

TEST(BlockResource, AnyOtherErrorOfUpstreamIsPassedOn) {
  failing_upstream upstream;
  block_resource blocks({.block_bytes = 64, .blocks = 8, .upstream = &upstream});
  EXPECT_THROW((void)blocks.allocate(65), std::runtime_error);
}

TEST(BlockResource, StatsHaveTheLargestRequestThatWentUpstream) {
  counting_upstream upstream;
  block_resource blocks({.block_bytes = 64, .blocks = 8, .upstream = &upstream});
  EXPECT_EQ(blocks.stats().largest_upstream, 0U);
  for (const std::size_t bytes : {88U, 300U, 65U}) {
    blocks.deallocate(blocks.allocate(bytes), bytes);
  }
  EXPECT_EQ(blocks.stats().upstream_requests, 3U);
  EXPECT_EQ(blocks.stats().largest_upstream, 300U);
}

#if LIDO_TEST_ASAN

TEST(BlockResource, FreeBlocksAndTheRestOfUsedOnesArePoisoned) {
  block_resource blocks({.block_bytes = 64, .blocks = 8});
  auto* const one = static_cast<char*>(blocks.allocate(40));
  EXPECT_FALSE(__asan_address_is_poisoned(one));
  EXPECT_FALSE(__asan_address_is_poisoned(one + 39));
  EXPECT_TRUE(__asan_address_is_poisoned(one + 40));
  blocks.deallocate(one, 40);
  EXPECT_TRUE(__asan_address_is_poisoned(one));
}

#endif

TEST(BlockResource, IsEqualToItselfOnly) {
  const block_resource one({.block_bytes = 64, .blocks = 8});
  const block_resource other({.block_bytes = 64, .blocks = 8});
  EXPECT_TRUE(one.is_equal(one));
  EXPECT_FALSE(one.is_equal(other));
}

TEST(BlockResource, CannotBeCopiedOrMoved) {
  EXPECT_FALSE(std::is_copy_constructible_v<block_resource>);
  EXPECT_FALSE(std::is_move_constructible_v<block_resource>);
}

TEST(BlockResource, NumbersTellWhatIsInUse) {
  block_resource blocks({.block_bytes = 64, .blocks = 100, .name = "nodes"});
  const auto all = take(blocks, 30, 64);
  const auto stats = blocks.stats().blocks;
  EXPECT_EQ(stats.capacity, 100U);
  EXPECT_EQ(stats.in_use, 30U);
  EXPECT_EQ(stats.idle, 70U);
  EXPECT_EQ(blocks.name(), "nodes");
  give(blocks, all, 64);
}

std::string refusal(const block_resource_options& options) {
  try {
    const block_resource blocks(options);
  } catch (const std::invalid_argument& error) {
    return error.what();
  }
  return "";
}

TEST(BlockResourceOptions, WhatMakesNoSenseIsRefusedByName) {
  EXPECT_THAT(refusal({.blocks = 4, .name = "nodes"}), HasSubstr("'nodes'"));
  EXPECT_THAT(refusal({.blocks = 4}), HasSubstr("block_bytes 0"));
  EXPECT_THAT(refusal({.block_bytes = 8}), HasSubstr("blocks 0"));
  EXPECT_THAT(refusal({.block_bytes = 8, .blocks = SIZE_MAX}),
              HasSubstr("blocks " + std::to_string(SIZE_MAX)));
  EXPECT_THAT(refusal({.block_bytes = 8, .blocks = 1, .alignment = 0}), HasSubstr("alignment 0"));
  EXPECT_THAT(refusal({.block_bytes = 8, .blocks = 1, .alignment = 24}), HasSubstr("alignment 24"));
  EXPECT_THAT(refusal({.block_bytes = 8, .blocks = 1, .alignment = 8192}),
              HasSubstr("alignment 8192"));
  EXPECT_THAT(refusal({.block_bytes = 8, .blocks = 1, .max_cached = 1023}),
              HasSubstr("max_cached 1023"));
}

TEST(BlockResourceOptions, SizesThatOverflowAreRefused) {
  EXPECT_THROW(block_resource({.block_bytes = SIZE_MAX, .blocks = 1}), std::bad_array_new_length);
  // Sums that overflow to nothing.
  constexpr std::size_t half = SIZE_MAX / 2 + 1;
  EXPECT_THROW(block_resource({.sizes = {{half - 32, 1}, {half - 16, 1}}}),
               std::bad_array_new_length);
  EXPECT_THROW(block_resource({.block_bytes = SIZE_MAX / 8, .blocks = 100}),
               std::bad_array_new_length);
}

TEST(BlockResourceContainers, ListLivesInBlocks) {
  block_resource blocks(
      {.block_bytes = 64, .blocks = 500, .upstream = std::pmr::null_memory_resource()});
  {
    std::pmr::list<int> list(&blocks);
    for (int i = 0; i < 500; ++i) {
      list.push_back(i);
    }
    EXPECT_EQ(blocks.stats().blocks.in_use, 500U);
    EXPECT_THROW(list.push_back(500), std::bad_alloc);
    list.remove_if([](int value) { return value % 2 == 0; });
    EXPECT_EQ(blocks.stats().blocks.in_use, 250U);
    EXPECT_EQ(list.front(), 1);
  }
  EXPECT_EQ(blocks.stats().blocks.in_use, 0U);
}

TEST(BlockResourceContainers, UnorderedMapHasNodesInBlocksAndBucketsUpstream) {
  counting_upstream upstream;
  block_resource blocks({.block_bytes = 64, .blocks = 2000, .upstream = &upstream});
  {
    std::pmr::unordered_map<int, int> map(&blocks);
    for (int i = 0; i < 2000; ++i) {
      map[i] = -i;
    }
    EXPECT_GT(upstream.requests(), 0U);
    EXPECT_GE(blocks.stats().blocks.in_use, 1990U);
    for (int i = 0; i < 2000; ++i) {
      ASSERT_EQ(map.at(i), -i);
    }
  }
  EXPECT_EQ(blocks.stats().blocks.in_use, 0U);
}

}  // namespace
}  // namespace lido
