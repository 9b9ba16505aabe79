/// A pool of resources as it is: whoever waits is served or told, nobody takes a resource along
/// that it does not use, and no resource has two users.
#include <array>
#include <optional>
#include <utility>

#include "scenarios/lending.hpp"

namespace model {

namespace {

// Who waits looks while another puts a resource back, as a thread that has had it before, or not.
void wait_against_use() {
  with_pool(1, [](lending& pool) {
    in_threads([&] { pool.try_and_use(); }, [&] { pool.wait_and_use(); });
    pool.check(1);
  });
}

void wait_against_release() {
  with_pool(1, [](lending& pool) {
    lending::lease held = pool.take();
    in_threads([&] { lending::use(std::move(held)); }, [&] { pool.wait_and_use(); });
    pool.check(1);
  });
}

// One who is in the queue already has looked for the other.
void two_wait() {
  with_pool(1, [](lending& pool) {
    lending::lease held = pool.take();
    in_threads([&] { lending::use(std::move(held)); }, [&] { pool.wait_and_use(); },
               [&] { pool.wait_and_use(); });
    pool.check(1);
  });
}

void three_for_two() {
  with_pool(2, [](lending& pool) {
    in_threads([&] { pool.wait_and_use(); }, [&] { pool.wait_and_use(); },
               [&] { pool.wait_and_use(); });
    pool.check(2);
  });
}

// The time of one is over in the moment of being served. Another behind it must be.
void late_waiter() {
  with_pool(1, [](lending& pool) {
    lending::lease held = pool.take();
    in_threads([&] { lending::use(std::move(held)); }, [&] { pool.wait_for_a_time(); });
    pool.check(1);
  });
}

void late_before_patient() {
  with_pool(1, [](lending& pool) {
    lending::lease held = pool.take();
    in_threads([&] { lending::use(std::move(held)); }, [&] { pool.wait_for_a_time(); },
               [&] { pool.wait_and_use(); });
    pool.check(1);
  });
}

// Both are in the queue before the resource comes back, in a known order.
void first_come_first_served() {
  with_pool(1, [](lending& pool) {
    lending::lease held = pool.take();
    int served = 0;
    const auto rest_until_there_are = [&](std::size_t waiters) {
      while (pool.pool().stats().waiters != waiters) {
        execution::now().rest();
      }
    };
    const auto wait_as = [&](int place) {
      lending::lease got = pool.pool().acquire();
      require(served == place, "a waiter was overtaken by one that came later");
      ++served;
      lending::use(std::move(got));
    };
    in_threads([&] { wait_as(0); },
               [&] {
                 rest_until_there_are(1);
                 wait_as(1);
               },
               [&] {
                 rest_until_there_are(2);
                 lending::use(std::move(held));
               });
    pool.check(1);
  });
}

// What comes back is for who waits, whoever asks in the moment in which it does.
void newcomer_against_release() {
  with_pool(1, [](lending& pool) {
    lending::lease held = pool.take();
    lido::detail::atomic<bool> waits(false);
    bool served = false;
    in_threads(
        [&] {
          lending::lease got = pool.pool().acquire();
          served = true;
          lending::use(std::move(got));
        },
        [&] {
          while (pool.pool().stats().waiters == 0) {
            execution::now().rest();
          }
          waits.store(true, std::memory_order_release);
          lending::use(std::move(held));
        },
        [&] {
          while (!waits.load(std::memory_order_acquire)) {
            execution::now().rest();
          }
          lending::lease got = pool.pool().try_acquire();
          if (got) {
            require(served, "who waits was overtaken by one that came later");
            lending::use(std::move(got));
          }
        });
    pool.check(1);
  });
}

// A callback in the queue is told exactly once, by who releases or by the clock.
void late_callback() {
  with_pool(1, [](lending& pool) {
    lending::lease held = pool.take();
    int calls = 0;
    in_threads([&] { lending::use(std::move(held)); }, [&] { pool.pool().tick(); },
               [&] {
                 pool.pool().async_acquire(
                     [&calls](lending::lease got, const std::exception_ptr& error) {
                       ++calls;
                       require(static_cast<bool>(got) != static_cast<bool>(error),
                               "a callback was told two things, or nothing");
                       if (got) {
                         lending::use(std::move(got));
                       }
                     },
                     some_time);
               });
    while (calls == 0) {
      pool.pool().tick();
    }
    require(calls == 1, "a callback was told twice");
    pool.check(1);
  });
}

// One wait, which a giver ends, or who stops it; std::stop_token is none of the model.
void given_or_stopped() {
  lido::detail::resource_waiter waiter({}, 1);
  plain<int> parcel{0};
  int ends = 0;
  in_threads(
      [&] {
        bool asleep = false;
        const auto* const word = waiter.sleep_word();
        parcel.write(1);
        if (waiter.give({}, asleep)) {
          ++ends;
          if (asleep) {
            lido::detail::unpark(word);
          }
        }
      },
      [&] { ends += waiter.cancel_and_wake(lido::acquire_failure::cancelled) ? 1 : 0; },
      [&] {
        waiter.begin_sleep();
        while (waiter.open()) {
          (void)waiter.sleep(waiter.until());
        }
        if (waiter.given()) {
          require(parcel.read() == 1, "who was given something does not see it");
        } else {
          require(waiter.cause() == lido::acquire_failure::cancelled, "the cause is lost");
        }
      });
  require(ends == 1, "a wait has ended twice, or not at all");
}

// One that leaves its time to others is told once that it is nearly over, asleep by then or not.
void reminded() {
  lido::detail::resource_waiter waiter(lido::detail::deadline::after(some_time), 1);
  waiter.leave_time_to_others();
  in_threads(
      [&] {
        while (waiter.is_watched()) {
          if (waiter.remind()) {
            lido::detail::unpark(waiter.sleep_word());
          } else {
            execution::now().rest();
          }
        }
      },
      [&] { waiter.sleep_until_ended(); });
  require(waiter.cause() == lido::acquire_failure::timed_out, "the wait has another end");
}

// Killed as it comes back: it ends, once, and whoever waits gets the next one.
void kill_against_release() {
  with_pool(1, [](lending& pool) {
    lending::lease held = pool.take();
    const lido::resource_handle handle = held.handle();
    bool killed = false;
    in_threads([&] { lending::use(std::move(held)); }, [&] { killed = pool.pool().kill(handle); });
    require(killed && pool.count().destroyed == 1, "what was killed lives, or has ended twice");
    pool.check(0);
  });
}

void kill_against_use() {
  with_pool(1, [](lending& pool) {
    lending::lease held = pool.take();
    const lido::resource_handle handle = held.handle();
    held.reset();
    in_threads([&] { pool.try_and_use(); }, [&] { (void)pool.pool().kill(handle); });
    require(pool.count().destroyed == 1, "what was killed lives, or has ended twice");
    pool.pool().tick();  // who found none has asked for another
    pool.check(pool.pool().stats().idle);
  });
}

// Each of those who wait is told, and nothing stays behind.
void close_against_waiter() {
  with_pool(1, [](lending& pool) {
    lending::lease held = pool.take();
    in_threads([&] { lending::use(std::move(held)); },
               [&] { (void)pool.pool().close(std::chrono::nanoseconds(0)); },
               [&] { pool.wait_for_the_end(); });
    pool.check(0);
  });
}

// While the pool shrinks and grows again.
void resize_against_use() {
  with_pool(1, [](lending& pool) {
    in_threads([&] { pool.try_and_use(); },
               [&] {
                 pool.pool().resize(0);
                 pool.pool().resize(2);
               },
               [&] { pool.try_and_use(); });
    (void)pool.pool().close(std::chrono::nanoseconds(0));
    pool.check(0);
  });
}

// What comes back as the pool becomes too small for it, or closes, is ended by one of the two.
void resize_against_release() {
  with_pool(1, [](lending& pool) {
    lending::lease held = pool.take();
    in_threads([&] { lending::use(std::move(held)); }, [&] { pool.pool().resize(0); });
    pool.check(0);
  });
}

void close_against_release() {
  with_pool(1, [](lending& pool) {
    lending::lease held = pool.take();
    in_threads([&] { lending::use(std::move(held)); },
               [&] { (void)pool.pool().close(std::chrono::nanoseconds(0)); });
    pool.check(0);
  });
}

// Both return, and neither before the resource has ended.
void close_twice() {
  with_pool(1, [](lending& pool) {
    lending::lease held = pool.take();
    const auto close = [&] {
      require(pool.pool().close(never).complete(), "closed, and something is left");
      require(pool.count().destroyed == 1, "closed before its last resource has ended");
    };
    in_threads([&] { lending::use(std::move(held)); }, close, close);
    pool.check(0);
  });
}

// Who does not wait gets the resource, and it ends afterwards, or is told.
void close_against_try() {
  with_pool(1, [](lending& pool) {
    in_threads([&] { pool.try_and_use(); }, [&] { pool.try_and_use(); },
               [&] { (void)pool.pool().close(std::chrono::nanoseconds(0)); });
    require(!pool.pool().try_acquire(), "a closed pool lends something");
    pool.check(0);
  });
}

// The pool ends while its last lease does; whoever comes last ends the rest. The thread has had the
// resource before, or not.
void pool_ends_beside_release() {
  with_pool(1, [](lending& pool) {
    lending::lease held = pool.take();
    in_threads([&] { lending::use(std::move(held)); }, [&] { pool.end_pool(); });
    require(pool.count().destroyed == 1, "a resource outlives its pool and its lease");
  });
}

void pool_ends_beside_owner() {
  with_pool(1, [](lending& pool) {
    std::optional<lending::lease> held;
    lido::detail::atomic<bool> there(false);
    in_threads(
        [&] {
          (void)pool.try_and_use();
          held.emplace(pool.take());
          there.store(true, std::memory_order_release);
          lending::use(std::move(*held));
        },
        [&] {
          while (!there.load(std::memory_order_acquire)) {
            execution::now().rest();
          }
          pool.end_pool();
        });
    require(pool.count().destroyed == 1, "a resource outlives its pool and its lease");
  });
}

constexpr bounds narrow{.preemptions = 2, .reorderings = 1, .failures = 0};

constexpr scenario lends(std::string_view name, std::string_view tells, void (*run)()) {
  return {name, tells, run, /*must_fail=*/false, narrow, /*waits=*/true};
}

constexpr std::array scenarios{
    lends("resources.wait_against_use", "who waits looks beside a use", &wait_against_use),
    lends("resources.wait_against_release", "who waits looks beside a release",
          &wait_against_release),
    lends("resources.two_wait", "two who wait for one", &two_wait),
    lends("resources.three_for_two", "three threads, two resources", &three_for_two),
    lends("resources.first_come_first_served", "the order of the queue", &first_come_first_served),
    lends("resources.newcomer_against_release", "what comes back is for who waits",
          &newcomer_against_release),
    lends("resources.late_waiter", "a time that is over as it is served", &late_waiter),
    lends("resources.late_before_patient", "somebody stands behind it", &late_before_patient),
    lends("resources.late_callback", "a callback is told once", &late_callback),
    lends("resources.given_or_stopped", "one wait has one end", &given_or_stopped),
    lends("resources.reminded", "who sleeps without a timer is told its time", &reminded),
    lends("resources.kill_against_release", "killed as it comes back", &kill_against_release),
    lends("resources.kill_against_use", "killed as it is taken", &kill_against_use),
    lends("resources.close_against_waiter", "the end of a pool beside a wait and a release",
          &close_against_waiter),
    lends("resources.resize_against_use", "smaller and larger beside uses", &resize_against_use),
    lends("resources.resize_against_release", "smaller as a resource comes back",
          &resize_against_release),
    lends("resources.close_against_release", "closed as a resource comes back",
          &close_against_release),
    lends("resources.close_twice", "two close at once (S14)", &close_twice),
    lends("resources.close_against_try", "closed beside those who do not wait (S14)",
          &close_against_try),
    lends("resources.pool_ends_beside_release", "a pool ends beside a thread without a number",
          &pool_ends_beside_release),
    lends("resources.pool_ends_beside_owner", "a pool ends beside a thread with a number",
          &pool_ends_beside_owner),
};

}  // namespace

std::span<const scenario> resource_scenarios() {
  return scenarios;
}

}  // namespace model
