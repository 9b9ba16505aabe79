// Pools with `warm`: threads that called prepare_thread() allocate nothing.
#include <gtest/gtest.h>

#include <array>
#include <barrier>
#include <chrono>
#include <cstddef>
#include <fstream>
#include <span>
#include <vector>

#include "lido/object_pool.hpp"
#include "support/crew.hpp"
#include "support/failing_new.hpp"

namespace lido {
namespace {

using namespace std::chrono_literals;

struct voice {
  std::vector<float> samples = std::vector<float>(1000);
};
struct voice_traits : pool_traits<voice> {
  using hooks = keep;
};
using voice_pool = object_pool<voice, voice_traits>;

constexpr unsigned threads = 4;
constexpr std::size_t slots = 2000;

/// Calls `work(thread)` in prepared threads, all at once; returns how often they allocated.
template <class Work>
long allocations_in_crew(const Work& work) {
  std::array<long, threads> counts{};
  std::barrier prepared(threads);
  test::run_crew(threads, [&](unsigned i) {
    std::vector<voice*> held(slots);
    prepare_thread();
    prepared.arrive_and_wait();
    const long before = test::allocations().allocations;
    work(i, held);
    counts[i] = test::allocations().allocations - before;
  });
  long sum = 0;
  for (const long count : counts) {
    sum += count;
  }
  return sum;
}

class WarmPool : public ::testing::Test {
 protected:
  voice_pool pool_{{.capacity = slots, .creation = creation::eager, .warm = true}};
};

TEST_F(WarmPool, AllocatesNothingOverBurstsAndThefts) {
  const long count = allocations_in_crew([this](unsigned /*thread*/, std::vector<voice*>& held) {
    for (std::size_t burst = 1; burst <= slots; burst += 37) {
      std::size_t got = 0;
      while (got < burst && (held[got] = pool_.try_acquire_ptr()) != nullptr) {
        ++got;
      }
      while (got > 0) {
        pool_.release(held[--got]);
      }
    }
  });
  EXPECT_EQ(count, 0);
  EXPECT_EQ(pool_.stats().live, slots);
}

TEST_F(WarmPool, AllocatesNothingWhereOneThreadEmptiesTheCachesOfAll) {
  std::barrier turn(threads);
  const long count = allocations_in_crew([&](unsigned thread, std::vector<voice*>& held) {
    for (unsigned round = 0; round < threads; ++round) {
      voice* const one = pool_.try_acquire_ptr();
      pool_.release(one);
      turn.arrive_and_wait();
      if (round == thread) {
        std::size_t got = 0;
        while (got < slots && (held[got] = pool_.try_acquire_ptr()) != nullptr) {
          ++got;
        }
        EXPECT_EQ(got, slots);
        while (got > 0) {
          pool_.release(held[--got]);
        }
      }
      turn.arrive_and_wait();
    }
  });
  EXPECT_EQ(count, 0);
  EXPECT_GT(pool_.stats().thefts, 0U);
}

TEST(WarmPoolOfFewObjects, AllocatesNothingInWaits) {
  voice_pool pool(
      {.capacity = 2, .when_full = when_full::wait, .creation = creation::eager, .warm = true});
  const long count = allocations_in_crew([&](unsigned /*thread*/, std::vector<voice*>& /*held*/) {
    for (int round = 0; round < 500; ++round) {
      const auto one = pool.acquire();
      const auto other = pool.acquire_for(20us);
    }
  });
  EXPECT_EQ(count, 0);
}

TEST(WarmPoolWithoutKeptObjects, AllocatesNothing) {
  object_pool<voice*> pool({.capacity = slots, .warm = true});
  const long count = allocations_in_crew([&](unsigned /*thread*/, std::vector<voice*>& /*held*/) {
    std::array<voice**, 300> held{};
    for (int round = 0; round < 50; ++round) {
      const std::size_t got = pool.try_acquire_n(held);
      pool.release_n(std::span<voice** const>(held).first(got));
    }
  });
  EXPECT_EQ(count, 0);
}

/// Returns how many pages of addresses this process has.
std::size_t mapped_pages() {
  std::size_t pages = 0;
  std::ifstream("/proc/self/statm") >> pages;
  return pages;
}

TEST(WarmPoolWithoutKeptObjects, AsksForNoAddressesLater) {
  prepare_thread();
  (void)mapped_pages();  // allocates what streams need once
  object_pool<int> pool({.capacity = slots, .warm = true});
  const std::size_t before = mapped_pages();
  pool.release(pool.try_acquire_ptr());
  EXPECT_EQ(mapped_pages(), before);
}

TEST(PrepareThread, GivesTheThreadItsNumber) {
  test::run_in_new_thread([] {
    EXPECT_EQ(detail::own_thread_offset(), 0U);
    prepare_thread();
    EXPECT_NE(detail::own_thread_offset(), 0U);
    prepare_thread();
  });
}

}  // namespace
}  // namespace lido
