// Keyed pools: every way to acquire, control of resources, and the numbers that the pool reports.
#include <gtest/gtest.h>

#include <atomic>
#include <chrono>
#include <coroutine>
#include <memory>
#include <optional>
#include <set>
#include <stdexcept>
#include <stop_token>
#include <string>
#include <thread>
#include <utility>
#include <vector>

#include "lido/keyed_resource_pool.hpp"
#include "support/crew.hpp"
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

keyed_resource_pool_options options_of(std::size_t total, std::size_t each,
                                       maintenance by = maintenance::by_tick) {
  return {.max_total = total, .each_key = {.max_size = each, .name = "hosts", .maintenance = by}};
}

TEST(KeyedUses, EachWayToAcquireKeepsToItsTime) {
  auto options = options_of(1, 1);
  options.each_key.acquire_timeout = 5ms;
  links pool(make_link, options);
  const auto held = pool.at("a").acquire_for(20s);  // the machine may be busy
  const auto soon = std::chrono::system_clock::now() + 5ms;
  EXPECT_EQ(cause_of_call([&] { return pool.at("a").acquire(); }), acquire_failure::timed_out);
  EXPECT_EQ(cause_of_call([&] { return pool.at("b").acquire_for(5ms); }),
            acquire_failure::timed_out);
  EXPECT_EQ(cause_of_call([&] { return pool.at("a").acquire_until(soon); }),
            acquire_failure::timed_out);
  EXPECT_EQ(pool.at("a").try_acquire_for(5ms).failure(), acquire_failure::timed_out);
  EXPECT_EQ(pool.at("a").try_acquire_until(soon).failure(), acquire_failure::timed_out);
}

TEST(KeyedUses, EachWayToAcquireHeedsItsToken) {
  links pool(make_link, options_of(1, 1));
  auto held = pool.at("a").acquire();
  const auto soon = std::chrono::steady_clock::now() + 20s;
  for (const bool until : {false, true}) {
    std::stop_source stop;
    std::jthread stops([&] {
      EXPECT_TRUE(eventually([&] { return pool.stats().waiting == 1; }));
      (void)stop.request_stop();
    });
    EXPECT_EQ(cause_of_call([&] {
                return until ? pool.at("a").acquire_until(soon, stop.get_token())
                             : pool.at("a").acquire(stop.get_token());
              }),
              acquire_failure::cancelled);
  }
}

// An acquire that is stopped from the start takes neither idle resources nor quota.
TEST(KeyedUses, AnAcquireStoppedFromTheStartTakesNothing) {
  links pool(make_link, options_of(1, 1));
  pool.at("a").acquire().reset();
  std::stop_source stop;
  (void)stop.request_stop();
  for (const char* const key : {"a", "b"}) {
    EXPECT_EQ(cause_of_call([&] { return pool.at(key).acquire(stop.get_token()); }),
              acquire_failure::cancelled);
  }
  EXPECT_EQ(pool.at("a").stats().value().idle, 1U);
}

/// What the callback of one acquire received.
struct answer {
  std::atomic<bool> called{false};
  resource_lease<int> lease;
  std::optional<acquire_failure> failure;

  auto receiver() {
    return [this, own = std::make_unique<int>(1)](acquire_result<int> got) {
      if (!got) {
        failure = got.failure();
      }
      lease = std::move(got.lease());
      called = true;
    };
  }
  bool is_there() {
    return eventually([this] { return called.load(); });
  }
};

TEST(KeyedUses, CallbacksWaitForTheirKey) {
  links pool(make_link, options_of(1, 1, maintenance::background));
  answer first;
  answer second;
  answer late;
  pool.at("a").async_acquire(first.receiver(), 20s);
  ASSERT_TRUE(first.is_there());
  EXPECT_TRUE(first.lease);
  pool.at("b").async_acquire(second.receiver(), 20s);
  pool.at("c").async_acquire(late.receiver(), 2ms);
  ASSERT_TRUE(late.is_there());
  EXPECT_EQ(late.failure, acquire_failure::timed_out);
  EXPECT_FALSE(second.called);
  first.lease.reset();
  ASSERT_TRUE(second.is_there());
  EXPECT_TRUE(second.lease);
  EXPECT_EQ(pool.at("b").stats().value().in_use, 1U);
}

TEST(KeyedUses, ACallbackHeedsItsToken) {
  links pool(make_link, options_of(1, 1));
  const auto held = pool.at("a").acquire();
  std::stop_source stop;
  answer out;
  pool.at("b").async_acquire(out.receiver(), 20s, stop.get_token());
  EXPECT_FALSE(out.called);
  (void)stop.request_stop();
  EXPECT_TRUE(out.called);
  EXPECT_EQ(out.failure, acquire_failure::cancelled);
}

/// A coroutine that no coroutine awaits.
struct detached {
  struct promise_type {  // NOLINT(readability-identifier-naming): the language's
    static detached get_return_object() { return {}; }
    static std::suspend_never initial_suspend() { return {}; }
    static std::suspend_never final_suspend() noexcept { return {}; }
    void return_void() {}
    static void unhandled_exception() { std::terminate(); }
  };
};

detached await_link(links& pool, const char* key, std::chrono::nanoseconds patience, answer& out) {
  try {
    out.lease = co_await pool.at(std::string(key)).co_acquire(patience);
  } catch (const acquire_error& error) {
    out.failure = error.cause();
  }
  out.called = true;
}

detached await_result(links& pool, const char* key, std::chrono::nanoseconds patience,
                      answer& out) {
  auto result = co_await pool.at(std::string(key)).co_try_acquire(patience);
  if (result) {
    out.lease = std::move(result.lease());
  } else {
    out.failure = result.failure();
  }
  out.called = true;
}

TEST(KeyedUses, CoroutinesWaitForTheirKey) {
  links pool(make_link, options_of(1, 1, maintenance::background));
  answer first;
  answer second;
  await_link(pool, "a", 20s, first);
  ASSERT_TRUE(first.is_there());
  EXPECT_TRUE(first.lease);
  await_link(pool, "b", 20s, second);
  for (const auto await : {await_link, await_result}) {
    answer late;
    await(pool, "c", 2ms, late);
    ASSERT_TRUE(late.is_there());
    EXPECT_EQ(late.failure, acquire_failure::timed_out);
  }
  first.lease.reset();
  ASSERT_TRUE(second.is_there());
  EXPECT_TRUE(second.lease);
}

TEST(KeyedUses, ACoroutineMayAwaitAKeyThatWasForgotten) {
  links pool(make_link, options_of(1, 1));
  answer out;
  const auto later = [](links& from, answer& to) -> detached {
    auto wait = from.at(std::string("a")).co_acquire(20s);
    from.tick();
    EXPECT_EQ(from.stats().keys, 0U);
    to.lease = co_await wait;
    to.called = true;
  };
  later(pool, out);
  pool.tick();
  EXPECT_TRUE(out.called);
  EXPECT_TRUE(out.lease);
}

TEST(KeyedControls, KillAndFlushReachTheirKeyAlone) {
  links pool(make_link, options_of(4, 2));
  const auto destroyed = [&pool](const char* key, destroy_reason why) {
    return pool.at(key).stats().value().destroyed_for(why);
  };
  pool.at("b").acquire().reset();
  pool.at("c").acquire().reset();
  auto a = pool.at("a").acquire();
  EXPECT_TRUE(pool.kill(a.handle()));
  a.reset();
  EXPECT_EQ(destroyed("a", destroy_reason::killed), 1U);
  pool.at("b").flush();
  EXPECT_EQ(destroyed("b", destroy_reason::flushed), 1U);
  EXPECT_EQ(destroyed("c", destroy_reason::flushed), 0U);
  pool.flush();
  EXPECT_EQ(destroyed("c", destroy_reason::flushed), 1U);
}

TEST(KeyedControls, AResourceOfAnotherPoolIsNeitherKilledNorFlushed) {
  resource_pool<int> pool([] { return 1; }, {.max_size = 1});
  resource_pool<int> other([] { return 1; }, {.max_size = 1});
  keyed_resource_pool<int, int> keyed([](int /*key*/) { return 1; }, {.max_total = 1});
  const auto mine = pool.acquire();
  const auto strange = other.acquire();
  const auto of_key = keyed.at(1).acquire();
  for (const auto uses : {ongoing_uses::finish, ongoing_uses::interrupt}) {
    EXPECT_FALSE(pool.kill(strange.handle(), uses));
    EXPECT_FALSE(pool.kill(of_key.handle(), uses));
    EXPECT_FALSE(keyed.kill(mine.handle(), uses));
  }
  EXPECT_FALSE(pool.flush(strange));
  EXPECT_FALSE(keyed.flush(mine));
  EXPECT_EQ(pool.generation(), other.generation());
  EXPECT_TRUE(pool.kill(mine.handle()));
}

TEST(KeyedControls, WithDiscardsTheResourceAfterAnException) {
  int made = 0;
  links pool([&made](const std::string& /*host*/) { return ++made; }, options_of(1, 1));
  EXPECT_EQ(pool.at("a").with([](int link) { return link; }), 1);
  int& same = pool.at("a").with([](int& link) -> int& { return link; });
  EXPECT_EQ(same, 1) << "the returned reference is copied";
  EXPECT_THROW(pool.at("a").with([](int) { throw std::runtime_error("no"); }), std::runtime_error);
  EXPECT_EQ(pool.at("a").stats().value().destroyed_for(destroy_reason::discarded), 1U);
  EXPECT_EQ(pool.at("a").with([](int link) { return link; }), 2);
}

TEST(KeyedControls, StatsAreKeptForEachKey) {
  links pool(make_link, options_of(4, 2));
  pool.at("a").acquire().reset();
  pool.at("a").acquire().reset();
  const auto held = pool.at("b").acquire();
  const auto of_a = pool.at("a").stats().value();  // the first look at the slots
  EXPECT_EQ(of_a.idle, 1U);
  EXPECT_EQ(of_a.hits, 1U);
  const auto all = pool.stats_by_key();
  ASSERT_EQ(all.size(), 2U);
  for (const auto& [key, stats] : all) {
    EXPECT_EQ(stats.live, 1U) << key;
    EXPECT_EQ(stats.idle, key == "a" ? 1U : 0U) << key;
  }
  EXPECT_EQ(pool.stats().idle, 1U);
  EXPECT_EQ(pool.stats().in_use, 1U);
  EXPECT_EQ(pool.stats().live, 2U);
}

TEST(KeyedControls, EventsNameTheirKey) {
  test::manual_clock clock;
  std::vector<std::string> told;
  auto options = options_of(2, 2);
  options.each_key.report_slow_after = 10s;
  options.each_key.clock = &clock;
  options.each_key.on_event = [&](const pool_event& event) {
    told.push_back(std::string(to_string(event.what)) + " " + std::string(event.pool));
    if (!event.leases.empty()) {
      told.back() += " " + event.leases.front().key;
    }
  };
  struct failing {
    static int create(const std::string& host) {
      return host == "down" ? throw permanent_failure("refused") : host == "b" ? 2 : 1;
    }
    static bool validate(int& /*idle*/) { throw std::runtime_error("gone"); }
    static bool reset(int& used) { return used != 2 ? true : throw std::runtime_error("gone"); }
  };
  links pool(failing{}, options);
  EXPECT_THROW((void)pool.at("down").acquire(), acquire_error);
  auto held = pool.at("a").acquire();
  clock.advance(11s);
  pool.tick();
  held.reset();
  clock.advance(1s);
  pool.tick();
  EXPECT_TRUE(pool.at("a").try_acquire_for(20s));
  EXPECT_TRUE(pool.at("b").try_acquire_for(20s));
  const std::vector<std::string> expected{"create failed hosts[down]", "slow lease hosts[a] a",
                                          "returned after all hosts[a] a",
                                          "validate failed hosts[a]", "reset failed hosts[b]"};
  EXPECT_EQ(told, expected);
}

enum class call { create, validate, reset, destroy, event };

struct visitor {
  links* pool = nullptr;
  std::set<call> seen;
  bool down = false;
  std::stop_source told;  ///< asked to stop by an event

  void visit(call from) {
    if (pool == nullptr || inside_) {
      return;
    }
    inside_ = true;
    test::run_in_new_thread([this] { use(); });
    inside_ = false;
    seen.insert(from);
  }

  void hear() {
    visit(call::event);
    told.request_stop();
  }

  void use() const {
    (void)pool->stats();
    (void)pool->stats_by_key();
    (void)pool->leases();
    (void)pool->kill({.index = 0, .birth = 0});
    for (const char* key : {"a", "b", "new"}) {
      (void)pool->at(key).stats();
      (void)pool->at(key).try_acquire();
      (void)pool->at(key).try_acquire_for(0ns);
    }
    pool->tick();
    pool->at("new").flush();  // flushing the key that is being created would never end
  }

 private:
  bool inside_ = false;
};

struct nosy_factory {
  visitor* guest;

  [[nodiscard]] int create(const std::string& /*key*/) const {
    guest->visit(call::create);
    if (guest->down) {
      throw std::runtime_error("refused");
    }
    return 1;
  }
  bool validate(int& /*resource*/) const {
    guest->visit(call::validate);
    return true;
  }
  bool reset(int& /*resource*/) const {
    guest->visit(call::reset);
    return true;
  }
  void destroy(int& /*resource*/, destroy_reason /*why*/) const noexcept {
    guest->visit(call::destroy);
  }
};

// As resource_reentry_test.cpp, with keys: no user code runs under a lock.
TEST(KeyedReentry, EveryFunctionMayUseThePool) {
  test::manual_clock clock;
  visitor guest;
  links pool(nosy_factory{&guest},
             {.max_total = 2,
              .each_key = {.max_size = 2,
                           .on_event = [&](const pool_event& /*event*/) { guest.hear(); },
                           .maintenance = maintenance::by_tick,
                           .clock = &clock}});
  guest.pool = &pool;
  (void)pool.at("a").acquire();
  EXPECT_TRUE(guest.seen.contains(call::create));
  EXPECT_TRUE(guest.seen.contains(call::reset));
  guest.pool = nullptr;
  pool.tick();
  pool.at("a").acquire().reset();
  clock.advance(1s);
  pool.tick();
  guest.pool = &pool;
  (void)pool.at("a").acquire();
  EXPECT_TRUE(guest.seen.contains(call::validate));

  // Capacity for another key is freed by evicting an idle resource.
  guest.pool = nullptr;
  for (const auto& lease : {pool.at("a").acquire(), pool.at("a").acquire()}) {
    EXPECT_TRUE(lease);
  }
  guest.pool = &pool;
  guest.seen.clear();
  (void)pool.at("b").acquire();
  EXPECT_TRUE(guest.seen.contains(call::destroy));

  guest.seen.clear();
  pool.at("b").acquire().discard();
  EXPECT_TRUE(guest.seen.contains(call::destroy));

  guest.seen.clear();
  guest.down = true;
  pool.flush();
  guest.told = std::stop_source();
  EXPECT_THROW((void)pool.at("a").acquire_for(60s, guest.told.get_token()), acquire_error);
  EXPECT_TRUE(guest.seen.contains(call::event));
  guest.pool = nullptr;
}

}  // namespace
}  // namespace lido
