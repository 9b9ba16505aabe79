// The letters and numbers are those of docs/reference/tests.md.
#include <gtest/gtest.h>

#include <sys/resource.h>
#include <time.h>

#include <latch>
#include <string>
#include <thread>
#include <vector>

#include "support/crew.hpp"
#include "support/resource_fixtures.hpp"
#include "support/signals.hpp"
#include "support/ways_to_make_room.hpp"

namespace lido {
namespace {

using namespace std::chrono_literals;
using test::eventually;
using test::failure_of;
using test::fake_lease;
using test::fake_pool;

static_assert(sizeof(detail::resource_waiter) == detail::no_false_sharing);

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

class ResourceWaiting : public test::resource_in_each_mode {};

TEST_P(ResourceWaiting, LendsWhatItMadeAndLendsItAgain) {
  fake_pool& pool = start({.max_size = 2});
  const int id = pool.acquire()->id;
  for (int i = 0; i < 10; ++i) {
    EXPECT_EQ(pool.acquire()->id, id);
  }
  EXPECT_EQ(server.creates, 1);
  EXPECT_EQ(server.resets, 11);
  EXPECT_EQ(pool.stats().uses, 11U);
}

TEST_P(ResourceWaiting, AllOfMaxSizeCanBeOutAndNotOneMore) {
  fake_pool& pool = start({.max_size = 3, .detect_hold_and_wait = false});
  const fake_lease first = pool.acquire();
  const fake_lease second = pool.acquire();
  const fake_lease third = pool.acquire();
  const auto begin = std::chrono::steady_clock::now();
  EXPECT_FALSE(pool.try_acquire());
  EXPECT_LT(std::chrono::steady_clock::now() - begin, 10s) << "it does not wait";
  EXPECT_EQ(failure_of(pool, 5ms), acquire_failure::timed_out);
  EXPECT_EQ(pool.stats().in_use, 3U);
  EXPECT_EQ(pool.stats().live, 3U);
}

// Stormpot BSlot.release: what a thread had last is kept for it.
TEST_P(ResourceWaiting, AllOfMaxSizeCanBeOutThoughOtherThreadsHadThemLast) {
  constexpr unsigned size = 4;
  fake_pool& pool = start({.max_size = size, .max_creating = size});
  std::latch all_have(size);
  const test::parked_crew crew(size, [&](unsigned /*thread*/) {
    const fake_lease mine = pool.acquire_for(20s);
    EXPECT_TRUE(mine);
    all_have.arrive_and_wait();  // one each, so that each is what some thread had last
  });
  std::vector<fake_lease> held(size);
  for (fake_lease& one : held) {
    one = pool.try_acquire();
    EXPECT_TRUE(one);
  }
  EXPECT_FALSE(pool.try_acquire());
  EXPECT_EQ(server.creates, static_cast<int>(size));
}

TEST_P(ResourceWaiting, AWaitingThreadIsHandedWhatComesBack) {
  fake_pool& pool = start({.max_size = 1});
  fake_lease held = pool.acquire();
  const int id = held->id;
  std::jthread waiting([&] { EXPECT_EQ(pool.acquire()->id, id); });
  ASSERT_TRUE(eventually([&] { return pool.stats().waiters == 1; }));
  held.reset();
  waiting.join();
  EXPECT_EQ(pool.stats().handed_over, 1U + (server.creates == 1 ? 1U : 0U));
}

// djc/bb8 #67: a cancelled `get` loses a connection. boostorg/mysql #509: or swallows a wake-up.
TEST_P(ResourceWaiting, A1A2ACancelledWaiterLosesNothingAndSwallowsNothing) {
  fake_pool& pool = start({.max_size = 1});
  for (int i = 0; i < 200; ++i) {
    fake_lease held = pool.acquire();
    std::stop_source stop;
    std::jthread cancelled([&] {
      try {
        (void)pool.acquire(stop.get_token());
      } catch (const acquire_error& error) {
        EXPECT_EQ(error.cause(), acquire_failure::cancelled);
      }
    });
    std::jthread other([&] { EXPECT_TRUE(pool.acquire_for(10s)); });
    std::jthread canceller([&] { stop.request_stop(); });
    held.reset();
  }
  EXPECT_TRUE(pool.try_acquire());
}

// vitessio/vitess #17662, djc/bb8 #122: returned between the look and the joining of the queue.
TEST_P(ResourceWaiting, A5NobodySleepsBesideAnIdleResource) {
  fake_pool& pool = start({.max_size = 1});
  test::run_crew(3, [&](unsigned) {
    for (int i = 0; i < 300; ++i) {
      EXPECT_TRUE(pool.acquire_for(20s));
    }
  });
}

// djc/bb8 #167, POOL-424: nobody is told that there is room again.
TEST_P(ResourceWaiting, A7EveryWayToFreeRoomServesAWaiter) {
  test::manual_clock clock;
  for (const test::way_to_make_room& way : test::ways_to_make_room(server, clock)) {
    SCOPED_TRACE(way.name);
    fake_pool& pool = start(way.options);
    fake_lease held = pool.acquire();
    std::jthread waiting([&] { EXPECT_NO_THROW((void)pool.acquire_for(10s)); });
    ASSERT_TRUE(eventually([&] { return pool.stats().waiters == 1; }));
    way.make_room(pool, held);
    waiting.join();
    held.reset();
    end();
  }
}

// Who waits for the next try of a factory waits no longer than that is there.
TEST_P(ResourceWaiting, A7AWaiterIsServedByANewFactory) {
  fake_pool& pool = start({.max_size = 1, .retry_first = 10min, .retry_longest = 10min});
  server.down = true;
  std::jthread waiting([&] { EXPECT_NO_THROW((void)pool.acquire_for(10s)); });
  ASSERT_TRUE(eventually([&] { return pool.stats().create_failures == 1; }));
  server.down = false;
  pool.replace_factory(test::fake_factory{&server});
}

// jackc/pgx PR #2350, boostorg/mysql #487: no time-out, or none of one's own. POOL-418: too short.
TEST_P(ResourceWaiting, A11A12TimesAreKept) {
  fake_pool& pool = start({.max_size = 1, .acquire_timeout = 20ms, .detect_hold_and_wait = false});
  const fake_lease held = pool.acquire_for(30s);  // the machine may be busy
  auto begin = std::chrono::steady_clock::now();
  EXPECT_THROW((void)pool.acquire(), acquire_error);
  EXPECT_GE(std::chrono::steady_clock::now() - begin, 20ms);
  EXPECT_LT(std::chrono::steady_clock::now() - begin, 10s);
  begin = std::chrono::steady_clock::now();
  EXPECT_EQ(failure_of(pool, 5ms), acquire_failure::timed_out);
  EXPECT_GE(std::chrono::steady_clock::now() - begin, 5ms);
  EXPECT_LT(std::chrono::steady_clock::now() - begin, 10s);  // where nothing said would be 30 s
  EXPECT_EQ(failure_of(pool, -5ms), acquire_failure::timed_out);
}

// A wake-up that says nothing: who waits goes on for the rest of its time, and still gets what
// comes.
TEST_P(ResourceWaiting, A12WhoIsWokenForNothingWaitsOn) {
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
  EXPECT_TRUE(eventually([&] { return was_disturbed(100) && pool.stats().waiters == 1; }));
  has_released = true;
  held.reset();
  EXPECT_TRUE(eventually([&] { return was_disturbed(0) && done; }));
}

// For so long that the pool's thread looks after it: some fall asleep, some are woken for nothing.
TEST_P(ResourceWaiting, A12AWaitOfSecondsEndsInTimeToo) {
  constexpr unsigned threads = 4;
  fake_pool& pool = start({.max_size = 1});
  fake_lease held = pool.acquire();
  const test::signals_without_restart signals;
  std::atomic<unsigned> done{0};
  std::vector<std::jthread> waiting;
  for (unsigned thread = 0; thread < threads; ++thread) {
    waiting.emplace_back([&, wait = 4100ms + thread * 50ms] {
      const auto begin = std::chrono::steady_clock::now();
      EXPECT_EQ(failure_of(pool, wait), acquire_failure::timed_out);
      EXPECT_GE(std::chrono::steady_clock::now() - begin, wait);
      EXPECT_LT(std::chrono::steady_clock::now() - begin, wait + 5s);
      ++done;
    });
  }
  ASSERT_TRUE(eventually([&] { return pool.stats().waiters == threads; }));
  EXPECT_TRUE(eventually([&] {
    signals.send(waiting.back());
    return done == threads;
  }));
  EXPECT_EQ(pool.stats().timed_out, threads);
  held.reset();  // or who was forgotten would wait for ever
}

// What can be had now, as `try_acquire` has it: a new one, too.
TEST_P(ResourceWaiting, A11WhoGivesNoTimeIsNotRefusedForEver) {
  fake_pool& pool = start({.max_size = 1});
  EXPECT_TRUE(eventually([&] {
    try {
      return static_cast<bool>(pool.acquire_for(0ms));
    } catch (const acquire_error&) {
      return false;
    }
  }));
}

TEST_P(ResourceWaiting, A11ATimeIsKeptThoughCreatesFailAllTheTime) {
  fake_pool& pool = start({.max_size = 2, .retry_first = 1ns, .retry_longest = 1ns});
  const auto held = pool.acquire();
  server.down = true;
  const auto begin = std::chrono::steady_clock::now();
  EXPECT_EQ(test::failure_of(pool, 20ms), acquire_failure::timed_out);
  EXPECT_LT(std::chrono::steady_clock::now() - begin, 10s);
}

TEST_P(ResourceWaiting, AnyMomentOfAnyClockIsATime) {
  fake_pool& pool = start({.max_size = 1, .detect_hold_and_wait = false});
  fake_lease held = pool.acquire_until(std::chrono::steady_clock::time_point::max());
  EXPECT_TRUE(held);
  for (const auto past :
       {std::chrono::system_clock::time_point::min(), std::chrono::system_clock::now() - 1s}) {
    EXPECT_THROW((void)pool.acquire_until(past), acquire_error);
  }
}

// transact-rs/sqlx #2276, djc/bb8 #227: is it a leak, a slow query, a failing connect?
TEST_P(ResourceWaiting, A13TheErrorSaysWhy) {
  server.down = true;
  fake_pool& pool = start({.max_size = 4, .name = "orders"});
  ASSERT_TRUE(eventually([&] {
    EXPECT_EQ(failure_of(pool, 5ms), acquire_failure::timed_out);
    return pool.stats().create_failures > 0;
  }));
  try {
    (void)pool.acquire_for(50ms);
    FAIL();
  } catch (const acquire_error& error) {
    EXPECT_EQ(error.cause(), acquire_failure::timed_out);
    EXPECT_TRUE(error.create_error());
    EXPECT_EQ(error.counts().max_size, 4U);
    const std::string what = error.what();
    EXPECT_NE(what.find("'orders'"), std::string::npos) << what;
    EXPECT_NE(what.find("connection refused"), std::string::npos) << what;
  }
}

// apache/commons-pool PR #346: nobody will ever return anything, and nothing is made.
TEST_P(ResourceWaiting, A15AWaiterOfAnEmptyPoolIsServedOnceCreatesGoWell) {
  server.down = true;
  fake_pool& pool = start({.max_size = 1, .retry_first = 1ms, .retry_longest = 2ms});
  std::jthread waiting([&] { EXPECT_TRUE(pool.acquire_for(10s)); });
  ASSERT_TRUE(eventually([&] { return server.creates >= 3; }));
  server.down = false;
}

// djc/bb8 #227, PR #147: a wrong password is tried again for thirty seconds.
TEST_P(ResourceWaiting, D10APermanentErrorIsToldAtOnce) {
  server.wrong_password = true;
  fake_pool& pool = start({.max_size = 4});
  const auto begin = std::chrono::steady_clock::now();
  EXPECT_EQ(failure_of(pool, 20s), acquire_failure::create_failed);
  EXPECT_EQ(failure_of(pool, 20s), acquire_failure::create_failed);
  EXPECT_LT(std::chrono::steady_clock::now() - begin, 10s);
  EXPECT_LE(server.creates, 2);  // the second acquire did not ask the server again
}

// The same, of those who waited for what another thread had, which is then gone.
TEST_P(ResourceWaiting, D10ThePermanentErrorIsToldWhenTheLastResourceGoes) {
  fake_pool& pool = start({.max_size = 2, .retry_first = 100s, .retry_longest = 100s});
  fake_lease held = pool.acquire();
  server.wrong_password = true;
  const auto begin = std::chrono::steady_clock::now();
  std::jthread waiting([&] { EXPECT_EQ(failure_of(pool, 50s), acquire_failure::create_failed); });
  EXPECT_TRUE(
      eventually([&] { return pool.stats().create_failures == 1 && pool.stats().waiters == 1; }));
  held.discard();
  waiting.join();
  EXPECT_LT(std::chrono::steady_clock::now() - begin, 40s);
}

// globalsign/mgo PR #115: waiters that poll. HikariCP CHANGES 7.0.1: storms of yields.
TEST_P(ResourceWaiting, H5H6AWaitingThreadSleeps) {
  fake_pool& pool = start({.max_size = 1, .acquire_timeout = 1s});
  const fake_lease held = pool.acquire_for(10s);
  long sleeps = 0;
  std::chrono::nanoseconds work{0};
  // More than once: a busy machine may let it wait for other things, such as a mutex.
  for (int attempt = 0; attempt < 5 && (attempt == 0 || sleeps > 2 || work > 100ms); ++attempt) {
    test::run_in_new_thread([&] {
      EXPECT_THROW((void)pool.acquire(), acquire_error);
      sleeps = sleeps_of_this_thread();
      work = processor_time_of_this_thread();  // which yields take, and are no sleeps
    });
  }
  EXPECT_GE(sleeps, 1);
  EXPECT_LE(sleeps, 2);
  EXPECT_LE(work, 100ms);
}

/// Of a crowd that waits for one resource, and uses it one after the other: how often all of it has
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
      std::this_thread::sleep_for(5ms);  // who was woken for nothing sleeps again
    });
  }
  EXPECT_TRUE(eventually([&] { return pool.stats().waiters == crowd; }));
  held.reset();
  waiting.clear();
  return sleeps;
}

// brettwooldridge/HikariCP #343: one released, all woken. Then the last one served would have been
// woken eight times.
TEST_P(ResourceWaiting, H4OneReleaseWakesOneThread) {
  constexpr unsigned crowd = 8;
  constexpr long too_many = 3 * crowd;
  fake_pool& pool = start({.max_size = 1});
  long sleeps = too_many;
  for (int attempt = 0; attempt < 5 && sleeps >= too_many; ++attempt) {  // as in H5H6
    sleeps = sleeps_of_crowd(pool, crowd);
  }
  EXPECT_LT(sleeps, too_many);
}

LIDO_TEST_IN_ALL_MODES(ResourceWaiting);

}  // namespace
}  // namespace lido
