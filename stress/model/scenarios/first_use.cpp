/// Pools that no thread has used before, or waited in: events that happen only once must not be
/// missed.
#include <array>
#include <cstddef>
#include <memory>

#include "scenarios/waited_for.hpp"
#include "seam/system.hpp"
#include "src/allocator/allocator_state.hpp"

namespace model {

namespace {

using cell = lido::detail::slot_cache::cell;
using lido::detail::atomic;
using lido::detail::slot_waiter;

// The first operations of a thread miss in the table that all unused pools share. They leave
// nothing there: neither the stored word of a push, nor an index at which the next one would
// continue. A fifth thread has no number, so it uses a pool and maps no table for it.
void operations_miss() {
  pooled first(2);
  pooled second(2);
  pooled third(2);
  atomic<int> numbered(0);
  atomic<std::size_t> handed(pooled::nothing);
  const auto use_number = [&] {
    first.acquire_and_release();
    numbered.fetch_add(1, std::memory_order_acq_rel);
    await([&] { return handed.load(std::memory_order_acquire) != pooled::nothing; });
  };
  in_threads(
      [&] {
        use_number();
        second.release(handed.load(std::memory_order_relaxed));
        third.acquire_and_release();
      },
      use_number, use_number, use_number,
      [&] {
        await([&] { return numbered.load(std::memory_order_acquire) == 4; });
        handed.store(second.acquire(), std::memory_order_release);
      });
  first.check();
  second.check();
  third.check();
}

// A pop that misses in that table reads the word before its entry. The next one must not read the
// word before that.
void misses_go_on_from_nowhere() {
  pooled first(2);
  pooled second(2);
  std::byte* const before = lido::detail::unused_caches + lido::detail::thread_stride;
  auto* const never_read = reinterpret_cast<cell*>(before) - 2;  // NOLINT(*-reinterpret-cast)
  std::construct_at(never_read);
  std::destroy_at(never_read);
  in_threads([&] {
    first.acquire_and_release();
    second.acquire_and_release();
  });
  first.check();
  second.check();
}

// Two threads open caches at once: one maps the table, and both use it.
void two_at_once() {
  pooled pool(2);
  const auto body = [&] {
    pool.acquire_and_release();
    pool.acquire_and_release();
  };
  in_threads(body, body);
  pool.check();
}

// A thread opens its cache while another ends: either its own end is registered, or it opens none.
void opened_beside_an_end() {
  pooled pool(4);
  const auto body = [&] {
    pool.acquire_and_release();
    pool.acquire_and_release();
  };
  in_threads(body, body);
  require(pool.stats().cached == 0, "an ended thread has left slots in its cache");
  pool.check();
}

// Until a thread waits for the first time, releases need not look for waiters.
template <cache_kind Caches>
void wait_beside_release() {
  pooled pool(1, Caches);
  in_threads([&] { pool.acquire_and_release(); }, [&] { pool.release(pool.wait()); });
  pool.check();
}

template <cache_kind Caches>
void wait_beside_cache() {
  pooled pool(2, Caches);
  atomic<int> served(0);
  in_threads(
      [&] {
        const std::size_t first = pool.acquire();
        const std::size_t second = pool.acquire();
        pool.release(first);
        pool.release(second);
        await([&] { return served.load(std::memory_order_acquire) == 1; });
      },
      [&] {
        const std::size_t first = pool.wait();
        const std::size_t second = pool.wait();
        served.store(1, std::memory_order_release);
        pool.release(first);
        pool.release(second);
      });
  pool.check();
}

void two_waits() {
  pooled pool(2, none);
  const std::array<std::size_t, 2> held{pool.acquire(), pool.acquire()};
  atomic<int> served(0);
  const auto take_one = [&] {
    const std::size_t slot = pool.wait();
    served.fetch_add(1, std::memory_order_acq_rel);
    await([&] { return served.load(std::memory_order_acquire) == 2; });
    pool.release(slot);
  };
  in_threads(take_one, take_one, [&] {
    for (const std::size_t slot : held) {
      pool.release(slot);
    }
  });
  pool.check();
}

// The first waiter is stopped. The next one relies on its fence, and looks for what that has
// published.
void stopped_first_wait() {
  pooled pool(2);
  const std::size_t held = pool.acquire();
  slot_waiter me;
  atomic<int> served(0);
  in_threads(
      [&] {
        pool.acquire_and_release();
        pool.acquire_and_release();
        await([&] { return served.load(std::memory_order_acquire) == 1; });
      },
      [&] {
        (void)me.cancel();
        pool.release(pool.wait_in_line(me));
      },
      [&] {
        const std::size_t slot = pool.wait_in_line();
        served.store(1, std::memory_order_release);
        pool.release(slot);
      });
  pool.release(held);
  pool.check();
}

// The kernel refuses the fence of the first wait: the waiter looks again, and the next one requests
// the fence again.
void refused_wait() {
  const refused_heavy_fences refused(refusals::next);
  wait_beside_release<none>();
}

constexpr std::array first_use_list{
    waits("first_use.operations_miss", "a miss in the table of unused pools", &operations_miss),
    scenario{"first_use.misses_go_on_from_nowhere", "misses in the table of unused pools",
             &misses_go_on_from_nowhere, false, narrow},
    scenario{"first_use.two_at_once", "two map the table of a pool", &two_at_once, false, narrow},
    scenario{"first_use.opened_beside_an_end", "a cache opens as another thread ends",
             &opened_beside_an_end, false, narrow},
    waits("first_use.wait_beside_release", "the first wait beside a release",
          &wait_beside_release<none>),
    waits("first_use.wait_beside_cache", "the first wait beside a cache",
          &wait_beside_cache<revocable>),
    waits("first_use.wait_beside_locked_cache", "the same with a locked cache",
          &wait_beside_cache<locked>),
    waits("first_use.two_waits", "two wait for the first time", &two_waits),
    waits("first_use.stopped_wait", "the first to wait is stopped", &stopped_first_wait),
    waits("first_use.refused_wait", "the kernel refuses the fence of the first wait",
          &refused_wait),
};

}  // namespace

std::span<const scenario> first_use_scenarios() {
  return first_use_list;
}

}  // namespace model
