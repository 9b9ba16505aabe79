/// @file
/// Internal. Threads that wait for a slot, and how slots get to them. Included by
/// slot_source_impl.hpp.
///
/// While somebody waits, no cache is open for longer than its owner needs to notice, so every
/// release comes by here.
#pragma once

#include <utility>

#include "lido/base/tuning.hpp"
#include "lido/magazine/slot_source.hpp"

namespace lido::detail {

/// After slots were put into the depot.
template <index_stack Stack>
void slot_source<Stack>::serve_waiters(thread_cache* self) noexcept {
  if (waiters_.any_after_change() && waiters_.enter_or_ask()) {
    serve_and_leave(self, nullptr);
  }
}

/// After an owner may have opened its cache, or refused to. Either it sees that somebody waits, or
/// that thread sees the cache open and empties it.
template <index_stack Stack>
void slot_source<Stack>::close_for_waiters(thread_cache& cache) noexcept {
  if (!waiters_.any_after_change()) {
    return;
  }
  if (!cache.notes().sizing.closed()) {
    const thread_cache::settled found = cache.settle(kind_);
    (void)flush(cache, found.count, 0);
    cache.notes().sizing.close();
    cache.close();
  }
  if (waiters_.enter_or_ask()) {
    serve_and_leave(&cache, nullptr);
  }
}

/// Gives a slot to whoever waits without a detour through the depot; false: nobody does, or
/// somebody else is at the queue.
template <index_stack Stack>
bool slot_source<Stack>::hand_over(thread_cache* self, void* slot) noexcept {
  const bool can = waiters_.any() && waiters_.try_enter();
  if (can) {
    serve_and_leave(self, slot);
  }
  return can;
}

/// Inside the gate: gives `slot`, if there is one, and what is in the depot, to those who wait.
template <index_stack Stack>
void slot_source<Stack>::serve_and_leave(thread_cache* self, void* slot) noexcept {
  bool carries = false;
  // NOLINTNEXTLINE(misc-no-recursion): it ends at the gate of the queue, which is taken by then
  const auto take = [this, self, &carries] {
    if (!std::exchange(carries, true)) {
      // relaxed: as in take_shared; nobody may want what is taken here any more
      carrying_.fetch_add(1, std::memory_order_relaxed);
    }
    return take_one(self);
  };
  const std::uint32_t given = waiters_.serve_and_leave(slot, take, [this, self](void* left_over) {
    give(self, {&left_over, 1});
  });
  if (carries) {
    // (1) - this release-fetch-sub synchronizes-with the acquire-load slot_source_shared.hpp (2)
    carrying_.fetch_sub(1, std::memory_order_release);
  }
  if (given > 0) {
    // relaxed: a number for statistics
    handed_over_.fetch_add(given, std::memory_order_relaxed);
  }
}

/// A slot of the depot, or null.
template <index_stack Stack>
void* slot_source<Stack>::take_one(thread_cache* self) noexcept {
  if (const slot_index single = depot_.pop_single(); single != null_slot) {
    count_drawn(self, 1);
    return slots_.address_of(single);
  }
  void* slot = nullptr;
  (void)take_shared(self, {&slot, 1});
  return slot;
}

/// Looks everywhere for slots, and gives them to those who wait, in their order, until `me` has one
/// or there is none. Returns whether it is certain that slots that are released from now on will be
/// given to those who wait.
template <index_stack Stack>
bool slot_source<Stack>::look_again(thread_cache* self, const waiter& me) noexcept {
  waiter_queue::announce();
  finding found = finding::free_slot;
  while (found == finding::free_slot && !me.ended()) {
    found = search(self, nullptr);
    if (found == finding::free_slot) {
      waiters_.enter();
      serve_and_leave(self, nullptr);
    }
  }
  const bool certain = found == finding::exhausted;
  if (certain) {
    waiters_.enter();
    waiters_.keep_watch(me);
    serve_and_leave(self, nullptr);
  }
  return certain;
}

template <index_stack Stack>
void* slot_source<Stack>::wait_for_slot(waiter& me, const deadline& until) noexcept {
  thread_cache* const self = own_cache();
  waiters_.enter();
  bool certain = waiters_.append(me);
  serve_and_leave(self, nullptr);
  certain = certain || look_again(self, me);
  // Where it is not certain, for the kernel refuses the heavy fence or a thread stands still, it
  // does not rely on being woken.
  bool late = false;
  while (!late && !me.wait(certain ? until : until.but_within(tuning::nanoseconds_between_looks))) {
    late = certain || until.passed();
    if (!late) {
      certain = look_again(self, me);
    }
  }
  // The word decides: what was given in this very moment is taken.
  if (late && me.cancel()) {
    return leave_queue(self, me);
  }
  void* const slot = me.item();
  return slot != nullptr ? slot : leave_queue(self, me);
}

/// After a wait that was cancelled. Returns null.
template <index_stack Stack>
void* slot_source<Stack>::leave_queue(thread_cache* self, waiter& me) noexcept {
  waiters_.enter();
  waiters_.remove(me);
  serve_and_leave(self, nullptr);
  return nullptr;
}

}  // namespace lido::detail
