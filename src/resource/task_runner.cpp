// What runs the tasks of a pool: its threads, of which one keeps time, or calls of `tick`.
#include "task_runner.hpp"

#include <algorithm>
#include <chrono>
#include <utility>

#include "../platform/platform.hpp"
#include "callback_waiter.hpp"
#include "kernel_shell.hpp"
#include "lido/base/fail.hpp"
#include "lido/base/tuning.hpp"

namespace lido::inline v0::detail {

void task_runner::start() {
  if (has_threads_) {
    const std::lock_guard guard(mutex_);
    threads_.emplace_back();  // before there is a thread, which a failed allocation would leave
    threads_.back() = platform::start_thread(
        "lido-time", [this, alive = shell_.core().shared_from_this()] { keep_time(); });
  }
}

/// Runs the effects itself after `stop`, since no thread may be left to take them.
void task_runner::post(effects& out, bool all) noexcept {
  lock guard(mutex_);
  most_ = out.most_threads;
  pending_.start.append(out.start);
  if (all && !stopping_) {  // otherwise the caller sees to it
    pending_.start.append(out.destroy);
    pending_.call.append(out.call);
    pending_.tell.splice(pending_.tell.end(), out.tell);
  }
  call_worker(/*beyond=*/false);
  if (stopping_) {
    run_alone(guard);
  }
}

void task_runner::tick_by(nanos at) noexcept {
  // relaxed: a first look; the mutex decides
  if (at >= planned_.load(std::memory_order_relaxed)) {
    return;
  }
  const std::lock_guard guard(mutex_);
  // relaxed: under the mutex
  if (at < planned_.load(std::memory_order_relaxed)) {
    // relaxed: as above
    planned_.store(at, std::memory_order_relaxed);
    wake(timer_);
  }
}

std::size_t task_runner::wait_until_ended(const deadline& until) noexcept {
  for (bool in_time = true; in_time;) {
    // relaxed: the mutexes order it
    const std::uint32_t seen = finished_.load(std::memory_order_relaxed);
    if (shell_.is_drained() && busy() == 0) {
      break;
    }
    call_before_sleep();  // what is under way may be for this thread to do
    run_posted();
    in_time = park(finished_, seen, until);
  }
  wake(finished_);  // another closer: a wake-up reaches one thread, which may have been this one
  return busy();
}

void task_runner::stop() noexcept {
  std::vector<std::thread> ending;
  {
    const std::lock_guard guard(mutex_);
    stopping_ = true;
    ending.swap(threads_);
    wake(timer_);
    for (std::size_t i = 0; i < ending.size(); ++i) {
      wake(work_);
    }
  }
  const bool is_idle = busy() == 0;
  for (std::thread& one : ending) {
    if (is_idle && one.joinable() && one.get_id() != std::this_thread::get_id()) {
      one.join();
    } else if (one.joinable()) {
      one.detach();
    }
  }
}

/// What the first thread runs.
void task_runner::keep_time() noexcept {
  lock guard(mutex_);
  while (!stopping_) {
    if (stuck_at_ <= steady_now()) {
      stuck_at_ = never;
      call_worker(/*beyond=*/true);
      run_alone(guard);  // if the system has no thread for a worker
    }
    // relaxed (2x): under the mutex
    const std::uint32_t seen = timer_.load(std::memory_order_relaxed);
    const nanos planned = planned_.load(std::memory_order_relaxed);
    const nanos now = steady_now();
    const bool is_due = planned <= now;
    if (is_due) {  // a tick plans the next one
      // relaxed: as above
      planned_.store(never, std::memory_order_relaxed);
    }
    const nanos next = (std::min)(planned, stuck_at_);
    guard.unlock();
    if (is_due) {
      shell_.core().tick(/*by_pool=*/true);
    } else {
      (void)park(
          timer_, seen,
          next == never ? deadline() : deadline::after(std::chrono::nanoseconds(next - now)));
    }
    guard.lock();
  }
  run_alone(guard);
}

/// What the other threads, the workers, run. A worker that ends before the pool drops its reference
/// under the mutex, where it cannot be the last one. Destructors of thread_local objects that run
/// after that hold nothing up.
void task_runner::work(std::size_t place, std::shared_ptr<void>&& alive) noexcept {
  constexpr std::chrono::seconds longest_idle{10};
  lock guard(mutex_);
  bool is_bored = false;
  while (has_work() || !(stopping_ || is_bored)) {
    if (has_work()) {
      run_next(guard);
      is_bored = false;
      continue;
    }
    ++idle_;
    // relaxed: changes under the mutex
    const std::uint32_t seen = work_.load(std::memory_order_relaxed);
    guard.unlock();
    is_bored = !park(work_, seen, deadline::after(longest_idle));
    guard.lock();
    --idle_;
  }
  --workers_;
  if (!stopping_) {
    threads_[place].detach();
    alive.reset();
  }
}

/// Runs the work as long as there are no workers.
void task_runner::run_alone(lock& guard) noexcept {
  while (workers_ == 0 && has_work()) {
    run_next(guard);
  }
}

/// Does one task, calls one callback, or tells all reports, meanwhile without the mutex. Calls a
/// worker for what is left.
void task_runner::run_next(lock& guard) noexcept {
  effects todo;
  pool_slot* const slot = pending_.start.pop();
  if (slot == nullptr) {
    if (acquire_waiter* const waiter = pending_.call.pop_front()) {
      todo.call.push_back(*waiter);
    } else {
      todo.tell.swap(pending_.tell);
    }
  }
  ++busy_;
  stuck_at_ = never;
  call_worker(/*beyond=*/false);
  guard.unlock();
  if (slot != nullptr) {
    shell_.calls().run_task(*slot);
  } else {
    shell_.run(todo, /*by_pool=*/false);
  }
  guard.lock();
  --busy_;
  wake(finished_);
}

/// Under the mutex. Wakes an idle worker, or starts one, if there is work. At the limit, and if no
/// work is taken for a while, the thread that keeps time starts one `beyond` it.
void task_runner::call_worker(bool beyond) noexcept {
  if (!has_work()) {
    return;
  }
  if (idle_ != 0) {
    wake(work_);
    return;
  }
  if (stopping_ || threads_.empty()) {
    return;
  }
  const auto start = [this] {
    const std::size_t place = free_place();
    threads_[place] = platform::start_thread(
        "lido-work", [this, place, alive = shell_.core().shared_from_this()]() mutable {
          work(place, std::move(alive));
        });
    ++workers_;
    return true;
  };
  constexpr std::uint32_t most_beyond = 64;
  const bool may_start = workers_ < most_ || (beyond && workers_ < most_ + most_beyond);
  if (may_start && attempt(start, [] { return false; })) {  // false: neither a thread nor memory
    return;
  }
  if (stuck_at_ == never) {
    stuck_at_ = later(steady_now(), tuning::nanoseconds_for_answer);
    wake(timer_);
  }
}

/// Under the mutex. Throws std::bad_alloc.
std::size_t task_runner::free_place() {
  const auto found = std::find_if(threads_.begin(), threads_.end(),
                                  [](const std::thread& one) { return !one.joinable(); });
  const auto place = static_cast<std::size_t>(found - threads_.begin());
  if (found == threads_.end()) {
    threads_.emplace_back();
  }
  return place;
}

/// After a change under a mutex that the sleeper looks at the change with.
void task_runner::wake(atomic<std::uint32_t>& word) noexcept {
  // relaxed: that mutex orders the rest
  word.fetch_add(1, std::memory_order_relaxed);
  unpark(&word);
}

}  // namespace lido::inline v0::detail
