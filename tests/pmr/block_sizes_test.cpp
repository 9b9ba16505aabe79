#include "lido/pmr/block_resource.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <bit>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <list>
#include <memory_resource>
#include <new>
#include <stdexcept>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "support/counting_upstream.hpp"

namespace lido {
namespace {

using test::counting_upstream;
using ::testing::HasSubstr;

/// Returns the index of the size that serves a request of that many bytes, or -1.
int size_of(block_resource& blocks, std::size_t bytes) {
  void* const one = blocks.allocate(bytes, 8);
  std::memset(one, 0xAB, bytes);
  int found = -1;
  for (std::size_t i = 0; i < blocks.count_sizes(); ++i) {
    if (blocks.stats(i).blocks.in_use > 0) {
      EXPECT_EQ(found, -1);
      found = static_cast<int>(i);
    }
  }
  EXPECT_EQ(blocks.owns(one), found != -1);
  blocks.deallocate(one, bytes, 8);
  return found;
}

TEST(BlockSizes, RoutesToTheSmallestBlockThatFits) {
  counting_upstream upstream;
  block_resource blocks({.sizes = {{1024, 4}, {64, 16}, {256, 8}}, .upstream = &upstream});
  EXPECT_EQ(size_of(blocks, 0), 0);
  EXPECT_EQ(size_of(blocks, 1), 0);
  EXPECT_EQ(size_of(blocks, 64), 0);
  EXPECT_EQ(size_of(blocks, 65), 1);
  EXPECT_EQ(size_of(blocks, 256), 1);
  EXPECT_EQ(size_of(blocks, 257), 2);
  EXPECT_EQ(size_of(blocks, 1024), 2);
  EXPECT_EQ(upstream.requests(), 0U);
  EXPECT_EQ(size_of(blocks, 1025), -1);
  EXPECT_EQ(upstream.requests(), 1U);
}

TEST(BlockSizes, EverySizeOfMultiplesOfEightIsExact) {
  block_resource blocks({.sizes = {{8, 4}, {24, 4}, {40, 4}, {4096, 4}, {4104, 4}, {1U << 20U, 4}},
                         .alignment = 8,
                         .upstream = std::pmr::null_memory_resource()});
  EXPECT_EQ(size_of(blocks, 8), 0);
  EXPECT_EQ(size_of(blocks, 9), 1);
  EXPECT_EQ(size_of(blocks, 24), 1);
  EXPECT_EQ(size_of(blocks, 25), 2);
  EXPECT_EQ(size_of(blocks, 41), 3);
  EXPECT_EQ(size_of(blocks, 4096), 3);
  EXPECT_EQ(size_of(blocks, 4097), 4);
  EXPECT_EQ(size_of(blocks, 4105), 5);
  EXPECT_EQ(size_of(blocks, 1U << 20U), 5);
}

TEST(BlockSizes, BlocksOfEachSizeHaveTheAlignmentOfAll) {
  for (const std::size_t alignment : {1U, 2U, 8U, 16U, 32U, 64U, 256U, 4096U}) {
    constexpr std::size_t each = 3;
    const std::size_t unit = std::max<std::size_t>(alignment, 8);
    const std::size_t asked[] = {1, unit + 5, 5 * unit - 3};  // some of them odd
    block_resource blocks({.sizes = {{asked[0], each}, {asked[1], each}, {asked[2], each}},
                           .alignment = alignment,
                           .upstream = std::pmr::null_memory_resource()});
    std::vector<std::pair<void*, std::size_t>> all;
    for (std::size_t i = 0; i < std::size(asked); ++i) {
      const std::size_t bytes = blocks.stats(i).block_bytes;
      EXPECT_EQ(bytes, (asked[i] + unit - 1) / unit * unit);
      for (std::size_t j = 0; j < each; ++j) {
        all.emplace_back(blocks.allocate(bytes, alignment), bytes);
        EXPECT_EQ(std::bit_cast<std::uintptr_t>(all.back().first) % alignment, 0U) << alignment;
        std::memset(all.back().first, static_cast<int>(all.size()), bytes);
      }
    }
    for (std::size_t i = 0; i < all.size(); ++i) {
      const std::string_view bytes(static_cast<const char*>(all[i].first), all[i].second);
      EXPECT_EQ(bytes.find_first_not_of(static_cast<char>(i + 1)), std::string_view::npos)
          << "blocks overlap";
      blocks.deallocate(all[i].first, all[i].second, alignment);
    }
  }
}

TEST(BlockSizes, ExhaustedSizeDoesNotBreakIntoLargerOnes) {
  counting_upstream upstream;
  block_resource blocks({.sizes = {{64, 2}, {256, 2}}, .upstream = &upstream});
  void* const one = blocks.allocate(64);
  void* const two = blocks.allocate(64);
  EXPECT_THROW((void)blocks.allocate(64), std::bad_alloc);
  EXPECT_EQ(blocks.stats().overflowed, 1U);
  EXPECT_EQ(blocks.stats(1).overflowed, 0U);
  blocks.deallocate(one, 64);
  blocks.deallocate(two, 64);
}

TEST(BlockSizes, LieInOnePieceOfMemory) {
  block_resource blocks({.sizes = {{64, 100}, {300, 3}, {1000, 5}}, .alignment = 256});
  std::vector<std::uintptr_t> places;
  for (const std::size_t bytes : {1U, 257U, 600U}) {
    std::vector<void*> all(bytes == 1 ? 100 : bytes == 257 ? 3 : 5);
    std::generate(all.begin(), all.end(), [&] { return blocks.allocate(bytes); });
    for (void* const one : all) {
      std::memset(one, 1, bytes);
      EXPECT_TRUE(blocks.owns(one));
      places.push_back(std::bit_cast<std::uintptr_t>(one));
      blocks.deallocate(one, bytes);
    }
  }
  const auto [low, high] = std::minmax_element(places.begin(), places.end());
  EXPECT_EQ(*high + 1024 - *low, 100 * 256 + 3 * 512 + 5 * 1024);
}

TEST(BlockSizes, AlignedNothingGoesUpstreamAndBack) {
  counting_upstream upstream;
  block_resource one({.block_bytes = 64, .blocks = 2, .upstream = &upstream});
  block_resource two({.sizes = {{64, 2}, {128, 1}}, .upstream = &upstream});
  for (block_resource* const blocks : {&one, &two}) {
    void* const block = blocks->allocate(0, 256);
    EXPECT_FALSE(blocks->owns(block));
    blocks->deallocate(block, 0, 256);
    EXPECT_EQ(blocks->upstream_requests(), 1U);
  }
  EXPECT_EQ(upstream.out(), 0U);
}

TEST(BlockSizes, OverflowsToUpstreamWhereItMay) {
  counting_upstream upstream;
  block_resource blocks(
      {.sizes = {{64, 2}, {8192, 1}}, .upstream = &upstream, .overflow_to_upstream = true});
  for (const std::size_t bytes : {std::size_t{64}, std::size_t{8192}}) {
    std::vector<void*> all;
    for (int i = 0; i < 4; ++i) {
      all.push_back(blocks.allocate(bytes));
    }
    for (void* const one : all) {
      blocks.deallocate(one, bytes);
    }
  }
  EXPECT_EQ(upstream.requests(), 5U);
  EXPECT_EQ(blocks.upstream_requests(), 5U);
  EXPECT_EQ(upstream.out(), 0U);
}

TEST(BlockSizes, RequestOfAllMemoryFitsNoBlock) {
  block_resource blocks(
      {.sizes = {{64, 2}, {256, 2}}, .upstream = std::pmr::null_memory_resource()});
  const volatile std::size_t all = SIZE_MAX;  // the compiler warns of a size that it knows
  EXPECT_THROW((void)blocks.allocate(all, 1), std::bad_alloc);
  EXPECT_EQ(blocks.stats().blocks.in_use, 0U);
}

TEST(BlockSizes, OverAlignedRequestsGoUpstream) {
  counting_upstream upstream;
  block_resource blocks({.sizes = {{64, 2}}, .alignment = 16, .upstream = &upstream});
  void* const one = blocks.allocate(16, 64);
  EXPECT_EQ(upstream.out(), 1U);
  blocks.deallocate(one, 16, 64);
}

// A cache that has blocks must not serve requests that belong upstream.
TEST(BlockSizes, OverAlignedRequestsGoUpstreamBesideAFullCache) {
  counting_upstream upstream;
  block_resource blocks({.sizes = {{64, 64}}, .alignment = 16, .upstream = &upstream});
  for (int round = 0; round < 4; ++round) {
    std::vector<void*> all(16);
    for (void*& one : all) {
      one = blocks.allocate(64);
    }
    for (void* const one : all) {
      blocks.deallocate(one, 64);
    }
  }
  ASSERT_EQ(upstream.requests(), 0U);
  void* const one = blocks.allocate(16, 64);
  EXPECT_FALSE(blocks.owns(one));
  EXPECT_EQ(upstream.out(), 1U);
  blocks.deallocate(one, 16, 64);
  EXPECT_EQ(upstream.out(), 0U);
}

TEST(BlockSizes, UpstreamIsTheDefaultResourceUnlessNamed) {
  counting_upstream chosen;
  std::pmr::memory_resource* const before = std::pmr::set_default_resource(&chosen);
  const block_resource blocks({.sizes = {{64, 2}}});
  std::pmr::set_default_resource(before);
  EXPECT_EQ(blocks.upstream(), &chosen);
}

TEST(BlockSizes, AddressSaysWhereMemoryGoesIfTheSizeIsWrong) {
  counting_upstream upstream;
  block_resource blocks({.sizes = {{64, 2}, {256, 2}}, .upstream = &upstream});
  void* const one = blocks.allocate(64);
  void* const two = blocks.allocate(256);
  blocks.deallocate(one, 5000);
  blocks.deallocate(two, 1);
  EXPECT_EQ(blocks.stats().blocks.in_use, 0U);
  EXPECT_EQ(blocks.stats(1).blocks.in_use, 0U);
}

TEST(BlockSizes, ContainersOfSeveralNodeSizesShareIt) {
  counting_upstream upstream;
  block_resource blocks({.sizes = {{32, 200}, {64, 200}, {256, 200}}, .upstream = &upstream});
  {
    std::pmr::list<int> small(&blocks);
    std::pmr::list<std::pmr::string> strings(&blocks);
    for (int i = 0; i < 100; ++i) {
      small.push_back(i);
      strings.emplace_back(100, 'x');
    }
    EXPECT_EQ(blocks.stats().blocks.in_use, 100U);
    EXPECT_EQ(blocks.stats(1).blocks.in_use, 100U);
    EXPECT_EQ(blocks.stats(2).blocks.in_use, 100U);
  }
  EXPECT_EQ(upstream.requests(), 0U);
}

TEST(BlockSizes, IsEqualToItselfOnly) {
  const block_resource one({.sizes = {{64, 2}}});
  const block_resource other({.sizes = {{64, 2}}});
  EXPECT_TRUE(one.is_equal(one));
  EXPECT_FALSE(one.is_equal(other));
}

std::string refusal_of_sizes(const block_resource_options& options) {
  try {
    const block_resource blocks(options);
  } catch (const std::invalid_argument& error) {
    return error.what();
  }
  return "";
}

TEST(BlockSizesOptions, WhatMakesNoSenseIsRefusedByName) {
  EXPECT_THAT(refusal_of_sizes({.sizes = {{64, 0}}, .name = "frames"}), HasSubstr("'frames'"));
  EXPECT_THAT(refusal_of_sizes({.block_bytes = 8, .sizes = {{64, 1}}}),
              HasSubstr("sizes are given beside block_bytes or blocks"));
  EXPECT_THAT(refusal_of_sizes({.blocks = 8, .sizes = {{64, 1}}}), HasSubstr("sizes are given"));
  EXPECT_THAT(refusal_of_sizes({.sizes = {{64, 1}, {57, 1}}}), HasSubstr("two sizes of 64 bytes"));
  EXPECT_THAT(refusal_of_sizes({.sizes = {{64, 1}, {0, 1}}}), HasSubstr("block_bytes 0"));
  EXPECT_THAT(refusal_of_sizes({.sizes = {{64, 1}, {32, 0}}}), HasSubstr("blocks 0"));
  EXPECT_THAT(refusal_of_sizes({.sizes = {{64, 1}}, .alignment = 3}), HasSubstr("alignment 3"));
}

TEST(BlockSizesOptions, OneOfSeveralSizesIsEnough) {
  const block_resource blocks({.sizes = {{.bytes = 64, .blocks = 2}}});
  EXPECT_EQ(blocks.count_sizes(), 1U);
  EXPECT_EQ(blocks.stats().blocks.capacity, 2U);
}

TEST(BlockSizesOptions, ManySizesWork) {
  std::vector<block_size> sizes;
  for (std::size_t i = 1; i <= 100; ++i) {
    sizes.push_back({i * 16, 1});
  }
  block_resource blocks({.sizes = sizes, .upstream = std::pmr::null_memory_resource()});
  EXPECT_EQ(size_of(blocks, 64 * 16), 63);
  EXPECT_EQ(size_of(blocks, 100 * 16), 99);
  EXPECT_THROW((void)blocks.allocate(100 * 16 + 1), std::bad_alloc);
}

}  // namespace
}  // namespace lido
