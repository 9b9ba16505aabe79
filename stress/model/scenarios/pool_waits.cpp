/// Pools of resources on the kernel of events: callbacks, stop tokens, and waiters that may be
/// overtaken.
#include <array>
#include <stop_token>
#include <utility>

#include "scenarios/lent_tools.hpp"
#include "src/resource/callback_waiter.hpp"

namespace model {

namespace {

using lease = tool_pool::lease;
using result = lido::acquire_result<tool>;

/// Runs `scene(pool)` with callbacks; each thread has its own.
template <class Scene>
void with_callbacks(const lido::resource_pool_options& options, std::size_t made,
                    const Scene& scene) {
  with_tools(options, made, scene);
}
template <class Scene>
void with_callbacks(const Scene& scene) {
  with_callbacks(tool_options(1), 1, scene);
}

/// A callback that uses the resource it is given.
struct caller {
  int calls = 0;
  int served = 0;

  void wait(tool_pool& pool, std::stop_token stop = {}) {
    pool.pool().async_acquire([this](result got) { end(std::move(got)); }, ever, std::move(stop));
  }
  void end(result got) {
    ++calls;
    if (got) {
      ++served;
      tool_pool::use(std::move(got.lease()));
    }
  }
  void check() const { require(calls == 1, "a callback was called twice, or not at all"); }
};

void wait_and_use_unless(tool_pool& pool, const std::stop_token& stop) {
  result got = pool.pool().try_acquire_for(ever, stop);
  if (got) {
    tool_pool::use(std::move(got.lease()));
  } else {
    require(got.failure() == lido::acquire_failure::cancelled, "a wait has the wrong end");
  }
}

// ---- stop tokens --------------------------------------------------------------------------------

// A wait is stopped as it is given the resource.
void stopped_waiter() {
  with_tools(1, [](tool_pool& pool) {
    lease held = pool.take();
    std::stop_source stop;
    in_threads([&] { tool_pool::use(std::move(held)); },
               [&] { wait_and_use_unless(pool, stop.get_token()); },
               [&] { (void)stop.request_stop(); });
    pool.check(1);
  });
}

// A waiter behind a stopped one must get the resource.
void stopped_before_patient() {
  with_tools(1, [](tool_pool& pool) {
    lease held = pool.take();
    std::stop_source stop;
    in_threads([&] { wait_and_use_unless(pool, stop.get_token()); },
               [&] {
                 while (pool.pool().stats().waiting != 1 && !stop.stop_requested()) {
                   execution::now().rest();
                 }
                 tool_pool::use(std::move(held));
                 pool.wait_and_use();
               },
               [&] { (void)stop.request_stop(); });
    pool.check(1);
  });
}

// A waiter that creates the resource, or waits for that, is stopped.
void stopped_beside_a_create() {
  with_tools(tool_options(1), 0, [](tool_pool& pool) {
    std::stop_source stop;
    in_threads([&] { wait_and_use_unless(pool, stop.get_token()); }, [&] { pool.wait_and_use(); },
               [&] { (void)stop.request_stop(); });
    pool.check(1);
  });
}

// ---- callbacks ----------------------------------------------------------------------------------

void callback_against_release() {
  with_callbacks([](tool_pool& pool) {
    lease held = pool.take();
    caller mine;
    in_threads([&] { tool_pool::use(std::move(held)); }, [&] { mine.wait(pool); });
    mine.check();
    require(mine.served == 1, "a callback was not served");
    pool.check(1);
  });
}

void callback_beside_waiter() {
  with_callbacks([](tool_pool& pool) {
    lease held = pool.take();
    caller mine;
    in_threads([&] { tool_pool::use(std::move(held)); }, [&] { mine.wait(pool); },
               [&] { pool.wait_and_use(); });
    mine.check();
    pool.check(1);
  });
}

// A callback is stopped as it begins to wait, and as it is given the resource.
void stopped_callback() {
  with_callbacks([](tool_pool& pool) {
    lease held = pool.take();
    std::stop_source stop;
    caller mine;
    in_threads([&] { tool_pool::use(std::move(held)); }, [&] { mine.wait(pool, stop.get_token()); },
               [&] { (void)stop.request_stop(); });
    mine.check();
    pool.check(1);
  });
}

// A callback is stopped while no resource is released.
void stopped_callback_in_vain() {
  with_callbacks([](tool_pool& pool) {
    lease held = pool.take();
    std::stop_source stop;
    caller mine;
    in_threads([&] { mine.wait(pool, stop.get_token()); }, [&] { (void)stop.request_stop(); });
    mine.check();
    held.reset();
    pool.check(1);
  });
}

void stopped_callback_before_patient() {
  with_callbacks([](tool_pool& pool) {
    lease held = pool.take();
    std::stop_source stop;
    caller mine;
    mine.wait(pool, stop.get_token());
    in_threads([&] { tool_pool::use(std::move(held)); }, [&] { (void)stop.request_stop(); },
               [&] { pool.wait_and_use(); });
    mine.check();
    pool.check(1);
  });
}

// Two callbacks, the first of which waits for the resource that the second one was given.
void waits_in_a_callback() {
  with_callbacks([](tool_pool& pool) {
    lease held = pool.take();
    caller second;
    int calls = 0;
    pool.pool().async_acquire(
        [&](result got) {
          ++calls;
          tool_pool::use(got.value());
          pool.wait_and_use();
        },
        ever);
    second.wait(pool);
    in_threads([&] { tool_pool::use(std::move(held)); });
    second.check();
    require(calls == 1, "a callback was called twice, or not at all");
    pool.check(1);
  });
}

// A create fails, and a pause begins, which another thread ends; then a tick creates.
void retried_beside_a_wait() {
  with_callbacks(tool_options(1), 0, [](tool_pool& pool) {
    pool.count().failures = 1;
    caller mine;
    in_threads(
        [&] {
          mine.wait(pool);
          pool.pool().tick();
          pool.pool().tick();
        },
        [&] {
          while (pool.count().failures != 0 || pool.pool().stats().creating != 0) {
            execution::now().rest();
          }
          pool.pool().retry_now();
        });
    pool.pool().tick();
    mine.check();
    require(mine.served == 1, "a callback was not served");
    pool.check(1);
  });
}

// A tick creates the resource for a callback, and a thread waits behind it.
void created_for_a_callback() {
  with_callbacks(tool_options(1), 0, [](tool_pool& pool) {
    caller mine;
    mine.wait(pool);
    in_threads([&] { pool.pool().tick(); }, [&] { pool.wait_and_use(); });
    mine.check();
    pool.check(1);
  });
}

// A tick validates the resource for a callback in vain, because the pool is closed.
void close_beside_a_validation() {
  lido::resource_pool_options options = tool_options(1);
  options.validate_if_idle_longer_than = at_once;
  with_callbacks(options, 1, [](tool_pool& pool) {
    pool.count().refusals = 1;
    caller mine;
    mine.wait(pool);
    in_threads([&] { pool.pool().tick(); },
               [&] { require(pool.pool().close(ever).complete(), "something is left"); });
    mine.check();
    pool.check(0);
  });
}

void close_against_callback() {
  with_callbacks([](tool_pool& pool) {
    lease held = pool.take();
    caller mine;
    in_threads([&] { tool_pool::use(std::move(held)); }, [&] { mine.wait(pool); },
               [&] { (void)pool.pool().close(ever); });
    mine.check();
    pool.check(0);
  });
}

// ---- overtaking ---------------------------------------------------------------------------------

/// Runs `scene(pool)` with waiters that may always be overtaken. In other scenarios each is handed
/// the next released resource.
template <class Scene>
void with_overtaking(std::size_t size, const Scene& scene) {
  constexpr std::int64_t a_moment = 1'000'000'000'000;
  with_tools(tool_options(size), size, scene, a_moment);
}

// A waiter that is woken finds nothing left, or takes it before the newcomer does.
void newcomer() {
  with_overtaking(1, [](tool_pool& pool) {
    lease held = pool.take();
    in_threads(
        [&] {
          tool_pool::use(std::move(held));
          pool.try_and_use();
        },
        [&] { pool.wait_and_use(); });
    pool.check(1);
  });
}

void two_newcomers() {
  with_overtaking(1, [](tool_pool& pool) {
    lease held = pool.take();
    in_threads([&] { tool_pool::use(std::move(held)); }, [&] { pool.wait_and_use(); },
               [&] { pool.wait_and_use(); });
    pool.check(1);
  });
}

/// Ends the first waiter by `end` as it is woken, and checks that the second one is served.
template <class Wait, class End>
void ended_when_called(const Wait& wait, const End& end) {
  with_overtaking(1, [&](tool_pool& pool) {
    lease held = pool.take();
    lido::detail::atomic<bool> is_over(false);
    const auto rest_until_there_are = [&](std::size_t waiters) {
      while (pool.pool().stats().waiting != waiters && !is_over.load(std::memory_order_acquire)) {
        execution::now().rest();
      }
    };
    in_threads(
        [&] {
          rest_until_there_are(2);
          tool_pool::use(std::move(held));
          end();
        },
        [&] {
          wait(pool);
          is_over.store(true, std::memory_order_release);
        },
        [&] {
          rest_until_there_are(1);
          pool.wait_and_use();
        });
    pool.check(1);
  });
}

void late_when_called() {
  ended_when_called([](tool_pool& pool) { pool.wait_for_a_time(); }, [] {});
}

void stopped_when_called() {
  std::stop_source stop;
  ended_when_called([&](tool_pool& pool) { wait_and_use_unless(pool, stop.get_token()); },
                    [&] { (void)stop.request_stop(); });
}

// Two resources come back for two waiters. Both keep theirs until the other has one.
void two_come_back() {
  with_overtaking(2, [](tool_pool& pool) {
    lease first = pool.take();
    lease second = pool.take();
    lido::detail::atomic<int> served(0);
    const auto wait_for_both = [&] {
      lease got = pool.pool().acquire();
      (void)served.fetch_add(1, std::memory_order_release);
      while (served.load(std::memory_order_acquire) != 2) {
        execution::now().rest();
      }
      tool_pool::use(std::move(got));
    };
    in_threads(
        [&] {
          tool_pool::use(std::move(first));
          tool_pool::use(std::move(second));
        },
        wait_for_both, wait_for_both);
    pool.check(2);
  });
}

// Two threads use one resource in turns beside an overdue waiter, which is overtaken once.
void overdue() {
  with_tools(1, [](tool_pool& pool) {
    lease held = pool.take();
    int overtook = 0;
    const auto try_again_and_again = [&] {
      for (int i = 0; i < 3; ++i) {
        const bool before = pool.pool().stats().waiting == 1;
        lease got = pool.pool().try_acquire();
        overtook += before && got && pool.pool().stats().waiting == 1 ? 1 : 0;
        if (got) {
          tool_pool::use(std::move(got));
        }
      }
    };
    in_threads(
        [&] {
          pool.rest_until_there_are(1);
          tool_pool::use(std::move(held));
          try_again_and_again();
        },
        try_again_and_again, [&] { pool.wait_and_use(); });
    require(overtook <= 1, "a waiter is overtaken again and again");
    pool.check(1);
  });
}

void close_when_called() {
  with_overtaking(1, [](tool_pool& pool) {
    lease held = pool.take();
    in_threads([&] { tool_pool::use(std::move(held)); }, [&] { (void)pool.pool().close(ever); },
               [&] { pool.wait_for_a_time(); });
    pool.check(0);
  });
}

// A callback waits behind a thread that may be overtaken.
void callback_behind_a_called_waiter() {
  with_overtaking(1, [](tool_pool& pool) {
    lease held = pool.take();
    caller mine;
    in_threads([&] { tool_pool::use(std::move(held)); }, [&] { pool.wait_and_use(); },
               [&] { mine.wait(pool); });
    mine.check();
    pool.check(1);
  });
}

// A tick validates the resource for a callback while a thread tries to get it.
void try_beside_a_validation() {
  lido::resource_pool_options options = tool_options(1);
  options.validate_if_idle_longer_than = at_once;
  with_callbacks(options, 1, [](tool_pool& pool) {
    caller mine;
    mine.wait(pool);
    in_threads([&] { pool.pool().tick(); }, [&] { pool.try_and_use(); });
    pool.pool().tick();
    mine.check();
    pool.check(1);
  });
}

constexpr bounds once{.preemptions = 1, .reorderings = 0, .failures = 0};

constexpr scenario waits(std::string_view name, std::string_view tells, void (*run)(),
                         const bounds& limits = narrow_unfailing) {
  return {name, tells, run, /*must_fail=*/false, limits, /*waits=*/true};
}

constexpr std::array pool_waits_list{
    waits("pool_waits.stopped_waiter", "a wait is stopped as it is served", &stopped_waiter),
    waits("pool_waits.stopped_before_patient", "the same before another waiter",
          &stopped_before_patient),
    waits("pool_waits.stopped_beside_a_create", "the creator may be stopped",
          &stopped_beside_a_create),
    waits("pool_waits.callback_against_release", "a callback begins to wait beside a release",
          &callback_against_release),
    waits("pool_waits.callback_beside_waiter", "a callback and a thread wait",
          &callback_beside_waiter),
    waits("pool_waits.stopped_callback", "a callback is stopped as it is served",
          &stopped_callback),
    waits("pool_waits.stopped_callback_in_vain", "a callback is stopped as it begins to wait",
          &stopped_callback_in_vain),
    waits("pool_waits.stopped_callback_before_patient", "the same before a waiter",
          &stopped_callback_before_patient),
    waits("pool_waits.waits_in_a_callback", "a callback waits for what another one was given",
          &waits_in_a_callback),
    waits("pool_waits.retried_beside_a_wait", "a pause ends by retry_now beside ticks",
          &retried_beside_a_wait),
    waits("pool_waits.created_for_a_callback", "a tick creates for a callback",
          &created_for_a_callback),
    waits("pool_waits.close_beside_a_validation", "closed as a tick validates",
          &close_beside_a_validation),
    waits("pool_waits.try_beside_a_validation", "a try as a tick validates",
          &try_beside_a_validation),
    waits("pool_waits.close_against_callback", "closed beside a callback and a release",
          &close_against_callback),
    waits("pool_waits.newcomer", "a waiter that was woken, and a newcomer", &newcomer),
    waits("pool_waits.two_newcomers", "two ask while one comes back", &two_newcomers),
    // With one switch between threads all its schedules are few, and one shows a leftover wake-up.
    waits("pool_waits.late_as_called", "a waiter that is being woken gives up", &late_when_called,
          once),
    waits("pool_waits.late_when_called", "a waiter that was woken gives up", &late_when_called),
    waits("pool_waits.stopped_when_called", "a waiter that was woken is stopped",
          &stopped_when_called),
    waits("pool_waits.two_come_back", "two come back for two waiters", &two_come_back),
    waits("pool_waits.overdue", "a waiter that was overtaken for too long is next", &overdue),
    waits("pool_waits.close_when_called", "closed as a waiter is woken", &close_when_called),
    waits("pool_waits.callback_behind_a_called_waiter", "a callback waits behind such a waiter",
          &callback_behind_a_called_waiter),
};

}  // namespace

std::span<const scenario> pool_waits_scenarios() {
  return pool_waits_list;
}

}  // namespace model
