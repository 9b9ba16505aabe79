// What a pool reports: in errors, events and lists of leases. docs/reference/tests.md explains the
// letters and numbers in test names.
#include <gtest/gtest.h>

#include <array>
#include <atomic>
#include <chrono>
#include <exception>
#include <functional>
#include <memory>
#include <optional>
#include <stop_token>
#include <string>
#include <thread>
#include <utility>
#include <vector>

#include "support/addr2line.hpp"
#include "support/customers.hpp"
#include "support/resource_fixtures.hpp"

namespace lido {
namespace {

using namespace std::chrono_literals;
using test::eventually;
using test::fake_lease;
using test::fake_pool;

/// A way to acquire, and a text that its call site must contain.
struct way {
  std::string place;
  std::function<void()> acquire;
};

class ResourceReports : public test::resource_by_tick {};

class ResourcePlaces : public test::resource_by_tick {
 protected:
  fake_pool& pool = start({.max_size = 1});

  /// Records where the leased resource was acquired.
  void note() { place = test::resolve(pool.leases().front().where()); }

  void expect_places(const std::vector<way>& ways) {
    fill(pool, 1);
    for (const way& one : ways) {
      one.acquire();
      held.reset();
      EXPECT_NE(place.find(one.place), std::string::npos) << one.place << ", and not " << place;
      EXPECT_NE(place.find("resource_reports_test.cpp"), std::string::npos) << place;
    }
  }

  fake_lease held;
  std::string place;
};

test::detached await_one(fake_pool& pool, const std::function<void()>& then) {
  const fake_lease one = co_await pool.co_acquire();
  then();
}

test::detached await_one_for(fake_pool& pool, const std::function<void()>& then) {
  const fake_lease one = co_await pool.co_acquire(1s);
  then();
}

std::string in_line(int number) {
  return "resource_reports_test.cpp:" + std::to_string(number);
}

TEST_F(ResourcePlaces, E1NamesFileAndLineOfEveryKindOfAcquire) {
  const auto got = [&](fake_lease lease) {
    held = std::move(lease);
    note();
  };
  const auto soon = std::chrono::steady_clock::now() + 10s;
  expect_places({{in_line(__LINE__), [&] { got(pool.acquire()); }},
                 {in_line(__LINE__), [&] { got(pool.acquire(std::stop_token())); }},
                 {in_line(__LINE__), [&] { got(pool.acquire_for(1s)); }},
                 {in_line(__LINE__), [&] { got(pool.acquire_until(soon)); }},
                 {in_line(__LINE__), [&] { got(pool.try_acquire()); }},
                 {in_line(__LINE__), [&] { got(pool.try_acquire_for(1s).value()); }},
                 {in_line(__LINE__), [&] { got(pool.try_acquire_until(soon).value()); }},
                 {in_line(__LINE__), [&] { got(pool.acquire_urgent(1s)); }},
                 {in_line(__LINE__), [&] { pool.with([&](auto& /*connection*/) { note(); }); }}});
}

// GCC 12 gives a co_await the last line of its function, so there the test expects the function.
TEST_F(ResourcePlaces, E1NamesFileAndLineOfCallbacksAndCoroutines) {
  const auto done = [&](acquire_result<test::connection> got) {
    held = std::move(got).value();
    note();
  };
  const std::function<void()> then = [&] { note(); };
  expect_places({{in_line(__LINE__), [&] { pool.async_acquire(done); }},
                 {in_line(__LINE__), [&] { pool.async_acquire(done, 1s); }},
                 {"await_one", [&] { await_one(pool, then); }},
                 {"await_one_for", [&] { await_one_for(pool, then); }}});
}

// Each event of a lease identifies it: its pool, its time, its call site.
TEST_F(ResourceReports, E1NamesFileAndLineOfALeaseThatIsReported) {
  std::vector<pool_event> told;
  std::vector<std::string> pools;
  fake_pool& pool = start({.max_size = 1,
                           .name = "orders",
                           .report_slow_after = 10s,
                           .report_leak_after = 60s,
                           .on_event = [&](const pool_event& event) {
                             told.push_back(event);
                             pools.emplace_back(event.pool);
                           }});
  fill(pool, 1);
  fake_lease held = pool.try_acquire();
  const std::string line = in_line(__LINE__ - 1);
  pass(11s);
  pass(50s);
  clock.advance(4s);
  pool.tick();
  const resource_handle handle = held.handle();
  held.reset();
  const std::array kinds{pool_event::kind::slow_lease, pool_event::kind::suspected_leak,
                         pool_event::kind::returned_after_all};
  const std::array<std::chrono::seconds, 3> ages{11s, 61s, 65s};
  ASSERT_EQ(told.size(), 3U);
  EXPECT_EQ(pools, std::vector<std::string>(3, "orders"));
  for (std::size_t i = 0; i < 3; ++i) {
    EXPECT_EQ(told[i].what, kinds.at(i));
    EXPECT_FALSE(told[i].error);
    ASSERT_EQ(told[i].leases.size(), 1U);
    const lease_info& lease = told[i].leases.front();
    EXPECT_EQ(lease.resource, handle);
    EXPECT_EQ(lease.held_for, ages.at(i));
    EXPECT_NE(test::resolve(lease.where()).find(line), std::string::npos) << lease.where();
  }
}

TEST_F(ResourceReports, AFailedCreateIsReportedWithItsError) {
  std::vector<std::string> told;
  fake_pool& pool =
      start({.max_size = 1, .name = "orders", .on_event = [&](const pool_event& event) {
               EXPECT_EQ(event.what, pool_event::kind::create_failed);
               EXPECT_TRUE(event.leases.empty());
               try {
                 std::rethrow_exception(event.error);
               } catch (const std::exception& error) {
                 EXPECT_EQ(event.text, error.what());
               }
               told.push_back(std::string(event.pool) + ": " + std::string(event.text));
             }});
  server.down = true;
  EXPECT_FALSE(pool.try_acquire());
  EXPECT_EQ(told, std::vector<std::string>{"orders: connection refused"});
}

// HikariCP #808 (E1): the present holders. Vibur (E5): also in the error.
TEST_F(ResourceReports, E1E5HoldersAreListed) {
  fake_pool& pool = start({.max_size = 1, .detect_hold_and_wait = false});
  fill(pool, 1);
  const fake_lease held = pool.try_acquire();
  pass(3s);
  ASSERT_EQ(pool.leases().size(), 1U);
  const lease_info info = pool.leases().front();
  EXPECT_EQ(info.held_for, 3s);
  EXPECT_EQ(info.resource, held.handle());
  EXPECT_NE(info.thread, 0U);
  const acquire_error error = pool.try_acquire_for(1ms).error();
  ASSERT_EQ(error.holders().size(), 1U);
  EXPECT_EQ(error.holders().front().resource, held.handle());
  EXPECT_NE(std::string(error.what()).find("has held one for 3000 ms"), std::string::npos);
}

TEST_F(ResourceReports, A13TheErrorSaysThatThePoolIsSuspended) {
  fake_pool& pool = start({.max_size = 1});
  fill(pool, 1);
  EXPECT_FALSE(pool.stats().suspended);
  pool.suspend();
  EXPECT_TRUE(pool.stats().suspended);
  const acquire_error error = pool.try_acquire_for(1ms).error();
  EXPECT_TRUE(error.counts().suspended);
  EXPECT_NE(std::string(error.what())
                .find("0 of 1 in use, 1 idle, 0 being made, 0 waiting; the pool is suspended"),
            std::string::npos)
      << error.what();
  pool.resume();
  const fake_lease held = pool.try_acquire();
  const acquire_error other = pool.try_acquire_for(1ms).error();
  EXPECT_EQ(std::string(other.what()).find("suspended"), std::string::npos) << other.what();
}

TEST_F(ResourceReports, WithoutATickTheErrorSaysNotForHowLong) {
  fake_pool& pool = start({.max_size = 1, .detect_hold_and_wait = false});
  fill(pool, 1);
  const fake_lease held = pool.try_acquire();
  const std::string before = pool.try_acquire_for(1ms).error().what();
  EXPECT_EQ(before.find("held one for"), std::string::npos) << before;
  EXPECT_NE(before.find(" holds one"), std::string::npos) << before;
  clock.advance(3s);
  pool.tick();
  const std::string after = pool.try_acquire_for(1ms).error().what();
  EXPECT_NE(after.find(" has held one for 3000 ms"), std::string::npos) << after;
}

TEST_F(ResourceReports, E5ACallbackHoldsWithoutAThread) {
  fake_pool& pool = start({.max_size = 1});
  fill(pool, 1);
  test::outcome got;
  pool.async_acquire(got.receiver(), 1s);
  ASSERT_TRUE(got.lease);
  const acquire_error error = pool.try_acquire_for(1ms).error();
  EXPECT_NE(std::string(error.what()).find("; one is in use, its thread unknown"),
            std::string::npos);
  got.lease.reset();
}

TEST_F(ResourceReports, AMovedLeaseHasNoKnownThread) {
  fake_pool& pool = start({.max_size = 1});
  fill(pool, 1);
  fake_lease held = pool.try_acquire();
  ASSERT_TRUE(held);
  const auto moved = std::make_unique<fake_lease>(std::move(held));
  pass(3s);
  const std::string text = pool.try_acquire_for(1ms).error().what();
  EXPECT_NE(text.find("; one has been in use for 3000 ms, its thread unknown"), std::string::npos)
      << text;
  EXPECT_EQ(text.find("; thread "), std::string::npos) << text;
}

// The last create succeeded.
TEST_F(ResourceReports, A13TheErrorDoesNotNameAPastCreateError) {
  fake_pool& pool = start(
      {.max_size = 1, .retry_first = 1ns, .retry_longest = 1ns, .detect_hold_and_wait = false});
  server.down = true;
  EXPECT_FALSE(pool.try_acquire());
  server.down = false;
  const fake_lease held = pool.acquire_for(10s);
  const acquire_error error = pool.try_acquire_for(1ms).error();
  EXPECT_FALSE(error.create_error());
  const std::string what = error.what();
  EXPECT_EQ(what.find("refused"), std::string::npos) << what;
  EXPECT_NE(what.find("timed out"), std::string::npos) << what;
}

// HikariCP #653, #626 (E2): a count, a switch, exemptions. #738 (E3): a slow lease or a leak? All
// of that in every build (E4; dotnet/aspnetcore's LeakTrackingObjectPool is for debug builds).
TEST_F(ResourceReports, E2E3E4LongLeasesAreReportedOnceAndWhenTheyEnd) {
  std::vector<pool_event::kind> told;
  fake_pool& pool =
      start({.max_size = 2,
             .report_slow_after = 10s,
             .report_leak_after = 60s,
             .on_event = [&](const pool_event& event) { told.push_back(event.what); }});
  fill(pool, 2);
  fake_lease watched = pool.try_acquire();
  fake_lease exempt = pool.try_acquire();
  exempt.expect_long_use();
  for (const lease_info& lease : pool.leases()) {
    EXPECT_EQ(lease.exempt, lease.resource == exempt.handle());
  }
  pass(11s);
  pass(1s);
  EXPECT_EQ(told, std::vector{pool_event::kind::slow_lease});
  pool.watch_leases(/*on=*/false);
  pass(60s);
  EXPECT_EQ(told.size(), 1U);
  pool.watch_leases(/*on=*/true);
  pass(1s);
  pass(1s);
  EXPECT_EQ(pool.stats().suspected_leaks, 1U);
  watched.reset();
  exempt.reset();
  EXPECT_EQ(told, (std::vector{pool_event::kind::slow_lease, pool_event::kind::suspected_leak,
                               pool_event::kind::returned_after_all}));
}

TEST_F(ResourceReports, AnExtendedLeaseIsReportedLater) {
  int told = 0;
  fake_pool& pool =
      start({.max_size = 1, .report_slow_after = 10s, .on_event = [&](const pool_event& event) {
               told += event.what == pool_event::kind::slow_lease ? 1 : 0;
             }});
  fake_lease held = pool.try_acquire();
  held.extend(5s);
  held.extend(-1h);
  held.extend(15s);
  pass(29s);
  EXPECT_EQ(told, 0);
  pass(2s);
  EXPECT_EQ(told, 1);
  held.reset();
  held = pool.try_acquire();
  pass(11s);
  EXPECT_EQ(told, 2) << "the next lease has its own time";
  held.reset();
  held = pool.try_acquire();
  held.extend(std::chrono::hours::max());
  pass(std::chrono::hours(24 * 5));
  EXPECT_EQ(told, 2);
}

/// A factory whose reset takes a minute of `clock`, during which the pool ticks.
struct slow_to_reset {
  test::manual_clock* clock;
  resource_pool<int>** pool;
  [[nodiscard]] static int create() { return 1; }
  [[nodiscard]] bool reset(int& /*used*/) const {
    clock->advance(60s);
    (*pool)->tick();
    return true;
  }
};

TEST_F(ResourceReports, E4TheTimeOfAResetDoesNotCountAsLeased) {
  int told = 0;
  resource_pool<int>* itself = nullptr;
  resource_pool<int> pool(slow_to_reset{&clock, &itself},
                          {.max_size = 1,
                           .report_leak_after = 10s,
                           .on_event = [&](const pool_event& /*event*/) { ++told; },
                           .maintenance = maintenance::by_tick,
                           .clock = &clock});
  itself = &pool;
  EXPECT_TRUE(pool.try_acquire());
  EXPECT_EQ(told, 0);
  EXPECT_EQ(pool.stats().suspected_leaks, 0U);
}

// A report may coincide with the end of its lease, and must not be lost.
TEST_F(ResourceReports, E4TheEndOfEachReportedLeaseIsReported) {
  std::atomic<int> leaks{0};
  std::atomic<int> back{0};
  std::optional<resource_pool<int>> pool(
      std::in_place, [] { return 1; },
      resource_pool_options{.max_size = 1,
                            .max_lifetime = 0s,
                            .report_leak_after = 1s,
                            .on_event =
                                [&](const pool_event& event) {
                                  leaks += event.what == pool_event::kind::suspected_leak ? 1 : 0;
                                  back +=
                                      event.what == pool_event::kind::returned_after_all ? 1 : 0;
                                },
                            .maintenance = maintenance::by_tick,
                            .clock = &clock});
  {
    const std::jthread ticking([&](const std::stop_token& stop) {
      while (!stop.stop_requested()) {
        clock.advance(2s);
        pool->tick();
      }
    });
    {
      // On a busy machine, no tick may come while one of the leases below is held.
      const auto held = pool->try_acquire();
      EXPECT_TRUE(eventually([&] { return leaks > 0; }));
    }
    const auto end = std::chrono::steady_clock::now() + 1s;
    while (leaks < 5'000 && std::chrono::steady_clock::now() < end) {
      (void)pool->try_acquire();
    }
  }
  pool.reset();
  EXPECT_GT(leaks, 0);
  EXPECT_EQ(back, leaks);
}

}  // namespace
}  // namespace lido
