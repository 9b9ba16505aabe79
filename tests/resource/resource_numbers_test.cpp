// Random operations of every way to acquire: each number of the pool is what the test has counted.
#include <gtest/gtest.h>

#include <algorithm>
#include <array>
#include <chrono>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <random>
#include <stop_token>
#include <type_traits>
#include <utility>
#include <vector>

#include "lido/keyed_resource_pool.hpp"
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

/// What the test knows of a pool without threads, all of whose users are this thread.
template <class Pool>
class counted_uses {
 public:
  static constexpr bool has_keys = std::is_same_v<Pool, keyed_pool>;

  counted_uses(std::uint32_t seed, Pool& pool, test::fake_server& server, test::manual_clock& clock)
      : random_(seed), pool_(&pool), server_(&server), clock_(&clock) {}

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
  }
  /// Which are large.
  void expect_times() {
    const resource_pool_times times = pool_->times();
    EXPECT_EQ(times.uses.count(), got - held.size());
    EXPECT_EQ(times.creates.count(), pool_->stats().created);
    EXPECT_LE(times.waits.count(), pool_->stats().handed_over);
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
        held.push_back(way == 1 ? pool_->acquire_for(key..., time) : pool_->acquire(key...));
        ++got;
      } catch (const acquire_error& error) {
        ++failures.at(static_cast<std::size_t>(error.cause()));
      }
    } else if (way == 3) {
      note(pool_->try_acquire_for(key..., time, stop.get_token()));
    } else if (!has_keys && one_in(3)) {
      if constexpr (!has_keys) {
        note(pool_->try_acquire_urgent(time, stop.get_token()));
      }
    } else {
      ++waiting;
      stops_.push_back(stop);
      pool_->async_acquire(
          key...,
          [this](acquire_result<connection> result) {
            --waiting;
            note(std::move(result));
          },
          1h, stop.get_token());
    }
    unfit += server_->broken ? static_cast<unsigned>(server_->validations - asked) : 0;
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
  std::vector<std::stop_source> stops_;
};

resource_pool_options options(const test::manual_clock& clock) {
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
          .time_uses = true,
          .detect_hold_and_wait = false,
          .maintenance = maintenance::by_tick,
          .clock = &clock};
}

template <class Pool, class Make, class Also>
void play(const Make& make, const Also& also) {
  for (std::uint32_t seed = 1; seed <= 20 && !::testing::Test::HasFailure(); ++seed) {
    test::fake_server server;
    test::manual_clock clock;
    const auto pool = make(server, clock);
    counted_uses<Pool> uses(seed, *pool, server, clock);
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
  }
}

TEST(ResourceNumbers, AreWhatItsUsersCount) {
  using pool_type = resource_pool<connection>;
  play<pool_type>(
      [](test::fake_server& server, const test::manual_clock& clock) {
        resource_pool_options all = options(clock);
        all.reserve = 1;
        return std::make_unique<pool_type>(test::fake_factory{&server}, all);
      },
      [](pool_type& /*pool*/) {});
}

// Gauges of all keys are the sums of those of each.
TEST(ResourceNumbers, OfAllKeysAreWhatTheirUsersCount) {
  play<keyed_pool>(
      [](test::fake_server& server, const test::manual_clock& clock) {
        return std::make_unique<keyed_pool>(
            keyed_factory{{&server}},
            keyed_resource_pool_options{.max_total = 4, .each_key = options(clock)});
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

}  // namespace
}  // namespace lido
