// shrink_to destroys idle objects of a pool that keeps its objects.
#include <gtest/gtest.h>

#include <algorithm>
#include <atomic>
#include <chrono>
#include <cstddef>
#include <functional>
#include <latch>
#include <memory>
#include <mutex>
#include <thread>
#include <utility>
#include <vector>

#include "lido/object_pool.hpp"
#include "support/crew.hpp"
#include "support/drain.hpp"
#include "support/pool_kinds.hpp"
#include "support/pools.hpp"
#include "support/resident.hpp"
#include "support/sanitizers.hpp"
#include "support/scripted_hooks.hpp"

namespace lido {
namespace {

using namespace std::chrono_literals;
using test::tracked;

class IdleObjects : public test::kept_test, public ::testing::WithParamInterface<test::pool_kind> {
 protected:
  using pool_type = test::keeping_pool<tracked, test::scripted_hooks>;

  static std::size_t live() { return static_cast<std::size_t>(tracked::counts().live()); }
};
INSTANTIATE_TEST_SUITE_P(Kinds, IdleObjects, test::pool_kinds, test::pool_kind_name);

TEST_P(IdleObjects, AreDestroyedDownToTheCount) {
  // On both sides of the capacity from which the depot has shards.
  for (const std::size_t capacity : {std::size_t{1}, std::size_t{40}, std::size_t{2000}}) {
    SCOPED_TRACE(capacity);
    pool_type pool(capacity);
    EXPECT_EQ(test::count_acquirable(pool), capacity);
    EXPECT_EQ(pool.shrink_to(capacity), capacity);
    EXPECT_EQ(pool.stats().live, capacity);
    EXPECT_EQ(pool.shrink_to(capacity / 3), capacity);
    EXPECT_EQ(pool.stats().live, capacity / 3);
    EXPECT_EQ(live(), capacity / 3);
    EXPECT_EQ(pool.shrink_to(0), capacity);
    EXPECT_EQ(live(), 0U);
    EXPECT_EQ(pool.stats().idle, capacity);
    EXPECT_EQ(test::count_acquirable(pool), capacity);
    EXPECT_EQ(live(), capacity);
  }
}

TEST_P(IdleObjects, AreDestroyedThroughTheHook) {
  pool_type pool(1);
  pool.acquire().reset();
  (void)pool.shrink_to(0);
  EXPECT_EQ(script().log, "cadx");
  pool.acquire().reset();
  EXPECT_EQ(script().log, "cadxcad");
}

TEST_P(IdleObjects, ThatCannotBeCreatedAgainLeaveTheirSlotsFree) {
  pool_type pool(1);
  pool.acquire().reset();
  (void)pool.shrink_to(0);
  script().throw_in_create = 1;
  EXPECT_THROW((void)pool.acquire(), test::refused);
  EXPECT_EQ(live(), 0U);
  EXPECT_EQ(pool.stats().live, 0U);
  EXPECT_EQ(pool.stats().in_use, 0U);
  EXPECT_TRUE(pool.acquire());
  EXPECT_EQ(pool.stats().live, 1U);
}

struct tracking_and_keeping : test::keeping_traits<tracked, test::scripted_hooks> {
  static constexpr bool track_in_use = true;
};

TEST_P(IdleObjects, OfATrackingPoolAreNoneOfThoseInUse) {
  test::kind_pool<tracked, tracking_and_keeping> pool(2000);
  auto all = test::drain(pool);
  const std::vector<tracked*> idle(all.begin() + 3, all.end());
  all.resize(3);
  test::release_all(pool, idle);
  (void)pool.shrink_to(0);
  EXPECT_EQ(live(), 3U);
  std::vector<tracked*> seen;
  pool.for_each_in_use([&](tracked& object) { seen.push_back(&object); });
  std::sort(all.begin(), all.end());
  EXPECT_EQ(seen, all);
  test::release_all(pool, all);
  (void)pool.shrink_to(0);
  EXPECT_EQ(live(), 0U);
}

TEST_P(IdleObjects, AreFoundInTheCachesOfOtherThreads) {
  pool_type pool(1000);
  const test::parked_crew crew(2, [&, mutex = std::make_shared<std::mutex>()](unsigned /*index*/) {
    const std::lock_guard lock(*mutex);
    test::fill_own_cache(pool, 300);
  });
  EXPECT_GT(live(), 0U);
  (void)pool.shrink_to(0);
  EXPECT_EQ(live(), 0U);
}

TEST_P(IdleObjects, ThatAreInUseStay) {
  pool_type pool(40);
  auto all = test::drain(pool);
  tracked* const last = all.back();
  all.pop_back();
  test::release_all(pool, all);
  EXPECT_EQ(pool.shrink_to(0), 40U);
  EXPECT_EQ(live(), 1U);
  EXPECT_EQ(last->value(), 7);
  EXPECT_EQ(pool.stats().in_use, 1U);
  pool.release(last);
  EXPECT_EQ(pool.shrink_to(1), 40U);
  EXPECT_EQ(live(), 1U);
}

TEST_P(IdleObjects, AsManyAsAreInUseLeaveNoneIdle) {
  pool_type pool(40);
  auto all = test::drain(pool);
  const std::vector<tracked*> idle(all.begin() + 10, all.end());
  all.resize(10);
  test::release_all(pool, idle);
  (void)pool.shrink_to(10);
  EXPECT_EQ(live(), 10U);
  (void)pool.shrink_to(5);
  EXPECT_EQ(live(), 10U);
  test::release_all(pool, all);
}

#ifndef LIDO_TEST_CHECKED  // checked pools do not grow
TEST_P(IdleObjects, OfAPoolThatGrowsGoWithTheirSegmentsOrWithoutThem) {
  pool_type pool({.max_capacity = 100'000, .when_full = when_full::grow});
  const auto one = pool.acquire();
  const std::size_t segment = pool.capacity();
  {
    std::vector<pool_type::lease_type> leases;
    while (leases.size() < 2 * segment) {
      leases.push_back(pool.acquire());
    }
  }
  EXPECT_EQ(live(), 2 * segment + 1);
  EXPECT_EQ(pool.shrink_to(0), segment);
  EXPECT_EQ(live(), 1U);
}
#endif

TEST_P(IdleObjects, MadeEagerlyAreCreatedAgainByAcquires) {
  pool_type pool({.capacity = 8, .creation = creation::eager});
  (void)pool.shrink_to(0);
  EXPECT_EQ(live(), 0U);
  EXPECT_EQ(test::count_acquirable(pool), 8U);
  EXPECT_EQ(live(), 8U);
}

TEST_P(IdleObjects, MadeEagerlyAreFoundInSlotsThatWereNeverAcquired) {
  pool_type pool({.capacity = 3000, .creation = creation::eager});
  pool.acquire().reset();
  (void)pool.shrink_to(1000);
  EXPECT_EQ(live(), 1000U);
  (void)pool.shrink_to(0);
  EXPECT_EQ(live(), 0U);
  EXPECT_EQ(test::count_acquirable(pool), 3000U);
}

TEST_P(IdleObjects, AreFoundAmongSlotsThatWereNeverAcquired) {
  for (const std::size_t used : {1U, 31U, 33U, 300U, 700U}) {
    SCOPED_TRACE(used);
    pool_type pool({.capacity = 3000, .max_cached = 40});
    test::fill_own_cache(pool, used);
    EXPECT_EQ(live(), used);
    (void)pool.shrink_to(used / 2);
    EXPECT_EQ(live(), used / 2);
    (void)pool.shrink_to(0);
    EXPECT_EQ(live(), 0U);
    EXPECT_EQ(test::count_acquirable(pool), 3000U);
  }
}

TEST(IdleObjectsOfNoPool, AShrinkOfAFixedPoolWithoutHooksHasNoEffect) {
  object_pool<int> pool(8);
  auto lease = pool.acquire(3);
  EXPECT_EQ(pool.shrink_to(0), 8U);
  EXPECT_EQ(*lease, 3);
  EXPECT_EQ(pool.stats().in_use, 1U);
  lease.reset();
  EXPECT_EQ(test::count_acquirable(pool), 8U);
}

#if !LIDO_TEST_ASAN && !LIDO_TEST_TSAN && !defined(_WIN32) && !defined(LIDO_TEST_CHECKED)
TEST(IdleObjectsOfALargePool, AreFoundWithoutTouchingBookkeepingThatWasNeverUsed) {
  test::kept_pool_of<int> pool(20'000'000);
  test::fill_own_cache(pool, 100);
  const std::size_t before = test::resident_bytes();
  (void)pool.shrink_to(0);
  EXPECT_EQ(pool.stats().live, 0U);
  EXPECT_LT(test::resident_bytes(), before + (std::size_t{8} << 20U));
}
#endif

/// Hooks that run the test's function on destruction.
struct obliging_hooks {
  const std::function<void()>* in_destroy;
  void destroy(int& /*object*/) const noexcept {
    if (*in_destroy) {
      (*in_destroy)();
    }
  }
};

class HookOfIdleObjects : public ::testing::TestWithParam<test::pool_kind> {
 protected:
  static constexpr std::size_t slots = 64;
  using pool_type = test::keeping_pool<int, obliging_hooks>;

  void SetUp() override { EXPECT_EQ(test::count_acquirable(pool_), slots); }
  void TearDown() override { in_destroy_ = nullptr; }

  /// Acquires `count` objects, and releases them.
  void take(std::size_t count) {
    std::vector<pool_type::lease_type> leases;
    while (leases.size() < count) {
      leases.push_back(pool_.try_acquire());
      ASSERT_TRUE(leases.back()) << "a free slot was not found: " << leases.size();
    }
  }

  std::function<void()> in_destroy_;
  pool_type pool_{{.capacity = slots, .when_full = when_full::wait}, obliging_hooks{&in_destroy_}};
};
INSTANTIATE_TEST_SUITE_P(Kinds, HookOfIdleObjects, test::pool_kinds, test::pool_kind_name);

TEST_P(HookOfIdleObjects, MayTakeItsTimeWhileOthersFindAllOtherSlots) {
  std::latch begun(1);
  std::latch taken(1);
  in_destroy_ = [&, called = false]() mutable {
    if (!std::exchange(called, true)) {
      begun.count_down();
      taken.wait();
    }
  };
  std::jthread shrinker([&] { (void)pool_.shrink_to(0); });
  begun.wait();
  take(slots - 1);
  taken.count_down();
  shrinker.join();
  in_destroy_ = nullptr;
  take(slots);
}

// On a busy machine the hook may be stopped for as long as an acquire waits without seeing
// progress, but not each time.
TEST_P(HookOfIdleObjects, IsWaitedForByAnAcquireThatFindsNothing) {
  std::vector<pool_type::lease_type> leases;
  while (leases.size() < slots - 1) {
    leases.push_back(pool_.acquire());
  }
  bool found = false;
  for (int attempt = 0; attempt < 5 && !found; ++attempt) {
    pool_.acquire().reset();  // makes the object of the last slot
    std::latch begun(1);
    in_destroy_ = [&] {
      begun.count_down();
      std::this_thread::sleep_for(20ms);
    };
    std::jthread shrinker([&] { (void)pool_.shrink_to(0); });
    begun.wait();
    auto lease = pool_.try_acquire();
    found = static_cast<bool>(lease);
    shrinker.join();
    in_destroy_ = nullptr;
  }
  EXPECT_TRUE(found);
}

TEST_P(HookOfIdleObjects, LeavesTheHighWaterMarkToOthers) {
  pool_type pool({.capacity = 2000}, obliging_hooks{&in_destroy_});
  pool.acquire().reset();  // makes one object
  std::latch begun(1);
  std::latch used(1);
  in_destroy_ = [&, called = false]() mutable {
    if (!std::exchange(called, true)) {
      begun.count_down();
      used.wait();
    }
  };
  std::jthread shrinker([&] { (void)pool.shrink_to(0); });
  begun.wait();
  test::fill_own_cache(pool, 1500);
  used.count_down();
  shrinker.join();
  in_destroy_ = nullptr;
  EXPECT_GE(pool.stats().high_water, 1000U);
}

TEST_P(HookOfIdleObjects, GivesItsSlotToAThreadThatWaits) {
  std::vector<pool_type::lease_type> leases;
  while (leases.size() < slots - 1) {
    leases.push_back(pool_.acquire());
  }
  pool_.acquire().reset();  // makes the object of the last slot
  std::latch begun(1);
  in_destroy_ = [&] {
    begun.count_down();
    std::this_thread::sleep_for(300ms);  // longer than an acquire waits for a thread that carries
  };
  std::jthread shrinker([&] { (void)pool_.shrink_to(0); });
  begun.wait();
  EXPECT_TRUE(pool_.acquire_for(60s));
  shrinker.join();
  in_destroy_ = nullptr;
}

TEST_P(HookOfIdleObjects, MayUseThePool) {
  std::size_t destroyed = 0;
  in_destroy_ = [&] {
    if (destroyed++ == 0) {
      take(slots - 1);
      EXPECT_EQ(pool_.shrink_to(slots), slots);
    }
  };
  (void)pool_.shrink_to(0);
  (void)pool_.shrink_to(0);  // destroys those that were in use during the first call
  EXPECT_EQ(pool_.stats().live, 0U);
  EXPECT_EQ(destroyed, slots);
  take(slots);
}

TEST_P(HookOfIdleObjects, IsCalledOnceForEachObjectByTwoShrinks) {
  std::atomic<std::size_t> destroyed{0};
  in_destroy_ = [&] { ++destroyed; };
  test::run_crew(2, [&](unsigned /*index*/) { (void)pool_.shrink_to(0); });
  EXPECT_EQ(pool_.stats().live, slots - destroyed);
  (void)pool_.shrink_to(0);  // destroys those that one thread moved while the other looked
  EXPECT_EQ(pool_.stats().live, 0U);
  EXPECT_EQ(destroyed, slots);
  take(slots);
}

#ifndef LIDO_TEST_CHECKED  // checked pools do not grow
TEST_P(HookOfIdleObjects, MayGrowAndShrinkAPoolThatGrows) {
  pool_type pool({.max_capacity = 100'000, .when_full = when_full::grow},
                 obliging_hooks{&in_destroy_});
  const auto kept = pool.acquire();
  const std::size_t segment = pool.capacity();
  pool.acquire().reset();
  bool called = false;
  in_destroy_ = [&] {
    if (!std::exchange(called, true)) {
      pool.reserve(2 * segment);
      EXPECT_EQ(pool.capacity(), 2 * segment);
      EXPECT_EQ(pool.shrink_to(0), segment);
    }
  };
  EXPECT_EQ(pool.shrink_to(0), segment);
  EXPECT_TRUE(called);
  EXPECT_EQ(pool.stats().live, 1U);
  EXPECT_EQ(pool.stats().in_use, 1U);
  in_destroy_ = nullptr;
}
#endif

TEST_P(HookOfIdleObjects, MayShrinkThePool) {
  bool called = false;
  in_destroy_ = [&] {
    if (!std::exchange(called, true)) {
      (void)pool_.shrink_to(0);
      EXPECT_EQ(pool_.stats().live, 0U);  // the object of this hook no longer counts
    }
  };
  (void)pool_.shrink_to(10);
  EXPECT_EQ(pool_.stats().live, 0U);
  take(slots);
}

}  // namespace
}  // namespace lido
