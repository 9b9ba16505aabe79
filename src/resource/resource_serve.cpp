// How a resource, or the room for one, gets to those who wait.
#include <algorithm>
#include <mutex>
#include <utility>

#include "lido/resource/resource_short_way.hpp"

namespace lido::detail {

aftermath::~aftermath() {
  ended.wake(nullptr);  // who sleeps does not wait for code of users
  if (work) {
    core_.call_workers();
  }
  if (plans) {
    core_.wake_timekeeper();
  }
  if (drained) {
    unpark(&core_.drained_);
  }
  if (unwanted.slot != nullptr) {
    core_.retire(unwanted, why);
  }
}

void resource_core::give_back_with_care(const resource_grant& grant, bool last_use) noexcept {
  resource_slot& slot = *grant.slot;
  tell_of_return(slot);
  const verdict found = slot.judge(now(), epoch());
  if (found.what == verdict::kind::retire) {
    retire(grant, found.why);
  } else if (last_use) {
    retire(grant, destroy_reason::used_up);
  } else if (const auto why = slot.maker->can_reset() ? why_unwanted() : std::nullopt) {
    retire(grant, *why);  // a reset may take long, and would be for nobody
  } else if (slot.maker->can_reset() && !slot.maker->reset(slot)) {
    retire(grant, destroy_reason::reset_refused);
  } else {
    slot.used_until(now(), settings_.life);
    offer(grant);
  }
}

void resource_core::tell_of_return(resource_slot& slot) noexcept {
  const auto [marks, lease] = slot.end_reports();
  if ((marks & (reported_slow | reported_leak)) == 0) {
    return;
  }
  bool untold = false;
  {
    const lock guard(mutex_);
    untold = reported_.remove(slot, lease);
  }
  if (untold) {
    tell_of(pool_event::kind::returned_after_all, slot.info(now()));
  }
}

/// By who has it, and does not give it back.
void resource_core::end_last_use(resource_slot& slot) noexcept {
  (void)slot.count_use(settings_.life.max_uses);
  tell_of_return(slot);
}

/// Makes a resource idle that the caller had, and sees to it that those who wait get it.
void resource_core::offer(const resource_grant& grant) noexcept {
  resource_slot& slot = *grant.slot;
  thread_corner& corner = corners_.mine();
  slot.forget_holder();
  // As soon as the slot is idle another thread may end it, and with it the pool.
  begin_leaving(corner);
  if (!slot.put_back(grant.ticket)) {
    end_leaving(corner);
    retire(grant, destroy_reason::killed);
    return;
  }
  const bool unwatched = !attention_.needed();
  // What threads without a number share would keep them without one.
  if ((unwatched || overtaking_) && thread_offset != 0) {
    // relaxed: a hint
    corner.last.store(&slot, std::memory_order_relaxed);
  }
  if (unwatched) [[likely]] {
    end_leaving(corner);
    return;
  }
  const auto alive = weak_from_this().lock();
  end_leaving(corner);
  if (alive != nullptr) {  // otherwise the slot has found its end already
    serve(slot);
  }
}

void resource_core::serve(resource_slot& released) noexcept {
  aftermath after(*this);
  const lock guard(mutex_);
  serve_locked(released, after);
}

/// What a thread of the pool has made, or has been answered for, becomes idle, and in the same step
/// is on its way no more: callbacks that get it may take their time, and so may its end.
void resource_core::arrive(const resource_grant& grant, const job& todo) noexcept {
  unsigned away = 0;
  resource_grant left;  // both steps may leave one that nobody wants
  {
    aftermath after(*this);
    std::unique_lock guard(mutex_);
    if (todo.by != nullptr) {
      step_back(*todo.by, after);  // it is for who has made it, if nobody stands before it
      left = std::exchange(after.unwanted, {});
    }
    take_in(grant, todo, after);
    away = after.calls_users() || left.slot != nullptr ? 1 : 0;
    // This thread may not come back soon for what else there is to do.
    after.work |= away != 0 && has_jobs();
    away_ += away;
    // For a callback it keeps its turn, which that callback may be about to bring.
    if (todo.by != nullptr && (left.slot != nullptr || after.unwanted.slot != nullptr)) {
      step_aside(*todo.by);
    }
    guard.unlock();
    if (left.slot != nullptr) {  // before callbacks, which may wait for its room
      after.ended.wake(nullptr);
      retire(left, destroy_reason::killed);
    }
  }
  end_job(away);
}

void resource_core::take_in(const resource_grant& grant, const job& todo,
                            aftermath& after) noexcept {
  grant.slot->forget_holder();
  if (todo.slot == nullptr) {
    count_asked(todo);
  } else {
    --creating_;
    outdated_ -= is_outdated(todo.since) ? 1 : 0;
  }
  if (!grant.slot->put_back(grant.ticket)) {
    after.unwanted = grant;
  } else {
    arriving_ = {grant.slot, grant.ticket.with_next_turn().in(life_state::in_use)};
    serve_locked(*grant.slot, after);
    arriving_ = {};
  }
  refill(after);
}

void resource_core::serve_locked(resource_slot& released, aftermath& after) noexcept {
  if (is_unwanted()) {
    resource_grant grant{&released, {}};
    if (released.lend(grant.ticket)) {
      end_unwanted(grant, after);
    }
  } else if (!overtaking_) {
    match(&released, after);
  } else if (&released == arriving_.slot ||
             !call_first(after)) {  // by then it might have to be asked
    serve_all(after);
  }
}

/// Under the mutex. What comes back is ended, as the pool is closed or too small for it.
bool resource_core::is_unwanted() const noexcept {
  return attention_.is(attention::closed) || has_surplus();
}

void resource_core::end_unwanted(const resource_grant& grant, aftermath& after) noexcept {
  after.unwanted = grant;
  after.why = destroy_reason::closed;
  if (!attention_.is(attention::closed)) {
    after.why = destroy_reason::surplus;
    shed_one();
  }
}

/// Where others may overtake: wakes the first who waits, instead of giving it anything. False: it
/// has let others go first for long enough, or will not come.
bool resource_core::call_first(aftermath& after) noexcept {
  if (attention_.is(attention::suspended)) {
    return false;
  }
  resource_waiter* const waiter = first_open(after);
  if (waiter == nullptr || waiter->deliver() != nullptr ||
      !waiter->may_be_overtaken(settings_.overtake_for)) {
    return false;
  }
  const atomic<std::uint32_t>* const word = waiter->sleep_word();
  bool must_wake = false;
  const bool comes = waiter->call(must_wake);
  if (must_wake) {
    after.ended.wake(word);
  }
  return comes;
}

/// Where others may overtake: idle resources are for those who wait, and where there was none for
/// the first of them, nobody takes the next one before it.
void resource_core::serve_all(aftermath& after) noexcept {
  const resource_waiter* const first = queue_.first();
  match(nullptr, after);
  const bool unserved = first != nullptr && first == queue_.first();
  attention_.set(attention::overdue, unserved && !attention_.is(attention::suspended));
  refill(after);  // for who was not counted, since what was taken meanwhile was idle
}

/// Gives idle resources to those who wait: `only` that one, or all.
void resource_core::match(resource_slot* only, aftermath& after) noexcept {
  if (attention_.is(attention::suspended)) {
    return;
  }
  // What one has left to the pool to ask, the next may be able to take.
  only = answer_wanted_ ? nullptr : only;
  resource_loan loan;
  while (resource_waiter* const waiter = first_open(after)) {
    if (loan.grant.slot == nullptr) {
      loan = lend_one(*waiter, only, after);
    }
    if (loan.grant.slot == nullptr) {
      return;
    }
    const bool given = hand_over(*waiter, loan, after);
    if (given && only != nullptr) {
      return;
    }
    loan = given ? resource_loan{} : loan;
  }
  if (loan.grant.slot != nullptr) {
    leave_idle(loan.grant, after);
  }
}

resource_loan resource_core::lend_one(const resource_waiter& waiter, resource_slot* only,
                                      aftermath& after) noexcept {
  resource_loan loan;
  const auto lends = [&](resource_slot& slot) {
    loan.grant.slot = &slot;
    return lend_to(waiter, loan, after);
  };
  if (only != nullptr) {
    return lends(*only) ? loan : resource_loan{};
  }
  return find_slot(lends) != nullptr ? loan : resource_loan{};
}

/// Nobody is there any more who could be given it.
void resource_core::leave_idle(const resource_grant& grant, aftermath& after) noexcept {
  grant.slot->forget_holder();
  if (!grant.slot->put_back(grant.ticket)) {
    after.unwanted = grant;
  }
}

/// The first waiter that still waits, and is not busy. Those that have ended, or whose time is up,
/// leave the queue.
resource_waiter* resource_core::first_open(aftermath& after) noexcept {
  for (resource_waiter* waiter = queue_.first(); waiter != nullptr;) {
    resource_waiter* const next = waiter_list::after(*waiter);
    if (!waiter->open() || waiter->until().passed()) {
      turn_away(*waiter, acquire_failure::timed_out, after);
    } else if (!waiter->is_aside()) {
      return waiter;
    }
    waiter = next;
  }
  return nullptr;
}

/// Takes a waiter out of the queue and ends its wait, unless somebody else has.
void resource_core::turn_away(resource_waiter& waiter, acquire_failure cause,
                              aftermath& after) noexcept {
  unlink(waiter);
  const atomic<std::uint32_t>* const word = waiter.sleep_word();
  const bool is_callback = waiter.deliver() != nullptr;
  bool asleep = false;
  if (!waiter.cancel(cause, asleep)) {
    return;
  }
  if (is_callback) {
    after.ended.deliver(waiter);
  } else if (asleep) {
    after.ended.wake(word);
  }
}

/// False: the waiter was cancelled in this moment.
bool resource_core::hand_over(resource_waiter& waiter, const resource_loan& loan,
                              aftermath& after) noexcept {
  unlink(waiter);
  loan.grant.slot->note_receiver(waiter.thread());
  const atomic<std::uint32_t>* const word = waiter.sleep_word();
  const bool is_callback = waiter.deliver() != nullptr;
  const auto waited = std::chrono::steady_clock::now() - waiter.since();
  bool asleep = false;
  if (!waiter.give(loan, asleep)) {
    return false;
  }
  ++totals_.handed_over;
  totals_.waited_for += waited;
  totals_.longest_wait = std::max<std::chrono::nanoseconds>(totals_.longest_wait, waited);
  if (is_callback) {
    after.ended.deliver(waiter);
  } else if (asleep) {
    after.ended.wake(word);  // of the waiter only the address: it may be gone
  }
  return true;
}

void resource_core::unlink(resource_waiter& waiter) noexcept {
  const bool was_first = queue_.first() == &waiter;
  if (queue_.remove(waiter)) {
    if (!waiter.is_aside()) {
      attention_.one_leaves();
    }
    answer_wanted_ = answer_wanted_ && !queue_.empty();
    if (was_first) {  // of the next in the queue nothing is known
      attention_.set(attention::overdue, /*on=*/false);
    }
  }
  callbacks_.remove(waiter);
  watcher_ = watcher_ == &waiter ? nullptr : watcher_;
}

void resource_core::cancel_all(acquire_failure cause, aftermath& after) noexcept {
  while (resource_waiter* const waiter = queue_.first()) {
    turn_away(*waiter, cause, after);
  }
}

void resource_core::retire(const resource_grant& grant, destroy_reason why,
                           std::size_t makes) noexcept {
  const auto alive = weak_from_this().lock();  // until the end of this function
  resource_slot& slot = *grant.slot;
  if (why == destroy_reason::discarded) {
    end_last_use(slot);
  }
  if (!slot.begin_closing(grant.ticket)) {
    return;  // a ticket of long ago
  }
  slot.maker->destroy(slot, why);
  slot_emptied(slot, totals_.destroyed[static_cast<std::size_t>(why)],
               why == destroy_reason::surplus);
  if (alive != nullptr) {
    make_for_callbacks(makes);
  }
}

void resource_core::forget(const resource_grant& grant) noexcept {
  const auto alive = weak_from_this().lock();  // until the end of this function
  end_last_use(*grant.slot);
  if (grant.slot->begin_closing(grant.ticket)) {
    slot_emptied(*grant.slot, totals_.detached, /*was_surplus=*/false);
    if (alive != nullptr) {
      make_for_callbacks();
    }
  }
}

/// There is room for another resource.
void resource_core::slot_emptied(resource_slot& slot, std::uint64_t& counter,
                                 bool was_surplus) noexcept {
  std::shared_ptr<resource_core> last;  // after the lock and the aftermath
  catch_up_by_callers();                // the next try may be due
  aftermath after(*this);
  const lock guard(mutex_);
  totals_.uses += slot.uses();
  ++counter;
  shedding_ -= was_surplus ? 1 : 0;
  slot.vanish();
  --live_;
  end_deadlock(after);
  after_change(after);
  if (live_ == 0 && self_ != nullptr) {
    last = std::move(self_);
  }
}

/// One that was taken ends as a surplus, and the next may not be one.
void resource_core::shed_one() noexcept {
  ++shedding_;
  attention_.set(attention::surplus, has_surplus());
}

/// Whatever has changed live_, max_size_ or a limit.
void resource_core::after_change(aftermath& after) noexcept {
  attention_.set(attention::surplus, has_surplus());
  refill(after);
  if (is_hopeless()) {
    cancel_all(acquire_failure::create_failed, after);
  }
  if (live_ == 0 && attention_.is(attention::closed)) {
    // relaxed: the mutex orders it; who sleeps on it looks again
    drained_.fetch_add(1, std::memory_order_relaxed);
    after.drained = true;
  }
}

}  // namespace lido::detail
