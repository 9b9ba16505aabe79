// By callers: threads that wait run code of users, and may be long about it.
#include <gtest/gtest.h>

#include <array>
#include <atomic>
#include <chrono>
#include <cstdint>
#include <exception>
#include <thread>
#include <vector>

#include "support/resource_fixtures.hpp"

namespace lido {
namespace {

using namespace std::chrono_literals;
using test::eventually;
using test::fake_lease;
using test::fake_pool;

class ResourceWorkOfCallers : public testing::Test {
 protected:
  static resource_pool_options of_size(std::size_t max_size,
                                       std::chrono::nanoseconds trusted_for = 1h) {
    return {.max_size = max_size,
            .validate_if_idle_longer_than = trusted_for,
            .max_creating = 1,
            .upkeep = maintenance::by_callers};
  }
  /// A callback that holds its thread up.
  [[nodiscard]] auto slow_callback() {
    return [this](const fake_lease& /*got*/, const std::exception_ptr& /*error*/) {
      in_callback_ = true;
      test::wait_while(callback_lasts_);
    };
  }

  /// While a waiting thread is in a slow callback, what comes back goes to one behind it.
  void expect_others_served(fake_pool& pool, fake_lease& held) {
    ASSERT_TRUE(eventually([&] { return in_callback_.load(); }));
    std::atomic<bool> served{false};
    std::jthread behind([&] { served = !!pool.acquire_for(60s); });
    EXPECT_TRUE(eventually([&] { return pool.stats().waiters == 2; }));
    held.reset();
    EXPECT_TRUE(eventually([&] { return served.load(); })) << "it went to who is in a callback";
    callback_lasts_ = false;
  }
  /// A validation uses up the time of an acquire, and says no while somebody waits: who is late is
  /// told so before anything is made. Afterwards all goes well. The pool has room for one.
  template <class Join>
  void expect_nothing_made_late(fake_pool& pool, const Join& join) {
    (void)pool.acquire();
    server_.slow_validate = true;
    std::atomic<bool> over{false};
    std::jthread late([&] {
      EXPECT_EQ(test::failure_of(pool, 50ms), acquire_failure::timed_out);
      over = true;
    });
    ASSERT_TRUE(eventually([&] { return server_.validations == 1; }));
    join();
    std::this_thread::sleep_for(60ms);  // acquires go by real time
    server_.slow = true;
    server_.broken = true;
    server_.slow_validate = false;
    EXPECT_TRUE(eventually([&] { return over.load(); })) << "it makes one";
    server_.slow = false;
    server_.broken = false;
  }

  // NOLINTBEGIN(*-non-private-member-variables-in-classes): what each test sets
  test::fake_server server_;
  std::atomic<bool> in_callback_{false};
  std::atomic<bool> callback_lasts_{true};
  // NOLINTEND(*-non-private-member-variables-in-classes)
};

// An answer that came too late has made room, and the one who asked is not to fill it.
TEST_F(ResourceWorkOfCallers, NoCreateIsBegunWhenTheTimeIsOver) {
  fake_pool pool(test::fake_factory{&server_}, of_size(1, 0ns));
  std::jthread patient;
  expect_nothing_made_late(pool, [&] {
    patient = std::jthread([&] { EXPECT_TRUE(pool.acquire_for(60s)); });
    EXPECT_TRUE(eventually([&] { return pool.stats().waiters == 1; }));
  });
}

TEST_F(ResourceWorkOfCallers, WhoTellsALateCallbackIsGivenNothingMeanwhile) {
  fake_pool pool(test::fake_factory{&server_}, of_size(1));
  fake_lease held = pool.acquire();
  pool.async_acquire(slow_callback(), 200ms);  // still left when that returns: or it would tell it
  std::this_thread::sleep_for(205ms);
  std::jthread busy([&] { EXPECT_TRUE(pool.acquire_for(60s)); });
  expect_others_served(pool, held);
}

TEST_F(ResourceWorkOfCallers, WhoseCreateHasFailedIsGivenNothingWhileItTellsALateCallback) {
  resource_pool_options options = of_size(2);
  options.retry_first = 1ms;
  options.retry_longest = 1h;
  fake_pool pool(test::fake_factory{&server_}, options);
  fake_lease held = pool.acquire();
  server_.down = true;
  pool.async_acquire(slow_callback(), 200ms);
  const int before = server_.creates;
  server_.slow = true;
  std::jthread busy([&] { EXPECT_TRUE(pool.acquire_for(60s)); });
  ASSERT_TRUE(eventually([&] { return server_.creates > before; }));  // in the next try
  std::this_thread::sleep_for(205ms);
  server_.slow = false;
  expect_others_served(pool, held);
}

// An answer that used up the time has made room, and a callback waits for it.
TEST_F(ResourceWorkOfCallers, NothingIsMadeForCallbacksWhenTheTimeIsOver) {
  fake_pool pool(test::fake_factory{&server_}, of_size(1, 0ns));
  test::outcome told;
  expect_nothing_made_late(pool, [&] { pool.async_acquire(told.receiver(), 60s); });
  EXPECT_TRUE(eventually([&] {
    (void)pool.try_acquire();
    return told.calls == 1;
  }));
  told.lease.reset();
}

TEST_F(ResourceWorkOfCallers, ANextTryForCallbacksIsNotLateByAPeriod) {
  test::manual_clock clock;
  resource_pool_options options = of_size(1);
  options.retry_first = 20ms;
  options.retry_longest = 20ms;
  options.clock = &clock;
  server_.down = true;
  fake_pool pool(test::fake_factory{&server_}, options);
  test::outcome told;
  pool.async_acquire(told.receiver(), 60s);
  const int before = server_.creates;
  for (int i = 0; i < 5; ++i) {
    clock.advance(20ms);
    EXPECT_FALSE(pool.try_acquire());
    EXPECT_FALSE(pool.try_acquire());
  }
  EXPECT_EQ(server_.creates - before, 5);
}

TEST_F(ResourceWorkOfCallers, WhoMakesRoomMakesForCallbacksBehindAThread) {
  resource_pool_options options = of_size(1);
  options.max_creating = 8;
  fake_pool pool(test::fake_factory{&server_}, options);
  const fake_lease held = pool.acquire();
  std::atomic<bool> ends{false};
  std::jthread ahead([&] {
    const fake_lease got = pool.acquire_for(60s);
    EXPECT_TRUE(got);
    EXPECT_TRUE(eventually([&] { return ends.load(); }));
  });
  ASSERT_TRUE(eventually([&] { return pool.stats().waiters == 1; }));
  std::array<test::outcome, 3> told;
  for (test::outcome& one : told) {
    pool.async_acquire(one.receiver(), 60s);
  }
  pool.resize(5);
  EXPECT_TRUE(
      eventually([&] { return told[0].calls == 1 && told[1].calls == 1 && told[2].calls == 1; }));
  ends = true;
  ahead.join();
  for (test::outcome& one : told) {
    one.lease.reset();
  }
}

// At most one create of others, and none after the time is over.
TEST_F(ResourceWorkOfCallers, AnAcquireDoesNotMakeWhatAllCallbacksWaitFor) {
  resource_pool_options options = of_size(8);
  options.max_creating = 8;
  options.retry_first = 1ms;
  options.retry_longest = 1ms;
  server_.down = true;
  std::array<test::outcome, 6> told;
  fake_pool pool(test::fake_factory{&server_}, options);
  for (test::outcome& one : told) {
    pool.async_acquire(one.receiver(), 60s);
  }
  std::this_thread::sleep_for(5ms);
  server_.down = false;
  const int before = server_.creates;
  (void)pool.try_acquire();
  EXPECT_LE(server_.creates - before, 2);
  // What is left is for those that come later.
  EXPECT_TRUE(eventually([&] {
    (void)pool.try_acquire();
    int served = 0;
    for (const test::outcome& one : told) {
      served += one.calls;
    }
    return served == 6;
  }));
  for (test::outcome& one : told) {
    one.lease.reset();
  }
}

// What ends meanwhile has had the room that the callback waits for, and nobody else comes.
TEST_F(ResourceWorkOfCallers, AFlushAndAKillServeACallbackThatCameMeanwhile) {
  for (const bool kills : {false, true}) {
    fake_pool pool(test::fake_factory{&server_}, of_size(1));
    const resource_handle idle = pool.acquire().handle();
    server_.slow_destroy = true;
    std::jthread ends([&] { kills ? (void)pool.kill(idle) : pool.flush(); });
    ASSERT_TRUE(eventually([&] { return pool.stats().closing == 1; }));
    test::outcome told;
    pool.async_acquire(told.receiver(), 60s);
    EXPECT_EQ(told.calls, 0);
    server_.slow_destroy = false;
    EXPECT_TRUE(eventually([&] { return told.calls == 1; }));
    EXPECT_TRUE(told.lease);
    told.lease.reset();
  }
}

// One sleeps until the next try is due, and nobody else has to be woken for that.
TEST_F(ResourceWorkOfCallers, AHandOverWakesNobodyElseWhileCreatesFail) {
  constexpr int threads = 8;
  std::array<std::uint64_t, 2> locks{};
  for (const bool fails : {false, true}) {
    resource_pool_options options = of_size(2);
    options.retry_first = 1h;
    options.retry_longest = 1h;
    fake_pool pool(test::fake_factory{&server_}, options);
    fake_lease held = pool.acquire();
    if (fails) {
      server_.down = true;
      EXPECT_FALSE(pool.try_acquire());
    } else {
      pool.resize(1);
    }
    std::vector<std::jthread> waiting;
    for (int i = 0; i < threads; ++i) {
      waiting.emplace_back([&] {
        const fake_lease got = pool.acquire_for(60s);
        EXPECT_TRUE(got);
        std::this_thread::sleep_for(5ms);  // for who was woken for nothing to look around
      });
    }
    EXPECT_TRUE(eventually([&] { return pool.stats().waiters == threads; }));
    std::this_thread::sleep_for(50ms);  // until they sleep
    const auto before = pool.stats().mutex_locks;
    held.reset();
    waiting.clear();
    locks.at(fails ? 1 : 0) = pool.stats().mutex_locks - before;
  }
  EXPECT_LT(locks[1], locks[0] + threads / 2) << "of " << threads << " hand-overs";
}

// A reset may hang, and would be for nobody.
TEST_F(ResourceWorkOfCallers, WhatNobodyWantsIsNotResetFirst) {
  fake_pool pool(test::fake_factory{&server_}, of_size(2));
  fake_lease surplus = pool.acquire();
  fake_lease last = pool.acquire();
  pool.resize(1);
  surplus.reset();
  EXPECT_EQ(server_.resets, 0);
  EXPECT_EQ(server_.destroyed_for(destroy_reason::surplus), 1);
  pool.resize(2);
  EXPECT_TRUE(pool.acquire()) << "there is room again";
  (void)pool.close(0ns);
  last.reset();
  EXPECT_EQ(server_.resets, 1) << "of the one in between";
  EXPECT_EQ(server_.destroyed_for(destroy_reason::closed), 2);
}

}  // namespace
}  // namespace lido
