/// @file
/// Internal. The kernel of resource pools: what happens to slots and waiters, as a state machine.
#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <random>
#include <string>

#include "create_outcome.hpp"
#include "create_planner.hpp"
#include "create_quota.hpp"
#include "effects.hpp"
#include "group_list.hpp"
#include "kernel_context.hpp"
#include "lease_monitor.hpp"
#include "lido/resource/options.hpp"
#include "lido/resource/pool_gate.hpp"
#include "lido/resource/slot.hpp"
#include "pool_control.hpp"
#include "pool_numbers.hpp"
#include "pool_waiters.hpp"
#include "resource_slots.hpp"
#include "slot_group.hpp"
#include "slot_sweep.hpp"
#include "slot_table.hpp"

namespace lido::inline v0::detail {

/// A caller locks the pool's mutex, calls `begin` with the time and storage for effects, passes
/// events, calls `finish`, unlocks, and runs the effects. No event blocks, throws, reads a clock or
/// calls user code.
///
/// Threads acquire and release idle resources during an event, and end their own waits. So the
/// kernel changes slots and waiters' words by compare-and-swap, and sets flags before it reads what
/// threads may have released: see slow_path_flags.hpp (1, 2).
///
/// Its parts: `resource_slots` moves slots from state to state, `pool_waiters` ends waits,
/// `create_planner` begins creates, `slot_sweep` checks ages, `pool_control` has the events of
/// control calls. An event calls them. `match` follows for each group that it changed: at once, or
/// in `finish` if it called `match_later`.
///
/// Invariants
///  I1, I2 See resource_slots. No create begins that would bring a group or the total over its
///     limit.
///
///  I3 While a group has waiters that may be served, and a resource is idle and fit, a waiter is
///     awake for it: its thread looks before it sleeps. A callback is first only if none is.
///
///  I4 See pool_waiters.
class pool_kernel {
 public:
  /// `seed` decides the jitter. Throws std::bad_alloc.
  pool_kernel(const pool_settings& settings, pool_core* core, slot_maker make, std::uint32_t seed);
  ~pool_kernel() = default;
  pool_kernel(const pool_kernel&) = delete;
  pool_kernel& operator=(const pool_kernel&) = delete;

  // ---- groups -----------------------------------------------------------------------------------

  /// Throws std::bad_alloc.
  slot_group& add_group(std::shared_ptr<factory_hooks> hooks, const group_limits& limits,
                        std::uint64_t hash, std::string key);
  /// Returns true if the group has no slots and no waiters. Before it is removed, `gate.is_quiet()`
  /// must be true.
  [[nodiscard]] bool can_remove(const slot_group& group) const noexcept;
  /// Requires: `can_remove`.
  void remove_group(slot_group& group) noexcept;
  [[nodiscard]] group_list& groups() noexcept { return groups_; }

  // ---- events -----------------------------------------------------------------------------------

  void begin(const moment& now, effects& out) noexcept;
  void finish() noexcept;

  /// Admits a waiter; one that comes back is first. Afterwards its wait has ended, or it is in the
  /// queue; the wait of one without any time has ended.
  void on_acquire(acquire_waiter& waiter) noexcept;
  /// Lets a waiter that was woken while its wait is open look for a resource. If the wait is still
  /// open, it sleeps afterwards, until its `wakes_at` at the latest.
  void on_look(acquire_waiter& waiter) noexcept;
  /// Removes a waiter whose thread has ended its own wait.
  void on_left(acquire_waiter& waiter) noexcept;
  /// Ends a wait that has not ended, in a queue or not.
  void on_refused(acquire_waiter& waiter, acquire_failure cause) noexcept;
  /// Notes that the thread of a waiter holds a resource of the pool. Ends the wait if only a
  /// release by threads that wait, too, could end it.
  void on_hold_and_wait(acquire_waiter& waiter) noexcept;

  /// Lets the owner of a slot in use reset it next, or destroys the resource and sets `ended`.
  void on_returning(pool_slot& slot, bool& ended) noexcept;
  /// Takes back a slot in use from its owner; if `resets`, a task resets it first.
  void on_released(pool_slot& slot, bool resets) noexcept;
  /// Destroys a resource that its owner discards.
  void on_discarded(pool_slot& slot, destroy_reason why) noexcept;
  /// Empties a slot whose resource was moved out.
  void on_detached(pool_slot& slot) noexcept;
  /// Matches a group after a release that made a slot idle and saw a flag.
  void on_idle(slot_group& group) noexcept;

  /// Ends a create by a task, or by a waiter. `kept`: the resource, if its creator keeps it.
  /// `outcome`: what is to be destroyed without the mutex. `began`: by the steady clock.
  void on_created(pool_slot& slot, create_outcome& outcome, nanos began, slot_grant& kept) noexcept;
  /// Ends an adoption that `on_adopt` began. `made`: the slot has its resource.
  void on_adopted(pool_slot& slot, bool made) noexcept;
  /// Ends a check. `passed`: the resource is valid, or was reset.
  void on_checked(pool_slot& slot, bool passed) noexcept;
  void on_destroyed(pool_slot& slot) noexcept;

  /// Does what is due. `age`: by the pool's clock if that stands still between ticks; otherwise 0.
  void on_tick(nanos age) noexcept;
  /// Continues an event that would have woken more threads than one event may.
  void on_more() noexcept;

  // ---- numbers ----------------------------------------------------------------------------------

  /// Returns when the next tick is due, in real time.
  [[nodiscard]] nanos next_tick() const noexcept { return (std::min)(sweep_.next(), next_timer()); }
  /// Returns when the next tick is due, without sweeps.
  [[nodiscard]] nanos next_timer() const noexcept;
  [[nodiscard]] pool_numbers& numbers() noexcept { return numbers_; }

  pool_slot_table table;
  pool_gate gate;
  lease_monitor monitor;
  pool_control control;

 private:
  void match(slot_group& group, acquire_waiter* looker = nullptr) noexcept;
  void end_due() noexcept;
  void give_after_use(slot_group& group, pool_slot& slot) noexcept;
  /// Returns a number from [0, 1).
  [[nodiscard]] double draw() noexcept {
    return static_cast<double>(random_() - (std::minstd_rand::min)()) /
           static_cast<double>((std::minstd_rand::max)() - (std::minstd_rand::min)() + 1);
  }

  pool_core* core_;
  kernel_context context_;
  group_list groups_;
  pool_numbers numbers_;
  resource_slots slots_;
  create_quota quota_;
  pool_waiters waiters_;
  create_planner planner_;
  slot_sweep sweep_;
  std::minstd_rand random_;
  acquire_waiter* looking_ = nullptr;  // of the current event
};

}  // namespace lido::inline v0::detail
