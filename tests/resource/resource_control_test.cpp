// Control of a whole pool: limits, kills, replaced factories, and its end. docs/reference/tests.md
// explains the letters and numbers in test names.
#include <gtest/gtest.h>

#include <array>
#include <atomic>
#include <chrono>
#include <optional>
#include <stdexcept>
#include <string>
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
TEST_F(ResourceControl, B2ARefusedResetLeavesRoomForOneResource) {
  fake_pool& pool = start({.max_size = 2});
  server.refuse_reset = true;
  for (int i = 0; i < 5; ++i) {
    fill(pool, 2);  // and both resets are refused
    EXPECT_EQ(pool.stats().live, 0U);
  }
  EXPECT_EQ(server.destroyed_for(destroy_reason::reset_refused), 10);
  server.refuse_reset = false;
  fill(pool, 2);
  expect_two_and_no_more(pool);
  EXPECT_EQ(server.most_alive, 2);
}

// The same issue; #18: wrong counts after a failed create.
TEST_F(ResourceControl, B2B4FailuresOfTheFactoryLeaveTheCountsRight) {
  fake_pool& pool = start({.max_size = 2, .retry_first = 1ns, .retry_longest = 1ns});
  server.down = true;
  EXPECT_FALSE(pool.try_acquire());
  EXPECT_EQ(pool.stats().live, 0U);
  EXPECT_EQ(pool.stats().create_failures, 1U);
  server.down = false;
  fill(pool, 2);  // a failed create takes no slot
  expect_two_and_no_more(pool);
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
  pool.resize(200);  // more than there were slots
  fill(pool, 200);
  EXPECT_EQ(pool.stats().destroyed_for(destroy_reason::surplus), 3U);
}

TEST_F(ResourceControl, ResizeKeepsMinIdleUnlessItIsGiven) {
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

// brettwooldridge/HikariCP #1710, #1972: the pool falls to 0 and stays there.
TEST_F(ResourceControl, B5RefillsAfterEverythingWasLost) {
  fake_pool pool(
      test::fake_factory{&server},
      {.max_size = 8, .min_idle = 4, .max_creating = 8, .retry_first = 1ms, .retry_longest = 1ms});
  EXPECT_TRUE(pool.wait_until_idle(4, 10s));
  server.down = true;
  pool.flush();
  EXPECT_TRUE(eventually([&] { return pool.stats().create_failures > 4; }));
  EXPECT_EQ(pool.stats().idle, 0U);
  server.down = false;
  EXPECT_TRUE(pool.wait_until_idle(4, 10s));
}

// jackc/pgx #1780: connections that are being closed are not counted, so too many are made.
TEST_F(ResourceControl, B7AResourceBeingClosedCounts) {
  fake_pool& pool = start({.max_size = 1});
  fill(pool, 1);
  server.slow_destroy = true;
  std::jthread closing([&] { pool.try_acquire().discard(); });
  ASSERT_TRUE(eventually([&] { return pool.stats().closing == 1; }));
  EXPECT_FALSE(pool.try_acquire());
  EXPECT_EQ(server.creates, 1);
  server.slow_destroy = false;
  closing.join();
  EXPECT_TRUE(pool.try_acquire());
  EXPECT_EQ(server.creates, 2);
}

// pocoproject/poco #2986: returned objects are not lent again when capacity == peak.
TEST_F(ResourceControl, B8OneResourceIsLentAgainAndAgain) {
  fake_pool& pool = start({.max_size = 1});
  for (int i = 0; i < 5; ++i) {
    EXPECT_TRUE(pool.try_acquire());
  }
  EXPECT_EQ(server.creates, 1);
}

// Stormpot BSlot.release: a resource in the cache of one thread is not offered to other threads.
TEST_F(ResourceControl, C9AnyThreadMayTakeTheLastResourceOfAnother) {
  fake_pool& pool = start({.max_size = 1});
  fill(pool, 1);
  test::run_in_new_thread([&] { EXPECT_TRUE(pool.try_acquire()); });
  fake_lease held = pool.try_acquire();
  EXPECT_TRUE(held);
  std::jthread blocked([&] { EXPECT_TRUE(pool.acquire_for(20s)); });
  ASSERT_TRUE(eventually([&] { return pool.stats().waiting == 1; }));
  held.reset();
}

TEST_F(ResourceControl, KillEndsOneResourceAndNoOther) {
  fake_pool& pool = start({.max_size = 1});
  fill(pool, 1);
  fake_lease held = pool.try_acquire();
  const resource_handle handle = held.handle();
  held.reset();
  EXPECT_TRUE(pool.kill(handle));
  EXPECT_EQ(server.destroyed_for(destroy_reason::killed), 1);
  EXPECT_FALSE(pool.kill(handle));
  held = pool.try_acquire();
  EXPECT_FALSE(pool.kill(handle));
  EXPECT_FALSE(pool.kill({.place = 99, .birth = 1}));
  EXPECT_TRUE(pool.kill(held.handle()));
  EXPECT_EQ(pool.stats().in_use, 1U);
  held.reset();
  EXPECT_EQ(server.destroyed_for(destroy_reason::killed), 2);
}

TEST_F(ResourceControl, AResourceFlushedDuringItsValidationIsNotLent) {
  for (const maintenance by : {maintenance::background, maintenance::by_tick}) {
    server.slow_validate = false;
    fake_pool pool(test::fake_factory{&server},
                   {.max_size = 1, .validate_if_idle_longer_than = 0s, .maintenance = by});
    const int first = pool.acquire_for(20s)->id;
    const int before = server.validations;
    const auto flushed = server.destroyed_for(destroy_reason::flushed);
    server.slow_validate = true;
    std::jthread waiting([&] { EXPECT_NE(pool.acquire_for(20s)->id, first); });
    ASSERT_TRUE(eventually([&] { return server.validations > before; }));
    pool.flush();
    server.slow_validate = false;
    waiting.join();
    EXPECT_EQ(server.destroyed_for(destroy_reason::flushed), flushed + 1);
  }
}

// ---- another factory ----------------------------------------------------------------------------

TEST_F(ResourceControl, ResourcesOfAReplacedFactoryEnd) {
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

TEST_F(ResourceControl, AnErrorDoesNotNameTheErrorOfAReplacedFactory) {
  test::fake_server next;
  next.slow = true;
  server.wrong_password = true;
  fake_pool pool(test::fake_factory{&server}, {.max_size = 2});
  EXPECT_EQ(test::failure_of(pool, 10s), acquire_failure::create_failed);
  pool.replace_factory(test::fake_factory{&next});
  const acquire_error error = pool.try_acquire_for(1ms).error();
  EXPECT_EQ(error.create_error(), nullptr) << error.what();
  EXPECT_EQ(error.cause(), acquire_failure::timed_out);
  next.slow = false;
  EXPECT_TRUE(pool.acquire_for(20s));
}

/// A host that does not answer.
struct silence {
  std::atomic<bool> lasts{true};
  std::atomic<int> begun{0};
  std::atomic<int> told{0};  ///< creates that were told to stop
};
struct silent_factory {
  silence* of;
  [[nodiscard]] test::connection create(const create_context& context) const {
    ++of->begun;
    for (bool told = false; of->lasts;) {
      if (!told && context.stop.stop_requested()) {
        told = true;
        ++of->told;
      }
      std::this_thread::sleep_for(1ms);
    }
    throw std::runtime_error("no answer");
  }
};

class ResourceReplaced : public testing::TestWithParam<maintenance> {};

// A fail-over along a list of hosts, of which only the last answers. Creates for the others are
// told to stop, and hold up no waiter even if they do not.
TEST_P(ResourceReplaced, SeveralCreatesThatHangHoldUpNoWaiter) {
  std::array<silence, 3> hosts;
  test::fake_server last;
  fake_pool pool(silent_factory{hosts.data()},
                 {.max_size = 4, .max_creating = 1, .maintenance = GetParam()});
  std::vector<std::jthread> waiting;
  for (std::size_t i = 0; i < hosts.size(); ++i) {
    waiting.emplace_back([&] { EXPECT_TRUE(pool.acquire_for(20s)); });
    ASSERT_TRUE(eventually([&] { return hosts.at(i).begun == 1; })) << i;
    if (i + 1 < hosts.size()) {
      pool.replace_factory(silent_factory{&hosts.at(i + 1)});
    } else {
      pool.replace_factory(test::fake_factory{&last});
    }
    EXPECT_TRUE(eventually([&] { return hosts.at(i).told == 1; }));
  }
  EXPECT_TRUE(pool.acquire_for(10s));
  for (silence& host : hosts) {
    host.lasts = false;
  }
  waiting.clear();
  EXPECT_TRUE(eventually([&] { return pool.stats().creating == 0; }));
  std::vector<fake_lease> all(4);
  for (fake_lease& one : all) {
    one = pool.acquire_for(10s);
    EXPECT_TRUE(one);
  }
}

INSTANTIATE_TEST_SUITE_P(Modes, ResourceReplaced,
                         testing::Values(maintenance::background, maintenance::by_tick));

// Validations by a replaced factory do not use up the threads of the new one.
TEST_F(ResourceControl, ValidationsByAReplacedFactoryHoldUpNoWaiter) {
  test::fake_server next;
  fake_pool pool(test::fake_factory{&server},
                 {.max_size = 4, .validate_if_idle_longer_than = 0ns, .max_creating = 1});
  { const std::array<fake_lease, 2> both{pool.acquire_for(20s), pool.acquire_for(20s)}; }
  server.slow_validate = true;
  std::array<test::outcome, 3> told;
  const auto begin = std::chrono::steady_clock::now();
  pool.async_acquire(told[0].receiver(), 20s);
  pool.async_acquire(told[1].receiver(), 20s);
  ASSERT_TRUE(eventually([&] { return server.validations == 2; }));  // as many as may run
  pool.replace_factory(test::fake_factory{&next});
  const auto time = std::chrono::steady_clock::now() - begin;
  ASSERT_TRUE(eventually([&] { return told[0].calls == 1 && told[1].calls == 1; }));
  if (server.creates > 2 &&
      time >= std::chrono::nanoseconds(detail::tuning::nanoseconds_for_answer)) {
    server.slow_validate = false;
    GTEST_SKIP() << "the machine is busy: waiters got new resources after 20 ms, before the call";
  }
  EXPECT_EQ(next.creates, 2);
  told[0].lease.reset();
  told[1].lease.reset();
  EXPECT_TRUE(pool.wait_until_idle(2, 10s));  // the pool resets them
  pool.tick();
  pool.async_acquire(told[2].receiver(), 20s);
  EXPECT_TRUE(eventually([&] { return told[2].calls == 1; }));
  EXPECT_TRUE(told[2].lease) << "the replaced factory held it up";
  EXPECT_GE(next.validations, 1);
  told[2].lease.reset();
  server.slow_validate = false;
  EXPECT_TRUE(eventually([&] { return server.alive == 0; }));
  EXPECT_EQ(pool.stats().checking, 0U);
}

// ---- the end ------------------------------------------------------------------------------------

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
TEST_F(ResourceControl, G3CloseListsTheRemainingHolders) {
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

TEST_F(ResourceControl, SeveralThreadsMayWaitForTheEndOfAPool) {
  fake_pool& pool = start({.max_size = 1});
  fake_lease held = pool.try_acquire();
  const auto begin = std::chrono::steady_clock::now();
  {
    std::vector<std::jthread> closers;
    for (int i = 0; i < 3; ++i) {
      closers.emplace_back([&] { EXPECT_TRUE(pool.close(20s).complete()); });
    }
    std::this_thread::sleep_for(20ms);
    held.reset();
  }
  EXPECT_LT(std::chrono::steady_clock::now() - begin, 10s);
}

// Only the search for long leases could be running, and a close does not wait for that.
TEST_F(ResourceControl, AnUnusedPoolClosesAtOnce) {
  for (int round = 0; round < 200; ++round) {
    fake_pool pool(test::fake_factory{&server}, {.max_size = 64, .report_slow_after = 1h});
    std::this_thread::sleep_for(std::chrono::microseconds(round));
    ASSERT_TRUE(pool.close(0s).complete()) << round;
  }
}

// What the factory points to must not end before.
TEST_F(ResourceControl, ACloseIsNotCompleteWhileALeaseIsBeingEnded) {
  fake_pool& pool = start({.max_size = 1});
  fake_lease held = pool.acquire();
  server.slow_destroy = true;
  EXPECT_FALSE(pool.close(0s).complete());
  std::jthread user([&] { held.reset(); });
  EXPECT_TRUE(eventually([&] { return pool.leases().empty(); }));
  const close_report report = pool.close(0s);
  EXPECT_TRUE(report.holders.empty());
  EXPECT_EQ(report.creating, 1U) << "its user destroys the resource";
  server.slow_destroy = false;
  EXPECT_TRUE(pool.close(20s).complete());
}

// The longest times would overflow as nanoseconds.
template <class Duration>
void close_with_the_longest_and_the_shortest_times() {
  test::fake_server server;
  {
    fake_pool pool(test::fake_factory{&server}, {.max_size = 1, .close_timeout = 10s});
    fake_lease held = pool.acquire();
    EXPECT_FALSE(pool.close(Duration(-1)).complete());
    EXPECT_FALSE(pool.close(Duration::min()).complete());
    std::jthread late([&] {
      std::this_thread::sleep_for(10ms);
      held.reset();
    });
    EXPECT_TRUE(pool.close(Duration::max()).complete());
  }
  EXPECT_EQ(server.alive, 0);
}

TEST(ResourceClose, WaitsForTheLongestTimeAndNotForANegativeOne) {
  close_with_the_longest_and_the_shortest_times<std::chrono::seconds>();
  close_with_the_longest_and_the_shortest_times<std::chrono::hours>();
}

// The resource that it makes comes too late.
TEST(ResourceClose, ATryThatCreatesGetsNothingFromAClosedPool) {
  test::fake_server server;
  server.slow = true;
  fake_pool pool(test::fake_factory{&server}, {.max_size = 1, .maintenance = maintenance::by_tick});
  std::jthread trying([&] { EXPECT_FALSE(pool.try_acquire()); });
  ASSERT_TRUE(eventually([&] { return server.creating == 1; }));
  EXPECT_FALSE(pool.close(0s).complete()) << "a create of the factory is under way";
  server.slow = false;
  trying.join();
  EXPECT_TRUE(pool.close(20s).complete());
  EXPECT_EQ(server.destroyed_for(destroy_reason::closed), 1);
}

}  // namespace
}  // namespace lido
