// Keys share one limit: quota passes between keys, and a failing key takes none from others.
#include <gtest/gtest.h>

#include <array>
#include <atomic>
#include <chrono>
#include <memory>
#include <stdexcept>
#include <stop_token>
#include <string>
#include <thread>
#include <utility>
#include <vector>

#include "lido/keyed_resource_pool.hpp"
#include "support/fake_server.hpp"

namespace lido {
namespace {

using namespace std::chrono_literals;
using test::eventually;

struct session {
  std::string host;
  int id = 0;
};

struct hosts {
  std::atomic<int> next{1};
  std::atomic<int> alive{0};
  std::atomic<bool> down{false};
  std::atomic<const char*> down_host{""};
  std::atomic<int> refused{0};
};

struct session_dialer {
  hosts* all;

  [[nodiscard]] session create(const std::string& host) const {
    if (all->down || host == all->down_host.load()) {
      ++all->refused;
      throw std::runtime_error("no route to " + host);
    }
    ++all->alive;
    return {host, all->next++};
  }
  void destroy(session& /*ended*/, destroy_reason /*why*/) const noexcept { --all->alive; }
};

using session_pool = keyed_resource_pool<std::string, session>;
using session_lease = resource_lease<session>;

class KeyedResourcePool : public ::testing::Test {
 protected:
  void TearDown() override { EXPECT_EQ(all.alive, 0); }

  static keyed_resource_pool_options options(std::size_t total, std::size_t each,
                                             maintenance by = maintenance::by_tick) {
    return {.max_total = total, .each_key = {.max_size = each, .name = "hosts", .maintenance = by}};
  }

  hosts all;  // NOLINT(*-non-private-member-*,readability-identifier-naming)
};

acquire_failure failure_of(session_pool& pool, const std::string& key,
                           std::chrono::milliseconds time, std::stop_token stop = {}) {
  const auto result = pool.at(key).try_acquire_for(time, std::move(stop));
  EXPECT_FALSE(result) << "the acquire went well";
  return result ? acquire_failure::closed : result.failure();
}

TEST_F(KeyedResourcePool, EachKeyHasItsOwnResources) {
  session_pool pool(session_dialer{&all}, options(4, 2));
  const int first = pool.at("a").acquire()->id;
  EXPECT_EQ(pool.at("b").acquire()->host, "b");
  EXPECT_EQ(pool.at("a").acquire()->id, first);
  EXPECT_EQ(pool.stats().keys, 2U);
  EXPECT_EQ(pool.stats().live, 2U);
}

// POOL-391, POOL-401: freed capacity of one key is not usable by waiters of another key.
TEST_F(KeyedResourcePool, B6EveryWayToFreeRoomServesAWaiterOfAnotherKey) {
  using way = void (*)(session_pool&, session_lease&);
  const std::array<way, 5> ways{
      [](session_pool& /*pool*/, session_lease& lease) { lease.reset(); },
      [](session_pool& /*pool*/, session_lease& lease) { lease.discard(); },
      [](session_pool& pool, session_lease& lease) {
        (void)pool.kill(lease.handle());
        lease.reset();
      },
      [](session_pool& pool, session_lease& lease) {
        pool.at("a").flush();
        lease.reset();
      },
      [](session_pool& /*pool*/, session_lease& lease) { (void)lease.detach(); }};
  session_pool pool(session_dialer{&all}, options(1, 1));
  for (const way free : ways) {
    session_lease held = pool.at("a").acquire();
    std::jthread waiting([&] { EXPECT_EQ(pool.at("b").acquire_for(20s)->host, "b"); });
    ASSERT_TRUE(eventually([&] { return pool.stats().waiting == 1; }));
    free(pool, held);
    waiting.join();
  }
  --all.alive;  // the detached resource
}

TEST_F(KeyedResourcePool, MinIdleResourcesOfEachUsedKeyAreMadeAhead) {
  keyed_resource_pool_options ahead = options(5, 3, maintenance::background);
  ahead.each_key.min_idle = 2;
  session_pool pool(session_dialer{&all}, ahead);
  EXPECT_EQ(pool.stats().live, 0U) << "no key is known";
  for (const char* const key : {"a", "b"}) {
    EXPECT_TRUE(pool.at(key).try_acquire_for(10s));
    EXPECT_TRUE(eventually([&] { return pool.at(key).stats()->idle >= 2; })) << key;
  }
  EXPECT_LE(pool.stats().live, 5U);
}

TEST_F(KeyedResourcePool, AKeyWithoutResourcesIsForgotten) {
  session_pool pool(session_dialer{&all}, options(2, 2));
  pool.at("a").acquire().discard();
  EXPECT_EQ(pool.stats().keys, 1U);
  pool.tick();
  EXPECT_EQ(pool.stats().keys, 0U);
  EXPECT_EQ(pool.at("a").acquire()->host, "a");
}

// The resource is then the first of a new key.
/// A way in which a host leaves.
struct departure {
  const char* name;
  void (*act)(keyed_resource_pool<std::string, int>&);
};

// hector #216, proxysql #1323: a host has left, and the pool continues to connect to it.
TEST(KeyedForget, NothingIsMadeAheadForAHostThatHasLeft) {
  const departure rows[] = {
      {"flush", [](auto& pool) { pool.at("old").flush(); }},
      {"flush of all", [](auto& pool) { pool.flush(); }},
      {"forget", [](auto& pool) { EXPECT_TRUE(pool.forget("old")); }},
      {"forget twice",
       [](auto& pool) {
         EXPECT_TRUE(pool.forget("old"));
         (void)pool.forget("old");  // it may be gone
       }},
  };
  for (const departure& one : rows) {
    SCOPED_TRACE(one.name);
    std::atomic<int> creates{0};
    keyed_resource_pool<std::string, int> pool(
        [&](const std::string& host) { return host == "old" ? ++creates : 0; },
        {.max_total = 8, .each_key = {.max_size = 4, .min_idle = 2}});
    (void)pool.at("old").acquire();
    ASSERT_TRUE(eventually([&] {
      const auto stats = pool.at("old").stats();
      return stats->idle >= 2 && stats->creating == 0;
    }));
    one.act(pool);
    const int before = creates;
    std::this_thread::sleep_for(50ms);
    EXPECT_EQ(creates, before);
    EXPECT_TRUE(eventually([&] { return !pool.at("old").stats(); }));  // by the pool's own ticks
    (void)pool.at("old").acquire();
    EXPECT_TRUE(eventually([&] { return pool.at("old").stats()->idle >= 2; }));
  }
}

TEST(KeyedForget, AKeyGoesWithItsLastResourceAndWaiter) {
  keyed_resource_pool<std::string, int> pool(
      [](const std::string&) { return 1; },
      {.max_total = 1, .each_key = {.max_size = 1, .maintenance = maintenance::by_tick}});
  EXPECT_FALSE(pool.forget("a"));  // unknown
  auto held = pool.at("a").acquire();
  EXPECT_TRUE(pool.forget("a"));
  EXPECT_EQ(pool.at("a").stats()->in_use, 1U);
  bool is_served = false;
  pool.at("a").async_acquire([&](acquire_result<int> got) { is_served = bool(got); }, 20s);
  EXPECT_TRUE(pool.forget("a"));  // its waiter stays
  held.reset();
  pool.tick();
  EXPECT_TRUE(is_served);
  EXPECT_TRUE(pool.forget("a"));
  EXPECT_FALSE(pool.at("a").stats());
  EXPECT_EQ(pool.stats().keys, 0U);
  (void)pool.close(0s);
  EXPECT_FALSE(pool.forget("a"));
}

TEST(KeyedForget, AHookAndACallbackMayForgetAKey) {
  using pool_type = keyed_resource_pool<int, int>;
  pool_type* all = nullptr;
  pool_type pool(
      [&](int key) {
        (void)all->forget(key);
        return key;
      },
      {.max_total = 2, .each_key = {.max_size = 1}});
  all = &pool;
  std::atomic<bool> done{false};
  pool.at(7).async_acquire(
      [&](acquire_result<int> got) {
        got.lease().reset();
        (void)pool.forget(7);
        done = true;
      },
      100ms);
  EXPECT_TRUE(eventually([&] { return done.load(); }));
}

TEST_F(KeyedResourcePool, KillWithAnOldHandleSparesAResourceOfTheSameKey) {
  session_pool pool(session_dialer{&all}, options(2, 2));
  session_lease first = pool.at("a").acquire();
  const resource_handle old = first.handle();
  first.discard();
  pool.tick();
  const session_lease second = pool.at("a").acquire();
  EXPECT_FALSE(pool.kill(old));
  EXPECT_TRUE(pool.kill(second.handle()));
}

TEST_F(KeyedResourcePool, AThreadOfThePoolEndsExpiredIdleResources) {
  keyed_resource_pool_options brief = options(4, 4, maintenance::background);
  brief.each_key.idle_timeout = 10ms;
  session_pool pool(session_dialer{&all}, brief);
  pool.at("a").acquire().reset();
  EXPECT_TRUE(eventually([&] { return pool.stats().keys == 0; }));
}

TEST_F(KeyedResourcePool, G1ALeaseMayOutliveThePool) {
  session_lease kept;
  {
    keyed_resource_pool_options brief = options(2, 2);
    brief.each_key.close_timeout = 0ns;
    session_pool pool(session_dialer{&all}, brief);
    kept = pool.at("a").acquire();
  }
  EXPECT_EQ(kept->host, "a");
}

// boostorg/mysql #370: waiters get an error, and need nothing of the pool for that.
TEST_F(KeyedResourcePool, G2WaitersGetAnErrorAtTheEnd) {
  all.down = true;
  for (const maintenance by : {maintenance::background, maintenance::by_tick}) {
    for (int round = 0; round < 10; ++round) {
      keyed_resource_pool_options failing = options(4, 2, by);
      failing.each_key.retry_first = 5s;
      auto pool = std::make_unique<session_pool>(session_dialer{&all}, failing);
      std::vector<std::jthread> waiters;
      for (const char* key : {"a", "b", "a", "b"}) {
        waiters.emplace_back(
            [&all = *pool, key] { EXPECT_EQ(failure_of(all, key, 20s), acquire_failure::closed); });
      }
      ASSERT_TRUE(eventually([&] { return pool->stats().waiting == 4; }));
      pool.reset();
    }
  }
}

TEST_F(KeyedResourcePool, WrongOptionsAreNamed) {
  const auto names = [&](const keyed_resource_pool_options& wrong, const char* option) {
    try {
      const session_pool pool(session_dialer{&all}, wrong);
    } catch (const std::invalid_argument& error) {
      const std::string text = error.what();
      return text.find("'hosts'") != std::string::npos && text.find(option) != std::string::npos;
    }
    return false;
  };
  EXPECT_TRUE(names(options(0, 1), "max_total 0 is not between"));
  EXPECT_TRUE(names(options(65536, 1), "max_total 65536 is not between"));
  EXPECT_TRUE(names(options(1, 0), "max_size 0 is not at least 1"));
  keyed_resource_pool_options wrong = options(2, 2);
  wrong.each_key.reserve = 1;
  EXPECT_TRUE(names(wrong, "reserve 1 is not for pools with keys"));
  wrong = options(2, 2);
  wrong.each_key.min_idle = 3;
  EXPECT_TRUE(names(wrong, "min_idle 3 is more than max_size 2"));
  wrong = options(2, 2);
  wrong.prefer_same_key_for = -1ns;
  EXPECT_TRUE(names(wrong, "prefer_same_key_for of -1 ns is negative"));
  wrong = options(2, 2);
  wrong.each_key.retry_first = 5ms;
  wrong.each_key.retry_longest = 4ms;
  EXPECT_TRUE(names(wrong, "retry_longest of 4 ms is less than retry_first of 5 ms"));
  wrong.each_key.retry_longest = 4'999'500ns;
  EXPECT_TRUE(names(wrong, "retry_longest of 4999500 ns is less than retry_first of 5 ms"));
  wrong.each_key.retry_first = 90s;
  wrong.each_key.retry_longest = 1'500us;
  EXPECT_TRUE(names(wrong, "retry_longest of 1500 us is less than retry_first of 90 s"));
  wrong = options(2, 2);
  wrong.each_key.acquire_timeout = 0s;
  EXPECT_TRUE(names(wrong, "acquire_timeout of 0 s is not positive"));
  wrong.each_key.acquire_timeout = 1s;
  wrong.each_key.idle_timeout = -1500ms;
  EXPECT_TRUE(names(wrong, "idle_timeout of -1500 ms is negative"));
}

}  // namespace
}  // namespace lido
