// The atomics of the benchmark that counts read-modify-writes of shared lines.
#include <gtest/gtest.h>

#include <cstdint>

#include "lido/concurrency/atomic.hpp"
#include "support/crew.hpp"

namespace lido::detail {
namespace {

template <class Work>
std::uint64_t counted(const Work& work) {
  const std::uint64_t before = lido_bench::shared_rmw_count;
  work();
  return lido_bench::shared_rmw_count - before;
}

TEST(RmwCounter, CountsEachReadModifyWrite) {
  shared_atomic<std::uint32_t> word{0};
  EXPECT_EQ(counted([&] { word.fetch_add(2, std::memory_order_relaxed); }), 1U);
  EXPECT_EQ(counted([&] { word.fetch_sub(1, std::memory_order_relaxed); }), 1U);
  EXPECT_EQ(counted([&] { word.exchange(5, std::memory_order_relaxed); }), 1U);
  EXPECT_EQ(word.load(std::memory_order_relaxed), 5U);
}

TEST(RmwCounter, CountsAttemptsThatFail) {
  shared_atomic<std::uint32_t> word{1};
  std::uint32_t seen = 0;
  EXPECT_EQ(counted([&] {
              EXPECT_FALSE(word.compare_exchange_strong(seen, 2, std::memory_order_relaxed,
                                                        std::memory_order_relaxed));
            }),
            1U);
  EXPECT_EQ(seen, 1U);
}

TEST(RmwCounter, CountsNoLoadsAndStores) {
  shared_atomic<std::uint32_t> word{0};
  EXPECT_EQ(counted([&] {
              word.store(1, std::memory_order_relaxed);
              EXPECT_EQ(word.load(std::memory_order_relaxed), 1U);
            }),
            0U);
}

TEST(RmwCounter, CountsNoAtomicsOfOneOwner) {
  atomic<std::uint32_t> word{0};
  EXPECT_EQ(counted([&] { word.fetch_add(1, std::memory_order_relaxed); }), 0U);
}

TEST(RmwCounter, AddsUpWhatAllThreadsDid) {
  shared_atomic<std::uint32_t> word{0};
  const std::uint64_t all = counted([&] {
    test::run_crew(4, [&word](unsigned /*index*/) {
      for (int i = 0; i < 1000; ++i) {
        word.fetch_add(1, std::memory_order_relaxed);
      }
    });
  });
  EXPECT_EQ(all, 4000U);
}

}  // namespace
}  // namespace lido::detail
