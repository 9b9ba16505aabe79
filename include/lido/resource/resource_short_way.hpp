/// @file
/// Internal. The way of an acquire and a release of what is idle and valid.
#pragma once

#include "lido/resource/resource_core.hpp"

namespace lido::detail {

// Where room is shared, whoever has a resource keeps all pools alive, and leaves no mark.
// relaxed (whole function): the owner's corner; put_back (2) publishes it before anybody can need
// it
inline void resource_core::begin_leaving(thread_corner& corner) const noexcept {
  if (rooms_ != nullptr) {
    return;
  }
  if (thread_offset != 0) {
    corner.leaving.store(1, std::memory_order_relaxed);
  } else {
    corner.leaving.fetch_add(1, std::memory_order_relaxed);
  }
}

inline void resource_core::end_leaving(thread_corner& corner) const noexcept {
  if (rooms_ != nullptr) {
    return;
  }
  if (thread_offset != 0) {
    // (1) - this release-store synchronizes-with the acquire-load resource_control.cpp (1): the
    // thread does not touch the core any more
    corner.leaving.store(0, std::memory_order_release);
  } else {
    // (2) - this release-fetch-sub synchronizes-with the acquire-load resource_control.cpp (1)
    corner.leaving.fetch_sub(1, std::memory_order_release);
  }
}

inline resource_grant resource_core::take_last(place at) noexcept {
  // relaxed: a hint. What is due may take time, and only the long way knows how much there is.
  if (by_callers_ && glance_at_clock() >= next_upkeep_.load(std::memory_order_relaxed)) {
    return {};
  }
  // relaxed: a hint
  resource_slot* const slot = corners_.mine().last.load(std::memory_order_relaxed);
  life_word ticket;
  if (slot == nullptr || stands_back() || !slot->lend(ticket)) {
    return {};
  }
  const nanos now = this->now();
  if (slot->is_fresh(now, epoch()) && !ticket.doomed()) [[likely]] {
    slot->note_holder(now, this_thread_id(), at, ticket);
    return {slot, ticket};
  }
  offer({slot, ticket});  // what it needs may take time, and only take() knows how much there is
  return {};
}

inline void resource_core::give_back(const resource_grant& grant) noexcept {
  resource_slot& slot = *grant.slot;
  const nanos now = by_callers_ ? glance_at_clock() : this->now();
  const bool more_uses = slot.count_use(settings_.life.max_uses);
  if (!more_uses || slot.maker->can_reset() || slot.is_over(now, epoch()) || slot.marks() != 0)
      [[unlikely]] {
    give_back_with_care(grant, !more_uses);
    return;
  }
  slot.used_until(now, settings_.life);
  offer(grant);
}

}  // namespace lido::detail
