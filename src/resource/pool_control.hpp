/// @file
/// Internal. Control of a pool's resources: limits, suspend, flush, kill, close.
#pragma once

#include <cstddef>
#include <cstdint>

#include "create_quota.hpp"
#include "group_list.hpp"
#include "kernel_context.hpp"
#include "lido/resource/pool_gate.hpp"
#include "lido/resource/slot.hpp"
#include "pool_waiters.hpp"
#include "resource_slots.hpp"
#include "slot_group.hpp"
#include "slot_table.hpp"

namespace lido::inline v0::detail {

/// Handles the kernel's events for control calls, and reports whether the pool is suspended or
/// closed. Each event schedules the groups that it changed to be matched. Guarded by the pool's
/// mutex.
class pool_control {
 public:
  pool_control(kernel_context& context, pool_slot_table& table, pool_gate& gate,
               const group_list& groups, resource_slots& slots, create_quota& quota,
               pool_waiters& waiters) noexcept
      : context_(context),
        table_(table),
        gate_(gate),
        groups_(groups),
        slots_(slots),
        quota_(quota),
        waiters_(waiters) {}

  void on_limits(slot_group& group, const group_limits& limits, std::uint32_t total) noexcept;
  void on_suspended(bool suspended) noexcept;
  /// Destroys all resources that the group has created so far. Creates and validations in progress
  /// become outdated. They delay no other creates and validations, but count against max_size until
  /// they end.
  void on_flush(slot_group& group, ongoing_uses uses = ongoing_uses::finish) noexcept;
  /// Ends the pause after a failed create.
  void on_retry_now(slot_group& group) noexcept;
  /// Flushes the group and returns true if `generation` is the group's current generation.
  /// Otherwise returns false. Each generation is therefore flushed at most once.
  [[nodiscard]] bool on_flush_of(slot_group& group, std::uint32_t generation) noexcept;
  /// Destroys a resource, either at once or when it is released. Sets `found` to true if the
  /// resource exists, and otherwise to false.
  void on_kill(pool_slot& slot, std::uint64_t birth, ongoing_uses uses, bool& found) noexcept;
  /// Ends the interrupt of a resource. Called when the interrupt hook has returned.
  void on_interrupted(pool_slot& slot) noexcept { slots_.end_interrupt(slot); }
  /// Notes that the owner of a resource is about to move it out of its slot. Returns false while
  /// the resource is being interrupted.
  [[nodiscard]] static bool begin_detach(pool_slot& slot) noexcept;
  /// Undoes `begin_detach`. Called if the resource was not moved after all.
  static void give_up_detach(pool_slot& slot) noexcept { slot.record.pin = slot_pin::none; }
  /// Reserves an empty slot for a resource that was created outside the pool, and returns the slot.
  /// Until `on_adopted` is called, the slot counts as being created. Returns null if the pool is
  /// closed or full.
  [[nodiscard]] pool_slot* on_adopt(slot_group& group) noexcept;
  void on_close() noexcept;

  [[nodiscard]] bool is_closed() const noexcept { return context_.is_closed; }
  [[nodiscard]] bool is_suspended() const noexcept { return context_.is_suspended; }
  [[nodiscard]] bool is_drained() const noexcept {
    return context_.is_closed && slots_.counts().live() == 0;
  }
  /// Returns true only once: after the first event that leaves the pool drained.
  [[nodiscard]] bool has_just_drained() noexcept;
  /// Returns how many slots are neither empty nor in use. Once the pool is closed, a thread is
  /// creating, checking or destroying the resource of each such slot, or is about to do so.
  [[nodiscard]] std::size_t count_unsettled() const noexcept;

 private:
  void end_use(pool_slot& slot, destroy_reason why, ongoing_uses uses) noexcept;
  void set_gate() noexcept;

  kernel_context& context_;
  pool_slot_table& table_;
  pool_gate& gate_;
  const group_list& groups_;
  resource_slots& slots_;
  create_quota& quota_;
  pool_waiters& waiters_;
  bool has_reported_drain_ = false;
};

}  // namespace lido::inline v0::detail
