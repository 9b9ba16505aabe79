/// @file
/// Internal. Runs the tasks of a pool, in its threads or in `tick`.
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>

#include "effects.hpp"
#include "lido/concurrency/parking.hpp"
#include "lido/resource/limits.hpp"

namespace lido::detail {

class pool_core;

class task_runner {
 public:
  task_runner() = default;
  task_runner(const task_runner&) = delete;
  task_runner& operator=(const task_runner&) = delete;
  virtual ~task_runner() = default;

  /// Throws std::system_error.
  virtual void start() {}
  /// Takes what is in `out.start`; with `all` also what is to be destroyed, told and called.
  virtual void post(effects& out, bool all) noexcept = 0;
  /// The pool must be ticked at that time, in real time, or before.
  virtual void plan(nanos at) noexcept = 0;
  /// Runs what was posted, in a pool without threads.
  virtual void run_posted() noexcept {}
  /// Tasks under way.
  [[nodiscard]] virtual std::size_t busy() noexcept = 0;
  /// Until no task is under way. False: the time is up first.
  [[nodiscard]] virtual bool wait_until_idle(const deadline& until) noexcept = 0;
  /// Ends the threads. One in a task ends behind it, and is not waited for.
  virtual void stop() noexcept = 0;
};

/// They are part of the core. Each throws std::bad_alloc.
[[nodiscard]] std::unique_ptr<task_runner> make_worker_threads(pool_core& core);
[[nodiscard]] std::unique_ptr<task_runner> make_manual_runner(pool_core& core);

}  // namespace lido::detail
