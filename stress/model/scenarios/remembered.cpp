/// A proof that the pool is exhausted is remembered, until a thread makes a slot visible to others:
/// a slot released after it is always found.
#include <array>
#include <vector>

#include "scenarios/pooled.hpp"

namespace model {

namespace {

using lido::detail::atomic;

/// Takes all slots before the threads begin.
std::vector<std::size_t> take_all(pooled& pool) {
  std::vector<std::size_t> held;
  for (std::size_t slot = pool.acquire_past_caches(); slot != pooled::nothing;
       slot = pool.acquire_past_caches()) {
    held.push_back(slot);
  }
  return held;
}

// The pool is proved exhausted, again and again, while slots are released one by one.
template <cache_kind Caches>
void release_beside_proofs() {
  pooled pool(2, Caches);
  const auto held = take_all(pool);
  in_threads([&] { pool.release(held[0]); },
             [&] {
               pool.acquire_and_release();
               pool.acquire_and_release();
             },
             [&] { pool.acquire_and_release(); });
  pool.release(held[1]);
  pool.check();
}

void bulk_release_beside_proofs() {
  pooled pool(8);
  const auto held = take_all(pool);
  in_threads(
      [&] {
        pool.release_n({held.begin(), held.begin() + 4});
      },
      [&] { pool.acquire_and_release(); }, [&] { pool.acquire_and_release(); });
  pool.release_n({held.begin() + 4, held.end()});
  pool.check();
}

/// Runs `owner`, which releases its slots, beside `other`. Then the other thread must find a slot,
/// before the owner ends and returns the slots in its cache.
template <class Owner, class Other>
void find_after(pooled& pool, Owner owner, Other other) {
  atomic<int> released(0);
  atomic<int> found(0);
  const auto await = [](atomic<int>& what) {
    while (what.load(std::memory_order_acquire) == 0) {
      execution::now().rest();
    }
  };
  in_threads(
      [&] {
        const std::vector<std::size_t> rest = owner();
        released.store(1, std::memory_order_release);
        await(found);
        pool.release_n(rest);
      },
      [&] {
        const std::vector<std::size_t> kept = other();
        await(released);
        const std::size_t slot = pool.must_acquire();
        found.store(1, std::memory_order_release);
        pool.release(slot);
        pool.release_n(kept);
      });
}

// The first release of a thread opens its cache, and no other one follows.
template <cache_kind Caches>
void opening_beside_proof() {
  pooled pool(2, Caches);
  const std::array held{pool.acquire_past_caches(), pool.acquire_past_caches()};
  find_after(
      pool,
      [&] {
        pool.release(held[0]);
        return std::vector<std::size_t>();
      },
      [&] {
        pool.acquire_and_release();
        return std::vector<std::size_t>();
      });
  pool.release(held[1]);
  pool.check();
}

// A thread that has two slots of four in its cache takes one of them, while another one robs it and
// is refused. During that it opens its cache again.
template <cache_kind Caches>
void robbed_owner_opens() {
  pooled pool(4, Caches);
  atomic<int> cached(0);
  find_after(
      pool,
      [&] {
        std::array<std::size_t, 4> slots{};
        for (std::size_t& slot : slots) {
          slot = pool.must_acquire();
        }
        pool.release(slots[2]);
        pool.release(slots[3]);
        cached.store(1, std::memory_order_release);
        const std::size_t third = pool.acquire();
        pool.release(slots[0]);  // a single one, for which the cache has space
        std::vector<std::size_t> rest{slots[1], third};
        std::erase(rest, pooled::nothing);
        return rest;
      },
      [&] {
        while (cached.load(std::memory_order_acquire) == 0) {
          execution::now().rest();
        }
        const std::size_t kept = pool.acquire_past_caches();
        if (const std::size_t more = pool.acquire_past_caches(); more != pooled::nothing) {
          pool.release_n({more});
        }
        return kept == pooled::nothing ? std::vector<std::size_t>() : std::vector{kept};
      });
  pool.check();
}

// A thread that was robbed of two slots requests another one, as a bulk acquire does, while the
// thief is refused a third.
void robbed_owner_opens_for_many() {
  pooled pool(4);
  atomic<int> turn(0);
  const auto await = [&turn](int value) {
    while (turn.load(std::memory_order_acquire) < value) {
      execution::now().rest();
    }
  };
  find_after(
      pool,
      [&] {
        std::array<std::size_t, 4> slots{};
        for (std::size_t& slot : slots) {
          slot = pool.must_acquire();
        }
        pool.release(slots[2]);
        pool.release(slots[3]);
        turn.store(1, std::memory_order_release);
        await(2);
        pool.release(pool.acquire_past_caches());
        pool.release(slots[0]);
        return std::vector{slots[1]};
      },
      [&] {
        await(1);
        const std::vector<std::size_t> kept{pool.must_acquire(), pool.must_acquire()};
        turn.store(2, std::memory_order_release);
        if (const std::size_t more = pool.acquire_past_caches(); more != pooled::nothing) {
          pool.release_n({more});
        }
        return kept;
      });
  pool.check();
}

// Two slots are released while a thread looks for one. It keeps one of them, and the other is
// found.
void two_come_at_once() {
  pooled pool(2, none);
  const std::vector<std::size_t> held{pool.acquire(), pool.acquire()};
  std::size_t kept = pooled::nothing;
  in_threads([&] { pool.release_n(held); }, [&] { kept = pool.acquire(); });
  pool.check(kept == pooled::nothing ? 0 : 1);
  pool.release(kept);
}

// Two threads prove at once, and a third one's release intervenes.
void two_provers() {
  pooled pool(1, none);
  const std::size_t held = pool.acquire();
  const auto body = [&] {
    pool.acquire_and_release();
    pool.acquire_and_release();
  };
  in_threads([&] { pool.release(held); }, body, body);
  pool.check();
}

constexpr std::array remembered_list{
    scenario{"remembered.release_beside_proofs", "a slot is released while others are refused",
             &release_beside_proofs<revocable>, false, narrow},
    scenario{"remembered.locked_release_beside_proofs", "the same with locked caches",
             &release_beside_proofs<locked>, false, narrow},
    scenario{"remembered.uncached_release_beside_proofs", "the same without caches",
             &release_beside_proofs<none>, false, narrow},
    scenario{"remembered.bulk_release_beside_proofs", "many are released while others are refused",
             &bulk_release_beside_proofs, false, narrow},
    scenario{"remembered.opening_beside_proof", "a cache opens while another thread is refused",
             &opening_beside_proof<revocable>, false, narrow, /*waits=*/true},
    scenario{"remembered.locked_opening_beside_proof", "a locked cache opens meanwhile",
             &opening_beside_proof<locked>, false, narrow, /*waits=*/true},
    scenario{"remembered.robbed_owner_opens", "a cache that was robbed opens after the refusal",
             &robbed_owner_opens<revocable>, false, narrow, /*waits=*/true},
    scenario{"remembered.locked_robbed_owner_opens", "the same, locked",
             &robbed_owner_opens<locked>, false, narrow, /*waits=*/true},
    scenario{"remembered.robbed_owner_opens_for_many", "the same, in an acquire of many",
             &robbed_owner_opens_for_many, false, narrow, /*waits=*/true},
    scenario{"remembered.two_come_at_once", "two slots while a thread proves that there is none",
             &two_come_at_once},
    scenario{"remembered.two_provers", "two proofs at once, and a release", &two_provers, false,
             narrow},
};

}  // namespace

std::span<const scenario> remembered_scenarios() {
  return remembered_list;
}

}  // namespace model
