// By callers: what threads that acquire make for callbacks, for which no thread sleeps.
#include <gtest/gtest.h>

#include <array>
#include <atomic>
#include <chrono>
#include <cstddef>
#include <stop_token>
#include <thread>
#include <utility>

#include "support/resource_fixtures.hpp"

namespace lido {
namespace {

using namespace std::chrono_literals;
using test::eventually;
using test::fake_lease;
using test::fake_pool;
using test::outcome;

/// Its creates are held up one by one: the first has the number 1.
struct gated_factory : test::fake_factory {
  std::atomic<int>* begun;
  std::array<std::atomic<bool>, 3>* held;
  [[nodiscard]] test::connection create(const create_context& context) const {
    const auto turn = static_cast<std::size_t>(++*begun);
    if (turn < held->size()) {
      test::wait_while((*held).at(turn));
    }
    return test::fake_factory::create(context);
  }
};

class ResourceWorkForCallbacks : public testing::Test {
 protected:
  static resource_pool_options of_size(std::size_t max_size) {
    return {.max_size = max_size,
            .validate_if_idle_longer_than = 1h,
            .max_creating = 1,
            .upkeep = maintenance::by_callers};
  }
  /// Many creates at once, and a next try each time the clock has gone on by 20 ms.
  resource_pool_options retrying(std::size_t max_size) {
    resource_pool_options options = of_size(max_size);
    options.max_creating = 8;
    options.retry_first = 20ms;
    options.retry_longest = 20ms;
    options.clock = &clock_;
    return options;
  }
  gated_factory gated() { return {{&server_}, &begun_, &held_}; }

  /// Begins a first create by `acquire`, in a thread of its own; a callback comes meanwhile, for
  /// which that thread then begins a second one.
  template <class Acquire>
  std::jthread make_two(fake_pool& pool, outcome& told, const Acquire& acquire) {
    begun_ = 0;
    held_[1] = true;
    held_[2] = true;
    std::jthread maker(acquire);
    EXPECT_TRUE(eventually([&] { return begun_ == 1; }));
    pool.async_acquire(told.receiver(), 60s);
    held_[1] = false;
    EXPECT_TRUE(eventually([&] { return begun_ == 2; }));
    return maker;
  }

  /// All that wait are told once others acquire.
  template <std::size_t Count>
  void expect_all_served(fake_pool& pool, std::array<outcome, Count>& told) {
    EXPECT_TRUE(eventually([&] {
      clock_.advance(20ms);
      (void)pool.try_acquire();
      std::size_t served = 0;
      for (const outcome& one : told) {
        served += one.calls == 1 ? 1 : 0;
      }
      return served == Count;
    }));
    for (outcome& one : told) {
      one.lease.reset();
    }
  }

  // NOLINTBEGIN(*-non-private-member-variables-in-classes): what each test sets
  test::manual_clock clock_;
  test::fake_server server_;
  std::atomic<int> begun_{0};
  std::array<std::atomic<bool>, 3> held_{};
  // NOLINTEND(*-non-private-member-variables-in-classes)
};

TEST_F(ResourceWorkForCallbacks, WhoHasItsResourceDoesNotLoseItForACallback) {
  resource_pool_options options = of_size(2);
  options.validate_if_idle_longer_than = 1ms;  // and after the time of the acquire nobody asks it
  outcome told;
  fake_pool pool(gated(), options);
  std::atomic<bool> served{false};
  {
    const std::jthread maker = make_two(
        pool, told, [&] { EXPECT_NO_THROW(served = static_cast<bool>(pool.acquire_for(1s))); });
    std::this_thread::sleep_for(1100ms);  // acquires go by real time
    held_[2] = false;
  }
  EXPECT_TRUE(served);
  EXPECT_EQ(told.calls, 1);
  told.lease.reset();
}

TEST_F(ResourceWorkForCallbacks, ALeaseBeginsWhenItsUserHasIt) {
  for (const bool waits : {false, true}) {
    std::atomic<int> slow{0};
    resource_pool_options options = of_size(2);
    options.clock = &clock_;
    options.report_slow_after = 1s;
    options.on_event = [&](const pool_event& event) {
      slow += event.what == pool_event::kind::slow_lease ? 1 : 0;
    };
    outcome told;
    fake_pool pool(gated(), options);
    fake_lease lease;
    {
      const std::jthread maker =
          make_two(pool, told, [&] { lease = waits ? pool.acquire_for(60s) : pool.try_acquire(); });
      clock_.advance(2s);
      (void)pool.try_acquire();
      EXPECT_EQ(slow, 0);
      held_[2] = false;
    }
    told.lease.reset();
    EXPECT_TRUE(lease);
    clock_.advance(2s);
    (void)pool.try_acquire();
    EXPECT_EQ(slow, 1);
    lease.reset();
  }
}

TEST_F(ResourceWorkForCallbacks, AnAcquireByCallbackGoesOnWhileItHasTime) {
  std::array<outcome, 3> told;
  fake_pool pool(test::fake_factory{&server_}, of_size(4));
  server_.slow = true;
  std::jthread maker([&] { pool.async_acquire(told[0].receiver(), 60s); });
  ASSERT_TRUE(eventually([&] { return server_.creating == 1; }));
  pool.async_acquire(told[1].receiver(), 60s);
  pool.async_acquire(told[2].receiver(), 60s);
  server_.slow = false;
  maker.join();
  for (const outcome& one : told) {
    EXPECT_EQ(one.calls, 1) << "beside room, and nobody else comes";
  }
  for (outcome& one : told) {
    one.lease.reset();
  }
}

TEST_F(ResourceWorkForCallbacks, AnAcquireByCallbackMakesNothingWhenItsTimeIsOver) {
  std::array<outcome, 6> told;
  outcome stopped;
  outcome brief;
  outcome at_once;
  fake_pool pool(test::fake_factory{&server_}, retrying(8));
  server_.down = true;
  for (outcome& one : told) {
    pool.async_acquire(one.receiver(), 60s);
  }
  auto creates_of = [&, last = server_.creates.load()]() mutable {
    return server_.creates - std::exchange(last, server_.creates);
  };
  server_.down = false;
  (void)creates_of();
  clock_.advance(20ms);

  std::stop_source stop;
  (void)stop.request_stop();
  pool.async_acquire(stopped.receiver(), 60s, stop.get_token());
  EXPECT_EQ(stopped.failure, acquire_failure::cancelled);
  EXPECT_EQ(creates_of(), 0);

  server_.slow = true;
  std::jthread late([&] { pool.async_acquire(brief.receiver(), 500ms); });
  ASSERT_TRUE(eventually([&] { return server_.creating == 1; }));
  std::this_thread::sleep_for(510ms);
  server_.slow = false;
  late.join();
  EXPECT_EQ(brief.failure, acquire_failure::timed_out) << "by itself, as nobody else may come";
  EXPECT_EQ(creates_of(), 1);

  pool.async_acquire(at_once.receiver(), 0ms);
  EXPECT_EQ(at_once.failure, acquire_failure::timed_out);
  EXPECT_LE(creates_of(), 1);
  expect_all_served(pool, told);
}

// It has what it has made, but nothing more to give.
TEST_F(ResourceWorkForCallbacks, ACreateThatUsesTheTimeUpIsTheLast) {
  outcome first;
  std::array<outcome, 1> told;
  fake_pool pool(gated(), of_size(2));
  held_[1] = true;
  std::jthread maker([&] { pool.async_acquire(first.receiver(), 500ms); });
  ASSERT_TRUE(eventually([&] { return begun_ == 1; }));
  pool.async_acquire(told[0].receiver(), 60s);
  std::this_thread::sleep_for(510ms);
  held_[1] = false;
  maker.join();
  EXPECT_EQ(first.calls, 1);
  EXPECT_EQ(begun_, 1);
  expect_all_served(pool, told);
  first.lease.reset();
}

TEST_F(ResourceWorkForCallbacks, WhoGivesNoTimeIsToldAtOnceBehindAnother) {
  outcome patient;
  outcome at_once;
  fake_pool pool(test::fake_factory{&server_}, of_size(1));
  fake_lease held = pool.acquire();
  pool.async_acquire(patient.receiver(), 60s);
  pool.async_acquire(at_once.receiver(), 0ms);
  EXPECT_EQ(at_once.failure, acquire_failure::timed_out);
  EXPECT_EQ(pool.stats().waiters, 1U);
  held.reset();
  EXPECT_EQ(patient.calls, 1);
  patient.lease.reset();
}

// As there was nothing to make: or each acquire after a time-out would look after the pool.
TEST_F(ResourceWorkForCallbacks, ATimeOutLeavesNothingToTheNextAcquire) {
  resource_pool_options options = of_size(1);
  options.clock = &clock_;
  outcome patient;
  fake_pool pool(test::fake_factory{&server_}, options);
  fake_lease held = pool.acquire();
  pool.async_acquire(patient.receiver(), 60s);
  std::jthread([&] { EXPECT_EQ(test::failure_of(pool, 1ms), acquire_failure::timed_out); }).join();
  const auto before = pool.stats().mutex_locks;
  (void)pool.try_acquire();
  EXPECT_EQ(pool.stats().mutex_locks - before, 1U) << "of the first look at the numbers";
  held.reset();
  patient.lease.reset();
}

// What an acquire has left to the next one is of no use any more.
TEST_F(ResourceWorkForCallbacks, NothingIsMadeForOneThatHasBeenServed) {
  std::array<outcome, 2> told;
  fake_pool pool(test::fake_factory{&server_}, of_size(2));
  server_.slow = true;
  std::jthread late([&] { EXPECT_EQ(test::failure_of(pool, 500ms), acquire_failure::timed_out); });
  ASSERT_TRUE(eventually([&] { return server_.creating == 1; }));
  pool.async_acquire(told[0].receiver(), 60s);
  pool.async_acquire(told[1].receiver(), 60s);
  std::this_thread::sleep_for(510ms);
  server_.slow = false;
  late.join();
  EXPECT_EQ(told[0].calls, 1);
  EXPECT_EQ(pool.stats().creating, 1U) << "reserved for the second";
  told[0].lease.reset();
  EXPECT_EQ(told[1].calls, 1);
  told[1].lease.reset();
  EXPECT_TRUE(pool.acquire_for(60s));
  EXPECT_EQ(server_.creates, 1);
}

// Neither by the call that made room for all of them, nor by a tick.
TEST_F(ResourceWorkForCallbacks, AfterAFailedCreateNoneBeginsBeforeTheNextTry) {
  for (const maintenance upkeep : {maintenance::by_callers, maintenance::by_tick}) {
    resource_pool_options options = retrying(0);
    options.upkeep = upkeep;
    std::array<outcome, 6> told;
    fake_pool pool(test::fake_factory{&server_}, options);
    for (outcome& one : told) {
      pool.async_acquire(one.receiver(), 60s);
    }
    server_.down = true;
    const int before = server_.creates;
    pool.resize(6);
    if (upkeep == maintenance::by_tick) {
      pool.tick();
    }
    EXPECT_EQ(server_.creates - before, 1);
    server_.down = false;
    clock_.advance(20ms);
    pool.tick();
    expect_all_served(pool, told);
  }
}

}  // namespace
}  // namespace lido
