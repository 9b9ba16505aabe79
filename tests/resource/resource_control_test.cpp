// Control of a whole pool: limits, kills, replaced factories, and its end. docs/reference/tests.md
// explains the letters and numbers in test names.
#include <gtest/gtest.h>

#include <atomic>
#include <chrono>
#include <latch>
#include <stdexcept>
#include <thread>
#include <utility>
#include <vector>

#include "lido/keyed_resource_pool.hpp"
#include "support/crew.hpp"
#include "support/resource_fixtures.hpp"
#include "support/settled.hpp"

namespace lido {
namespace {

using namespace std::chrono_literals;
using test::eventually;
using test::fake_lease;
using test::fake_pool;

class ResourceControl : public test::resource_by_tick {};

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

// HikariCP #1441: maintenance of a database that needs all connections gone.
TEST_F(ResourceControl, ASuspendedPoolHasNoConnectionAfterAFlushUntilItResumes) {
  fake_pool pool(test::fake_factory{&server}, {.max_size = 4, .min_idle = 2});
  ASSERT_TRUE(pool.wait_until_idle(2, 20s));
  fake_lease held = pool.acquire_for(20s);
  std::jthread waiting;
  pool.suspend();
  pool.flush();
  waiting = std::jthread([&] { EXPECT_TRUE(pool.acquire_for(20s)); });
  held.reset();
  ASSERT_TRUE(eventually([&] { return server.alive == 0; }));
  const int creates = server.creates;
  std::this_thread::sleep_for(100ms);
  EXPECT_EQ(server.creates, creates);
  EXPECT_EQ(pool.stats().live, 0U);
  pool.resume();
  waiting.join();
  EXPECT_TRUE(pool.wait_until_idle(2, 20s));
}

// ---- a flush of what was seen to fail -----------------------------------------------------------

// MongoDB CMAP: of all that fail with connections from before a failover, the first one flushes.
TEST_F(ResourceControl, AFlushOfALeaseEndsWhatIsAsOldOnce) {
  fake_pool pool(test::fake_factory{&server}, {.max_size = 4});
  fake_pool other(test::fake_factory{&server}, {.max_size = 1});
  fake_lease first = pool.acquire();
  fake_lease second = pool.acquire();
  (void)pool.acquire();  // idle then
  EXPECT_TRUE(pool.flush(first));
  EXPECT_TRUE(eventually([&] { return server.destroyed_for(destroy_reason::flushed) == 1; }));
  fake_lease young = pool.acquire();
  const int id = young->id;
  young.reset();
  EXPECT_FALSE(pool.flush(first));   // twice
  EXPECT_FALSE(pool.flush(second));  // late
  EXPECT_FALSE(pool.flush(other.acquire()));
  EXPECT_FALSE(pool.flush(fake_lease()));
  young = pool.acquire();
  EXPECT_EQ(young->id, id);
  first.reset();
  second.reset();
  EXPECT_TRUE(eventually([&] { return server.destroyed_for(destroy_reason::flushed) == 3; }));
  (void)pool.close(0s);
  EXPECT_TRUE(pool.flush(young));  // of the present generation
  EXPECT_FALSE(pool.flush(young));
}

// Each of 20 threads gets a connection to a server that is gone, and flushes its generation.
TEST_F(ResourceControl, C57AFlushByEachThreadMakesNoMoreConnectsThanOne) {
  constexpr int threads = 20;
  for (int round = 0; round < 5; ++round) {
    test::fake_server host;
    fake_pool pool(test::fake_factory{&host}, {.max_size = threads, .max_creating = threads});
    std::latch all_have_one(threads);
    test::run_crew(threads, [&](unsigned index) {
      fake_lease mine = pool.acquire_for(20s);
      const resource_generation seen = pool.generation();
      all_have_one.arrive_and_wait();
      for (int use = 0; use < 20; ++use) {
        if (mine->id <= threads) {  // of those that fail
          index % 2 == 0 ? pool.flush(mine) : pool.flush(seen);
        }
        mine.reset();
        mine = pool.acquire_for(20s);
      }
      EXPECT_GT(mine->id, threads);
    });
    EXPECT_LE(host.creates - threads, threads * 6 / 5);
  }
}

TEST_F(ResourceControl, AFlushAfterWithHasThrownComesOnce) {
  fake_pool pool(test::fake_factory{&server}, {.max_size = 4});
  int flushes = 0;
  for (int user = 0; user < 3; ++user) {
    static resource_generation seen;  // all have begun before the first one failed
    seen = user == 0 ? pool.generation() : seen;
    EXPECT_THROW(pool.with([](auto&) { throw std::runtime_error("read-only"); }),
                 std::runtime_error);
    flushes += pool.flush(seen) ? 1 : 0;
  }
  EXPECT_EQ(flushes, 1);
}

TEST_F(ResourceControl, AFlushOfALeaseReachesItsKeyAlone) {
  keyed_resource_pool<int, int> pool([](int key) { return key; },
                                     {.max_total = 4, .each_key = {.max_size = 2}});
  const auto one = pool.at(1).acquire();
  const resource_generation of_two = pool.at(2).generation();
  EXPECT_EQ(of_two, resource_generation());
  const auto two = pool.at(2).acquire();
  const resource_generation seen = pool.at(2).generation();
  EXPECT_TRUE(pool.flush(one));
  EXPECT_FALSE(pool.flush(one));
  EXPECT_TRUE(pool.at(2).flush(seen));
  EXPECT_FALSE(pool.at(2).flush(seen));
  EXPECT_FALSE(pool.at(3).flush(seen));
}

// ---- a resource from outside --------------------------------------------------------------------

TEST_F(ResourceControl, AGenerationOfAForgottenKeyIsNoOther) {
  keyed_resource_pool<int, int> pool([](int key) { return key; }, {.max_total = 2});
  pool.at(1).acquire().reset();
  const resource_generation seen = pool.at(1).generation();
  EXPECT_TRUE(test::eventually([&] { return !pool.forget(1); }));
  pool.at(1).acquire().reset();
  EXPECT_FALSE(pool.at(1).flush(seen));
}

TEST_F(ResourceControl, ADetachedResourceMayComeBack) {
  fake_pool pool(test::fake_factory{&server}, {.max_size = 1});
  test::connection out = pool.acquire().detach();
  const int id = out.id;
  EXPECT_TRUE(pool.adopt(std::move(out)));
  EXPECT_EQ(pool.acquire()->id, id);
  EXPECT_EQ(server.creates, 1);
}

/// A resource that records if it was moved from, and throws when a test says so.
struct movable {
  explicit movable(bool* told) : throws(told) {}
  movable(movable&& other) : throws(other.throws), is_there(std::exchange(other.is_there, false)) {
    if (*throws) {
      other.is_there = true;
      throw std::runtime_error("stuck");
    }
  }
  bool* throws;
  bool is_there = true;
};

TEST_F(ResourceControl, AResourceThatIsRefusedIsNotLost) {
  bool throws = false;
  resource_pool<movable> pool([&] { return movable(&throws); }, {.max_size = 1});
  auto held = pool.acquire();
  movable mine(&throws);
  EXPECT_FALSE(pool.adopt(std::move(mine)));  // full
  EXPECT_TRUE(mine.is_there);                 // NOLINT(*-use-after-move): refused
  held.discard();
  (void)test::settled(pool);
  throws = true;
  EXPECT_THROW((void)pool.adopt(std::move(mine)), std::runtime_error);
  EXPECT_EQ(pool.stats().live, 0U);
  throws = false;
  EXPECT_TRUE(pool.adopt(std::move(mine)));
  EXPECT_FALSE(mine.is_there);  // NOLINT(*-use-after-move): on purpose
  EXPECT_EQ(pool.stats().idle, 1U);
  (void)pool.close(0s);
  movable late(&throws);
  EXPECT_FALSE(pool.adopt(std::move(late)));
  EXPECT_TRUE(late.is_there);  // NOLINT(*-use-after-move): refused
}

TEST_F(ResourceControl, AnAdoptedResourceServesAWaiterOfItsKey) {
  keyed_resource_pool<int, int> pool(
      [](int) -> int { throw std::runtime_error("down"); },
      {.max_total = 1, .each_key = {.max_size = 1, .retry_first = 1h, .retry_longest = 1h}});
  std::atomic<int> got{0};
  pool.at(1).async_acquire([&](acquire_result<int> found) { got = found ? *found : -1; }, 20s);
  while (!pool.at(1).adopt(5)) {
    std::this_thread::sleep_for(1ms);  // a create is in progress
  }
  EXPECT_TRUE(eventually([&] { return got == 5; }));
  EXPECT_FALSE(pool.at(2).adopt(6));  // beyond max_total
}

// ---- exceptions that leave a resource clean -----------------------------------------------------

struct server_said_no : std::runtime_error {
  using std::runtime_error::runtime_error;
};

/// A factory that keeps a resource after errors that the server reported.
struct judging_factory : test::fake_factory {
  [[nodiscard]] static bool is_clean_after(test::connection& used, const std::exception& thrown) {
    if (used.id < 0) {
      throw std::runtime_error("who knows");
    }
    return dynamic_cast<const server_said_no*>(&thrown) != nullptr;
  }
};

template <class Thrown>
bool survives(resource_pool<test::connection>& pool, const Thrown& thrown, bool is_odd = false) {
  const int id = pool.acquire()->id;
  EXPECT_THROW(pool.with([&](test::connection& used) {
    used.id = is_odd ? -id : id;
    throw Thrown(thrown);
  }),
               Thrown);
  return pool.acquire()->id == id;
}

TEST_F(ResourceControl, TheFactorySaysWhichExceptionsLeaveAResourceClean) {
  fake_pool pool(judging_factory{{&server}}, {.max_size = 1});
  EXPECT_TRUE(survives(pool, server_said_no("duplicate key")));
  EXPECT_FALSE(survives(pool, std::runtime_error("broken pipe")));
  EXPECT_FALSE(survives(pool, 7));                                      // no std::exception
  EXPECT_FALSE(survives(pool, server_said_no("no"), /*is_odd=*/true));  // the hook has thrown
  fake_pool without(test::fake_factory{&server}, {.max_size = 1});
  EXPECT_FALSE(survives(without, server_said_no("duplicate key")));
}

/// The setting of after_exception, the state of the resource, and whether it survives.
struct left_to {
  const char* name;
  after_exception what;
  bool is_broken;
  bool survives;
  bool told_to_discard = false;
};

TEST_F(ResourceControl, AnOptionLeavesAResourceAfterAnExceptionToAHook) {
  const left_to rows[] = {
      {"discard", after_exception::discard, false, false},
      {"reset says yes", after_exception::reset, false, true},
      {"reset says no", after_exception::reset, true, false},
      {"validate says yes", after_exception::validate, false, true},
      {"validate says no", after_exception::validate, true, false},
      {"told to discard", after_exception::reset, false, false, true},
  };
  for (const left_to& one : rows) {
    SCOPED_TRACE(one.name);
    test::fake_server host;
    fake_pool pool(test::fake_factory{&host}, {.max_size = 1, .after_exception = one.what});
    const int id = pool.acquire()->id;
    host.broken = one.what == after_exception::validate && one.is_broken;
    host.refuse_reset = one.what == after_exception::reset && one.is_broken;
    try {
      fake_lease held = pool.acquire();
      if (one.told_to_discard) {
        held.discard_unless_kept();
      }
      throw std::runtime_error("no");
    } catch (const std::runtime_error&) {
    }
    const bool is_asked = host.validations != 0;
    const bool is_same = pool.acquire_for(20s)->id == id;
    EXPECT_EQ(is_same, one.survives);
    EXPECT_FALSE(is_asked);  // only before the next use
    EXPECT_EQ(host.validations != 0, one.what == after_exception::validate);
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
struct silent_factory {
  std::atomic<int>* begun;
  std::atomic<int>* told;  ///< creates that were told to stop
  [[nodiscard]] test::connection create(const create_context& context) const {
    ++*begun;
    while (!context.stop.stop_requested() && std::chrono::steady_clock::now() < context.deadline) {
      std::this_thread::sleep_for(1ms);
    }
    *told += context.stop.stop_requested() ? 1 : 0;
    throw std::runtime_error("no answer");
  }
};

TEST_F(ResourceControl, ACreateOfAReplacedFactoryIsToldToStop) {
  for (const maintenance by : {maintenance::background, maintenance::by_tick}) {
    std::atomic<int> begun{0};
    std::atomic<int> told{0};
    fake_pool pool(silent_factory{&begun, &told},
                   {.max_size = 4, .create_timeout = 20s, .max_creating = 1, .maintenance = by});
    std::jthread waiting([&] { EXPECT_TRUE(pool.try_acquire_for(20s)); });
    ASSERT_TRUE(eventually([&] { return begun == 1; }));
    pool.replace_factory(test::fake_factory{&server});
    EXPECT_TRUE(eventually([&] { return told == 1; }));
    EXPECT_TRUE(pool.try_acquire_for(10s));
  }
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

// What the factory points to must outlive the destroy.
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

}  // namespace
}  // namespace lido
