// Starts, wakes and ends the threads of pools.
#include "background_threads.hpp"

#include <chrono>
#include <new>
#include <utility>

#include "../platform/platform.hpp"
#include "lido/base/fail.hpp"
#include "lido/platform/compiler.hpp"

namespace lido::inline v0::detail {

namespace {

constexpr std::chrono::seconds longest_idle{10};
/// The number of idle workers that stay for `longest_idle`. Further idle workers end sooner, after
/// `longest_idle_of_many`.
constexpr std::uint32_t few_idle = 2;
constexpr std::chrono::milliseconds longest_idle_of_many{100};

/// The threads that the pools of the process share. Never destroyed, since pools may outlive every
/// static object.
struct process_threads {
  platform::static_mutex mutex;
  background_threads* now = nullptr;  ///< null if no pool has joined
};

constinit process_threads of_process;

/// Starts afresh in each child of a fork, which has none of these threads. Also recreates the
/// mutex, since a thread that does not exist in the child may have held it. Runs before the fork
/// handlers of users, which may construct pools.
LIDO_RUN_AT_LOAD(1001, forget_threads_in_children);
void forget_threads_in_children() noexcept {
  (void)platform::on_fork(nullptr, nullptr, [] { ::new (&of_process) process_threads(); });
}

/// Drops a reference to a pool, perhaps the last one, with the mutex unlocked.
void end_unlocked(std::shared_ptr<void> last, background_threads::lock& guard) noexcept {
  if (last != nullptr) {
    guard.unlock();
    last.reset();
    guard.lock();
  }
}

/// Waits until a thread has ended. If it is the calling thread, detaches it instead: the thread is
/// destroying a pool as its last action.
void join_other(pool_thread& one) noexcept {
  if (!one.joinable()) {
    return;
  }
  one.get_id() == this_pool_thread() ? one.detach() : one.join();
}

}  // namespace

std::shared_ptr<background_threads> background_threads::join(bool is_shared) {
  if (!is_shared) {
    return std::make_shared<background_threads>(is_shared);
  }
  const std::lock_guard guard(of_process.mutex);
  if (of_process.now != nullptr) {
    ++of_process.now->users_;
    return of_process.now->shared_from_this();
  }
  auto made = std::make_shared<background_threads>(is_shared);
  of_process.now = made.get();
  return made;
}

void background_threads::leave() noexcept {
  if (is_shared_) {
    const std::lock_guard guard(of_process.mutex);
    if (--users_ != 0) {
      return;
    }
    of_process.now = nullptr;  // the next pool creates new threads
  }
  stop();
}

/// Waits for the workers that are not running a task, so that they run no code of this library
/// afterwards.
void background_threads::stop() noexcept {
  lock guard(mutex_);
  stopping_ = true;
  const bool is_done = ready_.first() == nullptr;
  for (worker& one : workers_) {
    if (one.is_busy || !is_done) {
      one.thread.detach();
    }
    wake(one.word);
  }
  if (timer_.is_busy) {
    timer_.thread.detach();
  }
  wake(timer_.word);
  guard.unlock();
  // From here on, no other thread touches the list or the handles.
  for (worker& one : workers_) {
    join_other(one.thread);
  }
  join_other(timer_.thread);
  join_other(ended_);
}

void background_threads::offer(background_user& one, std::uint32_t tasks,
                               std::uint32_t before) noexcept {
  offered_ += tasks - before;
  const bool is_in_row = deadline_heap<background_user, ready_tag>::contains(one);
  if (is_in_row && tasks == 0) {
    ready_.remove(one);
  } else if (!is_in_row && tasks != 0) {
    ready_.push(one, ++turn_);
  }
}

bool background_threads::call_worker(sleep_word& called) noexcept {
  called = nullptr;
  if (coming_ >= offered_) {
    return true;
  }
  if (idle_ == nullptr) {
    return start_worker();
  }
  worker& one = *std::exchange(idle_, idle_->next_idle);
  --idle_count_;
  one.is_idle = false;
  one.is_coming = true;
  ++coming_;
  change(one.word);
  called = &one.word;
  return true;
}

sleep_word background_threads::plan(background_user& one, nanos at) noexcept {
  if (deadline_heap<background_user, alarm_tag>::contains(one)) {
    if (timer_.is_running && deadline_heap<background_user, alarm_tag>::key_of(one) <= at) {
      return nullptr;
    }
    at = (std::min)(at, deadline_heap<background_user, alarm_tag>::key_of(one));
    alarms_.remove(one);
  }
  alarms_.push(one, at);
  if (!timer_.is_running) {
    start_timer();
    return nullptr;
  }
  if (at >= timer_.sleeps_until) {
    return nullptr;
  }
  timer_.sleeps_until = at;
  change(timer_.word);
  return &timer_.word;
}

bool background_threads::start_worker() noexcept {
  const auto start = [this] {
    worker& one = workers_.emplace_back();
    one.thread = attempt([&] { return thread_of(one); }, [] { return pool_thread(); });
    if (!one.thread.joinable()) {
      workers_.pop_back();
      return false;
    }
    ++coming_;
    return true;
  };
  return !stopping_ && attempt(start, [] { return false; });
}

/// Starts the thread of a worker. Throws std::system_error or std::bad_alloc.
pool_thread background_threads::thread_of(worker& one) {
  return start_pool_thread("lido-work", [this, &one, alive = shared_from_this()] { work(one); });
}

void background_threads::start_timer() noexcept {
  const auto start = [this] {
    timer_.sleeps_until = 0;
    timer_.thread =
        start_pool_thread("lido-time", [this, alive = shared_from_this()] { keep_time(); });
    timer_.is_running = true;
  };
  attempt(start, [] {});  // the next call of `plan` tries again
}

void background_threads::work(worker& self) noexcept {
  lock guard(mutex_);
  do {
    coming_ -= std::exchange(self.is_coming, false) ? 1U : 0U;
    while (background_user* const next = ready_.first()) {
      self.is_busy = true;
      end_unlocked(next->run_next(guard), guard);
      self.is_busy = false;
    }
  } while (!stopping_ && wait_for_task(self, guard));
  if (!stopping_) {
    pool_thread own = std::move(self.thread);
    workers_.remove_if([&self](const worker& one) { return &one == &self; });
    retire(own, guard);
  }
}

/// Waits for a task. Returns false if the worker must end.
bool background_threads::wait_for_task(worker& self, lock& guard) noexcept {
  const deadline until = idle_count_ < few_idle ? deadline::after(longest_idle)
                                                : deadline::after(longest_idle_of_many);
  self.next_idle = std::exchange(idle_, &self);
  self.is_idle = true;
  ++idle_count_;
  for (bool in_time = true; in_time && self.is_idle && !stopping_;) {
    // relaxed: changes only while the mutex is held
    const std::uint32_t seen = self.word.load(std::memory_order_relaxed);
    guard.unlock();
    in_time = park(self.word, seen, until);
    guard.lock();
  }
  if (!self.is_idle) {
    return true;
  }
  worker** link = &idle_;
  while (*link != &self) {
    link = &(*link)->next_idle;
  }
  *link = self.next_idle;
  --idle_count_;
  return false;
}

void background_threads::keep_time() noexcept {
  lock guard(mutex_);
  for (bool is_bored = false; !stopping_ && !is_bored;) {
    const nanos next = alarms_.least_key();
    const nanos now = steady_now();
    if (next <= now) {
      background_user& due = *alarms_.first();
      alarms_.remove(due);
      timer_.is_busy = true;
      end_unlocked(due.on_alarm(guard, now), guard);
      timer_.is_busy = false;
      continue;
    }
    timer_.sleeps_until = next;
    // relaxed: changes only while the mutex is held
    const std::uint32_t seen = timer_.word.load(std::memory_order_relaxed);
    guard.unlock();
    const bool in_time =
        park(timer_.word, seen,
             next == never ? deadline::after(longest_idle) : deadline::at_nanoseconds(next));
    guard.lock();
    timer_.sleeps_until = 0;
    is_bored = !in_time && alarms_.first() == nullptr;
  }
  if (!stopping_) {
    timer_.is_running = false;
    pool_thread own = std::move(timer_.thread);
    retire(own, guard);
  }
}

/// Ends the calling thread. The thread has left this code by the time that `stop` returns, or that
/// the next thread to end has waited for this thread. Destructors of thread_local objects run after
/// this code, and delay nothing else.
void background_threads::retire(pool_thread& own, lock& guard) noexcept {
  own.swap(ended_);
  guard.unlock();
  if (own.joinable()) {
    own.join();
  }
}

void background_threads::wake(atomic<std::uint32_t>& word) noexcept {
  change(word);
  unpark(&word);
}

/// Announces a change to the thread that sleeps on `word`. The mutex orders everything else.
void background_threads::change(atomic<std::uint32_t>& word) noexcept {
  // relaxed: see above
  word.fetch_add(1, std::memory_order_relaxed);
}

}  // namespace lido::inline v0::detail
