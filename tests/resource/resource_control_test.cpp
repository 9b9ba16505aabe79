// The letters and numbers are those of docs/reference/tests.md.
#include <gtest/gtest.h>

#include <array>
#include <atomic>
#include <stdexcept>
#include <stop_token>
#include <thread>
#include <vector>

#include "support/crew.hpp"
#include "support/resource_fixtures.hpp"

namespace lido {
namespace {

using namespace std::chrono_literals;
using test::eventually;
using test::fake_lease;
using test::fake_pool;

class ResourceControl : public test::resource_by_tick {};

void expect_two_and_no_more(fake_pool& pool) {
  const fake_lease first = pool.try_acquire();
  const fake_lease second = pool.try_acquire();
  EXPECT_TRUE(first && second);
  EXPECT_FALSE(pool.try_acquire());
  pool.tick();
  EXPECT_FALSE(pool.try_acquire());
}

// deadpool CHANGELOG 0.9.5: max_size exceeded after a failed recycle.
TEST_F(ResourceControl, B2ARefusedResetLeavesRoomForOneAndNoMore) {
  fake_pool& pool = start({.max_size = 2});
  server.refuse_reset = true;
  for (int i = 0; i < 5; ++i) {
    fill(pool, 2);  // and both are refused
    EXPECT_EQ(pool.stats().live, 0U);
  }
  EXPECT_EQ(server.destroyed_for(destroy_reason::reset_refused), 10);
  server.refuse_reset = false;
  fill(pool, 2);
  expect_two_and_no_more(pool);
  EXPECT_EQ(server.most_alive, 2);
}

// The same; #18: counts wrong when create fails.
TEST_F(ResourceControl, B2B4FailuresOfTheFactoryLeaveTheCountsRight) {
  fake_pool& pool = start({.max_size = 2, .retry_first = 1ms});
  server.down = true;
  EXPECT_FALSE(pool.try_acquire());
  pool.tick();
  EXPECT_EQ(pool.stats().live, 0U);
  EXPECT_EQ(pool.stats().create_failures, 1U);
  server.down = false;
  pass(10ms);
  fill(pool, 2);  // a failed create costs no place
  expect_two_and_no_more(pool);
  server.refuse_reset = true;
  for (int i = 0; i < 5; ++i) {
    (void)pool.try_acquire();
    pool.tick();
    EXPECT_LE(pool.stats().live, 2U);
  }
  EXPECT_LE(server.most_alive, 2);
}

TEST_F(ResourceControl, ResizeToZeroAndBack) {
  fake_pool& pool = start({.max_size = 3});
  fill(pool, 3);
  fake_lease held = pool.try_acquire();
  pool.resize(0);
  EXPECT_EQ(pool.stats().live, 1U);
  held.reset();
  EXPECT_EQ(pool.stats().live, 0U);
  EXPECT_FALSE(pool.try_acquire());
  pool.tick();
  EXPECT_FALSE(pool.try_acquire());
  pool.resize(5);
  fill(pool, 5);
  EXPECT_EQ(pool.stats().destroyed_for(destroy_reason::surplus), 3U);
}

TEST_F(ResourceControl, ResizeLeavesMinIdleAsItWasUnlessItIsGiven) {
  fake_pool& pool = start({.max_size = 8, .min_idle = 4, .max_creating = 8});
  const auto idle_when = [&](auto&& resized) {
    resized();
    pool.flush();
    pool.tick();
    return pool.stats().idle;
  };
  EXPECT_EQ(idle_when([] {}), 4U);
  EXPECT_EQ(idle_when([&] { pool.resize(6); }), 4U);
  EXPECT_EQ(idle_when([&] { pool.resize(2); }), 2U);
  EXPECT_EQ(idle_when([&] { pool.resize(0); }), 0U);
  EXPECT_EQ(idle_when([&] { pool.resize(8); }), 4U);
  EXPECT_EQ(idle_when([&] { pool.resize(8, 1); }), 1U);
  EXPECT_THROW(pool.resize(3, 4), std::invalid_argument);
  EXPECT_THROW(pool.resize(65536), std::invalid_argument);
  EXPECT_EQ(idle_when([] {}), 1U);
}

// Nobody may come by any more who would begin it.
TEST_F(ResourceControl, ResizeTakesBackACreateThatHasNotBegun) {
  fake_pool& pool = start({.max_size = 2});
  EXPECT_FALSE(pool.try_acquire());
  EXPECT_EQ(pool.stats().creating, 1U);
  pool.resize(0);
  EXPECT_EQ(pool.stats().live, 0U);
  pool.tick();
  EXPECT_EQ(pool.stats().created, 0U);
  pool.resize(1);
  fill(pool, 1);
}

// brettwooldridge/HikariCP #1710, #1972: the pool falls to 0 and stays there.
TEST_F(ResourceControl, B5RefillsAfterEverythingWasLost) {
  fake_pool& pool = start({.max_size = 8, .min_idle = 4, .max_creating = 8, .retry_first = 100ms});
  pool.tick();
  EXPECT_EQ(pool.stats().idle, 4U);
  server.down = true;
  pool.flush();
  pool.tick();
  EXPECT_EQ(pool.stats().live, 0U);
  server.down = false;
  pool.tick();
  EXPECT_EQ(pool.stats().live, 0U) << "backed off";
  pass(200ms);
  EXPECT_EQ(pool.stats().idle, 4U);
}

// jackc/pgx #1780: what is being closed is not counted, and connects run away.
TEST_F(ResourceControl, B7WhatIsBeingClosedCounts) {
  fake_pool& pool = start({.max_size = 1});
  fill(pool, 1);
  server.slow_destroy = true;
  std::jthread closing([&] { pool.try_acquire().discard(); });
  ASSERT_TRUE(eventually([&] { return pool.stats().closing == 1; }));
  EXPECT_FALSE(pool.try_acquire());
  pool.tick();
  EXPECT_EQ(server.creates, 1);
  server.slow_destroy = false;
  closing.join();
  (void)pool.try_acquire();
  pool.tick();
  EXPECT_EQ(server.creates, 2);
}

// pocoproject/poco #2986: returned objects are not lent again when capacity == peak.
TEST_F(ResourceControl, B8OneIsEnough) {
  fake_pool& pool = start({.max_size = 1});
  fill(pool, 1);
  for (int i = 0; i < 5; ++i) {
    EXPECT_TRUE(pool.try_acquire());
  }
  EXPECT_EQ(server.creates, 1);
}

// Stormpot BSlot.release: a resource that went to the thread's own cache is not offered to others.
TEST_F(ResourceControl, C9WhatAThreadHadLastIsEverybodys) {
  fake_pool& pool = start({.max_size = 1});
  fill(pool, 1);
  test::run_in_new_thread([&] { EXPECT_TRUE(pool.try_acquire()); });
  fake_lease held = pool.try_acquire();
  EXPECT_TRUE(held);
  std::jthread blocked([&] { EXPECT_TRUE(pool.acquire_for(20s)); });
  ASSERT_TRUE(eventually([&] { return pool.stats().waiters == 1; }));
  held.reset();
}

TEST_F(ResourceControl, KillReachesOneResourceAndNeverAnother) {
  fake_pool& pool = start({.max_size = 1});
  fill(pool, 1);
  fake_lease held = pool.try_acquire();
  const resource_handle handle = held.handle();
  held.reset();
  EXPECT_TRUE(pool.kill(handle));
  EXPECT_EQ(server.destroyed_for(destroy_reason::killed), 1);
  EXPECT_FALSE(pool.kill(handle));
  fill(pool, 1);
  EXPECT_FALSE(pool.kill(handle));
  EXPECT_FALSE(pool.kill({.place = 99, .birth = 1}));
  EXPECT_EQ(pool.stats().idle, 1U);
}

TEST_F(ResourceControl, AReplacedFactoryEndsWhatItMade) {
  test::fake_server next;
  fake_pool& pool = start({.max_size = 2});
  fill(pool, 2);
  fake_lease held = pool.try_acquire();
  pool.replace_factory(test::fake_factory{&next});
  EXPECT_EQ(server.destroyed_for(destroy_reason::flushed), 1);
  held.reset();
  EXPECT_EQ(server.destroyed_for(destroy_reason::flushed), 2);
  fill(pool, 2);
  EXPECT_EQ(next.creates, 2);
  (void)pool.close(0s);
  EXPECT_EQ(next.alive, 0);
}

TEST_F(ResourceControl, AFailureOfAReplacedFactoryIsNotTheNewOnes) {
  test::fake_server next;
  server.slow = true;
  server.wrong_password = true;
  fake_pool pool(test::fake_factory{&server},
                 {.max_size = 1, .retry_first = 100s, .retry_longest = 100s});
  std::jthread waiting([&] { EXPECT_TRUE(pool.acquire_for(10s)); });
  ASSERT_TRUE(test::eventually([&] { return server.creating == 1; }));
  pool.replace_factory(test::fake_factory{&next});
  server.slow = false;
  waiting.join();
  EXPECT_EQ(next.creates, 1);
}

// Of two creates of the first factory one fails, and lets the second try, in vain, and the other
// one comes to an end then.
TEST_F(ResourceControl, WhatAReplacedFactoryHasMadeEndsNoBackOffOfTheNewOne) {
  struct gate {
    std::atomic<int> begun{0};
    std::array<std::atomic<bool>, 2> shut{true, true};
  } old;
  const auto make = [&old]() -> test::connection {
    const int mine = old.begun++;
    test::wait_while(old.shut.at(static_cast<std::size_t>(mine)));
    return mine == 1 ? throw std::runtime_error("refused") : test::connection{};
  };
  test::fake_server next;
  next.down = true;
  fake_pool pool(make,
                 {.max_size = 2, .max_creating = 2, .retry_first = 100s, .retry_longest = 100s});
  std::stop_source stop;
  for (int i = 0; i < 2; ++i) {
    pool.async_acquire([](const fake_lease& got, const auto&) { EXPECT_FALSE(got); }, 100s,
                       stop.get_token());
  }
  ASSERT_TRUE(eventually([&] { return old.begun == 2; }));
  pool.replace_factory(test::fake_factory{&next});
  old.shut[1] = false;
  EXPECT_TRUE(eventually([&] { return pool.stats().create_failures == 2; }));
  old.shut[0] = false;
  EXPECT_TRUE(eventually([&] { return pool.stats().created == 1; }));
  std::this_thread::sleep_for(50ms);
  EXPECT_EQ(next.creates, 1) << "its next try is due in 100 s";
  stop.request_stop();
}

// connectedhomeip #11880: objects outlive the pool, and crash.
TEST_F(ResourceControl, G1ALeaseMayOutliveThePool) {
  fake_lease held;
  std::vector<pool_event::kind> told;
  std::vector<resource_handle> orphans;
  {
    fake_pool pool(test::fake_factory{&server},
                   {.max_size = 1, .close_timeout = 1ms, .on_event = [&](const pool_event& event) {
                      told.push_back(event.what);
                      for (const lease_info& lease : event.leases) {
                        orphans.push_back(lease.resource);
                      }
                    }});
    held = pool.acquire();
  }
  EXPECT_EQ(told, std::vector{pool_event::kind::orphaned});
  EXPECT_EQ(orphans, std::vector{held.handle()});
  EXPECT_EQ(server.alive, 1);
  EXPECT_EQ(held->id, 1);
  held.reset();
  EXPECT_EQ(server.alive, 0);
}

TEST_F(ResourceControl, G1TheEndOfThePoolWaitsForLeases) {
  std::atomic<int> told{0};
  std::jthread late;
  {
    fake_pool pool(
        test::fake_factory{&server},
        {.max_size = 1, .close_timeout = 10s, .on_event = [&](const pool_event&) { ++told; }});
    late = std::jthread([held = pool.acquire()]() mutable {
      std::this_thread::sleep_for(20ms);
      held.reset();
    });
  }
  EXPECT_EQ(server.alive, 0);
  EXPECT_EQ(told, 0) << "nothing was left behind";
}

// puddle Close: "blocks until all resources are returned".
TEST_F(ResourceControl, G3CloseSaysWhoIsLeft) {
  fake_pool& pool = start({.max_size = 2});
  fill(pool, 2);
  fake_lease held = pool.try_acquire();
  const close_report report = pool.close(1ms);
  ASSERT_EQ(report.holders.size(), 1U);
  EXPECT_EQ(report.holders.front().resource, held.handle());
  EXPECT_FALSE(report.complete());
  EXPECT_EQ(server.alive, 1);
  std::jthread late([&] {
    std::this_thread::sleep_for(5ms);
    held.reset();
  });
  EXPECT_TRUE(pool.close(10s).complete());
}

template <class Duration>
class ResourceCloseTimes : public ::testing::Test {};
using long_times = ::testing::Types<std::chrono::seconds, std::chrono::hours>;
TYPED_TEST_SUITE(ResourceCloseTimes, long_times, );

// As nanoseconds the longest times would be over.
TYPED_TEST(ResourceCloseTimes, CloseWaitsForTheLongestAndNotForLessThanNothing) {
  test::fake_server server;
  {
    fake_pool pool(test::fake_factory{&server}, {.max_size = 1, .close_timeout = 10s});
    fake_lease held = pool.acquire();
    EXPECT_FALSE(pool.close(TypeParam(-1)).complete());
    EXPECT_FALSE(pool.close(TypeParam::min()).complete());
    std::jthread late([&] {
      std::this_thread::sleep_for(20ms);
      held.reset();
    });
    EXPECT_TRUE(pool.close(TypeParam::max()).complete());
  }
  EXPECT_EQ(server.alive, 0);
}

// The thread that keeps time has rounds in closed pools, too. That is nothing under way. The first
// one begins soon after the pool does; a close that comes a little later each time meets that
// moment several times in a thousand.
TEST_F(ResourceControl, ARoundOfTheTimekeeperDoesNotMakeACloseIncomplete) {
  for (int round = 0; round < 2000; ++round) {
    fake_pool pool(test::fake_factory{&server}, {.max_size = 64, .report_slow_after = 1h});
    const auto later = std::chrono::nanoseconds(100) * (round % 1000);
    const auto until = std::chrono::steady_clock::now() + later;
    while (std::chrono::steady_clock::now() < until) {
    }
    ASSERT_EQ(pool.close(10s).creating, 0U) << round;
  }
}

// Nor does one that looks for leases that are out for too long, where none is out.
TEST_F(ResourceControl, AnUnusedPoolClosesAtOnceThoughItReportsLeases) {
  for (int round = 0; round < 2000; ++round) {
    fake_pool pool(test::fake_factory{&server}, {.max_size = 64, .report_slow_after = 1h});
    std::this_thread::sleep_for(std::chrono::microseconds(1) * (round % 200));
    ASSERT_TRUE(pool.close(0s).complete()) << round;
  }
}

// The one it makes is of no use any more.
TEST(ResourceClose, ATryThatMakesItsOwnGetsNothingOfAClosedPool) {
  test::fake_server server;
  server.slow = true;
  fake_pool pool(test::fake_factory{&server}, {.max_size = 1, .upkeep = maintenance::by_callers});
  std::jthread trying([&] { EXPECT_FALSE(pool.try_acquire()); });
  ASSERT_TRUE(eventually([&] { return server.creating == 1; }));
  (void)pool.close(0s);
  server.slow = false;
  trying.join();
  EXPECT_TRUE(pool.close(20s).complete());
  EXPECT_EQ(server.destroyed_for(destroy_reason::closed), 1);
}

}  // namespace
}  // namespace lido
