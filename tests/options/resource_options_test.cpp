// Tests that each option of resource pools reaches the part that obeys it: the right option, in the
// right unit. Its effects in every case are tested elsewhere.
#include <gtest/gtest.h>

#include <algorithm>
#include <atomic>
#include <chrono>
#include <functional>
#include <memory>
#include <optional>
#include <stdexcept>
#include <thread>
#include <vector>

#include "lido/keyed_resource_pool.hpp"
#include "lido/registry.hpp"
#include "options/rows.hpp"
#include "support/fake_server.hpp"

namespace lido {
namespace {

using namespace std::chrono_literals;
using std::chrono::steady_clock;
using test::connection;
using test::eventually;
using test::fake_lease;
using test::fake_pool;

/// Records the deadlines that the pool gives it.
struct noting_factory : test::fake_factory {
  std::chrono::nanoseconds* time_left;

  [[nodiscard]] connection create(const create_context& context) const {
    *time_left = context.deadline - steady_clock::now();
    return fake_factory::create(context);
  }
  bool validate(connection& idle, const create_context& context) const {
    *time_left = context.deadline - steady_clock::now();
    return fake_factory::validate(idle);
  }
};

/// Pools with a clock that the test moves, unless a row says otherwise.
class ResourceOptions : public ::testing::Test {
 protected:
  /// Returns options of which only those set have an effect.
  [[nodiscard]] resource_pool_options quiet() const {
    return {.max_size = 1,
            .idle_timeout = 0s,
            .max_lifetime = 0s,
            .lifetime_jitter = 0,
            .keepalive = 0s,
            .validate_if_idle_longer_than = 1h,
            .maintenance = maintenance::by_tick,
            .clock = &clock};
  }
  template <class Change>
  fake_pool& start(const Change& change, bool is_down = false) {
    resource_pool_options options = quiet();
    change(options);
    pool.reset();
    server.down = is_down;
    return pool.emplace(noting_factory{{&server}, &time_left}, options);
  }
  void pass(std::chrono::nanoseconds time) {
    clock.advance(time);
    pool->tick();
  }
  /// Returns true if it does not happen before `limit`, but within the second that a pool may take
  /// to look.
  template <class Happened>
  bool happens_after(std::chrono::nanoseconds limit, const Happened& happened) {
    pass(limit - 10ms);
    const bool early = happened();
    pass(1s);
    return !early && happened();
  }
  static auto time_of(const std::function<void()>& what) {
    const auto begin = steady_clock::now();
    what();
    return steady_clock::now() - begin;
  }
  static bool is_about(std::chrono::nanoseconds time, std::chrono::nanoseconds limit) {
    return time > limit / 2 && time <= limit;
  }
  static bool is_over_in(std::chrono::nanoseconds time, std::chrono::nanoseconds limit) {
    return time >= limit && time < limit + 5s;  // no default is so short
  }
  /// Returns whether failing creates, after `before` ones, follow one another within seconds.
  [[nodiscard]] bool retries_soon(int before) {
    const auto end = steady_clock::now() + 5s;
    while (server.creates < before + 15 && steady_clock::now() < end) {
      std::this_thread::sleep_for(1ms);
    }
    return server.creates >= before + 15;
  }

  // NOLINTBEGIN(*-non-private-member-*,readability-identifier-naming)
  test::manual_clock clock;
  test::fake_server server;
  std::chrono::nanoseconds time_left{0};
  std::optional<fake_pool> pool;
  // NOLINTEND(*-non-private-member-*,readability-identifier-naming)
};

TEST_F(ResourceOptions, EachIsObeyed) {
  using options = resource_pool_options;
  registry pools;
  std::vector<pool_event::kind> events;
  const auto was_told = [&](pool_event::kind what) {
    return std::count(events.begin(), events.end(), what) != 0;
  };
  const auto note = [&](const pool_event& event) { events.push_back(event.what); };
  const test::option_row rows[] = {
      {"max_size",
       [&] {
         start([](options& all) { all.max_size = 2; });
         const fake_lease held[] = {pool->try_acquire(), pool->try_acquire(), pool->try_acquire()};
         return held[1] && !held[2];
       }},
      {"min_idle",
       [&] {
         start([](options& all) { all.max_size = 5, all.min_idle = 3; });
         for (int i = 0; i < 5; ++i) {
           pool->tick();
         }
         return pool->stats().idle == 3;
       }},
      {"reserve",
       [&] {
         start([](options& all) { all.reserve = 1, all.maintenance = maintenance::background; });
         const auto held = pool->try_acquire_for(1min);
         const auto urgent = pool->try_acquire_urgent(1min);
         return held && urgent && !pool->try_acquire() && !pool->try_acquire_urgent(1ms);
       }},
      {"max_waiters",
       [&] {
         start([](options& all) { all.max_waiters = 1; });
         const fake_lease held = pool->try_acquire();
         std::vector<acquire_failure> ends;
         for (int i = 0; i < 2; ++i) {
           pool->async_acquire(
               [&](acquire_result<connection> got) { ends.push_back(got.failure()); }, 1h);
         }
         const bool one = ends == std::vector{acquire_failure::too_many_waiters};
         pool->close(0s);
         return one && ends.size() == 2;
       }},
      {"name", [&] { return start([](options& all) { all.name = "db"; }).name() == "db"; }},
      {"registry",
       [&] {
         int found = 0;
         start([&](options& all) { all.registry = &pools; });
         pools.visit([&](const pool_report& /*report*/) { ++found; });
         return found == 1;
       }},
      {"acquire_timeout",
       [&] {
         start([](options& all) { all.acquire_timeout = 30ms, all.detect_hold_and_wait = false; });
         const fake_lease held = pool->try_acquire();
         return is_over_in(time_of([&] { EXPECT_THROW((void)pool->acquire(), acquire_error); }),
                           30ms);
       }},
      {"create_timeout",
       [&] {
         start([](options& all) { all.create_timeout = 40s; }).try_acquire().reset();
         return is_about(time_left, 40s);
       }},
      {"validate_timeout",
       [&] {
         start([](options& all) {
           all.validate_timeout = 70s;
           all.validate_if_idle_longer_than = 0s;
         });
         pool->try_acquire().reset();
         (void)pool->acquire_for(1h);
         return is_about(time_left, 70s);
       }},
      {"idle_timeout",
       [&] {
         start([](options& all) { all.idle_timeout = 50s; }).try_acquire().reset();
         return happens_after(50s, [&] { return pool->stats().live == 0; });
       }},
      {"max_lifetime",
       [&] {
         start([](options& all) { all.max_lifetime = 60s; }).try_acquire().reset();
         return happens_after(60s, [&] { return pool->stats().live == 0; });
       }},
      {"lifetime_jitter",
       [&] {
         start([](options& all) {
           all.max_size = 40, all.max_lifetime = 100s, all.lifetime_jitter = 0.5;
         });
         std::vector<fake_lease> all(40);
         std::generate(all.begin(), all.end(), [&] { return pool->try_acquire(); });
         all.clear();
         pass(49s);
         const bool none = pool->stats().live == 40;
         pass(26s);
         return none && pool->stats().live != 40 && pool->stats().live != 0;
       }},
      {"max_uses",
       [&] {
         start([](options& all) { all.max_uses = 3; });
         std::vector<int> users;
         for (int use = 0; use < 4; ++use) {
           users.push_back(pool->try_acquire()->id);
         }
         return users[2] == users[0] && users[3] != users[0];
       }},
      {"keepalive",
       [&] {
         start([](options& all) { all.keepalive = 20s; }).try_acquire().reset();
         const int before = server.validations;
         return happens_after(20s, [&] { return server.validations > before; });
       }},
      {"validate_if_idle_longer_than",
       [&] {
         start([](options& all) { all.validate_if_idle_longer_than = 30s; }).try_acquire().reset();
         const int before = server.validations;
         pass(29s);
         pool->try_acquire().reset();
         const bool early = server.validations != before;
         pass(31s);
         pool->try_acquire().reset();
         return !early && server.validations == before + 1;
       }},
      {"max_creating",
       [&] {
         server.slow = true;
         start([](options& all) {
           all.max_size = 9, all.min_idle = 9, all.max_creating = 3;
           all.maintenance = maintenance::background;
         });
         const bool three = eventually([&] { return server.creating == 3; });
         std::this_thread::sleep_for(20ms);
         const bool no_more = server.creating == 3;
         server.slow = false;
         return three && no_more && pool->wait_until_idle(9, 60s);
       }},
      {"retry_first",
       [&] {
         const int before = server.creates;
         start(
             [](options& all) {
               all.min_idle = 1, all.retry_first = 1us, all.retry_longest = 1h;
               all.maintenance = maintenance::background;
             },
             /*is_down=*/true);
         return retries_soon(before);
       }},
      {"retry_longest",
       [&] {
         const int before = server.creates;
         start(
             [](options& all) {
               all.min_idle = 1, all.retry_first = 1ms, all.retry_longest = 4ms;
               all.maintenance = maintenance::background;
             },
             /*is_down=*/true);
         return retries_soon(before);
       }},
      {"on_create_error",
       [&] {
         start([](options& all) { all.on_create_error = create_errors::fail_fast; }, true);
         return pool->try_acquire_for(60s).failure() == acquire_failure::create_failed;
       }},
      {"close_timeout",
       [&] {
         start([](options& all) { all.close_timeout = 30ms; });
         const fake_lease held = pool->try_acquire();
         return is_over_in(time_of([&] { pool.reset(); }), 30ms);
       }},
      {"report_slow_after",
       [&] {
         start([&](options& all) { all.report_slow_after = 20s, all.on_event = note; });
         const fake_lease held = pool->try_acquire();
         return happens_after(20s, [&] { return was_told(pool_event::kind::slow_lease); });
       }},
      {"report_leak_after",
       [&] {
         start([&](options& all) { all.report_leak_after = 30s, all.on_event = note; });
         const fake_lease held = pool->try_acquire();
         return happens_after(30s, [&] { return was_told(pool_event::kind::suspected_leak); });
       }},
      {"time_uses",
       [&] {
         start([](options& all) { all.time_uses = true; }).try_acquire().reset();
         return pool->times().uses.count() == 1;
       }},
      {"on_event",
       [&] {
         start([&](options& all) { all.on_event = note; }, /*is_down=*/true);
         return !pool->try_acquire() && was_told(pool_event::kind::create_failed);
       }},
      {"after_exception",
       [&] {
         start([](options& all) { all.after_exception = after_exception::reset; });
         const int id = pool->try_acquire()->id;
         EXPECT_THROW(pool->with([](auto&) { throw std::runtime_error("no"); }),
                      std::runtime_error);
         return pool->try_acquire()->id == id;
       }},
      {"detect_hold_and_wait",
       [&] {
         start([](options& all) { all.detect_hold_and_wait = false; });
         const fake_lease held = pool->try_acquire();
         return pool->try_acquire_for(1ms).failure() == acquire_failure::timed_out;
       }},
      {"maintenance",
       [&] {
         start([](options& all) { all.min_idle = 1; });
         std::this_thread::sleep_for(10ms);
         const bool early = pool->stats().created != 0;
         pool->tick();
         return !early && pool->stats().created == 1;
       }},
      {"clock",
       [&] {
         start([](options& /*all*/) {});
         const fake_lease held = pool->try_acquire();
         pass(50h);
         return held.age() == 50h;
       }},
  };
  // An option without a row does not compile, or fails here.
  [[maybe_unused]] const auto& [a, b, c, d, e, f, g, h, i, j, k, l, m, n, o, p, q, r, s, t, u, v, w,
                                x, y, z, a2, b2] = options();
  test::expect_all(rows, 28);
}

TEST_F(ResourceOptions, OfKeysAreObeyed) {
  const auto make = [](const keyed_resource_pool_options& all) {
    return std::make_unique<keyed_resource_pool<int, int>>([](int key) { return key; }, all);
  };
  const auto each = [&](std::size_t size) {
    resource_pool_options all = quiet();
    all.max_size = size;
    return all;
  };
  /// Returns whether the waiter that has waited for longer is served, although the other one has
  /// the key.
  const auto oldest_is_first = [&](time_limit prefer, std::chrono::milliseconds waits) {
    const auto keyed = make({.max_total = 1, .prefer_same_key_for = prefer, .each_key = each(1)});
    std::vector<int> served;
    const auto wait_for = [&](int key) {
      keyed->at(key).async_acquire(
          [&](acquire_result<int> got) { served.push_back(got ? *got : 0); }, 1h);
    };
    auto held = keyed->at(1).acquire();
    wait_for(2);
    std::this_thread::sleep_for(waits);
    wait_for(1);
    held.reset();
    for (int tick = 0; served.size() < 2 && tick < 100; ++tick) {
      keyed->tick();
    }
    return served.size() == 2 && served.front() == 2;
  };
  const test::option_row rows[] = {
      {"max_total",
       [&] {
         const auto keyed = make({.max_total = 2, .each_key = each(2)});
         const auto one = keyed->at(1).acquire();
         const auto two = keyed->at(2).acquire();
         return !keyed->at(3).try_acquire();
       }},
      {"prefer_same_key_for",
       [&] { return !oldest_is_first(10s, 40ms) && oldest_is_first(30ms, 40ms); }},
      {"each_key",
       [&] {
         resource_pool_options all = each(2);
         all.idle_timeout = 20s;
         all.name = "hosts";
         const auto keyed = make({.max_total = 9, .each_key = all});
         auto one = keyed->at(1).acquire();
         const auto two = keyed->at(1).acquire();
         const bool is_full = !keyed->at(1).try_acquire();
         one.reset();
         clock.advance(19s);
         keyed->tick();
         const bool early = keyed->stats().live != 2;
         clock.advance(2s);
         keyed->tick();
         return is_full && !early && keyed->stats().live == 1 && keyed->name() == "hosts";
       }},
  };
  [[maybe_unused]] const auto& [a, b, c] = keyed_resource_pool_options();
  test::expect_all(rows, 3);
}

}  // namespace
}  // namespace lido
