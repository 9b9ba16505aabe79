// Implements thefts, by which a thread that found no slot takes slots out of the caches of other
// threads. Also proves that a pool is exhausted.
#include <array>

#include "allocator_state.hpp"
#include "growth.hpp"
#include "lido/base/tuning.hpp"
#include "lido/concurrency/atomic.hpp"
#include "lido/concurrency/backoff.hpp"

namespace lido::inline v0::detail {

/// The state of a pool, as a thread that found no slot sees it.
struct allocator_state::survey {
  std::uint64_t depot_version = 0;
  std::uint64_t generations = 0;  ///< sum over caches; as none decreases, equal sums mean no change
  bool depot_empty = false;
  bool open = false;      ///< a cache can be emptied
  bool revoking = false;  ///< another thread is about to empty a cache
  bool transit = false;   ///< slots are in transit

  /// Returns true if no slot is free and no slot is in transit, as far as one look shows.
  [[nodiscard]] bool bare() const noexcept { return depot_empty && !open && !revoking && !transit; }
  [[nodiscard]] bool unchanged_since(const survey& first) const noexcept {
    return depot_version == first.depot_version && generations == first.generations;
  }
};

/// Records the announced thefts that one heavy fence serves. A thief processes the table of caches
/// in steps, so that it needs little stack space even if there are many caches.
struct allocator_state::announcements {
  static constexpr std::uint32_t most = 128;
  struct one {
    owned_cache* cache;
    slot_cache::control word;
  };

  [[nodiscard]] std::span<const one> all() const noexcept { return std::span(made).first(count); }

  std::array<one, most> made;
  std::uint32_t count = 0;
  std::uint32_t next = lowest_thread_number();  ///< number of the next cache to check
};

void allocator_state::count_exhausted() noexcept {
  // relaxed: a number for statistics, and a hint to keep caches closed
  if (exhausted_.fetch_add(1, std::memory_order_relaxed) == 0 && segments_ == nullptr) {
    raise_high_water(capacity());
  }
}

/// Finds a slot anywhere, or proves that there is none. Stores the slot in `*slot`; if `slot` is
/// null, leaves the slot in the depot.
///
/// The proof consists of two equal looks, in which the depot is empty and every cache is frozen.
/// Between the looks, no push changed the depot. No operation was settled on any cache, since that
/// would have started a new generation. Nothing was in transit, so between the looks, callers held
/// every slot. The proof is recorded until a thread makes a slot visible to others. Before the
/// looks, all open caches are emptied, even those that look empty.
// NOLINTNEXTLINE(readability-function-cognitive-complexity): one branch for each result of a look
allocator_state::finding allocator_state::search(owned_cache* self, void** slot) noexcept {
  bounded_wait others(tuning::nanoseconds_of_search);
  int refused = 0;
  for (bool patient = true; patient;) {
    const survey first = look_around();
    const bool take_over = first.revoking && others.waits() >= tuning::waits_before_take_over;
    bool found = false;
    if (!first.depot_empty) {
      found = slot == nullptr || refill_many(self, {slot, 1}) != 0;
    } else if (first.open || take_over) {
      const theft got = steal(self, slot, take_over);
      const bool is_refused = got == theft::refused;
      found = got == theft::some;
      refused += is_refused ? 1 : 0;
      // Other threads may have reopened empty caches, so the search continues.
      patient =
          found || (is_refused ? refused < tuning::most_refused_fences : wait_for_transit(others));
    } else if (!first.bare()) {
      others.note_progress(first.depot_version + first.generations);
      patient = wait_for_transit(others);
    } else if (prove(first)) {
      return finding::exhausted;
    }
    if (found) {
      return finding::free_slot;
    }
  }
  return finding::uncertain;
}

/// Tries to prove exhaustion by looking a second time. `first` is the first look, which found
/// nothing.
bool allocator_state::prove(const survey& first) noexcept {
  const exhaustion_proof::word begun = proof_.begin();
  const bool proven = look_around().unchanged_since(first);
  if (proven) {
    proof_.keep(begun);
  }
  return proven;
}

/// Reads the depot first, then the caches, then the numbers of carrying and visiting threads; the
/// order matters. Before a thread takes a slot out of the depot, it marks itself as busy, carrying
/// or visiting. It removes the mark only after the slot has reached a cache or the depot.
allocator_state::survey allocator_state::look_around() const noexcept {
  survey seen;
  seen.depot_version = depot_.version();
  seen.depot_empty = depot_.empty();
  const std::uint32_t last = highest();
  for (std::uint32_t number = lowest(); number <= last; ++number) {
    const slot_cache::control control = entry(number).state();
    seen.generations += control.generation();
    seen.open |= control.now() == slot_cache::phase::open;
    seen.revoking |= control.now() == slot_cache::phase::revoking;
    seen.transit |= control.now() == slot_cache::phase::busy;
  }
  // (2) - this acquire-load synchronizes-with the release-fetch-sub (4), acquire.cpp (1),
  // allocator/waiting.cpp (1)
  seen.transit |= carrying_.load(std::memory_order_acquire) != 0;
  // (3) - this acquire-load synchronizes-with the release-fetch-sub all_slots.cpp (1)
  seen.transit |= visiting_.load(std::memory_order_acquire) != 0;
  return seen;
}

/// Waits for a thread that moves slots. That thread may have been preempted.
bool allocator_state::wait_for_transit(bounded_wait& others) noexcept {
  // This is true only once, because sleeps are not counted as waits.
  if (others.waits() == tuning::waits_before_nap - 1) {
    // Without this check, the caller could wait for a thread of another process.
    require_own_process();
  }
  return others.wait();
}

/// Empties every open cache. Stores one slot in `*slot`, unless `slot` is null, and puts all other
/// slots into the depot.
allocator_state::theft allocator_state::steal(owned_cache* self, void** slot,
                                              bool take_over) noexcept {
  const std::int64_t begin = begin_event();
  const std::uint32_t last = highest();
  std::size_t stolen = 0;
  announcements made;
  bool refused = false;
  while (made.next <= last && !refused) {
    revoke_some(made, last, take_over);
    if (made.count == 0) {
      break;
    }
    refused = !fence_for(made);
    if (!refused) {
      stolen += harvest_all(self, stolen != 0 ? nullptr : slot, made);
    }
  }
  // relaxed (2x): numbers for statistics. All caches were emptied, so about as many slots are in
  // use as are out of the depot
  const std::size_t mark = high_water_.load(std::memory_order_relaxed);
  if (stolen != 0 && mark < enough_ &&
      out_.load(std::memory_order_relaxed) > static_cast<std::int64_t>(mark)) {
    mark_use(nullptr, 0);
  }
  end_event(traced_act::theft, begin, stolen);
  return stolen != 0 ? theft::some : refused ? theft::refused : theft::none;
}

/// Marks the caches that are emptied for a restart.
void allocator_state::mark_restarted(announcements& made) noexcept {
  for (const auto& [cache, word] : made.all()) {
    // relaxed: read by this thread, and by the owner after the restart
    cache->restarted.store(true, std::memory_order_relaxed);
  }
}

/// Empties all caches into the depot, and waits until the threads that are exiting have emptied
/// theirs. Marks the caches, so that this counts as no theft. No heavy fence is needed, since no
/// owner is in an operation. Requires: no other thread is in a call to the allocator, and the
/// caller has seen all earlier calls.
void allocator_state::empty_caches() noexcept {
  exponential_backoff others;
  for (survey now = look_around(); now.open || now.revoking || now.transit; now = look_around()) {
    const std::uint32_t last = highest();
    announcements made;
    while (made.next <= last) {
      revoke_some(made, last, /*take_over=*/true);
      mark_restarted(made);
      (void)harvest_all(nullptr, nullptr, made);
    }
    others.wait();
  }
}

/// Announces thefts from the caches with numbers up to `last`, as many as one heavy fence serves.
void allocator_state::revoke_some(announcements& made, std::uint32_t last,
                                  bool take_over) const noexcept {
  made.count = 0;
  for (; made.next <= last && made.count < announcements::most; ++made.next) {
    owned_cache& cache = entry(made.next);
    const slot_cache::control seen = cache.state();
    if (seen.now() != slot_cache::phase::open &&
        !(take_over && seen.now() == slot_cache::phase::revoking)) {
      continue;
    }
    if (const auto announced = cache.revoke(seen)) {
      made.made[made.count++] = {&cache, *announced};
    }
  }
}

/// Runs the heavy fence, if this kind of cache needs it. If the kernel refuses the fence, withdraws
/// the announcements and returns false.
bool allocator_state::fence_for(const announcements& made) noexcept {
  if (kind_ != lido::cache_kind::revocable) {
    return true;
  }
  // relaxed: a number for statistics
  heavy_fences_.fetch_add(1, std::memory_order_relaxed);
  const bool done = heavy_fence();
  for (const auto& [cache, word] : done ? std::span<const announcements::one>() : made.all()) {
    cache->withdraw(word);
  }
  return done;
}

/// Empties the announced caches. Returns how many slots they contained.
std::size_t allocator_state::harvest_all(owned_cache* self, void** slot,
                                         const announcements& made) noexcept {
  std::size_t stolen = 0;
  std::array<void*, slot_cache::most_items + 1> loot;
  // relaxed: the claim of a cache makes the mark visible to every thread that sees the slots
  // missing from the cache
  carrying_.fetch_add(1, std::memory_order_relaxed);
  for (const auto& [cache, word] : made.all()) {
    const auto count = cache->harvest(kind_, word, loot);
    if (!count.has_value() || *count == 0) {
      continue;
    }
    std::span<void* const> rest = std::span<void* const>(loot).first(*count);
    if (slot != nullptr && stolen == 0) {
      *slot = rest.back();
      rest = rest.first(rest.size() - 1);
    }
    stolen += *count;
    // relaxed: only this thread empties the cache
    if (!cache->restarted.load(std::memory_order_relaxed)) {
      // relaxed: a number for statistics
      thefts_.fetch_add(1, std::memory_order_relaxed);
    }
    give(self, rest);
  }
  // (4) - this release-fetch-sub synchronizes-with the acquire-load (2), as acquire.cpp (1) does
  carrying_.fetch_sub(1, std::memory_order_release);
  serve_waiters(self);
  return stolen;
}

}  // namespace lido::inline v0::detail
