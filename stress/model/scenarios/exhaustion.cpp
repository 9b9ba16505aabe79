/// When an acquire may fail: never while a slot is free (I9). Hard cases 7, 8, 19, 26, 27.
#include <array>

#include "scenarios/pooled.hpp"
#include "seam/system.hpp"

namespace model {

namespace {

using lido::detail::atomic;

// As many threads as slots, each with at most one: no acquire may ever be refused.
template <cache_kind Caches>
void demand_equals_capacity() {
  pooled pool(2, Caches);
  const auto body = [&] {
    pool.release(pool.must_acquire());
    pool.release(pool.must_acquire());
  };
  in_threads(body, body);
  pool.check();
}

template <cache_kind Caches>
void three_at_capacity() {
  pooled pool(3, Caches);
  const auto body = [&] { pool.release(pool.must_acquire()); };
  in_threads(body, body, [&] {
    pool.release(pool.must_acquire());
    pool.release(pool.must_acquire());
  });
  pool.check();
}

// One thread has taken the other's last slot while the other looks for one.
void two_thieves_at_capacity() {
  pooled pool(4);
  in_threads(
      [&] {
        const std::size_t first = pool.must_acquire();
        const std::size_t second = pool.must_acquire();
        pool.release(first);
        pool.release(second);
      },
      [&] { pool.release(pool.must_acquire()); }, [&] { pool.release(pool.must_acquire()); });
  pool.check();
}

// A cache with two slots, the depot empty, and two threads that each need one: while the first robs
// the cache, the second must not give up.
void robbed_for_two() {
  pooled pool(4);
  atomic<int> ready(0);
  atomic<int> done(0);
  const auto await = [](atomic<int>& what, int value) {
    while (what.load(std::memory_order_acquire) < value) {
      execution::now().rest();
    }
  };
  in_threads(
      [&] {
        pool.release(pool.must_acquire());
        ready.store(1, std::memory_order_release);
        await(done, 2);
      },
      [&] {
        await(ready, 1);
        const std::size_t first = pool.must_acquire();
        const std::size_t second = pool.must_acquire();
        ready.store(2, std::memory_order_release);
        pool.release(pool.must_acquire());
        done.fetch_add(1, std::memory_order_acq_rel);
        pool.release(second);
        pool.release(first);
      },
      [&] {
        await(ready, 2);
        pool.release(pool.must_acquire());
        done.fetch_add(1, std::memory_order_acq_rel);
      });
  pool.check();
}

// A thief is stopped between its announcement and its claim. A thread that needs its victim's slots
// takes over and is not refused, however long the stop lasts.
void thief_stands_still() {
  const slow_heavy_fence fence;
  pooled pool(2);
  atomic<int> ready(0);
  atomic<int> done(0);
  const auto await = [](const auto& holds) {
    while (!holds()) {
      execution::now().rest();
    }
  };
  in_threads(
      [&] {
        const std::size_t kept = pool.must_acquire();
        pool.release(pool.must_acquire());
        ready.store(1, std::memory_order_release);
        await([&] { return done.load(std::memory_order_acquire) == 2; });
        pool.release(kept);
      },
      [&] {
        await([&] { return ready.load(std::memory_order_acquire) == 1; });
        pool.acquire_and_release();
        done.fetch_add(1, std::memory_order_acq_rel);
      },
      [&] {
        await([&] {
          return ready.load(std::memory_order_acquire) == 1 && slow_heavy_fence::was_reached();
        });
        pool.release(pool.must_acquire());
        done.fetch_add(1, std::memory_order_acq_rel);
        slow_heavy_fence::go_on();
      });
  pool.check();
}

// Two free slots move from one cache to the depot, as their thread ends, and on to another cache,
// while a thread looks for one of them.
void slots_change_caches() {
  pooled pool(8);
  atomic<int> ready(0);
  std::array<std::size_t, 6> kept{};
  const auto await_ready = [&] {
    while (ready.load(std::memory_order_acquire) == 0) {
      execution::now().rest();
    }
  };
  in_threads(
      [&] {
        for (std::size_t& slot : kept) {
          slot = pool.must_acquire();
        }
        const std::size_t first = pool.must_acquire();
        pool.release(pool.must_acquire());
        pool.release(first);
        ready.store(1, std::memory_order_release);
      },
      [&] {
        await_ready();
        pool.release(pool.must_acquire());
      },
      [&] {
        await_ready();
        pool.release(pool.must_acquire());
      });
  for (const std::size_t slot : kept) {
    pool.release(slot);
  }
  pool.check();
}

/// A pool of four slots, and their users: half are in use, half in one thread's cache.
class half_cached {
 public:
  void fill() {
    for (std::size_t& slot : slots_) {
      slot = pool_.acquire();
    }
    pool_.release(slots_[2]);
    pool_.release(slots_[3]);
    require(pool_.stats().cached == 2, "one cache has all that is free");
  }
  void take(std::size_t number) { slots_.at(number) = pool_.must_acquire(); }
  void take_past_caches(std::size_t number) {
    slots_.at(number) = pool_.acquire_past_caches();
    require(slots_.at(number) != pooled::nothing || execution::now().had_solo(),
            "an acquire failed although there are slots for all");
  }
  void check() {
    for (const std::size_t slot : slots_) {
      pool_.release(slot);
    }
    pool_.check();
  }

 private:
  pooled pool_{4};
  std::array<std::size_t, 4> slots_{};
};

// A thief keeps one of two slots and puts the other into the depot, while another thread looks for
// it.
void rest_of_loot() {
  half_cached pool;
  pool.fill();
  in_threads([&] { pool.take_past_caches(2); }, [&] { pool.take_past_caches(3); });
  pool.check();
}

// A thief does so, and the robbed owner looks for the other slot.
void rest_of_own_loot() {
  half_cached pool;
  atomic<int> ready(0);
  in_threads(
      [&] {
        pool.fill();
        ready.store(1, std::memory_order_release);
        pool.take(2);
      },
      [&] {
        while (ready.load(std::memory_order_acquire) == 0) {
          execution::now().rest();
        }
        pool.take_past_caches(3);
      });
  pool.check();
}

// A slot moves from behind the look to before it: released there, acquired here.
template <cache_kind Caches>
void moving_slot() {
  pooled pool(2, Caches);
  const std::size_t held = pool.acquire();
  in_threads(
      [&] {
        pool.release(held);
        pool.acquire_and_release();
      },
      [&] { pool.acquire_and_release(); }, [&] { pool.acquire_and_release(); });
  pool.check();
}

// Slots move around among caches while a thread looks for one.
template <cache_kind Caches>
void slots_in_transit() {
  pooled pool(4, Caches, 2);
  in_threads(
      [&] {
        const std::size_t first = pool.must_acquire();
        const std::size_t second = pool.must_acquire();
        pool.release(first);
        pool.release(second);
        pool.release(pool.must_acquire());
      },
      [&] {
        const std::size_t first = pool.must_acquire();
        pool.release(pool.must_acquire());
        pool.release(first);
      });
  pool.check();
}

// A whole magazine is in transit although one slot is wanted.
void magazine_in_transit() {
  pooled pool(6, none);
  const std::size_t first = pool.acquire();
  const std::size_t second = pool.acquire();
  in_threads([&] { pool.release(pool.must_acquire()); }, [&] { pool.release(pool.must_acquire()); },
             [&] {
               const std::size_t third = pool.must_acquire();
               pool.release(pool.must_acquire());
               pool.release(third);
             });
  pool.release(first);
  pool.release(second);
  pool.check();
}

// One thread takes a magazine for a single slot, and gives the rest back. The other thread must see
// either that slots are in transit or that the rest is there.
void rest_of_magazine() {
  pooled pool(6, none);
  const std::array held{pool.acquire(), pool.acquire()};
  std::array<std::size_t, 2> kept{};
  in_threads([&] { kept[0] = pool.must_acquire(); }, [&] { kept[1] = pool.must_acquire(); });
  for (const std::size_t slot : {held[0], held[1], kept[0], kept[1]}) {
    pool.release(slot);
  }
  pool.check();
}

void bulk_in_transit() {
  pooled pool(4);
  in_threads(
      [&] {
        const auto some = pool.acquire_n(2);
        require(some.size() == 2 || execution::now().had_solo(), "a bulk acquire got too few");
        pool.release_n(some);
      },
      [&] {
        pool.release(pool.must_acquire());
        const std::size_t first = pool.must_acquire();
        pool.release(pool.must_acquire());
        pool.release(first);
      });
  pool.check();
}

// The last slots are held, so every acquire must be refused or wait for a release: refusals with
// nothing in transit, and the hint to keep caches closed.
void truly_exhausted() {
  pooled pool(2);
  const std::size_t held = pool.acquire();
  in_threads([&] { pool.acquire_and_release(); },
             [&] {
               pool.acquire_and_release();
               pool.acquire_and_release();
             });
  pool.release(held);
  pool.check();
}

// Only a magazine is left, and an owner fills its closed cache with it: the rest of it is in
// transit.
void magazine_for_cache() {
  pooled pool(6, revocable, 1);
  std::vector<std::size_t> held;
  while (held.size() < 6) {
    held.push_back(pool.acquire_past_caches());
  }
  pool.release_n({held.begin(), held.begin() + 4});
  held.erase(held.begin(), held.begin() + 4);
  in_threads([&] { pool.release(pool.must_acquire()); },
             [&] {
               const std::size_t slot = pool.acquire_past_caches();
               require(slot != pooled::nothing || execution::now().had_solo(),
                       "an acquire failed although there are slots for all");
               pool.release(slot);
             });
  pool.release_n(held);
  pool.check();
}

// The same with a thread that keeps both slots of its small cache and exits: it closes the cache
// without a change of the depot. A thread that sees the closed cache must also see the rest of the
// magazine.
void magazine_of_exited_thread() {
  pooled pool(6, revocable, 1);
  const std::array held{pool.acquire_past_caches(), pool.acquire_past_caches()};
  std::array<std::size_t, 3> kept{};
  in_threads(
      [&] {
        kept[0] = pool.must_acquire();
        kept[1] = pool.must_acquire();
      },
      [&] {
        kept[2] = pool.acquire_past_caches();
        require(kept[2] != pooled::nothing || execution::now().had_solo(),
                "an acquire failed although there are slots for all");
      });
  for (const std::size_t slot : {held[0], held[1], kept[0], kept[1], kept[2]}) {
    pool.release(slot);
  }
  pool.check();
}

// A thief whose theft is cancelled finds a slot in the depot instead: it pays for few fences,
// however long the owner continues.
void theft_ends() {
  pooled pool(2);
  std::size_t taken = pooled::nothing;
  in_threads(
      [&] {
        for (int round = 0; round < 12; ++round) {
          pool.acquire_and_release();
        }
      },
      [&] {
        const std::size_t first = pool.acquire();
        taken = pool.acquire();
        pool.release(taken);
        pool.release(first);
      });
  constexpr std::uint64_t few = 6;
  require(pool.stats().heavy_fences <= few, "a thief was put off again and again");
  pool.check();
}

constexpr std::array exhaustion_list{
    scenario{"exhaustion.demand_equals_capacity", "two threads, two slots",
             &demand_equals_capacity<revocable>},
    scenario{"exhaustion.three_at_capacity", "three threads, three slots",
             &three_at_capacity<revocable>, false, narrow},
    scenario{"exhaustion.two_thieves_at_capacity", "two thieves, one cache, a slot for each",
             &two_thieves_at_capacity, false, narrow},
    scenario{"exhaustion.robbed_for_two", "two need what one cache has", &robbed_for_two, false,
             narrow, /*waits=*/true},
    scenario{"exhaustion.thief_stands_still", "a thief that never continues (no excuse)",
             &thief_stands_still, false, narrow, /*waits=*/true},
    scenario{"exhaustion.slots_change_caches", "free slots on their way from cache to cache",
             &slots_change_caches, false, narrow, /*waits=*/true},
    scenario{"exhaustion.rest_of_loot", "what a thief does not keep is on its way", &rest_of_loot},
    scenario{"exhaustion.rest_of_own_loot", "the same while the robbed owner looks",
             &rest_of_own_loot, false, narrow, /*waits=*/true},
    scenario{"exhaustion.moving_slot", "a slot that moves while somebody looks",
             &moving_slot<revocable>, false, narrow},
    scenario{"exhaustion.slots_in_transit", "caches that refill and flush while somebody looks",
             &slots_in_transit<revocable>, false, narrow},
    scenario{"exhaustion.magazine_in_transit", "a magazine in the hands of one who wants a slot",
             &magazine_in_transit, false, narrow},
    scenario{"exhaustion.rest_of_magazine", "what is left of it when one slot is wanted",
             &rest_of_magazine, false, bounds{}, /*waits=*/false, /*interrupted=*/1},
    scenario{"exhaustion.bulk_in_transit", "many at once while somebody looks", &bulk_in_transit,
             false, narrow},
    scenario{"exhaustion.truly_exhausted", "refusals that are right", &truly_exhausted, false,
             narrow},
    scenario{"exhaustion.magazine_for_cache", "a cache is filled while somebody looks",
             &magazine_for_cache, false, narrow},
    scenario{"exhaustion.magazine_of_exited_thread",
             "a filled cache is closed while somebody looks", &magazine_of_exited_thread, false,
             narrow},
    scenario{"exhaustion.theft_ends", "an owner cannot put a thief off for ever", &theft_ends,
             false, narrow},
    scenario{"exhaustion.locked_demand_equals_capacity", "two threads, two slots, locked caches",
             &demand_equals_capacity<locked>},
    scenario{"exhaustion.locked_moving_slot", "a slot that moves, locked caches",
             &moving_slot<locked>, false, narrow},
    scenario{"exhaustion.uncached_moving_slot", "a slot that moves, no caches", &moving_slot<none>,
             false, narrow},
};

}  // namespace

std::span<const scenario> exhaustion_scenarios() {
  return exhaustion_list;
}

}  // namespace model
