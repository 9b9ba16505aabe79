// Ends waits of callbacks whose time is up, in the background threads.
#include "slot_timer.hpp"

#include <algorithm>
#include <mutex>
#include <utility>

#include "../concurrency/wait_tuning.hpp"
#include "lido/base/fail.hpp"
#include "lido/concurrency/backoff.hpp"
#include "lido/concurrency/parking.hpp"

namespace lido::inline v0::detail {

slot_timer::slot_timer(allocator_state& pool)
    : pool_(pool), threads_(background_threads::join(/*is_shared=*/true)) {}

slot_timer& slot_timer::of(allocator_state& pool) {
  callback_timer* timer = pool.use_timer(nullptr);
  if (timer == nullptr) {
    const auto made = std::make_shared<slot_timer>(pool);
    made->self_ = made;
    timer = pool.use_timer(made.get());
    if (timer != made.get()) {
      made->stop();
    }
  }
  // NOLINTNEXTLINE(cppcoreguidelines-pro-type-static-cast-downcast): always a slot_timer
  return static_cast<slot_timer&>(*timer);
}

void slot_timer::add(slot_callback& waiter, nanos at) {
  {
    const std::lock_guard guard(mutex_);
    waits_.push(waiter, at);
  }
  if (try_wake_at(at)) {
    return;
  }
  forget(waiter);
  if (waiter.cancel()) {  // otherwise a worker has ended the wait, and uses `waiter`
    throw_bad_alloc();
  }
}

void slot_timer::forget(slot_callback& waiter) noexcept {
  if (is_foreign_) {
    return;
  }
  const std::lock_guard guard(mutex_);
  waits_.remove(waiter);
}

void slot_timer::look_soon() {
  const nanos at = later(steady_now(), wait_tuning::nanoseconds_between_looks);
  {
    const std::lock_guard guard(mutex_);
    look_at_ = (std::min)(look_at_, at);
  }
  if (!try_wake_at(at)) {
    throw_bad_alloc();
  }
}

/// Leaves the threads. A worker that is calling callbacks no longer needs the pool.
void slot_timer::stop() noexcept {
  {
    lock guard(threads_->mutex());
    for (exponential_backoff backoff; workers_ != 0;) {
      guard.unlock();
      backoff.wait();
      guard.lock();
    }
    threads_->forget_alarm(*this);
    if (std::exchange(is_offered_, false)) {
      threads_->offer(*this, 0, 1);
    }
  }
  threads_->leave();
  const std::shared_ptr<slot_timer> last = std::move(self_);
}

/// Makes sure that `on_alarm` is called at `at`, or earlier. Returns false if there is no thread
/// that could call it.
bool slot_timer::try_wake_at(nanos at) noexcept {
  // relaxed: only a first check, which is repeated with the mutex held
  if (at >= wakes_at_.load(std::memory_order_relaxed)) {
    return true;
  }
  sleep_word timer = nullptr;
  bool has_timer = true;
  {
    const std::lock_guard guard(threads_->mutex());
    // relaxed: the mutex is held
    if (at < wakes_at_.load(std::memory_order_relaxed)) {
      timer = threads_->plan(*this, at);
      has_timer = threads_->has_timer();
      // relaxed: as above
      wakes_at_.store(has_timer ? at : never, std::memory_order_relaxed);
    }
  }
  if (timer != nullptr) {
    unpark(timer);
  }
  return has_timer;
}

/// Lets a worker end the waits. If the system can start no worker, this thread does it.
std::shared_ptr<void> slot_timer::on_alarm(lock& guard, nanos /*now*/) noexcept {
  // relaxed: the mutex is held
  wakes_at_.store(never, std::memory_order_relaxed);
  if (!std::exchange(is_offered_, true)) {
    threads_->offer(*this, 1, 0);
  }
  sleep_word called = nullptr;
  if (!threads_->call_worker(called) && !threads_->has_workers()) {
    return run_next(guard);
  }
  if (called != nullptr) {
    unpark(called);
  }
  return nullptr;
}

std::shared_ptr<void> slot_timer::run_next(lock& guard) noexcept {
  std::shared_ptr<void> alive = self_;
  threads_->end_turn(*this);
  threads_->offer(*this, 0, 1);
  is_offered_ = false;
  ++workers_;
  guard.unlock();
  callback_queue ended;
  (void)try_wake_at(end_late_waits(ended));  // if this fails, the next wait tries again
  guard.lock();
  --workers_;
  guard.unlock();
  call_in_turn(ended);
  guard.lock();
  return alive;
}

/// Ends the waits whose time is up, and adds their callbacks to `ended`. Searches for slots if that
/// is due, and adds the callbacks that were given a slot. Returns when the next wait ends or the
/// next search begins.
nanos slot_timer::end_late_waits(callback_queue& ended) noexcept {
  const pool_scope later_called(ended);
  const nanos now = steady_now();
  std::unique_lock guard(mutex_);
  while (waits_.least_key() <= now) {
    slot_callback& late = *waits_.first();
    waits_.remove(late);
    if (late.cancel()) {
      ended.push_back(late);
    }
  }
  if (look_at_ <= now) {
    look_at_ = never;
    guard.unlock();
    const bool is_done = pool_.look_for_callbacks();
    guard.lock();
    if (!is_done) {
      look_at_ = (std::min)(look_at_, later(now, wait_tuning::nanoseconds_between_looks));
    }
  }
  return (std::min)(waits_.least_key(), look_at_);
}

}  // namespace lido::inline v0::detail
