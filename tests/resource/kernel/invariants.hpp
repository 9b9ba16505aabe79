/// @file
/// The invariants I1 to I4 of pool_kernel.hpp, checked through its public members.
#pragma once

#include "resource/pool_kernel.hpp"

namespace lido::test {

/// What the invariants depend on besides the kernel's own state.
struct invariant_context {
  detail::moment now;
  std::uint32_t max_total = 0;
  detail::nanos prefer_same_key_for = 0;
};

namespace invariants {

using detail::pool_kernel;
using detail::pool_slot;
using detail::resource_state;
using detail::slot_counts;
using detail::slot_group;

/// Checks invariant I1 of one group.
inline const char* counts_of(pool_kernel& pool, const slot_group& group) {
  slot_counts found;
  pool.table.for_each([&](const pool_slot& slot) {
    if (slot.state() != resource_state::empty && slot.record.cache == &group.cache) {
      found.count(slot, slot.state(), 1);
    }
  });
  return found == group.counts ? nullptr : "I1: a group counts other slots than it has";
}

/// Checks invariant I2 of one group.
inline const char* bits_of(pool_kernel& pool, slot_group& group) {
  const char* wrong = nullptr;
  pool.table.for_each([&](const pool_slot& slot) {
    if (slot.record.cache != &group.cache) {
      return;
    }
    const bool bit =
        group.cache.find_maybe_idle([&](const pool_slot& one) { return &one == &slot; });
    const detail::slot_word word = slot.word();
    const bool should = word.state() == resource_state::idle ||
                        (word.state() == resource_state::in_use && !word.marked());
    wrong = bit == should ? wrong : "I2: the bit of a slot does not say whether it may be idle";
  });
  return wrong;
}

inline const detail::acquire_waiter* first_waiting(const slot_group& group) {
  const detail::acquire_waiter* waiter = group.queue.first();
  while (waiter != nullptr && !waiter->word.open()) {
    waiter = detail::acquire_queue::after(*waiter);
  }
  return waiter;
}

/// Returns true if another group with an older waiter may be owed what this group releases.
inline bool may_be_preempted(pool_kernel& pool, const slot_group& group, std::uint32_t live,
                             const invariant_context& context) {
  const detail::acquire_waiter* const mine = first_waiting(group);
  bool found = false;
  pool.groups().for_each([&](const slot_group& other) {
    const detail::acquire_waiter* const theirs = first_waiting(other);
    found = found || (&other != &group && theirs != nullptr && mine != nullptr &&
                      theirs->came.order < mine->came.order && live >= context.max_total &&
                      context.now.real - theirs->came.at > context.prefer_same_key_for);
  });
  return found;
}

/// Checks invariant I3 of one group.
inline const char* waits_of(pool_kernel& pool, slot_group& group, std::uint32_t live,
                            const invariant_context& context) {
  const detail::acquire_waiter* const first = first_waiting(group);
  if (first == nullptr || pool.numbers().counts_of(group).suspended ||
      may_be_preempted(pool, group, live, context)) {
    return nullptr;
  }
  std::uint32_t fit = 0;
  pool.table.for_each([&](const pool_slot& slot) {
    const bool is_fit =
        slot.record.cache == &group.cache && slot.state() == resource_state::idle &&
        !slot.is_over(context.now.age, group.cache.epoch()) &&
        (slot.is_fresh(context.now.age, group.cache.epoch()) || !slot.maker->can_validate());
    fit += is_fit ? 1U : 0U;
  });
  if (fit != 0 && !first->may_look && first == group.queue.first()) {
    return "I3: a waiter that cannot look waits beside an idle resource";
  }
  std::uint32_t awake = 0;
  bool all_awake = true;
  for (const detail::acquire_waiter* waiter = group.queue.first(); waiter != nullptr;
       waiter = detail::acquire_queue::after(*waiter)) {
    awake += waiter->is_awake ? 1U : 0U;
    all_awake = all_awake && (waiter->is_awake || !waiter->may_look || !waiter->word.open());
  }
  if (awake != group.awake) {
    return "I3: a group counts other waiters than are awake";
  }
  return fit <= awake || all_awake ? nullptr : "I3: a waiter sleeps beside an idle resource";
}

/// Checks invariant I4 of one group.
inline const char* links_of(const slot_group& group) {
  for (const detail::acquire_waiter* waiter = group.queue.first(); waiter != nullptr;
       waiter = detail::acquire_queue::after(*waiter)) {
    if (!detail::waiter_deadlines::contains(*waiter) || waiter->group != &group ||
        waiter->until.is_at_once()) {
      return "I4: a waiter in a queue has no deadline";
    }
  }
  return nullptr;
}

}  // namespace invariants

/// Returns the first invariant that does not hold, or null. Call it after the effects of an event
/// have run.
inline const char* broken_invariant(detail::pool_kernel& pool, const invariant_context& context) {
  std::uint32_t live = 0;
  pool.groups().for_each([&](const detail::slot_group& group) { live += group.counts.live(); });
  const char* wrong = nullptr;
  pool.groups().for_each([&](detail::slot_group& group) {
    for (const char* const one :
         {invariants::counts_of(pool, group), invariants::bits_of(pool, group),
          invariants::waits_of(pool, group, live, context), invariants::links_of(group)}) {
      wrong = wrong != nullptr ? wrong : one;
    }
  });
  return wrong;
}

}  // namespace lido::test
