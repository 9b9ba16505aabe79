// The kernel of resource pools: its waiters, how they are woken and refused.
#include <utility>

#include "lido/base/tuning.hpp"
#include "pool_state.hpp"

namespace lido::detail {

// ---- waiters ------------------------------------------------------------------------------------

void pool_state::link(acquire_waiter& waiter, bool first) noexcept {
  slot_group& group = *waiter.group;
  waiter.since = now_.real;
  const bool is_early = first || waiter.is_urgent;
  waiter.order = is_early && !group.queue.empty() ? group.queue.first()->order : ++arrivals_;
  waiter.has_time =
      waiter.until.nanoseconds() > later(now_.real, settings_.validate_timeout.count());
  group.totals.waits += first && waiter.kind != grant_kind::validate ? 0 : 1;
  acquire_waiter* next = is_early ? group.queue.first() : nullptr;
  while (!first && next != nullptr && next->is_urgent) {
    next = wait_queue::after(*next);
  }
  group.queue.insert(waiter, next);
  deadlines_.push(waiter, waiter.until.nanoseconds());
  set_flags(group);  // before any look at idle resources: see idle_cache.hpp (2)
}

void pool_state::unlink(acquire_waiter& waiter) noexcept {
  slot_group& group = *waiter.group;
  if (group.queue.first() == &waiter) {
    group.is_overdue = false;  // of the next one nothing is known
  }
  group.queue.remove(waiter);
  deadlines_.remove(waiter);
  set_flags(group);
}

/// Ends the wait of a waiter that is in no queue: it was given something, or there is a cause.
/// Wakes its thread, or hands its callback to the core. False: its thread has ended the wait, and
/// will say so with `on_left`. Of a thread only the address of its word is used: it may be gone.
bool pool_state::end_wait(acquire_waiter& waiter, std::optional<acquire_failure> cause) noexcept {
  slot_group& group = *waiter.group;
  const auto* const word = waiter.word.address();
  const bool is_callback = waiter.is_callback();
  const wait_word::ending found =
      cause ? waiter.word.cancel(static_cast<std::uint32_t>(*cause)) : waiter.word.give();
  if (found == wait_word::ending::too_late) {
    ++group.leaving;
    return false;
  }
  if (is_callback) {
    out_.call.push_back(waiter);
  } else if (found == wait_word::ending::asleep) {
    out_.wake[out_.wakes++] = word;
  }
  return true;
}

/// Ends a wait without a resource, unless its thread has ended it. The waiter leaves the queue.
void pool_state::refuse(acquire_waiter& waiter, acquire_failure cause) noexcept {
  slot_group& group = *waiter.group;
  if (wait_queue::contains(waiter)) {
    unlink(waiter);
  }
  explain(waiter);
  if (end_wait(waiter, cause)) {
    count_failure(group, cause);
  }
}

/// Notes what the failed acquire says. Before its wait ends: a thread may be gone afterwards.
void pool_state::explain(acquire_waiter& waiter) noexcept {
  constexpr std::uint32_t few = 64;
  slot_group& group = *waiter.group;
  refusal& why = waiter.why;
  why.counts = counts_of(group);
  if (suspended_) {
    why.counts.idle = count_idle(group);
    why.counts.in_use -= why.counts.idle;
  }
  why.total_live = room_.live();
  why.max_total = has_groups_ ? room_.max_total() : 0;
  why.pool = group.name;
  why.error = group.error;
  why.holders = {};  // the kernel and a thread that leaves may both note them
  if (table.size() > few) {
    why.holders = monitor.longest();
    return;
  }
  table.for_each([&](const pool_slot& slot) {
    if (slot.state() == resource_state::in_use) {
      why.holders.note(slot, slot.held_for(now_.age));
    }
  });
}

/// Once waiting is of no use.
void pool_state::refuse_all(slot_group& group) noexcept {
  const auto cause = closed_ ? acquire_failure::closed : acquire_failure::create_failed;
  while (!group.queue.empty() && !out_.is_full()) {
    refuse(*group.queue.first(), cause);
  }
  if (!group.queue.empty()) {
    settle_later(group);
  }
}

void pool_state::count_failure(slot_group& group, acquire_failure cause) noexcept {
  if (cause == acquire_failure::timed_out) {
    ++group.totals.timed_out;
  } else if (cause == acquire_failure::cancelled) {
    ++group.totals.cancelled;
  } else {
    ++group.totals.refused;
  }
}

/// Nothing can be made for a while, and no resource can come back.
bool pool_state::is_hopeless(const slot_group& group) const noexcept {
  return group.retry.is_hopeless(now_.real) && group.live == group.outdated;
}

/// A waiter for whom a resource is being made or validated is not one too many.
bool pool_state::has_too_many(const slot_group& group) const noexcept {
  const std::size_t waiters = group.queue.size();
  return waiters > settings_.max_waiters &&
         waiters - settings_.max_waiters >
             group.young + group.creating - group.kept - group.outdated;
}

/// The first waiter that still waits. Those that have ended, or whose time is up, leave the queue.
acquire_waiter* pool_state::first_open(slot_group& group) noexcept {
  while (acquire_waiter* const waiter = group.queue.first()) {
    const bool is_late = waiter->until.nanoseconds() <= now_.real && !waiter->until.is_at_once();
    if (waiter->word.open() && !is_late) {
      return waiter;
    }
    if (out_.is_full()) {
      settle_later(group);
      return nullptr;
    }
    refuse(*waiter, acquire_failure::timed_out);
  }
  return nullptr;
}

/// False: the waiter was cancelled at this moment, and the slot is still the caller's.
bool pool_state::hand_over(acquire_waiter& waiter, pool_slot& slot, grant_kind kind) noexcept {
  slot_group& group = *waiter.group;
  unlink(waiter);
  const auto waited = std::chrono::nanoseconds(now_.real - waiter.since);
  slot.note_receiver(waiter.thread);
  waiter.grant = {&slot, slot.word().in(slot.state())};  // a ticket has no mark
  waiter.kind = kind;
  if (!end_wait(waiter, {})) {
    return false;
  }
  if (kind != grant_kind::create) {
    ++group.totals.handed_over;
    group.totals.waited_for += waited;
    group.totals.longest_wait = std::max(group.totals.longest_wait, waited);
  }
  return true;
}

/// Where newcomers may overtake: wakes the first waiter, which looks for itself. False: it has been
/// overtaken for long enough, or is a callback or in one, and is handed the resource.
bool pool_state::call(acquire_waiter& waiter, bool is_idle) noexcept {
  if (is_idle && waiter.called_at == 0) {
    waiter.called_at = now_.real;
  }
  if (waiter.is_callback() || !waiter.may_look ||
      (waiter.called_at != 0 && now_.real - waiter.called_at >= tuning::nanoseconds_overtaking)) {
    return false;
  }
  if (is_idle && !waiter.is_called && waiter.word.poke()) {
    waiter.is_called = true;
    out_.wake[out_.wakes++] = waiter.word.address();
  }
  return true;
}

// ---- hold and wait ------------------------------------------------------------------------------

/// Every resource is held by a thread that waits. Only the last thread to join such a ring can
/// close it, and it holds something, so other acquires do not pay for this look.
bool pool_state::is_deadlock(const slot_group& group) const noexcept {
  if (has_groups_ || group.live < group.limits.max_size) {
    return false;
  }
  return table.find([&](const pool_slot& slot) {
    const resource_state state = slot.state();
    return state == resource_state::in_use ? !is_waiting(group, slot.thread.get())
                                           : state != resource_state::empty;
  }) == nullptr;
}

bool pool_state::is_waiting(const slot_group& group, std::uint32_t thread) const noexcept {
  const acquire_waiter* waiter = thread == 0 ? nullptr : group.queue.first();
  // One that gives up is about to leave, and to release what it holds.
  while (waiter != nullptr && (waiter->thread != thread || !waiter->word.open() ||
                               waiter->until.nanoseconds() <= now_.real)) {
    waiter = wait_queue::after(*waiter);
  }
  return waiter != nullptr;
}

/// A pool that becomes smaller may close a ring that no thread joins any more: the last waiter of
/// it is told.
void pool_state::end_deadlock(slot_group& group) noexcept {
  if (!settings_.detect_hold_and_wait || group.queue.empty() || out_.is_full() ||
      !is_deadlock(group)) {
    return;
  }
  acquire_waiter* last = nullptr;
  for (acquire_waiter* waiter = group.queue.first(); waiter != nullptr;
       waiter = wait_queue::after(*waiter)) {
    const bool waits = waiter->word.open() && waiter->until.nanoseconds() > now_.real;
    last = waits && waiter->holds ? waiter : last;
  }
  if (last != nullptr) {
    refuse(*last, acquire_failure::self_deadlock);
  }
}

}  // namespace lido::detail
