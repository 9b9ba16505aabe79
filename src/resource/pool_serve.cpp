// The kernel of resource pools: which waiter gets what, and how waiters are woken and refused.
#include <algorithm>
#include <utility>

#include "../platform/platform.hpp"
#include "lido/base/tuning.hpp"
#include "pool_state.hpp"

namespace lido::inline v0::detail {

// ---- slots --------------------------------------------------------------------------------------

/// True: it was idle and needs no look, and is in use from now on. What is over ends, and the
/// release of what is in use will take the slow path.
bool pool_state::take_if_fit(slot_group& group, pool_slot& slot) noexcept {
  for (;;) {  // other threads may take it, or give it back, at any time
    slot_word ticket;
    if (slot.state() != resource_state::idle && slot.mark()) {
      unlist(slot);
      return false;
    }
    const bool is_over = slot.is_over(now_.age, group.epoch());
    if (is_over && close_if_idle(group, slot, why_over(slot))) {
      return false;
    }
    if (!is_over && needs_validation(group, slot)) {
      group.has_stale = true;
      return false;
    }
    if (!is_over && slot.take(ticket)) {
      return true;
    }
  }
}

/// An idle resource that has to be validated, in `to` from now on; or null. `only`: not if there
/// are two.
pool_slot* pool_state::take_stale(slot_group& group, resource_state to, bool only) noexcept {
  pool_slot* found = nullptr;
  bool has_two = false;
  (void)group.find_maybe_idle([&](pool_slot& slot) {
    if (slot.state() != resource_state::idle || !needs_validation(group, slot)) {
      return false;
    }
    has_two = found != nullptr;
    found = has_two ? found : &slot;
    return has_two || !only;
  });
  slot_word ticket;
  return found != nullptr && !has_two && found->take(ticket, to) ? found : nullptr;
}

/// Of a resource that the caller owns: true if it ends instead of being used again.
bool pool_state::close_if_over(slot_group& group, pool_slot& slot) noexcept {
  destroy_reason why{};
  if (closed_) {
    why = destroy_reason::closed;
  } else if (slot.record.is_killed) {
    why = destroy_reason::killed;
  } else if (slot.is_over(now_.age, group.epoch())) {
    why = why_over(slot);
  } else if (group.has_surplus() && !slot.record.is_for_urgent &&
             (group.queue.empty() || !group.queue.first()->is_urgent)) {
    why = destroy_reason::surplus;
  } else {
    return false;
  }
  close_slot(group, slot, why);
  return true;
}

bool pool_state::close_if_idle(slot_group& group, pool_slot& slot, destroy_reason why) noexcept {
  slot_word ticket;
  const bool is_taken = slot.take(ticket, resource_state::checking);
  if (is_taken) {
    close_slot(group, slot, why);
  }
  return is_taken;
}

/// A resource that the caller owns, and that is fit: to the first waiter, or idle.
void pool_state::dispose(slot_group& group, pool_slot& slot) noexcept {
  acquire_waiter* waiter =
      suspended_ || out_->is_full() || is_preempted(group) ? nullptr : first_open(group);
  // One that was validated for a waiter would have to be validated again if it were left idle.
  if (waiter != nullptr && settings_.is_barging && !group.is_overdue &&
      !needs_validation(group, slot) && call(*waiter, /*is_idle=*/true)) {
    waiter = nullptr;
  }
  for (; waiter != nullptr; waiter = first_open(group)) {
    (void)slot.move(resource_state::in_use);
    // While others wait, its release is reported by the mark.
    if (group.queue.size() > 1 && slot.mark()) {
      unlist(slot);
    } else {
      list(slot);
    }
    if (hand_over(*waiter, slot, grant_kind::resource)) {
      return;
    }
  }
  make_idle(slot);
}

/// The same after a use. Where each use begins with a validation, a waiter's does, too.
void pool_state::take_back(slot_group& group, pool_slot& slot) noexcept {
  if (settings_.life.validate_after == 0 && slot.maker->can_validate()) {
    make_idle(slot);
  } else {
    dispose(group, slot);
  }
}

/// Of a slot that the caller owns, in use or checking.
void pool_state::close_slot(slot_group& group, pool_slot& slot, destroy_reason why) noexcept {
  unlist(slot);
  (void)slot.move(resource_state::closing);
  ++group.closing;
  slot.record.reason = why;
  out_->destroy.push(slot);
}

void pool_state::empty_slot(slot_group& group, pool_slot& slot) noexcept {
  (void)slot.move(resource_state::empty);
  idle_cache::remove(slot);
  room_.end_resource(group);
  slot.record = {};
  table.put_empty(slot);
}

/// Validates or resets it. Threads for validations are many, since those may hang.
void pool_state::begin_check(slot_group& group, pool_slot& slot, slot_task what) noexcept {
  unlist(slot);
  slot.record.task = what;
  young_.push(slot, later(now_.real, tuning::nanoseconds_for_answer));
  ++group.young;
  ++group.checking;
  group.validating += what == slot_task::validate ? 1 : 0;
  checking_ += what == slot_task::validate ? 1 : 0;
  out_->start.push(slot);
}

void pool_state::end_check(slot_group& group, pool_slot& slot) noexcept {
  const bool is_validation =
      std::exchange(slot.record.task, slot_task::none) == slot_task::validate;
  group.young -= slots_by_time::contains(slot) ? 1U : 0U;
  young_.remove(slot);
  --group.checking;
  group.validating -= is_validation && !slot.record.is_outdated ? 1 : 0;
  checking_ -= is_validation ? 1 : 0;
}

/// Ends idle resources that are too many, or all once the pool is closed.
void pool_state::shrink(slot_group& group) noexcept {
  (void)group.find_maybe_idle([&](pool_slot& slot) {
    const bool is_enough = !closed_ && !group.has_surplus();
    if (!is_enough) {
      close_if_idle(group, slot, closed_ ? destroy_reason::closed : destroy_reason::surplus);
    }
    return is_enough;
  });
}

std::uint32_t pool_state::count_idle(slot_group& group) noexcept {
  std::uint32_t idle = 0;
  (void)group.find_maybe_idle([&](const pool_slot& slot) {
    idle += slot.state() == resource_state::idle ? 1U : 0U;
    return false;
  });
  return idle;
}

// ---- groups -------------------------------------------------------------------------------------

/// After anything that may let a waiter of the group go on, or a create begin. `force`: also where
/// newcomers may overtake.
void pool_state::settle(slot_group& group, bool force) noexcept {
  if (out_->is_full()) {
    settle_later(group);
    return;
  }
  if (closed_ || is_hopeless(group)) {
    refuse_all(group);
  } else if (!suspended_) {
    if (is_preempted(group)) {
      feed();
    }
    if (!is_preempted(group)) {
      serve(group, force);
      check_stale(group);
    }
  }
  update(group);
  if (unsettled_.first() == nullptr) {
    feed();  // otherwise nothing is taken from groups that have not served their waiters
  }
}

/// Gives idle resources to waiters.
void pool_state::serve(slot_group& group, bool force) noexcept {
  while (acquire_waiter* waiter = first_open(group)) {
    if (out_->is_full()) {
      settle_later(group);
      break;
    }
    const bool calls = settings_.is_barging && !force && !group.is_overdue;
    if (calls && call(*waiter, count_idle(group) != 0)) {
      break;
    }
    group.has_stale = false;
    pool_slot* const slot =
        group.find_maybe_idle([&](pool_slot& one) { return take_if_fit(group, one); });
    if (slot == nullptr) {
      group.is_overdue = settings_.is_barging && waiter->called_at != 0 &&
                         now_.real - waiter->called_at >= tuning::nanoseconds_overtaking;
      set_flags(group);
      break;
    }
    while (waiter != nullptr && !hand_over(*waiter, *slot, grant_kind::resource)) {
      waiter = first_open(group);
    }
    if (waiter == nullptr) {
      make_idle(*slot);
    }
  }
}

/// Starts validations of idle resources for waiters, as many as wait. A thread that is alone with
/// the only idle resource validates it itself if it has the time; so does each thread in a pool
/// without threads.
void pool_state::check_stale(slot_group& group) noexcept {
  while (group.has_stale && !suspended_ && !out_->is_full()) {
    acquire_waiter* const first = first_open(group);
    if (first == nullptr) {
      return;
    }
    if (gives_unchecked(group, *first)) {
      continue;
    }
    if (group.young >= group.queue.size() || group.validating > group.limits.max_creating) {
      return;
    }
    pool_slot* const slot = take_stale(group, resource_state::checking, /*only=*/false);
    group.has_stale = slot != nullptr;
    if (slot != nullptr) {
      begin_check(group, *slot, slot_task::validate);
    }
  }
}

/// Hands a waiter an idle resource that it validates itself.
bool pool_state::gives_unchecked(slot_group& group, acquire_waiter& waiter) noexcept {
  const bool needs_no_answer = !settings_.has_threads();
  const bool is_alone = group.queue.size() == 1 && waiter.has_time && group.checking == 0;
  if (waiter.is_callback() || (!needs_no_answer && !is_alone)) {
    return false;
  }
  pool_slot* const slot = take_stale(group, resource_state::in_use, !needs_no_answer);
  if (slot == nullptr) {
    return false;
  }
  list(*slot);
  if (!hand_over(waiter, *slot, grant_kind::validate)) {
    make_idle(*slot);
  }
  return true;
}

/// What the group releases goes to another, whose first waiter came long before.
bool pool_state::is_preempted(const slot_group& group) const noexcept {
  const slot_group* const other = room_.next();
  const acquire_waiter* const mine = group.queue.first();
  return other != nullptr && other != &group && mine != nullptr && room_.is_full() &&
         evicting_ < room_.wanted() && capacity::order_of(*other) < mine->order &&
         now_.real - other->hungry_from > settings_.prefer_same_key_for;
}

/// Says how many creates the group could begin, when to look at it again, and what its flags are.
void pool_state::update(slot_group& group) noexcept {
  const std::uint32_t all = group.queue.size();
  std::uint32_t served = suspended_ ? all : (std::min)(group.young, all);
  if (settings_.is_barging && served != all) {  // what was left for them to take
    served = (std::min)(all, served + count_idle(group));
  }
  const std::uint32_t min_idle = makes_ahead() ? group.limits.min_idle : 0;
  const bool waits = group.retry.waits(now_.real);
  const auto reserve = static_cast<std::uint32_t>(settings_.reserve);
  const std::uint32_t urgent = group.queue.count_urgent(reserve);
  const std::uint32_t under_way = group.creating - group.outdated - group.kept;
  const std::uint32_t beyond = less(less(group.live, group.limits.max_size), under_way);
  const std::uint32_t extra = urgent == 0 ? 0 : (std::min)(reserve, urgent + beyond);
  const std::uint32_t idle = min_idle == 0 ? 0 : count_idle(group) + group.checking;
  const std::uint32_t for_waiters = less(all - served, under_way);
  const std::uint32_t for_idle = less(min_idle, idle + less(under_way, all - served));
  const std::uint32_t most = less(group.limits.max_size + extra, group.live);
  const std::uint32_t at_once =
      less(group.limits.max_creating + urgent, group.creating - group.outdated);
  const acquire_waiter* first = group.queue.first();  // for which nothing is being made
  for (std::uint32_t i = served + under_way; i != 0 && first != nullptr; --i) {
    first = wait_queue::after(*first);
  }
  room_.set_hunger(
      group, closed_ || waits ? 0 : (std::min)({for_waiters + for_idle, most, at_once}), first);
  nanos due = never;
  if (!closed_ && waits && (served != all || min_idle != 0)) {
    due = group.retry.at();
  }
  timers_.remove(group);
  if (due != never) {
    timers_.push(group, due);
  }
  call_planner(group, due);
  set_flags(group);
}

/// In a pool without threads the first thread that waits sees to what is due.
void pool_state::call_planner(slot_group& group, nanos due) noexcept {
  due = (std::min)(due, group.young != 0 ? young_.next() : never);
  acquire_waiter* waiter = !settings_.has_threads() && due != never ? group.queue.first() : nullptr;
  while (waiter != nullptr && waiter->is_callback()) {
    waiter = wait_queue::after(*waiter);
  }
  if (waiter != nullptr && due < waiter->wakes_at && !out_->is_full() && waiter->word.poke()) {
    out_->wake[out_->wakes++] = waiter->word.address();
  }
}

/// Begins creates of hungry groups, the one whose waiter came first before others. Where the total
/// is reached, ends what was not used for longest.
void pool_state::feed() noexcept {
  while (slot_group* const group = room_.next()) {
    if (!settings_.has_threads() && out_->is_full()) {
      settle_later(*group);  // the thread that is to create could not be woken
      break;
    }
    if (room_.is_full() && (group->wanted == 0 || evicting_ >= room_.wanted() || !evict())) {
      break;
    }
    if (room_.is_full()) {
      continue;  // until what was evicted is destroyed, or more is
    }
    if (!begin_create(*group)) {
      break;  // no memory for a bit; the next event tries again
    }
    update(*group);
  }
}

/// The runner creates; in a pool without threads the first waiter does, if it is a thread. If no
/// waiter is left there, the create is undone, since no tick may come.
bool pool_state::begin_create(slot_group& group) noexcept {
  pool_slot* const slot = table.take_empty();
  if (slot == nullptr) {
    return false;
  }
  if (!group.add(*slot)) {
    table.put_empty(*slot);
    return false;
  }
  (void)slot->move(resource_state::creating);
  slot->maker = group.hooks.get();
  slot->can_reset.set(slot->maker->can_reset());
  slot->key_hash.set(group.key_hash);
  slot->epoch.set(group.epoch());
  slot->record.task = slot_task::create;
  room_.begin_create(group, *slot);
  if (is_for_waiter(group, *slot)) {
    return true;
  }
  if (!makes_ahead() && group.queue.empty()) {
    room_.end_create(group, *slot);
    empty_slot(group, *slot);
  } else {
    out_->start.push(*slot);
  }
  return true;
}

bool pool_state::is_for_waiter(slot_group& group, pool_slot& slot) noexcept {
  bool is_taken = false;
  while (!is_taken && !settings_.has_threads() && !suspended_ && !out_->is_full()) {
    acquire_waiter* const waiter = first_open(group);
    if (waiter == nullptr || waiter->is_callback()) {
      return false;
    }
    const bool is_urgent = waiter->is_urgent;  // it may be gone afterwards
    is_taken = hand_over(*waiter, slot, grant_kind::create);
    slot.record.is_for_urgent = is_taken && is_urgent;
  }
  slot.record.is_kept = is_taken;
  group.kept += is_taken ? 1 : 0;
  if (is_taken && settings_.is_barging) {
    settle_later(group);  // an idle resource was left for this waiter
  }
  return is_taken;
}

/// Ends the resource that was not used for longest. False: all are in use; then their releases are
/// reported. A slot that was used since it was listed is listed anew.
bool pool_state::evict() noexcept {
  while (pool_slot* const slot = used_.first()) {
    slot_group& group = group_of(*slot);
    if (slot->state() == resource_state::idle &&
        slot->last_used.get() != slots_by_time::key_of(*slot)) {
      used_.remove(*slot);
      list(*slot);
    } else if (close_if_idle(group, *slot, destroy_reason::surplus)) {
      slot->record.is_evicted = true;
      ++evicting_;
      return true;
    } else if (slot->mark()) {
      unlist(*slot);
    }
  }
  return false;
}

void pool_state::set_flags(slot_group& group) const noexcept {
  const bool has_waiters = !group.queue.empty();
  const bool is_held = has_waiters && (!settings_.is_barging || group.is_overdue);
  group.set_flags((is_held ? slow_path_flags::hold : 0U) |
                  (has_waiters || group.has_surplus() ? slow_path_flags::report : 0U));
}

// ---- waiters ------------------------------------------------------------------------------------

void pool_state::link(acquire_waiter& waiter, bool first) noexcept {
  slot_group& group = *waiter.group;
  waiter.since = now_.real;
  const bool is_early = first || waiter.is_urgent;
  waiter.order = is_early && !group.queue.empty() ? group.queue.first()->order : ++arrivals_;
  waiter.has_time =
      waiter.until.nanoseconds() > later(now_.real, settings_.validate_timeout.count());
  group.totals.exhausted += first && waiter.kind != grant_kind::validate ? 0 : 1;
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
  platform::tell_release(word);
  const wait_word::ending found =
      cause ? waiter.word.cancel(static_cast<std::uint32_t>(*cause)) : waiter.word.give();
  if (found == wait_word::ending::too_late) {
    ++group.leaving;
    return false;
  }
  if (is_callback) {
    out_->call.push_back(waiter);
  } else if (found == wait_word::ending::asleep) {
    out_->wake[out_->wakes++] = word;
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
  why.holders = table.size() > few ? monitor.longest() : holder_list();
  const auto look = [&](const pool_slot& slot) {
    if (slot.state() == resource_state::in_use) {
      why.holders.note(slot, slot.held_for(now_.age));
    }
    return slot.number + 1 == few;
  };
  if (why.holders.empty()) {
    (void)table.find(look);
  }
}

/// Once waiting is of no use.
void pool_state::refuse_all(slot_group& group) noexcept {
  const auto cause = closed_ ? acquire_failure::closed : acquire_failure::create_failed;
  while (!group.queue.empty() && !out_->is_full()) {
    refuse(*group.queue.first(), cause);
  }
  if (!group.queue.empty()) {
    settle_later(group);
  }
}

/// The first waiter that still waits. Those that have ended, or whose time is up, leave the queue.
acquire_waiter* pool_state::first_open(slot_group& group) noexcept {
  while (acquire_waiter* const waiter = group.queue.first()) {
    const bool is_late = waiter->until.nanoseconds() <= now_.real && !waiter->until.is_at_once();
    if (waiter->word.open() && !is_late) {
      return waiter;
    }
    if (out_->is_full()) {
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
  // Not less than zero: threads read the clock before they have the mutex.
  const auto waited = std::chrono::nanoseconds(std::max<nanos>(now_.real - waiter.since, 0));
  slot.note_receiver(waiter.thread);
  waiter.grant = {&slot, slot.word().in(slot.state())};  // a ticket has no mark
  waiter.kind = kind;
  if (!end_wait(waiter, {})) {
    return false;
  }
  if (kind != grant_kind::create) {
    ++group.totals.handed_over;
    note_high_water(group);
    group.totals.waited_for += waited;
    wait_times.add(waited);
    group.totals.longest_wait = (std::max)(group.totals.longest_wait, waited);
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
    out_->wake[out_->wakes++] = waiter.word.address();
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
  if (!settings_.detect_hold_and_wait || group.queue.empty() || out_->is_full() ||
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

}  // namespace lido::inline v0::detail
