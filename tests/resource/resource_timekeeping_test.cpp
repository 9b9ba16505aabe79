// What the pool calls because of the time may wait for what only the time brings.
#include <gtest/gtest.h>

#include <algorithm>
#include <array>
#include <atomic>
#include <chrono>
#include <cstddef>
#include <exception>
#include <filesystem>
#include <iterator>
#include <stdexcept>
#include <thread>

#include "support/fake_server.hpp"

namespace lido {
namespace {

using namespace std::chrono_literals;
using test::eventually;
using test::fake_factory;
using test::fake_lease;
using test::fake_pool;

class ResourceTimekeeping : public testing::Test {
 protected:
  /// Whoever asks for one of four idle ones has a thread of the pool stay in its destroy.
  void end_all_slowly(fake_pool& pool) {
    {
      std::array<fake_lease, 4> leases;
      std::generate(leases.begin(), leases.end(), [&] { return pool.acquire_for(10s); });
    }
    server_.broken = true;
    server_.down = true;
    server_.slow_destroy = true;
  }

  // NOLINTNEXTLINE(*-non-private-member-variables-in-classes): what each test sets
  test::fake_server server_;
};

TEST_F(ResourceTimekeeping, ACallbackThatIsToldItIsTooLateMayWaitForTheNextTry) {
  std::atomic<bool> told{false};
  std::atomic<bool> served{false};
  server_.down = true;
  fake_pool pool(fake_factory{&server_}, {.max_size = 1, .retry_first = 300ms});
  pool.async_acquire(
      [&](fake_lease lease, const std::exception_ptr& error) {
        EXPECT_FALSE(lease);
        EXPECT_TRUE(error);
        server_.down = false;
        EXPECT_NO_THROW(served = static_cast<bool>(pool.acquire_for(10s)));
        told = true;
      },
      100ms);
  EXPECT_TRUE(eventually([&] { return told.load(); }));
  EXPECT_TRUE(served);
}

TEST_F(ResourceTimekeeping, AReportMayWaitForTheNextTry) {
  std::atomic<bool> told{false};
  std::atomic<bool> served{false};
  fake_pool* self = nullptr;
  const auto on_event = [&](const pool_event& event) {
    if (event.what == pool_event::kind::slow_lease) {
      EXPECT_NO_THROW(served = static_cast<bool>(self->acquire_for(10s)));
      told = true;
    } else if (event.what == pool_event::kind::create_failed) {
      server_.down = false;
    }
  };
  fake_pool pool(
      fake_factory{&server_},
      {.max_size = 2, .retry_first = 300ms, .report_slow_after = 50ms, .on_event = on_event});
  self = &pool;
  const fake_lease held = pool.acquire_for(10s);
  server_.down = true;
  EXPECT_TRUE(eventually([&] { return told.load(); }));
  EXPECT_TRUE(served);
}

// Nor does such a callback hold up what else there is to do.
TEST_F(ResourceTimekeeping, WhileACallbackIsToldIdleResourcesEnd) {
  std::atomic<bool> told{false};
  std::atomic<bool> ended{false};
  fake_pool pool(fake_factory{&server_}, {.max_size = 2, .idle_timeout = 20ms});
  const fake_lease held = pool.acquire_for(10s);
  fake_lease other = pool.acquire_for(10s);
  pool.async_acquire(
      [&](const fake_lease& /*none*/, const std::exception_ptr& error) {
        EXPECT_TRUE(error);
        other.reset();
        ended = eventually([&] { return pool.stats().live == 1; });
        told = true;
      },
      10ms);
  EXPECT_TRUE(eventually([&] { return told.load(); }));
  EXPECT_TRUE(ended);
}

constexpr std::size_t all_helpers = 4;  // for creates, questions and a sweep
const resource_pool_options one_create{.max_size = 8,
                                       .validate_if_idle_longer_than = 0ns,
                                       .max_creating = 1,
                                       .retry_first = 1h,
                                       .retry_longest = 1h};

TEST_F(ResourceTimekeeping, WhereAllThreadsAreInCodeOfUsersACallbackIsToldAllTheSame) {
  std::atomic<int> told{0};
  fake_pool pool(fake_factory{&server_}, one_create);
  end_all_slowly(pool);
  const auto count = [&](const fake_lease& /*none*/, const std::exception_ptr& error) {
    EXPECT_TRUE(error);
    ++told;
  };
  pool.async_acquire(count, 1h);
  EXPECT_TRUE(eventually([&] { return pool.stats().closing == all_helpers; }))
      << "not all threads are busy";
  pool.async_acquire(count, 100ms);
  EXPECT_TRUE(eventually([&] { return told == 1; }));
  server_.slow_destroy = false;
}

// More callbacks than there are threads for creates, questions and a sweep.
TEST_F(ResourceTimekeeping, CallbacksMayWaitForWhatIsYetToBeMade) {
  constexpr int all = 8;
  std::atomic<int> served{0};
  fake_pool pool(fake_factory{&server_}, {.max_size = 2 * all, .max_creating = 1});
  for (int i = 0; i < all; ++i) {
    pool.async_acquire(
        [&](const fake_lease& lease, const std::exception_ptr& /*error*/) {
          EXPECT_TRUE(lease);
          EXPECT_NO_THROW((void)pool.acquire_for(30s));
          ++served;
        },
        30s);
  }
  EXPECT_TRUE(eventually([&] { return served == all; })) << served;
}

std::ptrdiff_t threads_of_process() {
  const std::filesystem::directory_iterator tasks("/proc/self/task");
  return std::distance(begin(tasks), end(tasks));
}

/// Many are late, one after the other.
void let_many_be_late(fake_pool& pool) {
  constexpr int asked = 2000;
  std::atomic<int> told{0};
  for (int i = 0; i < asked; ++i) {
    pool.async_acquire(
        [&](const fake_lease& /*none*/, const std::exception_ptr& /*error*/) { ++told; },
        std::chrono::microseconds(i % 50));
  }
  EXPECT_TRUE(eventually([&] { return told == asked; }));
}

// One thread that was called has not come yet, and is called again and again. A single thread too
// many is no fault: one that has done its work, but has yet to say so, may stand still for so long
// that another is needed for what comes then. Hence the sum of several tries, and on a busy machine
// another sum.
TEST_F(ResourceTimekeeping, NoMoreThreadsAreStartedThanThereIsWorkFor) {
  constexpr int tries = 10;
  // That keeps time, are busy, calls who is late, and sweeps.
  constexpr std::ptrdiff_t needed = 1 + all_helpers + 1 + 1;
  std::thread([] {}).join();  // with its first one a sanitizer starts one of its own
  std::this_thread::sleep_for(10ms);
  const std::ptrdiff_t others = threads_of_process();
  std::ptrdiff_t too_many = tries;
  for (int attempt = 0; attempt < 5 && too_many > tries / 2; ++attempt) {
    too_many = 0;
    for (int i = 0; i < tries; ++i) {
      server_.broken = false;
      server_.down = false;
      fake_pool pool(fake_factory{&server_}, one_create);
      end_all_slowly(pool);
      pool.async_acquire([](const fake_lease& /*none*/, const std::exception_ptr& /*why*/) {}, 1h);
      EXPECT_TRUE(eventually([&] { return pool.stats().closing == all_helpers; }))
          << "not all threads are busy";
      let_many_be_late(pool);
      too_many += std::max<std::ptrdiff_t>(threads_of_process() - others - needed, 0);
      server_.slow_destroy = false;
    }
  }
  EXPECT_LE(too_many, tries / 2);
}

TEST(ResourceByCallers, ARetryThatNeverComesMakesNobodyTurnInCircles) {
  constexpr auto never = std::chrono::nanoseconds::max();
  test::fake_server server;
  server.down = true;
  fake_pool pool(fake_factory{&server}, {.max_size = 1,
                                         .retry_first = never,
                                         .retry_longest = never,
                                         .upkeep = maintenance::by_callers});
  std::atomic<bool> is_back{false};
  std::jthread rescue([&] {  // of a test that fails
    (void)eventually([&] { return is_back.load(); });
    (void)pool.close(0s);
  });
  const auto begin = std::chrono::steady_clock::now();
  EXPECT_THROW((void)pool.acquire_for(100ms), acquire_error);
  EXPECT_LT(std::chrono::steady_clock::now() - begin, 8s);
  is_back = true;
}

// Who was late has not been told so yet, and keeps nobody out.
TEST_F(ResourceTimekeeping, WhoIsLateIsNotOneWaiterTooMany) {
  std::atomic<bool> inside{false};
  std::atomic<bool> on{false};
  std::atomic<int> told{0};
  fake_pool pool(fake_factory{&server_},
                 {.max_size = 1, .max_waiters = 2, .detect_hold_and_wait = false});
  fake_lease held = pool.acquire_for(10s);
  pool.async_acquire(
      [&](const fake_lease& /*none*/, const std::exception_ptr& /*error*/) {
        inside = true;
        EXPECT_TRUE(eventually([&] { return on.load(); }));
        ++told;
      },
      1ms);
  EXPECT_TRUE(eventually([&] { return inside.load(); }));
  for (int i = 0; i < 2; ++i) {
    pool.async_acquire(
        [&](const fake_lease& /*none*/, const std::exception_ptr& /*error*/) { ++told; }, 1ms);
  }
  std::this_thread::sleep_for(10ms);
  const std::uint64_t before = pool.stats().waits;
  std::jthread back([&] {
    (void)eventually([&] { return pool.stats().waits == before + 1; });
    held.reset();
  });
  EXPECT_NO_THROW((void)pool.acquire_for(30s));
  on = true;
  EXPECT_TRUE(eventually([&] { return told == 3; }));
}

// Within a callback others of the thread wait until it returns; not those of a pool that it ends.
TEST_F(ResourceTimekeeping, APoolThatEndsInACallbackOfAnotherTellsItsOwnFirst) {
  fake_pool outer(fake_factory{&server_}, {.max_size = 1});
  int told = 0;
  const auto count = [&](const fake_lease& /*none*/, const std::exception_ptr& error) {
    EXPECT_TRUE(error);
    ++told;
  };
  bool done = false;
  fake_lease held = outer.acquire_for(10s);
  outer.async_acquire(
      [&](const fake_lease& /*lease*/, const std::exception_ptr& /*error*/) {
        fake_pool closed(fake_factory{&server_}, {.max_size = 1, .upkeep = maintenance::by_tick});
        closed.async_acquire(count, 30s);
        (void)closed.close(0s);
        EXPECT_EQ(told, 1);
        {
          fake_pool ended(fake_factory{&server_}, {.max_size = 1, .upkeep = maintenance::by_tick});
          ended.async_acquire(count, 30s);
        }
        EXPECT_EQ(told, 2);
        done = true;
      },
      30s);
  held.reset();
  EXPECT_TRUE(done);
}

/// Cannot make any.
struct broken_factory {
  static int create() { throw std::runtime_error("no"); }
};

// Each try that fails takes one thread, and none of those that tell who is late.
TEST_F(ResourceTimekeeping, OnEventOfFailedCreatesMayTakeItsTime) {
  constexpr int callbacks = 8;
  std::atomic<bool> on{false};
  std::atomic<int> told{0};
  std::atomic<int> failures{0};
  resource_pool<int> pool(broken_factory{}, {.max_size = 4,
                                             .max_creating = 1,
                                             .retry_first = 1ms,
                                             .retry_longest = 1ms,
                                             .on_event = [&](const pool_event& /*failed*/) {
                                               ++failures;
                                               EXPECT_TRUE(eventually([&] { return on.load(); }));
                                             }});
  for (int i = 0; i < callbacks; ++i) {
    pool.async_acquire(
        [&](const resource_lease<int>& /*none*/, const std::exception_ptr& /*error*/) { ++told; },
        (1 + i) * 20ms);
  }
  EXPECT_TRUE(eventually([&] { return told == callbacks; }));
  EXPECT_GE(failures, 1);
  on = true;
}

}  // namespace
}  // namespace lido
