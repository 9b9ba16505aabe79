/// @file
/// Internal. An acquire by a thread on the slow path.
#pragma once

#include "acquire_waiter.hpp"
#include "lido/resource/options.hpp"
#include "lido/resource/pool_core.hpp"

namespace lido::inline v0::detail {

class kernel_shell;

/// Acquires an idle resource, or waits for one. Validates a resource itself if the kernel leaves
/// that to the waiter. In a pool without threads, may also create a resource. Lives on the stack of
/// its thread, which keeps the core alive.
class thread_acquire {
 public:
  thread_acquire(pool_core& core, const acquire_call& call) noexcept;
  /// Acquires a resource. Waits until the deadline, or not at all if the deadline allows no
  /// waiting. Throws whatever the functions of the sought_key throw.
  [[nodiscard]] acquire_outcome run();

 private:
  void enqueue();
  void wait() noexcept;
  [[nodiscard]] bool sleep_or_give_up() noexcept;
  [[nodiscard]] slot_grant make_fit();
  [[nodiscard]] bool holds_any() const noexcept;

  pool_core& core_;
  kernel_shell& shell_;
  const pool_settings& settings_;
  acquire_call call_;      // its deadline limits everything that the thread does
  acquire_waiter waiter_;  // its deadline limits one wait
};

}  // namespace lido::inline v0::detail
