/// @file
/// Internal. The tasks of a pool, and what runs them.
#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <mutex>

#include "../concurrency/background_threads.hpp"
#include "effects.hpp"
#include "lido/base/assert.hpp"
#include "lido/concurrency/mutex.hpp"
#include "lido/concurrency/parking.hpp"
#include "lido/resource/options.hpp"

namespace lido::inline v0::detail {

class kernel_shell;

/// Limits how many tasks of a pool may run at once. Guarded by the mutex of the runner.
class task_limit {
 public:
  /// Sets the number of threads that the pool may need, as determined by the kernel.
  void set(std::uint32_t most) noexcept { most_ = most; }
  [[nodiscard]] std::uint32_t busy() const noexcept { return busy_; }
  /// Returns how many more tasks may begin now.
  [[nodiscard]] std::uint32_t remaining() const noexcept {
    return most_ + beyond_ > busy_ ? most_ + beyond_ - busy_ : 0;
  }
  void begin() noexcept { ++busy_; }
  void end() noexcept {
    LIDO_ASSERT(busy_ != 0, "more tasks end than began");
    --busy_;
    beyond_ = (std::min)(beyond_, busy_ > most_ ? busy_ - most_ : 0);
  }
  /// Lets one more task run at the same time. Called when tasks have had to wait for others that do
  /// not return from user code.
  void raise() noexcept {
    constexpr std::uint32_t most_beyond = 64;
    beyond_ = (std::min)(beyond_ + 1, most_beyond);
  }

 private:
  std::uint32_t most_ = 2;
  std::uint32_t beyond_ = 0;
  std::uint32_t busy_ = 0;
};

/// Stores the tasks of a pool until a thread takes them. That thread is one of the
/// `background_threads` or, in a pool without threads, the thread that calls `run_posted`. The
/// timekeeping thread runs no user code except the pool's clock, unless no worker can be started.
class task_runner final : public background_user {
 public:
  task_runner(kernel_shell& shell, bool has_threads) noexcept
      : shell_(shell), planned_(has_threads ? never : 0) {}
  task_runner(const task_runner&) = delete;
  task_runner& operator=(const task_runner&) = delete;
  /// Requires: no task is running, unless `stop` was called.
  ~task_runner() { stop(); }

  // ---- called by the pool -----------------------------------------------------------------------

  /// Joins the background threads in a pool that uses them, but starts none. Throws std::bad_alloc.
  void start(lido::maintenance by);
  /// Takes over the tasks in `out.start` and, in a pool with threads, the resources in
  /// `out.destroy`. If `all` is true, also takes over reports and callbacks. If there is no thread
  /// to run them, runs everything itself.
  void post(effects& out, bool all) noexcept;
  /// Makes sure that the pool ticks at the real time `at`, or earlier.
  void tick_by(nanos at) noexcept;
  /// Runs what was posted. Does nothing in a pool with threads.
  void run_posted() noexcept;
  /// Waits until the pool is drained and no task is running, or the time is up. Returns how many
  /// tasks are left.
  [[nodiscard]] std::size_t wait_until_ended(const deadline& until) noexcept;
  void wake_closing() noexcept;
  /// Leaves the threads. They no longer touch the pool, except to run tasks that are left. Such
  /// tasks keep the core alive.
  void stop() noexcept;

  // ---- called by the threads, with their mutex held ---------------------------------------------

  /// Runs one task, calls one callback, or delivers all reports, with the mutex unlocked. Wakes or
  /// starts a worker for what is left. The caller must destroy the result with the mutex unlocked.
  [[nodiscard]] std::shared_ptr<void> run_next(lock& guard) noexcept override;
  /// Ticks if a tick is due, with the mutex unlocked. If no task has been taken for a while, wakes
  /// or starts a worker beyond the limit. Returns the same as `run_next`.
  [[nodiscard]] std::shared_ptr<void> on_alarm(lock& guard, nanos now) noexcept override;

 private:
  [[nodiscard]] std::uint32_t tasks() const noexcept {
    return pending_.start.size() + pending_.call.size() + (pending_.tell.empty() ? 0 : 1);
  }
  [[nodiscard]] std::size_t busy() noexcept {
    const std::lock_guard guard(*mutex_);
    return limit_.busy() + (tasks() != 0 ? 1 : 0);
  }
  bool offer() noexcept;
  [[nodiscard]] sleep_word call_worker() noexcept;
  void run_alone(lock& guard) noexcept;
  [[nodiscard]] std::shared_ptr<void> last_reference() noexcept;

  kernel_shell& shell_;
  plain_mutex alone_;                            // used in a pool without threads
  plain_mutex* mutex_ = &alone_;                 // `alone_`, or the mutex of the threads
  std::shared_ptr<background_threads> threads_;  // null in a pool without threads
  pool_tasks pending_;
  task_limit limit_;
  std::uint32_t offered_ = 0;  // tasks that have been offered to the threads
  bool stopping_ = false;
  bool is_ticking_ = false;
  nanos stuck_at_ = never;  // when a worker beyond the limit is due
  // Time of the next tick; 0 without threads, so that no tick is planned.
  atomic<nanos> planned_;
  atomic<std::uint32_t> finished_{0};  // changes when a task ends, and when the pool is drained
  atomic<std::uint32_t> closers_{0};   // threads in `wait_until_ended`
  std::shared_ptr<void> kept_;         // keeps the core alive for tasks left after `stop`
};

}  // namespace lido::inline v0::detail
