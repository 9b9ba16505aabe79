// What users of other connection pools reported. Each test is named after its case.
#include <gtest/gtest.h>

#include <algorithm>
#include <atomic>
#include <chrono>
#include <coroutine>
#include <exception>
#include <fstream>
#include <memory>
#include <mutex>
#include <optional>
#include <stdexcept>
#include <stop_token>
#include <string>
#include <thread>
#include <utility>
#include <vector>

#include "lido/keyed_resource_pool.hpp"
#include "lido/resource_pool.hpp"
#include "support/fake_server.hpp"
#include "support/settled.hpp"

namespace lido {
namespace {

using namespace std::chrono_literals;
using std::chrono::steady_clock;
using test::eventually;

struct connection {
  int id = 0;
};

std::chrono::milliseconds since(steady_clock::time_point begin) {
  return std::chrono::duration_cast<std::chrono::milliseconds>(steady_clock::now() - begin);
}

/// Waits for the deadline or a stop, like a connect to a host that drops packets.
[[noreturn]] void hang(const create_context& context) {
  while (steady_clock::now() < context.deadline && !context.stop.stop_requested()) {
    std::this_thread::sleep_for(1ms);
  }
  throw std::runtime_error("connect timed out");
}

TEST(ServerCases, C12TheErrorNamesTheTotalAndItsHolders) {
  keyed_resource_pool<int, connection> pool(
      [](int host) { return connection{host}; },
      {.max_total = 2, .each_key = {.max_size = 2, .name = "backends"}});
  const auto first = pool.at(1).acquire();
  const auto second = pool.at(2).acquire();
  auto refused = pool.at(3).try_acquire_for(1ms);
  ASSERT_FALSE(refused);
  EXPECT_EQ(refused.failure(), acquire_failure::timed_out);
  const acquire_error error = refused.error();
  EXPECT_NE(std::string(error.what()).find("backends[3]"), std::string::npos) << error.what();
  EXPECT_NE(std::string(error.what()).find("of all keys 2 of 2"), std::string::npos);
  EXPECT_EQ(error.holders().size(), 2U);
}

TEST(ServerCases, C39EveryAcquireEndsByItsDeadline) {
  struct factory {
    static connection create(const create_context& context) { hang(context); }
  };
  struct keyed_factory {
    static connection create(const int& /*host*/, const create_context& context) { hang(context); }
  };
  const auto is_in_time = [](const auto& acquire) {
    const auto begin = steady_clock::now();
    EXPECT_FALSE(acquire());
    EXPECT_LT(since(begin), 1s);  // far from create_timeout
  };
  for (const maintenance by : {maintenance::background, maintenance::by_tick}) {
    resource_pool<connection> pool(factory{},
                                   {.max_size = 4, .create_timeout = 30s, .maintenance = by});
    is_in_time([&] { return static_cast<bool>(pool.try_acquire_for(50ms)); });
    std::stop_source stop;
    const std::jthread stopper([&] {
      std::this_thread::sleep_for(50ms);
      stop.request_stop();
    });
    is_in_time([&] { return static_cast<bool>(pool.try_acquire_for(30s, stop.get_token())); });
    keyed_resource_pool<int, connection> keyed(
        keyed_factory{},
        {.max_total = 4, .each_key = {.max_size = 4, .create_timeout = 30s, .maintenance = by}});
    is_in_time([&] { return static_cast<bool>(keyed.at(1).try_acquire_for(50ms)); });
  }
}

// The acquirer validates the only resource itself.
TEST(ServerCases, C39AStoppedAcquireStopsItsValidation) {
  struct factory {
    static connection create() { return {}; }
    static bool validate(connection& /*silent*/, const create_context& context) { hang(context); }
  };
  for (const maintenance by : {maintenance::background, maintenance::by_tick}) {
    resource_pool<connection> pool(factory{}, {.max_size = 1,
                                               .acquire_timeout = 60s,
                                               .validate_timeout = 30s,
                                               .keepalive = 0s,
                                               .validate_if_idle_longer_than = 0s,
                                               .maintenance = by});
    (void)pool.try_acquire_for(10s);
    std::stop_source stop;
    const std::jthread stopper([&] {
      std::this_thread::sleep_for(50ms);
      stop.request_stop();
    });
    const auto begin = steady_clock::now();
    (void)pool.try_acquire_for(30s, stop.get_token());
    EXPECT_LT(since(begin), 5s);  // far from validate_timeout
  }
}

TEST(ServerCases, C29AFlushStopsCreatesThatHaveNotBegun) {
  int made = 0;
  resource_pool<connection> pool([&made] { return connection{++made}; },
                                 {.max_size = 1, .maintenance = maintenance::by_tick});
  int given = 0;
  pool.async_acquire([&given](acquire_result<connection> one) { given = one->id; });
  pool.flush();  // the create waits for a tick
  pool.tick();
  pool.tick();
  EXPECT_EQ(given, 1);
  EXPECT_EQ(made, 1);
}

TEST(ServerCases, C29AFlushStopsCreatesThatHang) {
  struct factory {
    std::shared_ptr<std::atomic<bool>> moved = std::make_shared<std::atomic<bool>>(false);
    [[nodiscard]] connection create(const create_context& context) const {
      if (!*moved) {
        hang(context);
      }
      return {};
    }
  };
  const factory f;
  resource_pool<connection> pool(f, {.max_size = 10, .create_timeout = 20s});
  std::atomic<int> served{0};
  std::vector<std::jthread> users;
  for (int i = 0; i < 6; ++i) {
    users.emplace_back([&] { served += pool.try_acquire_for(10s) ? 1 : 0; });
  }
  EXPECT_TRUE(eventually([&] { return pool.stats().waiting == 6; }));
  *f.moved = true;
  const auto begin = steady_clock::now();
  pool.flush();
  EXPECT_TRUE(eventually([&] { return served == 6; }));
  EXPECT_LT(since(begin), 2s);
}

int threads_of_process() {
  std::ifstream status("/proc/self/status");
  for (std::string line; std::getline(status, line);) {
    if (line.starts_with("Threads:")) {
      return std::stoi(line.substr(8));
    }
  }
  return 0;
}

TEST(ServerCases, C15AHugePoolHasFewThreads) {
  struct factory {
    static connection create() {
      std::this_thread::sleep_for(1ms);
      return {};
    }
  };
  const int before = threads_of_process();
  resource_pool<connection> pool(factory{}, {.max_size = 1000, .min_idle = 1000});
  int most = 0;
  EXPECT_TRUE(eventually([&] {
    most = std::max(most, threads_of_process());
    return pool.stats().idle == 1000;
  }));
  EXPECT_LE(most - before, 8 + 4 + 1);
}

/// Returns the shortest time of a few rounds, each of many calls.
template <class F>
steady_clock::duration best_of(const F& f) {
  auto best = steady_clock::duration::max();
  for (int round = 0; round < 5; ++round) {
    const auto begin = steady_clock::now();
    for (int i = 0; i < 200; ++i) {
      f();
    }
    best = std::min(best, steady_clock::now() - begin);
  }
  return best;
}

TEST(ServerCases, C19TheCostOfARefusalDoesNotDependOnTheLeases) {
  const auto time_of_refusals = [](std::size_t size) {
    resource_pool<connection> pool(
        [] { return connection(); },
        {.max_size = size, .detect_hold_and_wait = false, .maintenance = maintenance::by_tick});
    std::vector<resource_lease<connection>> held;
    while (held.size() < size) {
      held.push_back(pool.acquire());
    }
    return best_of([&pool] { EXPECT_FALSE(pool.try_acquire()); });
  };
  EXPECT_LT(time_of_refusals(10'000), 20 * time_of_refusals(10));
}

TEST(ServerCases, SlotsMoveBetweenThousandsOfKeysAsFastAsBetweenFew) {
  const auto time_of_moves = [](std::size_t places) {
    keyed_resource_pool<unsigned, connection> pool(
        [](unsigned) { return connection(); },
        {.max_total = places, .each_key = {.max_size = 1, .maintenance = maintenance::by_tick}});
    unsigned key = 0;
    const auto use_next = [&] { EXPECT_TRUE(pool.at(key++).acquire()); };
    while (key < places) {
      use_next();
    }
    return best_of(use_next);
  };
  EXPECT_LT(time_of_moves(4000), 20 * time_of_moves(100));
}

TEST(ServerCases, AnExceptionDiscardsTheLeaseThatItEnds) {
  resource_pool<connection> pool([made = 0]() mutable { return connection{++made}; },
                                 {.max_size = 1});
  const auto use_and_throw = [&](bool keep) {
    try {
      const auto lease = pool.acquire();
      EXPECT_EQ(lease.uses(), 0U);
      if (keep) {
        pool.kill({});  // does nothing
      }
      throw std::runtime_error("half of an answer was read");
    } catch (const std::runtime_error&) {
    }
  };
  use_and_throw(/*keep=*/false);
  EXPECT_EQ(test::settled(pool).destroyed_for(destroy_reason::discarded), 1U);
  try {
    auto lease = pool.acquire();
    lease.keep();
    throw std::runtime_error("all of an answer was read");
  } catch (const std::runtime_error&) {
  }
  EXPECT_EQ(test::settled(pool).destroyed_for(destroy_reason::discarded), 1U);
  // A lease that begins and ends while an exception is active elsewhere returns its resource.
  struct in_destructor {
    resource_pool<connection>& pool;
    ~in_destructor() { (void)pool.acquire(); }
  };
  try {
    const in_destructor last{pool};
    throw std::runtime_error("unwinds");
  } catch (const std::runtime_error&) {
  }
  EXPECT_EQ(test::settled(pool).destroyed_for(destroy_reason::discarded), 1U);
  EXPECT_EQ(pool.acquire()->id, 2);
}

TEST(ServerCases, C22ALeaseReportsUsesAndAgeOfItsResource) {
  resource_pool<connection> pool([] { return connection{}; }, {.max_size = 1});
  EXPECT_TRUE(pool.acquire().is_new());
  const auto again = pool.acquire();
  EXPECT_FALSE(again.is_new());
  EXPECT_EQ(again.uses(), 1U);
  EXPECT_GE(again.age(), 0ns);
}

TEST(ServerCases, C23AResizeLeavesTheReserve) {
  resource_pool<connection> pool([] { return connection{}; }, {.max_size = 1, .reserve = 1});
  for (const std::size_t size : {3U, 1U, 2U}) {
    pool.resize(size);
    std::vector<resource_lease<connection>> held;
    while (held.size() < size) {
      held.push_back(pool.acquire());
    }
    EXPECT_FALSE(pool.try_acquire()) << size;
    EXPECT_TRUE(pool.try_acquire_urgent(2s)) << size;
  }
}

TEST(ServerCases, C25AWarmUpCanBeWaitedFor) {
  struct factory {
    static connection create() {
      std::this_thread::sleep_for(2ms);
      return {};
    }
  };
  for (const maintenance by : {maintenance::background, maintenance::by_tick}) {
    resource_pool<connection> pool(factory{}, {.max_size = 16, .min_idle = 8, .maintenance = by});
    EXPECT_TRUE(pool.wait_until_idle(8, 5s));
    EXPECT_EQ(pool.stats().idle, 8U);
    EXPECT_FALSE(pool.wait_until_idle(9, 20ms));
  }
}

TEST(ServerCases, C32AResetOfAnAsynchronousLeaseRunsOnAPoolThread) {
  struct factory {
    std::shared_ptr<std::atomic<std::thread::id>> in;
    static connection create() { return {}; }
    void reset(connection& /*used*/) const { *in = std::this_thread::get_id(); }
  };
  const auto in = std::make_shared<std::atomic<std::thread::id>>();
  const auto is_reset_here = [&](bool is_async) {
    *in = std::thread::id();
    resource_pool<connection> pool(factory{in}, {.max_size = 1});
    if (is_async) {
      std::optional<resource_lease<connection>> lease;
      std::atomic<bool> called{false};
      pool.async_acquire(
          [&](acquire_result<connection> got) {
            lease = std::move(got).value();
            called = true;
          },
          1s);
      EXPECT_TRUE(eventually([&] { return called.load(); }));
      lease.reset();
    } else {
      pool.acquire().reset();
    }
    const auto again = pool.try_acquire_for(1s);  // either kind of lease returns
    EXPECT_TRUE(again);
    EXPECT_NE(in->load(), std::thread::id());
    return in->load() == std::this_thread::get_id();
  };
  EXPECT_FALSE(is_reset_here(/*is_async=*/true));
  EXPECT_TRUE(is_reset_here(/*is_async=*/false));
}

TEST(ServerCases, C40EventsSayWhatAFactoryThrew) {
  struct factory {
    static connection create() { return {}; }
    static bool validate(connection& /*asked*/) { throw std::runtime_error("TLS expired"); }
    static void reset(connection& /*used*/) { throw std::runtime_error("unread answer"); }
  };
  std::mutex mutex;
  std::vector<std::string> told;
  resource_pool<connection> pool(
      factory{},
      {.max_size = 1, .min_idle = 1, .keepalive = 10ms, .on_event = [&](const pool_event& event) {
         const std::lock_guard guard(mutex);
         told.push_back(std::string(to_string(event.what)) + ": " + std::string(event.text));
       }});
  const auto was_told = [&](const char* text) {
    return eventually([&] {
      const std::lock_guard guard(mutex);
      return std::find(told.begin(), told.end(), text) != told.end();
    });
  };
  EXPECT_TRUE(was_told("validate failed: TLS expired"));
  EXPECT_TRUE(eventually([&] { return static_cast<bool>(pool.try_acquire()); }));
  EXPECT_TRUE(was_told("reset failed: unread answer"));
}

TEST(ServerCases, CreateMayReturnItsFailure) {
  struct factory {
    std::shared_ptr<std::atomic<bool>> is_up = std::make_shared<std::atomic<bool>>(false);
    [[nodiscard]] create_result<connection> create() const {
      if (!*is_up) {
        return create_error{"connection refused"};
      }
      return connection{3};
    }
  };
  const factory f;
  resource_pool<connection> pool(f, {.max_size = 1, .retry_first = 1ms, .retry_longest = 1ms});
  auto refused = pool.try_acquire_for(250ms);
  ASSERT_FALSE(refused);
  EXPECT_NE(std::string(refused.error().what()).find("connection refused"), std::string::npos)
      << refused.error().what();
  *f.is_up = true;
  EXPECT_EQ(pool.acquire_for(2s)->id, 3);
  resource_pool<connection> hopeless([] {
    return create_result<connection>(create_error{"wrong password", true});
  });
  EXPECT_EQ(hopeless.try_acquire_for(10s).failure(), acquire_failure::create_failed);
}

/// A coroutine that may be destroyed while it is suspended.
struct routine {
  struct promise_type {
    routine get_return_object() {
      return routine(std::coroutine_handle<promise_type>::from_promise(*this));
    }
    static std::suspend_never initial_suspend() noexcept { return {}; }
    static std::suspend_always final_suspend() noexcept { return {}; }
    void return_void() noexcept {}
    static void unhandled_exception() { std::terminate(); }
  };
  explicit routine(std::coroutine_handle<promise_type> of) noexcept : handle(of) {}
  routine(routine&& other) noexcept : handle(std::exchange(other.handle, nullptr)) {}
  routine& operator=(routine&&) = delete;
  ~routine() {
    if (handle) {
      handle.destroy();
    }
  }
  std::coroutine_handle<promise_type> handle;

  [[nodiscard]] bool await_ready() const noexcept { return handle.done(); }
  void await_suspend(std::coroutine_handle<> /*outer*/) const noexcept {}
  void await_resume() const noexcept {}
};

TEST(ServerCases, ALeaseThatEndsWithASuspendedCoroutineDiscards) {
  for (const bool is_finished : {false, true}) {
    resource_pool<connection> pool([] { return connection{}; }, {.max_size = 1});
    pool.acquire().reset();  // so that the coroutine need not wait
    const auto use = [&](connection& /*used*/) -> routine {
      if (!is_finished) {
        co_await std::suspend_always();
      }
    };
    {
      const routine outer = pool.co_with(use);
      EXPECT_EQ(outer.handle.done(), is_finished);
    }
    EXPECT_EQ(test::settled(pool).destroyed_for(destroy_reason::discarded), is_finished ? 0U : 1U);
  }
}

/// A coroutine that reports its exception to its awaiter.
struct reporting_routine {
  struct promise_type {
    reporting_routine get_return_object() {
      return reporting_routine(std::coroutine_handle<promise_type>::from_promise(*this));
    }
    static std::suspend_never initial_suspend() noexcept { return {}; }
    static std::suspend_always final_suspend() noexcept { return {}; }
    static void return_void() noexcept {}
    void unhandled_exception() noexcept { thrown = std::current_exception(); }
    std::exception_ptr thrown;
  };

  explicit reporting_routine(std::coroutine_handle<promise_type> of) noexcept : handle(of) {}
  reporting_routine(reporting_routine&& other) noexcept
      : handle(std::exchange(other.handle, nullptr)) {}
  reporting_routine& operator=(reporting_routine&&) = delete;
  ~reporting_routine() {
    if (handle) {
      handle.destroy();
    }
  }

  [[nodiscard]] bool await_ready() const noexcept { return handle.done(); }
  void await_suspend(std::coroutine_handle<> /*outer*/) const noexcept {}
  void await_resume() const {
    if (handle.promise().thrown) {
      std::rethrow_exception(handle.promise().thrown);
    }
  }
  std::coroutine_handle<promise_type> handle;
};

/// A factory that keeps a connection after errors of logic.
struct lenient_factory {
  static connection create() { return {}; }
  static bool is_clean_after(connection& /*used*/, const std::exception& thrown) {
    return dynamic_cast<const std::logic_error*>(&thrown) != nullptr;
  }
};

TEST(ServerCases, AnExceptionInACoroutineIsJudgedByTheFactory) {
  for (const bool is_clean : {false, true}) {
    resource_pool<connection> pool(lenient_factory{}, {.max_size = 1});
    pool.acquire().reset();  // so that the coroutine need not wait
    const auto use = [&](connection& /*used*/) -> reporting_routine {
      if (is_clean) {
        throw std::logic_error("duplicate key");
      }
      throw std::runtime_error("broken pipe");
      co_return;
    };
    const reporting_routine outer = pool.co_with(use);
    EXPECT_THROW(outer.await_resume(), std::exception);
    EXPECT_EQ(test::settled(pool).destroyed_for(destroy_reason::discarded), is_clean ? 0U : 1U);
  }
}

TEST(ServerCases, AnAsynchronousCloseWaitsForLeases) {
  auto pool = std::make_unique<resource_pool<connection>>([] { return connection{}; },
                                                          resource_pool_options{.max_size = 2});
  auto lease = pool->acquire();
  std::atomic<int> left{-1};
  pool->async_close([&](close_report report) { left = static_cast<int>(report.holders.size()); },
                    10s);
  EXPECT_TRUE(eventually([&] { return !pool->try_acquire(); }));
  EXPECT_EQ(left, -1);
  lease.reset();
  EXPECT_TRUE(eventually([&] { return left == 0; }));
  pool.reset();
}

TEST(ServerCases, AnAsynchronousCloseWaitsForNoOther) {
  resource_pool<connection> pool([] { return connection{}; }, {.max_size = 1});
  auto lease = pool.acquire();
  std::atomic<int> closed{0};
  pool.async_close([&](const close_report& /*left*/) { ++closed; }, 20s);
  const auto begin = steady_clock::now();
  pool.async_close([&](const close_report& /*left*/) { ++closed; }, 0s);
  EXPECT_TRUE(eventually([&] { return closed == 1; }));
  pool.async_close([&](const close_report& /*left*/) { ++closed; }, 0s);
  EXPECT_TRUE(eventually([&] { return closed == 2; }));
  EXPECT_LT(since(begin), 10s);
  lease.reset();
  EXPECT_TRUE(eventually([&] { return closed == 3; }));
}

TEST(ServerCases, CallbacksMayBeMoveOnly) {
  resource_pool<connection> pool([] { return connection{7}; }, {.max_size = 1});
  std::atomic<int> found{0};
  pool.async_acquire([&found, own = std::make_unique<int>(1)](
                         acquire_result<connection> got) { found = got ? got->id + *own : -1; },
                     1s);
  EXPECT_TRUE(eventually([&] { return found == 8; }));
}

}  // namespace
}  // namespace lido
