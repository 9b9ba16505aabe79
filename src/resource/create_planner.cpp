// Decides when resources are created, and which resources are evicted to make room for them.
#include "create_planner.hpp"

#include <algorithm>
#include <cstdint>

#include "creates_wanted.hpp"
#include "resource_tuning.hpp"

namespace lido::inline v0::detail {

/// Returns how many waiters need no create: a check in progress will serve them, or an idle
/// resource has been left for them.
std::uint32_t create_planner::count_served(slot_group& group) const noexcept {
  const std::uint32_t all = group.queue.size();
  const std::uint32_t served = (std::min)(group.counts.awaited(), all);
  return served != all ? (std::min)(all, served + slots_.count_fit(group)) : all;
}

void create_planner::plan(slot_group& group) noexcept {
  const slot_counts& counts = group.counts;
  const std::uint32_t served = count_served(group);
  const nanos now = context_.now.real;
  const std::uint32_t ahead = makes_ahead() && group.factory.is_asked ? group.limits.min_idle : 0;
  const std::uint32_t min_idle = group.retry.waits(now) ? 0 : ahead;
  const auto reserve = static_cast<std::uint32_t>(context_.settings.reserve);
  const create_demand demand{.waiters = group.queue.size() - served,
                             .urgent = group.queue.count_urgent(reserve),
                             .min_idle = min_idle};
  const bool is_asked = demand.waiters != 0;
  const create_supply supply{
      .live = counts.live(),
      .for_any = counts.shared_creates(),
      .creating = counts.creating() - counts.outdated(),
      .idle = min_idle == 0 ? 0 : resource_slots::count_idle(group) + counts.checking(),
      .late = is_try_late(group, is_asked) ? counts.shared_creates() : 0};
  const std::uint32_t wanted = creates_wanted(demand, supply,
                                              {.max_size = group.limits.max_size,
                                               .reserve = reserve,
                                               .max_creating = group.limits.max_creating});
  quota_.set_request(group, allowed(group, wanted, is_asked),
                     group.queue.after_first(served + supply.for_any - supply.late));
  nanos due = next_try(group, is_asked, /*makes_ahead=*/ahead != 0);
  const nanos replaces = waiters_.next_replacement(group);
  // If a replacement is due already, the next late check matches the group again.
  due = replaces > now ? (std::min)(due, replaces) : due;
  timers_.remove(group);
  if (due != never) {
    timers_.push(group, due);
  }
  if (!context_.settings.has_threads()) {
    wake_for_timer(group, due);
  }
  waiters_.set_flags(group);  // the group may have gained or lost a surplus
}

/// Returns true if a create for a waiter is in progress while creates fail. Such a create is tried
/// alone: other creates wait until it has ended or is late.
bool create_planner::has_try(const slot_group& group, bool is_asked) noexcept {
  return is_asked && group.retry.is_failing() && group.counts.creating() != group.counts.outdated();
}

/// Returns true if the create that `has_try` found takes so long that its packets may be lost. Such
/// a create no longer delays the next create. Returns false if the next create would have to evict
/// a resource of another group.
bool create_planner::is_try_late(const slot_group& group, bool is_asked) const noexcept {
  return has_try(group, is_asked) && context_.now.real >= next_beside_try(group) &&
         !needs_eviction();
}

/// Returns how many of the `wanted` creates may begin. While creates fail, only one may begin at a
/// time, and none during the pause. During the long pause, no create evicts a resource of a working
/// group.
std::uint32_t create_planner::allowed(const slot_group& group, std::uint32_t wanted,
                                      bool is_asked) const noexcept {
  const retry_backoff& retry = group.retry;
  const nanos now = context_.now.real;
  if (!may_create() || retry.waits(now, is_asked) || (retry.waits(now) && needs_eviction())) {
    return 0;
  }
  if (!retry.is_failing()) {
    return wanted;
  }
  const bool is_next = group.counts.creating() == group.counts.outdated();
  return is_next || is_try_late(group, is_asked) ? (std::min)(wanted, 1U) : 0;
}

/// Returns when a delayed create may begin.
nanos create_planner::next_try(const slot_group& group, bool is_asked,
                               bool makes_ahead) const noexcept {
  const retry_backoff& retry = group.retry;
  const nanos now = context_.now.real;
  if (!may_create() || (!is_asked && !makes_ahead)) {
    return never;
  }
  if (retry.waits(now, is_asked)) {
    return retry.at(is_asked);
  }
  const bool has_one = has_try(group, is_asked);
  if (has_one && now < next_beside_try(group)) {
    return next_beside_try(group);
  }
  const nanos next = retry.waits(now) ? retry.at(/*is_asked=*/false) : never;
  return needs_eviction() && (has_one || next != never)
             ? (std::min)(next, later(now, resource_tuning::nanoseconds_between_tries))
             : never;
}

/// Wakes the first thread that waits, so that it does what is due. Called in a pool without
/// threads.
void create_planner::wake_for_timer(slot_group& group, nanos due) noexcept {
  due = (std::min)(due, group.counts.awaited() != 0 ? slots_.next_answer() : never);
  acquire_waiter* waiter = due != never ? group.queue.first() : nullptr;
  while (waiter != nullptr && waiter->is_callback()) {
    waiter = acquire_queue::after(*waiter);
  }
  if (waiter != nullptr && due < waiter->wakes_at && !context_.out->is_full()) {
    waiters_.wake(*waiter);
  }
}

bool create_planner::is_owed(const slot_group& group) const noexcept {
  const slot_group* const other = quota_.next();
  const acquire_waiter* const mine = group.queue.first();
  return other != nullptr && other != &group && mine != nullptr && quota_.is_full() &&
         slots_.counts().evicted() < quota_.wanted() &&
         create_quota::order_of(*other) < mine->came.order &&
         context_.now.real - other->request.since > context_.settings.prefer_same_key_for;
}

void create_planner::look_again(slot_group& group) noexcept {
  timers_.remove(group);
  timers_.push(group, context_.now.real);
}

void create_planner::match_due() noexcept {
  while (timers_.least_key() <= context_.now.real) {
    context_.match_later(*timers_.first());
    timers_.remove(*timers_.first());
  }
}

void create_planner::start_creates() noexcept {
  while (slot_group* const group = quota_.next()) {
    if (!context_.settings.has_threads() && context_.out->is_full()) {
      context_.match_later(*group);  // the thread that has to run the create could not be woken
      return;
    }
    const bool is_full = quota_.is_full();
    const bool goes_on = is_full ? evict_for(*group) : begin_create(*group);
    if (!goes_on) {
      return;  // if there was no memory for the slot's bit, the next event tries again
    }
    if (!is_full) {
      plan(*group);
    }
  }
}

/// Evicts a resource, unless enough resources for the waiters are closing already.
bool create_planner::evict_for(const slot_group& group) noexcept {
  return group.request.wanted != 0 && slots_.counts().evicted() < quota_.wanted() &&
         slots_.evict(create_quota::order_of(group));
}

/// Begins a create, which the pool's threads will run. In a pool without threads, the first waiter
/// runs the create if that waiter is a thread. If no waiter is left in such a pool, undoes the
/// create, since there might be no further tick to run it.
bool create_planner::begin_create(slot_group& group) noexcept {
  pool_slot* const slot = slots_.claim_empty(group);
  if (slot == nullptr) {
    return false;
  }
  group.factory.tried_at = context_.now.real;
  if (!context_.settings.has_threads() && let_waiter_create(group, *slot)) {
    return true;
  }
  if (!makes_ahead() && group.queue.empty()) {
    slots_.empty(*slot);
  } else {
    context_.out->start.push(*slot);
  }
  return true;
}

bool create_planner::let_waiter_create(slot_group& group, pool_slot& slot) noexcept {
  bool is_given = false;
  while (!is_given && !context_.is_suspended && !context_.out->is_full()) {
    acquire_waiter* const waiter = waiters_.first_open(group);
    if (waiter == nullptr || waiter->is_callback()) {
      return false;
    }
    // This is read now because the waiter may be gone after the hand-over.
    const bool is_urgent = waiter->came.is_urgent;
    is_given = waiters_.hand_over(*waiter, slot, grant_kind::create);
    slot.record.is_for_urgent = is_given && is_urgent;
  }
  slots_.change(slot, [is_given](pool_slot& one) { one.record.is_kept = is_given; });
  return is_given;
}

}  // namespace lido::inline v0::detail
