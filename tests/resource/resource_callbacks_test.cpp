// Callbacks and coroutines. docs/reference/tests.md explains the letters and numbers in test names.
#include <gtest/gtest.h>

#include <atomic>
#include <chrono>
#include <coroutine>
#include <cstdint>
#include <exception>
#include <memory>
#include <optional>
#include <stdexcept>
#include <stop_token>
#include <thread>
#include <utility>

#include "lido/keyed_resource_pool.hpp"
#include "support/crew.hpp"
#include "support/customers.hpp"
#include "support/resource_fixtures.hpp"

namespace lido {
namespace {

using namespace std::chrono_literals;
using test::detached;
using test::eventually;
using test::failure_of;
using test::fake_lease;
using test::fake_pool;
using test::outcome;

class ResourceCallbacks : public test::resource_in_each_mode {};

/// A factory whose `reset` runs within each release, also by a callback.
struct factory_of_quick_resets : test::fake_factory {
  bool reset(test::connection& used) const noexcept { return fake_factory::reset(used); }
};

detached use_often(fake_pool& pool, std::atomic<int>& done, int turns) {
  for (int i = 0; i < turns; ++i) {
    const fake_lease lease = co_await pool.co_acquire(10s);
    done += lease ? 1 : 0;
  }
}

struct task {
  struct promise_type {  // NOLINT(readability-identifier-naming): the language's
    task get_return_object() { return {std::coroutine_handle<promise_type>::from_promise(*this)}; }
    static std::suspend_never initial_suspend() { return {}; }
    static std::suspend_always final_suspend() noexcept { return {}; }
    void return_void() {}
    static void unhandled_exception() { std::terminate(); }
  };
  std::coroutine_handle<promise_type> handle;
};

task wait_in_vain(fake_pool& pool, bool& served) {
  (void)co_await pool.co_acquire(10s);
  served = true;
}

// Like a dropped future (A1).
TEST_P(ResourceCallbacks, A1ACoroutineThatIsDestroyedWhileItWaitsTakesNothing) {
  fake_pool& pool = start({.max_size = 1});
  fake_lease held = pool.acquire();
  bool served = false;
  wait_in_vain(pool, served).handle.destroy();
  held.reset();
  held = pool.acquire_for(5s);
  EXPECT_TRUE(held);
  EXPECT_FALSE(served);
}

TEST(ResourceCoroutines, OneThatIsDestroyedBeforeItIsResumedGivesItsResourceBack) {
  fake_pool pool([] { return test::connection{}; },
                 {.max_size = 1, .maintenance = maintenance::by_tick});
  fake_lease held = pool.acquire();
  task waiting;
  bool served = false;
  pool.async_acquire(
      [&](acquire_result<test::connection> got) {
        got.lease().reset();  // its completion follows this callback
        EXPECT_EQ(pool.stats().waiting, 0U);
        waiting.handle.destroy();
      },
      10s);
  waiting = wait_in_vain(pool, served);
  held.reset();
  EXPECT_TRUE(pool.try_acquire());
  EXPECT_FALSE(served);
}

// It does not stay in the queue either.
TEST_P(ResourceCallbacks, A10ADestroyedCoroutineLeavesTheQueue) {
  fake_pool& pool = start({.max_size = 1, .max_waiters = 2, .detect_hold_and_wait = false});
  const fake_lease held = pool.acquire();
  for (int i = 0; i < 10; ++i) {
    bool served = false;
    wait_in_vain(pool, served).handle.destroy();
  }
  EXPECT_EQ(pool.stats().waiting, 0U);
  EXPECT_EQ(failure_of(pool, 5ms), acquire_failure::timed_out);
}

detached try_once(fake_pool& pool, std::optional<acquire_failure>& why) {
  const auto got = co_await pool.co_try_acquire(1ms);
  why = test::cause_of(got);
}

TEST_P(ResourceCallbacks, ACoroutineMayGetAResultInsteadOfAnException) {
  std::optional<acquire_failure> why;
  fake_pool& pool = start({.max_size = 1, .max_waiters = 0});
  const fake_lease held = pool.acquire();
  try_once(pool, why);
  EXPECT_EQ(why, acquire_failure::too_many_waiters);
}

TEST_P(ResourceCallbacks, G5AStoppedTokenEndsTheWaitOfACoroutine) {
  fake_pool& pool = start({.max_size = 1});
  const fake_lease held = pool.acquire();
  std::stop_source stop;
  std::optional<acquire_failure> why;
  const auto wait = [](fake_pool& in, std::stop_token token,
                       std::optional<acquire_failure>& end) -> detached {
    try {
      (void)co_await in.co_acquire(10s, std::move(token));
    } catch (const acquire_error& error) {
      end = error.cause();
    }
  };
  wait(pool, stop.get_token(), why);
  EXPECT_FALSE(why);
  stop.request_stop();
  EXPECT_EQ(why, acquire_failure::cancelled);
}

// boostorg/mysql #370: the destructor left operations waiting.
TEST_P(ResourceCallbacks, G2CloseWakesEveryWaiter) {
  outcome callback;
  fake_pool& pool = start({.max_size = 1});
  fake_lease held = pool.acquire();
  pool.async_acquire(callback.receiver(), 10s);
  std::jthread waiting([&] { EXPECT_EQ(failure_of(pool, 10s), acquire_failure::closed); });
  ASSERT_TRUE(eventually([&] { return pool.stats().waiting == 2; }));
  EXPECT_EQ(pool.close(0ms).holders.size(), 1U);
  waiting.join();
  EXPECT_EQ(callback.failure, acquire_failure::closed);
  EXPECT_EQ(failure_of(pool, 10s), acquire_failure::closed);
  EXPECT_FALSE(pool.try_acquire());
  held.reset();
  EXPECT_TRUE(pool.close(10s).complete());
}

// The first callback waits for the resource of the second, which therefore must run before the
// first returns.
TEST_P(ResourceCallbacks, ACallbackThatWaitsLetsTheNextRunFirst) {
  fake_pool& pool = start_with(factory_of_quick_resets{{&server}}, {.max_size = 1});
  fake_lease held = pool.acquire();
  bool first = false;
  bool second = false;
  pool.async_acquire(
      [&](acquire_result<test::connection> got) {
        got.lease().reset();
        first = static_cast<bool>(pool.acquire_for(10s));
      },
      10s);
  pool.async_acquire([&](const auto& got) { second = static_cast<bool>(got); }, 10s);
  const auto begin = std::chrono::steady_clock::now();
  held.reset();
  EXPECT_TRUE(first);
  EXPECT_TRUE(second);
  EXPECT_LT(std::chrono::steady_clock::now() - begin, 8s);
}

// While a waiter runs a callback it cannot look for a resource, so other waiters are served.
TEST_P(ResourceCallbacks, NoWaiterWaitsForAThreadInACallback) {
  fake_pool& pool = start_with(factory_of_quick_resets{{&server}},
                               {.max_size = 3, .detect_hold_and_wait = false});
  fake_lease one = pool.acquire();
  fake_lease two = pool.acquire();
  fake_lease last = pool.acquire();
  bool first = false;
  bool second = false;
  const std::uint64_t waits = pool.stats().exhausted;
  pool.async_acquire(
      [&](acquire_result<test::connection> got) {
        got.lease().reset();
        first = static_cast<bool>(pool.acquire_for(10s));  // runs the other callback first
      },
      10s);
  pool.async_acquire([&](const auto& got) { second = got && pool.acquire_for(10s); }, 10s);
  const auto begin = std::chrono::steady_clock::now();
  std::jthread releasing([&] { last.reset(); });
  ASSERT_TRUE(eventually([&] { return pool.stats().exhausted == waits + 4; }));
  one.reset();
  two.reset();
  releasing.join();
  EXPECT_TRUE(first);
  EXPECT_TRUE(second);
  EXPECT_LT(std::chrono::steady_clock::now() - begin, 8s);
}

// boostorg/mysql #402: a timeout around an operation (cancel_after) is a data race in user code.
TEST_P(ResourceCallbacks, G5AStoppedTokenEndsTheWaitOfACallback) {
  outcome stopped;
  std::stop_source stop;
  fake_pool& pool = start({.max_size = 1});
  fake_lease held = pool.acquire();
  pool.async_acquire(stopped.receiver(), 10s, stop.get_token());
  EXPECT_EQ(stopped.calls, 0);
  stop.request_stop();
  EXPECT_EQ(stopped.calls, 1);
  EXPECT_EQ(stopped.failure, acquire_failure::cancelled);
  held.reset();
  EXPECT_TRUE(pool.try_acquire());
}

detached await_once(fake_pool& pool, auto patience, std::atomic<int>& served,
                    std::atomic<int>& late) {
  try {
    const fake_lease lease = co_await pool.co_acquire(patience);
    ++served;
  } catch (const acquire_error&) {
    ++late;
  }
}

// The longest times would overflow as nanoseconds.
TEST_P(ResourceCallbacks, TheLongestTimesNeverEndAndNegativeOnesEndAtOnce) {
  fake_pool& pool = start({.max_size = 1});
  fake_lease held = pool.acquire();
  std::atomic<int> served = 0;
  std::atomic<int> late = 0;
  const auto ask_for = [&](auto patience) {
    pool.async_acquire([&](const auto& got) { ++(got ? served : late); }, patience);
    await_once(pool, patience, served, late);
  };
  ask_for(std::chrono::seconds::max());
  ask_for(std::chrono::hours::max());
  ask_for(-1s);
  ask_for(-1h);
  EXPECT_TRUE(eventually([&] { return late == 4; }));
  EXPECT_EQ(pool.stats().waiting, 4U);
  held.extend(std::chrono::hours::max());
  held.extend(-1h);
  held.reset();
  EXPECT_TRUE(eventually([&] { return served == 4; }));
  EXPECT_EQ(late, 4);
}

// Each turn validates, and so ends in a callback. Nested callbacks would overflow the stack.
TEST_P(ResourceCallbacks, ACoroutineThatNeverHasToWaitDoesNotNest) {
  constexpr int turns = 20'000;
  std::atomic<int> done{0};
  fake_pool& pool = start({.max_size = 1, .validate_if_idle_longer_than = 0s});
  use_often(pool, done, turns);
  for (int before = -1; done != turns && before != done;) {  // while there is progress
    before = done;
    (void)eventually([&] { return done == turns; });
  }
  EXPECT_EQ(done, turns);
}

// If each callback ran within the release of the one before, the stack would overflow.
TEST_P(ResourceCallbacks, ManyCallbacksThatReleaseAtOnceAreServed) {
  int served = 0;
  fake_pool& pool = start_with(factory_of_quick_resets{{&server}}, {.max_size = 1});
  fake_lease held = pool.acquire();
  for (int i = 0; i < 20'000; ++i) {
    pool.async_acquire([&](const auto& got) { served += got ? 1 : 0; }, 100s);
  }
  held.reset();
  EXPECT_EQ(served, 20'000);
}

// It is counted whether the callback got what its thread had last, the lowest idle one, or waited.
TEST(ResourceCallbacksReset, RunsOnAThreadOfThePoolHoweverTheCallbackWasServed) {
  struct factory {
    std::thread::id user;
    std::atomic<int>* by_user;
    std::atomic<int>* by_pool;
    static int create() { return 1; }
    void reset(int& /*used*/) const { ++*(std::this_thread::get_id() == user ? by_user : by_pool); }
  };
  std::atomic<int> by_user{0};
  std::atomic<int> by_pool{0};
  resource_pool<int> pool(factory{std::this_thread::get_id(), &by_user, &by_pool},
                          {.max_size = 1, .keepalive = 0s});
  const auto expect_resets = [&](int of_user, int of_pool) {
    EXPECT_TRUE(pool.wait_until_idle(1, 100s));
    EXPECT_EQ(by_user, of_user);
    EXPECT_EQ(by_pool, of_pool);
  };
  const auto use_at_once = [](acquire_result<int> got) { EXPECT_TRUE(got.value()); };
  pool.acquire().reset();
  pool.async_acquire(use_at_once);  // what this thread had last
  expect_resets(1, 1);
  test::run_in_new_thread([&] { pool.async_acquire(use_at_once); });  // the lowest
  expect_resets(1, 2);
  resource_lease<int> held = pool.acquire();
  pool.async_acquire(use_at_once);  // what it has waited for
  held.reset();
  expect_resets(2, 3);
}

LIDO_TEST_IN_ALL_MODES(ResourceCallbacks);

// ---- the end of a pool in its own callback ------------------------------------------------------

/// Where the last reference to a pool is dropped.
struct last_reference {
  const char* name;
  maintenance by;
  bool is_idle_at_hand;  ///< the callback is called within async_acquire
  bool is_lease_held;    ///< while the pool ends
};

// drogon #2552: the last reference is dropped in a thread of the pool.
TEST(ResourceLastReference, APoolThatEndsInItsOwnCallbackClosesAtOnce) {
  using pool_type = resource_pool<int>;
  const last_reference rows[] = {
      {"in a thread of the pool", maintenance::background, false, false},
      {"there, with the lease", maintenance::background, false, true},
      {"in the call", maintenance::background, true, false},
      {"there, with the lease", maintenance::background, true, true},
      {"in a tick", maintenance::by_tick, false, false},
      {"there, with the lease", maintenance::by_tick, false, true},
  };
  for (const last_reference& one : rows) {
    SCOPED_TRACE(one.name);
    auto pool = std::make_shared<pool_type>(
        [] { return 1; },
        resource_pool_options{.max_size = 2, .close_timeout = 20s, .maintenance = one.by});
    if (one.is_idle_at_hand) {
      (void)pool->acquire();
    }
    std::atomic<bool> done{false};
    pool_type& all = *pool;
    const auto began = std::chrono::steady_clock::now();
    all.async_acquire(
        [&, mine = std::move(pool)](acquire_result<int> got) mutable {
          if (!one.is_lease_held) {
            got.lease().reset();
          }
          mine.reset();
          done = true;
        },
        5s);
    if (!done && one.by == maintenance::by_tick) {
      all.tick();
    }
    EXPECT_TRUE(test::eventually([&] { return done.load(); }));
    EXPECT_LT(std::chrono::steady_clock::now() - began, 10s);
  }
}

/// A call that ends a pool: it tells a callback that its time is up, which drops the last
/// reference.
template <class Pool>
struct ending_call {
  const char* name;
  void (*call)(Pool& pool);
};

template <class Pool, class View>
void expect_to_end(const ending_call<Pool>& one, std::shared_ptr<Pool> made, View (*view)(Pool&)) {
  SCOPED_TRACE(one.name);
  const auto pool = std::make_shared<std::shared_ptr<Pool>>(std::move(made));
  Pool& all = **pool;
  int answers = 0;
  view(all).async_acquire(
      [&answers, pool](const acquire_result<int>& got) {
        EXPECT_FALSE(got);
        pool->reset();
        ++answers;
      },
      50ms);
  ASSERT_EQ(answers, 0);
  std::this_thread::sleep_for(60ms);
  one.call(all);
  EXPECT_EQ(answers, 1);
  EXPECT_EQ(*pool, nullptr);
}

TEST(ResourceLastReference, ACallThatEndsItsOwnPoolComesToItsEnd) {
  using pool_type = resource_pool<int>;
  const ending_call<pool_type> rows[] = {
      {"flush", [](pool_type& pool) { pool.flush(); }},
      {"flush with interrupts", [](pool_type& pool) { pool.flush(ongoing_uses::interrupt); }},
      {"flush of a generation",
       [](pool_type& pool) { EXPECT_TRUE(pool.flush(pool.generation())); }},
      {"retry_now", [](pool_type& pool) { pool.retry_now(); }},
      {"resize", [](pool_type& pool) { pool.resize(2); }},
      {"replace_factory", [](pool_type& pool) { pool.replace_factory([] { return 2; }); }},
      {"resume", [](pool_type& pool) { pool.resume(); }},
      {"tick", [](pool_type& pool) { pool.tick(); }},
      {"close", [](pool_type& pool) { (void)pool.close(0s); }},
  };
  for (const ending_call<pool_type>& one : rows) {
    expect_to_end<pool_type, pool_type&>(
        one,
        std::make_shared<pool_type>(
            [] { return 1; },
            resource_pool_options{
                .max_size = 1, .close_timeout = 0ms, .maintenance = maintenance::by_tick}),
        [](pool_type& pool) -> pool_type& { return pool; });
  }
}

TEST(ResourceLastReference, ACallThatEndsItsOwnKeyedPoolComesToItsEnd) {
  using pool_type = keyed_resource_pool<int, int>;
  const ending_call<pool_type> rows[] = {
      {"flush", [](pool_type& pool) { pool.flush(); }},
      {"flush of a key", [](pool_type& pool) { pool.at(1).flush(); }},
      {"flush of a generation",
       [](pool_type& pool) { EXPECT_TRUE(pool.at(1).flush(pool.at(1).generation())); }},
      {"forget", [](pool_type& pool) { (void)pool.forget(1); }},
      {"retry_now", [](pool_type& pool) { pool.retry_now(); }},
      {"retry_now of a key", [](pool_type& pool) { pool.at(1).retry_now(); }},
  };
  for (const ending_call<pool_type>& one : rows) {
    expect_to_end<pool_type, decltype(std::declval<pool_type&>().at(1))>(
        one,
        std::make_shared<pool_type>(
            [](int /*key*/) { return 1; },
            keyed_resource_pool_options{.max_total = 2,
                                        .each_key = {.max_size = 1,
                                                     .close_timeout = 0ms,
                                                     .maintenance = maintenance::by_tick}}),
        [](pool_type& pool) { return pool.at(1); });
  }
}

// The lease and the last reference are dropped by the callback, while the flush continues.
TEST(ResourceLastReference, AFlushOfALeaseMayEndThePool) {
  using pool_type = resource_pool<int>;
  auto pool = std::make_shared<pool_type>(
      [] { return 1; },
      resource_pool_options{
          .max_size = 1, .close_timeout = 0ms, .maintenance = maintenance::by_tick});
  pool_type& all = *pool;
  auto held = all.acquire();
  bool is_answered = false;
  all.async_acquire(
      [&](const acquire_result<int>& got) {
        EXPECT_FALSE(got);
        held.reset();
        pool.reset();
        is_answered = true;
      },
      50ms);
  ASSERT_FALSE(is_answered);
  std::this_thread::sleep_for(60ms);
  EXPECT_TRUE(all.flush(held));
  EXPECT_TRUE(is_answered);
  EXPECT_EQ(pool, nullptr);
}

TEST(ResourceLastReference, AnAdoptedResourceMayEndThePool) {
  using pool_type = resource_pool<int>;
  auto pool = std::make_shared<pool_type>(
      [] { return 1; },
      resource_pool_options{
          .max_size = 2, .close_timeout = 0ms, .maintenance = maintenance::by_tick});
  pool_type& all = *pool;
  all.async_acquire([&](const acquire_result<int>& got) {
    EXPECT_TRUE(got);
    pool.reset();
  });
  EXPECT_TRUE(all.adopt(2));
  EXPECT_EQ(pool, nullptr);
}

TEST(ResourceLastReference, AnEventMayDropTheLastReference) {
  std::shared_ptr<resource_pool<int>> pool;
  std::atomic<bool> is_set{false};
  std::atomic<bool> done{false};
  const auto began = std::chrono::steady_clock::now();
  pool = std::make_shared<resource_pool<int>>(
      []() -> int { throw std::runtime_error("no"); },
      resource_pool_options{.max_size = 1,
                            .min_idle = 1,
                            .close_timeout = 20s,
                            .on_event = [&](const pool_event& /*event*/) {
                              test::wait_while(done);
                              while (!is_set) {
                                std::this_thread::yield();
                              }
                              std::exchange(pool, nullptr).reset();
                              done = true;
                            }});
  is_set = true;
  EXPECT_TRUE(test::eventually([&] { return done.load(); }));
  EXPECT_LT(std::chrono::steady_clock::now() - began, 10s);
}

}  // namespace
}  // namespace lido
