// Implements the operations that concern all slots of a pool: visits of the free slots, beside
// other threads, and a restart, after which every slot is free.
#include <array>
#include <span>
#include <utility>

#include "../concurrency/pool_scope.hpp"
#include "allocator_state.hpp"
#include "growth.hpp"
#include "lido/allocator/slot_allocator.hpp"
#include "lido/base/assert.hpp"
#include "lido/base/fail.hpp"
#include "slot_set.hpp"

namespace lido::inline v0::detail {

// ---- visits of the free slots -------------------------------------------------------------------

/// Visits the slots that were set aside, which other threads may acquire. Slots that it has popped
/// go back to the usual lists, before the next visit at the latest. So during a visit this thread
/// holds only the visited slot.
///
/// A visit may take long. Therefore this thread counts as visiting, not as carrying: the slots that
/// it moves still count as slots of the depot, so other threads can count the slots in use.
void allocator_state::visit_free(free_slot_visitor& visitor) noexcept {
  const calls_at_end later;  // callbacks would wait for this thread, which carries slots
  // relaxed: as in refill_many
  visiting_.fetch_add(1, std::memory_order_relaxed);
  set_all_aside(own_cache(), visitor.wants_unused());
  std::array<slot_index, most_per_trip> popped;
  std::uint32_t count = 0;
  const auto store = [&] {
    if (count != 0) {
      give_back(std::span(popped).first(std::exchange(count, 0)));
    }
  };
  while (!visitor.is_done()) {
    const slot_index slot = depot_.pop_aside();
    if (slot == null_slot) {
      break;
    }
    if (visitor.wants(slot)) {
      store();
      visit_one(slot, visitor);
    }
    popped[count++] = slot;
    if (count == popped.size()) {
      store();
    }
  }
  store();
  for (count = depot_.pop_aside(popped); count != 0; count = depot_.pop_aside(popped)) {
    store();
  }
  // (1) - this release-fetch-sub synchronizes-with the acquire-load theft.cpp (3)
  visiting_.fetch_sub(1, std::memory_order_release);
}

/// Visits a slot that this thread holds. A visit may fork. The child process starts with no thread
/// that visits slots, so the surviving thread marks itself there again.
void allocator_state::visit_one(slot_index slot, free_slot_visitor& visitor) noexcept {
  const std::uint32_t forks = forks_;
  visitor.visit(slot);
  if (forks_ != forks) {
    // relaxed: as in refill_many
    visiting_.fetch_add(1, std::memory_order_relaxed);
  }
}

/// Sets aside all slots of open caches and of the depot. If `unused` is false, leaves most of those
/// that have never left the depot, since moving them would make their bookkeeping resident. Stops
/// after as many slots as the pool has, since other threads may release slots as fast as this
/// thread sets them aside. Requires: the caller is visiting.
void allocator_state::set_all_aside(owned_cache* self, bool unused) noexcept {
  (void)steal(self, nullptr, /*take_over=*/false);
  std::array<slot_index, most_per_trip> slots;
  std::uint32_t count = 0;
  for (std::uint32_t moved = 0; moved < capacity(); moved += count) {
    count = unused ? depot_.take_stored({}, slots, most_per_trip) : depot_.take_used(slots);
    if (count == 0) {
      return;
    }
    depot_.set_aside(std::span<const slot_index>(slots).first(count));
    proof_.withdraw_after_change();
    serve_waiters(self);
  }
}

// ---- a restart ----------------------------------------------------------------------------------

/// Empties the caches first, because their owners then notice at their next operations that their
/// slots are gone. Every slot that is not in the depot afterwards is in use.
void allocator_state::restart(used_slot_visitor* visitor) {
  LIDO_ASSERT(!waiters_.any(), "release_all of a pool while a thread waits for it");
  LIDO_ASSERT(!is_restarting(), "a destructor that release_all calls uses the pool");
  if (visitor != nullptr) {
    visit_used(*visitor);
  } else {
    mark_use(nullptr, 0);
    empty_caches();
  }
  depot_.restart();
  if (segments_ != nullptr) {
    segments_->for_each_in_service(
        [this](slot_index first, slot_index last) { depot_.add(first, last); });
  }
  forget_drawn();
  proof_.withdraw_after_change();
}

/// Calls `f` for ranges of slots that exist and include all slots in use.
template <class F>
void allocator_state::for_each_range(F f) {
  if (segments_ == nullptr) {
    depot_.for_each_touched_range(f);
  } else {
    segments_->for_each_in_service(f);
  }
}

namespace {

/// Visits the slots from `first` to `last` that are not in `free`.
void visit_others(const slot_set& free, used_slot_visitor& visitor, slot_index first,
                  slot_index last) {
  for (slot_index slot = first; slot < last; ++slot) {
    if (!free.contains(slot)) {
      visitor.visit(slot);
    }
  }
}

}  // namespace

/// Takes all free slots out of the allocator, and visits the others. Throws std::bad_alloc, in
/// which case it has had no effect, unless the program has provided memory for the set.
void allocator_state::visit_used(used_slot_visitor& visitor) {
  slot_set free = has_set_               ? slot_set(capacity(), this + 1)
                  : segments_ == nullptr ? slot_set(capacity())
                                         : slot_set(segments_->end_of_service());
  if (!free.is_valid()) {
    throw_bad_alloc();
  }
  mark_use(nullptr, 0);
  empty_caches();
  take_free(free);
  // relaxed (2x): as in is_restarting
  restarts_.store(true, std::memory_order_relaxed);
  for_each_range(
      [&](slot_index first, slot_index last) { visit_others(free, visitor, first, last); });
  restarts_.store(false, std::memory_order_relaxed);
}

/// Takes the slots of the depot before a restart. Leaves untouched slots there.
void allocator_state::take_free(slot_set& free) noexcept {
  std::array<slot_index, most_per_trip> slots;
  while (const std::uint32_t count = depot_.take_touched(slots)) {
    for (const slot_index slot : std::span<const slot_index>(slots).first(count)) {
      free.insert(slot);
    }
  }
}

/// Resets the counts of slots that have left the depot.
// relaxed (whole function): no other thread uses the pool
void allocator_state::forget_drawn() noexcept {
  for (std::uint32_t number = lowest(); number <= highest(); ++number) {
    owned_cache& cache = entry(number);
    cache.drawn.store(0, std::memory_order_relaxed);
    cache.reported = 0;
    cache.most_drawn = 0;
  }
  drawn_uncached_.store(0, std::memory_order_relaxed);
  out_.store(0, std::memory_order_relaxed);
  counted_out_.store(0, std::memory_order_relaxed);
}

}  // namespace lido::inline v0::detail
