// Who asks a resource whether it still works, and what becomes of it until it answers.
#include <algorithm>

#include "lido/base/tuning.hpp"
#include "lido/resource/resource_core.hpp"

namespace lido::detail {

/// The grant if its resource is fit, otherwise nothing.
resource_grant resource_core::checked(const resource_grant& grant, const deadline& until,
                                      validation by) noexcept {
  const verdict found = grant.slot->judge(now(), epoch());  // once: the clock goes on
  const bool unasked = found.what == verdict::kind::validate && grant.slot->maker->can_validate();
  if (unasked && (leaves_to_pool(until, by) || until.passed())) {
    offer(grant);  // to who has the time, or to the pool once somebody waits for it
    return {};
  }
  if (!make_fit(grant, found, until)) {
    look_for_room();  // it may have been in the way of others, and this acquire go on
    return {};
  }
  return grant;
}

/// What a waiter was given, if that is fit: it may have come to it late, in a callback behind
/// others, or in its own create. What was fit when it was given is not asked for a tick's sake.
resource_grant resource_core::received(const resource_waiter& waiter, validation by) noexcept {
  const resource_loan& given = waiter.loan();
  resource_slot& slot = *given.grant.slot;
  const bool is_over = slot.judge(now(), epoch()).what == verdict::kind::retire;
  // A tick may be as short as a wake-up, and it would be asked for ever.
  const nanos wake_up = std::max<nanos>(settings_.period, tuning::nanoseconds_for_answer);
  const bool is_late = slot.neglected_for(now()) > later(settings_.life.validate_after, wake_up);
  if (is_over || !given.is_fit || is_late) {
    return checked(given.grant, waiter.until(), by);
  }
  return given.grant;
}

/// By who has it. False: it was not fit, and is the caller's no more.
bool resource_core::make_fit(const resource_grant& grant, const verdict& found,
                             const deadline& until) noexcept {
  if (found.what == verdict::kind::retire) {
    retire(grant, found.why, /*makes=*/0);
    return false;
  }
  return found.what != verdict::kind::validate || ask(grant, until);
}

/// As `make_fit`, of one that has to be validated, if the factory can.
bool resource_core::ask(const resource_grant& grant, const deadline& until) noexcept {
  destroy_reason why{};
  const bool works = still_works(grant, until, why);
  if (!works) {
    retire(grant, why, /*makes=*/0);
  }
  return works;
}

bool resource_core::still_works(const resource_grant& grant, const deadline& until,
                                destroy_reason& why) noexcept {
  resource_slot& slot = *grant.slot;
  if (!slot.maker->can_validate()) {
    return true;
  }
  const auto latest = clock_after(settings_.validate_timeout);
  const create_context context{std::min(latest, until.moment()), slot.maker->stop_token()};
  if (!slot.maker->validate(slot, context)) {
    why = destroy_reason::invalid;
    return false;
  }
  slot.validated(now(), settings_.life);
  // Meanwhile it may have been killed or flushed.
  const verdict found = slot.judge(now(), epoch());
  why = found.why;
  return found.what != verdict::kind::retire;
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
  const verdict found = slot.judge(now(), epoch());  // once: the clock goes on
  const bool unasked = found.what == verdict::kind::validate && slot.maker->can_validate();
  if (unasked && &slot != arriving_.slot && leaves_to_pool(waiter.until(), by)) {
    answer_wanted_ = true;
    after.work |= may_ask();
    return false;
  }
  if (!slot.lend(loan.grant.ticket)) {
    return false;
  }
  const bool arrives = &slot == arriving_.slot && loan.grant.ticket == arriving_.ticket;
  // One whose time is over is for the waiter to end, outside of the mutex.
  loan.is_fit = (arrives || !unasked) && found.what != verdict::kind::retire;
  return true;
}

/// Under the mutex: how many are being made for those who wait, or can be begun at once.
std::uint32_t resource_core::creates_to_come() const noexcept {
  if (attention_.is(attention::suspended) || now() < retry_at_) {
    return 0;
  }
  return creating_ - keeping_ - outdated_ + (max_size_ > live_ ? max_size_ - live_ : 0);
}

/// Under the mutex: how many more may be had once they have been asked.
std::uint32_t resource_core::answers() const noexcept {
  if (settings_.upkeep != maintenance::background || attention_.is(attention::suspended)) {
    return 0;
  }
  return asking_ + count_if([&](const resource_slot& slot) {
           return slot.state() == life_state::idle && is_unasked(slot);
         });
}

/// Under the mutex: whether there is something to ask, and a thread for it. Questions have threads
/// of their own, so that creates and sweeps do not wait for an answer; of these those that merely
/// keep alive what is idle leave one to who waits.
bool resource_core::may_ask() const noexcept {
  const bool is_open = !attention_.is(attention::closed) && !attention_.is(attention::suspended);
  const std::uint32_t most = settings_.creating_limit(max_size_);
  return is_open &&
         (queue_.empty() ? keepalive_due_ && asking_ < most : answer_wanted_ && asking_ <= most);
}

/// Under the mutex. What nobody has begun to ask stays idle: who has the time may take it.
bool resource_core::next_question(job& out) noexcept {
  if (!may_ask()) {
    return false;
  }
  const bool for_waiters = !queue_.empty();
  out.question.slot = find_slot([&](resource_slot& slot) {
    // What has become too old since somebody left it to the pool is not in his way, either.
    const bool asks =
        slot.state() == life_state::idle &&
        (for_waiters ? is_unasked(slot) || slot.is_over(now(), epoch()) : needs_keepalive(slot));
    return asks && slot.lend(out.question.ticket, life_state::checking);
  });
  if (out.question.slot == nullptr) {
    (for_waiters ? answer_wanted_ : keepalive_due_) = false;
    return false;
  }
  out.since = hooks_.back().get();
  ++asking_;
  ++running_;
  return true;
}

/// By who has it, or under the mutex, as `is_unasked`.
bool resource_core::needs_keepalive(const resource_slot& slot) const noexcept {
  return slot.neglected_for(now()) >= settings_.life.keepalive && slot.maker->can_validate();
}

/// By a thread of the pool.
void resource_core::run_question(const job& todo) noexcept {
  const resource_grant& grant = todo.question;
  const verdict found = grant.slot->judge(now(), epoch());
  destroy_reason why = found.why;
  if (found.what != verdict::kind::retire && still_works(grant, {}, why)) {
    grant.slot->vetted(now());
    arrive(grant, todo);
    return;
  }
  stop_asking(todo);
  retire(grant, why);
  end_job(/*away=*/1);
}

/// It is asked no more while it ends, which may take long: the thread is away meanwhile.
void resource_core::stop_asking(const job& todo) noexcept {
  aftermath after(*this);
  const lock guard(mutex_);
  count_asked(todo);
  ++away_;
  after.work |= has_jobs();
}

/// Under the mutex. Where the factory was replaced meanwhile the thread has counted as away, so
/// that what does not answer is not in the way of what the new one makes.
void resource_core::count_asked(const job& todo) noexcept {
  if (is_outdated(todo.since)) {
    --away_;
  } else {
    --asking_;
  }
}

/// Under the mutex: of those who wait, how many need nothing made for them yet, since it may be
/// quicker to be answered. One that has waited longer than an answer mostly takes is not of them:
/// what does not answer holds up nobody.
std::uint32_t resource_core::hopeful() const noexcept {
  if (asking_ == 0 && !answer_wanted_) {
    return 0;
  }
  const auto young =
      std::chrono::steady_clock::now() - std::chrono::nanoseconds(tuning::nanoseconds_for_answer);
  const std::uint32_t most = settings_.creating_limit(max_size_);
  std::uint32_t old = 0;
  const resource_waiter* waiter = queue_.first();
  for (; waiter != nullptr && waiter->since() <= young && old < most; ++old) {
    waiter = waiter_list::after(*waiter);
  }
  const std::uint32_t coming = answers();
  const std::uint32_t left = coming - std::min(old, coming);
  return old < most ? std::min(left, queue_.size() - old) : 0;
}

/// What a waiter was given; it goes on waiting.
void resource_core::was_unfit() noexcept {
  const lock guard(mutex_);
  --totals_.handed_over;
}

}  // namespace lido::detail
