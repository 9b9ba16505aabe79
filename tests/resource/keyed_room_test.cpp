// Room that goes from key to key while nobody ticks.
#include <gtest/gtest.h>

#include <atomic>
#include <chrono>
#include <cstdint>
#include <functional>
#include <stdexcept>
#include <stop_token>
#include <string>
#include <thread>

#include "lido/keyed_resource_pool.hpp"
#include "support/fake_server.hpp"

namespace lido {
namespace {

using namespace std::chrono_literals;

using keyed_pool = keyed_resource_pool<std::string, int>;

struct weak_dialer {
  const bool* down;

  static bool validate(int& /*idle*/, const create_context& context) {
    return context.deadline > std::chrono::steady_clock::now() + 1s;
  }
  [[nodiscard]] int create(const std::string& host) const {
    if (host == "weak" && *down) {
      throw std::runtime_error("no route");
    }
    return 1;
  }
};

TEST(KeyedRoom, WhoGivesNoTimeHasThatOfOneValidation) {
  const bool down = false;
  keyed_pool pool(weak_dialer{&down}, {.max_total = 1,
                                       .each_key = {.max_size = 1,
                                                    .validate_if_idle_longer_than = 0ns,
                                                    .upkeep = maintenance::by_callers}});
  EXPECT_NO_THROW((void)pool.acquire("a"));
  EXPECT_NO_THROW((void)pool.acquire_for("a", 0s));
  EXPECT_TRUE(pool.try_acquire("a"));
  EXPECT_EQ(pool.stats("a")->created, 1U);
}

// The time of its next try is over before it sleeps, so that no sleep times out. What the key had
// room for has gone to another key meanwhile.
TEST(KeyedRoom, B6WhoseNextTryIsDueAtOnceLooksForRoom) {
  test::manual_clock clock;
  bool down = true;
  keyed_pool* all = nullptr;
  const auto on_event = [&](const pool_event& /*failed*/) {
    EXPECT_NO_THROW((void)all->acquire_for("strong", 10s));  // and keeps its room idle
    down = false;
    clock.advance(2h);
  };
  keyed_pool pool(weak_dialer{&down}, {.max_total = 1,
                                       .each_key = {.max_size = 1,
                                                    .retry_first = 1h,
                                                    .retry_longest = 1h,
                                                    .on_event = on_event,
                                                    .upkeep = maintenance::by_callers,
                                                    .clock = &clock}});
  all = &pool;
  EXPECT_NO_THROW((void)pool.acquire_for("weak", 10s));
  EXPECT_FALSE(down);
}

/// Its end of a resource is a moment at which something else can happen.
struct ending_dialer {
  std::function<void()>* on_destroy;

  static std::string create(const std::string& host) { return host; }
  void destroy(std::string& ended, destroy_reason /*why*/) const noexcept {
    if (ended == "held") {
      (*on_destroy)();
    }
  }
};

using ending_pool = keyed_resource_pool<std::string, std::string>;

// djc/bb8 #67, POOL-391 at once: between the end of what made room and the grant of the room. Who
// gave up wakes up later than that, as a rule, and finds itself granted what it has no use for.
// Then the room moves twice, past a key that had nothing.
TEST(KeyedRoom, B6AWaiterThatGivesUpPassesItsRoomOn) {
  std::function<void()> on_destroy = [] {};
  ending_pool pool(ending_dialer{&on_destroy},
                   {.max_total = 1, .each_key = {.max_size = 1, .upkeep = maintenance::by_tick}});
  int passed_on = 0;
  for (int i = 0; i < 2000 && passed_on < 20; ++i) {
    on_destroy = [] {};
    auto held = pool.acquire_for("held", 20s);
    std::stop_source stop;
    bool was_served = false;
    std::jthread gives_up([&] {
      try {
        was_served = static_cast<bool>(pool.acquire_for("left", 20s, stop.get_token()));
      } catch (const acquire_error& error) {
        EXPECT_EQ(error.cause(), acquire_failure::cancelled);
      }
    });
    ASSERT_TRUE(test::eventually([&] { return pool.stats().waiters == 1; }));
    std::jthread next([&] { EXPECT_NO_THROW((void)pool.acquire_for("next", 10s)); });
    ASSERT_TRUE(test::eventually([&] { return pool.stats().waiters == 2; }));
    on_destroy = [&] { (void)stop.request_stop(); };
    const std::uint64_t before = pool.stats().moved;
    held.reset();
    gives_up.join();
    next.join();
    passed_on += !was_served && pool.stats().moved == before + 2 ? 1 : 0;
  }
  EXPECT_GT(passed_on, 0);
  EXPECT_EQ(pool.stats().waiters, 0U);
}

/// Numbers what it makes; from the second on a create lasts until it may end.
struct slow_dialer {
  std::atomic<int>* begun;
  std::atomic<bool>* may_end;
  [[nodiscard]] int create(const std::string& host) const {
    const int number = ++*begun;
    while (host == "slow" && number > 1 && !*may_end) {
      std::this_thread::sleep_for(1ms);
    }
    return number;
  }
};

// Who is in a create, which may hang, is not given what comes back: others of its key are, and
// those of other keys.
TEST(KeyedRoom, A9AReturnServesOthersWhileWhoWaitsIsInACreate) {
  std::atomic<int> begun{0};
  std::atomic<bool> may_end{false};
  keyed_pool pool(slow_dialer{&begun, &may_end},
                  {.max_total = 2, .each_key = {.max_size = 2, .upkeep = maintenance::by_callers}});
  auto held = pool.acquire("slow");
  std::atomic<bool> has_one{false};
  std::jthread making([&] { has_one = static_cast<bool>(pool.acquire_for("slow", 20s)); });
  ASSERT_TRUE(test::eventually([&] { return begun == 2; }));
  std::jthread same([&] { EXPECT_EQ(*pool.acquire_for("slow", 10s), 1); });
  ASSERT_TRUE(test::eventually([&] { return pool.stats("slow")->waiters == 2; }));
  held.reset();
  same.join();
  EXPECT_EQ(*pool.try_acquire("slow"), 1);
  EXPECT_EQ(*pool.acquire_for("other", 10s), 3);  // with the room of that one
  EXPECT_FALSE(has_one);
  may_end = true;
  making.join();
  EXPECT_TRUE(has_one);
  EXPECT_EQ(pool.stats().waiters, 0U);
}

/// No host but "down" can be reached; that one keeps who asks waiting until it may fail.
struct failing_dialer {
  std::atomic<bool>* may_fail;
  [[nodiscard]] int create(const std::string& host) const {
    if (host == "down") {
      while (!*may_fail) {
        std::this_thread::sleep_for(1ms);
      }
      throw std::runtime_error("no route");
    }
    return 1;
  }
};

TEST(KeyedRoom, B6WhoWaitsAlreadyGetsTheRoomOfAHostThatGoesDown) {
  std::atomic<bool> may_fail{false};
  keyed_pool pool(failing_dialer{&may_fail}, {.max_total = 1,
                                              .each_key = {.max_size = 1,
                                                           .retry_first = 1h,
                                                           .retry_longest = 1h,
                                                           .upkeep = maintenance::by_callers}});
  std::stop_source stop;
  std::jthread down(
      [&] { EXPECT_THROW((void)pool.acquire_for("down", 20s, stop.get_token()), acquire_error); });
  ASSERT_TRUE(test::eventually([&] { return pool.stats().waiters == 1; }));
  std::jthread up([&] { EXPECT_NO_THROW((void)pool.acquire_for("up", 5s)); });
  ASSERT_TRUE(test::eventually([&] { return pool.stats().waiters == 2; }));
  std::this_thread::sleep_for(
      20ms);  // both sleep or make; stats() would look for room from here on
  may_fail = true;
  up.join();
  stop.request_stop();
}

/// The next create waits until it may go on.
struct once_slow {
  std::atomic<bool>* slow;
  std::atomic<bool>* go;
  [[nodiscard]] int create(const std::string& /*host*/) const {
    if (slow->exchange(false)) {
      while (!*go) {
        std::this_thread::sleep_for(1ms);
      }
    }
    return 1;
  }
};

TEST(KeyedRoom, WhoMakesOneForItselfMakesNoneForWhoWaits) {
  std::atomic<bool> slow{false};
  std::atomic<bool> go{false};
  keyed_pool pool(once_slow{&slow, &go},
                  {.max_total = 2, .each_key = {.max_size = 2, .upkeep = maintenance::by_callers}});
  {
    auto one = pool.acquire("a");
    auto other = pool.acquire("a");
    one.discard();
    other.discard();
  }
  slow = true;
  std::jthread maker([&] { EXPECT_NO_THROW((void)pool.acquire_for("a", 20s)); });
  EXPECT_TRUE(test::eventually([&] { return !slow; }));
  EXPECT_NO_THROW((void)pool.acquire_for("a", 5s));
  go = true;
}

// One is given room and has yet to stand in line for it when the other takes it without a wait.
// Then the first needs the room of a third, of whom nobody else thinks.
TEST(KeyedRoom, B6WhoseRoomAnotherTakesGetsThatOfAThird) {
  std::atomic<int> served{0};
  int rounds = 0;
  const auto end = std::chrono::steady_clock::now() + 20s;  // on a slow machine fewer must do
  for (; rounds < 2000 && served == 2 * rounds && std::chrono::steady_clock::now() < end;
       ++rounds) {
    const bool down = false;
    keyed_pool pool(
        weak_dialer{&down},
        {.max_total = 2, .each_key = {.max_size = 2, .upkeep = maintenance::by_callers}});
    (void)pool.acquire_for("idle", 10s);
    std::atomic<int> ready{0};
    std::atomic<int> holders{0};
    const auto use = [&] {
      ++ready;
      for (int i = 0; ready < 2; ++i) {
        if (i > 10'000) {  // the other one may need this processor
          std::this_thread::yield();
        }
      }
      try {
        const auto held = pool.acquire_for("busy", 30s);
        ++holders;
        while (holders < 2) {
          std::this_thread::yield();
        }
      } catch (const acquire_error& /*too late*/) {
        holders = 2;
        --served;
      }
    };
    std::jthread first(use);
    std::jthread second(use);
    first.join();
    second.join();
    served += 2;
  }
  EXPECT_EQ(served, 2 * rounds);
}

/// The end of a resource of "b" lasts as long as it is told to.
struct slow_ender {
  std::atomic<bool>* down;
  std::atomic<bool>* ends;
  std::atomic<bool>* lasts;

  [[nodiscard]] std::string create(const std::string& host) const {
    if (host == "a" && *down) {
      throw std::runtime_error("no route");
    }
    return host;
  }
  void destroy(const std::string& host, destroy_reason /*reason*/) const noexcept {
    if (host == "b") {
      *ends = true;
      test::wait_while(*lasts);
    }
  }
};

TEST(KeyedRoom, A9AReturnServesOthersWhileWhoWaitsIsInTheEndOfAnotherKeys) {
  std::atomic<bool> down{false};
  std::atomic<bool> ends{false};
  std::atomic<bool> lasts{true};
  keyed_resource_pool<std::string, std::string> pool(
      slow_ender{&down, &ends, &lasts}, {.max_total = 2,
                                         .each_key = {.max_size = 2,
                                                      .retry_first = 100ms,
                                                      .retry_longest = 100ms,
                                                      .upkeep = maintenance::by_tick}});
  auto held = pool.acquire("a");
  down = true;
  std::jthread busy([&] { EXPECT_TRUE(pool.acquire_for("a", 60s)); });
  ASSERT_TRUE(test::eventually([&] { return pool.stats("a")->create_failures == 1; }));
  EXPECT_TRUE(pool.acquire_for("b", 10s));
  ASSERT_TRUE(test::eventually([&] { return ends.load(); }));
  std::atomic<bool> served{false};
  std::jthread behind([&] { served = !!pool.acquire_for("a", 60s); });
  ASSERT_TRUE(test::eventually([&] { return pool.stats("a")->waiters == 2; }));
  held.reset();
  EXPECT_TRUE(test::eventually([&] { return served.load(); }));
  lasts = false;
}

}  // namespace
}  // namespace lido
