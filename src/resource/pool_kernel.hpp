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

/// A caller locks the pool's mutex, calls `begin` with the time and a place for effects, passes
/// events, calls `finish`, unlocks, and runs the effects. No event blocks, throws, reads a clock or
/// calls users.
///
/// Threads acquire and release idle resources beside an event, and end their own waits. So the
/// kernel changes slots and waiters' words by compare-and-swap, and sets flags before it looks at
/// what threads may have released: see slow_path_flags.hpp (1, 2).
///
/// Its parts: `resource_slots` moves slots from state to state, `pool_waiters` ends waits,
/// `create_planner` begins creates, `slot_sweep` looks at ages, `pool_control` has the events of
/// control calls. An event calls them. `match`
/// follows for each group that it changed: at once, or in `finish` where it said `match_later`.
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
  /// Returns true if the group has nothing. Before it is removed, `gate.is_quiet()` must be true.
  [[nodiscard]] bool can_remove(const slot_group& group) const noexcept;
  /// Requires: `can_remove`.
  void remove_group(slot_group& group) noexcept;
  [[nodiscard]] group_list& groups() noexcept { return groups_; }

  // ---- events -----------------------------------------------------------------------------------

  void begin(const moment& now, effects& out) noexcept;
  void finish() noexcept;

  /// A waiter comes, or comes back and is first. Afterwards its wait has ended, or it is in the
  /// queue. One that gives no time at all is not in the queue afterwards.
  void on_acquire(acquire_waiter& waiter) noexcept;
  /// A waiter that was woken without an end looks for itself, and is asleep afterwards if it is
  /// still open: until its `wakes_at` at the latest.
  void on_look(acquire_waiter& waiter) noexcept;
  /// A thread that has ended its own wait leaves the queue.
  void on_left(acquire_waiter& waiter) noexcept;
  /// Ends a wait that has not ended, in a queue or not.
  void on_refused(acquire_waiter& waiter, acquire_failure cause) noexcept;
  /// The thread of a waiter holds a resource of the pool: the wait ends if it could only end with a
  /// release by threads that wait, too.
  void on_hold_and_wait(acquire_waiter& waiter) noexcept;

  /// The owner of a slot in use is about to reset it: not if it `ended`.
  void on_returning(pool_slot& slot, bool& ended) noexcept;
  /// The owner of a slot in use gives it back; `reset` by a task first if `resets`.
  void on_released(pool_slot& slot, bool resets) noexcept;
  /// The owner wants it destroyed.
  void on_discarded(pool_slot& slot, destroy_reason why) noexcept;
  /// The resource was moved out of its slot.
  void on_detached(pool_slot& slot) noexcept;
  /// A slot was made idle, and its releasing thread saw a flag.
  void on_idle(slot_group& group) noexcept;

  /// The task of a slot, or a waiter that was told to create, has ended. `kept`: the resource, if
  /// it is the creator's. `outcome`: what is to be destroyed without the mutex. `began`: by the
  /// steady clock.
  void on_created(pool_slot& slot, create_outcome& outcome, nanos began, slot_grant& kept) noexcept;
  /// Ends what `on_adopt` began. `made`: the slot has its resource.
  void on_adopted(pool_slot& slot, bool made) noexcept;
  /// `passed`: it is valid, or was reset.
  void on_checked(pool_slot& slot, bool passed) noexcept;
  void on_destroyed(pool_slot& slot) noexcept;

  /// `age`: by the pool's clock, where it stands still between ticks; otherwise 0.
  void on_tick(nanos age) noexcept;
  /// There is room again for what an event left.
  void on_more() noexcept;

  // ---- numbers ----------------------------------------------------------------------------------

  /// Returns when the next tick is due, in real time.
  [[nodiscard]] nanos next_tick() const noexcept { return (std::min)(sweep_.next(), next_timer()); }
  /// Returns the same, without looks at all slots.
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
  acquire_waiter* looking_ = nullptr;  // of the event that is under way
};

}  // namespace lido::inline v0::detail
