// The letters and numbers are those of docs/reference/tests.md.
#include <gtest/gtest.h>

#include <array>
#include <atomic>
#include <stop_token>
#include <string>
#include <string_view>
#include <thread>
#include <utility>
#include <vector>

#include "lido/keyed_resource_pool.hpp"
#include "support/crew.hpp"
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
  std::atomic<int> most{0};
  std::atomic<bool> down{false};
  std::atomic<const char*> down_host{""};
  std::atomic<int> refused{0};
  std::atomic<bool> slow_destroy{false};
};

struct session_dialer {
  hosts* all;

  [[nodiscard]] session create(const std::string& host) const {
    if (all->down || host == all->down_host.load()) {
      ++all->refused;
      throw std::runtime_error("no route to " + host);
    }
    const int alive = ++all->alive;
    int most = all->most;
    while (alive > most && !all->most.compare_exchange_weak(most, alive)) {
    }
    return {host, all->next++};
  }
  static bool validate(session& idle) { return !idle.host.empty(); }
  void destroy(session& /*ended*/, destroy_reason /*why*/) const noexcept {
    test::wait_while(all->slow_destroy);
    --all->alive;
  }
};

using session_pool = keyed_resource_pool<std::string, session>;
using session_lease = keyed_lease<session>;

class KeyedResourcePool : public ::testing::Test {
 protected:
  void TearDown() override { EXPECT_EQ(all.alive, 0); }

  static keyed_resource_pool_options options(std::size_t total, std::size_t each) {
    return {.max_total = total,
            .each_key = {.max_size = each, .name = "hosts", .upkeep = maintenance::by_tick}};
  }

  hosts all;  // NOLINT(*-non-private-member-*,readability-identifier-naming)
};

acquire_failure failure_of(session_pool& pool, const std::string& key,
                           std::chrono::milliseconds time, std::stop_token stop = {}) {
  try {
    (void)pool.acquire_for(key, time, std::move(stop));
  } catch (const acquire_error& error) {
    return error.cause();
  }
  ADD_FAILURE() << "the acquire went well";
  return acquire_failure::closed;
}

TEST_F(KeyedResourcePool, EachKeyHasItsOwnResources) {
  session_pool pool(session_dialer{&all}, options(4, 2));
  const int first = pool.acquire("a")->id;
  EXPECT_EQ(pool.acquire("b")->host, "b");
  EXPECT_EQ(pool.acquire("a")->id, first);
  EXPECT_EQ(pool.stats().keys, 2U);
  EXPECT_EQ(pool.stats().live, 2U);
}

TEST_F(KeyedResourcePool, BothLimitsAreExact) {
  session_pool pool(session_dialer{&all}, options(3, 2));
  const session_lease a1 = pool.acquire("a");
  const session_lease a2 = pool.acquire("a");
  EXPECT_FALSE(pool.try_acquire("a"));  // of one key
  const session_lease b1 = pool.acquire("b");
  EXPECT_FALSE(pool.try_acquire("b"));  // over all
  EXPECT_FALSE(pool.try_acquire("c"));
  EXPECT_EQ(failure_of(pool, "c", 5ms), acquire_failure::timed_out);
  EXPECT_EQ(pool.stats().in_use, 3U);
}

TEST_F(KeyedResourcePool, AnIdleResourceOfAnotherKeyMakesRoom) {
  session_pool pool(session_dialer{&all}, options(2, 2));
  pool.acquire("new").reset();
  pool.acquire("old").reset();
  pool.tick();
  pool.acquire("new").reset();
  pool.tick();
  EXPECT_EQ(pool.acquire("third")->host, "third");
  EXPECT_EQ(pool.stats("old")->live, 0U);  // of the key that was not used for longest
  EXPECT_EQ(pool.stats("new")->live, 1U);
  EXPECT_EQ(pool.stats().moved, 1U);
  EXPECT_EQ(all.most, 2);
}

// POOL-391, POOL-401: freed capacity of one key is not usable by waiters of another key.
TEST_F(KeyedResourcePool, B6EveryWayToFreeRoomServesAWaiterOfAnotherKey) {
  using way = void (*)(session_pool&, session_lease&);
  const std::array<way, 5> ways{
      [](session_pool& /*pool*/, session_lease& lease) { lease.reset(); },
      [](session_pool& /*pool*/, session_lease& lease) { lease.discard(); },
      [](session_pool& pool, session_lease& lease) {
        (void)pool.kill(std::string("a"), lease.handle());
        lease.reset();
      },
      [](session_pool& pool, session_lease& lease) {
        pool.flush(std::string("a"));
        lease.reset();
      },
      [](session_pool& /*pool*/, session_lease& lease) { (void)lease.detach(); }};
  session_pool pool(session_dialer{&all}, options(1, 1));
  for (const way free : ways) {
    session_lease held = pool.acquire("a");
    std::jthread waiting([&] { EXPECT_EQ(pool.acquire_for("b", 20s)->host, "b"); });
    ASSERT_TRUE(eventually([&] { return pool.stats().waiters == 1; }));
    free(pool, held);
    waiting.join();
  }
  --all.alive;  // the detached one
}

TEST_F(KeyedResourcePool, WhatIsBeingClosedCounts) {
  session_pool pool(session_dialer{&all}, options(1, 1));
  pool.acquire("a").reset();
  all.slow_destroy = true;
  std::jthread evicts([&] { EXPECT_EQ(pool.acquire_for("b", 20s)->host, "b"); });
  ASSERT_TRUE(eventually([&] { return pool.stats("a")->closing == 1; }));
  EXPECT_EQ(failure_of(pool, "c", 20ms), acquire_failure::timed_out);
  all.slow_destroy = false;
  evicts.join();
  EXPECT_EQ(all.most, 1);
}

TEST_F(KeyedResourcePool, ABusyKeyDoesNotKeepOthersWaitingForEver) {
  session_pool pool(session_dialer{&all}, options(1, 1));
  std::atomic<bool> done{false};
  std::vector<std::jthread> busy;
  for (int i = 0; i < 3; ++i) {
    busy.emplace_back([&] {
      while (!done) {
        const session_lease lease = pool.acquire_for("busy", 20s);
        std::this_thread::sleep_for(1ms);
      }
    });
  }
  ASSERT_TRUE(eventually([&] { return pool.stats().waiters == 2; }));
  for (int i = 0; i < 5; ++i) {
    EXPECT_NO_THROW((void)pool.acquire_for("quiet", 10s));
  }
  done = true;
}

// However they give back what they had.
TEST_F(KeyedResourcePool, B6AKeyWhoseUsersDiscardDoesNotStarveOthers) {
  session_pool pool(session_dialer{&all}, options(1, 1));
  std::atomic<bool> done{false};
  std::vector<std::jthread> busy;
  for (int i = 0; i < 3; ++i) {
    busy.emplace_back([&] {
      while (!done) {
        session_lease lease = pool.acquire_for("busy", 20s);
        std::this_thread::sleep_for(1ms);
        lease.discard();
      }
    });
  }
  ASSERT_TRUE(eventually([&] { return pool.stats().waiters == 2; }));
  for (int i = 0; i < 5; ++i) {
    EXPECT_NO_THROW((void)pool.acquire_for("quiet", 10s));
  }
  done = true;
}

TEST_F(KeyedResourcePool, B6AHostThatIsDownKeepsNoRoomFromOthers) {
  keyed_resource_pool_options shared = options(2, 2);
  shared.each_key.upkeep = maintenance::background;
  session_pool pool(session_dialer{&all}, shared);
  all.down_host = "down";
  std::stop_source stop;
  std::vector<std::jthread> waiting;
  for (int i = 0; i < 2; ++i) {
    waiting.emplace_back([&] {
      EXPECT_EQ(failure_of(pool, "down", 20s, stop.get_token()), acquire_failure::cancelled);
    });
  }
  ASSERT_TRUE(eventually([&] { return all.refused >= 2; }));
  EXPECT_NO_THROW((void)pool.acquire_for("up", 10s));
  stop.request_stop();
}

TEST_F(KeyedResourcePool, B6AHostThatComesUpAgainIsServed) {
  keyed_resource_pool_options shared = options(1, 1);
  shared.each_key.upkeep = maintenance::background;
  session_pool pool(session_dialer{&all}, shared);
  all.down_host = "down";
  std::jthread waiting([&] { EXPECT_NO_THROW((void)pool.acquire_for("down", 20s)); });
  ASSERT_TRUE(eventually([&] { return all.refused >= 1; }));
  EXPECT_NO_THROW((void)pool.acquire_for("up", 10s));  // has its room now, and keeps it idle
  all.down_host = "";
}

TEST_F(KeyedResourcePool, TheSameKeyIsPreferredAtFirst) {
  keyed_resource_pool_options patient = options(1, 1);
  patient.prefer_same_key_for = 1h;
  session_pool pool(session_dialer{&all}, patient);
  session_lease held = pool.acquire("a");
  const int id = held->id;
  std::jthread foreign([&] { EXPECT_EQ(pool.acquire_for("b", 20s)->host, "b"); });
  ASSERT_TRUE(eventually([&] { return pool.stats().waiters == 1; }));
  std::jthread own([&] { EXPECT_EQ(pool.acquire_for("a", 20s)->id, id); });
  ASSERT_TRUE(eventually([&] { return pool.stats().waiters == 2; }));
  held.reset();
}

TEST_F(KeyedResourcePool, FailuresOfOneKeyTakeNothingFromOthers) {
  keyed_resource_pool_options quick = options(2, 2);
  quick.each_key.on_create_error = create_errors::fail_fast;
  session_pool pool(session_dialer{&all}, quick);
  all.down = true;
  EXPECT_EQ(failure_of(pool, "a", 30s), acquire_failure::create_failed);
  all.down = false;
  const session_lease b1 = pool.acquire("b");
  const session_lease b2 = pool.acquire("b");
  EXPECT_EQ(pool.stats("a")->create_failures, 1U);
  EXPECT_EQ(pool.stats("b")->in_use, 2U);
}

// That none of them makes a key: KeyedLookup.
TEST_F(KeyedResourcePool, AKeyMayBeNamedByAnythingThatIsAString) {
  session_pool pool(session_dialer{&all}, options(2, 2));
  const int id = pool.acquire(std::string_view("a"))->id;
  EXPECT_EQ(pool.acquire("a")->id, id);
  EXPECT_EQ(pool.acquire(std::string("a"))->id, id);
  EXPECT_FALSE(pool.stats(std::string_view("b")));
}

TEST_F(KeyedResourcePool, AKeyWithoutResourcesIsForgotten) {
  session_pool pool(session_dialer{&all}, options(2, 2));
  pool.acquire("a").discard();
  EXPECT_EQ(pool.stats().keys, 1U);
  pool.tick();
  EXPECT_EQ(pool.stats().keys, 0U);
  EXPECT_EQ(pool.acquire("a")->host, "a");
}

TEST_F(KeyedResourcePool, KillAndFlushReachTheirKeyAlone) {
  session_pool pool(session_dialer{&all}, options(4, 2));
  pool.acquire("b").reset();
  session_lease a = pool.acquire("a");
  EXPECT_FALSE(pool.kill("nobody", a.handle()));
  EXPECT_TRUE(pool.kill("a", a.handle()));
  a.reset();
  EXPECT_EQ(pool.stats("a")->destroyed_for(destroy_reason::killed), 1U);
  pool.flush("b");
  EXPECT_EQ(pool.stats("b")->destroyed_for(destroy_reason::flushed), 1U);
}

TEST_F(KeyedResourcePool, CloseWakesTheWaitersOfAllKeysAndSaysWhoIsLeft) {
  session_pool pool(session_dialer{&all}, options(1, 1));
  const session_lease held = pool.acquire("a");
  std::vector<std::jthread> waiting;
  for (const char* key : {"a", "b", "c"}) {
    waiting.emplace_back(
        [&pool, key] { EXPECT_EQ(failure_of(pool, key, 20s), acquire_failure::closed); });
  }
  ASSERT_TRUE(eventually([&] { return pool.stats().waiters == 3; }));
  EXPECT_EQ(pool.close(0ns).holders.size(), 1U);
  waiting.clear();
  EXPECT_EQ(failure_of(pool, "new", 1s), acquire_failure::closed);
}

TEST_F(KeyedResourcePool, G1ALeaseMayOutliveThePool) {
  session_lease kept;
  {
    keyed_resource_pool_options brief = options(2, 2);
    brief.each_key.close_timeout = 0ns;
    session_pool pool(session_dialer{&all}, brief);
    kept = pool.acquire("a");
  }
  EXPECT_EQ(kept->host, "a");
}

TEST_F(KeyedResourcePool, AThreadOfThePoolEndsWhatWasIdleForTooLong) {
  keyed_resource_pool_options background = options(4, 4);
  background.each_key.upkeep = maintenance::background;
  background.each_key.idle_timeout = 10ms;
  session_pool pool(session_dialer{&all}, background);
  pool.acquire("a").reset();
  EXPECT_TRUE(eventually([&] { return pool.stats().keys == 0; }));
}

/// One host answers a validation only when it is told to.
struct patient_dialer {
  std::atomic<bool>* hangs;
  std::atomic<bool>* asked;

  static session create(const std::string& host) { return {host, 1}; }
  bool validate(session& idle) const {
    *asked = *asked || idle.host == "slow";
    while (idle.host == "slow" && *hangs) {
      std::this_thread::sleep_for(1ms);
    }
    return true;
  }
};

TEST_F(KeyedResourcePool, WhoLooksAtAKeyTakesNoRoomFromOthers) {
  std::atomic<bool> hangs{true};
  std::atomic<bool> asked{false};
  keyed_resource_pool_options two = options(2, 2);
  two.each_key.keepalive = 1ns;
  session_pool pool(patient_dialer{&hangs, &asked}, two);
  pool.acquire("slow").reset();
  pool.acquire("idle").reset();
  std::jthread ticking([&] {
    for (int i = 0; i < 3; ++i) {
      pool.tick();
    }
  });
  ASSERT_TRUE(eventually([&] { return asked.load(); }));
  EXPECT_EQ(pool.acquire_for("new", 5s)->host, "new");
  hangs = false;
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
  EXPECT_TRUE(names(options(0, 1), "max_total"));
  EXPECT_TRUE(names(options(65536, 1), "max_total"));
  EXPECT_TRUE(names(options(1, 0), "max_size"));
  keyed_resource_pool_options wrong = options(2, 2);
  wrong.each_key.min_idle = 1;
  EXPECT_TRUE(names(wrong, "min_idle"));
  wrong = options(2, 2);
  wrong.each_key.overtake_for = 1ms;
  EXPECT_TRUE(names(wrong, "overtake_for"));
  wrong = options(2, 2);
  wrong.prefer_same_key_for = -1ns;
  EXPECT_TRUE(names(wrong, "prefer_same_key_for"));
}

TEST_F(KeyedResourcePool, ManyKeysBesideOneAnotherKeepTheLimit) {
  session_pool pool(session_dialer{&all}, options(3, 2));
  test::run_crew(6, [&](unsigned thread) {
    for (unsigned i = 0; i < 300; ++i) {
      const std::string key(1, static_cast<char>('a' + (thread * 7 + i * 5) % 6));
      EXPECT_EQ(pool.acquire_for(key, 20s)->host, key);
    }
  });
  EXPECT_LE(all.most, 3);
  EXPECT_EQ(pool.stats().waiters, 0U);
}

}  // namespace
}  // namespace lido
