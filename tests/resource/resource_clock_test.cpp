// The pool's own clock goes on, in other threads, while it looks at a resource: what was decided
// of it is not decided anew, and nothing that is due is forgotten.
#include <gtest/gtest.h>

#include <array>
#include <atomic>
#include <chrono>
#include <exception>
#include <stdexcept>
#include <stop_token>
#include <thread>

#include "support/crew.hpp"
#include "support/distant_peer.hpp"
#include "support/fake_server.hpp"

namespace lido {
namespace {

using namespace std::chrono_literals;
using test::distant;
using test::eventually;
using test::long_stay;
using test::manual_clock;

class ResourceClock : public test::DistantPeer {
 protected:
  /// Ticks all the time, after `before_each()`.
  template <class F>
  static std::jthread tick_all_the_time(links& pool, F before_each) {
    return std::jthread([&pool, before_each](const std::stop_token& stop) {
      while (!stop.stop_requested()) {
        before_each();
        pool.tick();
      }
    });
  }
  static std::jthread tick_all_the_time(links& pool) {
    return tick_all_the_time(pool, [] {});
  }
};

// The clock goes on between the answer and the one who waits for it; that is no reason to ask
// again.
TEST_F(ResourceClock, WhatWasJustMadeOrHasJustAnsweredIsNotAskedForATicksSake) {
  for (const auto overtake_for : {0ms, 10ms}) {
    links pool(distant{&all}, {.max_size = 1,
                               .validate_timeout = 60s,
                               .validate_if_idle_longer_than = 0ns,
                               .overtake_for = overtake_for});
    const std::jthread ticks = tick_all_the_time(pool);
    for (int i = 0; i < 50; ++i) {
      all.asked = 0;
      (void)pool.acquire_for(20s);
      EXPECT_EQ(all.asked, 0) << "made for this acquire";
      resource_lease<int> validated = pool.acquire_for(20s);
      EXPECT_EQ(all.asked, 1);
      validated.discard();
    }
  }
}

TEST_F(ResourceClock, WhoMakesOneForItselfDoesNotAskItForATicksSake) {
  links pool(
      distant{&all},
      {.max_size = 1, .validate_if_idle_longer_than = 0ns, .upkeep = maintenance::by_callers});
  const std::jthread ticks = tick_all_the_time(pool);
  for (int i = 0; i < 2000; ++i) {
    pool.try_acquire().discard();
  }
  EXPECT_EQ(all.made, 2000);
  EXPECT_EQ(all.asked, 0);
}

// With long limits a use goes by the kernel's tick, with short ones by the clock itself.
TEST_F(ResourceClock, ByCallersAgesAreKeptWithoutAnybodyWhoTicks) {
  for (const auto lifetime : {8ms, 120ms}) {
    all.made = 0;
    links pool(distant{&all}, {.max_size = 1,
                               .max_lifetime = lifetime,
                               .lifetime_jitter = 0,
                               .upkeep = maintenance::by_callers});
    const auto begin = std::chrono::steady_clock::now();
    while (all.made < 2) {
      (void)pool.try_acquire();
    }
    const auto took = std::chrono::steady_clock::now() - begin;
    EXPECT_GE(took, lifetime) << "it was ended too early";
    const int before = all.made;
    std::this_thread::sleep_for(lifetime + 20ms);
    (void)pool.try_acquire();
    EXPECT_GT(all.made, before) << "it was lent though it was too old";
  }
}

// Its limits may make the pool tick more often than a thread wakes.
TEST_F(ResourceClock, WhoWakesLaterThanATickTakesWhatItWasGiven) {
  constexpr auto keepalive = 4ms;
  manual_clock clock;
  links pool(distant{&all}, {.max_size = 1,
                             .validate_timeout = 60s,
                             .keepalive = keepalive,
                             .validate_if_idle_longer_than = 0ns,
                             .clock = &clock});
  (void)pool.acquire_for(20s);
  const std::jthread ticks = tick_all_the_time(pool, [&clock] {
    clock.advance(10us);
    std::this_thread::sleep_for(10us);
  });
  const auto begin = clock.now();
  all.asked = 0;
  for (int i = 0; i < 20; ++i) {
    EXPECT_NO_THROW((void)pool.acquire_for(20s));
  }
  const int asked = all.asked;
  EXPECT_LE(asked, 40 + (clock.now() - begin) / keepalive) << "and some to keep it alive";
}

// Nor does one that comes when no thread has the time for it.
TEST_F(ResourceClock, TicksDoNotForgetASweepThatIsDue) {
  manual_clock clock;
  links pool(distant{&all}, {.max_size = 5,
                             .validate_timeout = 60s,
                             .idle_timeout = 40ms,
                             .validate_if_idle_longer_than = 0ns,
                             .max_creating = 1,
                             .clock = &clock});
  let_grow_stale(pool, 5);
  std::array<long_stay, 2> callbacks;
  for (long_stay& one : callbacks) {
    EXPECT_TRUE(eventually([&] { return pool.stats().checking == 0; }));
    clock.advance(1us);
    pool.tick();  // none is fit without an answer, so a thread of the pool calls it back
    one.begin(pool);
  }
  all.silent = 5;
  std::atomic<int> served{0};
  count_calls(pool, 2, served);
  EXPECT_TRUE(
      eventually([&] { return pool.stats().checking == 2; }));  // these were all four threads
  clock.advance(1s);
  std::this_thread::sleep_for(100ms);  // it is due every 10 ms
  pool.tick();
  callbacks[0].end();
  EXPECT_TRUE(
      eventually([&] { return pool.stats().destroyed_for(destroy_reason::idle_too_long) != 0; }));
  all.silent = 0;
  callbacks[1].end();
  EXPECT_TRUE(eventually([&] { return served == 2; }));
}

/// Threads that are told to are slow to say what they have read.
class slow_to_say : public time_source {
 public:
  [[nodiscard]] std::chrono::nanoseconds now() const noexcept override {
    const std::chrono::nanoseconds read(now_.load());
    if (is_slow) {
      ++waiting_;
      while (waiting_ != 0) {
        std::this_thread::yield();
      }
    }
    return read;
  }
  void advance() { ++now_; }
  [[nodiscard]] bool waits() const { return waiting_ != 0; }
  void go_on() { waiting_ = 0; }

  static thread_local bool is_slow;

 private:
  std::atomic<std::int64_t> now_{1'000'000'000'000};
  mutable std::atomic<int> waiting_{0};
};
thread_local bool slow_to_say::is_slow = false;

// What was too old for who waits would look young to the thread that is to ask it, which would
// leave it, and nobody would look again.
TEST_F(ResourceClock, WhoHasReadItBeforeOthersDoesNotSetItBack) {
  for (int i = 0; i < 20; ++i) {
    slow_to_say clock;
    links pool(distant{&all}, {.max_size = 1,
                               .validate_timeout = 60s,
                               .validate_if_idle_longer_than = 0ns,
                               .clock = &clock});
    (void)pool.acquire_for(20s);
    std::thread slow([&pool] {
      slow_to_say::is_slow = true;
      pool.tick();
    });
    EXPECT_TRUE(eventually([&] { return clock.waits(); }));
    clock.advance();
    pool.tick();
    pool.acquire_for(20s).reset();
    std::atomic<int> served{0};
    count_calls(pool, 1, served);
    clock.go_on();
    EXPECT_TRUE(eventually([&] { return served == 1; }));
    slow.join();
  }
}

// Left to the pool to ask, and too old before a thread of the pool came to it. Up to the next look
// at idle resources it would take a second.
TEST_F(ResourceClock, WhatBecomesTooOldToBeAskedIsReplacedAtOnce) {
  EXPECT_TRUE(test::is_mostly_soon([this] {
    manual_clock clock;
    links pool(distant{&all}, {.max_size = 1,
                               .max_lifetime = 1h,
                               .lifetime_jitter = 0,
                               .validate_if_idle_longer_than = 0ns,
                               .clock = &clock});
    (void)pool.acquire_for(20s);
    clock.advance(1h - 1ns);
    pool.tick();
    const auto begin = std::chrono::steady_clock::now();
    std::atomic<int> served{0};
    count_calls(pool, 1, served);
    clock.advance(1ns);
    pool.tick();
    EXPECT_TRUE(eventually([&] { return served == 1; }));
    return std::chrono::steady_clock::now() - begin;
  }));
}

// What an acquire does for the pool before it looks for a resource counts, too.
TEST(ResourceClockByCallers, TheTimeOfAnAcquireBeginsWithItsCall) {
  struct attentive {
    std::chrono::nanoseconds* left;
    [[nodiscard]] int create() const { return 1; }
    bool validate(int& /*idle*/, const create_context& context) const {
      *left = context.deadline - std::chrono::steady_clock::now();
      return true;
    }
  };
  constexpr auto upkeep = 50ms;
  manual_clock clock;
  std::chrono::nanoseconds left{0};
  int reports = 0;
  resource_pool<int> pool(attentive{&left}, {.max_size = 2,
                                             .validate_timeout = 100s,
                                             .validate_if_idle_longer_than = 0ns,
                                             .report_slow_after = 1s,
                                             .on_event =
                                                 [&](const pool_event& /*slow*/) {
                                                   ++reports;
                                                   std::this_thread::sleep_for(upkeep);
                                                 },
                                             .upkeep = maintenance::by_callers,
                                             .clock = &clock});
  const resource_lease<int> held = pool.acquire();
  (void)pool.acquire();
  clock.advance(10s);
  (void)pool.acquire_for(20s);
  EXPECT_EQ(reports, 1);
  EXPECT_GT(left, 0s);
  EXPECT_LE(left, 20s - upkeep);
}

TEST(ResourceClockByCallers, WhoMakesRoomSeesThatTheNextTryIsDue) {
  manual_clock clock;
  bool is_up = true;
  resource_pool<int> pool([&] { return is_up ? 1 : throw std::runtime_error("refused"); },
                          {.max_size = 2,
                           .retry_first = 1h,
                           .retry_longest = 1h,
                           .upkeep = maintenance::by_callers,
                           .clock = &clock});
  resource_lease<int> held = pool.acquire();
  is_up = false;
  int served = 0;
  pool.async_acquire([&](resource_lease<int> lease,
                         const std::exception_ptr& /*why*/) { served += lease ? 1 : 0; },
                     1h);
  is_up = true;
  clock.advance(2h);
  held.discard();
  EXPECT_EQ(served, 1);
}

}  // namespace
}  // namespace lido
