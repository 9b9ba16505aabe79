/// @file
/// Internal. The threads of a pool, and the tasks that they run.
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <mutex>
#include <thread>
#include <vector>

#include "effects.hpp"
#include "lido/concurrency/mutex.hpp"
#include "lido/concurrency/parking.hpp"
#include "lido/resource/options.hpp"

namespace lido::inline v0::detail {

class kernel_shell;

/// In a pool with threads, one keeps time. It runs no code of users except the pool's clock, unless
/// no worker can be started. Workers are started when there is work and no idle worker, up to a
/// limit; beyond it, when work has waited for workers that stay in code of users. They end when
/// they have been idle for ten seconds. All keep the core alive.
///
/// In a pool without threads, tasks wait for `run_posted`.
class task_runner {
 public:
  task_runner(kernel_shell& shell, bool has_threads) noexcept
      : shell_(shell), has_threads_(has_threads), planned_(has_threads ? never : 0) {}

  /// Throws std::system_error, std::bad_alloc.
  void start();
  /// Takes what is in `out.start`; with `all` also what is to be destroyed, told and called.
  void post(effects& out, bool all) noexcept;
  /// The pool must be ticked at that time, in real time, or before.
  void tick_by(nanos at) noexcept;
  /// Runs what was posted, in a pool without threads.
  void run_posted() noexcept {
    if (!has_threads_) {
      lock guard(mutex_);
      run_alone(guard);
    }
  }
  /// Until the pool is drained and no task is under way, or the time is up. Returns how many tasks
  /// are left.
  [[nodiscard]] std::size_t wait_until_ended(const deadline& until) noexcept;
  void wake_closing() noexcept { wake(finished_); }
  /// Ends the threads. One in a task ends after it, and is not waited for.
  void stop() noexcept;

 private:
  using lock = std::unique_lock<plain_mutex>;

  [[nodiscard]] bool has_work() const noexcept {
    return !pending_.start.empty() || !pending_.call.empty() || !pending_.tell.empty();
  }
  [[nodiscard]] std::size_t busy() noexcept {
    const std::lock_guard guard(mutex_);
    return busy_ + (has_work() ? 1 : 0);
  }
  void keep_time() noexcept;
  void work(std::size_t place, std::shared_ptr<void>&& alive) noexcept;
  void run_alone(lock& guard) noexcept;
  void run_next(lock& guard) noexcept;
  void call_worker(bool beyond) noexcept;
  [[nodiscard]] std::size_t free_place();
  static void wake(atomic<std::uint32_t>& word) noexcept;

  kernel_shell& shell_;
  const bool has_threads_;
  plain_mutex mutex_;
  effects pending_;
  std::vector<std::thread> threads_;  // the first keeps time; a place without one is free
  std::uint32_t most_ = 2;
  std::uint32_t workers_ = 0;
  std::uint32_t idle_ = 0;
  std::size_t busy_ = 0;
  bool stopping_ = false;
  nanos stuck_at_ = never;  // when there is to be a worker beyond the limit
  atomic<nanos> planned_;   // when the next tick is due; 0 without threads, where none is planned
  atomic<std::uint32_t> timer_{0};     // changes when plans do
  atomic<std::uint32_t> work_{0};      // changes when there is work
  atomic<std::uint32_t> finished_{0};  // changes when a task ends, and when the pool is drained
};

}  // namespace lido::inline v0::detail
