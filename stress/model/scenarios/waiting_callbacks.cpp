/// Callbacks that wait for a slot, beside releases, threads that wait, requests to stop, and time
/// limits.
#include <array>
#include <memory>
#include <stop_token>
#include <utility>

#include "scenarios/waited_for.hpp"
#include "seam/pool_thread.hpp"

namespace model {

namespace {

/// A pool without caches, or with the kind named, and one slot that is in use.
///
/// Kept after an execution that has failed, since its waits are then stopped in the middle.
template <class Scene>
void with_callbacks(const Scene& scene, cache_kind caches = cache_kind::none,
                    std::uint32_t slots = 1) {
  auto pool = std::make_unique<waited_for>(slots, caches);
  waited_for* const kept = pool.release();
  scene(*kept);
  pool.reset(kept);
}

/// A callback that releases its slot, and counts its calls.
class caller {
 public:
  void wait(waited_for& pool, std::stop_token stop = {}) {
    pool.wait_async(
        [this, &pool](std::size_t slot) {
          ++(slot != pooled::nothing ? served_ : refused_);
          pool.release(slot);
        },
        std::move(stop));
  }
  [[nodiscard]] int calls() const { return served_ + refused_; }
  void check() const { require(calls() == 1, "a callback was called twice, or not at all"); }
  void check_served() const { require(served_ == 1 && refused_ == 0, "a callback got no slot"); }

 private:
  int served_ = 0;  // the model runs one thread at a time
  int refused_ = 0;
};

// The wait begins as the only slot is released.
void against_release() {
  with_callbacks([](waited_for& pool) {
    const std::size_t held = pool.acquire();
    caller mine;
    in_threads([&] { mine.wait(pool); }, [&] { pool.release(held); });
    mine.check_served();
    pool.check();
  });
}

// The owner of an open cache goes on with hits: the callback's slot must be fetched, or handed
// over.
void beside_cache() {
  with_callbacks(
      [](waited_for& pool) {
        const std::size_t held = pool.acquire();
        caller mine;
        in_threads(
            [&] {
              pool.acquire_and_release();
              pool.acquire_and_release();
            },
            [&] { mine.wait(pool); });
        mine.check_served();
        pool.release(held);
        pool.check();
      },
      cache_kind::revocable, 2);
}

void before_thread() {
  with_callbacks([](waited_for& pool) {
    const std::size_t held = pool.acquire();
    caller mine;
    mine.wait(pool);
    in_threads([&] { pool.wait_and_release(); }, [&] { pool.release(held); });
    mine.check_served();
    pool.check();
  });
}

// A stop as the callback is served, and as its wait begins.
void stopped() {
  with_callbacks([](waited_for& pool) {
    const std::size_t held = pool.acquire();
    std::stop_source stop;
    caller mine;
    in_threads([&] { mine.wait(pool, stop.get_token()); }, [&] { (void)stop.request_stop(); },
               [&] { pool.release(held); });
    mine.check();
    pool.check();
  });
}

void stopped_in_vain() {
  with_callbacks([](waited_for& pool) {
    const std::size_t held = pool.acquire();
    std::stop_source stop;
    caller mine;
    in_threads([&] { mine.wait(pool, stop.get_token()); }, [&] { (void)stop.request_stop(); });
    mine.check();
    pool.release(held);
    pool.check();
  });
}

// A stop in front of a waiting thread.
void stopped_before_thread() {
  with_callbacks([](waited_for& pool) {
    const std::size_t held = pool.acquire();
    std::stop_source stop;
    caller mine;
    mine.wait(pool, stop.get_token());
    in_threads([&] { pool.wait_and_release(); }, [&] { (void)stop.request_stop(); },
               [&] { pool.release(held); });
    mine.check();
    pool.check();
  });
}

// The second callback has been given the slot for which the first one waits.
void waits_in_a_callback() {
  with_callbacks([](waited_for& pool) {
    const std::size_t held = pool.acquire();
    caller second;
    int calls = 0;
    pool.wait_async([&](std::size_t slot) {
      ++calls;
      pool.release(slot);
      pool.wait_and_release();
    });
    second.wait(pool);
    in_threads([&] { pool.release(held); });
    require(calls == 1, "a callback was called twice, or not at all");
    second.check_served();
    pool.check();
  });
}

/// A callback whose time limit has passed when the timer of the pool first looks at it.
class late_caller {
 public:
  void wait(waited_for& pool, std::stop_token stop = {}) {
    pool.wait_async(
        [this, &pool](std::size_t slot) {
          pool.release(slot);
          calls_.fetch_add(1, std::memory_order_release);
        },
        std::move(stop), lido::detail::deadline::at_nanoseconds(1));
  }
  void await_call() {
    await([this] { return calls_.load(std::memory_order_acquire) == 1; });
  }

 private:
  lido::detail::atomic<int> calls_{0};
};

/// A pool with one slot, which is in use. Each of two limits may start a timekeeper and a worker.
class timed_pool {
 public:
  timed_pool() { set_threads_aside(4, /*keeps_time=*/true); }

  [[nodiscard]] waited_for& pool() { return *pool_; }
  void release() {
    pool_->release(held_);
    released_.store(1, std::memory_order_release);
  }
  /// Calls both in threads of their own. The first destroys the pool when it is done.
  template <class First, class Second>
  void run(const First& first, const Second& second) {
    in_threads(
        [&] {
          first();
          end();
        },
        second, &run_pool_thread, &run_pool_thread, &run_pool_thread, &run_pool_thread);
  }

 private:
  void end() {
    await([this] { return released_.load(std::memory_order_acquire) == 1; });
    require(pool_->stats().waiting == 0, "a callback has been called but waits");
    pool_->release(pool_->must_acquire());
    delete pool_;
    dismiss_threads();
  }

  // Stays behind after an execution that has failed: its end would wait for threads that are gone.
  waited_for* pool_ = new waited_for(1, none);
  std::size_t held_ = pool_->acquire();
  lido::detail::atomic<int> released_{0};
};

// The time is up as the slot is handed over.
void late() {
  timed_pool timed;
  late_caller mine;
  timed.run(
      [&] {
        mine.wait(timed.pool());
        mine.await_call();
      },
      [&] { timed.release(); });
}

void late_when_stopped() {
  timed_pool timed;
  std::stop_source stop;
  late_caller mine;
  timed.run(
      [&] {
        mine.wait(timed.pool(), stop.get_token());
        mine.await_call();
      },
      [&] {
        (void)stop.request_stop();
        timed.release();
      });
}

void late_before_thread() {
  timed_pool timed;
  late_caller mine;
  mine.wait(timed.pool());
  timed.run(
      [&] {
        timed.pool().wait_and_release();
        mine.await_call();
      },
      [&] { timed.release(); });
}

// The second limit is noted as the timer looks at the first one, or after that. The first wait
// begins here because the model sees no mutex where two threads join the background threads.
void two_are_late() {
  timed_pool timed;
  late_caller first;
  late_caller second;
  first.wait(timed.pool());
  timed.run([&] { first.await_call(); },
            [&] {
              second.wait(timed.pool());
              second.await_call();
              timed.release();
            });
}

constexpr std::array waiting_callbacks_list{
    waits("waiting_callbacks.against_release", "a callback begins to wait beside a release",
          &against_release),
    waits("waiting_callbacks.beside_cache", "it does beside hits in a cache", &beside_cache),
    waits("waiting_callbacks.before_thread", "a callback and a thread wait", &before_thread),
    waits("waiting_callbacks.stopped", "a callback is stopped as it is served", &stopped),
    waits("waiting_callbacks.stopped_in_vain", "a callback is stopped as it begins to wait",
          &stopped_in_vain),
    waits("waiting_callbacks.stopped_before_thread", "a callback is stopped before a thread",
          &stopped_before_thread),
    waits("waiting_callbacks.late", "a callback's time is up as it is served", &late),
    waits("waiting_callbacks.late_when_stopped", "a callback is late as it is stopped",
          &late_when_stopped),
    waits("waiting_callbacks.late_before_thread", "a callback is late before a thread",
          &late_before_thread),
    waits("waiting_callbacks.two_are_late", "a limit begins as another one ends", &two_are_late),
    waits("waiting_callbacks.waits_in_a_callback", "a callback waits for another one's slot",
          &waits_in_a_callback),
};

}  // namespace

std::span<const scenario> waiting_callbacks_scenarios() {
  return waiting_callbacks_list;
}

}  // namespace model
