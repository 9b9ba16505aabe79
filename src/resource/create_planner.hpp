/// @file
/// Internal. Decides when resources are created, and which resources are evicted to make room for
/// them.
#pragma once

#include <cstdint>

#include "create_quota.hpp"
#include "kernel_context.hpp"
#include "lido/base/deadline_heap.hpp"
#include "lido/resource/slot.hpp"
#include "pool_waiters.hpp"
#include "resource_slots.hpp"
#include "resource_tuning.hpp"
#include "slot_group.hpp"

namespace lido::inline v0::detail {

/// Plans the creates of all groups, begins them, and evicts resources of other groups to make room
/// for them. Guarded by the pool's mutex.
class create_planner {
 public:
  create_planner(kernel_context& context, resource_slots& slots, pool_waiters& waiters,
                 create_quota& quota) noexcept
      : context_(context), slots_(slots), waiters_(waiters), quota_(quota) {}

  /// Records how many creates a group could begin now, and when the group must be matched again.
  void plan(slot_group& group) noexcept;
  /// Begins creates for groups that have a request (see create_quota), in the order in which their
  /// first waiters arrived. If the total limit is reached, evicts the resource that has been unused
  /// the longest.
  void start_creates() noexcept;
  /// Returns true if resources that a group releases are owed to another group. The first waiter of
  /// that group arrived earlier, and has waited for longer than `prefer_same_key_for`.
  [[nodiscard]] bool is_owed(const slot_group& group) const noexcept;
  /// Arranges for the group to be matched again in the next tick, or in the current event if it is
  /// a tick.
  void look_again(slot_group& group) noexcept;
  /// Marks the groups that are due now, so that they are matched later in this event.
  void match_due() noexcept;
  /// Returns the real time at which the next group is due.
  [[nodiscard]] nanos next_look() const noexcept { return timers_.least_key(); }
  /// Forgets a group that is to be removed.
  void forget(slot_group& group) noexcept {
    quota_.forget(group);
    timers_.remove(group);
  }

 private:
  /// Returns true if creates for `min_idle` may begin. In a pool without threads, they may begin
  /// only during a tick.
  [[nodiscard]] bool makes_ahead() const noexcept {
    return context_.settings.has_threads() || context_.is_ticking;
  }
  [[nodiscard]] std::uint32_t count_served(slot_group& group) const noexcept;
  [[nodiscard]] bool may_create() const noexcept {
    return !context_.is_closed && !context_.is_suspended;
  }
  [[nodiscard]] bool needs_eviction() const noexcept {
    return context_.has_groups && quota_.is_full();
  }
  [[nodiscard]] static bool has_try(const slot_group& group, bool is_asked) noexcept;
  [[nodiscard]] bool is_try_late(const slot_group& group, bool is_asked) const noexcept;
  /// Returns the real time from which another create may be tried while one is in progress.
  [[nodiscard]] static nanos next_beside_try(const slot_group& group) noexcept {
    return later(group.factory.tried_at, resource_tuning::longest_between_tries);
  }
  [[nodiscard]] std::uint32_t allowed(const slot_group& group, std::uint32_t wanted,
                                      bool is_asked) const noexcept;
  [[nodiscard]] nanos next_try(const slot_group& group, bool is_asked,
                               bool makes_ahead) const noexcept;
  void wake_for_timer(slot_group& group, nanos due) noexcept;
  [[nodiscard]] bool evict_for(const slot_group& group) noexcept;
  [[nodiscard]] bool begin_create(slot_group& group) noexcept;
  [[nodiscard]] bool let_waiter_create(slot_group& group, pool_slot& slot) noexcept;

  kernel_context& context_;
  resource_slots& slots_;
  pool_waiters& waiters_;
  create_quota& quota_;
  deadline_heap<slot_group, by_timer> timers_;  // groups by the time at which they are due
};

}  // namespace lido::inline v0::detail
