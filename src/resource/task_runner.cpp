// Runs the tasks of a pool.
#include "task_runner.hpp"

#include <algorithm>
#include <chrono>
#include <utility>

#include "../concurrency/pool_scope.hpp"
#include "kernel_shell.hpp"
#include "lido/concurrency/backoff.hpp"
#include "resource_tuning.hpp"

namespace lido::inline v0::detail {

void task_runner::start(lido::maintenance by) {
  if (by != lido::maintenance::by_tick) {
    threads_ = background_threads::join(by == lido::maintenance::background);
    mutex_ = &threads_->mutex();
  }
}

/// Once `stop` has been called, runs the effects itself, since perhaps no thread is left to run
/// them.
void task_runner::post(effects& out, bool all) noexcept {
  lock guard(*mutex_);
  limit_.set(out.most_threads);
  pending_.start.append(out.start);
  if (threads_ != nullptr && !stopping_) {  // otherwise the caller destroys the resources
    pending_.start.append(out.destroy);
  }
  if (all && !stopping_) {  // otherwise the caller runs them
    pending_.call.append(out.call);
    pending_.tell.splice(pending_.tell.end(), out.tell);
  }
  const sleep_word called = call_worker();
  if (stopping_ || (threads_ != nullptr && !threads_->has_any())) {
    run_alone(guard);
  }
  guard.unlock();
  if (called != nullptr) {
    unpark(called);
  }
}

void task_runner::tick_by(nanos at) noexcept {
  // relaxed: only a first check, which is repeated with the mutex held
  if (at >= planned_.load(std::memory_order_relaxed)) {
    return;
  }
  lock guard(*mutex_);
  // relaxed: the mutex is held
  if (stopping_ || at >= planned_.load(std::memory_order_relaxed)) {
    return;
  }
  // relaxed: as above
  planned_.store(at, std::memory_order_relaxed);
  const sleep_word timer = threads_->plan(*this, at);
  if (!threads_->has_timer()) {  // the next event tries again
    // relaxed: as above
    planned_.store(never, std::memory_order_relaxed);
  }
  guard.unlock();
  if (timer != nullptr) {
    unpark(timer);
  }
}

void task_runner::run_posted() noexcept {
  if (threads_ == nullptr) {
    lock guard(*mutex_);
    run_alone(guard);
  }
}

std::size_t task_runner::wait_until_ended(const deadline& until) noexcept {
  // relaxed: as below
  closers_.fetch_add(1, std::memory_order_relaxed);
  for (bool in_time = true; in_time;) {
    // relaxed: the mutexes order the accesses
    const std::uint32_t seen = finished_.load(std::memory_order_relaxed);
    if (shell_.is_drained() && busy() == 0) {
      break;
    }
    call_before_sleep();  // perhaps only this thread can call the callbacks that are left
    run_posted();
    in_time = park(finished_, seen, until);
  }
  // relaxed: as above
  closers_.fetch_sub(1, std::memory_order_relaxed);
  // Wakes another closer, since each wake-up reaches only one thread, perhaps this one.
  wake_closing();
  return busy();
}

void task_runner::stop() noexcept {
  {
    lock guard(*mutex_);
    if (std::exchange(stopping_, true) || threads_ == nullptr) {
      return;
    }
    threads_->forget_alarm(*this);
    for (exponential_backoff backoff; is_ticking_ && !threads_->is_timer();) {
      guard.unlock();
      backoff.wait();
      guard.lock();
    }
    if (tasks() != 0 && !threads_->has_workers()) {
      threads_->offer(*this, 0, std::exchange(offered_, 0U));  // a worker may start in between
      run_alone(guard);
    }
    if (tasks() != 0 || limit_.busy() != 0 || is_ticking_) {
      kept_ = shell_.core().shared_from_this();
    }
  }
  threads_->leave();
}

std::shared_ptr<void> task_runner::run_next(lock& guard) noexcept {
  effects todo;
  pool_slot* const slot = pending_.start.pop();
  if (slot == nullptr) {
    if (acquire_waiter* const waiter = pending_.call.pop_front()) {
      todo.call.push_back(*waiter);
    } else {
      todo.tell.swap(pending_.tell);
    }
  }
  limit_.begin();
  stuck_at_ = never;
  if (threads_ != nullptr) {
    threads_->end_turn(*this);
  }
  const sleep_word called = call_worker();
  guard.unlock();
  if (called != nullptr) {
    unpark(called);
  }
  if (slot != nullptr) {
    shell_.calls().run_task(*slot);
  } else {
    shell_.run(todo, /*by_pool=*/false);
  }
  guard.lock();
  limit_.end();
  offer();  // the calling thread continues with one task, and wakes workers for others
  wake_closing();
  return last_reference();
}

std::shared_ptr<void> task_runner::on_alarm(lock& guard, nanos now) noexcept {
  sleep_word called = nullptr;
  if (stuck_at_ <= now) {
    stuck_at_ = never;
    limit_.raise();
    called = call_worker();
    if (!threads_->has_workers() && tasks() != 0) {  // the system could not start a worker
      // Another call will run the tasks that are left.
      (void)threads_->plan(*this, now);
      return run_next(guard);
    }
  }
  // relaxed: the mutex is held
  const bool is_due = planned_.load(std::memory_order_relaxed) <= now;
  if (is_due) {  // the tick below plans the next tick
    // relaxed: as above
    planned_.store(never, std::memory_order_relaxed);
  }
  // This is set even if no tick is due. It makes `stop` wait until this function no longer needs
  // the mutex.
  is_ticking_ = true;
  guard.unlock();
  if (called != nullptr) {
    unpark(called);
  }
  if (is_due) {
    shell_.core().tick(/*by_pool=*/true);
  }
  guard.lock();
  is_ticking_ = false;
  // relaxed: as above
  const nanos next = (std::min)(planned_.load(std::memory_order_relaxed), stuck_at_);
  if (!stopping_ && next != never) {
    (void)threads_->plan(*this, next);
  }
  return last_reference();
}

/// Runs all tasks. Requires: the mutex is held.
void task_runner::run_alone(lock& guard) noexcept {
  while (tasks() != 0) {
    (void)run_next(guard);  // no reference is needed: the caller keeps the core alive
  }
}

/// Offers the threads as many tasks as may begin. Returns false if there are no threads; the caller
/// must then run the tasks. Requires: the mutex is held.
bool task_runner::offer() noexcept {
  if (threads_ == nullptr || (stopping_ && kept_ == nullptr)) {
    return false;
  }
  const std::uint32_t before = offered_;
  offered_ = (std::min)(tasks(), limit_.remaining());
  threads_->offer(*this, offered_, before);
  return true;
}

/// Picks a worker to be woken, or starts one, if there is a task that may begin. If the runner is
/// at its task limit, or if no worker can be started, the timekeeping thread tries again. Returns
/// the word that the caller must wake, or null. Requires: the mutex is held.
sleep_word task_runner::call_worker() noexcept {
  sleep_word called = nullptr;
  if (!offer()) {
    return called;
  }
  const bool is_served = threads_->call_worker(called);
  if (tasks() != 0 && (offered_ == 0 || !is_served) && stuck_at_ == never && !stopping_) {
    stuck_at_ = later(steady_now(), resource_tuning::nanoseconds_for_answer);
    const sleep_word timer = threads_->plan(*this, stuck_at_);
    if (timer != nullptr) {
      unpark(timer);
    }
  }
  return called;
}

/// If the last task after `stop` has ended, returns the reference that keeps the core alive.
/// Otherwise returns null. Requires: the mutex is held.
std::shared_ptr<void> task_runner::last_reference() noexcept {
  return limit_.busy() == 0 && tasks() == 0 ? std::move(kept_) : nullptr;
}

/// Wakes closers. Called after a change that was made with a mutex held. A closer first counts
/// itself in `closers_`, and then locks the same mutex to read the change.
void task_runner::wake_closing() noexcept {
  // relaxed (2x): that mutex orders everything else
  finished_.fetch_add(1, std::memory_order_relaxed);
  if (closers_.load(std::memory_order_relaxed) != 0) {
    unpark(&finished_);
  }
}

}  // namespace lido::inline v0::detail
