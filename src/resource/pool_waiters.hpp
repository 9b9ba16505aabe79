/// @file
/// Internal. Which waiter gets what, and how waits end.
#pragma once

#include <cstdint>
#include <optional>

#include "acquire_queue.hpp"
#include "kernel_context.hpp"
#include "lido/resource/slot.hpp"
#include "pool_numbers.hpp"
#include "resource_slots.hpp"
#include "slot_group.hpp"
#include "slot_table.hpp"

namespace lido::inline v0::detail {

/// The waiters of all groups: joins them to queues, hands them resources, and ends their waits.
/// Under the pool's mutex, except for a waiter's word, in which the waiter may end its own wait at
/// any time.
///
/// A wait ends by time in one of three ways. A thread that sleeps sees that its time is up, ends
/// its own wait and notifies the kernel (`on_left`): it needs no other thread. A tick ends all
/// whose time is up (`refuse_late`); for a callback nothing else does. A release that finds a late
/// waiter first in the queue skips it (`first_open`), so that it gets no resource that it would not
/// use.
///
/// Order: first in, first out among waiters, while threads that run may overtake them. A resource
/// that comes back is left idle, and as many waiters are woken as there are idle resources; each
/// looks for one itself. Once the first waiter has been overtaken for half a millisecond it is
/// handed the next resource, but a pool does this at most once every 100 us. A hand-over to each
/// would cost a switch for each use. Callbacks, and threads in one, cannot look: they are handed a
/// resource in their turn, at once. Source: eventual fairness, as in WebKit's WTF::Lock.
///
/// Invariant I4: an open waiter is in the queue of its group and in the heap of deadlines. A waiter
/// is in neither once the kernel has ended its wait.
class pool_waiters {
 public:
  pool_waiters(kernel_context& context, resource_slots& slots, const pool_slot_table& table,
               create_quota& quota, lease_monitor& monitor, pool_numbers& numbers) noexcept
      : context_(context),
        slots_(slots),
        table_(table),
        quota_(quota),
        monitor_(monitor),
        numbers_(numbers) {}

  // ---- queues -----------------------------------------------------------------------------------

  /// Puts a waiter into the queue of its group: last, or in front of all others if it comes back.
  void join(acquire_waiter& waiter) noexcept;
  /// Notes that a thread has ended its own wait.
  void note_left(acquire_waiter& waiter) noexcept;
  /// Ends a wait without a resource, in a queue or not, unless its thread has ended it.
  void refuse(acquire_waiter& waiter, acquire_failure cause) noexcept;
  /// Ends all waits of a group, once waiting is useless.
  void refuse_all(slot_group& group, acquire_failure cause) noexcept;
  /// Ends waits whose time is up, of all groups, as many as one event may wake.
  void refuse_late() noexcept;
  /// Returns the first waiter that still waits, or null. Those that have ended, or whose time is
  /// up, leave the queue.
  [[nodiscard]] acquire_waiter* first_open(slot_group& group) noexcept;
  /// Lets a waiter that does not wait for a release wait for the answer of a check.
  void wait_for_answer(acquire_waiter& waiter) noexcept;
  /// Counts a waiter that arrived and got nothing, if the pool is exhausted: none is being created,
  /// evicted or checked for it, and none can be. Requires: its group was matched.
  void note_exhausted(const acquire_waiter& waiter) noexcept;
  /// Returns true if the queue is too long. A waiter for which a resource is being created or
  /// validated does not count.
  [[nodiscard]] bool are_too_many(const slot_group& group) const noexcept;
  [[nodiscard]] bool has_any() const noexcept { return deadlines_.first() != nullptr; }
  /// Returns when the next deadline passes, in real time.
  [[nodiscard]] nanos next_deadline() const noexcept { return deadlines_.least_key(); }
  /// Sets what acquires and releases of a group see without the mutex.
  void set_flags(slot_group& group) const noexcept;

  // ---- hand-over --------------------------------------------------------------------------------

  /// Gives idle resources to the waiters that are due for a hand-over, and wakes as many others as
  /// there are resources left, to look for themselves. The first is `looker`, a waiter whose thread
  /// runs, if it is not null.
  void give_idle(slot_group& group, acquire_waiter* looker) noexcept;
  /// Wakes a thread if it sleeps, so that it looks for a resource. Requires: the effects have space
  /// for one more wake-up.
  void wake(acquire_waiter& waiter) const noexcept;
  /// Records that a waiter sleeps from the end of this event on. It looks once more after this
  /// call.
  void begin_sleep(acquire_waiter& waiter) const noexcept;
  /// Takes a fit resource that the caller owns. Hands it to the first waiter, or makes it idle and
  /// wakes a waiter to look. `is_owed`: another group is to have it.
  void give_or_make_idle(slot_group& group, pool_slot& slot, bool is_owed) noexcept;
  /// Ends a wait with a slot. Returns false if the waiter was cancelled at this moment: then the
  /// slot is still the caller's.
  [[nodiscard]] bool hand_over(acquire_waiter& waiter, pool_slot& slot, grant_kind kind) noexcept;
  /// Begins to validate idle resources for waiters, as many as wait. A thread that is alone with
  /// the only idle resource validates it itself if it has the time; so does each thread in a pool
  /// without threads.
  void validate_idle(slot_group& group) noexcept;

  /// Returns when a resource of the group is to be replaced for a waiter, in real time.
  [[nodiscard]] nanos next_replacement(const slot_group& group) const noexcept;

  // ---- hold and wait ----------------------------------------------------------------------------

  /// Returns true if each resource of a full pool is held by a thread that waits.
  [[nodiscard]] bool is_deadlock(const slot_group& group) const noexcept;
  /// Refuses the last waiter of a ring that no further thread joins, as after a pool has become
  /// smaller.
  void end_deadlock(slot_group& group) noexcept;

 private:
  void leave(acquire_waiter& waiter) noexcept;
  bool end_wait(acquire_waiter& waiter, std::optional<acquire_failure> cause) const noexcept;
  void explain(acquire_waiter& waiter) noexcept;
  static void note_awake(acquire_waiter& waiter, bool on) noexcept;
  [[nodiscard]] nanos due_at(const acquire_waiter& waiter) const noexcept;
  [[nodiscard]] bool is_due(const acquire_waiter& waiter) const noexcept;
  void wake_to_look(slot_group& group) const noexcept;
  void look(acquire_waiter& waiter) noexcept;
  [[nodiscard]] bool give_idle_to(acquire_waiter& waiter) noexcept;
  [[nodiscard]] static acquire_waiter* first_without_replacement(const slot_group& group) noexcept;
  void replace_unasked(slot_group& group) noexcept;
  [[nodiscard]] bool give_unchecked(slot_group& group, acquire_waiter& waiter) noexcept;
  [[nodiscard]] bool is_waiting(const slot_group& group, std::uint32_t thread) const noexcept;

  kernel_context& context_;
  resource_slots& slots_;
  const pool_slot_table& table_;
  create_quota& quota_;
  lease_monitor& monitor_;
  pool_numbers& numbers_;
  waiter_deadlines deadlines_;
  std::int64_t arrivals_ = 0;
  nanos last_hand_over_ = 0;  ///< to a thread that was overtaken; real time
};

}  // namespace lido::inline v0::detail
