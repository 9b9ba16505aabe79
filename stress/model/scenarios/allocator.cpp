/// The allocator: caches, depot and theft together. Nothing is lost, nothing is duplicated. S6, S7,
/// S9; hard cases 1, 2, 4, 6, 9, 18 to 20.
#include <array>

#include "scenarios/pooled.hpp"
#include "seam/system.hpp"
#include "src/allocator/owned_cache.hpp"

namespace model {

namespace {

using cell = lido::detail::slot_cache::cell;

/// Takes `count` slots if there are that many, then puts them back.
void raid(pooled& pool, std::size_t count) {
  std::vector<std::size_t> loot;
  while (loot.size() < count) {
    const std::size_t slot = pool.acquire();
    if (slot == pooled::nothing) {
      break;
    }
    loot.push_back(slot);
  }
  for (const std::size_t slot : loot) {
    pool.release(slot);
  }
}

std::vector<std::size_t> take_past_caches(pooled& pool, std::size_t most) {
  std::vector<std::size_t> taken;
  while (taken.size() < most) {
    const std::size_t slot = pool.acquire_past_caches();
    if (slot == pooled::nothing) {
      break;
    }
    taken.push_back(slot);
  }
  return taken;
}

template <cache_kind Caches>
void theft_against_owner() {
  pooled pool(2, Caches);
  in_threads(
      [&] {
        pool.acquire_and_release();
        pool.acquire_and_release();
      },
      [&] { raid(pool, 2); });
  pool.check();
}

// Runs with the caches of a system that has no heavy fence: every hit fails at the guard first.
template <void (*Scenario)()>
void without_fence() {
  const without_heavy_fence none_there;
  Scenario();
}

// More than one cached item, so that what a thief takes and what it leaves differ.
void theft_of_several() {
  pooled pool(6);
  in_threads(
      [&] {
        const std::size_t first = pool.acquire();
        const std::size_t second = pool.acquire();
        pool.release(first);
        pool.release(second);
        pool.acquire_and_release();
      },
      [&] { raid(pool, 6); });
  pool.check();
}

template <cache_kind Caches>
void two_thieves() {
  pooled pool(2, Caches);
  in_threads([&] { pool.acquire_and_release(); }, [&] { pool.acquire_and_release(); },
             [&] { raid(pool, 2); });
  pool.check();
}

template <cache_kind Caches>
void refill_against_flush() {
  pooled pool(8, Caches, 2);
  const auto body = [&] {
    const std::size_t first = pool.acquire();
    const std::size_t second = pool.acquire();
    const std::size_t third = pool.acquire();
    pool.release(first);
    pool.release(second);
    pool.release(third);
  };
  in_threads(body, body);
  pool.check();
}

template <cache_kind Caches>
void release_elsewhere() {
  pooled pool(4, Caches);
  lido::detail::atomic<std::size_t> handed(pooled::nothing);
  in_threads(
      [&] {
        handed.store(pool.acquire(), std::memory_order_release);
        pool.acquire_and_release();
      },
      [&] {
        pool.acquire_and_release();
        pool.release(handed.exchange(pooled::nothing, std::memory_order_acquire));
      });
  const std::size_t left = handed.load(std::memory_order_relaxed);
  pool.check(left == pooled::nothing ? 0 : 1);
}

// Only a magazine is left for a cache that holds one slot.
void magazine_for_small_cache() {
  pooled pool(6, revocable, 1);
  const std::size_t first = pool.acquire();
  const std::size_t second = pool.acquire();
  const auto body = [&] {
    pool.acquire_and_release();
    pool.acquire_and_release();
  };
  in_threads(body, body);
  pool.release(first);
  pool.release(second);
  pool.check();
}

// Whole magazines move both ways: what one thread fills another takes.
void magazines_in_turn() {
  pooled pool(12);
  const auto body = [&] {
    pool.release_n(pool.acquire_n(5));
    pool.release_n(pool.acquire_n(8));
  };
  in_threads(body, body);
  pool.check();
}

void bulk_against_owner() {
  pooled pool(4);
  in_threads(
      [&] {
        pool.acquire_and_release();
        pool.acquire_and_release();
      },
      [&] { pool.release_n(pool.acquire_n(3)); });
  pool.check();
}

void bulk_against_bulk() {
  pooled pool(8);
  in_threads([&] { pool.release_n(pool.acquire_n(5)); },
             [&] {
               pool.acquire_and_release();
               pool.release_n(pool.acquire_n(4));
             });
  pool.check();
}

/// During its lifetime, a new cache has cells for one slot and the two that operations may fail at,
/// and the word before the next cache.
class few_first_cells {
 public:
  few_first_cells() {
    tuning::first_cache_bytes = sizeof(lido::detail::owned_cache) + 4 * sizeof(cell);
  }
  few_first_cells(const few_first_cells&) = delete;
  few_first_cells& operator=(const few_first_cells&) = delete;
  ~few_first_cells() { tuning::first_cache_bytes = usual_; }

 private:
  using tuning = lido::detail::tuning;
  std::size_t usual_ = tuning::first_cache_bytes;
};

// Bursts of a thread whose cache is too small give it more cells, and more again. Ten slots are
// outside the cache: they count for its share.
class growing_cache {
 public:
  growing_cache() {
    while (kept_.size() < 10) {
      kept_.push_back(pool_.acquire_past_caches());
    }
    before_ = pool_.stats().bookkeeping_bytes;
  }

  void use(int bursts) {
    for (int burst = 0; burst < bursts; ++burst) {
      raid(pool_, 6);
      execution::now().rest();  // or a thief hardly ever sees the cells between two growths
    }
  }
  /// Robs the cache; called by a thread that has no cache.
  void rob() { pool_.release_n(take_past_caches(pool_, 6)); }

  [[nodiscard]] bool has_grown_twice() const {
    return pool_.stats().bookkeeping_bytes - before_ ==
           lido::detail::thread_stride + (6 + 10) * sizeof(cell);
  }
  void check() {
    pool_.release_n(kept_);
    pool_.check();
  }

 private:
  few_first_cells now_;
  pooled pool_{16};
  std::vector<std::size_t> kept_;
  std::size_t before_ = 0;
};

template <int Bursts>
void cells_added_beside_theft() {
  {
    growing_cache alone;
    alone.use(4);
    require(alone.has_grown_twice(), "the cache has not grown twice");
    alone.check();
  }
  growing_cache beside_thief;
  in_threads([&] { beside_thief.use(Bursts); }, [&] { beside_thief.rob(); });
  beside_thief.check();
}

// A thread's bursts exceed its cache beside a thief.
void bursts_against_theft() {
  pooled pool(8);
  in_threads(
      [&] {
        for (int round = 0; round < 2; ++round) {
          std::array<std::size_t, 5> held{};
          for (std::size_t& slot : held) {
            slot = pool.acquire();
          }
          for (const std::size_t slot : held) {
            pool.release(slot);
          }
        }
      },
      [&] { raid(pool, 8); });
  pool.check();
}

// The kernel may refuse the heavy fence: the theft is withdrawn, and nothing is lost.
void refused_fence() {
  const refused_heavy_fences refused(refusals::any);
  pooled pool(2);
  in_threads(
      [&] {
        pool.acquire_and_release();
        pool.acquire_and_release();
      },
      [&] { pool.acquire_and_release(); }, [&] { pool.acquire_and_release(); });
  pool.check();
}

// There are four numbers; the fifth thread bypasses the caches.
void more_threads_than_numbers() {
  pooled pool(3);
  const auto body = [&] { pool.acquire_and_release(); };
  in_threads(body, body, body, body, body);
  pool.check();
}

// The cache stays frozen for a long time, and its owner's next operations find it frozen.
void left_stolen() {
  pooled pool(2);
  lido::detail::atomic<int> turn(0);
  in_threads(
      [&] {
        pool.acquire_and_release();
        turn.store(1, std::memory_order_release);
        while (turn.load(std::memory_order_acquire) != 2) {
          execution::now().rest();
        }
        pool.acquire_and_release();
        pool.acquire_and_release();
      },
      [&] {
        while (turn.load(std::memory_order_acquire) != 1) {
          execution::now().rest();
        }
        raid(pool, 2);
        turn.store(2, std::memory_order_release);
        raid(pool, 2);
      });
  pool.check();
}

constexpr std::array allocator_list{
    scenario{"allocator.theft_against_owner", "an owner at work beside a thief",
             &theft_against_owner<revocable>},
    scenario{"allocator.without_fence_theft_against_owner",
             "the same where there is no heavy fence",
             &without_fence<&theft_against_owner<revocable>>},
    scenario{"allocator.without_fence_bursts", "several cached items where there is no heavy fence",
             &without_fence<&bursts_against_theft>, false, narrow},
    scenario{"allocator.theft_of_several", "a thief takes several and gives back all but one",
             &theft_of_several, false, narrow},
    scenario{"allocator.two_thieves", "three threads, slots for two", &two_thieves<revocable>,
             false, narrow},
    scenario{"allocator.refill_against_flush", "two caches at the depot (S6)",
             &refill_against_flush<revocable>, false, narrow},
    scenario{"allocator.release_elsewhere", "acquired here, released there (S9)",
             &release_elsewhere<revocable>},
    scenario{"allocator.bulk_against_owner", "many at once beside an owner", &bulk_against_owner,
             false, narrow},
    scenario{"allocator.bulk_against_bulk", "many at once beside many at once", &bulk_against_bulk,
             false, narrow},
    scenario{"allocator.magazine_for_small_cache", "what is too much for a cache goes back",
             &magazine_for_small_cache, false, narrow},
    scenario{"allocator.magazines_in_turn", "magazines filled here, emptied there",
             &magazines_in_turn, false, narrow},
    scenario{"allocator.bursts_against_theft", "more than a cache may hold, beside a thief",
             &bursts_against_theft, false, narrow},
    scenario{"allocator.cells_added_beside_theft", "a cache grows twice while it is robbed",
             &cells_added_beside_theft<7>, false, narrow, /*waits=*/false, /*interrupted=*/2},
    scenario{"allocator.cells_added_beside_slow_theft",
             "the thief is done when the cache has grown", &cells_added_beside_theft<4>, false,
             narrow, /*waits=*/false, /*interrupted=*/2},
    scenario{"allocator.refused_fence", "the kernel refuses the heavy fence", &refused_fence, false,
             narrow},
    scenario{"allocator.more_threads_than_numbers", "a thread without a number",
             &more_threads_than_numbers, false, narrow},
    scenario{"allocator.left_stolen", "a cache that is robbed while its owner is away",
             &left_stolen, false, narrow, /*waits=*/true},
    scenario{"allocator.locked_theft", "an owner of a locked cache beside a thief",
             &theft_against_owner<locked>},
    scenario{"allocator.locked_two_thieves", "three threads with locked caches, slots for two",
             &two_thieves<locked>, false, narrow},
    scenario{"allocator.locked_refill_against_flush", "two locked caches at the depot",
             &refill_against_flush<locked>, false, narrow},
    scenario{"allocator.locked_release_elsewhere", "acquired here, released there, locked",
             &release_elsewhere<locked>},
    scenario{"allocator.uncached", "three threads without caches", &two_thieves<none>, false,
             narrow},
};

}  // namespace

std::span<const scenario> allocator_scenarios() {
  return allocator_list;
}

}  // namespace model
