// The kernel of resource pools: its events.
#include "pool_state.hpp"

#include <algorithm>
#include <utility>

#include "lido/base/fail.hpp"
#include "lido/base/tuning.hpp"

namespace lido::inline v0::detail {

namespace {

std::uint32_t most_of(const pool_settings& settings) noexcept {
  return settings.max_total != 0 ? settings.max_total
                                 : static_cast<std::uint32_t>(settings.max_size + settings.reserve);
}

}  // namespace

pool_state::pool_state(const pool_settings& settings, pool_core* core, slot_maker make,
                       std::uint32_t seed)
    : table(make, most_of(settings)),
      gate(settings.life, settings.max_total),
      monitor(settings.slow_after, settings.leak_after),
      settings_(settings),
      core_(core),
      has_groups_(settings.max_total != 0),
      room_(most_of(settings), has_groups_),
      random_(seed) {}

/// A check that has taken longer than most answers holds up no waiter from now on: others are begun
/// beside it, and then creates.
void pool_state::begin(const moment& now, effects& out) noexcept {
  now_ = now;
  out_ = &out;
  while (young_.next() <= now_.real) {
    slot_group& group = group_of(*young_.first());
    young_.remove(*young_.first());
    --group.young;
    timers_.remove(group);
    timers_.push(group, now_.real);  // the next tick looks at it
  }
}

void pool_state::finish() noexcept {
  // One group at a time, as long as there is room for those to be woken.
  while (unsettled_.first() != nullptr && !out_->is_full()) {
    slot_group& group = *unsettled_.first();
    unsettled_.remove(group);
    settle(group);
  }
  out_->drained |= is_drained() && !std::exchange(drain_told_, true);
  out_->more |= unsettled_.first() != nullptr;
  is_ticking_ = false;
  acquire_waiter* const waiter = std::exchange(looking_, nullptr);
  if (waiter != nullptr && waiter->word.open()) {
    waiter->wakes_at = next_timer();
    waiter->word.begin_sleep();  // under the mutex, so that the next call finds it asleep
  }
  // Creates and validations may hang, and hold up neither each other nor the rest.
  constexpr std::uint32_t rest = 4;
  out_->most_threads = room_.creating() + checking_ + rest;
}

// ---- groups -------------------------------------------------------------------------------------

slot_group& pool_state::add_group(std::shared_ptr<factory_hooks> hooks, const group_limits& limits,
                                  std::uint64_t hash, std::string key) {
  auto group = std::make_unique<slot_group>(
      core_, gate, std::move(hooks), limits,
      retry_backoff(settings_.retry_first.count(), settings_.retry_longest.count()), hash);
  if (has_groups_) {
    group->name = std::make_shared<const std::string>(
        key.empty() ? settings_.pool_name : settings_.pool_name + '[' + key + ']');
    group->text = std::make_shared<const std::string>(std::move(key));
  }
  group->index = groups_.size();
  groups_.push_back(std::move(group));
  return *groups_.back();
}

void pool_state::remove_group(slot_group& group) noexcept {
  group.idle_seen = 0;
  group.hits_seen = 0;  // they are in the totals, as the next
  group.acquires_seen = 0;
  resource_pool_stats last = stats(group);
  last.capacity = 0;
  gone.add(last);
  room_.forget(group);
  timers_.remove(group);
  const std::size_t index = group.index;
  groups_.back()->index = index;
  groups_[index].swap(groups_.back());
  groups_.pop_back();
}

std::size_t pool_state::count_unsettled() const noexcept {
  std::size_t found = 0;
  table.for_each([&found](const pool_slot& slot) {
    const resource_state now = slot.state();
    found += now == resource_state::empty || now == resource_state::in_use ? 0 : 1;
  });
  return found;
}

slot_group* pool_state::next_in(std::uint64_t round) noexcept {
  for (const auto& group : groups_) {
    if (group->visited_in < round) {
      group->visited_in = round;
      return group.get();
    }
  }
  return nullptr;
}

// ---- waiters ------------------------------------------------------------------------------------

void pool_state::on_acquire(acquire_waiter& waiter, bool again) noexcept {
  slot_group& group = *waiter.group;
  if (closed_ || is_hopeless(group)) {
    refuse(waiter, closed_ ? acquire_failure::closed : acquire_failure::create_failed);
    return;
  }
  if (again && waiter.until.is_at_once() && waiter.kind == grant_kind::create) {
    refuse(waiter, acquire_failure::timed_out);  // one try is enough
    return;
  }
  link(waiter, again);
  if (group.queue.first() == &waiter) {
    settle(group, /*force=*/true);
  } else {
    check_stale(group);
    update(group);
    feed();
  }
  if (!waiter.word.open()) {
    return;
  }
  if (waiter.until.is_at_once() && group.young != 0) {
    // An answer comes soon, or that of the next resource that is asked.
    waiter.until = deadline::at_nanoseconds(later(now_.real, 2 * tuning::nanoseconds_for_answer));
    deadlines_.remove(waiter);
    deadlines_.push(waiter, waiter.until.nanoseconds());
    return;
  }
  if (waiter.until.is_at_once()) {
    refuse(waiter, acquire_failure::timed_out);
  } else if (!again && !waiter.is_urgent && has_too_many(group)) {
    refuse(waiter, acquire_failure::too_many_waiters);
  } else {
    return;
  }
  update(group);  // nothing is to be created for it any more
  feed();
}

void pool_state::on_look(acquire_waiter& waiter) noexcept {
  waiter.is_called = false;
  if (!settings_.has_threads()) {
    go_on();  // no other thread may come by
  }
  if (wait_queue::contains(waiter)) {
    settle(*waiter.group, /*force=*/true);
  }
  looking_ = &waiter;
}

void pool_state::on_left(acquire_waiter& waiter) noexcept {
  slot_group& group = *waiter.group;
  if (wait_queue::contains(waiter)) {
    unlink(waiter);
  } else {
    --group.leaving;
  }
  count_failure(group, waiter.cause());
  explain(waiter);
  settle(group);  // others can have what it was called for
}

void pool_state::on_returning(pool_slot& slot, bool& ended) noexcept {
  report_return(slot);
  ended = close_if_over(group_of(slot), slot);
  if (ended) {
    settle_after(slot);
  }
}

// ---- slots --------------------------------------------------------------------------------------

void pool_state::on_released(pool_slot& slot, bool resets) noexcept {
  slot_group& group = settle_after(slot);
  report_return(slot);
  if (close_if_over(group, slot)) {
    return;
  }
  if (resets) {
    (void)slot.move(resource_state::checking);
    begin_check(group, slot, slot_task::reset);
  } else {
    take_back(group, slot);
  }
}

/// Of a resource that ends.
void pool_state::count_uses(slot_group& group, const pool_slot& slot) noexcept {
  group.totals.hits += slot.hits.get();
  group.totals.acquires += slot.uses();
}

void pool_state::on_detached(pool_slot& slot) noexcept {
  slot_group& group = settle_after(slot);
  report_return(slot);
  group.totals.detached += 1;
  count_uses(group, slot);
  unlist(slot);
  empty_slot(group, slot);
}

void pool_state::on_destroyed(pool_slot& slot) noexcept {
  slot_group& group = settle_after(slot);
  --group.closing;
  evicting_ -= slot.record.is_evicted ? 1 : 0;
  ++group.totals.destroyed[static_cast<std::size_t>(slot.record.reason)];
  count_uses(group, slot);
  empty_slot(group, slot);
  end_deadlock(group);
}

void pool_state::on_created(pool_slot& slot, create_outcome& outcome, nanos began,
                            slot_grant& kept) noexcept {
  slot_group& group = settle_after(slot);
  const bool is_kept = slot.record.is_kept;
  slot.record.task = slot_task::none;
  room_.end_create(group, slot);
  if (!slot.record.is_outdated) {  // otherwise it says nothing about the present factory
    group.error.swap(outcome.error);
    group.has_created |= outcome.made;
    if (outcome.made) {
      group.retry.reset();
    } else {
      group.retry.failed(now_.real, draw(), outcome.permanent);
    }
  }
  if (!outcome.made) {
    ++group.totals.create_failures;
    empty_slot(group, slot);
    end_deadlock(group);
    return;
  }
  ++group.totals.created;
  const std::chrono::nanoseconds took(now_.real - began);
  group.totals.creating_for += took;
  create_times.add(took);
  group.totals.longest_create = (std::max)(group.totals.longest_create, took);
  const slot_word ticket = slot.activate(now_.age, settings_.life, draw());
  if (close_if_over(group, slot)) {
    return;
  }
  slot.record.is_for_urgent = false;  // once it comes back it is one too many
  if (is_kept) {
    list(slot);
    kept = {&slot, ticket};
    ++group.totals.handed_over;
    note_high_water(group);
  } else {
    dispose(group, slot);
  }
}

void pool_state::on_checked(pool_slot& slot, bool passed) noexcept {
  slot_group& group = settle_after(slot);
  const bool is_reset = slot.record.task == slot_task::reset;
  end_check(group, slot);
  if (!passed) {
    close_slot(group, slot, is_reset ? destroy_reason::reset_refused : destroy_reason::invalid);
    return;
  }
  if (close_if_over(group, slot)) {
    return;
  }
  if (is_reset) {
    slot.used_until(now_.age, settings_.life);
    take_back(group, slot);
  } else {
    slot.validated(now_.age, settings_.life);
    dispose(group, slot);
  }
}

// ---- time ---------------------------------------------------------------------------------------

void pool_state::on_tick(nanos age) noexcept {
  now_.age = (std::max)(now_.age, age);
  gate.advance(now_.age);
  is_ticking_ = true;
  if (!settings_.has_threads()) {
    for_each_group([this](slot_group& group) { settle_later(group); });
  }
  if (now_.real >= next_sweep_ || now_.age >= next_age_) {
    sweep();
  }
  go_on();
}

/// Ends what is due, of all groups, and says whether there is more.
void pool_state::go_on() noexcept {
  while (deadlines_.next() <= now_.real && !out_->is_full()) {
    acquire_waiter& waiter = *deadlines_.first();
    settle_later(*waiter.group);
    refuse(waiter, acquire_failure::timed_out);
  }
  while (timers_.next() <= now_.real) {
    settle_later(*timers_.first());
    timers_.remove(*timers_.first());
  }
  out_->more = sweep_from_ != 0 || deadlines_.next() <= now_.real;
}

/// Looks at a part of all slots, the next part the next time: under one lock it takes a millisecond
/// at most.
void pool_state::sweep() noexcept {
  constexpr std::uint32_t most = 4096;
  if (sweep_from_ == 0) {
    count_slots();
  }
  const std::uint32_t end = sweep_from_ + most;
  table.for_each([&](pool_slot& slot) {
    if (slot.number >= sweep_from_ && slot.number < end) {
      look_after(slot);
    }
  });
  sweep_from_ = end < table.size() ? end : 0;
  if (sweep_from_ == 0) {
    monitor.end_round();
    next_sweep_ = later(now_.real, settings_.period);
    next_age_ = later(now_.age, settings_.period);
  }
}

void pool_state::count_slots() noexcept {
  for_each_group([](slot_group& group) {
    group.idle_seen = 0;
    group.hits_seen = 0;
    group.acquires_seen = 0;
  });
  table.for_each([](const pool_slot& slot) {
    const resource_state state = slot.state();
    if (state != resource_state::empty && state != resource_state::creating) {
      group_of(slot).idle_seen += state == resource_state::idle ? 1U : 0U;
      group_of(slot).hits_seen += slot.hits.get();
      group_of(slot).acquires_seen += slot.uses();
    }
  });
  std::size_t in_use = 0;
  for_each_group([&in_use](slot_group& group) {
    const std::size_t own = group.taken() - group.idle_seen;
    group.totals.high_water = (std::max)(group.totals.high_water, own);
    in_use += own;
  });
  high_water = (std::max)(high_water, in_use);
}

void pool_state::look_after(pool_slot& slot) noexcept {
  const resource_state state = slot.state();
  if (state == resource_state::in_use) {
    report_lease(slot);
    return;
  }
  if (state != resource_state::idle) {
    return;
  }
  slot_group& group = group_of(slot);
  slot_word ticket;
  if (slot.is_over(now_.age, group.epoch())) {
    close_if_idle(group, slot, why_over(slot));
  } else if (now_.age - slot.last_used.get() >= settings_.life.idle_timeout &&
             group.idle_seen > group.limits.min_idle) {
    group.idle_seen -= close_if_idle(group, slot, destroy_reason::idle_too_long) ? 1U : 0U;
  } else if (now_.age - slot.looked_after.get() >= settings_.life.keepalive &&
             slot.maker->can_validate() && group.queue.empty() && !closed_ && !suspended_ &&
             group.validating < group.limits.max_creating &&
             slot.take(ticket, resource_state::checking)) {
    begin_check(group, slot, slot_task::validate);
  } else {
    return;
  }
  settle_later(group);
}

/// The release of a reported lease takes the slow path, and tells that it has come back.
void pool_state::report_lease(pool_slot& slot) noexcept {
  const std::uint8_t due = monitor.look_at(slot, now_.age);
  if (due == 0 || !slot.mark()) {
    return;
  }
  slot_group& group = group_of(slot);
  unlist(slot);
  slot.record.reported = due;
  group.totals.suspected_leaks += due == 2 ? 1 : 0;
  tell(due == 2 ? pool_event::kind::suspected_leak : pool_event::kind::slow_lease, slot);
}

void pool_state::tell(pool_event::kind what, const pool_slot& slot) noexcept {
  const auto report = [&] {
    lease_info lease = info_of(slot, now_.age);
    if (const auto& key = group_of(slot).text) {
      lease.key = *key;
    }
    out_->tell.push_back({{.what = what, .leases = {std::move(lease)}}, group_of(slot).name});
  };
  attempt(report, [] {});  // a release must not fail because there is no memory for it
}

// ---- control ------------------------------------------------------------------------------------

void pool_state::on_limits(slot_group& group, const group_limits& limits,
                           std::uint32_t total) noexcept {
  group.limits = limits;
  room_.set_max_total(total);
  set_flags(group);  // before any look at idle resources: see idle_cache.hpp (2)
  shrink(group);
  end_deadlock(group);
  settle(group);
}

void pool_state::on_flush(slot_group& group) noexcept {
  group.next_epoch();
  group.retry.reset();
  group.kept = 0;
  group.outdated = group.creating;
  group.validating = 0;
  table.for_each([&](pool_slot& slot) {
    if (slot.record.cache == &group) {
      slot.record.is_outdated |= slot.record.task != slot_task::none;
      close_if_idle(group, slot, destroy_reason::flushed);
    }
  });
  settle_later(group);
}

void pool_state::on_kill(pool_slot& slot, std::uint64_t birth, bool& found) noexcept {
  const slot_word seen = slot.word();
  found = seen.birth() == birth && seen.state() != resource_state::empty &&
          seen.state() != resource_state::creating && seen.state() != resource_state::closing;
  if (!found) {
    return;
  }
  slot_group& group = settle_after(slot);
  slot.record.is_killed = true;
  // Until it is marked, or the kernel's; the end of a task sees that the resource is killed.
  while (slot.state() != resource_state::checking &&
         !close_if_idle(group, slot, destroy_reason::killed)) {
    if (slot.mark()) {
      unlist(slot);
      return;
    }
  }
}

void pool_state::on_close() noexcept {
  closed_ = true;
  set_gate();
  for_each_group([this](slot_group& group) {
    shrink(group);
    settle_later(group);
  });
}

// ---- numbers ------------------------------------------------------------------------------------

resource_pool_stats pool_state::stats(const slot_group& group) const noexcept {
  resource_pool_stats found = counts_of(group);
  found.idle = group.idle_seen;
  found.in_use -= found.idle;
  found.acquires += group.acquires_seen;
  found.hits += group.hits_seen;
  return found;
}

resource_pool_stats pool_state::counts_of(const slot_group& group) const noexcept {
  resource_pool_stats found = group.totals;
  found.capacity = group.limits.max_size;
  found.live = group.live;
  found.creating = group.creating;
  found.checking = group.checking;
  found.closing = group.closing;
  found.in_use = group.taken();
  found.waiting = group.queue.size();
  found.suspended = suspended_;
  return found;
}

}  // namespace lido::inline v0::detail
