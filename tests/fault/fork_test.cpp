#include <gtest/gtest.h>
#include <pthread.h>
#include <sys/wait.h>
#include <unistd.h>

#include <atomic>
#include <chrono>
#include <cstddef>
#include <cstdint>
#include <cstdlib>
#include <functional>
#include <latch>
#include <memory>
#include <mutex>
#include <span>
#include <stop_token>
#include <thread>
#include <utility>
#include <vector>

#include "lido/checked.hpp"
#include "lido/co_acquire.hpp"
#include "lido/object_pool.hpp"
#include "support/crew.hpp"
#include "support/drain.hpp"
#include "support/misuse_log.hpp"
#include "support/preset_pool.hpp"
#include "support/sanitizers.hpp"
#include "support/take_number.hpp"

namespace lido {
namespace {

/// Runs `body` in a child made by `make`; returns its exit status, or -1 if it was killed.
template <class Body>
int status_of_child(pid_t (*make)(), const Body& body) {
  const pid_t child = make();
  if (child == 0) {
    std::_Exit(body() ? 0 : 1);
  }
  int status = 0;
  (void)::waitpid(child, &status, 0);
  return WIFEXITED(status) ? WEXITSTATUS(status) : -1;
}

TEST(Fork, ChildFindsWhatIsInTheCachesOfMissingThreads) {
  object_pool<int> pool(256);
  const test::parked_crew crew(4, [&](unsigned /*index*/) { test::fill_own_cache(pool, 20); });
  ASSERT_GT(pool.stats().cached, 0U);
  EXPECT_EQ(status_of_child(::fork, [&] { return test::count_acquirable(pool) == 256; }), 0);
  EXPECT_EQ(test::count_acquirable(pool), 256U);
}

TEST(Fork, ObjectsOfMissingThreadsStayInUse) {
  const test::misuse_log misuses;  // the threads of this process keep their objects, too
  object_pool<int> pool(256);
  const test::parked_crew crew(4, [&](unsigned /*index*/) { (void)pool.try_acquire_ptr(); });
  EXPECT_EQ(status_of_child(::fork,
                            [&] {
                              return pool.stats().in_use == 4 && pool.stats().open_caches == 0 &&
                                     test::count_acquirable(pool) == 252;
                            }),
            0);
}

/// A hook that forks in the first call; the child returns from the call, too.
struct forking_hooks {
  pid_t* child;
  void destroy(int& /*object*/) const noexcept {
    if (*child < 0) {
      *child = ::fork();
    }
  }
};
struct forking_traits : pool_traits<int> {
  using hooks = forking_hooks;
};

TEST(Fork, AHookThatShrinksAPoolMayFork) {
  pid_t child = -1;
  object_pool<int, forking_traits> pool({.capacity = 64}, forking_hooks{&child});
  EXPECT_EQ(test::count_acquirable(pool), 64U);
  (void)pool.shrink_to(0);
  const bool good = pool.stats().live == 0 && test::count_acquirable(pool) == 64;
  // An acquire that finds nothing must not wait for a thread that seems to carry slots.
  const std::vector<int*> all = test::drain(pool);
  bool refused = false;
  for (int attempt = 0; attempt < 5 && !refused; ++attempt) {
    const auto before = std::chrono::steady_clock::now();
    refused = pool.try_acquire_ptr() == nullptr &&
              std::chrono::steady_clock::now() - before < std::chrono::milliseconds(50);
  }
  test::release_all(pool, all);
  if (child == 0) {
    std::_Exit(good && refused ? 0 : 1);
  }
  EXPECT_TRUE(good && refused);
  int status = 0;
  (void)::waitpid(child, &status, 0);
  EXPECT_TRUE(WIFEXITED(status) && WEXITSTATUS(status) == 0);
}

using waited_for = test::preset_pool<int, pool_traits<int>, test::waits>;

/// Checks the child of a fork beside two waiters, which has both slots of the pool.
bool waits_for_itself_alone(std::unique_ptr<waited_for>& pool, std::vector<int*> held) {
  bool good = pool->stats().waiting == 0 && !pool->acquire_for(std::chrono::milliseconds(1));
  test::release_all(*pool, held);
  good = good && pool->stats().handed_over == 0 && test::count_acquirable(*pool) == held.size();
  good = good && pool->acquire_for(std::chrono::hours(1));
  pool.reset();  // which ends the program if a thread waits
  return good;
}

TEST(Fork, SlotsAreNotGivenToMissingWaiters) {
  auto pool = std::make_unique<waited_for>(2);
  const std::vector<int*> held = test::drain(*pool);
  const auto wait = [&] { EXPECT_TRUE(pool->acquire_for(std::chrono::hours(1))); };
  std::jthread first(wait);
  std::jthread second(wait);
  while (pool->stats().waiting != 2) {
    std::this_thread::yield();
  }
  EXPECT_EQ(status_of_child(::fork, [&] { return waits_for_itself_alone(pool, held); }), 0);
  EXPECT_EQ(pool->stats().waiting, 2U);
  test::release_all(*pool, held);
  first.join();
  second.join();
  EXPECT_EQ(test::count_acquirable(*pool), 2U);
}

/// Checks the child of a fork beside two callbacks that wait for the slot of the pool.
bool forgets_callbacks(object_pool<int>& pool, int* held, std::stop_source& stop,
                       const std::atomic<int>& calls) {
  bool good = pool.stats().waiting == 0;
  pool.release(held);
  good = good && calls == 0 && pool.stats().in_use == 0;
  (void)stop.request_stop();  // ends one wait
  good = good && calls == 1;
  bool is_served = false;  // the end of `again` serves the callback
  const auto again = pool.acquire();
  pool.async_acquire([&](const lease<int>& got) { is_served = static_cast<bool>(got); });
  return good && pool.stats().waiting == 1 && !is_served;
}

TEST(Fork, SlotsAreNotGivenToCallbacksOfTheParent) {
  object_pool<int> pool(1);
  int* const held = pool.try_acquire_ptr();
  std::stop_source stop;
  std::atomic<int> calls{0};
  pool.async_acquire([&](const lease<int>& /*got*/) { ++calls; }, std::chrono::hours(1));
  pool.async_acquire([&](const lease<int>& /*got*/) { ++calls; }, std::chrono::hours(1),
                     stop.get_token());
  EXPECT_EQ(status_of_child(::fork, [&] { return forgets_callbacks(pool, held, stop, calls); }), 0);
  EXPECT_EQ(pool.stats().waiting, 2U);
  pool.release(held);
  EXPECT_EQ(calls, 2);
}

#if !LIDO_TEST_TSAN  // which allows no threads in the child of a process with threads

TEST(Fork, NumbersOfMissingThreadsAreFreeAgain) {
  object_pool<int> pool(256);
  const test::parked_crew crew(100, [&](unsigned /*index*/) {
    (void)test::take_thread_number();
    pool.release(pool.try_acquire_ptr());
  });
  const auto new_number_is_low = [&] {
    std::size_t number = 0;
    test::run_in_new_thread([&] {
      pool.release(pool.try_acquire_ptr());
      number = detail::own_thread_offset() / detail::thread_stride;
    });
    return number != 0 && number <= 2;
  };
  EXPECT_FALSE(new_number_is_low());
  EXPECT_EQ(status_of_child(::fork, new_number_is_low), 0);
}

TEST(Fork, ThreadThatForkedKeepsItsNumber) {
  object_pool<int> pool(256);
  pool.release(pool.try_acquire_ptr());
  const std::size_t own = detail::own_thread_offset();
  ASSERT_NE(own, 0U);
  const auto next_has_another = [&] {
    std::size_t next = 0;
    test::run_in_new_thread([&] {
      pool.release(pool.try_acquire_ptr());
      next = detail::own_thread_offset();
    });
    return detail::own_thread_offset() == own && next != 0 && next != own;
  };
  EXPECT_EQ(status_of_child(::fork, next_has_another), 0);
}

#endif

/// Handlers that use pools, registered before the library's own.
struct handlers {
  static inline std::unique_ptr<object_pool<int>> pool;
  static inline bool sees_all = true;

  static void use() {
    if (pool != nullptr) {
      sees_all = sees_all && test::count_acquirable(*pool) == 64;
      const object_pool<int> another(16);
    }
  }
  static const int registered;
};
const int handlers::registered = ::pthread_atfork(use, use, use);

TEST(Fork, HandlersOfOthersMayUsePools) {
  ASSERT_EQ(handlers::registered, 0);
  handlers::pool = std::make_unique<object_pool<int>>(64);
  EXPECT_EQ(status_of_child(::fork, [] { return handlers::sees_all; }), 0);
  EXPECT_TRUE(handlers::sees_all);
  handlers::pool.reset();
}

/// Handlers that take a lock of the application's, older than the first pool.
struct locking_handlers {
  static inline std::mutex lock;
  static inline std::atomic<bool> are_watched{false};
  static inline std::atomic<bool> begun{false};

  static void before() {
    if (are_watched) {
      begun = true;
      lock.lock();
    }
  }
  static void after() {
    if (are_watched) {
      lock.unlock();
    }
  }
  static const int registered;
};
const int locking_handlers::registered =
    ::pthread_atfork(locking_handlers::before, locking_handlers::after, locking_handlers::after);

// The library's own mutex must not be taken before such a lock.
TEST(Fork, APoolIsMadeUnderALockThatAForkWaitsFor) {
  ASSERT_EQ(locking_handlers::registered, 0);
  const object_pool<int> first(8);
  std::atomic<bool> has{false};
  locking_handlers::are_watched = true;
  std::thread maker([&] {
    const std::lock_guard guard(locking_handlers::lock);
    has = true;
    while (!locking_handlers::begun) {
      std::this_thread::yield();
    }
    const object_pool<int> second(8);
    EXPECT_EQ(second.capacity(), 8U);
  });
  while (!has) {
    std::this_thread::yield();
  }
  EXPECT_EQ(status_of_child(::fork, [] { return true; }), 0);
  maker.join();
  locking_handlers::are_watched = false;
}

#if !LIDO_TEST_TSAN && !LIDO_TEST_ASAN  // which do not know of _Fork

TEST(ForkDeathTest, ProcessThatSkippedTheForkHandlersCannotMakePools) {
  const object_pool<int> pool(64);
  EXPECT_EXIT(
      {
        const int status = status_of_child(::_Fork, [] {
          const object_pool<int> another(64);
          return true;
        });
        std::_Exit(status == -1 ? 7 : 0);
      },
      ::testing::ExitedWithCode(7), "lido: this process was made by clone, vfork or _Fork");
}

TEST(ForkDeathTest, ProcessOfAForkedChildThatSkippedTheForkHandlersCannotMakePools) {
  const object_pool<int> pool(64);
  EXPECT_EXIT(
      {
        const int status = status_of_child(::fork, [] {
          const object_pool<int> another(64);
          return status_of_child(::_Fork, [] {
                   const object_pool<int> third(64);
                   return true;
                 }) == -1;
        });
        std::_Exit(status == 0 ? 7 : 0);
      },
      ::testing::ExitedWithCode(7), "lido: this process was made by clone, vfork or _Fork");
}

// Checked pools are looked up under a mutex, which a thread missing in the child may have locked.
TEST(ForkDeathTest, ProcessThatSkippedTheForkHandlersLooksUpNoCheckedPools) {
  object_pool<int, checked_traits<int>> pool({.capacity = 64, .caches = cache_kind::none});
  EXPECT_EXIT(
      {
        const int status = status_of_child(::_Fork, [&] {
          int stranger = 0;
          pool.release(&stranger);
          return true;
        });
        std::_Exit(status == -1 ? 7 : 0);
      },
      ::testing::ExitedWithCode(7), "lido: this process was made by clone, vfork or _Fork");
}

#endif

}  // namespace
}  // namespace lido
