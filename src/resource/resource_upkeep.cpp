// Making resources, and looking after idle ones.
#include <algorithm>
#include <ctime>
#include <utility>

#include "lido/base/tuning.hpp"
#include "lido/resource/resource_core.hpp"

namespace lido::detail {

namespace {

/// `steady_now()` as of the last tick of the kernel, for a tenth of the time.
nanos recent_now() noexcept {
#ifdef CLOCK_MONOTONIC_COARSE
  timespec moment{};
  if (clock_gettime(CLOCK_MONOTONIC_COARSE, &moment) == 0) {
    return std::chrono::nanoseconds(std::chrono::seconds(moment.tv_sec)).count() + moment.tv_nsec;
  }
#endif
  return steady_now();
}

}  // namespace

nanos resource_core::read_clock() noexcept {
  return advance_clock(settings_.clock != nullptr ? settings_.clock->now().count() : steady_now());
}

/// Before what takes time anyway: where nobody ticks, nobody else may have looked for long.
void resource_core::catch_up_by_callers() noexcept {
  if (by_callers_) {
    (void)read_clock();
  }
}

/// For the short way. What it is late by is nothing beside the limits.
nanos resource_core::glance_at_clock() noexcept {
  constexpr nanos most_between_ticks = 10'000'000;
  const bool is_exact = settings_.clock != nullptr || settings_.period < 2 * most_between_ticks ||
                        settings_.life.validate_after == 0;
  return is_exact ? read_clock() : advance_clock(recent_now());
}

/// Of two threads that read it at a time the later one's counts: for who has seen something become
/// too old, it stays so.
nanos resource_core::advance_clock(nanos moment) noexcept {
  // relaxed: a number
  nanos seen = now_.load(std::memory_order_relaxed);
  while (seen < moment) {
    // relaxed: as above
    if (now_.compare_exchange_weak(seen, moment, std::memory_order_relaxed,
                                   std::memory_order_relaxed)) {
      return moment;
    }
  }
  return seen;
}

/// Reserves slots for what should be made now, and says that there is work.
void resource_core::refill(aftermath& after, std::uint32_t more_waiters) noexcept {
  if (live_ >= max_size_ || attention_.is(attention::closed) || now() < retry_at_) {
    return;
  }
  const bool serves = !attention_.is(attention::suspended);
  const std::uint32_t hopes = hopeful();
  if (hopes != 0) {  // for so long, and then somebody has to look again
    after.plans |= planned_ > deadline().but_within(tuning::nanoseconds_for_answer).nanoseconds();
  }
  const std::uint32_t waiters = queue_.size() - hopes + more_waiters + keeping_;
  const std::uint32_t called = overtaking_ ? std::min(count_fit(), waiters) : 0;
  // What is being looked at is as good as idle.
  const std::uint32_t idle =
      min_idle_ == 0 ? 0 : count(life_state::idle) + count(life_state::checking);
  const refill_counts counts{.max_size = max_size_,
                             .min_idle = min_idle_,
                             .creating_limit = settings_.creating_limit(max_size_),
                             .live = live_,
                             .creating = creating_ - outdated_,
                             .idle = idle,
                             .waiters = serves ? waiters - called : 0};
  for (std::uint32_t wanted = creates_wanted(counts); wanted > 0; --wanted) {
    if (resource_slot* const slot = find_empty()) {
      reserve_one(*slot);
      after.work = true;
    }
  }
  if (after.work) {
    poke_waiters(after);
  }
}

void resource_core::reserve_one(resource_slot& slot) noexcept {
  (void)slot.reserve();
  slot.maker = hooks_.back().get();
  ++live_;
  ++creating_;
  pending_.push_back(&slot);
}

resource_slot* resource_core::find_empty() const noexcept {
  return find_slot([](const resource_slot& slot) { return slot.state() == life_state::empty; });
}

/// Under the mutex. `out` is empty before.
bool resource_core::next_job(job& out, bool is_brief) noexcept {
  if (may_call()) {
    out.calls = true;
    calling_ = std::exchange(calls_due_, false);
    ++running_;
    return true;
  }
  if (next_question(out)) {  // it may be quicker than to make one
    return true;
  }
  // With keys, who acquires makes its own: a tick that waited for one host would keep all waiting.
  if (!pending_.empty() && (is_brief || rooms_ == nullptr)) {
    out.slot = pending_.front();
    pending_.erase(pending_.begin());
    out.since = out.slot->maker = hooks_.back().get();
    out.epoch = epoch();
    out.draw = std::uniform_real_distribution<double>()(random_);
    ++running_;
    return true;
  }
  // A closed pool looks after its resources by itself; a sweep would count as work under way.
  if (!has_sweep()) {
    return false;
  }
  sweep_due_ = false;
  // Who waits does not leave its place for a sweep that finds nothing.
  if (is_brief && !has_care()) {
    return false;
  }
  out.is_brief = is_brief;
  sweeping_ = true;
  ++running_;
  return true;
}

void resource_core::run_job(const job& todo) noexcept {
  if (todo.calls) {
    run_calls();
  } else if (todo.question.slot != nullptr) {
    run_question(todo);
  } else if (todo.slot == nullptr) {
    sweep(todo.is_brief);
    aftermath after(*this);
    const lock guard(mutex_);
    keepalive_due_ = settings_.upkeep == maintenance::background;
    sweeping_ = false;
    --running_;
    after_change(after);
  } else if (const resource_grant made = create(todo); made.slot != nullptr) {
    arrive(made, todo);
  }
}

/// By who has kept what it has made.
void resource_core::end_create(const resource_hooks* maker) noexcept {
  aftermath after(*this);
  const lock guard(mutex_);
  --creating_;
  --(is_outdated(maker) ? outdated_ : keeping_);
  --running_;
  after_change(after);
}

/// False: there is none. `is_brief`: within an acquire, which takes no more than it has to.
bool resource_core::run_one_job(bool is_brief) noexcept {
  job todo;
  if (!take_job(todo, is_brief)) {
    return false;
  }
  run_job(todo);
  return true;
}

/// `by`: who waits, and is aside from now on if there is one.
bool resource_core::take_job(job& out, bool is_brief, resource_waiter* by) noexcept {
  const lock guard(mutex_);
  const bool is_over = by != nullptr && (!by->open() || by->until().passed());
  if (is_over || !next_job(out, is_brief)) {
    return false;
  }
  out.by = by;
  if (by != nullptr) {
    step_aside(*by);
  }
  return true;
}

/// A new resource, in use by the caller, who then calls `end_create`; nothing if the factory has
/// thrown.
resource_grant resource_core::create(const job& todo) noexcept {
  resource_slot& slot = *todo.slot;
  const auto begin = std::chrono::steady_clock::now();
  std::exception_ptr error;
  bool permanent = settings_.on_create_error == create_errors::fail_fast;
  try {
    slot.maker->create(slot, {clock_after(settings_.create_timeout), slot.maker->stop_token()});
  } catch (const permanent_failure&) {
    error = std::current_exception();
    permanent = true;
  } catch (...) {
    error = std::current_exception();
  }
  if (error) {
    create_failed(todo, error, permanent);
    return {};
  }
  const auto took = std::chrono::steady_clock::now() - begin;
  slot.forget_holder();
  const nanos born = read_clock();
  const life_word ticket = slot.be_born(born, settings_.life, todo.draw, todo.epoch);
  slot.vetted(born);  // though each be validated before its use: or none might ever be lent
  if (note_created(slot, took, error)) {
    look_for_room();  // for those who would have looked when the next try is due
  }
  return {&slot, ticket};
}

/// True: that ends a back-off. `error`: afterwards that of the create before, to be ended without
/// the mutex. A factory that was replaced meanwhile says nothing about the new one.
bool resource_core::note_created(const resource_slot& slot, std::chrono::nanoseconds took,
                                 std::exception_ptr& error) noexcept {
  const lock guard(mutex_);
  ++totals_.created;
  totals_.creating_for += took;
  totals_.longest_create = std::max(totals_.longest_create, took);
  if (is_outdated(slot.maker)) {
    return false;
  }
  create_error_.swap(error);
  hopeless_ = false;
  retry_delay_ = 0;
  return std::exchange(retry_at_, 0) != 0;
}

void resource_core::create_failed(const job& todo, const std::exception_ptr& error,
                                  bool permanent) noexcept {
  std::shared_ptr<resource_core> last;  // until the end of this function
  resource_slot& slot = *todo.slot;
  const nanos moment = read_clock();
  // Neither what() nor the end of the error before is called under the mutex.
  std::string text = text_of(error);
  std::exception_ptr latest = error;
  {
    aftermath after(*this);
    const lock guard(mutex_);
    const bool was_replaced = is_outdated(slot.maker);  // says nothing about the new one
    slot.vanish();
    --creating_;
    outdated_ -= was_replaced ? 1 : 0;
    keeping_ -= todo.is_kept && !was_replaced ? 1 : 0;
    --live_;
    ++totals_.create_failures;
    if (!was_replaced) {
      create_error_.swap(latest);
      create_error_text_.swap(text);
      hopeless_ = permanent;
      back_off(moment);
    }
    after.plans = true;
    end_deadlock(after);
    after_change(after);
    poke_waiters(after);
    ++away_;
    after.work |= has_jobs();
    last = live_ == 0 ? std::move(self_) : nullptr;
  }
  tell({.what = pool_event::kind::create_failed,
        .pool = settings_.name,
        .error = error,
        .leases = {}});
  end_job(/*away=*/1);
}

/// Only now, so that a closed pool does not join a thread that is still in code of users. `away`:
/// one, if the thread counts as that.
void resource_core::end_job(unsigned away) noexcept {
  aftermath after(*this);
  const lock guard(mutex_);
  away_ -= away;
  --running_;
  after_change(after);
}

/// Looks after all idle resources that need it. In a brief one a thread that acquires waits for one
/// answer at most, and in others one that is long in coming is the last: what does not answer holds
/// up other keys once a tick. The next such thread, or tick, goes on.
void resource_core::sweep(bool is_brief) noexcept {
  const std::chrono::nanoseconds usual(
      std::max<nanos>(settings_.period, tuning::nanoseconds_for_answer));
  const auto patience = std::min(usual, settings_.validate_timeout);
  bool asked = false;
  bool asks = true;
  const std::uint32_t kept = least_idle();
  std::uint32_t idle = count(life_state::idle);  // once, or the sweep of many costs their square
  find_slot([&](resource_slot& slot) {
    resource_grant grant{&slot, {}};
    const bool may_go = idle > kept;
    if (needs_care(slot, now(), may_go) && slot.lend(grant.ticket, life_state::checking)) {
      const auto latest = clock_after(patience);
      asked |= look_after(grant, asks);
      idle -= idle != 0 && slot.state() != life_state::idle ? 1 : 0;
      asks &= !asked || (!is_brief && std::chrono::steady_clock::now() <= latest);
    }
    return false;
  });
  if (asked && is_brief) {
    // relaxed: a hint; the mutex decides
    next_upkeep_.store(0, std::memory_order_relaxed);
  }
}

/// Under the mutex: whether a sweep would find something to do.
bool resource_core::has_care() const noexcept {
  const bool may_go = count(life_state::idle) > min_idle_;
  return find_slot([&, moment = now()](const resource_slot& slot) {
           return needs_care(slot, moment, may_go);
         }) != nullptr;
}

/// A first look, so that a resource that needs nothing can be had all the time. `may_go`: though it
/// works, as more are idle than have to be.
bool resource_core::needs_care(const resource_slot& slot, nanos now, bool may_go) const noexcept {
  const bool asks =
      settings_.upkeep != maintenance::background;  // otherwise that is a job by itself
  return slot.state() == life_state::idle &&
         (slot.is_over(now, epoch()) || slot.word().doomed() ||
          (may_go && slot.idle_for(now) >= settings_.life.idle_timeout) ||
          (asks && slot.neglected_for(now) >= settings_.life.keepalive));
}

/// True: it was asked, which it is only if `may_ask`.
bool resource_core::look_after(const resource_grant& grant, bool may_ask) noexcept {
  resource_slot& slot = *grant.slot;
  const verdict found = slot.judge(now(), epoch());
  if (found.what == verdict::kind::retire) {
    retire(grant, found.why, /*makes=*/0);
    return false;
  }
  if (slot.idle_for(now()) >= settings_.life.idle_timeout &&
      count(life_state::idle) >= least_idle()) {
    retire(grant, destroy_reason::idle_too_long, /*makes=*/0);
    return false;
  }
  // Not while others wait: it would be theirs.
  const bool asks = may_ask && settings_.upkeep != maintenance::background &&
                    needs_keepalive(slot) && attention_.waiters() == 0;
  if (!asks || ask(grant, {})) {
    offer(grant);
  }
  return asks;
}

std::uint32_t resource_core::least_idle() noexcept {
  const lock guard(mutex_);
  return min_idle_;
}

std::uint32_t resource_core::count(life_state state) const noexcept {
  return count_if([&](const resource_slot& slot) { return slot.state() == state; });
}

/// Under the mutex: what is idle, and needs no answer that somebody waits for.
std::uint32_t resource_core::count_fit() const noexcept {
  return count_if([&](const resource_slot& slot) {
    return slot.state() == life_state::idle && !(answer_wanted_ && is_unasked(slot));
  });
}

void resource_core::tick() {
  const auto alive = shared_from_this();
  (void)read_clock();
  {
    aftermath after(*this);
    const lock guard(mutex_);
    sweep_due_ |= settings_.upkeep != maintenance::background;
    (void)expire_async(after);
    refill(after);
    if (rooms_ != nullptr && queue_.empty()) {
      drop_pending(0);  // who wanted it is gone, and another key may need the room
    }
  }
  report_leases();
  while (settings_.upkeep != maintenance::background && run_one_job(/*is_brief=*/false)) {
  }
}

}  // namespace lido::detail
