/// A depot in shards: slots that one thread stored are found by all others, and no look misses
/// them.
#include <array>
#include <vector>

#include "scenarios/pooled.hpp"
#include "src/freelist/treiber_list.hpp"

namespace model {

namespace {

using lido::detail::atomic;

template <void (*Scenario)(), bool Roams = false>
void sharded() {
  const depot_in_shards now(2, Roams);
  Scenario();
}

// Two threads move indices from one head to another one with the same links, and back.
void two_heads() {
  using lido::detail::null_slot;
  using lido::detail::treiber_list;
  treiber_list first(3, 0, lido::detail::growth::none);
  treiber_list second(treiber_list::sharing{first});
  const auto move = [](treiber_list& from, treiber_list& to) {
    if (const auto index = from.pop(); index != null_slot) {
      to.push(index);
    }
  };
  in_threads(
      [&] {
        move(first, second);
        move(first, second);
        move(second, first);
      },
      [&] {
        move(first, second);
        move(second, first);
      });
  std::array<int, 3> times{};
  for (treiber_list* const list : {&first, &second}) {
    for (auto index = list->pop(); index != null_slot; index = list->pop()) {
      require(++times.at(index) == 1, "an index is in two lists");
    }
  }
  for (const int count : times) {
    require(count == 1, "an index is lost");
  }
}

// The free slots are in the shard of another thread, whose cache is closed, and more than one
// thread needs them.
template <cache_kind Caches>
void slots_of_another() {
  pooled pool(8, Caches, 2);
  std::vector<std::size_t> held;
  for (int i = 0; i < 8; ++i) {
    held.push_back(pool.acquire_past_caches());
  }
  atomic<int> ready(0);
  in_threads(
      [&] {
        pool.release_n({held.begin(), held.begin() + 3});
        ready.store(1, std::memory_order_release);
      },
      [&] {
        while (ready.load(std::memory_order_acquire) == 0) {
          execution::now().rest();
        }
        const std::size_t first = pool.must_acquire();
        pool.release(pool.must_acquire());
        pool.release(first);
      });
  pool.release_n({held.begin() + 3, held.end()});
  pool.check();
}

// A slot moves from shard to shard while a thread looks at one after the other.
void slot_from_shard_to_shard() {
  pooled pool(2, none);
  const std::size_t held = pool.acquire();
  const std::size_t moves = pool.acquire();
  in_threads([&] { pool.release(moves); },
             [&] {
               pool.acquire_and_release();
               pool.acquire_and_release();
             },
             [&] { pool.acquire_and_release(); });
  pool.release(held);
  pool.check();
}

// As many threads as slots, so that no acquire may ever be refused.
template <cache_kind Caches>
void at_capacity() {
  pooled pool(2, Caches);
  const auto body = [&] {
    pool.release(pool.must_acquire());
    pool.release(pool.must_acquire());
  };
  in_threads(body, body);
  pool.check();
}

// A thief stores its loot in its own shard, where the robbed thread finds it.
void theft_into_a_shard() {
  pooled pool(6);
  in_threads(
      [&] {
        const std::size_t first = pool.acquire();
        const std::size_t second = pool.acquire();
        pool.release(first);
        pool.release(second);
        pool.acquire_and_release();
      },
      [&] {
        std::vector<std::size_t> loot;
        for (std::size_t slot = pool.acquire(); slot != pooled::nothing; slot = pool.acquire()) {
          loot.push_back(slot);
        }
        for (const std::size_t slot : loot) {
          pool.release(slot);
        }
      });
  pool.check();
}

// Whole magazines move both ways between shards, and empty ones with them.
void magazines_between_shards() {
  pooled pool(12);
  const auto body = [&] {
    pool.release_n(pool.acquire_n(5));
    pool.release_n(pool.acquire_n(8));
  };
  in_threads(body, body);
  pool.check();
}

// The part of a run that a small cache does not take goes into its owner's shard.
void runs_for_small_caches() {
  pooled pool(8, revocable, 1);
  const auto body = [&] {
    const std::size_t first = pool.must_acquire();
    pool.acquire_and_release();
    pool.release(first);
  };
  in_threads(body, body);
  pool.check();
}

// A thread without a number stores into the common shard.
void without_a_number() {
  pooled pool(3);
  const auto body = [&] { pool.acquire_and_release(); };
  in_threads(body, body, body, body, body);
  pool.check();
}

constexpr std::array shards_list{
    scenario{"shards.two_heads", "indices that move between lists with the same links", &two_heads},
    scenario{"shards.slots_of_another", "all that is free is where another thread stored it",
             &sharded<&slots_of_another<revocable>>, false, narrow, /*waits=*/true},
    scenario{"shards.uncached_slots_of_another", "the same without caches",
             &sharded<&slots_of_another<none>>, false, narrow, /*waits=*/true},
    scenario{"shards.slot_from_shard_to_shard", "a slot moves while somebody looks at the shards",
             &sharded<&slot_from_shard_to_shard>, false, narrow},
    scenario{"shards.at_capacity", "two threads, two shards, two slots",
             &sharded<&at_capacity<revocable>>},
    scenario{"shards.uncached_at_capacity", "the same without caches",
             &sharded<&at_capacity<none>>},
    scenario{"shards.theft_into_a_shard", "a thief stores in its own shard what it does not keep",
             &sharded<&theft_into_a_shard>, false, narrow},
    scenario{"shards.magazines_between_shards", "magazines filled in one shard, emptied in another",
             &sharded<&magazines_between_shards>, false, narrow},
    scenario{"shards.roaming_magazines", "the same, and used slots are taken before fresh ones",
             &sharded<&magazines_between_shards, true>, false, narrow},
    scenario{"shards.runs_for_small_caches", "the rest of a run is stored",
             &sharded<&runs_for_small_caches>, false, narrow},
    scenario{"shards.without_a_number", "a thread that has no shard", &sharded<&without_a_number>,
             false, narrow},
};

}  // namespace

std::span<const scenario> shards_scenarios() {
  return shards_list;
}

}  // namespace model
