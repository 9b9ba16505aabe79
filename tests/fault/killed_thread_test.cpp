// Threads that end in the middle of using a pool: by pthread_exit, or cancelled.
#include <gtest/gtest.h>
#include <pthread.h>
#include <unistd.h>

#include <atomic>
#include <chrono>
#include <cstddef>
#include <thread>
#include <vector>

#include "lido/concurrency/backoff.hpp"
#include "lido/object_pool.hpp"
#include "support/drain.hpp"

namespace lido {
namespace {

TEST(KilledThread, ExitGivesBackWhatTheThreadHeldAndCached) {
  object_pool<int> pool(64);
  std::thread([&] {
    test::fill_own_cache(pool, 20);
    const auto held = pool.acquire(1);
    EXPECT_GT(pool.stats().cached, 0U);
    ::pthread_exit(nullptr);
  }).join();
  EXPECT_EQ(pool.stats().in_use, 0U);
  EXPECT_EQ(pool.stats().open_caches, 0U);
  EXPECT_EQ(test::count_acquirable(pool), 64U);
}

TEST(KilledThread, CancelledOneGivesBackWhatItHeldAndCached) {
  object_pool<int> pool(64);
  std::atomic<bool> holds{false};
  std::thread other([&] {
    test::fill_own_cache(pool, 20);
    const auto held = pool.acquire(1);
    holds = true;
    for (;;) {
      (void)::pause();
    }
  });
  while (!holds) {
    std::this_thread::yield();
  }
  ASSERT_EQ(::pthread_cancel(other.native_handle()), 0);
  other.join();
  EXPECT_EQ(pool.stats().in_use, 0U);
  EXPECT_EQ(pool.stats().open_caches, 0U);
  EXPECT_EQ(test::count_acquirable(pool), 64U);
}

/// One of the creations does not return.
struct staying_create {
  std::atomic<int>* left;  ///< creations until then
  std::atomic<bool>* stays;

  [[nodiscard]] int create() const {
    if (left->fetch_sub(1) == 0) {
      *stays = true;
      for (;;) {
        (void)::pause();
      }
    }
    return 1;
  }
};

class KilledThreadInACreate : public ::testing::Test {
 protected:
  struct staying_traits : pool_traits<int> {
    using hooks = staying_create;
  };
  using kept_pool = object_pool<int, staying_traits>;

  /// Cancels the thread that calls `use(pool)` in the creation after `left` more.
  template <class Use>
  void cancel_in(const Use& use, int left) {
    left_ = left;
    std::thread other([&] { use(pool_); });
    while (!stays_) {
      std::this_thread::yield();
    }
    EXPECT_EQ(::pthread_cancel(other.native_handle()), 0);
    other.join();
  }

  // NOLINTBEGIN(cppcoreguidelines-non-private-member-variables-in-classes,misc-non-private-member-variables-in-classes)
  std::atomic<int> left_{-1};  // none
  std::atomic<bool> stays_{false};
  kept_pool pool_{{.capacity = 1,
                   .max_capacity = 1'000'000,
                   .when_full = when_full::grow,
                   .caches = cache_kind::none,
                   .creation = creation::eager},
                  staying_create{&left_, &stays_}};
  const std::size_t one_ = pool_.capacity();
  // NOLINTEND(cppcoreguidelines-non-private-member-variables-in-classes,misc-non-private-member-variables-in-classes)
};

TEST_F(KilledThreadInACreate, OfAReserveLosesNothing) {
  cancel_in([this](kept_pool& pool) { pool.reserve(3 * one_); }, 10);
  // The segment that was being filled is there, with the objects that were created.
  EXPECT_EQ(pool_.capacity(), 2 * one_);
  EXPECT_EQ(pool_.stats().live, one_ + 10);
  EXPECT_EQ(pool_.stats().in_use, 0U);
  std::vector<int*> all(2 * one_);
  EXPECT_EQ(pool_.try_acquire_n(all), 2 * one_);
  EXPECT_EQ(pool_.capacity(), 2 * one_);
  pool_.release_n(all);
  EXPECT_EQ(pool_.shrink_to(0), 0U) << "somebody is still changing the capacity";
}

TEST_F(KilledThreadInACreate, OfAnAcquireLosesNothing) {
  EXPECT_EQ(pool_.shrink_to(0), 0U);
  cancel_in([](kept_pool& pool) { (void)pool.acquire(); }, 0);
  EXPECT_EQ(pool_.stats().live, 0U);
  EXPECT_EQ(pool_.stats().in_use, 0U);
  std::vector<int*> all(one_);
  EXPECT_EQ(pool_.try_acquire_n(all), one_);
  EXPECT_EQ(pool_.capacity(), one_);
  pool_.release_n(all);
}

// What waits for a moment inside an acquire or a release is no place to be cancelled at.
TEST(KilledThread, NoneIsCancelledInANap) {
  std::atomic<bool> naps{false};
  std::atomic<bool> cancelled{false};
  const auto nap = []() noexcept { detail::nap_thread(); };
  std::thread other([&] {
    while (!cancelled) {
      nap();
      naps = true;
    }
    nap();
    for (;;) {
      (void)::pause();
    }
  });
  while (!naps) {
    std::this_thread::yield();
  }
  ASSERT_EQ(::pthread_cancel(other.native_handle()), 0);
  cancelled = true;
  other.join();
}

// To leave the queue, it would have to be asked by a stop token.
TEST(KilledThread, NoneIsCancelledWhileItWaitsForASlot) {
  object_pool<int> pool({.capacity = 1, .when_full = when_full::wait});
  auto held = pool.acquire(1);
  std::atomic<bool> served{false};
  std::thread other([&] {
    const auto second = pool.acquire(2);
    served = true;
    for (;;) {
      (void)::pause();
    }
  });
  while (pool.stats().waiting != 1) {
    std::this_thread::yield();
  }
  ASSERT_EQ(::pthread_cancel(other.native_handle()), 0);
  std::this_thread::sleep_for(std::chrono::milliseconds(20));
  EXPECT_EQ(pool.stats().waiting, 1U);
  held.reset();
  other.join();
  EXPECT_TRUE(served);
  EXPECT_EQ(pool.stats().waiting, 0U);
  EXPECT_EQ(test::count_acquirable(pool), 1U);
}

}  // namespace
}  // namespace lido
