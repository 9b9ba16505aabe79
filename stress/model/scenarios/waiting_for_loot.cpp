/// Many slots at once that bypass waiters: the surplus of a theft, a refill or a bulk release is
/// given to them.
#include <array>
#include <cstdint>
#include <vector>

#include "scenarios/waited_for.hpp"

namespace model {

namespace {

using lido::detail::atomic;

// A thread that does not wait overtakes, takes a whole magazine, and returns what it does not need.
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

// A waiter gets part of what a thief takes from a cache that has just been opened.
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

// An owner that was robbed returns while a thread waits and a slot is put back. It must not put the
// slots that it overtakes with where a waiter no longer looks.
class overtaking {
 public:
  template <bool Bulk>
  void own() {
    pool_.release_n(pool_.acquire_n(3));
    const std::array<std::size_t, 3> used{pool_.acquire(), pool_.acquire(), pool_.acquire()};
    for (const std::size_t slot : used) {
      pool_.release(slot);
    }
    turn_.store(1, std::memory_order_release);
    await_waiter();
    if (Bulk) {
      for (const std::size_t slot : pool_.acquire_n(1)) {
        pool_.release(slot);
      }
    } else {
      pool_.acquire_and_release();
    }
    await_turn(3);
  }

  void rob_and_put_back() {
    await_turn(1);
    std::vector<std::size_t> taken;
    while (taken.size() < slots) {
      taken.push_back(pool_.acquire_past_caches());
    }
    turn_.store(2, std::memory_order_release);
    await_waiter();
    pool_.release_n({taken.back()});
    taken.pop_back();
    await_turn(3);
    pool_.release_n(taken);
  }

  void wait() {
    await_turn(2);
    const std::size_t slot = pool_.wait_in_line();
    turn_.store(3, std::memory_order_release);
    pool_.release(slot);
  }

  void check() { pool_.check(); }

 private:
  static constexpr std::uint32_t slots = 6;

  void await_turn(int now) {
    await([&] { return turn_.load(std::memory_order_acquire) >= now; });
  }
  void await_waiter() {
    await_turn(2);
    await([&] { return pool_.stats().waiting == 1 || turn_.load(std::memory_order_acquire) == 3; });
  }

  waited_for pool_{slots};
  atomic<int> turn_{0};
};

template <bool Bulk>
void robbed_owner_overtakes() {
  overtaking scene;
  in_threads([&] { scene.own<Bulk>(); }, [&] { scene.rob_and_put_back(); }, [&] { scene.wait(); });
  scene.check();
}

// An acquire that was under way as another looked everywhere opens the cache again, and a slot
// released into it must not stay there.
void acquire_beside_look() {
  waited_for pool(16);
  std::vector<std::size_t> kept;
  while (kept.size() < 12) {
    kept.push_back(pool.acquire_past_caches());
  }
  atomic<int> served(0);
  in_threads(
      [&] {
        std::vector<std::size_t> mine;
        for (int burst = 0; burst < 3; ++burst) {
          while (mine.size() < 4) {
            mine.push_back(pool.acquire());
          }
          while (mine.size() > (burst == 2 ? 3 : 0)) {
            pool.release(mine.back());
            mine.pop_back();
          }
        }
        await([&] { return served.load(std::memory_order_acquire) == 1; });
        for (const std::size_t slot : mine) {
          pool.release(slot);
        }
      },
      [&] {
        const std::size_t slot = pool.wait_in_line();
        served.store(1, std::memory_order_release);
        pool.release(slot);
      });
  pool.release_n(kept);
  pool.check();
}

constexpr std::array waiting_for_loot_list{
    waits("waiting.acquire_beside_look", "an acquire straddles the look of a waiter",
          &acquire_beside_look),
    waits("waiting.robbed_owner_overtakes", "an owner comes back to a cache that was robbed",
          &robbed_owner_overtakes<false>),
    waits("waiting.robbed_owner_overtakes_bulk", "the same, many at once",
          &robbed_owner_overtakes<true>),
    waits("waiting.surplus_for_waiter", "what is too much for another", &surplus_for_waiter),
    waits("waiting.loot_for_waiter", "what a thief does not keep", &loot_for_waiter),
    waits("waiting.bulk_for_waiters", "many slots at once for several", &bulk_for_waiters),
};

}  // namespace

std::span<const scenario> waiting_for_loot_scenarios() {
  return waiting_for_loot_list;
}

}  // namespace model
