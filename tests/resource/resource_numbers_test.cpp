// Random operations of every way to acquire: each number of the pool is what the test has counted.
#include <gtest/gtest.h>

#include <algorithm>
#include <array>
#include <atomic>
#include <chrono>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <memory>
#include <random>
#include <stop_token>
#include <thread>
#include <type_traits>
#include <utility>
#include <vector>

#include "lido/keyed_resource_pool.hpp"
#include "support/customers.hpp"
#include "support/fake_server.hpp"

namespace lido {
namespace {

using namespace std::chrono_literals;
using test::connection;
using test::fake_lease;

struct keyed_factory : test::fake_factory {
  [[nodiscard]] connection create(int /*key*/, const create_context& context) const {
    return fake_factory::create(context);
  }
};
using keyed_pool = keyed_resource_pool<int, connection>;

using pool_type = resource_pool<connection>;

/// Awaits a resource; `note` hears of it, or why there is none. Not inline, as `await_resource`.
struct hears_of {
  std::function<void(fake_lease)> got;
  std::function<void(acquire_failure)> failed;
};
test::detached await(pool_type& pool, std::stop_token stop, hears_of note) {
  try {
    note.got(co_await pool.co_acquire(1h, stop));
  } catch (const acquire_error& error) {
    note.failed(error.cause());
  }
}
test::detached await(keyed_pool& pool, std::stop_token stop, hears_of note, int key) {
  try {
    note.got(co_await pool.co_acquire(key, 1h, stop));
  } catch (const acquire_error& error) {
    note.failed(error.cause());
  }
}

/// What the test knows of a pool without threads, all of whose users are this thread.
template <class Pool>
class counted_uses {
 public:
  static constexpr bool has_keys = std::is_same_v<Pool, keyed_pool>;

  counted_uses(std::uint32_t seed, Pool& pool, test::fake_server& server, test::manual_clock& clock,
               const std::uint64_t& leaks)
      : random_(seed), pool_(&pool), server_(&server), clock_(&clock), leaks_(&leaks) {}

  void step() {
    server_->down = one_in(10);
    server_->broken = one_in(8);
    server_->refuse_reset = one_in(15);
    const unsigned what = draw(16);
    if (what < 6) {
      if constexpr (has_keys) {
        acquire(static_cast<int>(draw(3)));
      } else {
        acquire();
      }
    } else if (what < 13) {
      end_use();
    } else {
      control(what);
    }
  }
  void end() {
    do {
      pool_->close(0s);
      while (!held.empty()) {  // a release may hand something to a callback
        const fake_lease last = std::move(held.back());
        held.pop_back();
      }
    } while (pool_->stats().in_use != 0);
  }

  void expect_agreement() {
    const resource_pool_stats stats = pool_->stats();
    EXPECT_EQ(stats.acquires, got);
    EXPECT_EQ(stats.in_use, held.size());
    EXPECT_EQ(stats.waiting, waiting);
    EXPECT_EQ(stats.live, stats.idle + stats.in_use + stats.creating + stats.checking);
    EXPECT_EQ(stats.live - stats.creating + left, static_cast<unsigned>(server_->alive));
    EXPECT_EQ(stats.closing, 0U);
    EXPECT_EQ(stats.created, static_cast<unsigned>(server_->next_id - 1));
    EXPECT_EQ(stats.create_failures + stats.created, static_cast<unsigned>(server_->creates));
    EXPECT_EQ(stats.detached, left);
    for (std::size_t reason = 0; reason < destroy_reasons; ++reason) {
      EXPECT_EQ(stats.destroyed.at(reason), static_cast<unsigned>(server_->destroyed.at(reason)));
    }
    EXPECT_EQ(stats.timed_out, failed(acquire_failure::timed_out));
    EXPECT_EQ(stats.cancelled, failed(acquire_failure::cancelled));
    EXPECT_EQ(stats.refused,
              failed(acquire_failure::too_many_waiters) + failed(acquire_failure::closed));
    EXPECT_LE(stats.hits, got);
    EXPECT_EQ(stats.hits + stats.handed_over, got + unfit);
    EXPECT_EQ(stats.exhausted + unqueued, stats.handed_over + stats.timed_out + stats.cancelled +
                                              stats.refused + stats.waiting);
    most = std::max(most, held.size());
    EXPECT_EQ(stats.high_water, most);
    EXPECT_EQ(stats.suspended, suspended);
    EXPECT_EQ(stats.suspected_leaks, *leaks_);
  }
  /// Which are large.
  void expect_times() {
    const resource_pool_times times = pool_->times();
    const resource_pool_stats stats = pool_->stats();
    EXPECT_EQ(times.uses.count(), got - held.size());
    EXPECT_EQ(times.creates.count(), stats.created);
    EXPECT_EQ(times.creates.sum(), stats.creating_for);
    EXPECT_LE(stats.longest_create, stats.creating_for);
    EXPECT_GE(stats.longest_create * stats.created, stats.creating_for);
    EXPECT_LE(times.waits.count(), stats.handed_over);
    EXPECT_EQ(times.waits.sum(), stats.waited_for);
    EXPECT_LE(stats.longest_wait, stats.waited_for);
    EXPECT_GE(stats.longest_wait * times.waits.count(), stats.waited_for);
  }

  std::vector<fake_lease> held;
  std::uint64_t got = 0;
  std::uint64_t left = 0;      ///< by detach
  std::uint64_t waiting = 0;   ///< callbacks
  std::uint64_t unfit = 0;     ///< validations by an acquirer that said no
  std::uint64_t unqueued = 0;  ///< stopped before they began to wait
  std::size_t most = 0;
  bool suspended = false;
  std::array<std::uint64_t, 7> failures{};

 private:
  [[nodiscard]] unsigned draw(std::size_t below) {
    return static_cast<unsigned>(random_() % below);
  }
  [[nodiscard]] bool one_in(unsigned count) { return draw(count) == 0; }
  [[nodiscard]] std::uint64_t failed(acquire_failure why) const {
    return failures.at(static_cast<std::size_t>(why));
  }
  void note(acquire_result<connection> result) {
    if (result) {
      ++got;
      held.push_back(result.value());
    } else {
      ++failures.at(static_cast<std::size_t>(result.failure()));
    }
  }

  template <class... Key>
  void acquire(Key... key) {
    const auto time = one_in(8) ? 1ms : 0ms;
    const int asked = server_->validations;
    std::stop_source stop;
    const unsigned way = draw(6);
    if (way > 2 && one_in(6)) {
      (void)stop.request_stop();
      ++unqueued;
    }
    if (way == 0) {
      if (fake_lease lease = pool_->try_acquire(key...)) {
        ++got;
        held.push_back(std::move(lease));
      } else {
        ++failures.at(static_cast<std::size_t>(acquire_failure::timed_out));
      }
    } else if (way < 3) {
      try {
        if (way == 2 && one_in(2)) {
          pool_->with(key..., [this](connection& /*used*/) {
            ++got;
            EXPECT_EQ(pool_->stats().in_use, held.size() + 1);
            most = std::max(most, held.size() + 1);
          });
        } else {
          held.push_back(way == 1 ? pool_->acquire_for(key..., time) : pool_->acquire(key...));
          ++got;
        }
      } catch (const acquire_error& error) {
        ++failures.at(static_cast<std::size_t>(error.cause()));
      }
    } else if (way == 3) {
      note(pool_->try_acquire_for(key..., time, stop.get_token()));
    } else if (!has_keys && one_in(3)) {
      if constexpr (!has_keys) {
        acquire_urgent(time, stop.get_token());
      }
    } else {
      ++waiting;
      stops_.push_back(stop);
      wait(stop.get_token(), key...);
    }
    unfit += server_->broken ? static_cast<unsigned>(server_->validations - asked) : 0;
  }

  void acquire_urgent(std::chrono::milliseconds time, const std::stop_token& stop) {
    if (one_in(2)) {
      note(pool_->try_acquire_urgent(time, stop));
      return;
    }
    try {
      held.push_back(pool_->acquire_urgent(time, stop));
      ++got;
    } catch (const acquire_error& error) {
      ++failures.at(static_cast<std::size_t>(error.cause()));
    }
  }

  template <class... Key>
  void wait(const std::stop_token& stop, Key... key) {
    if (one_in(2)) {
      const auto take = [this](fake_lease lease) {
        --waiting;
        ++got;
        held.push_back(std::move(lease));
      };
      const auto fail = [this](acquire_failure why) {
        --waiting;
        ++failures.at(static_cast<std::size_t>(why));
      };
      await(*pool_, stop, {take, fail}, key...);
      return;
    }
    pool_->async_acquire(
        key...,
        [this](acquire_result<connection> result) {
          --waiting;
          note(std::move(result));
        },
        1h, stop);
  }

  void end_use() {
    if (held.empty()) {
      return;
    }
    std::swap(held.at(draw(held.size())), held.back());
    fake_lease lease = std::move(held.back());
    held.pop_back();
    switch (draw(8)) {
      case 0:
        lease.discard();
        break;
      case 1:
        (void)lease.detach();
        ++left;
        break;
      case 2:
        EXPECT_TRUE(pool_->kill(lease.handle()));
        break;
      default:
        break;
    }
  }

  void control(unsigned what) {
    const bool is_quiet = pool_->stats().creating == 0;  // or a flush fails a create that is due
    if (what == 13 && is_quiet && one_in(8)) {
      pool_->flush();
    } else if (what == 14 && one_in(4)) {
      suspended = !suspended;
      suspended ? pool_->suspend() : pool_->resume();
    } else if (what == 15 && !stops_.empty() && one_in(4)) {
      (void)stops_.at(draw(stops_.size())).request_stop();
    } else {
      clock_->advance(std::chrono::milliseconds(draw(20)));
      pool_->tick();
    }
    if constexpr (!has_keys) {
      if (one_in(20)) {
        pool_->resize(2 + draw(3));
      }
    }
  }

  std::minstd_rand random_;
  Pool* pool_;
  test::fake_server* server_;
  test::manual_clock* clock_;
  const std::uint64_t* leaks_;  ///< that were told
  std::vector<std::stop_source> stops_;
};

resource_pool_options options(const test::manual_clock& clock, std::uint64_t& leaks) {
  return {.max_size = 3,
          .max_waiters = 3,
          .acquire_timeout = 1ms,
          .idle_timeout = 40ms,
          .max_lifetime = 100ms,
          .max_uses = 6,
          .keepalive = 0ms,
          .validate_if_idle_longer_than = 5ms,
          .retry_first = 1ns,
          .retry_longest = 1ns,
          .report_leak_after = 25ms,
          .time_uses = true,
          .on_event =
              [&leaks](const pool_event& event) {
                leaks += event.what == pool_event::kind::suspected_leak ? 1 : 0;
              },
          .detect_hold_and_wait = false,
          .maintenance = maintenance::by_tick,
          .clock = &clock};
}

template <class Pool, class Make, class Also>
void play(const Make& make, const Also& also) {
  std::uint64_t all_leaks = 0;
  for (std::uint32_t seed = 1; seed <= 20 && !::testing::Test::HasFailure(); ++seed) {
    test::fake_server server;
    test::manual_clock clock;
    std::uint64_t leaks = 0;
    const auto pool = make(server, clock, leaks);
    counted_uses<Pool> uses(seed, *pool, server, clock, leaks);
    for (int step = 0; step < 400 && !::testing::Test::HasFailure(); ++step) {
      SCOPED_TRACE(testing::Message() << "seed " << seed << ", step " << step);
      uses.step();
      uses.expect_agreement();
      also(*pool);
    }
    uses.expect_times();
    uses.end();
    uses.expect_agreement();
    uses.expect_times();
    all_leaks += leaks;
  }
  EXPECT_GT(all_leaks, 0U);
}

TEST(ResourceNumbers, AreWhatItsUsersCount) {
  play<pool_type>(
      [](test::fake_server& server, const test::manual_clock& clock, std::uint64_t& leaks) {
        resource_pool_options all = options(clock, leaks);
        all.reserve = 1;
        return std::make_unique<pool_type>(test::fake_factory{&server}, all);
      },
      [](pool_type& /*pool*/) {});
}

// Gauges of all keys are the sums of those of each.
TEST(ResourceNumbers, OfAllKeysAreWhatTheirUsersCount) {
  play<keyed_pool>(
      [](test::fake_server& server, const test::manual_clock& clock, std::uint64_t& leaks) {
        return std::make_unique<keyed_pool>(
            keyed_factory{{&server}},
            keyed_resource_pool_options{.max_total = 4, .each_key = options(clock, leaks)});
      },
      [](keyed_pool& pool) {
        const keyed_resource_pool_stats all = pool.stats();
        resource_pool_stats sum;
        for (const auto& [key, one] : pool.stats_by_key()) {
          sum.add(one);
        }
        EXPECT_EQ(all.live, sum.live);
        EXPECT_EQ(all.idle, sum.idle);
        EXPECT_EQ(all.in_use, sum.in_use);
        EXPECT_EQ(all.waiting, sum.waiting);
      });
}

// With threads of the pool beside those of users: gauges while something is under way, and sums.
TEST(ResourceNumbers, WithThreadsAddUpAtRest) {
  test::fake_server server;
  server.slow = true;
  pool_type pool(test::fake_factory{&server}, {.max_size = 4,
                                               .min_idle = 2,
                                               .acquire_timeout = 30s,
                                               .validate_if_idle_longer_than = 0ns,
                                               .max_creating = 2,
                                               .time_uses = true,
                                               .detect_hold_and_wait = false});
  EXPECT_TRUE(test::eventually([&] { return server.creating == 2; }));
  EXPECT_EQ(pool.stats().creating, 2U);
  EXPECT_EQ(pool.stats().live, 2U);
  server.slow = false;
  ASSERT_TRUE(pool.wait_until_idle(2, 60s));
  server.slow_validate = true;
  std::atomic<std::uint64_t> got{0};
  std::atomic<std::uint64_t> late{0};
  const auto count = [&](acquire_result<connection> result) { ++(result ? got : late); };
  EXPECT_TRUE(test::eventually([&] {  // a resource is fresh for a moment
    pool.async_acquire(count, 1h);
    return server.validations > 0;
  }));
  EXPECT_GE(pool.stats().checking, 1U);
  EXPECT_GE(pool.stats().waiting, 1U);
  server.slow_validate = false;
  {
    std::vector<std::jthread> users;
    for (unsigned user = 0; user < 6; ++user) {
      users.emplace_back([&, user] {
        for (unsigned i = user; i < 600; ++i) {
          if (i % 3 == 0) {
            pool.async_acquire(count, 1h);
          } else if (i % 3 == 1) {
            count(pool.try_acquire_for(1us * (i % 50)));
          } else {
            pool.with([&got](connection& /*used*/) { ++got; });
          }
        }
      });
    }
  }
  EXPECT_TRUE(test::eventually([&] {
    const resource_pool_stats now = pool.stats();
    return now.waiting + now.in_use + now.creating + now.checking + now.closing == 0;
  }));
  const resource_pool_stats stats = pool.stats();
  EXPECT_EQ(stats.acquires, got);
  EXPECT_EQ(stats.hits + stats.handed_over, got);
  EXPECT_EQ(stats.timed_out, late);
  EXPECT_EQ(stats.exhausted, stats.handed_over + stats.timed_out);
  EXPECT_EQ(stats.live, stats.idle);
  EXPECT_EQ(stats.live, static_cast<unsigned>(server.alive));
  EXPECT_EQ(stats.created, static_cast<unsigned>(server.creates));
  const resource_pool_times times = pool.times();
  EXPECT_EQ(times.uses.count(), got);
  EXPECT_LE(times.waits.count(), stats.handed_over);
  EXPECT_EQ(times.waits.sum(), stats.waited_for);
}

}  // namespace
}  // namespace lido
