// Who asks a resource whether it still works, and what becomes of it until it answers.
#include <algorithm>

#include "lido/base/mutation.hpp"
#include "lido/resource/resource_core.hpp"

namespace lido::detail {

/// The grant if its resource is fit, otherwise nothing.
resource_grant resource_core::checked(resource_grant grant, place at, const deadline& until,
                                      validation by) noexcept {
  if (is_unasked(*grant.slot) && leaves_to_pool(until, by)) {
    offer(grant);  // to who has the time, or to the pool once somebody waits for it
    return {};
  }
  if (!make_fit(grant, until)) {
    return {};
  }
  grant.slot->note_holder(now(), this_thread_id(), at, grant.ticket);
  return grant;
}

/// What a waiter was given, if that is fit: it may have come to it late, in a callback behind
/// others, or in its own create. What was fit when it was given is not asked for a tick's sake.
resource_grant resource_core::received(const resource_waiter& waiter, place at,
                                       validation by) noexcept {
  const resource_loan& given = waiter.loan();
  resource_slot& slot = *given.grant.slot;
  const bool is_over = slot.judge(now(), epoch()).what == verdict::kind::retire;
  const nanos late = slot.neglected_for(now()) - settings_.life.validate_after;
  if (is_over || !given.is_fit || late > settings_.period) {
    return checked(given.grant, at, waiter.until(), by);
  }
  slot.note_holder(now(), this_thread_id(), at, given.grant.ticket);
  return given.grant;
}

/// By who has it. False: it was not fit, and is the caller's no more.
bool resource_core::make_fit(const resource_grant& grant, const deadline& until) noexcept {
  resource_slot& slot = *grant.slot;
  const verdict found = slot.judge(now(), epoch());
  if (found.what == verdict::kind::retire) {
    retire(grant, found.why);
    return false;
  }
  if (found.what == verdict::kind::validate && slot.maker->can_validate()) {
    const auto latest = clock_after(settings_.validate_timeout);
    const create_context context{std::min(latest, until.moment()), stop_.get_token()};
    if (!slot.maker->validate(slot, context)) {
      retire(grant, destroy_reason::invalid);
      return false;
    }
    slot.validated(now(), settings_.life);
  }
  return true;
}

/// By who has it, or under the mutex, under which its maker changes.
bool resource_core::is_unasked(const resource_slot& slot) const noexcept {
  return slot.judge(now(), epoch()).what == verdict::kind::validate && slot.maker->can_validate();
}

/// Whether who has so much time leaves it to the pool to ask.
bool resource_core::leaves_to_pool(const deadline& until, validation by) const noexcept {
  if (settings_.upkeep != maintenance::background || by == validation::at_once) {
    return false;
  }
  return by == validation::by_pool || until.moment() < clock_after(settings_.validate_timeout);
}

/// Under the mutex. Who leaves it to the pool to ask does not get it before that has.
bool resource_core::lend_to(const resource_waiter& waiter, resource_loan& loan,
                            aftermath& after) noexcept {
  resource_slot& slot = *loan.grant.slot;
  if (slot.state() != life_state::idle) {
    return false;
  }
  const validation by = waiter.deliver() != nullptr ? validation::by_pool : validation::by_caller;
  const bool unasked = is_unasked(slot);
  if (unasked && leaves_to_pool(waiter.until(), by)) {
    let_pool_ask(slot, after);
    return false;
  }
  // One whose time is over is for the waiter to end, outside of the mutex.
  loan.is_fit = !unasked && slot.judge(now(), epoch()).what != verdict::kind::retire;
  return slot.lend(loan.grant.ticket);
}

/// Under the mutex.
void resource_core::let_pool_ask(resource_slot& slot, aftermath& after) noexcept {
  resource_grant grant{&slot, {}};
  const bool stays = broken(mutation::ask_unlent);
  if (slot.lend(grant.ticket, stays ? life_state::idle : life_state::checking)) {
    unasked_.push_back(grant);
    after.work |= !broken(mutation::ask_unannounced);
  }
}

/// Under the mutex. Who waits for no more than an answer is not one waiter too many.
bool resource_core::can_ask_for_one_more() const noexcept {
  if (settings_.upkeep != maintenance::background || attention_.is(attention::suspended)) {
    return false;
  }
  return find_slot([&](const resource_slot& slot) {
           return slot.state() == life_state::idle && is_unasked(slot);
         }) != nullptr;
}

/// By a thread of the pool.
void resource_core::ask_for_others(const resource_grant& grant) noexcept {
  if (make_fit(grant, {})) {
    grant.slot->vetted(now());
    if (!broken(mutation::answer_unoffered)) {
      offer(grant);
    }
  }
  // Only now: callbacks have returned.
  aftermath after(*this);
  const lock guard(mutex_);
  asking_ -= broken(mutation::count_asked) ? 0 : 1;
  --running_;
  if (!broken(mutation::answer_unsettled)) {
    after_change(after);
  }
}

/// The pool is closed: nobody wants to know any more.
void resource_core::end_unasked() noexcept {
  std::vector<resource_grant> unasked;
  {
    const lock guard(mutex_);
    unasked.swap(unasked_);
  }
  for (const resource_grant& grant : unasked) {
    retire(grant, destroy_reason::closed);
  }
}

/// What a waiter was given; it goes on waiting.
void resource_core::was_unfit() noexcept {
  const lock guard(mutex_);
  --totals_.handed_over;
}

}  // namespace lido::detail
