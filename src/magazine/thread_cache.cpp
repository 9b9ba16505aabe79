#include "lido/magazine/thread_cache.hpp"

#include <algorithm>
#include <limits>

namespace lido::detail {

// relaxed (whole function): for the owner alone, or repaired by it when a thief's late store shows
void thread_cache::close_bounds() noexcept {
  low_.store(std::numeric_limits<std::uintptr_t>::max(), std::memory_order_relaxed);
  high_.store(0, std::memory_order_relaxed);
  top_.store(&guard_[1], std::memory_order_relaxed);
}

// relaxed (whole function): a thief sets the bounds only after it has seen (9); one that comes too
// late costs the owner one trip through the slow path
void thread_cache::set_bounds(const cell* base, std::uint32_t limit) noexcept {
  low_.store(address(base), std::memory_order_relaxed);
  high_.store(address(base + limit), std::memory_order_relaxed);
}

std::int64_t thread_cache::position_in(std::span<cell> cells, const cell* top) noexcept {
  const std::uintptr_t distance = address(top) - address(cells.data());
  // The guard, and the place before the first cell, are far away in unsigned arithmetic.
  return distance <= cells.size_bytes() ? static_cast<std::int64_t>(distance / sizeof(cell))
                                        : nowhere;
}

std::int64_t thread_cache::position_of_top() const noexcept {
  // relaxed: for the owner, who wrote it, and for spectators who may be wrong
  return position_in(cells(), top_.load(std::memory_order_relaxed));
}

std::uint32_t thread_cache::count_from(std::int64_t position) noexcept {
  return static_cast<std::uint32_t>(std::max<std::int64_t>(position, 0));
}

thread_cache::taken_hold thread_cache::take_hold() noexcept {
  // relaxed: only a guess, validated by (3); in state frozen nobody but the owner changes it
  std::uint64_t word = control_.load(std::memory_order_relaxed);
  for (;;) {
    const cache_control seen(word);
    // (3) - this acq_rel-CAS synchronizes-with the acq_rel-CAS (11, 13): the thief's reads of the
    // cells are over before the owner writes them again. It synchronizes-with the acquire-load (7),
    // so whoever sees a cache busy sees it before the slots it takes are missed elsewhere.
    // relaxed on failure: the word is again only a guess
    if (control_.compare_exchange_weak(word, seen.next(cache_state::busy).word(),
                                       std::memory_order_acq_rel, std::memory_order_relaxed)) {
      return {seen, seen.state() == cache_state::frozen, seen.state() == cache_state::revoking};
    }
  }
}

thread_cache::settled thread_cache::settle_pop(cache_kind kind) noexcept {
  const taken_hold hold = take_hold();
  if (kind == cache_kind::locked) {
    // relaxed: written by the owner alone
    const std::uint32_t count = hold.robbed ? 0 : count_.load(std::memory_order_relaxed);
    if (count == 0) {
      return {nullptr, 0, hold.robbed, hold.contested};
    }
    // relaxed: written by the owner alone
    return {cells()[count - 1].load(std::memory_order_relaxed), count - 1, hold.robbed,
            hold.contested};
  }
  const std::int64_t position = position_of_top();
  // The item is this thread's unless the thief saw the cache before the pop.
  const bool lost = hold.robbed && position < hold.before.taken();
  if (position == nowhere || lost) {
    return {nullptr, 0, hold.robbed, hold.contested};
  }
  // relaxed: written by the owner alone
  void* const item = cells()[static_cast<std::size_t>(position)].load(std::memory_order_relaxed);
  return {item, hold.robbed ? 0 : count_from(position), hold.robbed, hold.contested};
}

thread_cache::settled thread_cache::settle_push(cache_kind kind, void* item) noexcept {
  const taken_hold hold = take_hold();
  if (kind == cache_kind::locked) {
    // relaxed: written by the owner alone
    const std::uint32_t count = hold.robbed ? 0 : count_.load(std::memory_order_relaxed);
    return {item, count, hold.robbed, hold.contested};
  }
  const std::int64_t end = position_of_top();
  if (!hold.robbed) {
    return {nullptr, count_from(end), /*robbed=*/false, hold.contested};
  }
  // The top is one past the item. The thief has it if it saw the cache after the push.
  const bool lost = end != nowhere && end <= hold.before.taken();
  return {lost ? nullptr : item, 0, /*robbed=*/true, hold.contested};
}

thread_cache::settled thread_cache::settle(cache_kind kind) noexcept {
  const taken_hold hold = take_hold();
  return {nullptr, hold.robbed ? 0 : visible_count(kind), hold.robbed, hold.contested};
}

void thread_cache::open(cache_kind kind, std::uint32_t count, std::uint32_t limit) noexcept {
  // relaxed: written by the owner alone
  const std::uint64_t word = control_.load(std::memory_order_relaxed);
  if (kind == cache_kind::locked) {
    close_bounds();
    // relaxed: published by (9)
    count_.store(count, std::memory_order_relaxed);
  } else {
    // relaxed: written by the owner alone
    cell* const base = base_.load(std::memory_order_relaxed);
    set_bounds(base, limit);
    // (6) - this release-store synchronizes-with the acquire-load (12)
    top_.store(base + count, std::memory_order_release);
  }
  // (9) - this release-store synchronizes-with the acquire-load (7) and the acq_rel-CAS (11), so a
  // thief sees cells, bounds and count
  control_.store(cache_control(word).next(cache_state::open).word(), std::memory_order_release);
}

void thread_cache::close() noexcept {
  close_bounds();
  // relaxed (2x): written by the owner alone; published by (10)
  count_.store(0, std::memory_order_relaxed);
  const std::uint64_t word = control_.load(std::memory_order_relaxed);
  // (10) - this release-store synchronizes-with the acquire-load (7), so whoever sees the cache
  // frozen sees in the depot what it held
  control_.store(cache_control(word).next(cache_state::frozen).word(), std::memory_order_release);
}

bool thread_cache::forget_operation_if_idle() noexcept {
  // relaxed: in state frozen only the owner changes the word
  const cache_control now(control_.load(std::memory_order_relaxed));
  if (now.state() != cache_state::frozen || position_of_top() != nowhere) {
    return false;
  }
  // relaxed: the owner alone uses the top of a frozen cache
  top_.store(&guard_[1], std::memory_order_relaxed);
  return true;
}

std::optional<cache_control> thread_cache::revoke(cache_control seen) noexcept {
  const cache_control announced = seen.next(cache_state::revoking);
  std::uint64_t expected = seen.word();
  // (11) - this acq_rel-CAS synchronizes-with the release-store (9, 15), so the bounds below are
  // stored after the owner's, and with the acq_rel-CAS (3, 14)
  // relaxed on failure: nothing is read
  if (!control_.compare_exchange_strong(expected, announced.word(), std::memory_order_acq_rel,
                                        std::memory_order_relaxed)) {
    return std::nullopt;
  }
  // relaxed: the heavy fence that follows makes it visible to the owner
  low_.store(std::numeric_limits<std::uintptr_t>::max(), std::memory_order_relaxed);
  // relaxed: as low_
  high_.store(0, std::memory_order_relaxed);
  return announced;
}

std::optional<std::uint32_t> thread_cache::harvest(cache_kind kind, cache_control announced,
                                                   std::span<void*> out) noexcept {
  // (12) - this acquire-load synchronizes-with the release-store (4, 5, 6), so the items below the
  // top and all that happened to them are visible
  const cell* const top = top_.load(std::memory_order_acquire);
  const std::span<cell> from = cells();
  // relaxed: where the kind is locked, ordered by the owner's (9, 15), which (11) has read
  const std::uint32_t count = kind == cache_kind::locked ? count_.load(std::memory_order_relaxed)
                                                         : count_from(position_in(from, top));
  if (count > std::min(from.size(), out.size())) {
    return std::nullopt;  // the owner is replacing its cells
  }
  for (std::uint32_t i = 0; i < count; ++i) {
    // relaxed: ordered by (12); worthless unless (13) succeeds
    out[i] = from[i].load(std::memory_order_relaxed);
  }
  std::uint64_t expected = announced.word();
  // (13) - this acq_rel-CAS synchronizes-with the acq_rel-CAS (3, 14), by which the owner learns
  // what was taken. relaxed on failure: the copy is thrown away
  if (!control_.compare_exchange_strong(expected, announced.next(cache_state::frozen, count).word(),
                                        std::memory_order_acq_rel, std::memory_order_relaxed)) {
    return std::nullopt;
  }
  return count;
}

void thread_cache::withdraw(cache_control announced) noexcept {
  std::uint64_t expected = announced.word();
  // relaxed (2x): nothing was read or written under the announcement; if it fails, the owner has
  // cancelled it
  control_.compare_exchange_strong(expected, announced.next(cache_state::open).word(),
                                   std::memory_order_relaxed, std::memory_order_relaxed);
}

std::uint32_t thread_cache::visible_count(cache_kind kind) const noexcept {
  // relaxed: a number for statistics
  return kind == cache_kind::locked ? count_.load(std::memory_order_relaxed)
                                    : count_from(position_of_top());
}

}  // namespace lido::detail
