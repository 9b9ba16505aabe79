// Keys whose creates fail: their room goes to others meanwhile, and comes back when the next try is
// due, whoever notices that.
#include <gtest/gtest.h>

#include <atomic>
#include <chrono>
#include <stdexcept>
#include <string>
#include <thread>

#include "lido/keyed_resource_pool.hpp"
#include "support/fake_server.hpp"

namespace lido {
namespace {

using namespace std::chrono_literals;
using test::eventually;
using test::manual_clock;

using keyed_pool = keyed_resource_pool<std::string, int>;
constexpr auto a_day = 24h;

/// "down" refuses once, when it is told to; its second create hangs until it is told to end.
struct moody_host {
  std::atomic<int> begun{0};
  std::atomic<bool> may_refuse{false};
  std::atomic<bool> may_connect{false};

  static void await(const std::atomic<bool>& word) {
    EXPECT_TRUE(eventually([&] { return word.load(); }));
  }
  int connect() {
    const int number = ++begun;
    if (number == 1) {
      await(may_refuse);
      throw std::runtime_error("refused");
    }
    if (number == 2) {
      await(may_connect);
    }
    return number;
  }
};

class KeyedRetries : public ::testing::Test {
 protected:
  struct dialer {
    moody_host* down;
    [[nodiscard]] int create(const std::string& key) const {
      return key == "down" ? down->connect() : 0;
    }
  };

  keyed_resource_pool_options options(std::size_t total) {
    return {.max_total = total,
            .each_key = {.max_size = total,
                         .retry_first = a_day,
                         .retry_longest = a_day,
                         .upkeep = maintenance::by_tick,
                         .clock = &clock}};
  }
  std::jthread wait_for_down(keyed_pool& pool) {
    return std::jthread([this, &pool] {
      const auto lease = pool.acquire_for("down", 2min);
      ++served;
      EXPECT_TRUE(eventually([this] { return is_over.load(); }));
    });
  }

  manual_clock clock;
  moody_host down;
  std::atomic<int> served{0};
  std::atomic<bool> is_over{false};
};

// Whoever sees that the try is due makes the resource itself, and that hangs.
TEST_F(KeyedRetries, WhoseTryIsDueGetsRoomForTheOthersToo) {
  keyed_pool pool(dialer{&down}, options(2));
  auto other = pool.acquire("up");
  std::jthread trying([&] { (void)pool.try_acquire("down"); });
  ASSERT_TRUE(eventually([&] { return down.begun == 1; }));
  const std::jthread first = wait_for_down(pool);
  ASSERT_TRUE(eventually([&] { return pool.stats("down")->waiters == 1; }));
  const std::jthread second = wait_for_down(pool);
  ASSERT_TRUE(eventually([&] { return pool.stats("down")->waiters == 2; }));
  down.may_refuse = true;
  trying.join();
  std::this_thread::sleep_for(50ms);  // who watches the time now has looked for room in vain
  clock.advance(a_day + 1s);
  pool.tick();
  ASSERT_TRUE(eventually([&] { return down.begun == 2; }));
  other.reset();
  EXPECT_TRUE(eventually([&] { return served == 1; })) << "there was room for the second";
  down.may_connect = true;
  is_over = true;
}

// Its room went to another key, and the pool's clock goes faster than that of who sleeps.
TEST_F(KeyedRetries, ATickSeesThatATryIsDue) {
  down.may_refuse = true;
  down.may_connect = true;
  keyed_pool pool(dialer{&down}, options(1));
  const std::jthread waiter = wait_for_down(pool);
  ASSERT_TRUE(eventually([&] { return down.begun == 1 && pool.stats("down")->live == 0; }));
  (void)pool.acquire_for("up", 20s);
  clock.advance(a_day + 1s);
  pool.tick();
  EXPECT_TRUE(eventually([&] { return served == 1; }));
  is_over = true;
}

// Nothing is left of it where keys wait for room.
TEST_F(KeyedRetries, AKeyThatIsForgottenAfterAWaitInVainWaitsForNothing) {
  keyed_pool pool([](const std::string&) { return 1; }, options(1));
  auto held = pool.acquire("up");
  for (const char* const key : {"one", "two", "three"}) {
    EXPECT_THROW((void)pool.acquire_for(key, 1ms), acquire_error);
  }
  pool.tick();
  ASSERT_EQ(pool.stats().keys, 1U);
  EXPECT_THROW((void)pool.acquire_for("four", 1ms), acquire_error);
  held.reset();
  EXPECT_EQ(*pool.acquire_for("five", 20s), 1);
}

// Nobody has it for a while, but it has not come up by that.
TEST_F(KeyedRetries, AKeyIsNotForgottenWhileItsPauseLasts) {
  std::atomic<int> tried{0};
  const auto refuse = [&](const std::string&) -> int {
    ++tried;
    throw std::runtime_error("refused");
  };
  keyed_resource_pool_options hourly = options(2);
  hourly.each_key.retry_first = 1h;
  hourly.each_key.retry_longest = 4h;
  keyed_pool pool(refuse, hourly);
  const auto come_after = [&](std::chrono::nanoseconds time) {
    clock.advance(time);
    pool.tick();
    EXPECT_FALSE(pool.try_acquire("down"));
    return tried.load();
  };
  EXPECT_EQ(come_after(0h), 1);
  EXPECT_EQ(come_after(30min), 1) << "the next try is due in half an hour";
  EXPECT_EQ(come_after(31min), 2) << "and the one behind it in two hours";
  EXPECT_EQ(come_after(61min), 2);
  EXPECT_EQ(come_after(61min), 3);
  clock.advance(24h);
  pool.tick();
  EXPECT_EQ(pool.stats().keys, 0U) << "that is long ago";
}

// Who waits may be the only one who comes by, and then nobody looks at the clock.
TEST_F(KeyedRetries, AnErrorTellsTodaysAges) {
  keyed_resource_pool_options one = options(1);
  one.each_key.upkeep = maintenance::by_callers;
  keyed_pool pool([](const std::string&) { return 1; }, one);
  const auto held = pool.acquire("up");
  clock.advance(1h);
  EXPECT_EQ(pool.leases().front().held_for, 1h);
}

}  // namespace
}  // namespace lido
