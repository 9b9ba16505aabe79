// The threads of a pool: one keeps time, others run tasks when there are any.
#include <algorithm>
#include <chrono>
#include <mutex>
#include <new>
#include <system_error>
#include <thread>
#include <utility>
#include <vector>

#include "../concurrency/uncancelled.hpp"
#include "async_waiter.hpp"
#include "lido/base/tuning.hpp"
#include "lido/concurrency/mutex.hpp"
#include "lido/resource/pool_core.hpp"
#include "pool_state.hpp"
#include "task_runner.hpp"

namespace lido::detail {

/// The thread that keeps time runs no code of users except the pool's clock, unless no worker can
/// be started. Workers are started when there is work and no idle worker, up to a limit; beyond it,
/// when work has waited for workers that stay in code of users. They end when they have been idle
/// for ten seconds. All keep the core alive.
class worker_threads final : public task_runner {
 public:
  explicit worker_threads(pool_core& core) noexcept : core_(core) {}

  void start() override {
    const std::lock_guard guard(mutex_);
    threads_.reserve(2);
    threads_.emplace_back([this, alive = core_.shared_from_this()] { keep_time(); });
  }

  void post(effects& out, bool all) noexcept override {
    bool wakes = false;
    {
      const std::lock_guard guard(mutex_);
      most_ = out.most_threads;
      tasks_.append(out.start);
      if (all && !stopping_) {  // otherwise the caller sees to it
        take_all(out);
      }
      wakes = has_work() && idle_ != 0;
      if (has_work() && !wakes) {
        start_worker();
      }
    }
    if (wakes) {
      wake_worker();
    }
  }

  void plan(nanos at) noexcept override {
    // relaxed: a first look; the mutex decides
    if (at >= planned_.load(std::memory_order_relaxed)) {
      return;
    }
    {
      const std::lock_guard guard(mutex_);
      // relaxed (2x): under the mutex
      if (at >= planned_.load(std::memory_order_relaxed)) {
        return;
      }
      planned_.store(at, std::memory_order_relaxed);
    }
    // relaxed: what is planned is under the mutex
    timer_.fetch_add(1, std::memory_order_relaxed);
    unpark(&timer_);
  }

  [[nodiscard]] std::size_t busy() noexcept override {
    const std::lock_guard guard(mutex_);
    return busy_ + (has_work() ? 1 : 0);
  }

  [[nodiscard]] bool wait_until_idle(const deadline& until) noexcept override {
    for (;;) {
      // relaxed: changes under the mutex, before `busy_` is read
      const std::uint32_t seen = finished_.load(std::memory_order_relaxed);
      if (busy() == 0) {
        return true;
      }
      if (!park(finished_, seen, until)) {
        return busy() == 0;
      }
    }
  }

  void stop() noexcept override {
    std::vector<std::thread> ending;
    {
      const std::lock_guard guard(mutex_);
      stopping_ = true;
      ending.swap(threads_);
      if (retired_.joinable()) {
        ending.push_back(std::move(retired_));  // there was room for it
      }
    }
    // relaxed (2x): the flag is under the mutex
    timer_.fetch_add(1, std::memory_order_relaxed);
    unpark(&timer_);
    for (std::size_t i = 0; i < ending.size(); ++i) {
      wake_worker();
    }
    const bool is_idle = busy() == 0;
    const uncancelled guard;  // a join is a cancellation point
    for (std::thread& thread : ending) {
      if (is_idle && thread.get_id() != std::this_thread::get_id()) {
        thread.join();
      } else {
        thread.detach();
      }
    }
  }

 private:
  /// What one worker does at a time.
  struct work {
    pool_slot* slot = nullptr;
    wait_queue call;
    std::vector<lease_report> tell;
    [[nodiscard]] bool empty() const noexcept {
      return slot == nullptr && call.empty() && tell.empty();
    }
  };

  static constexpr std::chrono::seconds longest_idle{10};

  [[nodiscard]] bool has_work() const noexcept {
    return !tasks_.empty() || !calls_.empty() || !reports_.empty();
  }

  void take_all(effects& out) noexcept {
    tasks_.append(out.destroy);
    while (acquire_waiter* const waiter = out.call.pop_front()) {
      calls_.push_back(*waiter);
    }
    if (reports_.empty()) {
      reports_.swap(out.tell);
      return;
    }
    try {
      reports_.insert(reports_.end(), out.tell.begin(), out.tell.end());
    } catch (const std::bad_alloc&) {  // a report is not worth more
    }
    out.tell.clear();
  }

  void keep_time() noexcept {
    // relaxed: changes before the mutex is taken in `next_tick`
    for (std::uint32_t seen = timer_.load(std::memory_order_relaxed);;
         // relaxed: as above
         seen = timer_.load(std::memory_order_relaxed)) {
      bool is_over = false;
      bool is_alone = false;
      const nanos at = next_tick(is_over, is_alone);
      if (is_alone) {
        run_alone();
      }
      const nanos now = steady_now();
      if (is_over) {
        return;
      }
      if (at <= now) {
        core_.tick_by_pool();
      } else {
        (void)park(timer_, seen,
                   at == never ? deadline() : deadline::after(std::chrono::nanoseconds(at - now)));
      }
    }
  }

  /// Runs tasks in this thread, because the system has no thread for a worker.
  void run_alone() noexcept {
    for (work todo = take_alone(); !todo.empty(); todo = take_alone()) {
      run(todo);
    }
  }
  [[nodiscard]] work take_alone() noexcept {
    const std::lock_guard guard(mutex_);
    work todo = workers_ == 0 ? next() : work();
    busy_ += todo.empty() ? 0 : 1;
    return todo;
  }

  /// A tick plans the next one.
  [[nodiscard]] nanos next_tick(bool& is_over, bool& is_alone) noexcept {
    const std::lock_guard guard(mutex_);
    const nanos now = steady_now();
    is_over = stopping_;
    if (stuck_at_ <= now) {
      stuck_at_ = never;
      if (has_work() && idle_ == 0) {
        start_worker(/*beyond=*/true);
        is_alone = workers_ == 0;
      }
    }
    // relaxed: under the mutex
    const nanos at = planned_.load(std::memory_order_relaxed);
    if (at <= now) {
      // relaxed: as above
      planned_.store(never, std::memory_order_relaxed);
    }
    return std::min(at, stuck_at_);
  }

  void run_tasks() noexcept {
    bool is_over = false;
    while (!is_over) {
      std::uint32_t seen = 0;
      work todo = take_work(seen, is_over);
      if (!todo.empty()) {
        run(todo);
      } else if (!is_over) {
        is_over = !sleep(seen);
      }
    }
  }

  /// Also sees to it that what is left has a thread.
  [[nodiscard]] work take_work(std::uint32_t& seen, bool& is_over) noexcept {
    work todo;
    bool wakes = false;
    {
      const std::lock_guard guard(mutex_);
      todo = next();
      // relaxed: changes after the mutex was given back
      seen = work_.load(std::memory_order_relaxed);
      is_over = todo.empty() && stopping_;
      workers_ -= is_over ? 1 : 0;
      idle_ += todo.empty() && !is_over ? 1 : 0;
      busy_ += todo.empty() ? 0 : 1;
      wakes = has_work() && idle_ != 0;
      if (has_work() && !wakes) {
        start_worker();
      }
    }
    if (wakes) {
      wake_worker();
    }
    return todo;
  }

  /// False: there was nothing to do for long.
  [[nodiscard]] bool sleep(std::uint32_t seen) noexcept {
    const bool called = park(work_, seen, deadline::after(longest_idle));
    const std::lock_guard guard(mutex_);
    --idle_;
    if (called || stopping_ || has_work()) {
      return true;
    }
    --workers_;
    retire_thread();
    return false;
  }

  [[nodiscard]] work next() noexcept {
    work found;
    stuck_at_ = never;
    found.slot = tasks_.pop();
    if (found.slot == nullptr) {
      if (acquire_waiter* const waiter = calls_.pop_front()) {
        found.call.push_back(*waiter);
      } else {
        found.tell.swap(reports_);
      }
    }
    return found;
  }

  void run(work& todo) noexcept {
    if (todo.slot != nullptr) {
      core_.run_task(*todo.slot);
    } else {
      effects rest;
      rest.tell.swap(todo.tell);
      while (acquire_waiter* const waiter = todo.call.pop_front()) {
        rest.call.push_back(*waiter);
      }
      core_.run(rest, /*by_pool=*/false);
    }
    {
      const std::lock_guard guard(mutex_);
      --busy_;
      // relaxed: under the mutex
      finished_.fetch_add(1, std::memory_order_relaxed);
    }
    unpark(&finished_);
  }

  /// Under the mutex. Without a thread those that there are run all.
  void start_worker(bool beyond = false) noexcept {
    if (stopping_ || threads_.empty()) {
      return;
    }
    if (workers_ >= most_ && !beyond) {
      watch_work();
      return;
    }
    try {
      join_retired();
      threads_.reserve(threads_.size() + 2);
      threads_.emplace_back([this, alive = core_.shared_from_this()] { run_tasks(); });
      ++workers_;
      return;
    } catch (const std::system_error&) {
    } catch (const std::bad_alloc&) {
    }
    watch_work();
  }

  /// Under the mutex. If none of the work is taken for a while, another worker is started.
  void watch_work() noexcept {
    if (stuck_at_ == never) {
      stuck_at_ = later(steady_now(), tuning::nanoseconds_for_answer);
      // relaxed: the rest is under the mutex
      timer_.fetch_add(1, std::memory_order_relaxed);
      unpark(&timer_);
    }
  }

  /// Under the mutex, by a thread that ends: the next one that is started takes its place.
  void retire_thread() noexcept {
    for (std::thread& thread : threads_) {
      if (thread.get_id() == std::this_thread::get_id()) {
        join_retired();
        retired_.swap(thread);
        std::swap(thread, threads_.back());
        threads_.pop_back();
        return;
      }
    }
  }
  void join_retired() noexcept {
    if (retired_.joinable()) {
      retired_.join();
    }
  }

  void wake_worker() noexcept {
    // relaxed: what there is to do is under the mutex
    work_.fetch_add(1, std::memory_order_relaxed);
    unpark(&work_);
  }

  pool_core& core_;
  plain_mutex mutex_;
  slot_queue tasks_;
  wait_queue calls_;
  std::vector<lease_report> reports_;
  std::vector<std::thread> threads_;
  std::thread retired_;
  std::uint32_t most_ = 2;
  std::uint32_t workers_ = 0;
  std::uint32_t idle_ = 0;
  std::size_t busy_ = 0;
  bool stopping_ = false;
  nanos stuck_at_ = never;  // when there is to be a worker beyond the limit
  atomic<nanos> planned_{never};
  atomic<std::uint32_t> timer_{0};     // changes when plans do
  atomic<std::uint32_t> work_{0};      // changes when there is work
  atomic<std::uint32_t> finished_{0};  // changes when a task ends
};

std::unique_ptr<task_runner> make_worker_threads(pool_core& core) {
  return std::make_unique<worker_threads>(core);
}

}  // namespace lido::detail
