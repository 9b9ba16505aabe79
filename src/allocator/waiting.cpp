// Implements waits for a slot, and gives slots to waiters. While a thread or a callback waits, a
// cache stays open only until its owner notices the waiter, so every release passes through this
// file.
#include <utility>

#include "../concurrency/wait_tuning.hpp"
#include "allocator_state.hpp"
#include "growth.hpp"

namespace lido::inline v0::detail {

/// Serves waiters. Called after slots were put into the depot, and after the fence of
/// exhaustion_proof.
void allocator_state::serve_waiters(owned_cache* self) noexcept {
  if (waiters_.any() && waiters_.enter_or_ask()) {
    serve_and_leave(self, nullptr);
  }
}

/// Serves waiters. Called after an owner may have opened its cache, or has decided not to. Either
/// the owner sees that a thread waits and closes the cache, or the waiting thread sees the open
/// cache and empties it.
void allocator_state::close_for_waiters(owned_cache& cache) noexcept {
  if (!waiters_.any()) {
    return;
  }
  if (!cache.limit.closed()) {
    const slot_cache::settled found = cache.settle(kind_);
    (void)flush(cache, found.count, 0);
    cache.limit.close();
    cache.close();
  }
  if (waiters_.enter_or_ask()) {
    serve_and_leave(&cache, nullptr);
  }
}

/// Gives a slot to a waiting thread, without a detour through the depot. Returns false if no thread
/// waits, or if another thread is inside the gate of the queue.
bool allocator_state::hand_over(owned_cache* self, void* slot) noexcept {
  const bool can = waiters_.any() && waiters_.try_enter();
  if (can) {
    serve_and_leave(self, slot);
  }
  return can;
}

/// Gives `slot` (unless it is null) and slots from the depot to waiters, and leaves the gate. Then
/// calls the callbacks that were given a slot; these may use the pool. Requires: the caller is
/// inside the gate.
void allocator_state::serve_and_leave(owned_cache* self, void* slot) noexcept {
  bool carries = false;
  const auto take = [this, self, &carries] {
    if (!std::exchange(carries, true)) {
      // relaxed: as in refill_many. The mark is needed because all waiters may be gone when the
      // slot arrives
      carrying_.fetch_add(1, std::memory_order_relaxed);
    }
    return refill_one(self);
  };
  const auto put = [this, self](void* left_over) { give(self, {&left_over, 1}); };
  callback_queue calls;
  const std::uint32_t given = waiters_.serve_and_leave(slot, take, put, calls);
  if (carries) {
    // (1) - this release-fetch-sub synchronizes-with the acquire-load theft.cpp (2)
    carrying_.fetch_sub(1, std::memory_order_release);
  }
  if (given > 0) {
    // relaxed: a number for statistics
    handed_over_.fetch_add(given, std::memory_order_relaxed);
  }
  if (!calls.empty()) [[unlikely]] {
    call_in_turn(calls);
  }
}

/// Searches everywhere, and adds slots if none is free. A slot that it finds is afterwards in the
/// depot, or was given to the first waiter.
allocator_state::finding allocator_state::steal_or_grow_for_waiters(owned_cache* self) noexcept {
  const finding found = search(self, nullptr);
  if (found == finding::free_slot || segments_ == nullptr) {
    return found;
  }
  void* const slot = segments_->steal_or_grow();
  // The result is uncertain, because the pool might grow later without a release.
  if (slot == nullptr) {
    return segments_->is_whole() ? found : finding::uncertain;
  }
  waiters_.enter();
  serve_and_leave(self, slot);
  return finding::free_slot;
}

/// Searches everywhere for slots, and gives them to waiters in the order of the queue, until
/// `is_over()` is true or no slot is found.
template <class Over>
allocator_state::finding allocator_state::look_until(owned_cache* self,
                                                     const Over& is_over) noexcept {
  finding found = finding::free_slot;
  while (found == finding::free_slot && !is_over()) {
    found = steal_or_grow_for_waiters(self);
    if (found == finding::free_slot) {
      waiters_.enter();
      serve_and_leave(self, nullptr);
    }
  }
  return found;
}

/// Searches until the wait of `me` has ended or no slot is found. Returns true if slots released
/// from now on will certainly be given to waiters.
bool allocator_state::look_again(owned_cache* self, const slot_waiter& me) noexcept {
  const finding found = look_until(self, [&me] { return me.ended(); });
  const bool certain = found == finding::exhausted;
  if (certain) {
    waiters_.enter();
    waiters_.keep_watch(me);
    serve_and_leave(self, nullptr);
  }
  return certain;
}

/// Puts `me` at the end of the queue, and searches for slots. Returns true if slots released from
/// now on will certainly be given to waiters.
bool allocator_state::join_queue(owned_cache* self, slot_waiter& me) noexcept {
  waiters_.enter();
  const bool is_watched = waiters_.append(me);
  serve_and_leave(self, nullptr);
  return is_watched || look_again(self, me);
}

void* allocator_state::wait_for_slot(slot_waiter& me, const deadline& until) noexcept {
  const std::int64_t begin = begin_event();
  owned_cache* const self = own_cache();
  bool certain = join_queue(self, me);
  // The search is uncertain if the kernel refuses the heavy fence, or if a thread is stopped. As
  // long as it is uncertain, the waiter does not rely on being woken.
  bool late = false;
  call_before_sleep();
  while (!late &&
         !me.wait(certain ? until : until.but_within(wait_tuning::nanoseconds_between_looks))) {
    late = certain || until.passed();
    if (!late) {
      certain = look_again(self, me);
    }
  }
  // The waiter's word decides: a slot that is given at this very moment is accepted.
  void* const slot = late && me.cancel() ? nullptr : me.item();
  end_event(traced_act::wait, begin, slot != nullptr ? 1 : 0);
  if (slot == nullptr) {
    leave_queue(self, me);
  }
  return slot;
}

/// Returns the timer of the pool. If there is none, `made` becomes the timer, unless it is null.
callback_timer* allocator_state::use_timer(callback_timer* made) noexcept {
  waiters_.enter();
  timer_ = timer_ != nullptr ? timer_ : made;
  callback_timer* const timer = timer_;
  serve_and_leave(own_cache(), nullptr);
  return timer;
}

/// Leaves the queue after a wait that was cancelled.
void allocator_state::leave_queue(owned_cache* self, slot_waiter& me) noexcept {
  waiters_.enter();
  waiters_.remove(me);
  serve_and_leave(self, nullptr);
  // relaxed: a number for statistics
  ended_waits_.fetch_add(1, std::memory_order_relaxed);
}

/// Searches for slots on behalf of callbacks whose own search was uncertain. Returns true if no
/// further search is needed.
bool allocator_state::look_for_callbacks() noexcept {
  return look_until(own_cache(), [this] { return !waiters_.any(); }) != finding::uncertain;
}

}  // namespace lido::inline v0::detail
