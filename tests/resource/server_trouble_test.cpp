// What a pool does while its server is in trouble, or slow. Each test is named after its case.
#include <gtest/gtest.h>

#include <algorithm>
#include <atomic>
#include <chrono>
#include <cstddef>
#include <cstdint>
#include <stdexcept>
#include <thread>
#include <utility>
#include <vector>

#include "lido/keyed_resource_pool.hpp"
#include "lido/resource_pool.hpp"
#include "support/fake_server.hpp"
#include "support/sanitizers.hpp"

namespace lido {
namespace {

using namespace std::chrono_literals;
using std::chrono::steady_clock;
using test::eventually;

struct client {
  int id = 0;
};

std::chrono::milliseconds passed_from(steady_clock::time_point begin) {
  return std::chrono::duration_cast<std::chrono::milliseconds>(steady_clock::now() - begin);
}

/// Sleeps a millisecond at a time until `done()`. Returns by how much the longest sleep was too
/// long: a machine that wakes this thread late wakes those of a pool late, too.
template <class Done>
std::chrono::milliseconds most_overslept_until(const Done& done) {
  std::chrono::milliseconds most{};
  while (!done()) {
    const auto until = steady_clock::now() + 1ms;
    std::this_thread::sleep_until(until);
    most = std::max(most, passed_from(until));
  }
  return most;
}

// Short and long outages, in pools of several sizes; in the last one an acquire fails at once.
TEST(ServerTrouble, C86APoolIsBackWithinATenthOfASecondOfItsServer) {
  struct setup {
    std::size_t size;
    std::size_t at_once;
    create_errors on_error;
    std::chrono::milliseconds outage;
  };
  for (const setup& how :
       {setup{4, 1, create_errors::retry, 150ms}, setup{40, 0, create_errors::retry, 150ms},
        setup{40, 0, create_errors::retry, 1000ms},
        setup{4, 0, create_errors::fail_fast, 1000ms}}) {
    std::atomic<bool> is_down{true};
    std::atomic<int> tries{0};
    std::atomic<bool> is_back{false};
    resource_pool<client> pool(
        [&] {
          ++tries;
          return is_down ? throw std::runtime_error("refused") : client{};
        },
        {.max_size = how.size, .max_creating = how.at_once, .on_create_error = how.on_error});
    std::vector<std::jthread> users;
    for (std::size_t i = 0; i < how.size; ++i) {
      users.emplace_back([&] {
        while (!is_back && !pool.try_acquire_for(20s)) {
          std::this_thread::sleep_for(1ms);
        }
        is_back = true;
      });
    }
    std::this_thread::sleep_for(how.outage);
    const int tried = tries;
    const auto up = steady_clock::now();
    is_down = false;
    const auto overslept = most_overslept_until([&] { return is_back || passed_from(up) > 1min; });
    // A try comes every 95 ms at most. The rest is for its thread to start, and for slow builds.
    constexpr auto limit = LIDO_TEST_TSAN || LIDO_TEST_ASAN ? 200ms : 150ms;
    EXPECT_LT(passed_from(up), limit + overslept);
    EXPECT_LE(tried, 8 + 20 * how.outage / 1s + 1);
  }
}

// A server is stopped, then its packets are dropped, and what was sent to it by then is lost.
TEST(ServerTrouble, C86AConnectThatHangsHoldsUpTheNextForATenthOfASecond) {
  enum class server { refuses, is_silent, answers };
  struct factory {
    std::atomic<server>* is;
    std::atomic<int>* hanging;
    [[nodiscard]] client create(const create_context& context) const {
      if (*is == server::refuses) {
        throw std::runtime_error("refused");
      }
      if (*is == server::is_silent) {
        ++*hanging;
        while (steady_clock::now() < context.deadline && !context.stop.stop_requested()) {
          std::this_thread::sleep_for(1ms);
        }
        throw std::runtime_error("timed out");
      }
      return {};
    }
  };
  struct setup {
    std::size_t at_once;
    std::chrono::milliseconds silence;
    bool is_back_at_once;
  };
  for (const setup& how : {setup{8, 400ms, true}, setup{2, 1000ms, false}}) {
    std::atomic<server> is{server::refuses};
    std::atomic<int> hanging{0};
    resource_pool<client> pool(factory{&is, &hanging},
                               {.max_size = 40, .max_creating = how.at_once});
    std::atomic<bool> is_back{false};
    std::atomic<bool> is_over{false};
    std::vector<std::jthread> users;
    for (int i = 0; i < 4; ++i) {
      users.emplace_back([&] {
        while (!is_over && !pool.try_acquire_for(50ms)) {
        }
        is_back = !is_over || is_back;
      });
    }
    ASSERT_TRUE(eventually([&] { return pool.stats().create_failures != 0; }));
    const auto silent = steady_clock::now();
    is = server::is_silent;
    std::this_thread::sleep_for(how.silence);
    EXPECT_GT(hanging, 1);
    EXPECT_LE(hanging, static_cast<int>(how.at_once));
    EXPECT_LE(hanging, 2 + passed_from(silent) / 95ms);
    const auto up = steady_clock::now();
    is = server::answers;
    const auto overslept = most_overslept_until([&] { return is_back || passed_from(up) > 1s; });
    EXPECT_EQ(is_back, how.is_back_at_once);
    if (is_back) {
      constexpr auto limit = LIDO_TEST_TSAN || LIDO_TEST_ASAN ? 200ms : 150ms;
      EXPECT_LT(passed_from(up), limit + overslept);
    }
    is_over = true;
  }
}

/// Eight threads hold a resource each at once, and then take turns with one.
template <class Acquire, class Live>
void expect_few_after_a_burst(const Acquire& acquire, const Live& live) {
  constexpr int threads = 8;
  std::atomic<int> held{0};
  std::atomic<int> turn{0};
  std::atomic<bool> is_enough{false};
  std::vector<std::jthread> crew;
  for (int i = 0; i < threads; ++i) {
    crew.emplace_back([&, i] {
      {
        const auto burst = acquire();
        ++held;
        while (held < threads) {
          std::this_thread::sleep_for(1ms);
        }
      }
      while (!is_enough) {
        if (turn % threads == i) {
          (void)acquire();
          ++turn;
        }
        std::this_thread::sleep_for(200us);
      }
    });
  }
  EXPECT_TRUE(eventually([&] { return held == threads; }));
  EXPECT_TRUE(eventually([&] { return turn > 2 * threads && live() <= 3; }));
  is_enough = true;
}

TEST(ServerTrouble, C51ThreadsThatTakeTurnsKeepAFewResources) {
  for (const maintenance by : {maintenance::background, maintenance::by_tick}) {
    const resource_pool_options options{
        .max_size = 8, .idle_timeout = 400ms, .max_creating = 8, .maintenance = by};
    resource_pool<client> pool([] { return client{}; }, options);
    expect_few_after_a_burst([&] { return pool.acquire(); },
                             [&] { return pool.tick(), pool.stats().live; });
    keyed_resource_pool<int, client> keyed([](int host) { return client{host}; },
                                           {.max_total = 8, .each_key = options});
    expect_few_after_a_burst([&] { return keyed.at(1).acquire(); },
                             [&] { return keyed.tick(), keyed.stats().live; });
  }
}

// A firewall forgets a connection that is silent for longer than the keepalive.
TEST(ServerTrouble, C68EachIdleResourceIsValidatedInTime) {
  struct link {
    steady_clock::time_point last = steady_clock::now();
  };
  struct factory {
    std::atomic<int>* in_progress;
    std::atomic<int>* most;
    std::atomic<std::int64_t>* longest_ms;
    static link create() { return {}; }
    bool validate(link& asked) const {
      *most = std::max(most->load(), ++*in_progress);
      *longest_ms = std::max<std::int64_t>(*longest_ms, passed_from(asked.last).count());
      std::this_thread::sleep_for(500us);
      asked.last = steady_clock::now();
      --*in_progress;
      return true;
    }
  };
  std::atomic<int> in_progress{0};
  std::atomic<int> most{0};
  std::atomic<std::int64_t> longest_ms{0};
  resource_pool<link> pool(factory{&in_progress, &most, &longest_ms},
                           {.max_size = 200,
                            .min_idle = 200,
                            .keepalive = 1s,
                            .validate_if_idle_longer_than = 1h,
                            .max_creating = 1});
  ASSERT_TRUE(pool.wait_until_idle(200, 10s));
  const auto begin = steady_clock::now();
  const auto limit =  // the promise is 1.2 times the keepalive
      1200ms + most_overslept_until([&] { return passed_from(begin) > 3500ms; });
  EXPECT_LE(most, 4);
  EXPECT_LT(longest_ms, limit.count());
  std::vector<resource_lease<link>> all;  // also those that were never asked
  for (int i = 0; i < 200; ++i) {
    all.push_back(pool.acquire());
    EXPECT_LT(passed_from(all.back()->last), limit);
  }
}

TEST(ServerTrouble, C68TwoSilentHostsLeaveKeepalivesToOthers) {
  struct link {
    int host = 0;
    steady_clock::time_point last = steady_clock::now();
  };
  struct factory {
    std::atomic<int>* asked_of_silent;
    std::atomic<std::int64_t>* longest_ms;
    static link create(const int& host) { return {host}; }
    bool validate(link& asked, const create_context& context) const {
      if (asked.host != 2) {
        ++*asked_of_silent;
        std::this_thread::sleep_until(context.deadline);
        return false;
      }
      *longest_ms = std::max<std::int64_t>(*longest_ms, passed_from(asked.last).count());
      asked.last = steady_clock::now();
      return true;
    }
  };
  std::atomic<int> asked_of_silent{0};
  std::atomic<std::int64_t> longest_ms{0};
  keyed_resource_pool<int, link> pool(factory{&asked_of_silent, &longest_ms},
                                      {.max_total = 30,
                                       .each_key = {.max_size = 10,
                                                    .validate_timeout = 2s,
                                                    .keepalive = 500ms,
                                                    .validate_if_idle_longer_than = 1h,
                                                    .max_creating = 10}});
  for (const int host : {1, 2, 3}) {
    std::vector<resource_lease<link>> all;
    while (all.size() < 10) {
      all.push_back(pool.at(host).acquire());
    }
  }
  const auto begin = steady_clock::now();
  const auto limit = 600ms + most_overslept_until([&] { return passed_from(begin) > 1800ms; });
  EXPECT_EQ(asked_of_silent, 4);
  EXPECT_LT(longest_ms, limit.count());
  std::vector<resource_lease<link>> all;  // also those that were never asked
  while (all.size() < 10) {
    all.push_back(pool.at(2).acquire());
    EXPECT_LT(passed_from(all.back()->last), limit);
  }
}

/// A factory whose destroy takes a fifth of a second, like a QUIT to a peer that is gone.
struct slow_farewell {
  static constexpr auto time = 200ms;
  std::atomic<int>* in_progress;
  std::atomic<int>* most;
  std::atomic<bool>* is_valid;

  static client create() { return {}; }
  static client create(const int& host) { return {host}; }
  bool validate(client& /*idle*/) const { return *is_valid; }
  void destroy(client& /*last*/, destroy_reason /*why*/) const noexcept {
    *most = std::max(most->load(), ++*in_progress);
    std::this_thread::sleep_for(time);
    --*in_progress;
  }
};

TEST(ServerTrouble, C52ASlowFarewellHoldsUpNoCaller) {
  std::atomic<int> in_progress{0};
  std::atomic<int> most{0};
  std::atomic<bool> is_valid{true};
  const slow_farewell factory{&in_progress, &most, &is_valid};
  const auto is_quick = [](const auto& call) {
    const auto begin = steady_clock::now();
    call();
    EXPECT_LT(passed_from(begin), slow_farewell::time);
  };
  const auto fill = [](auto&& pool, std::size_t size) {
    std::vector<resource_lease<client>> all;
    for (std::size_t i = 0; i < size; ++i) {
      all.push_back(pool.acquire());
    }
  };
  {
    resource_pool<client> pool(factory, {.max_size = 16, .max_creating = 16});
    fill(pool, 16);
    is_quick([&] { pool.flush(); });
    is_quick([&] { (void)pool.try_acquire_for(50ms); });
    ASSERT_TRUE(eventually([&] { return pool.stats().live == 0; }));
    EXPECT_EQ(most, 8);
    fill(pool, 4);
    is_quick([&] { pool.resize(0); });
    ASSERT_TRUE(eventually([&] { return pool.stats().live == 0; }));
    pool.resize(4);
    is_quick([&] { pool.acquire().discard(); });
    resource_lease<client> held = pool.acquire();
    is_quick([&] { (void)pool.kill(held.handle()), held.reset(); });
    fill(pool, 2);
    is_quick([&] { EXPECT_FALSE(pool.close(50ms).complete()); });
    EXPECT_TRUE(pool.close(10s).complete());
  }
  EXPECT_EQ(in_progress, 0);
  {
    resource_pool<client> pool(
        factory, {.max_size = 1, .keepalive = 0s, .validate_if_idle_longer_than = 0s});
    fill(pool, 1);
    is_valid = false;
    is_quick([&] { EXPECT_FALSE(pool.try_acquire_for(50ms)); });
  }
  keyed_resource_pool<int, client> keyed(factory, {.max_total = 2, .each_key = {.max_size = 2}});
  fill(keyed.at(1), 2);
  is_quick([&] { EXPECT_FALSE(keyed.at(2).try_acquire_for(50ms)); });  // room by an eviction
  is_quick([&] { keyed.at(3).async_acquire([](acquire_result<client>) {}, 5s); });
}

TEST(ServerTrouble, C52EightFarewellsThatHangHoldUpOnlyFarewells) {
  struct factory {
    std::atomic<int>* in_progress;
    std::atomic<bool>* hangs;
    static client create() { return {}; }
    void destroy(client& /*last*/, destroy_reason /*why*/) const noexcept {
      ++*in_progress;
      hangs->wait(true);
      --*in_progress;
    }
  };
  std::atomic<int> in_progress{0};
  std::atomic<bool> hangs{true};
  std::atomic<int> others{0};
  std::atomic<bool> no_other_hangs{false};
  resource_pool<client> pool(factory{&in_progress, &hangs}, {.max_size = 16, .max_creating = 16});
  {
    std::vector<resource_lease<client>> all;
    while (all.size() < 12) {
      all.push_back(pool.acquire());
    }
    pool.flush();
  }
  ASSERT_TRUE(eventually([&] { return in_progress == 8; }));
  std::vector<resource_lease<client>> fresh;
  while (fresh.size() < 4) {
    fresh.push_back(pool.acquire_for(10s));
  }
  EXPECT_FALSE(pool.try_acquire_for(20ms));  // max_size counts those that wait for their end
  resource_pool<client> other(factory{&others, &no_other_hangs}, {.max_size = 1});
  other.acquire_for(10s).discard();
  EXPECT_TRUE(other.try_acquire_for(10s));
  EXPECT_EQ(in_progress, 8);
  hangs = false;
  hangs.notify_all();
  EXPECT_TRUE(pool.try_acquire_for(10s));
}

TEST(ServerTrouble, C52WithoutThreadsTheCallerEndsWhatItCloses) {
  struct factory {
    std::thread::id* ended_by;
    static client create() { return {}; }
    void destroy(client& /*last*/, destroy_reason /*why*/) const noexcept {
      *ended_by = std::this_thread::get_id();
    }
  };
  std::thread::id ended_by;
  resource_pool<client> pool(factory{&ended_by},
                             {.max_size = 1, .maintenance = maintenance::by_tick});
  (void)pool.acquire();
  pool.flush();
  EXPECT_EQ(ended_by, std::this_thread::get_id());
  EXPECT_EQ(pool.stats().live, 0U);
}

// Half of the idle connections, or all, do not answer any more.
TEST(ServerTrouble, C11AnAcquireWaitsForNoSecondSilentConnection) {
  struct factory {
    std::atomic<int>* made;
    std::atomic<int>* silent;
    [[nodiscard]] client create() const { return {++*made}; }
    bool validate(client& asked, const create_context& context) const {
      while (asked.id <= *silent && steady_clock::now() < context.deadline) {
        std::this_thread::sleep_for(1ms);
      }
      return asked.id > *silent;
    }
  };
  for (const int silent_ones : {1, 5, 10}) {
    std::atomic<int> made{0};
    std::atomic<int> silent{0};
    resource_pool<client> pool(factory{&made, &silent}, {.max_size = 10,
                                                         .min_idle = 10,
                                                         .validate_timeout = 2s,
                                                         .keepalive = 0s,
                                                         .validate_if_idle_longer_than = 20ms});
    ASSERT_TRUE(pool.wait_until_idle(10, 10s));
    silent = silent_ones;
    std::this_thread::sleep_for(60ms);
    for (int i = 0; i < 5; ++i) {
      const auto begin = steady_clock::now();
      EXPECT_TRUE(pool.try_acquire_for(10s));
      EXPECT_LT(passed_from(begin), 500ms) << silent_ones;
      EXPECT_LE(pool.stats().live, 10U);
    }
    EXPECT_LE(made, silent_ones == 1 ? 10 : 15) << "no storm of connects";
  }
}

TEST(ServerTrouble, C91RetryNowEndsThePause) {
  std::atomic<bool> is_down{true};
  resource_pool<client> pool(
      [&] { return is_down ? throw std::runtime_error("refused") : client{}; },
      {.max_size = 2, .min_idle = 2, .retry_first = 1h, .retry_longest = 1h});
  ASSERT_TRUE(eventually([&] { return pool.stats().create_failures != 0; }));
  is_down = false;
  while (pool.stats().idle == 0) {  // no acquire waits; the pause was drawn from an hour
    pool.retry_now();
    pool.retry_now();
    std::this_thread::sleep_for(1ms);
  }
  EXPECT_TRUE(pool.wait_until_idle(2, 10s));
  pool.close(1s);
  pool.retry_now();
  EXPECT_EQ(pool.stats().live, 0U);
}

TEST(ServerTrouble, C91RetryNowEndsThePauseOfOneKeyOrOfAll) {
  std::atomic<bool> is_down{true};
  std::atomic<int> tries{0};
  keyed_resource_pool<int, client> pool(
      [&](int host) {
        ++tries;
        return is_down ? throw std::runtime_error("refused") : client{host};
      },
      {.max_total = 4,
       .each_key = {.max_size = 2, .min_idle = 1, .retry_first = 1h, .retry_longest = 1h}});
  for (const int host : {1, 2}) {
    (void)pool.at(host).try_acquire_for(10ms);
  }
  ASSERT_TRUE(eventually([&] { return pool.stats().create_failures >= 2; }));
  is_down = false;
  pool.at(3).retry_now();  // a key that the pool does not know
  EXPECT_FALSE(pool.at(3).stats());
  ASSERT_TRUE(eventually([&] { return pool.at(1).retry_now(), pool.at(1).stats()->live == 1; }));
  EXPECT_EQ(pool.at(2).stats()->live, 0U);
  ASSERT_TRUE(eventually([&] { return pool.retry_now(), pool.at(2).stats()->live == 1; }));
}

}  // namespace
}  // namespace lido
