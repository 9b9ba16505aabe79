/// @file
/// Internal. The kernel of resource pools: a state machine that decides what happens to slots and
/// waiters.
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

/// The state machine of a pool. A caller locks the pool's mutex, calls `begin` with the time and
/// with storage for effects, passes events, and calls `finish`. Then it unlocks the mutex and runs
/// the effects. No event blocks, throws, reads a clock or calls user code.
///
/// During an event, threads may acquire idle resources, release resources, and end their own waits.
/// The kernel therefore changes slots and the words of waiters by compare-and-swap. It also sets
/// flags before it reads what threads may have released: see slow_path_flags.hpp (1, 2).
///
/// The kernel has these parts: `resource_slots` moves slots from state to state, `pool_waiters`
/// ends waits, `create_planner` begins creates, `slot_sweep` checks ages, and `pool_control`
/// handles the events of control calls. An event calls these parts. Then `match` is called for each
/// group that the event changed: at once, or in `finish` if the event called `match_later`.
///
/// Invariants
///  I1, I2 See resource_slots. No create begins that would bring a group or the total over its
///     limit.
///
///  I3 While a group has waiters that may be served, and an idle resource that is fit, a waiter is
///     awake for that resource: its thread looks for one before it sleeps. A callback is first in
///     the queue only if no resource is idle and fit.
///
///  I4 See pool_waiters.
class pool_kernel {
 public:
  /// `seed` determines the jitter. Throws std::bad_alloc.
  pool_kernel(const pool_settings& settings, pool_core* core, slot_maker make, std::uint32_t seed);
  ~pool_kernel() = default;
  pool_kernel(const pool_kernel&) = delete;
  pool_kernel& operator=(const pool_kernel&) = delete;

  // ---- groups -----------------------------------------------------------------------------------

  /// Adds a group. Throws std::bad_alloc.
  slot_group& add_group(std::shared_ptr<factory_hooks> hooks, const group_limits& limits,
                        std::uint64_t hash, std::string key);
  /// Returns true if the group has neither slots nor waiters. Before the group is removed,
  /// `gate.is_quiet()` must be true as well.
  [[nodiscard]] bool can_remove(const slot_group& group) const noexcept;
  /// Requires: `can_remove(group)`.
  void remove_group(slot_group& group) noexcept;
  [[nodiscard]] group_list& groups() noexcept { return groups_; }

  // ---- events -----------------------------------------------------------------------------------

  void begin(const moment& now, effects& out) noexcept;
  void finish() noexcept;

  /// Admits a waiter. A waiter that waits again is put first. Afterwards, either the wait has
  /// ended, or the waiter is in the queue. If the waiter's deadline allows no waiting, it is in the
  /// queue only if it waits for the answer of a check.
  void on_acquire(acquire_waiter& waiter) noexcept;
  /// Lets a waiter whose wait is open look for a resource before its thread sleeps. If the wait is
  /// still open afterwards, the thread sleeps until `wakes_at` at the latest.
  void on_look(acquire_waiter& waiter) noexcept;
  /// Removes a waiter whose thread has ended the wait itself.
  void on_left(acquire_waiter& waiter) noexcept;
  /// Ends a wait that has not ended yet, whether or not the waiter is in a queue.
  void on_refused(acquire_waiter& waiter, acquire_failure cause) noexcept;
  /// Notes that the thread of a waiter holds a resource of the pool. Ends the wait if only a
  /// release could end it, and each thread that could release a resource is waiting itself.
  void on_hold_and_wait(acquire_waiter& waiter) noexcept;

  /// Prepares the release of a slot in use. If the resource must not be used again, destroys it and
  /// sets `ended`. Otherwise the owner may reset the resource next.
  void on_returning(pool_slot& slot, bool& ended) noexcept;
  /// Takes back a slot in use from its owner. If `resets` is true, a task resets the resource
  /// first.
  void on_released(pool_slot& slot, bool resets) noexcept;
  /// Destroys a resource that its owner discards.
  void on_discarded(pool_slot& slot, destroy_reason why) noexcept;
  /// Empties a slot whose resource has been moved out.
  void on_detached(pool_slot& slot) noexcept;
  /// Matches a group. Called after a release that made a slot idle and then found a flag set.
  void on_idle(slot_group& group) noexcept;

  /// Ends a create that a task or a waiter has run. Sets `kept` to the resource if its creator
  /// keeps it. Leaves in `outcome` what must be destroyed with the mutex unlocked. `began` is when
  /// the create began, by the steady clock.
  void on_created(pool_slot& slot, create_outcome& outcome, nanos began, slot_grant& kept) noexcept;
  /// Ends an adoption that `on_adopt` began. `made` is true if the slot contains its resource now.
  void on_adopted(pool_slot& slot, bool made) noexcept;
  /// Ends a check. `passed` is true if the resource is valid, or has been reset.
  void on_checked(pool_slot& slot, bool passed) noexcept;
  void on_destroyed(pool_slot& slot) noexcept;

  /// Does everything that is due. `age` is the time by the pool's clock. It may be 0, unless that
  /// clock stands still between ticks.
  void on_tick(nanos age) noexcept;
  /// Continues an event that stopped early because it would have woken more threads than one event
  /// may wake.
  void on_more() noexcept;

  // ---- ticks and statistics ---------------------------------------------------------------------

  /// Returns the real time at which the next tick is due.
  [[nodiscard]] nanos next_tick() const noexcept { return (std::min)(sweep_.next(), next_timer()); }
  /// Returns the real time at which the next tick would be due if there were no sweeps.
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
  /// Returns a random number from [0, 1).
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
  acquire_waiter* looking_ = nullptr;  // waiter that looks for a resource in this event, or null
};

}  // namespace lido::inline v0::detail
