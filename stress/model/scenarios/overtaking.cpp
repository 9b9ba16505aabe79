/// A pool of resources whose waiters may be overtaken: who was woken finds what it was woken for,
/// or is served all the same, and whoever gives up leaves nothing behind that another waits for.
#include <array>
#include <utility>

#include "scenarios/lending.hpp"

namespace model {

namespace {

template <class Scene>
void with_overtaking(std::size_t size, const Scene& scene) {
  with_pool(size, scene, some_time);
}

// Who is woken finds nothing left, or takes it before a newcomer does.
void newcomer() {
  with_overtaking(1, [](lending& pool) {
    lending::lease held = pool.take();
    in_threads(
        [&] {
          lending::use(std::move(held));
          (void)pool.try_and_use();
        },
        [&] { pool.wait_and_use(); });
    pool.check(1);
  });
}

void two_newcomers() {
  with_overtaking(1, [](lending& pool) {
    lending::lease held = pool.take();
    in_threads([&] { lending::use(std::move(held)); }, [&] { pool.wait_and_use(); },
               [&] { pool.wait_and_use(); });
    pool.check(1);
  });
}

// The time of who was woken is over before it has looked, and another waits behind it. Both are in
// the queue when the resource comes back, unless the time is over before.
void late_when_called() {
  with_overtaking(1, [](lending& pool) {
    lending::lease held = pool.take();
    lido::detail::atomic<bool> late(false);
    const auto wait_until_there_are = [&](std::size_t waiters) {
      while (pool.pool().stats().waiters != waiters && !late.load(std::memory_order_acquire)) {
        execution::now().rest();
      }
    };
    in_threads(
        [&] {
          wait_until_there_are(2);
          lending::use(std::move(held));
        },
        [&] {
          pool.wait_for_a_time();
          late.store(true, std::memory_order_release);
        },
        [&] {
          wait_until_there_are(1);
          pool.wait_and_use();
        });
    pool.check(1);
  });
}

// One is left for who was woken, and the next is handed to it: then the first is there for another.
// Either keeps its own until both have one.
void two_come_back() {
  with_overtaking(2, [](lending& pool) {
    lending::lease first = pool.take();
    lending::lease second = pool.take();
    lido::detail::atomic<int> served(0);
    const auto wait_for_both = [&] {
      lending::lease got = pool.pool().acquire();
      (void)served.fetch_add(1, std::memory_order_release);
      while (served.load(std::memory_order_acquire) != 2) {
        execution::now().rest();
      }
      lending::use(std::move(got));
    };
    in_threads(
        [&] {
          lending::use(std::move(first));
          lending::use(std::move(second));
        },
        wait_for_both, wait_for_both);
    pool.check(2);
  });
}

// Two use one resource in turns, each time before it can be given to who waits: once, and not
// again.
void overdue() {
  with_pool(
      1,
      [](lending& pool) {
        lending::lease held = pool.take();
        int overtook = 0;
        const auto try_again_and_again = [&] {
          for (int i = 0; i < 3; ++i) {
            const bool before = pool.pool().stats().waiters == 1;
            overtook += before && pool.try_and_use() && pool.pool().stats().waiters == 1 ? 1 : 0;
          }
        };
        const auto wait_for_the_waiter = [&] {
          while (pool.pool().stats().waiters != 1) {
            execution::now().rest();
          }
        };
        in_threads(
            [&] {
              wait_for_the_waiter();
              lending::use(std::move(held));
              try_again_and_again();
            },
            try_again_and_again, [&] { pool.wait_and_use(); });
        require(overtook <= 1, "who waits is overtaken again and again");
        pool.check(1);
      },
      no_time);
}

// Beside the end of the pool, and one that becomes too small.
void close_when_called() {
  with_overtaking(1, [](lending& pool) {
    lending::lease held = pool.take();
    in_threads([&] { lending::use(std::move(held)); },
               [&] { (void)pool.pool().close(std::chrono::nanoseconds(0)); },
               [&] { pool.wait_for_the_end(); });
    pool.check(0);
  });
}

constexpr bounds narrow{.preemptions = 2, .reorderings = 1, .failures = 0};
constexpr bounds once{.preemptions = 1, .reorderings = 0, .failures = 0};

constexpr scenario overtakes(std::string_view name, std::string_view tells, void (*run)()) {
  return {name, tells, run, /*must_fail=*/false, narrow, /*waits=*/true};
}

constexpr std::array scenarios{
    overtakes("overtaking.newcomer", "who was woken, and who comes again", &newcomer),
    overtakes("overtaking.two_newcomers", "two ask while one comes back", &two_newcomers),
    // With one switch between threads all its schedules are few, and one shows what is left behind.
    scenario{"overtaking.late_as_called", "who is being woken gives up", &late_when_called,
             /*must_fail=*/false, once, /*waits=*/true},
    overtakes("overtaking.late_when_called", "who was woken gives up", &late_when_called),
    overtakes("overtaking.two_come_back", "two come back for two who wait", &two_come_back),
    overtakes("overtaking.overdue", "who was overtaken for too long is the next", &overdue),
    overtakes("overtaking.close_when_called", "a pool closes as somebody is woken",
              &close_when_called),
};

}  // namespace

std::span<const scenario> overtaking_scenarios() {
  return scenarios;
}

}  // namespace model
