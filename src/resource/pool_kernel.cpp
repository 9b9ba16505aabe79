// The events of the kernel of resource pools.
#include "pool_kernel.hpp"

#include <algorithm>
#include <chrono>
#include <utility>

#include "lido/base/assert.hpp"

namespace lido::inline v0::detail {

namespace {

std::uint32_t most_of(const pool_settings& settings) noexcept {
  return settings.max_total != 0 ? settings.max_total
                                 : static_cast<std::uint32_t>(settings.max_size + settings.reserve);
}

}  // namespace

pool_kernel::pool_kernel(const pool_settings& settings, pool_core* core, slot_maker make,
                         std::uint32_t seed)
    : table(make, most_of(settings), seed),
      gate(settings.life, settings.max_total),
      monitor(settings.slow_after, settings.leak_after),
      control(context_, table, gate, groups_, slots_, quota_, waiters_),
      core_(core),
      context_(settings, settings.max_total != 0),
      numbers_(context_, table, groups_),
      slots_(context_, table),
      quota_(slots_.counts(), most_of(settings), context_.has_groups),
      waiters_(context_, slots_, table, quota_, monitor, numbers_),
      planner_(context_, slots_, waiters_, quota_),
      sweep_(context_, slots_, table, gate, monitor, numbers_),
      random_(seed) {}

/// Begins an event. From now on, a check that has taken longer than most answers delays no waiter:
/// other checks begin in addition to it, and creates after them.
void pool_kernel::begin(const moment& now, effects& out) noexcept {
  context_.now = now;
  context_.out = &out;
  if (sweep_.is_resting()) {  // without sweeps, no tick has advanced the time
    gate.advance(now.age);
  }
  while (const pool_slot* const late = slots_.next_late_check()) {
    planner_.look_again(group_of(*late));
  }
}

void pool_kernel::finish() noexcept {
  effects& out = *context_.out;
  // Match one group at a time, as long as the event may wake threads.
  while (context_.next_to_match() != nullptr && !out.is_full()) {
    slot_group& group = *context_.next_to_match();
    context_.forget_match(group);
    match(group);
  }
  if (context_.settings.has_threads()) {
    sweep_.rest(slots_.counts().live() == 0 && (!context_.has_groups || groups_.empty()));
  }
  out.drained |= control.has_just_drained();
  out.more |= context_.next_to_match() != nullptr;
  context_.is_ticking = false;
  acquire_waiter* const waiter = std::exchange(looking_, nullptr);
  if (waiter != nullptr && waiter->word.open()) {
    waiter->wakes_at = next_timer();
    // This is done with the mutex held, so that the next wake-up finds the waiter asleep.
    waiter->word.begin_sleep();
  }
  // Count a thread for each create, validation and destroy: these may hang, and must delay neither
  // each other nor anything else.
  constexpr std::uint32_t rest = 4;
  out.most_threads =
      slots_.counts().creating() + slots_.counts().validations() + slots_.destroying() + rest;
}

/// Gives the waiters of a group what is available, and begins whatever else they need. Called after
/// each change that may let a waiter continue or a create begin. `looker` is null, or a waiter
/// whose thread is running and looks for a resource.
void pool_kernel::match(slot_group& group, acquire_waiter* looker) noexcept {
  if (context_.out->is_full()) {
    context_.match_later(group);
    return;
  }
  if (context_.is_closed || group.is_hopeless(context_.now.real)) {
    waiters_.refuse_all(
        group, context_.is_closed ? acquire_failure::closed : acquire_failure::create_failed);
  } else if (!context_.is_suspended) {
    // With keys, a waiter of another key that arrived earlier is served first, until enough
    // resources have been evicted for that waiter.
    if (planner_.is_owed(group)) {
      planner_.start_creates();
    }
    if (!planner_.is_owed(group)) {
      waiters_.give_idle(group, looker);
      waiters_.validate_idle(group);
    }
  }
  planner_.plan(group);
  if (context_.next_to_match() == nullptr) {
    // Creates begin only now. If they began earlier, groups could lose what their own waiters need.
    planner_.start_creates();
  }
}

// ---- groups -------------------------------------------------------------------------------------

slot_group& pool_kernel::add_group(std::shared_ptr<factory_hooks> hooks, const group_limits& limits,
                                   std::uint64_t hash, std::string key) {
  const pool_settings& settings = context_.settings;
  group_name name{.hash = hash, .key = nullptr, .pool = nullptr};
  if (context_.has_groups) {
    name.pool = std::make_shared<const std::string>(
        key.empty() ? settings.pool_name : settings.pool_name + '[' + key + ']');
    name.key = std::make_shared<const std::string>(std::move(key));
  }
  slot_group& added = groups_.add(std::make_unique<slot_group>(
      core_, gate, std::move(hooks), limits,
      retry_backoff(settings.retry_first.count(), settings.retry_longest.count()),
      std::move(name)));
  added.cache.set_epoch(++context_.epochs);
  return added;
}

bool pool_kernel::can_remove(const slot_group& group) const noexcept {
  return group.counts.live() == 0 && group.queue.empty() && group.self_ended == 0 &&
         !group.retry.waits(context_.now.real) && !kernel_context::is_to_match(group);
}

void pool_kernel::remove_group(slot_group& group) noexcept {
  LIDO_ASSERT(can_remove(group), "a group is removed that has resources or waiters");
  numbers_.add_removed(group);
  planner_.forget(group);
  groups_.remove(group);
}

nanos pool_kernel::next_timer() const noexcept {
  const nanos answer = waiters_.has_any() ? slots_.next_answer() : never;
  return (std::min)({waiters_.next_deadline(), planner_.next_look(), answer});
}

// ---- waiters ------------------------------------------------------------------------------------

void pool_kernel::on_acquire(acquire_waiter& waiter) noexcept {
  slot_group& group = *waiter.group;
  group.factory.is_asked = true;
  if (context_.is_closed || group.is_hopeless(context_.now.real)) {
    waiters_.refuse(waiter,
                    context_.is_closed ? acquire_failure::closed : acquire_failure::create_failed);
    return;
  }
  if (waiter.until.is_at_once() && waiter.kind == grant_kind::create) {
    // A waiter whose deadline allows no waiting tries only one create.
    waiters_.refuse(waiter, acquire_failure::timed_out);
    return;
  }
  waiters_.join(waiter);
  match(group, &waiter);
  if (!waiter.word.open()) {
    return;
  }
  if (!waiter.comes_back()) {
    waiters_.note_exhausted(waiter);
  }
  if (waiter.until.is_at_once()) {
    if (group.counts.awaited() != 0) {
      waiters_.wait_for_answer(waiter);
    } else {
      waiters_.refuse(waiter, acquire_failure::timed_out);
    }
  } else if (!waiter.comes_back() && !waiter.came.is_urgent && waiters_.are_too_many(group)) {
    waiters_.refuse(waiter, acquire_failure::too_many_waiters);
  }
}

void pool_kernel::on_look(acquire_waiter& waiter) noexcept {
  if (!context_.settings.has_threads()) {
    end_due();  // perhaps no other thread will do what is due
  }
  if (acquire_queue::contains(waiter)) {
    waiters_.begin_sleep(waiter);
    match(*waiter.group, &waiter);
  }
  looking_ = &waiter;
}

void pool_kernel::on_left(acquire_waiter& waiter) noexcept {
  waiters_.note_left(waiter);
}

void pool_kernel::on_refused(acquire_waiter& waiter, acquire_failure cause) noexcept {
  waiters_.refuse(waiter, cause);
}

void pool_kernel::on_hold_and_wait(acquire_waiter& waiter) noexcept {
  waiter.holds = true;
  if (acquire_queue::contains(waiter) && waiters_.is_deadlock(*waiter.group)) {
    waiters_.refuse(waiter, acquire_failure::self_deadlock);
  }
}

// ---- releases -----------------------------------------------------------------------------------

void pool_kernel::on_returning(pool_slot& slot, bool& ended) noexcept {
  sweep_.note_return(slot);
  ended = slots_.close_if_over(group_of(slot), slot);
  if (ended) {
    context_.match_later(slot);
  }
}

void pool_kernel::on_released(pool_slot& slot, bool resets) noexcept {
  slot_group& group = context_.match_later(slot);
  sweep_.note_return(slot);
  if (slots_.close_if_over(group, slot)) {
    return;
  }
  if (resets) {
    slots_.begin_check(slot, slot_task::reset);
  } else {
    give_after_use(group, slot);
  }
}

void pool_kernel::on_discarded(pool_slot& slot, destroy_reason why) noexcept {
  context_.match_later(slot);
  sweep_.note_return(slot);
  slots_.close(slot, why);
}

void pool_kernel::on_detached(pool_slot& slot) noexcept {
  slot_group& group = context_.match_later(slot);
  sweep_.note_return(slot);
  ++group.totals.detached;
  pool_numbers::count_uses(group, slot);
  slots_.empty(slot);
}

void pool_kernel::on_idle(slot_group& group) noexcept {
  slots_.close_surplus(group);
  match(group);
}

/// Passes a resource on after a use. If each use must begin with a validation, makes the resource
/// idle instead, so that it is also validated for a waiter.
void pool_kernel::give_after_use(slot_group& group, pool_slot& slot) noexcept {
  if (context_.settings.life.validate_after == 0 && slot.maker->can_validate()) {
    slots_.make_idle(slot);
  } else {
    waiters_.give_or_make_idle(group, slot, planner_.is_owed(group));
  }
}

// ---- tasks --------------------------------------------------------------------------------------

void pool_kernel::on_created(pool_slot& slot, create_outcome& outcome, nanos began,
                             slot_grant& kept) noexcept {
  slot_group& group = context_.match_later(slot);
  const bool is_kept = slot.record.is_kept;
  if (!slot.record.is_outdated) {  // otherwise the outcome says nothing about the current factory
    group.factory.error.swap(outcome.error);
    group.factory.has_created |= outcome.made;
    if (outcome.made) {
      group.retry.reset();
    } else {
      group.retry.failed(context_.now.real, began, draw(), outcome.permanent);
    }
  }
  if (!outcome.made) {
    ++group.totals.create_failures;
    slots_.empty(slot);
    waiters_.end_deadlock(group);
    return;
  }
  numbers_.count_create(group, std::chrono::nanoseconds(context_.now.real - began));
  const slot_word ticket = slots_.activate(slot, draw());
  if (slots_.close_if_over(group, slot)) {
    return;
  }
  slot.record.is_for_urgent = false;  // once released, the resource is surplus
  if (is_kept) {
    slots_.list(slot);
    kept = {&slot, ticket};
    ++group.totals.handed_over;
    numbers_.note_high_water(group);
  } else {
    waiters_.give_or_make_idle(group, slot, planner_.is_owed(group));
  }
}

void pool_kernel::on_adopted(pool_slot& slot, bool made) noexcept {
  slot_group& group = context_.match_later(slot);
  if (!made) {
    slots_.empty(slot);
    return;
  }
  ++group.totals.created;
  (void)slots_.activate(slot, draw());
  if (!slots_.close_if_over(group, slot)) {
    waiters_.give_or_make_idle(group, slot, planner_.is_owed(group));
  }
}

void pool_kernel::on_checked(pool_slot& slot, bool passed) noexcept {
  slot_group& group = context_.match_later(slot);
  const bool is_reset = slot.record.task == slot_task::reset;
  const bool is_keepalive = slot.record.check.is_keepalive;
  slots_.end_check(slot);
  if (is_keepalive) {
    sweep_.keep_next_alive();
  }
  if (!passed) {
    slots_.close(slot, is_reset ? destroy_reason::reset_refused : destroy_reason::invalid);
    return;
  }
  if (slots_.close_if_over(group, slot)) {
    return;
  }
  if (is_reset) {
    slot.used_until(context_.now.age, context_.settings.life);
    give_after_use(group, slot);
  } else {
    slot.validated(context_.now.age, context_.settings.life);
    group.factory.note_answer(context_.now.real - slot.record.check.began_at);
    waiters_.give_or_make_idle(group, slot, planner_.is_owed(group));
  }
}

void pool_kernel::on_destroyed(pool_slot& slot) noexcept {
  slot_group& group = context_.match_later(slot);
  ++group.totals.destroyed[static_cast<std::size_t>(slot.record.reason)];
  pool_numbers::count_uses(group, slot);
  slots_.empty(slot);
  slots_.end_destroy();
  waiters_.end_deadlock(group);
}

// ---- time ---------------------------------------------------------------------------------------

void pool_kernel::on_tick(nanos age) noexcept {
  context_.now.age = (std::max)(context_.now.age, age);
  gate.advance(context_.now.age);
  context_.is_ticking = true;
  if (!context_.settings.has_threads()) {
    groups_.for_each([this](slot_group& group) { context_.match_later(group); });
  }
  if (sweep_.is_due()) {
    sweep_.look_at_more();
  }
  end_due();
}

void pool_kernel::on_more() noexcept {
  if (sweep_.is_under_way()) {
    sweep_.look_at_more();
  }
  end_due();
}

/// Does what is due in all groups, and records whether more is left to do.
void pool_kernel::end_due() noexcept {
  waiters_.refuse_late();
  planner_.match_due();
  context_.out->more = sweep_.is_under_way() || waiters_.next_deadline() <= context_.now.real;
}

}  // namespace lido::inline v0::detail
