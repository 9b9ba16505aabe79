/// @file
/// Internal. The states, ages and checks of a pool's slots.
#pragma once

#include <cstdint>

#include "kernel_context.hpp"
#include "lido/base/assert.hpp"
#include "lido/base/deadline_heap.hpp"
#include "lido/resource/idle_cache.hpp"
#include "lido/resource/slot.hpp"
#include "slot_counts.hpp"
#include "slot_group.hpp"
#include "slot_table.hpp"

namespace lido::inline v0::detail {

/// Moves slots from state to state. Nothing else moves them, except that threads acquire idle
/// resources and release resources without the mutex. During each call of a function of this class,
/// any slot may therefore change from idle to in use, and back.
///
/// Invariants
///  I1 Each slot is counted once in its group and once in the total: `change` and `take_idle`
///     update both counts.
///
///  I2 The bit of a slot is set if and only if the slot is idle, or in use without a mark.
class resource_slots {
  using slots_by_time = deadline_heap<pool_slot>;

 public:
  resource_slots(kernel_context& context, pool_slot_table& table) noexcept
      : context_(context), table_(table) {}

  /// Counts the slots of all groups.
  [[nodiscard]] const slot_counts& counts() const noexcept { return all_; }
  /// Changes a slot that the caller owns by calling `f(slot)`, and updates the counts.
  template <class F>
  void change(pool_slot& slot, const F& f) noexcept {
    count(slot, slot.state(), out);
    f(slot);
    count(slot, slot.state(), in);
  }

  // ---- creates ----------------------------------------------------------------------------------

  /// Reserves an empty slot for a create in `group`. Returns null if there is no memory.
  [[nodiscard]] pool_slot* claim_empty(slot_group& group) noexcept;
  /// Puts a newly created resource in use by the caller. `draw` determines by how much the jitter
  /// shortens the resource's lifetime. Returns the ticket of this use.
  slot_word activate(pool_slot& slot, double draw) noexcept;

  // ---- idle resources ---------------------------------------------------------------------------

  /// If a slot is idle and needs no check, puts it in use and returns true. Otherwise returns
  /// false, but first closes the slot if its resource has expired, or marks the slot if it is in
  /// use. A mark makes the release ask the kernel.
  [[nodiscard]] bool take_or_mark(slot_group& group, pool_slot& slot) noexcept;
  /// Acquires an idle resource that must be validated, and moves its slot to the state `to`.
  /// Returns null if there is no such resource. If `only` is true, also returns null if there are
  /// several.
  [[nodiscard]] pool_slot* take_stale(slot_group& group, resource_state to, bool only) noexcept;
  /// Begins a waiter's use of a slot that the caller owns. The slot may already be in use. Clears
  /// an old mark. If `marks` is true, sets a new mark, so that the release after this use asks the
  /// kernel.
  void put_in_use(pool_slot& slot, bool marks) noexcept;
  void make_idle(pool_slot& slot) noexcept;
  [[nodiscard]] bool needs_validation(const slot_group& group,
                                      const pool_slot& slot) const noexcept {
    return !slot.is_fresh(context_.now.age, group.cache.epoch()) && slot.maker->can_validate();
  }
  [[nodiscard]] static std::uint32_t count_idle(slot_group& group) noexcept;
  /// Counts the idle resources that a waiter may use without a check. Closes those that have
  /// expired, and notes in the group whether any must be validated first.
  [[nodiscard]] std::uint32_t count_fit(slot_group& group) noexcept;
  /// Marks a resource in use, so that its release asks the kernel. Returns false if the resource is
  /// not in use.
  bool mark(pool_slot& slot) noexcept;
  /// Sets the bit of a slot. With several groups, also adds the slot to the heap that orders slots
  /// by their last use. Requires: the slot is idle, or in use without a mark.
  void list(pool_slot& slot) noexcept;

  // ---- closing and destroying -------------------------------------------------------------------

  /// If a resource that the caller owns must not be used again, closes the resource and returns
  /// true. Otherwise returns false.
  [[nodiscard]] bool close_if_over(slot_group& group, pool_slot& slot) noexcept;
  /// Closes a resource if it is idle.
  bool close_if_idle(pool_slot& slot, destroy_reason why) noexcept;
  /// Closes an idle resource that is too old, or was created before a flush. Returns false if the
  /// resource is not idle.
  bool close_expired(pool_slot& slot) noexcept { return close_if_idle(slot, why_expired(slot)); }
  /// Closes a slot that the caller owns, and that is in use or being checked.
  void close(pool_slot& slot, destroy_reason why) noexcept;
  /// Arranges for the factory's interrupt hook to be called, if there is one. The hook ends the
  /// operation that the user of the resource is waiting for. Requires: the resource is in use and
  /// marked, and will be destroyed after this use.
  void interrupt(pool_slot& slot) const noexcept;
  /// Ends the interrupt of a resource. Called when the interrupt hook has returned. If the resource
  /// is closing, arranges for it to be destroyed.
  void end_interrupt(pool_slot& slot) noexcept;
  /// Notes that a closing resource has been destroyed, so that the next one can be destroyed.
  void end_destroy() noexcept;
  /// Returns how many resources are being destroyed, or are about to be.
  [[nodiscard]] std::uint32_t destroying() const noexcept { return destroying_; }
  /// Empties a slot whose resource is gone, or was never created.
  void empty(pool_slot& slot) noexcept;
  /// Closes surplus idle resources, or all idle resources once the pool is closed.
  void close_surplus(slot_group& group) noexcept;
  /// Closes the idle resource, of any group, that has been unused the longest. This makes room for
  /// a create of the group whose first waiter has the order `order`. Spares resources that were
  /// left idle for waiters whose order is not greater than `order`. If no other resource is idle,
  /// makes releases ask the kernel, and returns false.
  [[nodiscard]] bool evict(std::int64_t order) noexcept;

  // ---- checks -----------------------------------------------------------------------------------

  /// Begins to validate an idle resource for `keepalive`. Returns false if the resource is not
  /// idle.
  [[nodiscard]] bool keep_alive_if_idle(pool_slot& slot) noexcept;
  /// Begins to validate or reset a resource that the caller owns.
  void begin_check(pool_slot& slot, slot_task what) noexcept;
  void end_check(pool_slot& slot) noexcept;
  /// Notes that the task of a slot, if it has one, was begun before a flush.
  void outdate_task(pool_slot& slot) noexcept;
  /// Returns the next slot whose answer is overdue, or null. The pool no longer waits for that
  /// answer.
  [[nodiscard]] pool_slot* next_late_check() noexcept;
  /// Returns the real time at which the next answer becomes overdue.
  [[nodiscard]] nanos next_answer() const noexcept { return awaited_.least_key(); }

 private:
  static constexpr std::uint32_t in = 1;
  static constexpr auto out = static_cast<std::uint32_t>(-1);

  void count(const pool_slot& slot, resource_state state, std::uint32_t by) noexcept {
    if (state != resource_state::empty) {
      group_of(slot).counts.count(slot, state, by);
      all_.count(slot, state, by);
      LIDO_ASSERT(all_.live() <= table_.size(), "more slots have a state than there are");
    }
  }
  /// Moves a slot that the caller owns to the state `to`.
  void set_state(pool_slot& slot, resource_state to) noexcept {
    change(slot, [to](pool_slot& one) { (void)one.move(to); });
  }
  void note_evicted(pool_slot& slot) noexcept;
  /// Arranges for a closing resource to be destroyed.
  void destroy(pool_slot& slot) noexcept;
  /// Acquires an idle slot, and moves it to the state `to`. Returns false if the slot is not idle.
  [[nodiscard]] bool take_idle(pool_slot& slot, resource_state to) noexcept;
  void unlist(pool_slot& slot) noexcept {
    idle_cache::set_maybe_idle(slot, /*on=*/false);
    used_.remove(slot);
  }
  [[nodiscard]] destroy_reason why_expired(const pool_slot& slot) const noexcept {
    return context_.now.age >= slot.ages.expires.get() ? destroy_reason::too_old
                                                       : destroy_reason::flushed;
  }

  kernel_context& context_;
  pool_slot_table& table_;
  slot_counts all_;
  slot_queue doomed_;  // closing slots that wait until others have been destroyed
  std::uint32_t destroying_ = 0;
  // A slot is in at most one of these two heaps.
  slots_by_time used_;     // with several groups: slots with a bit, by their last known use
  slots_by_time awaited_;  // slots being checked, by the time at which their answer becomes overdue
};

}  // namespace lido::inline v0::detail
