// What is done to keyed pools and their leases, and what they tell.
#include <gtest/gtest.h>
#include <pthread.h>

#include <atomic>
#include <chrono>
#include <optional>
#include <stdexcept>
#include <stop_token>
#include <string>
#include <thread>
#include <vector>

#include "lido/keyed_resource_pool.hpp"
#include "support/resource_fixtures.hpp"

namespace lido {
namespace {

using namespace std::chrono_literals;
using test::cause_of_call;
using test::eventually;
using links = keyed_resource_pool<std::string, int>;

int make_link(const std::string& /*host*/) {
  return 1;
}

keyed_resource_pool_options options_of(std::size_t total, std::size_t each) {
  return {.max_total = total,
          .each_key = {.max_size = each, .name = "hosts", .upkeep = maintenance::by_tick}};
}

TEST(KeyedControls, AFlushReachesAllKeys) {
  links pool(make_link, options_of(4, 2));
  pool.acquire("a").reset();
  pool.acquire("b").reset();
  pool.flush();
  for (const auto* const key : {"a", "b"}) {
    EXPECT_EQ(pool.stats(key).value().destroyed_for(destroy_reason::flushed), 1U) << key;
  }
}

TEST(KeyedControls, WithDiscardsWhatAnExceptionHasLeft) {
  int made = 0;
  links pool([&made](const std::string& /*host*/) { return ++made; }, options_of(1, 1));
  EXPECT_EQ(pool.with("a", [](int link) { return link; }), 1);
  int& same = pool.with("a", [](int& link) -> int& { return link; });
  EXPECT_EQ(same, 1) << "what it returns is not copied";
  EXPECT_THROW(pool.with("a", [](int) { throw std::runtime_error("no"); }), std::runtime_error);
  EXPECT_EQ(pool.stats("a").value().destroyed_for(destroy_reason::discarded), 1U);
  EXPECT_EQ(pool.with("a", [](int link) { return link; }), 2);
}

TEST(KeyedControls, NumbersAreThoseOfTheirKeys) {
  links pool(make_link, options_of(4, 2));
  pool.acquire("a").reset();
  const auto held = pool.acquire("b");
  const auto all = pool.stats_by_key();
  ASSERT_EQ(all.size(), 2U);
  for (const auto& [key, stats] : all) {
    EXPECT_EQ(stats.live, 1U) << key;
    EXPECT_EQ(stats.idle, key == "a" ? 1U : 0U) << key;
  }
  EXPECT_EQ(pool.stats().idle, 1U);
}

TEST(KeyedControls, ATickTakesBackWhatAKeyWasGrantedAndDoesNotUse) {
  links pool(make_link, options_of(2, 2));
  const auto kept = pool.acquire("a");
  pool.acquire("a").discard();
  pool.tick();
  EXPECT_EQ(pool.stats("a").value().max_size, 1U);
}

TEST(KeyedControls, EachWayToAcquireKeepsToItsTime) {
  auto options = options_of(1, 1);
  options.each_key.acquire_timeout = 20ms;
  links pool(make_link, options);
  const auto held = pool.acquire_for("a", 20s);  // the machine may be busy
  const std::stop_source stop;
  EXPECT_EQ(cause_of_call([&] { return pool.acquire("a"); }), acquire_failure::timed_out);
  EXPECT_EQ(cause_of_call([&] { return pool.acquire("a", stop.get_token()); }),
            acquire_failure::timed_out);
  EXPECT_EQ(cause_of_call(
                [&] { return pool.acquire_until("a", std::chrono::system_clock::now() + 20ms); }),
            acquire_failure::timed_out);
}

// Its end waits for its thread.
TEST(KeyedControls, AThreadThatIsCancelledMayEndThePool) {
  std::atomic<bool> went_on{false};
  std::thread([&] {
    {
      const links pool(make_link, {.max_total = 1, .each_key = {.max_size = 1}});
      EXPECT_EQ(::pthread_cancel(::pthread_self()), 0);
    }
    ::pthread_testcancel();
    went_on = true;
  }).join();
  EXPECT_FALSE(went_on);
}

TEST(KeyedControls, EachWayToAcquireHeedsItsToken) {
  links pool(make_link, options_of(1, 1));
  auto held = pool.acquire("a");
  const auto soon = std::chrono::steady_clock::now() + 20s;
  for (const bool until : {false, true}) {
    std::stop_source stop;
    std::jthread stops([&] {
      EXPECT_TRUE(eventually([&] { return pool.stats().waiters == 1; }));
      (void)stop.request_stop();
    });
    EXPECT_EQ(cause_of_call([&] {
                return until ? pool.acquire_until("a", soon, stop.get_token())
                             : pool.acquire("a", stop.get_token());
              }),
              acquire_failure::cancelled);
  }
  held.reset();
  std::stop_source before;
  (void)before.request_stop();
  EXPECT_EQ(cause_of_call([&] { return pool.acquire_for("a", 20s, before.get_token()); }),
            acquire_failure::cancelled)
      << "though one is idle";
}

/// A pool that tells of leases of more than ten seconds.
class KeyedReports : public ::testing::Test {
 protected:
  links& start() {
    auto options = options_of(2, 2);
    options.each_key.close_timeout = 0ns;
    options.each_key.report_slow_after = 10s;
    options.each_key.on_event = [this](const pool_event& event) {
      told.push_back(event.what);
      pools.emplace_back(event.pool);
    };
    options.each_key.clock = &clock;
    return pool.emplace(make_link, options);
  }
  void pass(std::chrono::nanoseconds time) {
    clock.advance(time);
    pool->tick();
  }

  // NOLINTBEGIN(*-non-private-member-*,readability-identifier-naming)
  test::manual_clock clock;
  std::vector<pool_event::kind> told;
  std::vector<std::string> pools;
  std::optional<links> pool;
  // NOLINTEND(*-non-private-member-*,readability-identifier-naming)
};

TEST_F(KeyedReports, ATickTellsOfALongLeaseAndOfItsKey) {
  const auto held = start().acquire("a");
  pass(11s);
  EXPECT_EQ(told, std::vector{pool_event::kind::slow_lease});
  EXPECT_EQ(pools, std::vector<std::string>{"hosts[a]"});
}

TEST_F(KeyedReports, WhoAsksForMoreTimeIsNotToldOf) {
  auto extended = start().acquire("a");
  auto exempt = pool->acquire("a");
  extended.extend(1h);
  exempt.expect_long_use();
  pass(11s);
  EXPECT_TRUE(told.empty());
  pass(2h);
  EXPECT_EQ(told, std::vector{pool_event::kind::slow_lease});
}

TEST_F(KeyedReports, ALeaseThatOutlivesThePoolIsToldOf) {
  const auto kept = start().acquire("a");
  pool.reset();
  EXPECT_EQ(told, std::vector{pool_event::kind::orphaned});
}

// As those who give back and those who discard.
TEST(KeyedTurns, B6AKeyWhoseUsersDetachDoesNotStarveOthers) {
  auto options = options_of(1, 1);
  options.prefer_same_key_for = 1ms;
  links pool(make_link, options);
  std::atomic<bool> over{false};
  std::vector<std::jthread> busy;
  for (int i = 0; i < 3; ++i) {
    busy.emplace_back([&] {
      while (!over) {
        auto lease = pool.acquire_for("busy", 60s);
        std::this_thread::sleep_for(1ms);
        (void)lease.detach();
      }
    });
  }
  EXPECT_TRUE(eventually([&] { return pool.stats().waiters == 2; }));
  for (int i = 0; i < 5; ++i) {
    EXPECT_NO_THROW((void)pool.acquire_for("quiet", 10s));
  }
  over = true;
}

// Neither for itself nor for the pool.
TEST(KeyedCancellation, WhoIsStoppedBeforeItAsksDoesNothing) {
  struct counting {
    int* asked;
    [[nodiscard]] int create(const std::string& /*host*/) const { return 1; }
    bool validate(int& /*idle*/) const {
      ++*asked;
      return true;
    }
  };
  int asked = 0;
  test::manual_clock clock;
  auto options = options_of(2, 2);
  options.each_key.keepalive = 10s;
  options.each_key.clock = &clock;
  links pool(counting{&asked}, options);
  pool.acquire("a").reset();
  clock.advance(11s);
  std::stop_source stop;
  (void)stop.request_stop();
  EXPECT_EQ(cause_of_call([&] { return pool.acquire("a", stop.get_token()); }),
            acquire_failure::cancelled);
  EXPECT_EQ(asked, 0);
}

TEST(KeyedCancellation, WhoHasNoTimeLeftTakesNoRoom) {
  test::manual_clock clock;
  auto options = options_of(2, 2);
  options.each_key.report_slow_after = 1s;
  options.each_key.on_event = [](const pool_event& /*slow*/) { std::this_thread::sleep_for(50ms); };
  options.each_key.clock = &clock;
  links pool(make_link, options);
  pool.acquire("a").reset();
  const auto held = pool.acquire("b");
  clock.advance(2s);  // the report of `held` takes longer than the acquire has
  EXPECT_EQ(cause_of_call([&] { return pool.acquire_for("b", 20ms); }), acquire_failure::timed_out);
  EXPECT_EQ(pool.stats("a").value().idle, 1U);
  EXPECT_EQ(pool.stats().moved, 0U);
}

}  // namespace
}  // namespace lido
