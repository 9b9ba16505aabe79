#include "lido/object_pool.hpp"

#include <gtest/gtest.h>

#include <algorithm>
#include <array>
#include <atomic>
#include <cstddef>
#include <cstdint>
#include <iterator>
#include <set>
#include <string>
#include <thread>
#include <vector>

#include "lido/checked.hpp"
#include "support/crew.hpp"
#include "support/drain.hpp"
#include "support/misuse_log.hpp"
#include "support/pool_kinds.hpp"
#include "support/resident.hpp"
#include "support/sanitizers.hpp"
#include "support/tracked_test.hpp"

namespace lido {
namespace {

using test::tracked;

constexpr std::array sizes_of_pools{std::size_t{1}, std::size_t{7}, std::size_t{40},
                                    std::size_t{1000}, std::size_t{5000}};

/// Pools of capacity `count`, fixed and growing.
std::vector<object_pool_options> both_of(std::size_t count) {
  return {{.capacity = count}, {.max_capacity = count, .when_full = when_full::grow}};
}

/// Tells a log when it is made and destroyed, and fails if it is destroyed twice.
class witness {
 public:
  struct log {
    std::set<const witness*> alive;
    std::set<const witness*> destroyed;
  };

  explicit witness(log& books) : books_(&books) { books.alive.insert(this); }
  witness(const witness&) = delete;
  witness& operator=(const witness&) = delete;
  ~witness() {
    EXPECT_EQ(books_->alive.erase(this), 1U) << "an object is destroyed twice";
    books_->destroyed.insert(this);
  }

 private:
  log* books_;
};

class ReleaseAll : public test::tracked_test,
                   public ::testing::WithParamInterface<test::pool_kind> {
 protected:
  static std::size_t live() { return static_cast<std::size_t>(tracked::counts().live()); }
};
INSTANTIATE_TEST_SUITE_P(Kinds, ReleaseAll, test::pool_kinds, test::pool_kind_name);

TEST_P(ReleaseAll, DestroysEachObjectInUseOnce) {
  for (const std::size_t capacity : sizes_of_pools) {
    for (const object_pool_options& options : both_of(capacity)) {
      SCOPED_TRACE(capacity);
      test::kind_pool<tracked, pool_traits<tracked>> pool(options);
      std::vector<tracked*> all = test::drain(pool);
      for (std::size_t i = 0; i < all.size(); i += 3) {
        pool.release(all[i]);
      }
      pool.release_all();
      EXPECT_EQ(live(), 0U);
      EXPECT_EQ(pool.stats().in_use, 0U);
      EXPECT_EQ(pool.stats().idle, capacity);
      EXPECT_EQ(test::count_acquirable(pool), capacity);
      EXPECT_FALSE(test::drain(pool).empty());
      pool.release_all();
      EXPECT_EQ(live(), 0U);
      EXPECT_EQ(pool.capacity(), capacity);
    }
  }
}

TEST_P(ReleaseAll, DestroysTheObjectsInUseAndNoOthers) {
  for (const std::size_t capacity : sizes_of_pools) {
    for (const object_pool_options& options : both_of(capacity)) {
      SCOPED_TRACE(capacity);
      witness::log books;
      test::kind_pool<witness, pool_traits<witness>> pool(options);
      std::vector<witness*> all;
      while (witness* const object = pool.try_acquire_ptr(books)) {
        all.push_back(object);
      }
      for (std::size_t i = 0; i < all.size(); i += 3) {
        pool.release(all[i]);
      }
      const auto in_use = books.alive;
      books.destroyed.clear();
      pool.release_all();
      EXPECT_EQ(books.destroyed, in_use);
      EXPECT_TRUE(books.alive.empty());
    }
  }
}

TEST_P(ReleaseAll, OfTrivialObjectsFreesEverySlot) {
  for (const std::size_t capacity : sizes_of_pools) {
    for (const object_pool_options& options : both_of(capacity)) {
      SCOPED_TRACE(capacity);
      test::kind_pool<int, pool_traits<int>> pool(options);
      for (int round = 0; round < 3; ++round) {
        const std::vector<int*> all = test::drain(pool);
        EXPECT_EQ(test::count_distinct(all), capacity);
        pool.release(all[capacity / 2]);
        pool.release_all();
        EXPECT_EQ(pool.stats().in_use, 0U);
        EXPECT_GE(pool.stats().high_water + 1, capacity);
      }
      EXPECT_EQ(test::count_acquirable(pool), capacity);
    }
  }
}

TEST_P(ReleaseAll, OfAnUnusedPoolHasNoEffect) {
  for (const object_pool_options& options : both_of(100)) {
    test::kind_pool<tracked, pool_traits<tracked>> pool(options);
    const int before = tracked::counts().destroyed;
    pool.release_all();
    EXPECT_EQ(tracked::counts().destroyed, before);
    EXPECT_EQ(test::count_acquirable(pool), 100U);
  }
}

TEST_P(ReleaseAll, EmptiesTheCachesOfAllThreads) {
  test::kind_pool<int, pool_traits<int>> pool(2000);
  test::run_in_new_thread([&] { test::fill_own_cache(pool, 300); });
  const test::parked_crew crew(3, [&](unsigned /*index*/) {
    test::fill_own_cache(pool, 200);
    (void)pool.try_acquire_ptr();
  });
  EXPECT_EQ(pool.stats().in_use, 3U);
  pool.release_all();
  EXPECT_EQ(pool.stats().in_use, 0U);
  EXPECT_EQ(pool.stats().cached, 0U);
  EXPECT_EQ(test::count_acquirable(pool), 2000U);
}

TEST_P(ReleaseAll, LetsThreadsThatHadCachesContinue) {
  constexpr std::size_t capacity = 3000;
  test::kind_pool<std::string, pool_traits<std::string>> pool(capacity);
  std::atomic<int> round{0};
  std::atomic<int> ready{0};
  constexpr int rounds = 20;
  std::vector<std::jthread> crew;
  for (unsigned thread = 0; thread < 3; ++thread) {
    crew.emplace_back([&] {
      for (int own = 1; own <= rounds; ++own) {
        round.wait(own - 1);
        std::vector<std::string*> held;
        for (std::size_t i = 0; i < capacity / 3; ++i) {
          held.push_back(pool.try_acquire_ptr(std::size_t{40}, 'x'));
        }
        EXPECT_EQ(std::count(held.begin(), held.end(), nullptr), 0);
        for (std::size_t i = 0; i < held.size(); i += 2) {
          pool.release(held[i]);
        }
        ++ready;
        ready.notify_all();
      }
    });
  }
  for (int own = 1; own <= rounds; ++own) {
    ready = 0;
    round = own;
    round.notify_all();
    for (int seen = ready; seen < 3; seen = ready) {
      ready.wait(seen);
    }
    pool.release_all();
    EXPECT_EQ(pool.stats().in_use, 0U);
  }
  EXPECT_EQ(test::count_acquirable(pool), capacity);
}

TEST_P(ReleaseAll, CountsAsNoTheft) {
  test::kind_pool<int, pool_traits<int>> pool(2000);
  constexpr std::uint64_t frames = 1000;
  for (std::uint64_t frame = 0; frame < frames; ++frame) {
    for (int object = 0; object < 10; ++object) {
      EXPECT_NE(pool.try_acquire_ptr(), nullptr);
    }
    pool.release_all();
  }
  const slot_pool_stats stats = pool.stats();
  EXPECT_EQ(stats.thefts, 0U);
  if (stats.caches == cache_kind::revocable) {
    // The caches stay large enough for a frame, so that it needs one refill.
    EXPECT_LT(stats.slow_acquires, frames + frames / 10);
  }
}

TEST_P(ReleaseAll, LeavesLaterTheftsThefts) {
  test::kind_pool<int, pool_traits<int>> pool(200);
  for (int round = 0; round < 3; ++round) {
    test::fill_own_cache(pool, 20);
    pool.release_all();
  }
  const test::parked_crew crew(1, [&](unsigned /*index*/) { test::fill_own_cache(pool, 20); });
  EXPECT_EQ(test::count_acquirable(pool), 200U);
  if (const slot_pool_stats stats = pool.stats(); stats.caches != cache_kind::none) {
    EXPECT_GT(stats.thefts, 0U);
  }
}

TEST_P(ReleaseAll, MayRunWhileThreadsThatUsedThePoolExit) {
  test::kind_pool<tracked, pool_traits<tracked>> pool(500);
  for (int round = 0; round < 100; ++round) {
    std::atomic<bool> used{false};
    std::jthread user([&] {
      test::fill_own_cache(pool, 100);
      (void)pool.try_acquire_ptr();
      used = true;
    });
    while (!used) {  // not by `wait`, which sometimes does not return under Wine
      std::this_thread::yield();
    }
    pool.release_all();
    EXPECT_EQ(live(), 0U);
    EXPECT_EQ(pool.stats().in_use, 0U);
  }
  EXPECT_EQ(test::count_acquirable(pool), 500U);
}

template <class T>
struct tracking : pool_traits<T> {
  static constexpr bool track_in_use = true;
};

TEST_P(ReleaseAll, OfATrackingPoolLeavesNothingToWalk) {
  test::kind_pool<tracked, tracking<tracked>> pool(100);
  const std::vector<tracked*> all = test::drain(pool);
  pool.release(all.front());
  pool.release_all();
  pool.for_each_in_use([](tracked& /*object*/) { ADD_FAILURE() << "an object is still in use"; });
  EXPECT_EQ(live(), 0U);
  EXPECT_EQ(test::count_acquirable(pool), 100U);
}

TEST_P(ReleaseAll, OfACheckedPoolReportsTheReleaseOfWhatWasInUse) {
  test::misuse_log log;
  test::kind_pool<tracked, checked_traits<tracked>> pool({.capacity = 10, .name = "level"});
  tracked* const object = pool.try_acquire_ptr();
  {
    const auto lease = pool.acquire();
    pool.release_all();
    EXPECT_TRUE(log.entries().empty());
    EXPECT_EQ(live(), 0U);
    pool.release(object);
    EXPECT_EQ(log.kinds(), std::vector{misuse_kind::double_release});
  }
  EXPECT_EQ(log.kinds(), (std::vector{misuse_kind::double_release, misuse_kind::double_release}));
  EXPECT_EQ(log.entries().back().pool_name, "level");
  EXPECT_EQ(live(), 0U);
  EXPECT_EQ(test::count_acquirable(pool), 10U);
}

TEST_P(ReleaseAll, OfACheckedPoolKeepsWatchOverFreeSlots) {
  test::misuse_log log;
  {
    test::kind_pool<std::array<std::uint64_t, 4>, checked_traits<std::array<std::uint64_t, 4>>>
        pool(1);
    auto* const object = pool.try_acquire_ptr();
    pool.release_all();
#if !LIDO_TEST_ASAN
    (*object)[0] = 1;
    EXPECT_EQ(test::count_acquirable(pool), 1U);
    EXPECT_EQ(log.kinds(), std::vector{misuse_kind::write_after_release});
#else
    (void)object;
#endif
  }
}

template <class T>
std::vector<std::ptrdiff_t> order_of(const std::vector<T*>& objects) {
  const T* const first = *std::min_element(objects.begin(), objects.end());
  std::vector<std::ptrdiff_t> order;
  std::transform(objects.begin(), objects.end(), std::back_inserter(order),
                 [first](const T* object) { return object - first; });
  return order;
}

/// Uses a pool, of which it first acquires every `part`th object, and checks the order afterwards.
template <class T>
void restart_after_use(const object_pool_options& options, std::size_t part) {
  using pool_type = test::kind_pool<T, pool_traits<T>>;
  pool_type fresh(options);
  if (options.when_full == when_full::grow) {
    fresh.release_all();  // segments that a new pool adds one by one are all there afterwards
  }
  const std::vector<std::ptrdiff_t> when_new = order_of(test::drain(fresh));
  fresh.release_all();
  pool_type pool(options);
  std::vector<T*> some(std::max(options.capacity / part, std::size_t{1}));
  ASSERT_EQ(pool.try_acquire_n(some), some.size());
  std::rotate(some.begin(), some.begin() + static_cast<std::ptrdiff_t>(some.size() / 3),
              some.end());
  some.resize(some.size() - some.size() / 4);
  test::release_all(pool, some);
  const bool all = part == 1 && options.capacity > 7;
  if (all) {
    EXPECT_NE(order_of(test::drain(pool)), when_new);
  }
  pool.release_all();
  EXPECT_EQ(order_of(test::drain(pool)), when_new);
  pool.release_all();
}

TEST_P(ReleaseAll, HandsOutSlotsInTheOrderOfANewPool) {
  for (const std::size_t capacity : sizes_of_pools) {
    for (const bool grows : {false, true}) {
      for (const std::size_t part : {1U, 3U}) {
        SCOPED_TRACE(::testing::Message() << capacity << (grows ? " grows, 1/" : ", 1/") << part);
        object_pool_options options{.capacity = capacity, .max_cached = 0};
        if (grows) {
          options.max_capacity = capacity;
          options.when_full = when_full::grow;
        }
        restart_after_use<int>(options, part);
        restart_after_use<tracked>(options, part);
      }
    }
  }
}

#if !LIDO_TEST_ASAN && !LIDO_TEST_TSAN && !defined(_WIN32)
TEST(ReleaseAllOfALargePool, TouchesNoBookkeepingThatWasNeverUsed) {
  object_pool<int> pool(50'000'000);
  test::fill_own_cache(pool, 100);
  const std::size_t before = test::resident_bytes();
  pool.release_all();
  EXPECT_LT(test::resident_bytes(), before + (std::size_t{8} << 20U));
}
#endif

}  // namespace
}  // namespace lido
