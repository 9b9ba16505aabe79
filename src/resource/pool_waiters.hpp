/// @file
/// Internal. Decides which waiter gets which resource, and how waits end.
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

/// Puts the waiters of all groups into queues, hands them resources, and ends their waits. Guarded
/// by the pool's mutex, except for the word of a waiter: the waiter may end its own wait there at
/// any time.
///
/// A wait times out in one of three ways. A sleeping thread notices that its time is up, ends its
/// own wait and notifies the kernel (`on_left`). It needs no other thread for that. A tick ends all
/// waits whose time is up (`refuse_late`). Callbacks depend on ticks, since they have no thread
/// that sleeps. A release that finds a late waiter first in the queue skips it (`first_open`),
/// since that waiter would not use the resource.
///
/// Order: waiters are served first in, first out, but running threads may overtake them. A released
/// resource is left idle. As many waiters are woken as there are idle resources, and each woken
/// waiter looks for a resource itself. Once the first waiter has been overtaken for half a
/// millisecond, the next resource is handed to it, but a pool does so at most once every 100 us.
/// Handing over every resource would cost a context switch for each use. Callbacks, and threads
/// inside a callback, cannot look for a resource. When it is their turn, they are handed a resource
/// at once. Source: eventual fairness, as in WebKit's WTF::Lock.
///
/// Invariant I4: a waiter whose wait is open is in the queue of its group and in the heap of
/// deadlines. Once the kernel has ended its wait, the waiter is in neither.
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

  /// Puts a waiter into the queue of its group: at the end, or at the front if it waits again.
  void join(acquire_waiter& waiter) noexcept;
  /// Notes that a thread has ended its own wait.
  void note_left(acquire_waiter& waiter) noexcept;
  /// Ends a wait without a resource, whether or not the waiter is in a queue. Does nothing if the
  /// thread of the waiter has ended the wait already.
  void refuse(acquire_waiter& waiter, acquire_failure cause) noexcept;
  /// Ends all waits of a group. Called when waiting has become useless.
  void refuse_all(slot_group& group, acquire_failure cause) noexcept;
  /// Ends waits of all groups whose time is up, until the event has woken as many threads as it
  /// may.
  void refuse_late() noexcept;
  /// Returns the first waiter that still waits, or null. Removes all waiters in front of that
  /// waiter, since their waits have ended or their time is up.
  [[nodiscard]] acquire_waiter* first_open(slot_group& group) noexcept;
  /// Lets a waiter wait for the answer of a check, although the waiter's deadline allows no
  /// waiting.
  void wait_for_answer(acquire_waiter& waiter) noexcept;
  /// Counts a waiter that has arrived and got nothing, provided that the pool is exhausted. The
  /// pool is exhausted if no resource is being created, evicted or checked for the waiter, and none
  /// can be. Requires: its group has been matched.
  void note_exhausted(const acquire_waiter& waiter) noexcept;
  /// Returns true if the queue is too long. Waiters for which a resource is being created or
  /// validated do not count.
  [[nodiscard]] bool are_too_many(const slot_group& group) const noexcept;
  [[nodiscard]] bool has_any() const noexcept { return deadlines_.first() != nullptr; }
  /// Returns the real time at which the next deadline passes.
  [[nodiscard]] nanos next_deadline() const noexcept { return deadlines_.least_key(); }
  /// Sets the flags that acquires and releases of a group read without the mutex.
  void set_flags(slot_group& group) const noexcept;

  // ---- hand-over --------------------------------------------------------------------------------

  /// Gives idle resources to the waiters that are due for a hand-over. Then wakes as many other
  /// waiters as there are resources left, so that they look for one themselves. If `looker` is not
  /// null, it is a waiter whose thread is running, and is served first.
  void give_idle(slot_group& group, acquire_waiter* looker) noexcept;
  /// Wakes the thread of a waiter if it sleeps, so that it looks for a resource. Requires: the
  /// effects have space for one more wake-up.
  void wake(acquire_waiter& waiter) const noexcept;
  /// Records that a waiter will sleep after this event. After this call, the waiter looks for a
  /// resource once more before it sleeps.
  void begin_sleep(acquire_waiter& waiter) const noexcept;
  /// Hands a fit resource that the caller owns to the first waiter, or makes the resource idle so
  /// that a waiter finds it. `is_owed` is true if another group must get the resource.
  void give_or_make_idle(slot_group& group, pool_slot& slot, bool is_owed) noexcept;
  /// Ends a wait by giving the waiter a slot. Returns false if the waiter was cancelled at the same
  /// time; the caller then still owns the slot.
  [[nodiscard]] bool hand_over(acquire_waiter& waiter, pool_slot& slot, grant_kind kind) noexcept;
  /// Begins to validate idle resources for waiters, at most one for each waiter. A thread that is
  /// the only waiter for the only resource validates that resource itself if it has enough time. In
  /// a pool without threads, each thread validates resources itself.
  void validate_idle(slot_group& group) noexcept;

  /// Returns the real time at which a resource of the group must be replaced for a waiter.
  [[nodiscard]] nanos next_replacement(const slot_group& group) const noexcept;

  // ---- hold and wait ----------------------------------------------------------------------------

  /// Returns true if the pool is full, and each of its resources is held by a thread that is
  /// waiting itself.
  [[nodiscard]] bool is_deadlock(const slot_group& group) const noexcept;
  /// Ends a deadlock that arises although no further thread begins to wait, for example when a pool
  /// becomes smaller. To end it, refuses the last waiter whose thread holds a resource.
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
  nanos last_hand_over_ = 0;  ///< real time of the last hand-over to a thread that was overtaken
};

}  // namespace lido::inline v0::detail
