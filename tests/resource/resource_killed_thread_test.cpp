// Threads that are cancelled while a pool runs user code.
#include <gtest/gtest.h>
#include <pthread.h>

#include <atomic>
#include <stdexcept>
#include <stop_token>
#include <string>
#include <thread>

#include "lido/resource_pool.hpp"
#include "support/fake_server.hpp"

namespace lido {
namespace {

using namespace std::chrono_literals;
using test::eventually;

/// The call in which the thread is cancelled.
struct stop_over {
  std::string at;
  std::atomic<bool> reached{false};
  std::atomic<bool> cancelled{false};

  void pass(const char* here) {
    if (at != here || reached.exchange(true)) {
      return;
    }
    while (!cancelled) {
      std::this_thread::yield();
    }
    ::pthread_testcancel();
  }
};

struct stopping_factory {
  stop_over* stop;

  [[nodiscard]] int create() const {
    stop->pass("create");
    if (stop->at == "on_event" && !stop->reached) {
      throw std::runtime_error("not today");
    }
    return 1;
  }
  bool validate(int& /*resource*/) const {
    stop->pass("validate");
    return true;
  }
  bool reset(int& /*resource*/) const {
    stop->pass("reset");
    return true;
  }
  void destroy(int& /*resource*/, destroy_reason /*why*/) const noexcept { stop->pass("destroy"); }
};

class ResourceKilledThread : public ::testing::TestWithParam<const char*> {
 protected:
  using links = resource_pool<int>;

  void use_and_end() {
    try {
      auto lease = pool.acquire_for(20s);
      if (stop.at == "callback") {
        pool.async_acquire([this](const auto& /*got*/) { stop.pass("callback"); });
      }
      if (stop.at == "destroy") {
        lease.discard();
      }
    } catch (const acquire_error&) {  // a failed create, in the test of its event
    }
    pool.tick();  // validates a resource for the callback
    ::pthread_testcancel();
    went_on = true;
  }

  // NOLINTBEGIN(*-non-private-member-*,readability-identifier-naming)
  stop_over stop;
  std::atomic<bool> went_on{false};
  links pool{stopping_factory{&stop},
             {.max_size = 1,
              .validate_if_idle_longer_than = 0ns,
              .retry_first = 1ms,
              .on_event = [this](const pool_event&) { stop.pass("on_event"); },
              .maintenance = maintenance::by_tick}};
  // NOLINTEND(*-non-private-member-*,readability-identifier-naming)
};

TEST_P(ResourceKilledThread, EndsAfterTheCallAndLosesNothing) {
  const std::string where = GetParam();
  if (where != "create" && where != "on_event") {
    pool.acquire().reset();
  }
  stop.at = where;
  std::thread other([this] { use_and_end(); });
  EXPECT_TRUE(eventually([this] { return stop.reached.load(); }));
  EXPECT_EQ(::pthread_cancel(other.native_handle()), 0);
  stop.cancelled = true;
  other.join();
  EXPECT_FALSE(went_on);
  const resource_pool_stats after = pool.stats();
  EXPECT_EQ(after.in_use + after.creating + after.checking + after.closing + after.waiting, 0U);
  EXPECT_TRUE(pool.acquire_for(20s));
}

INSTANTIATE_TEST_SUITE_P(Calls, ResourceKilledThread,
                         ::testing::Values("create", "validate", "reset", "destroy", "on_event",
                                           "callback"),
                         [](const auto& call) { return std::string(call.param); });

/// Runs `f` in a thread that was cancelled before, and that ends at its next cancellation point.
template <class F>
void with_a_cancelled_thread(const F& f) {
  std::atomic<bool> went_on{false};
  std::thread([&] {
    EXPECT_EQ(::pthread_cancel(::pthread_self()), 0);
    f();
    ::pthread_testcancel();
    went_on = true;
  }).join();
  EXPECT_FALSE(went_on);
}

class KilledThreadOfACallback : public ::testing::TestWithParam<const char*> {};

TEST_P(KilledThreadOfACallback, EndsAfterACallbackThatRunsAtOnce) {
  const std::string why = GetParam();
  resource_pool<int> pool([] { return 1; }, {.max_size = 1,
                                             .max_waiters = 0,
                                             .detect_hold_and_wait = false,
                                             .maintenance = maintenance::by_tick});
  resource_lease<int> held = pool.acquire_for(20s);
  std::stop_source stop;
  if (why == "idle") {
    held.reset();
  } else if (why == "stopped") {
    stop.request_stop();
  } else if (why == "closed") {
    held.reset();
    (void)pool.close(0s);
  }
  bool ended = false;
  bool served = false;
  with_a_cancelled_thread([&] {
    const auto done = [&](const acquire_result<int>& got) {
      ::pthread_testcancel();
      served = static_cast<bool>(got);
      ended = true;
    };
    pool.async_acquire(done, 20s, stop.get_token());
  });
  EXPECT_TRUE(ended);
  EXPECT_EQ(served, why == "idle");
  held.reset();
  EXPECT_EQ(pool.stats().in_use, 0U);
}

INSTANTIATE_TEST_SUITE_P(Calls, KilledThreadOfACallback,
                         ::testing::Values("idle", "stopped", "closed", "refused"),
                         [](const auto& call) { return std::string(call.param); });

TEST(ResourceKilledThreads, DestroyOrCloseAPoolBeforeTheirEnd) {
  with_a_cancelled_thread([] { const resource_pool<int> pool([] { return 1; }); });
  resource_pool<int> pool([] { return 1; });
  pool.acquire_for(20s).reset();
  with_a_cancelled_thread([&] { EXPECT_TRUE(pool.close(20s).complete()); });
}

}  // namespace
}  // namespace lido
