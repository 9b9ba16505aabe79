// Lets a callback wait for a slot, and calls it.
#include "slot_callback.hpp"

#include <memory>

#include "../concurrency/coroutine_wait.hpp"
#include "../platform/platform.hpp"
#include "allocator_state.hpp"
#include "lido/allocator/slot_allocator.hpp"
#include "lido/base/fail.hpp"
#include "slot_timer.hpp"

namespace lido::inline v0::detail {

slot_callback::slot_callback(slot_allocator& owner, allocator_state& pool,
                             completion<slot_outcome> done) noexcept
    : slot_waiter(&slot_callback::come),
      owner_(owner),
      pool_(pool),
      done_(std::move(done)),
      begin_(begin_event()) {}

void slot_callback::begin(slot_allocator& owner, allocator_state& pool, const slot_wait& wait,
                          completion<slot_outcome> done) {
  std::unique_ptr<slot_callback> made(new slot_callback(owner, pool, std::move(done)));
  if (!wait.until.is_never()) {
    made->timer_ = &slot_timer::of(pool);
    made->timer_->add(*made, wait.until.nanoseconds());
  }
  slot_callback& me = *made.release();
  me.on_stop_.emplace(wait.stop, stopper{&me});
  if (!me.ended() && !pool.join_queue(pool.own_cache(), me)) {
    me.let_timer_look();
  }
  // If the wait has ended, no other thread uses `me` any more: `come` finds that both have come.
  if (me.comes_second()) {
    me.come_in_turn();
  }
}

/// Lets the timer search again and again, because the search of this waiter was uncertain. Throws
/// std::bad_alloc if that is not possible and the wait has not ended.
void slot_callback::let_timer_look() {
  const auto look = [this] {
    slot_timer::of(pool_).look_soon();
    return true;
  };
  if (attempt(look, [] { return false; }) || !cancel()) {
    return;
  }
  const std::unique_ptr<slot_callback> last(this);
  leave_others();
  pool_.leave_queue(pool_.own_cache(), *this);
  throw_bad_alloc();
}

/// Leaves the stop token and the timer.
void slot_callback::leave_others() noexcept {
  on_stop_.reset();
  if (timer_ != nullptr) {
    timer_->forget(*this);
  }
}

void slot_callback::stop() noexcept {
  if (cancel()) {
    come_in_turn();
  }
}

/// Calls `come`, or lets this thread do so later if it is running a callback. Requires: no other
/// thread does the same for this wait.
void slot_callback::come_in_turn() noexcept {
  callback_queue calls;
  calls.push_back(*this);
  call_in_turn(calls);
}

/// Called by the thread that has ended the wait. Calls the callback, unless the thread that began
/// the wait is still to come.
void slot_callback::come(callback_wait& wait) noexcept {
  // NOLINTNEXTLINE(cppcoreguidelines-pro-type-static-cast-downcast): always a slot_callback
  auto& me = static_cast<slot_callback&>(wait);
  if (me.comes_second()) {
    me.call();
  }
}

bool slot_callback::comes_second() noexcept {
  if (pool_.is_watched()) [[unlikely]] {
    platform::tell_release(this);
  }
  return both_.comes_second();
}

void slot_callback::call() noexcept {
  const std::unique_ptr<slot_callback> last(this);
  leave_others();
  void* const slot = item();
  if (pool_.is_watched()) [[unlikely]] {
    platform::tell_acquire(this);
    platform::tell_acquire(slot);
  }
  pool_.end_event(traced_act::wait, begin_, slot != nullptr ? 1 : 0);
  if (slot == nullptr) {
    pool_.leave_queue(pool_.own_cache(), *this);
  }
  done_({.slot = slot, .owner = slot != nullptr ? &owner_ : nullptr});
}

void slot_allocator::wait_async(const slot_wait& wait, completion<slot_outcome> done) {
  slot_callback::begin(*this, state(), wait, std::move(done));
}

// ---- coroutines ---------------------------------------------------------------------------------

/// Releases the slot of an outcome that no coroutine can receive.
static void give_back(slot_outcome& found) noexcept {
  if (found.slot != nullptr) {
    found.owner->release(found.slot);
  }
}

template class coroutine_wait<slot_outcome>;

}  // namespace lido::inline v0::detail
