// Room that one key has and another needs, where nobody ticks and nobody else comes or goes.
#include <gtest/gtest.h>

#include <atomic>
#include <chrono>
#include <functional>
#include <stdexcept>
#include <stop_token>
#include <string>
#include <thread>
#include <vector>

#include "lido/keyed_resource_pool.hpp"
#include "support/fake_server.hpp"

namespace lido {
namespace {

using namespace std::chrono_literals;
using test::eventually;

/// What happens while a resource is made, by its number among those of all keys, and ended.
struct script {
  std::function<void(int)> on_create = [](int /*number*/) {};
  std::function<void()> on_destroy = [] {};
  std::atomic<int> made{0};
  std::atomic<int> ended{0};
  std::atomic<bool> on{false};

  void wait() const {
    EXPECT_TRUE(eventually([this] { return on.load(); }));
  }
};

struct actor {
  script* play;
  [[nodiscard]] int create(const std::string& /*host*/) const {
    const int number = ++play->made;
    play->on_create(number);
    return number;
  }
  void destroy(int& /*ended*/, destroy_reason /*why*/) const noexcept {
    ++play->ended;
    play->on_destroy();
  }
};

using keyed_pool = keyed_resource_pool<std::string, int>;
using keyed = keyed_pool::lease_type;

class KeyedGrants : public ::testing::Test {
 protected:
  keyed_resource_pool_options options(std::size_t total, std::chrono::nanoseconds patience) {
    return {.max_total = total,
            .prefer_same_key_for = patience,
            .each_key = {.max_size = total,
                         .retry_first = 1h,
                         .retry_longest = 1h,
                         .upkeep = maintenance::by_tick}};
  }
  /// Has one of that key until all are let go.
  void hold(keyed_pool& pool, const char* key) {
    threads_.emplace_back([this, &pool, key] {
      const keyed held = pool.acquire_for(key, 20s);
      ++served;
      EXPECT_TRUE(eventually([this] { return let_go.load(); }));
    });
  }
  void TearDown() override { let_go = true; }

  // NOLINTBEGIN(*-non-private-member-*): a fixture
  script play;
  std::atomic<int> served{0};
  std::atomic<bool> let_go{false};
  // NOLINTEND(*-non-private-member-*)

 private:
  std::vector<std::jthread> threads_;
};

TEST_F(KeyedGrants, B6AKeyWhoseCreatesFailGivesWhatIsIdle) {
  keyed_pool pool(actor{&play}, options(2, 10ms));
  {
    const keyed first = pool.acquire("weak");
    std::stop_source failed;
    play.on_create = [&](int /*number*/) {
      failed.request_stop();
      throw std::runtime_error("down");
    };
    EXPECT_THROW((void)pool.acquire_for("weak", 20s, failed.get_token()), acquire_error);
    play.on_create = [](int /*number*/) {};
  }
  const keyed held = pool.acquire_for("strong", 10s);
  EXPECT_NO_THROW((void)pool.acquire_for("strong", 10s));
}

// Its thread was making one when it was given another: what it has made is too much then, and the
// room for it another key's.
TEST_F(KeyedGrants, B6WhoIsServedWhileItMakesOneLeavesTheRoomToOthers) {
  keyed_pool pool(actor{&play}, options(2, 1h));
  keyed first = pool.acquire("S");
  play.on_create = [this](int number) {
    if (number == 2) {
      play.wait();
    }
  };
  hold(pool, "S");
  ASSERT_TRUE(eventually([&] { return play.made == 2; }));
  hold(pool, "T");
  ASSERT_TRUE(eventually([&] { return pool.stats().waiters == 2; }));
  first.reset();
  play.on = true;
  EXPECT_TRUE(eventually([&] { return served == 2; }));
  let_go = true;
}

TEST_F(KeyedGrants, B6ACreateThatEndsABackOffLooksForRoomForTheOthers) {
  keyed_pool pool(actor{&play}, options(2, 10ms));
  std::atomic<int> failed{0};
  play.on_create = [this, &failed](int number) {
    if (number == 1) {
      play.wait();
    } else if (number == 2) {
      ++failed;
      throw std::runtime_error("down");
    }
  };
  hold(pool, "S");
  ASSERT_TRUE(eventually([&] { return play.made == 1; }));
  hold(pool, "S");
  ASSERT_TRUE(eventually([&] { return failed == 1; }));
  EXPECT_NO_THROW((void)pool.acquire_for("T", 10s));  // and keeps its room idle
  play.on = true;
  EXPECT_TRUE(eventually([&] { return served == 2; }));
  let_go = true;
}

TEST_F(KeyedGrants, WhoWaitsLongestForItsOwnKeyIsServedFirst) {
  keyed_pool pool(actor{&play}, options(1, 1ns));
  keyed first = pool.acquire("S");
  hold(pool, "S");
  ASSERT_TRUE(eventually([&] { return pool.stats().waiters == 1; }));
  hold(pool, "T");
  ASSERT_TRUE(eventually([&] { return pool.stats().waiters == 2; }));
  first.reset();
  EXPECT_TRUE(eventually([&] { return served == 1; }));
  EXPECT_EQ(play.made, 1) << "what came back was good";
  EXPECT_EQ(play.ended, 0);
  let_go = true;
  EXPECT_TRUE(eventually([&] { return served == 2; }));
}

TEST_F(KeyedGrants, NoMoreAreEndedThanSomebodyWaitsFor) {
  keyed_pool pool(actor{&play}, options(8, 10ms));
  {
    std::vector<keyed> all;
    while (all.size() < 8) {
      all.push_back(pool.acquire("S"));
    }
  }
  play.on_destroy = [this] { play.wait(); };
  hold(pool, "T");
  ASSERT_TRUE(eventually([&] { return play.ended == 1; }));
  hold(pool, "T");
  ASSERT_TRUE(eventually([&] { return pool.stats().waiters == 2; }));
  play.on = true;
  EXPECT_TRUE(eventually([&] { return served == 2; }));
  EXPECT_EQ(play.ended, 2);
  let_go = true;
}

// The key is forgotten in between, and its first resource is the first of a new one.
TEST_F(KeyedGrants, KillNeverReachesAResourceOfAKeyThatCameAgain) {
  keyed_pool pool(actor{&play}, options(2, 10ms));
  keyed first = pool.acquire("S");
  const resource_handle old = first.handle();
  std::move(first).discard();
  pool.tick();
  ASSERT_EQ(pool.stats().keys, 0U);
  const keyed second = pool.acquire("S");
  EXPECT_FALSE(pool.kill("S", old));
  EXPECT_TRUE(pool.kill("S", second.handle()));
}

// Nobody waits who is cancelled from the start.
TEST_F(KeyedGrants, ACancelledAcquireEndsNothing) {
  keyed_resource_pool<int, int> pool([](const int& key) { return key; },
                                     {.max_total = 1, .each_key = {.max_size = 1}});
  (void)pool.acquire(1);
  std::stop_source stop;
  (void)stop.request_stop();
  EXPECT_THROW((void)pool.acquire(2, stop.get_token()), acquire_error);
  EXPECT_EQ(pool.stats(1).value().idle, 1U);
  EXPECT_EQ(pool.stats().moved, 0U);
}

}  // namespace
}  // namespace lido
