// Callbacks, events and functions of the factory may take long, or wait for the pool itself. None
// of them blocks another.
#include <gtest/gtest.h>

#include <atomic>
#include <chrono>
#include <stdexcept>
#include <thread>
#include <vector>

#include "support/crew.hpp"
#include "support/distant_peer.hpp"
#include "support/resource_fixtures.hpp"

namespace lido {
namespace {

using namespace std::chrono_literals;
using test::distant;
using test::eventually;
using test::fake_factory;
using test::fake_lease;
using test::fake_pool;

class ResourceTimekeeping : public testing::Test {
 protected:
  // set by each test
  test::fake_server server_;
};

TEST_F(ResourceTimekeeping, ACallbackThatTimedOutMayWaitForTheNextTry) {
  std::atomic<bool> told{false};
  std::atomic<bool> served{false};
  server_.down = true;
  fake_pool pool(fake_factory{&server_},
                 {.max_size = 1, .retry_first = 50ms, .retry_longest = 50ms});
  pool.async_acquire(
      [&](const acquire_result<test::connection>& got) {
        EXPECT_FALSE(got);
        server_.down = false;
        served = static_cast<bool>(pool.try_acquire_for(10s));
        told = true;
      },
      20ms);
  EXPECT_TRUE(eventually([&] { return told.load(); }));
  EXPECT_TRUE(served);
}

TEST_F(ResourceTimekeeping, AReportMayWaitForTheNextTry) {
  std::atomic<bool> told{false};
  std::atomic<bool> served{false};
  fake_pool* self = nullptr;
  const auto on_event = [&](const pool_event& event) {
    if (event.what == pool_event::kind::slow_lease) {
      served = static_cast<bool>(self->try_acquire_for(10s));
      told = true;
    } else if (event.what == pool_event::kind::create_failed) {
      server_.down = false;
    }
  };
  fake_pool pool(
      fake_factory{&server_},
      {.max_size = 2, .retry_first = 50ms, .report_slow_after = 20ms, .on_event = on_event});
  self = &pool;
  const fake_lease held = pool.acquire_for(10s);
  server_.down = true;
  EXPECT_TRUE(eventually([&] { return told.load(); }));
  EXPECT_TRUE(served);
}

// More callbacks than the pool has threads for other work.
TEST_F(ResourceTimekeeping, CallbacksMayWaitForFurtherCreates) {
  constexpr int all = 8;
  std::atomic<int> served{0};
  fake_pool pool(fake_factory{&server_}, {.max_size = 2 * all, .max_creating = 1});
  for (int i = 0; i < all; ++i) {
    pool.async_acquire(
        [&](const acquire_result<test::connection>& got) {
          EXPECT_TRUE(got);
          EXPECT_TRUE(pool.try_acquire_for(30s));
          ++served;
        },
        30s);
  }
  EXPECT_TRUE(eventually([&] { return served == all; })) << served;
}

TEST_F(ResourceTimekeeping, ACallbackTimesOutEvenIfAllThreadsAreInUserCode) {
  constexpr std::size_t idle = 8;
  std::atomic<int> told{0};  // declared before the pool, whose end runs callbacks
  fake_pool pool(fake_factory{&server_}, {.max_size = idle,
                                          .validate_if_idle_longer_than = 0ns,
                                          .retry_first = 1h,
                                          .retry_longest = 1h});
  {
    std::vector<fake_lease> used;
    while (used.size() < idle) {
      used.push_back(pool.acquire_for(10s));
    }
  }
  server_.broken = true;
  server_.down = true;
  server_.slow_destroy = true;
  const auto count = [&](const acquire_result<test::connection>& got) { told += got ? 0 : 1; };
  pool.async_acquire(count, 1h);
  EXPECT_TRUE(eventually([&] { return pool.stats().closing == idle; }))
      << pool.stats().closing << " are invalid";
  pool.async_acquire(count, 10ms);
  EXPECT_TRUE(eventually([&] { return told == 1; }));
  server_.slow_destroy = false;
}

// Each failed create takes one thread, but none of those that time out waiters.
TEST_F(ResourceTimekeeping, OnEventOfFailedCreatesMayTakeLong) {
  constexpr int callbacks = 8;
  std::atomic<bool> on{false};
  std::atomic<int> told{0};
  std::atomic<int> failures{0};
  resource_pool<int> pool([]() -> int { throw std::runtime_error("no"); },
                          {.max_size = 4,
                           .max_creating = 1,
                           .retry_first = 1ms,
                           .retry_longest = 1ms,
                           .on_event = [&](const pool_event& /*failed*/) {
                             ++failures;
                             EXPECT_TRUE(eventually([&] { return on.load(); }));
                           }});
  for (int i = 0; i < callbacks; ++i) {
    pool.async_acquire([&](const acquire_result<int>& /*none*/) { ++told; }, (1 + i) * 10ms);
  }
  EXPECT_TRUE(eventually([&] { return told == callbacks; }));
  EXPECT_GE(failures, 1);
  on = true;
}

// Callbacks of a thread that is in a callback wait until that returns, except those of a pool that
// ends before.
TEST_F(ResourceTimekeeping, APoolThatEndsInACallbackOfAnotherRunsItsCallbacksFirst) {
  fake_pool outer(fake_factory{&server_}, {.max_size = 1});
  int told = 0;
  const auto count = [&](const acquire_result<test::connection>& got) { told += got ? 0 : 1; };
  bool done = false;
  fake_lease held = outer.acquire_for(10s);
  outer.async_acquire(
      [&](const acquire_result<test::connection>& /*got*/) {
        const resource_pool_options options{.max_size = 1, .maintenance = maintenance::by_tick};
        fake_pool closed(fake_factory{&server_}, options);
        closed.async_acquire(count, 30s);
        (void)closed.close(0s);
        EXPECT_EQ(told, 1);
        {
          fake_pool ended(fake_factory{&server_}, options);
          ended.async_acquire(count, 30s);
        }
        EXPECT_EQ(told, 2);
        done = true;
      },
      30s);
  held.reset();
  EXPECT_TRUE(done);
}

TEST_F(ResourceTimekeeping, AWaiterDoesNotSpinForARetryThatNeverComes) {
  constexpr auto for_ever = std::chrono::nanoseconds::max();
  server_.down = true;
  fake_pool pool(fake_factory{&server_}, {.max_size = 1,
                                          .retry_first = for_ever,
                                          .retry_longest = for_ever,
                                          .maintenance = maintenance::by_tick});
  EXPECT_EQ(test::failure_of(pool, 20ms), acquire_failure::timed_out);
  EXPECT_EQ(server_.creates, 1);
}

// ---- validations --------------------------------------------------------------------------------

using ResourceQuestions = test::DistantPeer;

TEST_F(ResourceQuestions, TheEndOfThePoolStopsValidations) {
  struct silent {
    std::atomic<int>* asked;
    std::atomic<int>* answered;
    static int create() { return 1; }
    bool validate(int& /*link*/, const create_context& context) const {
      ++*asked;
      while (!context.stop.stop_requested()) {
        std::this_thread::sleep_for(1ms);
      }
      ++*answered;
      return false;
    }
  };
  constexpr int idle = 16;  // more than the pool validates at once
  std::atomic<int> asked{0};
  std::atomic<int> answered{0};
  const auto began = std::chrono::steady_clock::now();
  {
    resource_pool<int> pool(silent{&asked, &answered},
                            {.max_size = idle, .keepalive = 1ms, .max_creating = 1});
    let_grow_stale(pool, idle);
    EXPECT_TRUE(eventually([&] { return asked >= 4; }));
  }
  EXPECT_EQ(answered, asked) << "a validation outlived the pool";
  EXPECT_LT(asked, idle);
  EXPECT_LT(std::chrono::steady_clock::now() - began, 10s) << "the end waited for a time limit";
}

/// A factory whose first resources are invalid, and take long to destroy.
struct lingering {
  std::atomic<int>* made;
  std::atomic<bool>* lingers;
  int old;
  [[nodiscard]] int create() const { return ++*made; }
  [[nodiscard]] bool validate(int& link) const { return link > old; }
  void destroy(int& link, destroy_reason /*why*/) const noexcept {
    while (link <= old && *lingers) {
      std::this_thread::sleep_for(1ms);
    }
  }
};

// A host is gone, and each `destroy` hangs.
TEST_F(ResourceQuestions, ResourcesAreMadeHoweverManySlowlyEnd) {
  constexpr int idle = 12;
  std::atomic<int> made{0};
  std::atomic<bool> lingers{true};
  links pool(
      lingering{&made, &lingers, idle},
      {.max_size = std::size_t{2} * idle, .validate_if_idle_longer_than = 0ns, .max_creating = 1});
  let_grow_stale(pool, idle);
  std::atomic<int> served{0};
  count_calls(pool, idle, served);
  EXPECT_TRUE(eventually([&] { return served == idle; })) << served;
  lingers = false;
}

// A closed pool has no waiters for the answers.
TEST_F(ResourceQuestions, CloseWaitsForNoAnswer) {
  links pool(distant{&all}, {.max_size = 4, .validate_if_idle_longer_than = 0ns});
  let_grow_stale(pool, 4);
  const int before = all.asked;
  all.is_silent = true;
  std::atomic<int> served{0};
  count_calls(pool, 4, served);
  EXPECT_TRUE(eventually([&] { return all.asked > before; }));
  EXPECT_FALSE(pool.close(0ns).complete());
  EXPECT_EQ(all.invalid, 0) << "the close waited until the validations timed out";
  all.is_silent = false;
  EXPECT_TRUE(pool.close(10s).complete());
}

TEST_F(ResourceQuestions, CloseDoesNotWaitForACallback) {
  links pool(distant{&all}, {.max_size = 1, .validate_if_idle_longer_than = 0ns});
  let_grow_stale(pool, 1);
  std::atomic<bool> inside{false};
  std::atomic<bool> leave{false};
  pool.async_acquire([&](acquire_result<int> got) {
    got.lease().reset();
    inside = true;
    while (!leave) {
      std::this_thread::sleep_for(1ms);
    }
  });
  EXPECT_TRUE(eventually([&] { return inside.load(); }));
  EXPECT_FALSE(pool.close(0ns).complete());
  leave = true;
  EXPECT_TRUE(pool.close(10s).complete());
}

TEST_F(ResourceQuestions, ThePoolMayEndDuringValidations) {
  for (int i = 0; i < 20; ++i) {
    links pool(distant{&all}, {.max_size = 8, .validate_if_idle_longer_than = 0ns});
    let_grow_stale(pool, 8);
    test::run_crew(3, [&](unsigned) { (void)pool.try_acquire_for(1ms); });
  }
}

}  // namespace
}  // namespace lido
