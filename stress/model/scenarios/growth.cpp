/// A pool that adds slots and gives some back while others use it. S10.
#include <array>
#include <vector>

#include "checker/plain.hpp"
#include "lido/allocator/segment_memory.hpp"
#include "lido/allocator/slot_allocator.hpp"
#include "lido/base/address_space.hpp"
#include "scenarios/pooled.hpp"
#include "scenarios/scenario.hpp"
#include "seam/system.hpp"
#include "src/allocator/slot_waiter_queue.hpp"
#include "src/concurrency/pool_scope.hpp"

namespace model {

namespace {

using lido::cache_kind;
using lido::detail::atomic;
using lido::detail::slot_index;

constexpr std::size_t most_slots = 4;
constexpr std::size_t nothing = ~std::size_t{0};

/// Returns a stride with two slots in each segment; no code below the objects ever touches a slot.
std::size_t stride() {
  return lido::detail::page_size() / 2;
}
alignas(64) std::array<std::byte, 64> storage;  // NOLINT: an address, never written

/// Memory of the segments: plain variables, so that a race for them shows.
class ground final : public lido::detail::segment_memory {
 public:
  int commit(slot_index first, std::uint32_t count) noexcept override {
    commits_.write(commits_.read() + 1);  // one thread at a time
    change(first, count, true);
    return 0;
  }
  void vacate(slot_index /*first*/, std::uint32_t /*count*/,
              lido::detail::work_progress& /*progress*/) noexcept override {}
  int decommit(slot_index first, std::uint32_t count) noexcept override {
    change(first, count, false);
    return 0;
  }

  void use(std::size_t slot) {
    require(is_there_.at(slot).read(), "a slot that was given back is in use");
  }

 private:
  void change(slot_index first, std::uint32_t count, bool there) {
    for (slot_index slot = first; slot < first + count; ++slot) {
      require(is_there_.at(slot).read() != there, "memory is added or given back twice");
      is_there_.at(slot).write(there);
    }
  }

  plain<unsigned> commits_;
  std::array<plain<bool>, most_slots> is_there_;
};

/// A `pooled` whose slots are added and removed.
class grown {
 public:
  explicit grown(cache_kind caches, std::uint32_t present)
      : allocator_({.geometry = geometry(),
                    .capacity = most_slots,
                    .caches = caches,
                    .max_cached = 2,
                    .segments = &memory_}),
        books_(most_slots) {
    execution::now().keep_for_each_thread(lido::detail::innermost_scope);
    require(allocator_.reserve(present) == 0, "no memory");
  }

  std::size_t acquire() {
    const auto began = books_.begin();
    const void* const address = allocator_.acquire();
    if (address == nullptr) {
      books_.refused(began);
      return nothing;
    }
    const std::size_t slot = geometry().index_of(address);
    memory_.use(slot);
    books_.got(slot, began);
    return slot;
  }

  std::size_t must_acquire() {
    const std::size_t slot = acquire();
    require(slot != nothing, "an acquire failed although there may be slots for all");
    return slot;
  }

  void release(std::size_t slot) {
    books_.gives(slot);
    memory_.use(slot);
    void* const address = geometry().address_of(static_cast<slot_index>(slot));
    allocator_.release(address);
    books_.gave(slot);
  }

  void use(std::size_t count) {
    std::vector<std::size_t> held;
    while (held.size() < count) {
      held.push_back(must_acquire());
    }
    for (const std::size_t slot : held) {
      release(slot);
    }
  }

  /// Waits until it has a slot.
  std::size_t wait() {
    const auto began = books_.begin();
    lido::detail::slot_waiter me;
    const void* const address = allocator_.wait_for_slot(me, lido::detail::deadline());
    require(address != nullptr, "a wait without an end has ended without a slot");
    const std::size_t slot = geometry().index_of(address);
    memory_.use(slot);
    books_.got(slot, began);
    return slot;
  }

  void reserve(std::uint32_t slots) { require(allocator_.reserve(slots) == 0, "no memory"); }
  void shrink_to(std::uint32_t slots) { (void)allocator_.shrink_to(slots); }

  [[nodiscard]] std::uint32_t capacity() const { return allocator_.capacity(); }

  /// Checks, when all threads have ended, that all slots can be acquired, and then all removed.
  void check() {
    books_.check_refusals();
    const lido::slot_pool_stats quiet = allocator_.stats();
    require(quiet.in_use == 0, "the numbers of the pool do not say what is in use");
    require(quiet.idle == quiet.capacity,
            "the numbers of the pool do not add up: a slot is lost, or there twice");
    in_threads([&] {
      use(most_slots);
      require(allocator_.capacity() == most_slots, "the pool has not grown to its maximum");
      require(allocator_.shrink_to(0) == 0, "a free slot was not found");
    });
  }

 private:
  static lido::detail::slot_geometry geometry() { return {storage.data(), stride()}; }

  ground memory_;
  lido::detail::slot_allocator allocator_;
  ledger books_;
};

// Segments are removed and added while another thread acquires, which must not be refused.
template <cache_kind Caches>
void shrink_against_acquire() {
  grown pool(Caches, most_slots);
  in_threads([&] { pool.use(2); },
             [&] {
               pool.shrink_to(0);
               pool.use(2);
             });
  pool.check();
}

// Segments are removed while another thread releases. In the end all slots are in use: one that a
// shrink forgets is missed.
template <cache_kind Caches>
void shrink_against_release() {
  grown pool(Caches, most_slots);
  in_threads(
      [&] {
        const std::size_t first = pool.must_acquire();
        const std::size_t second = pool.must_acquire();
        pool.release(second);
        pool.release(first);
      },
      [&] {
        pool.shrink_to(2);
        pool.shrink_to(0);
      });
  pool.check();
}

// As many slots are wanted as there may be, while a segment joins: its slots are not out.
template <cache_kind Caches>
void reserve_against_refusal() {
  grown pool(Caches, 2);
  in_threads([&] { pool.use(3); }, [&] { pool.reserve(most_slots); }, [&] { pool.use(1); });
  pool.check();
}

// Both threads find nothing at once, and one adds what both need.
template <cache_kind Caches>
void two_grow() {
  grown pool(Caches, 0);
  in_threads([&] { pool.use(2); }, [&] { pool.use(2); });
  pool.check();
}

// Only the word orders one holder after the other.
void two_change_capacity() {
  grown pool(none, 2);
  in_threads([&] { pool.reserve(most_slots); },
             [&] {
               pool.shrink_to(0);
               pool.reserve(2);
             });
  pool.check();
}

// A thread takes all slots, beside a shrink and a thread that has taken a slot before. A refusal
// must be right whether or not the shrink has found free slots.
void exhausted_beside_shrink() {
  grown pool(none, most_slots);
  in_threads(
      [&] {
        const std::size_t mine = pool.acquire();
        pool.shrink_to(2);
        if (mine != nothing) {
          pool.release(mine);
        }
      },
      [&] {
        std::vector<std::size_t> held;
        for (std::size_t slot = pool.acquire(); slot != nothing; slot = pool.acquire()) {
          held.push_back(slot);
        }
        for (const std::size_t slot : held) {
          pool.release(slot);
        }
      });
  pool.check();
}

// A shrink has taken the free slots, one of each segment, and puts them back. One thread proves
// that none is free, and another one relies on the proof.
void two_refused_beside_shrink() {
  grown pool(none, most_slots);
  std::array<std::size_t, most_slots> held{};
  for (std::size_t& slot : held) {
    slot = pool.must_acquire();
  }
  pool.release(held[1]);
  pool.release(held[3]);
  const auto body = [&] {
    if (const std::size_t slot = pool.acquire(); slot != nothing) {
      pool.release(slot);
    }
  };
  in_threads([&] { pool.shrink_to(2); }, body, body);
  pool.release(held[0]);
  pool.release(held[2]);
  pool.check();
}

// A thread that has more slots than there were finds the capacity changed: it changes before the
// slots are added.
void capacity_before_slots() {
  grown pool(none, 2);
  in_threads([&] { pool.reserve(most_slots); },
             [&] {
               std::vector<std::size_t> held;
               while (held.size() < 3) {
                 held.push_back(pool.must_acquire());
               }
               require(pool.capacity() >= held.size(), "more slots are in use than there are");
               for (const std::size_t slot : held) {
                 pool.release(slot);
               }
             });
  pool.check();
}

// The kernel refuses a shrink's heavy fence, so the shrink withdraws its announcement: the slots in
// the cache of an idle thread are available to the next one.
void shrink_with_refused_fence() {
  grown pool(revocable, most_slots);
  atomic<int> turn(0);
  const auto await = [&](int value) {
    while (turn.load(std::memory_order_acquire) != value) {
      execution::now().rest();
    }
  };
  in_threads(
      [&] {
        pool.use(1);
        turn.store(1, std::memory_order_release);
        await(2);
      },
      [&] {
        await(1);
        {
          const refused_heavy_fences refused(refusals::next);
          pool.shrink_to(0);
        }
        pool.shrink_to(0);
        require(pool.capacity() == 0, "a shrink has left free slots in a cache");
        turn.store(2, std::memory_order_release);
      });
  pool.check();
}

// Slots that are released for a waiter may be taken by the shrink, which removes their segment from
// service.
void shrink_against_waiter() {
  grown pool(none, 2);
  std::vector<std::size_t> held;
  in_threads([&] {
    while (held.size() < most_slots) {
      held.push_back(pool.must_acquire());
    }
  });
  in_threads(
      [&] {
        for (const std::size_t slot : held) {
          pool.release(slot);
        }
      },
      [&] { pool.shrink_to(0); }, [&] { pool.release(pool.wait()); });
  pool.check();
}

// All other slots are in use permanently: either the shrink or the waiter itself must add back the
// slot that the waiter gets.
void shrink_beside_wait() {
  grown pool(none, most_slots);
  const std::size_t first = pool.must_acquire();
  const std::size_t second = pool.must_acquire();
  in_threads([&] { pool.shrink_to(2); }, [&] { pool.release(pool.wait()); });
  pool.release(second);
  pool.release(first);
  pool.check();
}

// Other threads wait for a thread that changes the capacity.
constexpr scenario grows(std::string_view name, std::string_view tells, void (*run)()) {
  return {name, tells, run, /*must_fail=*/false, narrow_unfailing, /*waits=*/true};
}

constexpr std::array growth_list{
    grows("growth.shrink_against_acquire", "a shrink beside an acquire",
          &shrink_against_acquire<none>),
    grows("growth.cached_shrink_against_acquire", "the same with caches",
          &shrink_against_acquire<revocable>),
    grows("growth.shrink_against_release", "shrinks beside releases",
          &shrink_against_release<none>),
    grows("growth.cached_shrink_against_release", "the same with caches",
          &shrink_against_release<revocable>),
    grows("growth.reserve_against_refusal", "slots that join beside those who find none (S10)",
          &reserve_against_refusal<none>),
    grows("growth.cached_reserve_against_refusal", "the same with caches",
          &reserve_against_refusal<revocable>),
    grows("growth.two_grow", "two who add slots at once", &two_grow<none>),
    grows("growth.two_change_capacity", "a shrink beside a reserve", &two_change_capacity),
    grows("growth.capacity_before_slots", "slots that join beside one who takes them",
          &capacity_before_slots),
    grows("growth.shrink_with_refused_fence", "a shrink whose heavy fence is refused",
          &shrink_with_refused_fence),
    grows("growth.shrink_beside_wait", "a shrink that puts nothing back beside a wait",
          &shrink_beside_wait),
    grows("growth.shrink_against_waiter", "a shrink beside a waiter", &shrink_against_waiter),
    grows("growth.exhausted_beside_shrink", "a refusal beside a shrink", &exhausted_beside_shrink),
    grows("growth.two_refused_beside_shrink", "a refusal that relies on another one's proof",
          &two_refused_beside_shrink),
};

}  // namespace

std::span<const scenario> growth_scenarios() {
  return growth_list;
}

}  // namespace model
