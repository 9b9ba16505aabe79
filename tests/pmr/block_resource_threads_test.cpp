#include <gtest/gtest.h>

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <list>
#include <memory_resource>
#include <mutex>
#include <unordered_map>
#include <utility>
#include <vector>

#include "lido/block_resource.hpp"
#include "support/counting_upstream.hpp"
#include "support/crew.hpp"

namespace lido {
namespace {

constexpr unsigned threads = 4;

/// Fills and empties containers whose nodes carry what their thread wrote.
void use_containers(std::pmr::memory_resource& blocks, unsigned me) {
  std::pmr::list<unsigned> list(&blocks);
  std::pmr::unordered_map<unsigned, unsigned> map(&blocks);
  for (unsigned i = 0; i < 3000; ++i) {
    list.push_back(me);
    map[i % 64] = me;
    if (list.size() > 100) {
      ASSERT_EQ(list.front(), me);
      list.pop_front();
    }
    if (i % 5 == 0) {
      map.erase(i % 64 + 1);
    }
  }
  for (const auto& [key, value] : map) {
    ASSERT_EQ(value, me);
  }
}

TEST(BlockResourceThreads, ContainersOfManyThreadsShareIt) {
  test::counting_upstream upstream;
  block_resource blocks({.block_bytes = 48, .blocks = threads * 170, .upstream = &upstream});
  test::run_crew(threads, [&](unsigned me) { use_containers(blocks, me); });
  EXPECT_EQ(blocks.stats().blocks.in_use, 0U);
  EXPECT_EQ(blocks.stats().overflowed, 0U);
}

TEST(BlockResourceThreads, ContainersOfManyThreadsShareSeveralSizes) {
  test::counting_upstream upstream;
  block_resource blocks({.sizes = {{24, threads * 110}, {48, threads * 70}, {1024, threads * 3}},
                         .alignment = 8,
                         .upstream = &upstream,
                         .overflow_to_upstream = true});
  test::run_crew(threads, [&](unsigned me) { use_containers(blocks, me); });
  for (std::size_t size = 0; size < blocks.count_sizes(); ++size) {
    EXPECT_EQ(blocks.stats(size).blocks.in_use, 0U);
  }
}

TEST(BlockResourceThreads, NodesMayBeGivenBackByAnotherThread) {
  block_resource blocks({.block_bytes = 32, .blocks = 1000});
  std::pmr::list<int> made(&blocks);
  test::run_in_new_thread([&] { made.assign(1000, 1); });
  test::run_in_new_thread([&] { made.clear(); });
  EXPECT_EQ(blocks.stats().blocks.idle, 1000U);
  made.assign(1000, 2);
  EXPECT_EQ(blocks.stats().blocks.in_use, 1000U);
}

TEST(BlockResourceThreads, OneContainerUnderALockPassesItsNodesAround) {
  block_resource blocks({.block_bytes = 32, .blocks = 200});
  std::mutex mutex;
  std::list<unsigned, block_allocator<unsigned>> queue(blocks);
  test::run_crew(threads, [&](unsigned me) {
    for (unsigned i = 0; i < 5000; ++i) {
      const std::lock_guard lock(mutex);
      if (queue.size() < 100) {
        queue.push_back(me);
      } else {
        queue.pop_front();
      }
    }
  });
  EXPECT_EQ(blocks.stats().blocks.in_use, queue.size());
}

TEST(BlockResourceThreads, BlocksInTheCachesOfOthersAreFound) {
  block_resource blocks({.block_bytes = 32, .blocks = 1000});
  const test::parked_crew crew(3, [&](unsigned /*me*/) {
    std::pmr::list<int> list(&blocks);
    list.assign(300, 1);
  });
  std::pmr::list<int> all(&blocks);
  EXPECT_NO_THROW(all.assign(1000, 2));
}

// There are more threads than counter lines.
TEST(BlockResourceThreads, EveryRequestThatGoesUpstreamIsCounted) {
  constexpr unsigned many = 12;
  constexpr unsigned rounds = 500;
  block_resource blocks({.sizes = {{64, 1}, {256, 1}}, .overflow_to_upstream = true});
  void* const held[] = {blocks.allocate(64), blocks.allocate(256)};
  test::run_crew(many, [&](unsigned /*me*/) {
    for (unsigned i = 0; i < rounds; ++i) {
      for (const std::size_t bytes : {64U, 256U, 1000U}) {
        blocks.deallocate(blocks.allocate(bytes), bytes);
      }
      blocks.deallocate(blocks.allocate(8, 64), 8, 64);
    }
  });
  EXPECT_EQ(blocks.upstream_requests(), std::uint64_t{4} * many * rounds);
  EXPECT_EQ(blocks.stats(0).overflowed, std::uint64_t{many} * rounds);
  EXPECT_EQ(blocks.stats(1).overflowed, std::uint64_t{many} * rounds);
  EXPECT_EQ(blocks.stats().largest_upstream, 1000U);
  blocks.deallocate(held[0], 64);
  blocks.deallocate(held[1], 256);
}

/// Takes and returns all blocks of a thread's share several times, so that its cache grows.
void grow_cache(block_resource& blocks, std::size_t share) {
  for (int round = 0; round < 6; ++round) {
    std::vector<void*> all;
    for (std::size_t i = 0; i < share; ++i) {
      all.push_back(blocks.allocate(64));
    }
    for (void* const one : all) {
      blocks.deallocate(one, 64);
    }
  }
}

// The numbers are those of docs/reference/block-resource.md.
TEST(BlockResourceThreads, MemoryIsWhatThePagePromisesHoweverManyThreadsThereAre) {
  constexpr std::size_t kib = 1024;
  for (const std::size_t capacity : {1U, 100U, 1023U, 1024U, 100'000U}) {
    for (const auto& [max_cached, most] : {std::pair<std::size_t, std::size_t>{0, 0},
                                           {64, kib},
                                           {512, 10 * kib},
                                           {1022, 21 * kib}}) {
      for (const unsigned crew_size : {1U, 2U, 64U}) {
        block_resource blocks({.block_bytes = 64, .blocks = capacity, .max_cached = max_cached});
        const std::size_t fixed = (capacity < 1024 ? kib : 4 * kib) + 8 * capacity;
        EXPECT_LE(blocks.stats().blocks.bookkeeping_bytes, fixed);
        const test::parked_crew crew(crew_size, [&blocks, capacity, crew_size](unsigned /*me*/) {
          grow_cache(blocks, std::min<std::size_t>(capacity / crew_size, 3000));
        });
        const slot_pool_stats stats = blocks.stats().blocks;
        EXPECT_LE(stats.bookkeeping_bytes, fixed + crew_size * most)
            << capacity << " blocks, caches of " << max_cached << ", " << crew_size << " threads";
        EXPECT_EQ(stats.total_bytes, 64 * capacity + stats.bookkeeping_bytes);
        if (capacity == 100'000 && max_cached != 0) {
          EXPECT_GE(stats.bookkeeping_bytes, 7 * capacity + crew_size * most / 2)
              << "the page promises far too much";
        }
      }
    }
  }
}

}  // namespace
}  // namespace lido
