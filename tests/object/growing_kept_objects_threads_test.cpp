// A destroy hook may take long while a pool shrinks, and use the pool.
#include <gtest/gtest.h>

#include <array>
#include <atomic>
#include <chrono>
#include <cstddef>
#include <functional>
#include <latch>
#include <thread>
#include <utility>
#include <vector>

#include "lido/concurrency/thread_number.hpp"
#include "lido/object_pool.hpp"
#include "support/crew.hpp"
#include "support/ending_thread.hpp"
#include "support/pools.hpp"
#include "support/sanitizers.hpp"
#include "support/take_number.hpp"

namespace lido {
namespace {

using namespace std::chrono_literals;

/// An object of a page, so that a segment has few.
struct page {
  std::array<std::byte, 4096> bytes;
};

/// Hooks that run the test's function on destruction.
struct obliging_hooks {
  const std::function<void()>* in_destroy;
  void destroy(page& /*object*/) const noexcept {
    if (*in_destroy) {
      (*in_destroy)();
    }
  }
};

using kept_page_pool = test::growing_kept_pool<page, obliging_hooks>;

class HookOfAShrink : public ::testing::Test {
 protected:
  static std::size_t segment() {
    const test::growing_pool<page> pool({.capacity = 1, .max_capacity = 100'000});
    return pool.capacity();
  }

  void TearDown() override { in_destroy_ = nullptr; }

  /// Makes the object of every slot.
  void make_all() {
    std::vector<kept_page_pool::lease_type> leases;
    while (leases.size() < pool_.max_capacity()) {
      leases.push_back(pool_.acquire(default_init));
    }
  }

  /// Lets the hook of the first object run `first`, and the others nothing.
  void in_first_hook(std::function<void()> first) {
    in_destroy_ = [this, first = std::move(first)] {
      if (!std::exchange(called_, true)) {
        first();
      }
    };
  }

  /// Takes more than the segment that stays: this needs the one whose objects are destroyed, one
  /// after the other. Returns how many could be acquired.
  std::size_t take_beside_slow_hooks() {
    std::latch begun(1);
    in_destroy_ = [&, called = false]() mutable {
      if (!std::exchange(called, true)) {
        begun.count_down();
      }
      std::this_thread::sleep_for(10ms);
    };
    std::jthread shrinker([&] { (void)pool_.shrink_to(one_); });
    begun.wait();
    std::vector<kept_page_pool::lease_type> leases;
    do {
      leases.push_back(pool_.try_acquire(default_init));
    } while (leases.back() && leases.size() < 2 * one_);
    const std::size_t taken = leases.size() - (leases.back() ? 0 : 1);
    shrinker.join();
    in_destroy_ = nullptr;
    return taken;
  }

  const std::size_t one_ = segment();
  std::function<void()> in_destroy_;
  bool called_ = false;
  kept_page_pool pool_{{.max_capacity = 2 * one_}, obliging_hooks{&in_destroy_}};
};

TEST_F(HookOfAShrink, MayTakeItsTimeWhileOthersFindTheFreeSlots) {
  make_all();
  std::latch begun(1);
  std::atomic<bool> all_taken{false};
  std::atomic<bool> gave_up{false};
  in_first_hook([&] {
    begun.count_down();
    const auto end = std::chrono::steady_clock::now() + 30s;
    while (!all_taken && !gave_up) {
      gave_up = std::chrono::steady_clock::now() > end;
      std::this_thread::sleep_for(1ms);
    }
  });
  std::jthread shrinker([&] { EXPECT_EQ(pool_.shrink_to(one_), one_); });
  begun.wait();
  std::vector<kept_page_pool::lease_type> leases;
  while (leases.size() < one_) {
    leases.push_back(pool_.try_acquire(default_init));
    ASSERT_TRUE(leases.back()) << "a free slot was not found: " << leases.size() << " of " << one_;
  }
  EXPECT_FALSE(gave_up) << "acquires waited for the hook";
  all_taken = true;
  shrinker.join();
}

// On a busy machine the hook may be stopped for as long as a thread waits without seeing progress,
// but not each time.
TEST_F(HookOfAShrink, IsWaitedForAsLongAsObjectAfterObjectEnds) {
  std::size_t taken = 0;
  for (int attempt = 0; attempt < 5 && taken < 2 * one_; ++attempt) {
    make_all();
    taken = take_beside_slow_hooks();
  }
  EXPECT_EQ(taken, 2 * one_);
}

TEST_F(HookOfAShrink, MayUseThePool) {
  make_all();
  const auto before = std::chrono::steady_clock::now();
  in_first_hook([&] {
    EXPECT_TRUE(pool_.try_acquire(default_init));
    EXPECT_EQ(pool_.shrink_to(one_), one_);
    EXPECT_NO_THROW(pool_.reserve(one_));
    try {
      pool_.reserve(2 * one_);
      ADD_FAILURE() << "the segment is being given back";
    } catch (const growth_failed& error) {
      EXPECT_EQ(error.capacity(), pool_.capacity());
      EXPECT_EQ(error.in_use(), pool_.stats().in_use);
    }
  });
  EXPECT_EQ(pool_.shrink_to(one_), one_);
  EXPECT_TRUE(called_);
  EXPECT_LT(std::chrono::steady_clock::now() - before, 5s);
  pool_.reserve(2 * one_);
  EXPECT_EQ(pool_.capacity(), 2 * one_);
}

TEST_F(HookOfAShrink, MayNeedTheSegmentThatLeavesNext) {
  make_all();
  std::vector<kept_page_pool::lease_type> leases;
  in_first_hook([&] {
    while (leases.size() < one_) {
      leases.push_back(pool_.try_acquire(default_init));
      ASSERT_TRUE(leases.back());
    }
  });
  // The hook of the higher segment returns the lower one to service.
  EXPECT_EQ(pool_.shrink_to(0), one_);
  EXPECT_EQ(pool_.stats().live, one_);
  EXPECT_EQ(pool_.stats().in_use, one_);
}

TEST(HookOfAShrinkOfEagerObjects, MayTakeBackASegmentWithItsObjects) {
  using eager_pool = test::growing_kept_pool<page, obliging_hooks>;
  std::function<void()> in_destroy;
  eager_pool pool({.max_capacity = 100'000, .creation = creation::eager},
                  obliging_hooks{&in_destroy});
  pool.reserve(1);
  const std::size_t one = pool.capacity();
  pool.reserve(3 * one);
  std::size_t destroyed = 0;
  in_destroy = [&] {
    if (destroyed++ == 0) {
      pool.reserve(2 * one);  // the next one to go; its objects still exist
    }
  };
  EXPECT_EQ(pool.shrink_to(one), 2 * one);
  in_destroy = nullptr;
  // The objects of the segment that stays are idle, too, and more than `one` are alive.
  EXPECT_EQ(destroyed, 2 * one);
  EXPECT_EQ(pool.stats().live, one);
  EXPECT_EQ(pool.stats().idle, 2 * one);
}

}  // namespace
}  // namespace lido
