/// Many slots at once past those who wait: what a thief, a refill or a bulk release leaves over is
/// given to them.
#include <array>
#include <vector>

#include "scenarios/waited_for.hpp"

namespace model {

namespace {

using lido::detail::atomic;

constexpr auto none = cache_choice::none;

// One that does not wait overtakes, takes a whole magazine, and gives back what it does not need.
void surplus_for_waiter() {
  waited_for pool(6, none);
  auto held = pool.acquire_n(6);
  const std::vector<std::size_t> kept(held.begin() + 4, held.end());
  held.resize(4);
  atomic<int> served(0);
  in_threads(
      [&] {
        const std::size_t slot = pool.wait();
        served.store(1, std::memory_order_release);
        pool.release(slot);
      },
      [&] { pool.release_n(held); },
      [&] {
        const std::size_t slot = pool.acquire();
        await([&] { return served.load(std::memory_order_acquire) == 1; });
        pool.release(slot);
      });
  pool.release_n(kept);
  pool.check();
}

// Of what a thief takes from a cache that has just been opened.
void loot_for_waiter() {
  waited_for pool(2);
  in_threads(
      [&] {
        const std::size_t first = pool.acquire();
        const std::size_t second = pool.acquire();
        pool.release(first);
        pool.release(second);
      },
      [&] {
        pool.acquire_and_release();
        pool.acquire_and_release();
      },
      [&] { pool.wait_and_release(); });
  pool.check();
}

void bulk_for_waiters() {
  waited_for pool(4);
  const auto body = [&] { pool.wait_and_release(); };
  in_threads([&] { pool.release_n(pool.acquire_n(4)); }, body, body);
  pool.check();
}

constexpr std::array scenarios{
    waits("waiting.surplus_for_waiter", "what is too much for another", &surplus_for_waiter),
    waits("waiting.loot_for_waiter", "what a thief does not keep", &loot_for_waiter),
    waits("waiting.bulk_for_waiters", "many slots at once for several", &bulk_for_waiters),
};

}  // namespace

std::span<const scenario> waiting_for_loot_scenarios() {
  return scenarios;
}

}  // namespace model
