#include "lido/allocator/slot_cache.hpp"

#include <algorithm>
#include <limits>

#include "lido/base/assert.hpp"

namespace lido::inline v0::detail {

// ---- where the top is ---------------------------------------------------------------------------

// relaxed (whole function): only the owner relies on the bounds, and repairs them when a late store
// of a thief becomes visible
void slot_cache::close_bounds() noexcept {
  low_.store((std::numeric_limits<std::int64_t>::max)(), std::memory_order_relaxed);
  high_.store(0, std::memory_order_relaxed);
  top_.store(0, std::memory_order_relaxed);
}

std::int64_t slot_cache::position_of(std::int64_t top, std::span<cell> cells) const noexcept {
  // NOLINTNEXTLINE(cppcoreguidelines-pro-type-reinterpret-cast): offsets are numbers
  const auto first = reinterpret_cast<std::uintptr_t>(cells.data());
  const std::uintptr_t distance = address() + static_cast<std::uintptr_t>(top) - first;
  // In unsigned arithmetic, the guard and the word before the first cell are far beyond the cells.
  const bool inside = !cells.empty() && distance <= cells.size_bytes();
  return inside ? static_cast<std::int64_t>(distance / sizeof(cell)) : nowhere;
}

std::int64_t slot_cache::position_of_top() const noexcept {
  // relaxed: read by the owner, which wrote it, and by spectators, which may be wrong
  return position_of(top_.load(std::memory_order_relaxed), cells());
}

std::uint32_t slot_cache::count_from(std::int64_t position) noexcept {
  return static_cast<std::uint32_t>(std::max<std::int64_t>(position, 0));
}

// An owner only ever changes to more cells, and publishes their number last. A thief reads the
// number first, so it never combines the old cells with the number of the new ones.

void slot_cache::use_cells(std::span<cell> cells) noexcept {
  // NOLINTNEXTLINE(cppcoreguidelines-pro-type-reinterpret-cast): offsets are numbers
  const auto first = reinterpret_cast<std::uintptr_t>(cells.data() + 1);
  // (6) - this release-store synchronizes-with the acquire-load (5): a thief that sees new cells
  // sees them initialised
  base_.store(static_cast<std::int64_t>(first - address()), std::memory_order_release);
  // (7) - this release-store synchronizes-with the acquire-load (4)
  cell_count_.store(static_cast<std::uint32_t>(cells.size() - 1), std::memory_order_release);
}

// ---- the owner's operations where the kind is locked --------------------------------------------

/// Makes an open cache busy for one hit. Returns false if a thief is at work, or if the cache is
/// not open.
bool slot_cache::try_hold_open(control& held) noexcept {
  // relaxed: only a guess, validated by (8)
  std::uint64_t word = control_.load(std::memory_order_relaxed);
  const control seen(word);
  held = seen.next(phase::busy, /*taken=*/1);
  // (8) - this acq_rel-CAS synchronizes-with the acq_rel-CAS (14, 16) and the acquire-load
  // (3), as (10) does. relaxed on failure: a thief is at work, and (10) will see it
  return seen.now() == phase::open &&
         control_.compare_exchange_strong(word, held.word(), std::memory_order_acq_rel,
                                          std::memory_order_relaxed);
}

/// Opens the cache again. `held` is the word that `try_hold_open` has stored. It is a parameter
/// because reading the word back right after the exchange would be slow.
void slot_cache::end_hold(control held, std::uint32_t count) noexcept {
  // relaxed: published by (9)
  count_.store(count, std::memory_order_relaxed);
  // (9) - this release-store synchronizes-with the acquire-load (3) and the
  // acq_rel-CAS (14), so a thief sees the cells and their number
  control_.store(held.next(phase::open).word(), std::memory_order_release);
}

void* slot_cache::pop_locked() noexcept {
  // relaxed (2x): written by the owner alone
  const std::uint32_t count = count_.load(std::memory_order_relaxed);
  control held;
  if (count == 0 || !try_hold_open(held)) {
    return nullptr;
  }
  void* const item = cells()[count - 1].load(std::memory_order_relaxed);
  end_hold(held, count - 1);
  return item;
}

bool slot_cache::push_locked(void* item, std::uint32_t limit) noexcept {
  // relaxed: written by the owner alone
  const std::uint32_t count = count_.load(std::memory_order_relaxed);
  control held;
  if (count >= limit || !try_hold_open(held)) {
    return false;
  }
  // relaxed: published by (9)
  cells()[count].store(item, std::memory_order_relaxed);
  end_hold(held, count + 1);
  return true;
}

// ---- the owner's slow path ----------------------------------------------------------------------

slot_cache::taken_hold slot_cache::take_hold() noexcept {
  // relaxed: a guess, validated by (10); exact in the frozen phase, as only the owner changes the
  // word
  std::uint64_t word = control_.load(std::memory_order_relaxed);
  for (;;) {
    const control seen(word);
    LIDO_ASSERT(seen.now() != phase::busy, "two threads use one cache");
    // (10) - this acq_rel-CAS synchronizes-with the acq_rel-CAS (14, 16): the thief has finished
    // reading the cells before the owner writes them again. It synchronizes-with the acquire-load
    // (3). So other threads see the busy cache before they see that slots taken by its owner are
    // missing. relaxed on failure: the word is again only a guess
    if (control_.compare_exchange_weak(word, seen.next(phase::busy).word(),
                                       std::memory_order_acq_rel, std::memory_order_relaxed)) {
      return {seen, seen.now() == phase::frozen, seen.now() == phase::revoking};
    }
  }
}

slot_cache::settled slot_cache::settle_pop(lido::cache_kind kind) noexcept {
  const taken_hold hold = take_hold();
  if (kind == lido::cache_kind::locked) {
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
  // The item belongs to this thread, unless the thief saw the cache as it was before the pop.
  const bool lost = hold.robbed && position < hold.before.taken();
  if (position == nowhere || lost) {
    return {nullptr, 0, hold.robbed, hold.contested};
  }
  // relaxed: written by the owner alone
  void* const item = cells()[static_cast<std::size_t>(position)].load(std::memory_order_relaxed);
  return {item, hold.robbed ? 0 : count_from(position), hold.robbed, hold.contested};
}

slot_cache::settled slot_cache::settle_push(lido::cache_kind kind, void* item) noexcept {
  const taken_hold hold = take_hold();
  if (kind == lido::cache_kind::locked) {
    // relaxed: written by the owner alone
    const std::uint32_t count = hold.robbed ? 0 : count_.load(std::memory_order_relaxed);
    return {item, count, hold.robbed, hold.contested};
  }
  const std::int64_t end = position_of_top();
  if (!hold.robbed) {
    return {nullptr, count_from(end), /*robbed=*/false, hold.contested};
  }
  // The top is one past the item. The thief has the item if it saw the cache as it was after the
  // push.
  const bool lost = end != nowhere && end <= hold.before.taken();
  return {lost ? nullptr : item, 0, /*robbed=*/true, hold.contested};
}

slot_cache::settled slot_cache::settle(lido::cache_kind kind) noexcept {
  const taken_hold hold = take_hold();
  return {nullptr, hold.robbed ? 0 : visible_count(kind), hold.robbed, hold.contested};
}

void slot_cache::open(lido::cache_kind kind, std::uint32_t count, std::uint32_t limit) noexcept {
  // relaxed: written by the owner alone
  const std::uint64_t word = control_.load(std::memory_order_relaxed);
  LIDO_ASSERT(control(word).now() == phase::busy, "a cache opens that its owner does not hold");
  if (kind == lido::cache_kind::locked) {
    close_bounds();
    // relaxed: published by (12)
    count_.store(count, std::memory_order_relaxed);
  } else {
    // relaxed: written by the owner alone
    const std::int64_t base = base_.load(std::memory_order_relaxed);
    // relaxed (2x): a thief sets the bounds only after it has seen (12); a store that comes too
    // late costs the owner one trip through the slow path
    low_.store(base - cell_bytes, std::memory_order_relaxed);
    high_.store(static_cast<std::uint64_t>(base + limit * cell_bytes), std::memory_order_relaxed);
    // (11) - this release-store synchronizes-with the acquire-load (15)
    top_.store(base + count * cell_bytes, std::memory_order_release);
  }
  // (12) - this release-store synchronizes-with the acquire-load (3) and the
  // acq_rel-CAS (14), so a thief sees cells, bounds and count
  control_.store(control(word).next(phase::open).word(), std::memory_order_release);
}

void slot_cache::close() noexcept {
  close_bounds();
  // relaxed (2x): written by the owner alone; published by (13)
  count_.store(0, std::memory_order_relaxed);
  const std::uint64_t word = control_.load(std::memory_order_relaxed);
  LIDO_ASSERT(control(word).now() == phase::busy, "a cache closes that its owner does not hold");
  // (13) - this release-store synchronizes-with the acquire-load (3), so a thread that sees the
  // cache frozen also sees the former slots of the cache in the depot
  control_.store(control(word).next(phase::frozen).word(), std::memory_order_release);
}

bool slot_cache::forget_operation_if_idle() noexcept {
  // relaxed: in phase frozen only the owner changes the word
  const control now(control_.load(std::memory_order_relaxed));
  if (now.now() != phase::frozen || position_of_top() != nowhere) {
    return false;
  }
  forget_operation();
  return true;
}

// ---- thieves and spectators ---------------------------------------------------------------------

std::optional<slot_cache::control> slot_cache::revoke(control seen) noexcept {
  const control announced = seen.next(phase::revoking);
  std::uint64_t expected = seen.word();
  // (14) - this acq_rel-CAS synchronizes-with the acq_rel-CAS (8, 10) and the release-store (9,
  // 12), so the bounds below are stored after the owner's bounds
  // relaxed on failure: nothing is read
  if (!control_.compare_exchange_strong(expected, announced.word(), std::memory_order_acq_rel,
                                        std::memory_order_relaxed)) {
    return std::nullopt;
  }
  // relaxed: the heavy fence that follows makes the store visible to the owner
  low_.store((std::numeric_limits<std::int64_t>::max)(), std::memory_order_relaxed);
  // relaxed: as low_
  high_.store(0, std::memory_order_relaxed);
  return announced;
}

std::optional<std::uint32_t> slot_cache::harvest(lido::cache_kind kind, control announced,
                                                 std::span<void*> out) noexcept {
  // (15) - this acquire-load synchronizes-with the release-store (1, 2, 11), so
  // the items below the top are visible, and everything that happened to them
  const std::int64_t top = top_.load(std::memory_order_acquire);
  const std::span<cell> from = cells();
  // relaxed: if the kind is locked, the owner's (9, 12), which (14) has read, orders the load
  const std::uint32_t count = kind == lido::cache_kind::locked
                                  ? count_.load(std::memory_order_relaxed)
                                  : count_from(position_of(top, from));
  if (count > (std::min)(from.size(), out.size())) {
    return std::nullopt;  // the owner is replacing its cells
  }
  for (std::uint32_t i = 0; i < count; ++i) {
    // relaxed: ordered by (15); not used unless (16) succeeds
    out[i] = from[i].load(std::memory_order_relaxed);
  }
  std::uint64_t expected = announced.word();
  // (16) - this acq_rel-CAS synchronizes-with the acq_rel-CAS (8, 10), by which the owner learns
  // what was taken. relaxed on failure: the copy is discarded
  if (!control_.compare_exchange_strong(expected, announced.next(phase::frozen, count).word(),
                                        std::memory_order_acq_rel, std::memory_order_relaxed)) {
    return std::nullopt;
  }
  return count;
}

void slot_cache::withdraw(control announced) noexcept {
  std::uint64_t expected = announced.word();
  // relaxed (2x): nothing was read or written under the announcement; if the CAS fails, the owner
  // has cancelled the announcement
  control_.compare_exchange_strong(expected, announced.next(phase::open).word(),
                                   std::memory_order_relaxed, std::memory_order_relaxed);
}

std::uint64_t slot_cache::hits() const noexcept {
  // relaxed: a number for statistics
  return hits_.load(std::memory_order_relaxed);
}

std::uint32_t slot_cache::visible_count(lido::cache_kind kind) const noexcept {
  // relaxed: a number for statistics
  return kind == lido::cache_kind::locked ? count_.load(std::memory_order_relaxed)
                                          : count_from(position_of_top());
}

}  // namespace lido::inline v0::detail
