/// @file
/// Internal. The states, ages and checks of a pool's slots.
#pragma once

#include <cstdint>

#include "kernel_context.hpp"
#include "lido/base/assert.hpp"
#include "lido/resource/deadline_heap.hpp"
#include "lido/resource/idle_cache.hpp"
#include "lido/resource/slot.hpp"
#include "slot_counts.hpp"
#include "slot_group.hpp"
#include "slot_table.hpp"

namespace lido::inline v0::detail {

/// Moves slots from state to state. Nothing else does, except that threads acquire and release idle
/// resources without the mutex. So any slot may change from idle to in use, and back, during each
/// of these calls.
///
/// Invariants
///  I1 Each slot is counted once, in its group and in the total: `change` and `take_idle` count it
///     anew.
///
///  I2 The bit of a slot is set if and only if the slot is idle, or in use without a mark.
class resource_slots {
  using slots_by_time = deadline_heap<pool_slot>;

 public:
  resource_slots(kernel_context& context, pool_slot_table& table) noexcept
      : context_(context), table_(table) {}

  /// Counts the slots of all groups.
  [[nodiscard]] const slot_counts& counts() const noexcept { return all_; }
  /// Changes a slot that the caller owns, and recounts it.
  template <class F>
  void change(pool_slot& slot, const F& f) noexcept {
    count(slot, slot.state(), out);
    f(slot);
    count(slot, slot.state(), in);
  }

  // ---- creates ----------------------------------------------------------------------------------

  /// Reserves an empty slot for a create in that group. Returns null if there is no memory.
  [[nodiscard]] pool_slot* claim_empty(slot_group& group) noexcept;
  /// Puts a created resource in use, by the caller. `draw` decides how much of its lifetime the
  /// jitter takes. Returns the ticket.
  slot_word activate(pool_slot& slot, double draw) noexcept;

  // ---- idle resources ---------------------------------------------------------------------------

  /// Takes a slot, which is then in use, if it is idle and needs no check. Otherwise closes an
  /// expired one, and marks one in use, whose release then asks the kernel.
  [[nodiscard]] bool take_or_mark(slot_group& group, pool_slot& slot) noexcept;
  /// Takes an idle resource that must be validated, and moves it to `to`. Returns null if there is
  /// none; with `only` also if there are two.
  [[nodiscard]] pool_slot* take_stale(slot_group& group, resource_state to, bool only) noexcept;
  /// Begins a new use, by a waiter, of a slot that the caller owns, whether it is in use or not.
  /// Clears an old mark. `marks`: the release of the new use asks the kernel.
  void put_in_use(pool_slot& slot, bool marks) noexcept;
  void make_idle(pool_slot& slot) noexcept;
  [[nodiscard]] bool needs_validation(const slot_group& group,
                                      const pool_slot& slot) const noexcept {
    return !slot.is_fresh(context_.now.age, group.cache.epoch()) && slot.maker->can_validate();
  }
  [[nodiscard]] static std::uint32_t count_idle(slot_group& group) noexcept;
  /// Counts idle resources that a waiter may use as they are. Closes expired ones, and notes in the
  /// group whether any must be validated first.
  [[nodiscard]] std::uint32_t count_fit(slot_group& group) noexcept;
  /// Makes the release of a resource in use ask the kernel. Returns false if it is not in use.
  bool mark(pool_slot& slot) noexcept;
  /// Sets the bit of a slot that is idle, or in use without a mark, and orders it by its last use.
  void list(pool_slot& slot) noexcept;

  // ---- ends -------------------------------------------------------------------------------------

  /// Closes a resource that the caller owns if it must not be used again. Returns true if it is
  /// closing.
  [[nodiscard]] bool close_if_over(slot_group& group, pool_slot& slot) noexcept;
  /// Closes a resource if it is idle.
  bool close_if_idle(pool_slot& slot, destroy_reason why) noexcept;
  /// Closes an idle resource that is too old, or was made before a flush.
  bool close_expired(pool_slot& slot) noexcept { return close_if_idle(slot, why_expired(slot)); }
  /// Closes a slot that the caller owns, in use or checking.
  void close(pool_slot& slot, destroy_reason why) noexcept;
  /// Has the hook called that ends what the user of a resource waits for, if its factory has one.
  /// Requires: it is in use and marked, and ends with this use.
  void interrupt(pool_slot& slot) const noexcept;
  /// Ends the interrupt of a resource, whose hook has returned, and has it destroyed if it is
  /// closing.
  void end_interrupt(pool_slot& slot) noexcept;
  /// Notes that a closing resource was destroyed, so that the next one can be.
  void end_destroy() noexcept;
  /// Returns how many resources are being destroyed, or are next.
  [[nodiscard]] std::uint32_t destroying() const noexcept { return destroying_; }
  /// Empties a slot whose resource is gone, or was never made.
  void empty(pool_slot& slot) noexcept;
  /// Closes surplus idle resources, or all once the pool is closed.
  void close_surplus(slot_group& group) noexcept;
  /// Closes the idle resource that was unused for longest, of any group, to leave its quota to a
  /// group whose waiter has that order. Spares those left for waiters that arrived before. If no
  /// other is idle, makes releases ask the kernel, and returns false.
  [[nodiscard]] bool evict(std::int64_t order) noexcept;

  // ---- checks -----------------------------------------------------------------------------------

  /// Begins to validate an idle resource for `keepalive`. Returns false if it is not idle.
  [[nodiscard]] bool keep_alive_if_idle(pool_slot& slot) noexcept;
  /// Begins to validate or reset a resource that the caller owns.
  void begin_check(pool_slot& slot, slot_task what) noexcept;
  void end_check(pool_slot& slot) noexcept;
  /// Notes that the task of a slot, if it has one, was begun before a flush.
  void outdate_task(pool_slot& slot) noexcept;
  /// Returns the next slot whose answer is overdue, and stops waiting for it; or returns null.
  [[nodiscard]] pool_slot* next_late_check() noexcept;
  /// Returns when the next answer will be overdue, in real time.
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
  /// Moves a slot that the caller owns.
  void set_state(pool_slot& slot, resource_state to) noexcept {
    change(slot, [to](pool_slot& one) { (void)one.move(to); });
  }
  void note_evicted(pool_slot& slot) noexcept;
  /// Has a closing resource destroyed.
  void destroy(pool_slot& slot) noexcept;
  /// Takes an idle slot, and moves it. Returns false if it is not idle.
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
  slot_queue doomed_;  // closing slots, beyond those that are destroyed at once
  std::uint32_t destroying_ = 0;
  // A slot is in at most one of these.
  slots_by_time used_;     // of several groups: those with a bit, by the last use that is known of
  slots_by_time awaited_;  // those that are checked, by the time at which most checks have ended
};

}  // namespace lido::inline v0::detail
