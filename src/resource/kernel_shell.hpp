/// @file
/// Internal. Passes events to the kernel with the pool's mutex held, and then runs their effects.
#pragma once

#include <algorithm>
#include <memory>
#include <mutex>
#include <utility>

#include "effects.hpp"
#include "factory_calls.hpp"
#include "kernel_context.hpp"
#include "lido/concurrency/atomic.hpp"
#include "lido/concurrency/mutex.hpp"
#include "lido/resource/options.hpp"
#include "lido/resource/pool_core.hpp"
#include "pool_kernel.hpp"
#include "task_runner.hpp"

namespace lido::inline v0::detail {

/// The mutex of a pool, its kernel, and its threads. For each event, the shell locks the mutex,
/// calls the kernel, unlocks the mutex, and runs the effects. No user code runs while the mutex is
/// held, except the code that compares, moves and destroys keys.
///
/// In a process made by fork, the shell does nothing: the resources belong to the parent process,
/// and another thread of the parent may have held the mutex.
class kernel_shell {
 public:
  /// Throws std::bad_alloc.
  kernel_shell(pool_core& core, const pool_settings& settings, slot_maker make);
  kernel_shell(const kernel_shell&) = delete;
  kernel_shell& operator=(const kernel_shell&) = delete;
  /// Requires: no thread is still inside a release.
  ~kernel_shell();

  // ---- events -----------------------------------------------------------------------------------

  /// Passes an event to the kernel by calling `event(kernel)`, and runs its effects.
  template <class Event>
  void apply(const Event& event) {
    effects out;
    tell_kernel(event, out);
    run(out, /*by_pool=*/false);
  }
  /// Passes an event for the group that `find` returns. Calls `find` with the mutex held. Returns
  /// false if `find` returns null. If `find` throws, the call has no effect.
  template <class Find, class Event>
  bool apply_to(const Find& find, const Event& event);
  /// Passes an event to the kernel. The caller must run its effects.
  template <class Event>
  void tell_kernel(const Event& event, effects& out) {
    tell_kernel([] {}, event, out);
  }
  /// Runs the effects of an event, and those of the events that result from them. Called with the
  /// mutex unlocked. If `by_pool` is true, user code is left to the pool's threads.
  void run(effects& out, bool by_pool) noexcept;
  /// Does everything that is due. `by_pool` is true if the timekeeping thread calls this.
  void tick(bool by_pool) noexcept;
  /// Calls `f` with the mutex held.
  template <class F>
  decltype(auto) locked(const F& f) {
    const std::lock_guard<counted_mutex> guard(mutex_);
    return f();
  }

  // ---- parts ------------------------------------------------------------------------------------

  [[nodiscard]] pool_core& core() const noexcept { return core_; }
  [[nodiscard]] pool_kernel& kernel() const noexcept { return *kernel_; }
  [[nodiscard]] task_runner& runner() const noexcept { return *runner_; }
  [[nodiscard]] factory_calls& calls() noexcept { return calls_; }
  [[nodiscard]] counted_mutex& mutex() noexcept { return mutex_; }

  // ---- state ------------------------------------------------------------------------------------

  [[nodiscard]] moment read_clocks() const noexcept;
  /// Returns true if the pool is closed and has no resources.
  [[nodiscard]] bool is_drained() noexcept {
    return locked([this] { return kernel_->control.is_drained(); });
  }
  /// Keeps the core alive until the pool is drained. In a process made by fork, keeps the core
  /// alive for ever if there is a lease.
  void keep_while_leased(std::shared_ptr<pool_core> core) noexcept;
  /// Notes that the process was made by fork, and has only one thread.
  void note_fork() noexcept;
  // relaxed (whole function): set by the only thread of a process made by fork
  [[nodiscard]] bool is_foreign() const noexcept {
    return foreign_.load(std::memory_order_relaxed);
  }

 private:
  /// Passes an event to the kernel. Calls `first` with the mutex held, before the kernel begins the
  /// event.
  template <class First, class Event>
  void tell_kernel(const First& first, const Event& event, effects& out);
  [[nodiscard]] bool interrupt_next(effects& out) noexcept;
  [[nodiscard]] bool destroy_next(effects& out) noexcept;

  pool_core& core_;
  const pool_settings& settings_;
  counted_mutex mutex_;
  std::unique_ptr<pool_kernel> kernel_;
  std::unique_ptr<task_runner> runner_;
  factory_calls calls_;
  std::shared_ptr<pool_core> kept_;  // set while leases outlive the pool; guarded by the mutex
  atomic<bool> foreign_{false};      // true in a process made by fork
};

template <class First, class Event>
void kernel_shell::tell_kernel(const First& first, const Event& event, effects& out) {
  if (is_foreign()) {
    return;
  }
  moment now = read_clocks();
  const nanos next = locked([&] {
    first();
    now.age = (std::max)(now.age, kernel_->gate.now());
    kernel_->begin(now, out);
    event(*kernel_);
    kernel_->finish();
    return kernel_->next_tick();
  });
  runner_->tick_by(next);
}

template <class Find, class Event>
bool kernel_shell::apply_to(const Find& find, const Event& event) {
  effects out;
  slot_group* group = nullptr;
  const auto event_of_group = [&](pool_kernel& kernel) {
    if (group != nullptr) {
      event(kernel, *group);
    }
  };
  tell_kernel([&] { group = find(); }, event_of_group, out);
  run(out, /*by_pool=*/false);
  return group != nullptr;
}

}  // namespace lido::inline v0::detail
