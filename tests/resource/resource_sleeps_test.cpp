// How often threads that wait sleep, and what wakes them. docs/reference/tests.md explains the
// letters and numbers in test names.
#include <gtest/gtest.h>
#include <sys/resource.h>
#include <time.h>

#include <atomic>
#include <chrono>
#include <thread>
#include <vector>

#include "support/crew.hpp"
#include "support/resource_fixtures.hpp"
#include "support/signals.hpp"

namespace lido {
namespace {

using namespace std::chrono_literals;
using test::eventually;
using test::failure_of;
using test::fake_lease;
using test::fake_pool;

long sleeps_of_this_thread() {
  rusage used{};
  EXPECT_EQ(::getrusage(RUSAGE_THREAD, &used), 0);
  return used.ru_nvcsw;  // NOLINT(cppcoreguidelines-pro-type-union-access): glibc's
}

std::chrono::nanoseconds processor_time_of_this_thread() {
  timespec used{};
  EXPECT_EQ(::clock_gettime(CLOCK_THREAD_CPUTIME_ID, &used), 0);
  return std::chrono::seconds(used.tv_sec) + std::chrono::nanoseconds(used.tv_nsec);
}

class ResourceSleeping : public test::resource_in_each_mode {};

// After a spurious wake-up a waiter waits for the rest of its time, and can still be served.
TEST_P(ResourceSleeping, A12AWaiterWokenForNothingWaitsOn) {
  fake_pool& pool = start({.max_size = 1});
  fake_lease held = pool.acquire();
  const int id = held->id;
  const test::signals_without_restart signals;
  std::atomic<bool> has_released{false};
  std::atomic<bool> done{false};
  std::jthread waiting([&] {
    const auto begin = std::chrono::steady_clock::now();
    EXPECT_EQ(failure_of(pool, 100ms), acquire_failure::timed_out);
    EXPECT_GE(std::chrono::steady_clock::now() - begin, 100ms);
    EXPECT_NO_THROW(EXPECT_EQ(pool.acquire_for(5min)->id, id));
    EXPECT_TRUE(has_released);
    done = true;
  });
  const auto was_disturbed = [&, before = signals.handled()](int times) {
    signals.send(waiting);
    return signals.handled() >= before + times;
  };
  EXPECT_TRUE(eventually([&] { return was_disturbed(20) && pool.stats().timed_out == 1; }));
  EXPECT_TRUE(eventually([&] { return was_disturbed(100) && pool.stats().waiting == 1; }));
  has_released = true;
  held.reset();
  EXPECT_TRUE(eventually([&] { return was_disturbed(0) && done; }));
}

// globalsign/mgo PR #115: waiters that poll. HikariCP CHANGES 7.0.1: storms of yields.
TEST_P(ResourceSleeping, H5H6AWaitingThreadSleeps) {
  fake_pool& pool = start({.max_size = 1, .acquire_timeout = 1s});
  const fake_lease held = pool.acquire_for(10s);
  long sleeps = 0;
  std::chrono::nanoseconds work{0};
  // Repeated, since on a busy machine the thread may also sleep for a mutex.
  for (int attempt = 0; attempt < 5 && (attempt == 0 || sleeps > 2 || work > 100ms); ++attempt) {
    test::run_in_new_thread([&] {
      EXPECT_THROW((void)pool.acquire(), acquire_error);
      sleeps = sleeps_of_this_thread();
      work = processor_time_of_this_thread();  // includes yields, unlike sleeps
    });
  }
  EXPECT_GE(sleeps, 1);
  EXPECT_LE(sleeps, 2);
  EXPECT_LE(work, 100ms);
}

/// Threads wait for one resource, and use it one after the other. Returns how often all of them
/// slept.
long sleeps_of_crowd(fake_pool& pool, unsigned crowd) {
  fake_lease held = pool.acquire_for(30s);
  std::atomic<long> sleeps{0};
  std::vector<std::jthread> waiting;
  for (unsigned i = 0; i < crowd; ++i) {
    waiting.emplace_back([&] {
      const long before = sleeps_of_this_thread();
      const fake_lease mine = pool.acquire_for(30s);
      sleeps += sleeps_of_this_thread() - before;
      EXPECT_TRUE(mine);
      std::this_thread::sleep_for(5ms);  // a waiter that was woken needlessly sleeps again
    });
  }
  EXPECT_TRUE(eventually([&] { return pool.stats().waiting == crowd; }));
  held.reset();
  waiting.clear();
  return sleeps;
}

// brettwooldridge/HikariCP #343: one release wakes all waiters. The last of these would wake eight
// times.
TEST_P(ResourceSleeping, H4OneReleaseWakesOneThread) {
  constexpr unsigned crowd = 8;
  constexpr long too_many = 3 * crowd;
  fake_pool& pool = start({.max_size = 1});
  long sleeps = too_many;
  for (int attempt = 0; attempt < 5 && sleeps >= too_many; ++attempt) {  // as in H5H6
    sleeps = sleeps_of_crowd(pool, crowd);
  }
  EXPECT_LT(sleeps, too_many);
}

LIDO_TEST_IN_ALL_MODES(ResourceSleeping);

}  // namespace
}  // namespace lido
