// How an acquire gets a resource, or an error.
#include <algorithm>

#include "lido/base/tuning.hpp"
#include "lido/concurrency/backoff.hpp"
#include "lido/resource/resource_core.hpp"

namespace lido::detail {

namespace {

constexpr std::size_t most_holders_in_errors = 8;

}  // namespace

/// The long ways know the time and the thread exactly. The first one of an acquire looks after the
/// pool.
void resource_core::begin_long_way(const acquire_request* looks_after) noexcept {
  catch_up_by_callers();
  if (thread_offset == 0) {
    assign_thread_number();
  }
  if (by_callers_ && looks_after != nullptr && !looks_after->is_over()) {
    upkeep_by_caller(nullptr, looks_after);
  }
}

resource_grant resource_core::take_now(const acquire_request& request, validation by) noexcept {
  begin_long_way(request.looks_after ? &request : nullptr);
  if (stands_back()) {
    return {};  // those who wait come first
  }
  const resource_grant idle = take_idle(request.at, request.until, by, request.stop);
  return idle.slot != nullptr || !request.has_time() ? idle : create_for_try(request);
}

void resource_core::refuse(acquire_failure cause) {
  {
    const lock guard(mutex_);
    count_failure(cause);
  }
  throw error(cause);
}

resource_grant resource_core::take(const acquire_request& request) {
  const auto alive = shared_from_this();
  begin_long_way(request.looks_after ? &request : nullptr);
  if (request.stop.stop_requested()) {
    refuse(acquire_failure::cancelled);
  }
  resource_grant taken;
  if (request.until.is_at_once()) {
    // And what one validation takes, as there.
    taken = take_now({.until = {}, .stop = {}, .at = request.at, .looks_after = false});
  } else if (!stands_back()) {
    taken = take_idle(request.at, request.until, validation::by_caller, request.stop);
  }
  for (bool again = false; taken.slot == nullptr; again = true) {
    if (request.stop.stop_requested()) {
      refuse(acquire_failure::cancelled);
    }
    if (again && request.until.passed()) {  // what it was given was not fit, and took its time
      refuse(acquire_failure::timed_out);
    }
    taken = wait_in_line(request, again);
    if (taken.slot == nullptr) {
      was_unfit();
    }
  }
  return taken;
}

/// From now on its user has it, and it may be reported as held for too long.
resource_grant resource_core::begin_lease(const resource_grant& grant, place at) noexcept {
  if (grant.slot != nullptr) {
    grant.slot->note_holder(now(), this_thread_id(), at, grant.ticket);
  }
  return grant;
}

/// Nothing if there is none that is fit, or no time to look for one. Who gives no time has that of
/// one validation more once one has failed.
resource_grant resource_core::take_idle(place at, deadline until, validation by,
                                        const std::stop_token& stop) noexcept {
  for (;;) {
    const resource_grant grant = scan(life_state::in_use);
    if (grant.slot == nullptr) {
      return {};
    }
    const resource_grant fit = begin_lease(checked(grant, until, by), at);
    if (fit.slot != nullptr || until.passed() || stop.stop_requested() ||
        leaves_to_pool(until, by)) {
      return fit;
    }
    if (until.is_never() && by != validation::by_caller) {
      until = deadline::after(std::chrono::nanoseconds(settings_.validate_timeout));
    }
  }
}

/// What the thread had last, where the short way leads here though that is fresh; then lowest slots
/// first, so that those the load does not need grow old.
resource_grant resource_core::scan(life_state to) noexcept {
  resource_grant grant;
  // relaxed: a hint
  grant.slot = corners_.mine().last.load(std::memory_order_relaxed);
  if (by_callers_ && grant.slot != nullptr && to == life_state::in_use &&
      grant.slot->is_fresh(now(), epoch()) && grant.slot->lend(grant.ticket, to)) {
    return grant;
  }
  grant.slot = find_slot([&](resource_slot& slot) { return slot.lend(grant.ticket, to); });
  return grant;
}

/// Without waiting for a release: by callers the create is run here, otherwise it is only begun.
resource_grant resource_core::create_for_try(const acquire_request& request) noexcept {
  job todo;
  if (attention_.needed()) {
    return {};
  }
  {
    aftermath after(*this);
    const lock guard(mutex_);
    if (attention_.needed()) {
      return {};
    }
    refill(after, 1);
    if (!by_callers_ || !next_job(todo, /*is_brief=*/true)) {
      return {};
    }
    after.work = false;
    todo.is_kept = todo.slot != nullptr;
    keeping_ += todo.is_kept ? 1 : 0;
  }
  if (todo.slot == nullptr) {
    run_job(todo);
    return {};
  }
  const resource_grant made = create(todo);
  if (made.slot == nullptr) {
    make_for_callbacks(request.is_over() ? 0 : 1);  // there is room for theirs
    return made;
  }
  return keep(made, request);
}

/// What the caller has made for itself; nothing if it is of no use any more.
resource_grant resource_core::keep(const resource_grant& made,
                                   const acquire_request& request) noexcept {
  const resource_hooks* const maker = made.slot->maker;
  // It may have been flushed meanwhile, or the pool closed.
  const verdict found = attention_.is(attention::closed)
                            ? verdict{verdict::kind::retire, destroy_reason::closed}
                            : made.slot->judge(now(), epoch());
  if (found.what == verdict::kind::retire) {
    retire(made, found.why, /*makes=*/0);
  } else {
    made.slot->note_receiver(this_thread_id());
  }
  end_create(maker);
  make_for_callbacks(request.is_over() ? 0 : 1);  // what did not come to pass beside this one
  return found.what == verdict::kind::retire ? resource_grant{} : begin_lease(made, request.at);
}

/// Nothing if what it was given is not fit.
resource_grant resource_core::wait_in_line(const acquire_request& request, bool again) {
  resource_waiter waiter(request.until, this_thread_id());
  acquire_failure cause{};
  if (!enqueue(waiter, again, cause)) {
    throw error(cause);
  }
  {
    const std::stop_callback on_stop(
        request.stop, [&waiter] { waiter.cancel_and_wake(acquire_failure::cancelled); });
    if (by_callers_) {
      sleep_and_work(waiter);
    } else if (overtaking_) {
      sleep_and_look(waiter);
    } else {
      sleep_until_ended(waiter);
    }
  }
  if (!waiter.given()) {
    leave_queue(waiter);
    throw error(waiter.cause());
  }
  const bool callbacks_wait = by_callers_ && pass_on();
  const resource_grant got = received(waiter, validation::by_caller);
  if (callbacks_wait) {  // only now: a create may use up the time that a validation needs
    make_for_callbacks(got.slot != nullptr && request.has_time() ? 1 : 0);
  }
  return begin_lease(got, request.at);
}

/// Whether waiting is of no use from the start.
bool resource_core::is_refused(bool again, acquire_failure& cause) const noexcept {
  if (attention_.is(attention::closed)) {
    cause = acquire_failure::closed;
  } else if (!again && has_too_many_waiters()) {
    cause = acquire_failure::too_many_waiters;
  } else if (is_hopeless()) {
    cause = acquire_failure::create_failed;
  } else {
    return false;
  }
  return true;
}

/// Callbacks that are still to be told that their time is up wait no more, and who waits for no
/// more than an answer, or a create, is not one waiter too many.
bool resource_core::has_too_many_waiters() const noexcept {
  std::size_t waiters = queue_.size();
  if (waiters >= settings_.max_waiters) {
    waiters -= late_callbacks();
  }
  return waiters >= settings_.max_waiters &&
         waiters - settings_.max_waiters >= answers() + creates_to_come();
}

/// False: refused.
bool resource_core::enqueue(resource_waiter& waiter, bool again, acquire_failure& cause) {
  const bool holds = settings_.detect_hold_and_wait && holds_any(waiter.thread());
  aftermath after(*this);
  const lock guard(mutex_);
  if (is_refused(again, cause)) {
    count_failure(cause);
    return false;
  }
  enqueue_locked(waiter, again, after);
  if (holds && waiter.open() && is_deadlock(waiter.thread())) {
    unlink(waiter);
    cause = acquire_failure::self_deadlock;
    count_failure(cause);
    return false;
  }
  if (after.calls_users()) {
    step_aside(waiter);
  }
  watch(waiter);
  return true;
}

/// A timer of the system for each sleep costs some hundred nanoseconds, so who has long to go
/// relies on the pool's thread instead, where there is one. Who may be woken to look around, and
/// sleeps again, keeps its own.
void resource_core::watch(resource_waiter& waiter) noexcept {
  if (settings_.upkeep != maintenance::background || overtaking_) {
    return;
  }
  const auto left = waiter.until().moment() - waiter.since();
  if (left > std::chrono::nanoseconds(tuning::nanoseconds_watched)) {
    waiter.leave_time_to_others();
    watched_until_ = sooner(watched_until_, waiter.until());
  }
}

void resource_core::enqueue_locked(resource_waiter& waiter, bool again, aftermath& after) noexcept {
  // By callers, who is in front may be busy, and look for itself alone.
  const bool has_to_look = queue_.empty() || again || by_callers_;
  if (again) {
    queue_.push_front(waiter);
  } else {
    queue_.push_back(waiter);
  }
  totals_.waits += again ? 0 : 1;
  attention_.one_waits();
  if (has_to_look) {
    match(nullptr, after);
  }
  refill(after);
}

/// Only who is alone in the queue may hope for the next resource: others would spin in its way.
void resource_core::sleep_until_ended(resource_waiter& waiter) const noexcept {
  for (int spin = 0; spin < tuning::spins_before_sleep && attention_.waiters() <= 1; ++spin) {
    if (!waiter.open()) {
      return;
    }
    cpu_pause();
  }
  ended_waiters::deliver_before_a_sleep();
  waiter.sleep_until_ended();
}

/// Where others may overtake: who was woken looks for itself.
void resource_core::sleep_and_look(resource_waiter& waiter) noexcept {
  while (waiter.open()) {
    ended_waiters::deliver_before_a_sleep();
    if (look_around(waiter) && !waiter.sleep(waiter.until())) {
      bool asleep = false;
      (void)waiter.cancel(acquire_failure::timed_out, asleep);
    }
  }
}

/// Gives what is idle to those who wait. True: there was none for the caller, who is about to
/// sleep: that is said under the mutex, so that who wakes it next finds it asleep. Who has
/// callbacks to call first is not.
bool resource_core::look_around(resource_waiter& waiter) noexcept {
  aftermath after(*this);
  const lock guard(mutex_);
  waiter.end_sleep();  // nobody has to wake it for what it finds itself
  waiter.has_looked();
  match(nullptr, after);
  refill(after);  // what it was not counted for may have gone to somebody else
  if (!waiter.open() || after.ended.has_callbacks()) {
    return false;
  }
  waiter.begin_sleep();
  return true;
}

/// After the wait has ended without a resource.
void resource_core::leave_queue(resource_waiter& waiter) noexcept {
  {
    aftermath after(*this);
    const lock guard(mutex_);
    unlink(waiter);
    count_failure(waiter.cause());
    if (overtaking_ || answer_wanted_) {
      match(nullptr, after);  // others wait for what it was woken for, or left to the pool to ask
      refill(after);          // and somebody else may have taken what they were not counted for
    }
  }
  if (by_callers_ && pass_on()) {
    make_for_callbacks(0);
  }
}

void resource_core::count_failure(acquire_failure cause) noexcept {
  if (cause == acquire_failure::timed_out) {
    ++totals_.timed_out;
  } else if (cause == acquire_failure::cancelled) {
    ++totals_.cancelled;
  } else {
    ++totals_.refused;
  }
}

acquire_error resource_core::error(acquire_failure cause) {
  acquire_error::details found{.pool = settings_.name,
                               .cause = cause,
                               .counts = stats(),
                               .create_error = nullptr,
                               .create_error_text = {},
                               .holders = leases()};
  std::sort(found.holders.begin(), found.holders.end(),
            [](const lease_info& left, const lease_info& right) {
              return left.held_for > right.held_for;
            });
  found.holders.resize(std::min(found.holders.size(), most_holders_in_errors));
  {
    const lock guard(mutex_);
    found.create_error = create_error_;
    found.create_error_text = create_error_text_;
  }
  return acquire_error(std::move(found));
}

}  // namespace lido::detail
