/// @file
/// Internal. An acquire of a thread that takes the slow path.
#pragma once

#include "acquire_waiter.hpp"
#include "lido/resource/options.hpp"
#include "lido/resource/pool_core.hpp"

namespace lido::inline v0::detail {

class kernel_shell;

/// Takes an idle resource, or waits, and does what it is told meanwhile: creates a resource, or
/// validates one. On the stack of its thread, which keeps the core alive.
class thread_acquire {
 public:
  thread_acquire(pool_core& core, const acquire_call& call) noexcept;
  /// Until the deadline; not at all if that is at once. Throws what a sought_key throws.
  [[nodiscard]] acquire_outcome run();

 private:
  void enqueue(bool again);
  [[nodiscard]] bool begin_wait(bool again);
  void wait() noexcept;
  [[nodiscard]] bool sleeps_too_long() noexcept;
  [[nodiscard]] slot_grant use() noexcept;
  [[nodiscard]] bool holds_any() const noexcept;

  pool_core& core_;
  kernel_shell& shell_;
  const pool_settings& settings_;
  acquire_call call_;
  acquire_waiter waiter_;
};

}  // namespace lido::inline v0::detail
