// Checks all slots from time to time, for old idle resources and for long leases.
#include "slot_sweep.hpp"

#include <algorithm>
#include <utility>

#include "lido/base/fail.hpp"

namespace lido::inline v0::detail {

namespace {

/// The limit of concurrent validations for `keepalive` in all groups together. Validations whose
/// answers are overdue do not count.
constexpr std::uint32_t most_keepalives = 4;
/// While this many answers are overdue, no further validation for `keepalive` begins.
constexpr std::uint32_t most_silent = 8;
constexpr std::uint32_t most_of_a_key = 2;

}  // namespace

void slot_sweep::look_at_more() noexcept {
  constexpr std::uint32_t most = 4096;
  if (from_ == 0) {
    numbers_.count_slots();
    let_surplus_age();
  }
  const std::uint32_t end = from_ + most;
  table_.for_each([&](pool_slot& slot) {
    if (slot.number >= from_ && slot.number < end) {
      look_at(slot);
    }
  });
  from_ = end < table_.size() ? end : 0;
  if (from_ == 0) {
    monitor_.end_round();
    plan();
  }
}

/// Makes threads forget, from time to time, which resource they used last. Otherwise, threads that
/// take turns would each use their own resource, and no resource would stay idle and expire. Once
/// they have forgotten, threads begin with the lowest resources, and use only as many as they need
/// at the same time.
void slot_sweep::let_surplus_age() noexcept {
  const nanos idle_timeout = context_.settings.life.idle_timeout;
  if (idle_timeout != never && context_.now.age >= forgets_at_) {
    gate_.forget_last();
    forgets_at_ = later(context_.now.age, idle_timeout / 4);
  }
}

void slot_sweep::look_at(pool_slot& slot) noexcept {
  const resource_state state = slot.state();
  if (state == resource_state::in_use) {
    look_at_lease(slot);
  } else if (state == resource_state::idle) {
    look_at_idle(slot);
  }
}

void slot_sweep::look_at_idle(pool_slot& slot) noexcept {
  slot_group& group = group_of(slot);
  const life_limits& life = context_.settings.life;
  const nanos age = context_.now.age;
  if (slot.is_over(age, group.cache.epoch())) {
    slots_.close_expired(slot);
  } else if (age - slot.ages.last_used.get() >= life.idle_timeout &&
             group.seen.idle > group.limits.min_idle) {
    group.seen.idle -= slots_.close_if_idle(slot, destroy_reason::idle_too_long) ? 1U : 0U;
  } else if (!keep_alive_if_due(slot)) {
    return;
  }
  context_.match_later(group);
}

/// Returns true if a resource is due for validation. Each resource has its own interval, between
/// 0.8 and 1 times `keepalive`, so resources that were created together do not all fall due at
/// once.
bool slot_sweep::needs_keepalive(const pool_slot& slot) const noexcept {
  constexpr std::uint32_t golden_ratio = 0x9e3779b9U;  // spreads consecutive numbers
  const nanos longest = context_.settings.life.keepalive;
  const nanos part = (slot.number * golden_ratio) >> 24U;  // from 0 to 255
  return context_.now.age - slot.ages.looked_after.get() >= longest - longest / 1280 * part &&
         slot.maker->can_validate() && group_of(slot).queue.empty() && !context_.is_closed &&
         !context_.is_suspended;
}

/// Returns true if another validation may begin. Allows validations of at most half of a group's
/// idle resources at once, so that acquires do not have to wait. A host that does not answer delays
/// no other host: overdue answers no longer count, and each host has few validations.
bool slot_sweep::may_keep_alive(const slot_group& group) const noexcept {
  const slot_counts& all = slots_.counts();
  const slot_counts& own = group.counts;
  const std::uint32_t awaited = own.keepalives() - own.silent_keepalives();
  return all.keepalives() - all.silent_keepalives() < most_keepalives &&
         all.silent_keepalives() < most_silent &&
         (!context_.has_groups || own.keepalives() < most_of_a_key) &&
         (awaited == 0 || 2 * awaited < group.seen.idle);
}

/// Begins to validate a slot whose `keepalive` is due, or leaves that to `keep_next_alive`.
bool slot_sweep::keep_alive_if_due(pool_slot& slot) noexcept {
  if (!needs_keepalive(slot)) {
    return false;
  }
  if (!may_keep_alive(group_of(slot))) {
    keeps_from_ = (std::min)(keeps_from_, slot.number);
    return false;
  }
  return slots_.keep_alive_if_idle(slot);
}

void slot_sweep::keep_next_alive() noexcept {
  const auto begin = [this](pool_slot& slot) {
    return slot.state() == resource_state::idle && needs_keepalive(slot) &&
           may_keep_alive(group_of(slot)) && slots_.keep_alive_if_idle(slot);
  };
  if (keeps_from_ == no_slot) {
    return;
  }
  const pool_slot* const begun = table_.find(begin, keeps_from_);
  keeps_from_ = begun != nullptr ? begun->number + 1 : no_slot;
  if (begun != nullptr) {
    context_.match_later(*begun);
  }
}

/// Reports a lease if it is long. The release then asks the kernel, and the kernel reports that the
/// lease has ended after all.
void slot_sweep::look_at_lease(pool_slot& slot) noexcept {
  const std::uint8_t due = monitor_.look_at(slot, context_.now.age);
  if (due == 0 || !slots_.mark(slot)) {
    return;
  }
  slot.record.reported = due;
  group_of(slot).totals.suspected_leaks += due == 2 ? 1U : 0U;
  report(due == 2 ? pool_event::kind::suspected_leak : pool_event::kind::slow_lease, slot);
}

void slot_sweep::report(pool_event::kind what, const pool_slot& slot) const noexcept {
  const group_name& name = group_of(slot).name;
  const auto add = [&] {
    lease_info lease = info_of(slot, context_.now.age);
    if (name.key != nullptr) {
      lease.key = *name.key;
    }
    context_.out->tell.push_back({{.what = what, .leases = {std::move(lease)}}, name.pool});
  };
  attempt(add, [] {});  // a release must not fail because there is no memory for a report
}

}  // namespace lido::inline v0::detail
