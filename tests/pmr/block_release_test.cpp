// release() makes all blocks free at once.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <barrier>
#include <cstddef>
#include <cstring>
#include <list>
#include <memory>
#include <memory_resource>
#include <thread>
#include <vector>

#include "lido/block_resource.hpp"
#include "support/counting_upstream.hpp"
#include "support/crew.hpp"
#include "support/drain.hpp"
#include "support/misuse_log.hpp"
#include "support/sanitizers.hpp"

#if LIDO_TEST_ASAN
#include <sanitizer/asan_interface.h>
#endif

namespace lido {
namespace {

using ::testing::ElementsAre;
using ::testing::IsEmpty;

/// Allocates blocks until none is left.
std::vector<void*> take_all(block_resource& blocks, std::size_t bytes) {
  std::vector<void*> all;
  for (void* one = blocks.try_allocate(bytes); one != nullptr; one = blocks.try_allocate(bytes)) {
    std::memset(one, 0xAB, bytes);
    all.push_back(one);
  }
  return all;
}

void expect_all_free(block_resource& blocks) {
  for (std::size_t size = 0; size < blocks.count_sizes(); ++size) {
    const block_stats stats = blocks.stats(size);
    EXPECT_EQ(stats.blocks.in_use, 0U);
    EXPECT_EQ(stats.blocks.idle, stats.blocks.capacity);
    const std::vector<void*> all = take_all(blocks, stats.block_bytes);
    EXPECT_EQ(all.size(), stats.blocks.capacity);
    EXPECT_EQ(test::count_distinct(all), all.size());
    for (void* const one : all) {
      EXPECT_TRUE(blocks.owns(one));
      blocks.deallocate(one, stats.block_bytes);
    }
  }
}

TEST(BlockRelease, MakesAllBlocksFree) {
  for (const std::size_t held : {0U, 1U, 40U, 700U, 1000U}) {
    block_resource blocks({.block_bytes = 64, .blocks = 1000});
    std::vector<void*> all = take_all(blocks, 64);
    for (; all.size() > held; all.pop_back()) {
      blocks.deallocate(all.back(), 64);
    }
    blocks.release();
    expect_all_free(blocks);
    blocks.release();
    blocks.release();
    expect_all_free(blocks);
  }
}

TEST(BlockRelease, IsOfEverySize) {
  block_resource blocks({.sizes = {{64, 100}, {256, 1}, {8192, 20}}});
  for (int round = 0; round < 3; ++round) {
    for (const std::size_t bytes : {64U, 256U, 8192U}) {
      (void)take_all(blocks, bytes);
    }
    blocks.release();
    expect_all_free(blocks);
  }
}

TEST(BlockRelease, EmptiesTheCachesOfAllThreads) {
  block_resource blocks({.block_bytes = 64, .blocks = 1000});
  constexpr unsigned threads = 3;
  std::barrier phase(threads + 1);
  const auto live = [&](unsigned me) {
    for (int round = 0; round < 20; ++round) {
      std::vector<unsigned*> mine;
      for (int i = 0; i < 100; ++i) {
        mine.push_back(static_cast<unsigned*>(blocks.allocate(sizeof(unsigned))));
        *mine.back() = me;
      }
      for (std::size_t i = 0; i < mine.size(); ++i) {
        EXPECT_EQ(*mine[i], me) << "two threads have a block";
        if (i % 2 == 0) {
          blocks.deallocate(mine[i], sizeof(unsigned));
        }
      }
      phase.arrive_and_wait();  // before the release
      phase.arrive_and_wait();  // after it
    }
  };
  std::vector<std::jthread> crew;
  for (unsigned i = 0; i < threads; ++i) {
    crew.emplace_back(live, i);
  }
  for (int round = 0; round < 20; ++round) {
    phase.arrive_and_wait();
    EXPECT_EQ(blocks.stats().blocks.in_use, threads * 50U);
    blocks.release();
    EXPECT_EQ(blocks.stats().blocks.in_use, 0U);
    phase.arrive_and_wait();
  }
  crew.clear();
  blocks.release();
  expect_all_free(blocks);
}

TEST(BlockRelease, LeavesMemoryFromUpstreamAllocated) {
  test::counting_upstream upstream;
  block_resource blocks(
      {.block_bytes = 64, .blocks = 1, .upstream = &upstream, .overflow_to_upstream = true});
  (void)blocks.allocate(64);
  void* const overflow = blocks.allocate(64);
  void* const large = blocks.allocate(100);
  blocks.release();
  EXPECT_EQ(upstream.out(), 2U);
  std::memset(large, 1, 100);
  blocks.deallocate(overflow, 64);
  blocks.deallocate(large, 100);
  EXPECT_EQ(upstream.out(), 0U);
  void* const block = blocks.allocate(64);
  EXPECT_TRUE(blocks.owns(block));
  blocks.deallocate(block, 64);
}

TEST(BlockRelease, KeepsWhatWasCounted) {
  block_resource blocks({.sizes = {{64, 2}, {256, 2}}, .use_larger_blocks = true});
  (void)take_all(blocks, 64);
  blocks.release();
  EXPECT_EQ(blocks.stats().overflowed, 3U);
  EXPECT_EQ(blocks.stats().served_by_larger, 2U);
  EXPECT_EQ(blocks.stats().blocks.high_water, 2U);
}

TEST(BlockRelease, ServesContainersThatAreAbandoned) {
  block_resource blocks(
      {.block_bytes = 32, .blocks = 100, .upstream = std::pmr::null_memory_resource()});
  for (int frame = 0; frame < 10; ++frame) {
    // The list is never destroyed, so it returns no node.
    alignas(std::pmr::list<int>) std::byte memory[sizeof(std::pmr::list<int>)];
    auto* const list = std::construct_at(reinterpret_cast<std::pmr::list<int>*>(memory), &blocks);
    list->assign(100, frame);
    EXPECT_EQ(list->back(), frame);
    blocks.release();
  }
  expect_all_free(blocks);
}

TEST(BlockRelease, EndsTheUseOfCheckedBlocks) {
  test::misuse_log log;
  {
    block_resource blocks({.sizes = {{64, 4}, {256, 4}}, .checked = true});
    void* const stale = blocks.allocate(64);
    (void)blocks.allocate(256);
    blocks.deallocate(blocks.allocate(64), 64);
    blocks.release();
    EXPECT_THAT(log.kinds(), IsEmpty());
    expect_all_free(blocks);
    EXPECT_THAT(log.kinds(), IsEmpty());
    blocks.deallocate(stale, 64);
    EXPECT_THAT(log.kinds(), ElementsAre(misuse_kind::double_release));
    (void)take_all(blocks, 64);
    blocks.release();
  }
  EXPECT_THAT(log.kinds(), ElementsAre(misuse_kind::double_release)) << "a leak was reported";
}

#if !LIDO_TEST_ASAN  // which ends the program at the write itself
TEST(BlockRelease, LateWritesToCheckedBlocksAreReported) {
  test::misuse_log log;
  block_resource blocks({.block_bytes = 64, .blocks = 4, .checked = true});
  auto* const stale = static_cast<char*>(blocks.allocate(64));
  blocks.release();
  stale[63] = 'x';
  (void)take_all(blocks, 64);
  EXPECT_THAT(log.kinds(), ElementsAre(misuse_kind::write_after_release));
  blocks.release();
}
#else
TEST(BlockRelease, PoisonsAllBlocks) {
  block_resource blocks({.sizes = {{64, 4}, {256, 4}}});
  std::vector<void*> all = take_all(blocks, 64);
  all.push_back(blocks.allocate(200));
  blocks.release();
  EXPECT_TRUE(std::all_of(all.begin(), all.end(),
                          [](void* one) { return __asan_address_is_poisoned(one) != 0; }));
  expect_all_free(blocks);
}
#endif

}  // namespace
}  // namespace lido
