/// Slots that are free all the time and always where a look is not: the case that the second look
/// of the exhaustion proof handles. Hard case 8.
#include <array>
#include <vector>

#include "checker/sync.hpp"
#include "scenarios/pooled.hpp"

namespace model {

namespace {

using lido::detail::atomic;

void let_others() {
  execution::now().rest();
}

/// Passes control and knowledge from one thread to another.
class baton {
 public:
  void give() {
    given_.store(1, std::memory_order_release);
    place_.unpark();
  }
  void await() {
    place_.park();
    while (given_.load(std::memory_order_acquire) == 0) {
      execution::now()
          .rest();  // the parking place passes on no knowledge, and the load may be late
    }
  }

 private:
  atomic<int> given_{0};
  parking_place place_;
};

/// All slots but two are out permanently; the two are never out together once `somebody_looks`.
class evasion {
 public:
  static constexpr std::uint32_t capacity = 16;

  /// Takes slots until that many are out permanently.
  void keep(std::size_t count) {
    while (kept_.size() < count) {
      kept_.push_back(pool_.must_acquire());
    }
  }

  /// Takes slots permanently when it is the caller's turn.
  void keep_in_turn(std::size_t count, baton& mine, baton& next) {
    mine.await();
    keep(count);
    next.give();
  }

  /// Leaves the last two slots in the caller's cache, with all others out.
  void cache_two() {
    for (int round = 0; round < 2; ++round) {  // the first round opens the cache again
      const std::size_t first = pool_.must_acquire();
      const std::size_t second = pool_.must_acquire();
      pool_.release(first);
      pool_.release(second);
    }
  }

  void acquire_and_release() { pool_.acquire_and_release(); }

  /// Moves two slots from the caller's cache to that of the thread that calls `receive`, one after
  /// the other; then lets others run.
  struct passage {
    std::array<baton, 3> handed;
    std::size_t slot = pooled::nothing;
  };
  void send(passage& way) {
    way.slot = pool_.must_acquire();
    way.handed[0].give();
    way.handed[1].await();
    way.slot = pool_.must_acquire();
    way.handed[2].give();
  }
  void receive(passage& way) {
    way.handed[0].await();
    pool_.release(way.slot);
    way.handed[1].give();
    way.handed[2].await();
    pool_.release(way.slot);
    let_others();
  }

  void check() {
    for (const std::size_t slot : kept_) {
      pool_.release(slot);
    }
    pool_.check();
  }

 private:
  pooled pool_{capacity};
  std::vector<std::size_t> kept_;
};

// Slots move from a cache to the depot as its thread ends, before the first look reaches that cache
// and after it has been at the depot. Then they move to the cache of another thread behind the
// look, and to a third cache, whose number the second look has passed.
void depot_between_looks() {
  evasion slots;
  std::array<baton, 4> ready;
  evasion::passage way;
  in_threads(
      [&] {
        ready[0].await();
        slots.acquire_and_release();
      },
      [&] {  // the first number, which the last thread inherits
        slots.keep(1);
        ready[1].give();
        ready[2].await();
        slots.keep(evasion::capacity - 2);
        slots.cache_two();
        ready[0].give();
        ready[3].give();
        let_others();
      },
      [&] {  // its cache has been large, so it takes both at once
        slots.keep_in_turn(5, ready[1], ready[2]);
        ready[3].await();
        let_others();
        let_others();
        slots.acquire_and_release();
        let_others();
        slots.send(way);
      },
      [&] { slots.receive(way); });
  slots.check();
}

// Slots move from a cache that the look has not reached to one that it has passed, and back between
// two looks. The thread that passes the slots on ends, which closes its cache.
void caches_to_and_fro() {
  evasion slots;
  std::array<baton, 5> ready;
  std::array<evasion::passage, 3> way;
  in_threads(
      [&] {  // looks
        slots.keep_in_turn(3, ready[0], ready[1]);
        ready[3].await();
        slots.acquire_and_release();
        ready[4].give();
      },
      [&] {  // the lowest number
        slots.keep(2);
        ready[0].give();
        slots.receive(way[0]);
        slots.send(way[1]);
      },
      [&] {  // one more cache to look at
        slots.keep_in_turn(4, ready[1], ready[2]);
        ready[4].await();
      },
      [&] {  // the highest number
        ready[2].await();
        slots.keep(evasion::capacity - 2);
        slots.cache_two();
        ready[3].give();
        let_others();
        slots.send(way[0]);
      },
      [&] {  // inherits the highest number
        slots.receive(way[1]);
        slots.send(way[2]);
      },
      [&] {  // inherits the lowest number
        slots.receive(way[2]);
      });
  slots.check();
}

constexpr std::array evasion_list{
    scenario{"evasion.depot_between_looks", "free slots in a cache, the depot, a cache, a cache",
             &depot_between_looks, false, narrow, /*waits=*/true, /*interrupted=*/1},
    scenario{"evasion.caches_to_and_fro", "free slots in the caches that a look has passed",
             &caches_to_and_fro, false, narrow, /*waits=*/true, /*interrupted=*/1},
};

}  // namespace

std::span<const scenario> evasion_scenarios() {
  return evasion_list;
}

}  // namespace model
