/// Visits of free slots beside threads that acquire, release and wait. No slot is lost, and no
/// acquire is refused because a slot is visited. During a visit all other slots can be acquired.
#include <array>
#include <utility>
#include <vector>

#include "scenarios/waited_for.hpp"

namespace model {

namespace {

using lido::detail::atomic;

/// A pool whose free slots can be visited.
class visited : public pooled {
 public:
  explicit visited(std::uint32_t capacity, cache_kind caches = none)
      : pooled(capacity, caches, /*max_cached=*/8, /*may_wait=*/true, /*visits_free=*/true) {}

  /// Takes `count` slots at once, and releases them.
  void use(std::size_t count) {
    std::vector<std::size_t> held;
    while (held.size() < count) {
      held.push_back(must_acquire());
    }
    for (const std::size_t slot : held) {
      release(slot);
    }
  }
};

constexpr auto all = [](std::size_t /*slot*/) { return true; };
constexpr auto do_nothing = [] {};

// A thread takes every slot while another visits them: it must find each, or wait for it.
template <cache_kind Caches>
void against_acquire() {
  visited pool(2, Caches);
  in_threads([&] { pool.visit_free(all, do_nothing); }, [&] { pool.use(2); });
  pool.check();
}

// The slots are released during the visits, or before them, and acquired again.
template <cache_kind Caches>
void against_release() {
  visited pool(3, Caches);
  in_threads(
      [&] {
        pool.use(2);
        pool.use(2);
      },
      [&] {
        pool.visit_free(all, do_nothing);
        pool.use(1);
      });
  pool.check();
}

// Both visit the slots, and each may get those that the other has set aside.
void two_visits() {
  visited pool(2);
  const auto body = [&] { pool.visit_free(all, do_nothing); };
  in_threads(body, body);
  pool.check();
}

// The visit of one slot continues only when another thread has acquired the other slot.
void beside_a_long_visit() {
  visited pool(2);
  atomic<int> begun(0);
  atomic<int> taken(0);
  in_threads(
      [&] {
        // The other slot is popped first, as it is on top.
        pool.visit_free([](std::size_t slot) { return slot == 1; },
                        [&] {
                          begun.store(1, std::memory_order_release);
                          await([&] { return taken.load(std::memory_order_acquire) == 1; });
                        });
      },
      [&] {
        await([&] { return begun.load(std::memory_order_acquire) == 1; });
        pool.acquire_and_release();
        taken.store(1, std::memory_order_release);
      });
  pool.check();
}

// The visit of a slot continues only when a waiter has the other one. Both may have been set aside
// after their release, but before the releasing thread looked for waiters.
void long_visit_against_waiter() {
  visited pool(2);
  const std::vector<std::size_t> held{pool.acquire(), pool.acquire()};
  atomic<int> served(0);
  in_threads([&] { pool.release_n(held); },
             [&] {
               pool.visit_free(all, [&] {
                 await([&] { return served.load(std::memory_order_acquire) == 1; });
               });
             },
             [&] {
               const std::size_t slot = pool.wait_in_line();
               served.store(1, std::memory_order_release);
               pool.release(slot);
             });
  pool.check();
}

// With one slot, a waiter needs the slot that is visited.
void visits_against_waiter() {
  visited pool(1);
  const std::size_t held = pool.acquire();
  in_threads([&] { pool.release(held); }, [&] { pool.visit_free(all, do_nothing); },
             [&] { pool.release(pool.wait()); });
  pool.check();
}

constexpr std::array visits_list{
    waits("visits.against_acquire", "visits beside an acquire", &against_acquire<none>),
    waits("visits.cached_against_acquire", "the same with caches", &against_acquire<revocable>),
    waits("visits.against_release", "visits beside releases", &against_release<none>),
    waits("visits.cached_against_release", "the same with caches", &against_release<revocable>),
    waits("visits.two_visits", "two who visit the free slots at once", &two_visits),
    waits("visits.beside_a_long_visit", "an acquire beside a visit that waits for it",
          &beside_a_long_visit),
    waits("visits.long_visit_against_waiter", "a waiter beside a visit that waits for it",
          &long_visit_against_waiter),
    waits("visits.against_waiter", "a waiter for the slot that is visited", &visits_against_waiter),
};

}  // namespace

std::span<const scenario> visits_scenarios() {
  return visits_list;
}

}  // namespace model
