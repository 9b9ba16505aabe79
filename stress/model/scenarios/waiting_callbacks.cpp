/// Callbacks that wait for a slot, beside releases, threads that wait, and requests to stop.
#include <array>
#include <memory>
#include <stop_token>
#include <utility>

#include "scenarios/waited_for.hpp"

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
    waits("waiting_callbacks.waits_in_a_callback", "a callback waits for another one's slot",
          &waits_in_a_callback),
};

}  // namespace

std::span<const scenario> waiting_callbacks_scenarios() {
  return waiting_callbacks_list;
}

}  // namespace model
