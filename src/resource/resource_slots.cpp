// The states, ages and checks of a pool's slots.
#include "resource_slots.hpp"

#include <cstdint>
#include <utility>

#include "lido/base/assert.hpp"
#include "resource_tuning.hpp"

namespace lido::inline v0::detail {

namespace {

/// Returns true if a slot has been left idle for a waiter that arrived no later than `order`. That
/// waiter is awake, and will soon look for a resource.
bool is_left_for_waiter(const pool_slot& slot, std::int64_t order) noexcept {
  const acquire_waiter* const first = group_of(slot).queue.first();
  return first != nullptr && first->came.order <= order && slot.state() == resource_state::idle;
}

}  // namespace

// ---- creates ------------------------------------------------------------------------------------

pool_slot* resource_slots::claim_empty(slot_group& group) noexcept {
  pool_slot* const slot = table_.take_empty();
  if (slot == nullptr) {
    return nullptr;
  }
  if (!group.cache.add(*slot)) {
    table_.put_empty(*slot);
    return nullptr;
  }
  LIDO_ASSERT(slot->state() == resource_state::empty, "a slot among the empty ones is not");
  slot->maker = group.factory.hooks.get();
  slot->resets.set(slot->maker->way_of_reset());
  slot->key_hash.set(group.name.hash);
  slot->epoch.set(group.cache.epoch());
  change(*slot, [&](pool_slot& one) {
    one.record.task = slot_task::create;
    one.record.is_unproven = !group.is_proven();
    (void)one.move(resource_state::creating);
  });
  return slot;
}

slot_word resource_slots::activate(pool_slot& slot, double draw) noexcept {
  LIDO_ASSERT(slot.state() == resource_state::creating, "a resource that was not being created");
  slot_word ticket;
  change(slot, [&](pool_slot& one) {
    one.record.task = slot_task::none;
    one.record.is_kept = false;
    one.record.is_unproven = false;
    ticket = one.activate(context_.now.age, context_.settings.life, draw);
  });
  return ticket;
}

// ---- idle resources -----------------------------------------------------------------------------

/// Changes the slot before the counts, since another thread may take the slot first. Changes the
/// slot in one step, since `leases` would otherwise see a lease that no thread holds.
bool resource_slots::take_idle(pool_slot& slot, resource_state to) noexcept {
  slot_word ticket;
  const bool is_taken = slot.take(ticket, to);
  if (is_taken) {
    count(slot, resource_state::idle, out);
    count(slot, to, in);
  }
  return is_taken;
}

bool resource_slots::take_or_mark(slot_group& group, pool_slot& slot) noexcept {
  for (;;) {  // other threads may acquire or release the slot at any time
    if (slot.state() != resource_state::idle && mark(slot)) {
      return false;
    }
    const bool is_over = slot.is_over(context_.now.age, group.cache.epoch());
    if (is_over && close_expired(slot)) {
      return false;
    }
    if (!is_over && needs_validation(group, slot)) {
      group.has_stale = true;
      return false;
    }
    if (!is_over && take_idle(slot, resource_state::in_use)) {
      return true;
    }
  }
}

pool_slot* resource_slots::take_stale(slot_group& group, resource_state to, bool only) noexcept {
  pool_slot* found = nullptr;
  bool has_two = false;
  (void)group.cache.find_maybe_idle([&](pool_slot& slot) {
    if (slot.state() != resource_state::idle || !needs_validation(group, slot)) {
      return false;
    }
    has_two = found != nullptr;
    found = has_two ? found : &slot;
    return has_two || !only;
  });
  return found != nullptr && !has_two && take_idle(*found, to) ? found : nullptr;
}

void resource_slots::put_in_use(pool_slot& slot, bool marks) noexcept {
  set_state(slot, resource_state::in_use);
  if (!marks || !mark(slot)) {
    list(slot);
  }
}

void resource_slots::make_idle(pool_slot& slot) noexcept {
  slot.note_receiver(0);
  set_state(slot, resource_state::idle);
  list(slot);
}

std::uint32_t resource_slots::count_fit(slot_group& group) noexcept {
  std::uint32_t fit = 0;
  if (!group.cache.may_have_idle()) {
    return fit;
  }
  (void)group.cache.find_maybe_idle([&](pool_slot& slot) {
    if (slot.state() != resource_state::idle) {
      return false;
    }
    if (slot.is_over(context_.now.age, group.cache.epoch())) {
      (void)close_expired(slot);
    } else if (needs_validation(group, slot)) {
      group.has_stale = true;
    } else {
      ++fit;
    }
    return false;
  });
  return fit;
}

std::uint32_t resource_slots::count_idle(slot_group& group) noexcept {
  std::uint32_t idle = 0;
  (void)group.cache.find_maybe_idle([&](const pool_slot& slot) {
    idle += slot.state() == resource_state::idle ? 1U : 0U;
    return false;
  });
  return idle;
}

bool resource_slots::mark(pool_slot& slot) noexcept {
  const bool is_marked = slot.mark();
  if (is_marked) {
    unlist(slot);
  }
  return is_marked;
}

void resource_slots::list(pool_slot& slot) noexcept {
  idle_cache::set_maybe_idle(slot, /*on=*/true);
  if (context_.has_groups && !slots_by_time::contains(slot)) {
    used_.push(slot, slot.ages.last_used.get());
  }
}

// ---- closing and destroying ---------------------------------------------------------------------

bool resource_slots::close_if_over(slot_group& group, pool_slot& slot) noexcept {
  destroy_reason why{};
  if (context_.is_closed) {
    why = destroy_reason::closed;
  } else if (slot.record.is_killed) {
    why = destroy_reason::killed;
  } else if (slot.is_over(context_.now.age, group.cache.epoch())) {
    why = why_expired(slot);
  } else if (group.has_surplus() && !slot.record.is_for_urgent &&
             (group.queue.empty() || !group.queue.first()->came.is_urgent)) {
    why = destroy_reason::surplus;
  } else {
    return false;
  }
  close(slot, why);
  return true;
}

bool resource_slots::close_if_idle(pool_slot& slot, destroy_reason why) noexcept {
  const bool is_taken = take_idle(slot, resource_state::checking);
  if (is_taken) {
    close(slot, why);
  }
  return is_taken;
}

void resource_slots::close(pool_slot& slot, destroy_reason why) noexcept {
  unlist(slot);
  slot.record.reason = why;
  set_state(slot, resource_state::closing);
  if (slot.record.pin != slot_pin::interrupt) {
    destroy(slot);
  }
}

void resource_slots::destroy(pool_slot& slot) noexcept {
  // A destroy may be slow, and occupies one of the pool's threads.
  constexpr std::uint32_t most_at_once = 8;
  const bool waits = context_.settings.has_threads() && destroying_ == most_at_once;
  (waits ? doomed_ : context_.out->destroy).push(slot);
  destroying_ += waits ? 0 : 1;
}

void resource_slots::end_destroy() noexcept {
  pool_slot* const next = doomed_.pop();
  if (next != nullptr) {
    context_.out->destroy.push(*next);
  } else {
    LIDO_ASSERT(destroying_ != 0, "more resources were destroyed than were to be");
    --destroying_;
  }
}

void resource_slots::interrupt(pool_slot& slot) const noexcept {
  if (slot.maker->can_interrupt() && slot.record.pin == slot_pin::none) {
    slot.record.pin = slot_pin::interrupt;
    context_.out->interrupt.push(slot);
  }
}

void resource_slots::end_interrupt(pool_slot& slot) noexcept {
  LIDO_ASSERT(slot.record.pin == slot_pin::interrupt, "an interrupt ends that did not begin");
  slot.record.pin = slot_pin::none;
  if (slot.state() == resource_state::closing) {
    destroy(slot);
  }
}

void resource_slots::empty(pool_slot& slot) noexcept {
  unlist(slot);
  set_state(slot, resource_state::empty);
  idle_cache::remove(slot);
  slot.record = {};
  table_.put_empty(slot);
}

void resource_slots::close_surplus(slot_group& group) noexcept {
  const bool is_closed = context_.is_closed;
  (void)group.cache.find_maybe_idle([&](pool_slot& slot) {
    const bool is_enough = !is_closed && !group.has_surplus();
    if (!is_enough) {
      close_if_idle(slot, is_closed ? destroy_reason::closed : destroy_reason::surplus);
    }
    return is_enough;
  });
}

/// Lists a slot again if it has been used since it was listed.
bool resource_slots::evict(std::int64_t order) noexcept {
  bool is_evicted = false;
  slots_by_time left;
  while (pool_slot* const slot = is_evicted ? nullptr : used_.first()) {
    const nanos key = slots_by_time::key_of(*slot);
    if (is_left_for_waiter(*slot, order)) {
      used_.remove(*slot);
      left.push(*slot, key);
    } else if (slot->state() == resource_state::idle && slot->ages.last_used.get() != key) {
      used_.remove(*slot);
      list(*slot);
    } else if (close_if_idle(*slot, destroy_reason::surplus)) {
      note_evicted(*slot);
      is_evicted = true;
    } else {
      mark(*slot);
    }
  }
  while (pool_slot* const slot = left.first()) {
    const nanos key = slots_by_time::key_of(*slot);
    left.remove(*slot);
    used_.push(*slot, key);
  }
  return is_evicted;
}

void resource_slots::note_evicted(pool_slot& slot) noexcept {
  change(slot, [](pool_slot& one) { one.record.is_evicted = true; });
}

// ---- checks -------------------------------------------------------------------------------------

bool resource_slots::keep_alive_if_idle(pool_slot& slot) noexcept {
  const bool is_taken = take_idle(slot, resource_state::checking);
  if (is_taken) {
    change(slot, [](pool_slot& one) { one.record.check.is_keepalive = true; });
    begin_check(slot, slot_task::validate);
  }
  return is_taken;
}

void resource_slots::begin_check(pool_slot& slot, slot_task what) noexcept {
  unlist(slot);
  const nanos now = context_.now.real;
  change(slot, [what, now](pool_slot& one) {
    one.record.task = what;
    one.record.check.began_at = now;
    one.record.check.is_awaited = true;
    (void)one.move(resource_state::checking);
  });
  awaited_.push(slot, later(now, resource_tuning::nanoseconds_for_answer));
  context_.out->start.push(slot);
}

void resource_slots::end_check(pool_slot& slot) noexcept {
  awaited_.remove(slot);
  change(slot, [](pool_slot& one) {
    one.record.task = slot_task::none;
    one.record.check.is_awaited = false;
    one.record.check.is_keepalive = false;
  });
}

void resource_slots::outdate_task(pool_slot& slot) noexcept {
  change(slot,
         [](pool_slot& one) { one.record.is_outdated |= one.record.task != slot_task::none; });
}

pool_slot* resource_slots::next_late_check() noexcept {
  if (awaited_.least_key() > context_.now.real) {
    return nullptr;
  }
  pool_slot* const slot = awaited_.first();
  awaited_.remove(*slot);
  change(*slot, [](pool_slot& one) { one.record.check.is_awaited = false; });
  return slot;
}

}  // namespace lido::inline v0::detail
