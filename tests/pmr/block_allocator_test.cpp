#include "lido/pmr/block_resource.hpp"

#include <gtest/gtest.h>

#include <cstdint>
#include <functional>
#include <list>
#include <map>
#include <memory>
#include <memory_resource>
#include <new>
#include <string>
#include <utility>
#include <vector>

namespace lido {
namespace {

template <class T>
using block_list = std::list<T, block_allocator<T>>;

block_resource_options nodes(std::size_t capacity) {
  return {.block_bytes = 96, .blocks = capacity, .upstream = std::pmr::null_memory_resource()};
}

TEST(BlockAllocator, ListLivesInBlocks) {
  block_resource blocks(nodes(100));
  {
    block_list<std::string> list(blocks);
    for (int i = 0; i < 100; ++i) {
      list.push_back(std::to_string(i));
    }
    EXPECT_THROW(list.emplace_back("more"), std::bad_alloc);
    EXPECT_EQ(list.back(), "99");
    EXPECT_EQ(blocks.stats().blocks.in_use, 100U);
  }
  EXPECT_EQ(blocks.stats().blocks.in_use, 0U);
}

TEST(BlockAllocator, MapLivesInBlocks) {
  block_resource blocks(nodes(100));
  using pair = std::pair<const int, std::string>;
  std::map<int, std::string, std::less<>, block_allocator<pair>> map(blocks);
  map[1] = "one";
  map[2] = "two";
  map.erase(1);
  EXPECT_EQ(blocks.stats().blocks.in_use, 1U);
}

TEST(BlockAllocator, MovedListTakesItsBlocksAlong) {
  block_resource one(nodes(8));
  block_resource other(nodes(8));
  block_list<int> source({1, 2, 3}, one);
  block_list<int> target({4}, other);
  target = std::move(source);
  EXPECT_EQ(target, block_list<int>({1, 2, 3}, one));
  EXPECT_EQ(target.get_allocator().resource(), &one);
  EXPECT_EQ(other.stats().blocks.in_use, 0U);
}

TEST(BlockAllocator, SwappedListsKeepTheirBlocks) {
  block_resource one(nodes(8));
  block_resource other(nodes(8));
  block_list<int> left({1, 2, 3}, one);
  block_list<int> right({4}, other);
  left.swap(right);
  EXPECT_EQ(left.get_allocator().resource(), &other);
  left.clear();
  EXPECT_EQ(other.stats().blocks.in_use, 0U);
  EXPECT_EQ(one.stats().blocks.in_use, 3U);
}

TEST(BlockAllocator, CopyAssignedListStaysWithItsOwnBlocks) {
  block_resource one(nodes(8));
  block_resource other(nodes(8));
  const block_list<int> source({1, 2, 3}, one);
  block_list<int> target(other);
  target = source;
  EXPECT_EQ(target.get_allocator().resource(), &other);
  EXPECT_EQ(other.stats().blocks.in_use, 3U);
}

TEST(BlockAllocator, EqualIfTheResourceIsTheSame) {
  block_resource one(nodes(8));
  block_resource other(nodes(8));
  EXPECT_TRUE(block_allocator<int>(one) == block_allocator<long>(one));
  EXPECT_FALSE(block_allocator<int>(one) == block_allocator<int>(other));
}

TEST(BlockAllocator, ManyAtOnceGoUpstreamIfTheyDoNotFit) {
  block_resource blocks({.block_bytes = 64, .blocks = 4});
  std::vector<int, block_allocator<int>> numbers(blocks);
  numbers.assign(1000, 7);
  EXPECT_EQ(blocks.upstream_requests(), 1U);
  EXPECT_EQ(blocks.stats().blocks.in_use, 0U);
}

TEST(BlockAllocator, TooManyForAnyMemoryAreRefused) {
  block_resource blocks(nodes(4));
  block_allocator<int> numbers(blocks);
  EXPECT_THROW((void)numbers.allocate(SIZE_MAX / 2), std::bad_array_new_length);
}

TEST(BlockAllocator, SharedPointerHasObjectAndCountInOneBlock) {
  block_resource blocks(nodes(4));
  auto shared = std::allocate_shared<std::string>(block_allocator<std::string>(blocks), "text");
  EXPECT_EQ(blocks.stats().blocks.in_use, 1U);
  shared.reset();
  EXPECT_EQ(blocks.stats().blocks.in_use, 0U);
}

}  // namespace
}  // namespace lido
