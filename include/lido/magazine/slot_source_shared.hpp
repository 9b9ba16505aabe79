/// @file
/// Internal. The shared side of slot_source: past the caches, into others' caches, and the decision
/// that a pool is exhausted. Included by slot_source_impl.hpp.
#pragma once

#include <algorithm>

#include "lido/base/tuning.hpp"
#include "lido/concurrency/asymmetric_fence.hpp"
#include "lido/concurrency/backoff.hpp"
#include "lido/magazine/slot_source.hpp"

namespace lido::detail {

/// What a thread that found no slot sees around it.
template <index_stack Stack>
struct slot_source<Stack>::survey {
  std::uint64_t depot_version = 0;
  std::uint64_t generations = 0;  ///< of all caches: they only grow, so equal sums are equal terms
  bool depot_empty = false;
  bool open = false;      ///< a cache can be emptied
  bool revoking = false;  ///< another thread is about to empty one
  bool transit = false;   ///< slots are on their way

  /// Nothing is free and nothing on its way, as far as one look tells.
  [[nodiscard]] bool bare() const noexcept { return depot_empty && !open && !revoking && !transit; }
  [[nodiscard]] bool unchanged_since(const survey& first) const noexcept {
    return depot_version == first.depot_version && generations == first.generations;
  }
};

template <index_stack Stack>
struct slot_source<Stack>::announcements {
  std::array<cache_control, magazine_numbers + 1> made{};
  std::array<bool, magazine_numbers + 1> valid{};
  std::uint32_t highest = 0;
};

// relaxed (whole function): counters that nobody orders by
template <index_stack Stack>
void slot_source<Stack>::count_drawn(thread_cache* self, std::int64_t slots) noexcept {
  if (self == nullptr) {
    drawn_uncached_.fetch_add(slots, std::memory_order_relaxed);
  } else {
    auto& drawn = self->notes().drawn;
    drawn.store(drawn.load(std::memory_order_relaxed) + slots, std::memory_order_relaxed);
  }
}

/// Stores any number of slots in the depot.
template <index_stack Stack>
void slot_source<Stack>::give(thread_cache* self, std::span<void* const> slots) noexcept {
  count_drawn(self, -static_cast<std::int64_t>(slots.size()));
  std::array<slot_index, most_per_trip> indices;
  while (!slots.empty()) {
    const std::size_t size = std::min<std::size_t>(slots.size(), most_per_trip);
    std::transform(slots.begin(), slots.begin() + static_cast<std::ptrdiff_t>(size),
                   indices.begin(), [this](const void* slot) { return slots_.index_of(slot); });
    depot_.give(std::span(indices).first(size));
    slots = slots.subspan(size);
  }
}

template <index_stack Stack>
void* slot_source<Stack>::acquire_past_cache(thread_cache* self) noexcept {
  if (const slot_index single = depot_.pop_single(); single != null_slot) {
    count_drawn(self, 1);
    return slots_.address_of(single);
  }
  void* slot = nullptr;
  (void)take_shared(self, {&slot, 1});
  return slot != nullptr ? slot : scavenge(self);
}

template <index_stack Stack>
void slot_source<Stack>::release_past_cache(thread_cache* self, void* slot) noexcept {
  if (hand_over(self, slot)) {
    return;
  }
  count_drawn(self, -1);
  depot_.push_single(slots_.index_of(slot));
  serve_waiters(self);
}

/// Takes up to out.size() slots from the depot in one trip.
template <index_stack Stack>
std::size_t slot_source<Stack>::take_shared(thread_cache* self, std::span<void*> out) noexcept {
  if (depot_.empty()) {
    return 0;  // without a mark that would make others wait for nothing
  }
  std::array<slot_index, most_per_trip> slots;
  const auto want = static_cast<std::uint32_t>(std::min<std::size_t>(out.size(), most_per_trip));
  // relaxed: shown to others by the pop's release half before the slots are missed
  carrying_.fetch_add(1, std::memory_order_relaxed);
  const std::uint32_t count = depot_.take(slots, want);
  const std::uint32_t kept = std::min(count, want);
  depot_.give(std::span(slots).subspan(kept, count - kept));
  // (1) - this release-fetch-sub synchronizes-with the acquire-load (2), so whoever sees nobody
  // carrying sees in the depot what was carried
  carrying_.fetch_sub(1, std::memory_order_release);
  count_drawn(self, kept);
  for (std::uint32_t i = 0; i < kept; ++i) {
    out[i] = slots_.address_of(slots[i]);
  }
  if (count > kept) {
    serve_waiters(self);
  }
  return kept;
}

/// The order of the looks matters: the depot first, then the caches, then the carriers. A slot
/// leaves the depot only by a thread that marked itself before (busy or carrying), and reaches a
/// cache or the depot before the mark goes.
template <index_stack Stack>
typename slot_source<Stack>::survey slot_source<Stack>::look_around() const noexcept {
  survey seen;
  seen.depot_version = depot_.version();
  seen.depot_empty = depot_.empty();
  // relaxed: if it is too low, the cache that is missed got nothing that the depot's words tell of
  const std::uint32_t highest = highest_number_.load(std::memory_order_relaxed);
  for (std::uint32_t number = 1; number <= highest; ++number) {
    const cache_control control = caches_[number].control();
    seen.generations += control.generation();
    seen.open |= control.state() == cache_state::open;
    seen.revoking |= control.state() == cache_state::revoking;
    seen.transit |= control.state() == cache_state::busy;
  }
  // (2) - this acquire-load synchronizes-with the release-fetch-sub (1, 3) and
  // slot_source_waiting.hpp (1)
  seen.transit |= carrying_.load(std::memory_order_acquire) != 0;
  return seen;
}

/// Finds a slot anywhere, or proves that there is none. What it finds it takes for `slot`; if that
/// is null, leaves it in the depot.
///
/// The proof: two equal looks in which the depot is empty and every cache frozen. Between them no
/// push changed the depot and no operation settled on any cache (each is a new generation), nothing
/// was in transit, so at that moment every slot was in a caller's hands. To get there, all open
/// caches are emptied, those that look empty too.
template <index_stack Stack>
typename slot_source<Stack>::finding slot_source<Stack>::search(thread_cache* self,
                                                                void** slot) noexcept {
  exponential_backoff backoff;
  for (int waits = 0; waits < tuning::most_waits;) {
    const survey first = look_around();
    const bool take_over = first.revoking && waits >= tuning::waits_before_take_over;
    bool found = false;
    if (!first.depot_empty) {
      found = slot == nullptr || take_shared(self, {slot, 1}) != 0;
    } else if (first.open || take_over) {
      found = steal(self, slot, take_over);
      waits += found ? 0 : 1;  // bounded even where the kernel refuses the fence
    } else if (!first.bare()) {
      wait_for_transit(waits++, backoff);
    } else if (look_around().unchanged_since(first)) {
      return finding::exhausted;
    }
    if (found) {
      return finding::free_slot;
    }
  }
  return finding::uncertain;
}

template <index_stack Stack>
void* slot_source<Stack>::scavenge(thread_cache* self) noexcept {
  void* slot = nullptr;
  if (search(self, &slot) != finding::free_slot && !grows) {  // or only after it could not grow
    count_exhausted();
  }
  return slot;
}

template <index_stack Stack>
void slot_source<Stack>::count_exhausted() noexcept {
  // relaxed: a number for statistics, and a hint to keep caches closed
  exhausted_.fetch_add(1, std::memory_order_relaxed);
}

/// Pauses, then gives the processor away, then sleeps: a thread in transit may have lost its own.
template <index_stack Stack>
void slot_source<Stack>::wait_for_transit(int waits, exponential_backoff& backoff) noexcept {
  if (waits < tuning::waits_before_yield) {
    backoff.pause();
  } else if (waits < tuning::waits_before_nap) {
    yield_thread();
  } else {
    if (waits == tuning::waits_before_nap) {
      require_own_process();  // or it would wait for a thread of another one
    }
    nap_thread();
  }
}

/// Empties every open cache. Keeps one for `slot`, unless that is null, and puts the others into
/// the depot. Returns whether there were any.
template <index_stack Stack>
bool slot_source<Stack>::steal(thread_cache* self, void** slot, bool take_over) noexcept {
  announcements made;
  if (!revoke_all(made, take_over)) {
    return false;
  }
  if (kind_ == cache_kind::revocable) {
    // relaxed: a number for statistics
    heavy_fences_.fetch_add(1, std::memory_order_relaxed);
    if (!heavy_fence()) {
      withdraw_all(made);
      return false;
    }
  }
  return harvest_all(self, slot, made);
}

template <index_stack Stack>
void slot_source<Stack>::withdraw_all(const announcements& made) noexcept {
  for (std::uint32_t number = 1; number <= made.highest; ++number) {
    if (made.valid[number]) {
      caches_[number].withdraw(made.made[number]);
    }
  }
}

template <index_stack Stack>
bool slot_source<Stack>::revoke_all(announcements& made, bool take_over) noexcept {
  bool any = false;
  // relaxed: as in look_around
  made.highest = highest_number_.load(std::memory_order_relaxed);
  for (std::uint32_t number = 1; number <= made.highest; ++number) {
    const cache_control seen = caches_[number].control();
    if (seen.state() != cache_state::open &&
        !(take_over && seen.state() == cache_state::revoking)) {
      continue;
    }
    if (const auto announced = caches_[number].revoke(seen)) {
      made.made[number] = *announced;
      made.valid[number] = true;
      any = true;
    }
  }
  return any;
}

/// What a thief does not keep of one cache.
template <index_stack Stack>
void slot_source<Stack>::give_loot(thread_cache* self, std::span<void* const> rest) noexcept {
  // relaxed: a number for statistics
  thefts_.fetch_add(1, std::memory_order_relaxed);
  give(self, rest);
}

template <index_stack Stack>
bool slot_source<Stack>::harvest_all(thread_cache* self, void** slot,
                                     const announcements& made) noexcept {
  bool any = false;
  std::array<void*, most_cached + 1> loot;
  // relaxed: shown to others by the claim, before the slots are missed
  carrying_.fetch_add(1, std::memory_order_relaxed);
  for (std::uint32_t number = 1; number <= made.highest; ++number) {
    if (!made.valid[number]) {
      continue;
    }
    const auto count = caches_[number].harvest(kind_, made.made[number], loot);
    if (!count.has_value() || *count == 0) {
      continue;
    }
    std::span<void* const> rest = std::span<void* const>(loot).first(*count);
    if (slot != nullptr && !any) {
      *slot = rest.back();
      rest = rest.first(rest.size() - 1);
    }
    any = true;
    give_loot(self, rest);
  }
  // (3) - this release-fetch-sub synchronizes-with the acquire-load (2), as (1) does
  carrying_.fetch_sub(1, std::memory_order_release);
  serve_waiters(self);
  return any;
}

// relaxed (whole function): numbers for statistics
template <index_stack Stack>
pool_stats slot_source<Stack>::stats() const noexcept {
  pool_stats stats;
  std::int64_t drawn = drawn_uncached_.load(std::memory_order_relaxed);
  for (const thread_cache& cache : caches_) {
    const auto& notes = cache.notes();
    drawn += notes.drawn.load(std::memory_order_relaxed);
    stats.refills += notes.refills.load(std::memory_order_relaxed);
    stats.flushes += notes.flushes.load(std::memory_order_relaxed);
    const bool holds = cache.control().state() != cache_state::frozen;
    stats.cached += holds ? cache.visible_count(kind_) : 0;
    stats.bookkeeping_bytes += cache.cells().empty() ? 0 : first_room_ * sizeof(cell);
  }
  stats.capacity = this->capacity();
  const auto capacity = static_cast<std::int64_t>(stats.capacity);
  drawn = std::clamp<std::int64_t>(drawn, 0, capacity);
  stats.cached = std::min(stats.cached, static_cast<std::size_t>(drawn));
  stats.in_use = static_cast<std::size_t>(drawn) - stats.cached;
  stats.shared = static_cast<std::size_t>(capacity - drawn);
  if (has_caches_) {
    stats.caches = kind_ == cache_kind::revocable ? cache_mode::revocable : cache_mode::locked;
  }
  stats.open_caches = open_caches_.load(std::memory_order_relaxed);
  stats.thefts = thefts_.load(std::memory_order_relaxed);
  stats.heavy_fences = heavy_fences_.load(std::memory_order_relaxed);
  stats.exhausted = exhausted_.load(std::memory_order_relaxed);
  stats.waiting = count_waiting();
  stats.handed_over = handed_over_.load(std::memory_order_relaxed);
  stats.bookkeeping_bytes +=
      sizeof(*this) + depot_.memory() + grown_bytes_.load(std::memory_order_relaxed);
  return stats;
}

}  // namespace lido::detail
