// No user code runs under a lock. Each function that a pool calls uses the pool in turn, from
// another thread, so that even a recursive lock would block it for ever.
#include <gtest/gtest.h>

#include <atomic>
#include <chrono>
#include <memory>
#include <set>
#include <stdexcept>
#include <stop_token>
#include <thread>
#include <vector>

#include "support/crew.hpp"
#include "support/fake_server.hpp"

namespace lido {
namespace {

using namespace std::chrono_literals;
using test::eventually;

struct nosy_factory;
using nosy_pool = resource_pool<int>;
using nosy_lease = resource_lease<int>;

enum class call { create, validate, reset, interrupt, destroy, event, done, stopped };

/// State that the user's functions share.
struct visitor {
  nosy_pool* pool = nullptr;
  std::set<call> seen;
  std::set<call> ignored;
  std::set<destroy_reason> reasons;
  bool down = false;  // create throws
  bool flushes = false;
  bool gives = false;           ///< resources of its own
  std::set<call> took_nothing;  ///< calls from which `adopt` was refused

  void visit(call from) {
    if (pool == nullptr || inside_ || ignored.contains(from)) {
      return;
    }
    inside_ = true;  // calls that result from this one are not visited
    test::run_in_new_thread([this, from] { gives ? give(from) : use(); });
    inside_ = false;
    seen.insert(from);
  }

  /// Uses everything that a pool offers to the code that it calls.
  void use() const {
    const resource_pool_stats stats = pool->stats();
    (void)pool->leases();
    pool->suspend();
    pool->resize(stats.capacity + 1);
    (void)pool->try_acquire();
    (void)pool->try_acquire_idle();
    pool->async_acquire([](const acquire_result<int>& /*got*/) {}, 0ns);
    pool->resume();
    (void)pool->kill({.index = 0, .birth = 0}, ongoing_uses::interrupt);
    pool->watch_leases(true);
    if (flushes) {
      pool->retry_now();
      pool->flush(ongoing_uses::interrupt);
    }
    pool->tick();
    pool->resize(stats.capacity);
    (void)pool->try_acquire_for(0ns);
  }

  /// Gives a resource, takes an idle one, and flushes the generation of that, once.
  void give(call from) {
    if (!pool->adopt(7)) {
      took_nothing.insert(from);
    }
    nosy_lease idle = pool->try_acquire_idle();
    EXPECT_NE(static_cast<bool>(idle), took_nothing.contains(from));
    EXPECT_EQ(pool->flush(idle), static_cast<bool>(idle));
    EXPECT_FALSE(pool->flush(idle));
    idle.reset();
    EXPECT_FALSE(pool->try_acquire_idle());
  }

 private:
  bool inside_ = false;
};

struct nosy_factory {
  visitor* guest;

  [[nodiscard]] int create() const {
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
  void interrupt(int& /*resource*/) const noexcept { guest->visit(call::interrupt); }
  void destroy(int& /*resource*/, destroy_reason reason) const noexcept {
    guest->visit(call::destroy);
    guest->reasons.insert(reason);
  }
};

/// A pool whose ticks run in this thread, with a clock that the test moves.
class ResourceReentry : public ::testing::Test {
 protected:
  void start(resource_pool_options options) {
    options.maintenance = maintenance::by_tick;
    options.clock = &clock;
    options.on_event = [this](const pool_event& /*event*/) { guest.visit(call::event); };
    pool = std::make_unique<nosy_pool>(nosy_factory{&guest}, options);
  }
  /// Makes a resource without any visit.
  nosy_lease make() {
    guest.pool = nullptr;
    nosy_lease made = pool->try_acquire();
    EXPECT_TRUE(made);
    guest.pool = pool.get();
    return made;
  }
  void TearDown() override {
    guest.pool = nullptr;
    pool.reset();
  }
  void pass(std::chrono::nanoseconds time) {
    clock.advance(time);
    pool->tick();
  }
  [[nodiscard]] bool was_destroyed(destroy_reason why) const {
    return guest.seen.contains(call::destroy) && guest.reasons.contains(why);
  }

  // NOLINTBEGIN(*-non-private-member-*,readability-identifier-naming)
  test::manual_clock clock;
  visitor guest;
  std::unique_ptr<nosy_pool> pool;
  // NOLINTEND(*-non-private-member-*,readability-identifier-naming)
};

TEST_F(ResourceReentry, CreateValidateAndReset) {
  start({.max_size = 2});
  guest.pool = pool.get();
  (void)pool->try_acquire();
  EXPECT_TRUE(guest.seen.contains(call::create));
  nosy_lease held = make();
  held.reset();
  EXPECT_TRUE(guest.seen.contains(call::reset));
  pass(1s);
  guest.ignored = {call::create, call::reset, call::destroy};  // their resources would be fresh
  pool->flush();
  make().reset();
  pass(1s);
  (void)pool->try_acquire();
  EXPECT_TRUE(guest.seen.contains(call::validate));
}

// Each hook gives the pool a resource, takes an idle one, and flushes its generation.
TEST_F(ResourceReentry, ResourcesThatHooksTakeAndGive) {
  start({.max_size = 4});
  guest.gives = true;
  const auto is_visited = [&](call hook, const auto& provoke) {
    guest.ignored = {call::create,  call::validate, call::reset,
                     call::destroy, call::event,    call::done};
    guest.ignored.erase(hook);
    make().reset();
    guest.seen.clear();
    provoke();
    return guest.seen.contains(hook);
  };
  EXPECT_TRUE(is_visited(call::create, [&] {
    pool->flush();
    (void)pool->try_acquire();
  }));
  EXPECT_TRUE(is_visited(call::reset, [&] { make().reset(); }));
  EXPECT_TRUE(is_visited(call::validate, [&] {
    pass(1s);
    (void)pool->try_acquire();
  }));
  EXPECT_TRUE(is_visited(call::destroy, [&] { make().discard(); }));
  EXPECT_TRUE(is_visited(call::done, [&] {
    pool->async_acquire([this](const acquire_result<int>& /*got*/) { guest.visit(call::done); },
                        1s);
  }));
  EXPECT_TRUE(is_visited(call::event, [&] {
    guest.down = true;
    pool->flush();
    (void)pool->try_acquire();
    guest.down = false;
    pool->retry_now();
  }));
  EXPECT_EQ(guest.took_nothing, std::set<call>{});
  EXPECT_TRUE(is_visited(call::destroy, [&] { (void)pool->close(0s); }));
  EXPECT_EQ(guest.took_nothing, std::set<call>{call::destroy}) << "of a closed pool";
}

TEST_F(ResourceReentry, DestroyWhenThePoolShrinks) {
  start({.max_size = 2});
  nosy_lease one = make();
  nosy_lease other = make();
  one.reset();
  pool->resize(1);
  EXPECT_TRUE(was_destroyed(destroy_reason::surplus)) << "idle";
  pool->resize(0);
  guest.seen.clear();
  guest.reasons.clear();
  other.reset();
  EXPECT_TRUE(was_destroyed(destroy_reason::surplus)) << "in use until now";
  EXPECT_EQ(pool->stats().capacity, 0U);
}

TEST_F(ResourceReentry, DestroyOfFlushedKilledAndDiscardedResources) {
  start({.max_size = 1});
  nosy_lease held = make();
  pool->flush();
  held.reset();
  EXPECT_TRUE(was_destroyed(destroy_reason::flushed));
  held = make();
  EXPECT_TRUE(pool->kill(held.handle()));
  guest.seen.clear();
  held.reset();
  EXPECT_TRUE(was_destroyed(destroy_reason::killed));
  guest.seen.clear();
  make().discard();
  EXPECT_TRUE(was_destroyed(destroy_reason::discarded));
}

TEST_F(ResourceReentry, InterruptsOfUses) {
  start({.max_size = 1});
  guest.flushes = true;
  nosy_lease held = make();
  EXPECT_TRUE(pool->kill(held.handle(), ongoing_uses::interrupt));
  EXPECT_TRUE(guest.seen.contains(call::interrupt));
  guest.seen.clear();
  pool->flush(ongoing_uses::interrupt);
  EXPECT_TRUE(guest.seen.contains(call::interrupt));
}

TEST_F(ResourceReentry, DestroyOfExpiredResources) {
  start({.max_size = 1, .idle_timeout = 10s, .max_lifetime = 60s, .lifetime_jitter = 0});
  make().reset();
  guest.flushes = true;
  guest.seen.clear();
  pass(11s);
  EXPECT_TRUE(was_destroyed(destroy_reason::idle_too_long));
  nosy_lease held = make();
  pass(61s);
  guest.seen.clear();
  held.reset();
  EXPECT_TRUE(was_destroyed(destroy_reason::too_old));
}

TEST_F(ResourceReentry, DestroyWhenThePoolIsClosed) {
  start({.max_size = 1});
  make().reset();
  guest.flushes = true;
  EXPECT_TRUE(pool->close(10s).complete());
  EXPECT_TRUE(was_destroyed(destroy_reason::closed));
}

TEST_F(ResourceReentry, Events) {
  start({.max_size = 1,
         .retry_first = 1ns,
         .retry_longest = 1ns,
         .report_slow_after = 1s,
         .report_leak_after = 2s});
  guest.down = true;
  guest.flushes = true;
  guest.pool = pool.get();
  (void)pool->try_acquire();
  EXPECT_TRUE(guest.seen.contains(call::event)) << "of a create that failed";
  guest.down = false;
  pass(1min);
  nosy_lease held = make();
  for (const auto* what : {"slow", "a leak"}) {
    guest.seen.clear();
    pass(1100ms);
    EXPECT_TRUE(guest.seen.contains(call::event)) << "of a lease that is " << what;
  }
  guest.seen.clear();
  held.reset();
  EXPECT_TRUE(guest.seen.contains(call::event)) << "of a reported lease that is released";
}

TEST_F(ResourceReentry, CallbacksOfWaiters) {
  start({.max_size = 1});
  guest.ignored = {call::reset};  // a visit makes room for one more, which would serve the waiters
  std::stop_source stop;
  const auto wait = [&](std::chrono::nanoseconds time) {
    guest.seen.clear();
    pool->async_acquire([this](const acquire_result<int>& /*got*/) { guest.visit(call::done); },
                        time, stop.get_token());
  };
  nosy_lease held = make();
  wait(10s);
  held.reset();
  EXPECT_TRUE(guest.seen.contains(call::done)) << "served";
  held = make();
  wait(1ms);
  std::this_thread::sleep_for(2ms);
  pool->tick();
  EXPECT_TRUE(guest.seen.contains(call::done)) << "too late";
  wait(10s);
  (void)stop.request_stop();
  EXPECT_TRUE(guest.seen.contains(call::done)) << "stopped";
  stop = {};
  wait(10s);
  (void)pool->close(0ns);
  EXPECT_TRUE(guest.seen.contains(call::done)) << "closed";
}

// What the stop token of a create calls when the pool is closed.
TEST(ResourceReentryThreads, TheEndOfACreateThatIsStopped) {
  struct patient_factory {
    std::atomic<nosy_pool*>* pool;
    std::atomic<bool>* creating;
    [[nodiscard]] int create(const create_context& context) const {
      const std::stop_callback on_stop(
          context.stop, [this] { test::run_in_new_thread([this] { pool->load()->resize(3); }); });
      *creating = true;
      while (!context.stop.stop_requested()) {
        std::this_thread::sleep_for(1ms);
      }
      throw std::runtime_error("stopped");
    }
  };
  std::atomic<nosy_pool*> pool = nullptr;
  std::atomic<bool> creating = false;
  nosy_pool slow(patient_factory{&pool, &creating}, {.max_size = 1});
  pool = &slow;
  (void)slow.try_acquire();
  ASSERT_TRUE(eventually([&] { return creating.load(); }));
  EXPECT_TRUE(slow.close(10s).complete());
  EXPECT_EQ(slow.stats().capacity, 3U);
}

// A close waits for the timer thread, which may be reporting a lease.
TEST(ResourceReentryThreads, AnEventBesideAClose) {
  std::atomic<nosy_pool*> pool = nullptr;
  std::atomic<bool> told = false;
  nosy_pool watched(
      [] { return 1; },
      {.max_size = 1, .report_slow_after = 1ms, .on_event = [&](const pool_event& event) {
         if (event.what == pool_event::kind::slow_lease) {
           told = true;
           EXPECT_TRUE(eventually([&] { return pool.load()->stats().live == 0; }));
           std::this_thread::sleep_for(20ms);  // lets the close begin to wait
           pool.load()->resize(3);
         }
       }});
  pool = &watched;
  nosy_lease held = watched.acquire();
  ASSERT_TRUE(eventually([&] { return told.load(); }));
  held.reset();
  EXPECT_TRUE(watched.close(10s).complete());
  EXPECT_EQ(watched.stats().capacity, 3U);
}

// An event that does not return must not delay a close beyond the close's own time.
TEST(ResourceReentryThreads, ACloseDoesNotWaitForAnEventForEver) {
  std::atomic<bool> told = false;
  std::atomic<bool> may_return = false;
  nosy_pool watched(
      [] { return 1; },
      {.max_size = 1, .report_slow_after = 1ms, .on_event = [&](const pool_event& event) {
         if (event.what == pool_event::kind::slow_lease) {
           told = true;
           EXPECT_TRUE(eventually([&] { return may_return.load(); }));
         }
       }});
  nosy_lease held = watched.acquire();
  ASSERT_TRUE(eventually([&] { return told.load(); }));
  held.reset();
  EXPECT_FALSE(watched.close(10ms).complete());
  may_return = true;
  EXPECT_TRUE(watched.close(10s).complete());
}

}  // namespace
}  // namespace lido
