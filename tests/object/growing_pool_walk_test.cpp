#include <gtest/gtest.h>

#include <algorithm>
#include <atomic>
#include <cstddef>
#include <cstdint>
#include <span>
#include <thread>
#include <vector>

#include "lido/object_pool.hpp"
#include "support/pools.hpp"

namespace lido {
namespace {

struct marked_item {
  explicit marked_item(std::uint64_t first) : words{first} {}
  std::uint64_t words[8];  // NOLINT(modernize-avoid-c-arrays)
};

struct walked_traits : pool_traits<marked_item> {
  static constexpr bool track_in_use = true;
};
using walked_pool = test::growing_pool<marked_item, walked_traits>;

TEST(GrowingPoolWalk, VisitsWhatIsInUseInAllSegments) {
  walked_pool pool({.max_capacity = 10'000});
  const auto count = [&pool] {
    std::size_t visited = 0;
    pool.for_each_in_use([&](marked_item& object) { visited += object.words[0]; });
    return visited;
  };
  EXPECT_EQ(count(), 0U);
  std::vector<marked_item*> all;
  for (int i = 0; i < 5000; ++i) {
    all.push_back(pool.try_acquire_ptr(std::uint64_t{1}));
  }
  EXPECT_EQ(count(), 5000U);
  while (all.size() > 10) {
    pool.release(all.back());
    all.pop_back();
  }
  EXPECT_LT(pool.shrink_to(0), 5000U);
  EXPECT_EQ(count(), 10U) << "retired segments have nothing in use";
  pool.release_n(all);
}

// Slots are numbered by position: after the shrink there are fewer of them than this one's number.
TEST(GrowingPoolWalk, VisitsWhatIsInUseAboveSegmentsThatWentBack) {
  walked_pool pool({.max_capacity = 10'000});
  std::vector<marked_item*> all;
  for (int i = 0; i < 5000; ++i) {
    all.push_back(pool.try_acquire_ptr(std::uint64_t{1}));
  }
  std::iter_swap(std::max_element(all.begin(), all.end()), all.begin());
  pool.release_n(std::span(all).subspan(1));
  ASSERT_LT(pool.shrink_to(0), 2500U);
  std::vector<marked_item*> visited;
  pool.for_each_in_use([&](marked_item& object) { visited.push_back(&object); });
  EXPECT_EQ(visited, std::vector<marked_item*>{all.front()});
  pool.release(all.front());
}

// Marks of new segments are begun during the walk. ThreadSanitizer sees it if one is read too
// early.
TEST(GrowingPoolWalk, SeesCompleteObjectsBesideGrowth) {
  walked_pool pool({.max_capacity = 100'000});
  std::atomic<bool> done{false};
  std::atomic<bool> looks{false};
  std::vector<marked_item*> all;
  std::jthread grows([&] {
    looks.wait(false);
    for (int i = 0; i < 20'000; ++i) {
      all.push_back(pool.try_acquire_ptr(std::uint64_t{1}));
    }
    done = true;
  });
  do {
    pool.for_each_in_use([](const marked_item& object) { EXPECT_EQ(object.words[0], 1U); });
    looks = true;
    looks.notify_one();
  } while (!done);
  grows.join();
  pool.release_n(all);
}

}  // namespace
}  // namespace lido
