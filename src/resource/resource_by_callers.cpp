// Where the pool has no threads: those that acquire make the resources, and look after them.
#include <algorithm>

#include "lido/resource/resource_core.hpp"

namespace lido::detail {

/// False: there is none, or the wait has ended. `wait`: until the next try to create is due, 0 if
/// it is and there is no room for it.
bool resource_core::find_work(resource_waiter& waiter, job& todo, nanos& wait) noexcept {
  const nanos moment = read_clock();
  aftermath after(*this);
  const lock guard(mutex_);
  step_back(waiter, after);
  refill(after);  // the next try may be due, and nobody else may look
  wait = retry_at_ == 0 ? never : std::max<nanos>(retry_at_ - moment, 0);
  if (waiter_list::contains(waiter)) {
    watcher_ = &waiter;
    watched_retry_ = retry_at_;
  }
  // First, and others may have what there is to do.
  if (after.calls_users()) {
    step_aside(waiter);
    poke_waiters(after);
    return false;
  }
  // Who has no time left begins nothing.
  if (!waiter.open() || waiter.until().passed() || !next_job(todo, /*is_brief=*/true)) {
    return false;
  }
  todo.by = &waiter;
  waiter.end_sleep();  // or who has work for another one takes it for that
  step_aside(waiter);
  return true;
}

/// As above. What was for this pool may be elsewhere since it last could not create, or be of use
/// elsewhere while it cannot.
bool resource_core::find_work_or_room(resource_waiter& waiter, job& todo, nanos& wait) noexcept {
  bool works = find_work(waiter, todo, wait);
  if (wait != never) {
    nanos then = wait;
    if (waiter.open()) {
      look_for_room(&waiter);
      works = works || (rooms_ != nullptr && find_work(waiter, todo, then));
    }
    // Only who has looked for room when the try was due need not look again.
    const nanos again = wait == 0 ? never : 1;
    wait = then != 0 ? then : again;
  }
  return works;
}

/// `by`: who waits meanwhile. Resources of other keys may have to end for it.
void resource_core::look_for_room(resource_waiter* by) noexcept {
  if (rooms_ == nullptr) {
    return;
  }
  if (by != nullptr) {
    const lock guard(mutex_);
    step_aside(*by);
  }
  rooms_->look_again();
}

/// Where no thread of the pool does it, those who wait make the resources they wait for.
void resource_core::sleep_and_work(resource_waiter& waiter) noexcept {
  while (waiter.open()) {
    ended_waiters::deliver_before_a_sleep();
    job todo;
    waiter.begin_sleep();  // before the look, so that who brings work later pokes
    nanos wait = never;
    const bool works = find_work_or_room(waiter, todo, wait);
    if (works) {
      run_job(todo);
    } else if (waiter.is_aside() ||  // it has called others, and looks again
               waiter.sleep(wait == never ? waiter.until() : waiter.until().but_within(wait))) {
      waiter.end_sleep();
      continue;
    }
    if (waiter.until().passed()) {  // also behind work: creates may fail for ever
      bool asleep = false;
      (void)waiter.cancel(acquire_failure::timed_out, asleep);
    } else if (!works) {
      waiter.end_sleep();
      upkeep_by_caller(&waiter, nullptr);
    }
    if (waiter.open()) {
      look_for_room(&waiter);  // what was made or ended here may have been in the way of others
    }
  }
}

/// Under the mutex. Whoever waits in a thread that goes into code of users is given nothing
/// meanwhile, and nobody stands back for it: a connect may hang, and others could use what comes.
void resource_core::step_aside(resource_waiter& waiter) noexcept {
  if (by_callers_ && !waiter.is_aside() && waiter_list::contains(waiter)) {
    waiter.set_aside(/*aside=*/true);
    attention_.one_leaves();
  }
}

/// Under the mutex: it waits again, and looks for what came meanwhile.
void resource_core::step_back(resource_waiter& waiter, aftermath& after) noexcept {
  if (!waiter.is_aside()) {
    return;
  }
  waiter.set_aside(/*aside=*/false);
  if (waiter_list::contains(waiter)) {
    attention_.one_waits();
    match(nullptr, after);
  }
}

/// By callers, those who wait have to do what there is to do: make resources, or look at the clock
/// until the next try is due.
void resource_core::poke_waiters(aftermath& after) noexcept {
  if (!by_callers_) {
    return;
  }
  std::size_t jobs = std::max<std::size_t>(pending_.size(), is_retry_watched() ? 0 : 1);
  for (resource_waiter* waiter = queue_.first(); waiter != nullptr && jobs > 0;
       waiter = waiter_list::after(*waiter)) {
    if (!waiter->is_aside() && waiter->poke()) {
      after.ended.wake(waiter->sleep_word());
      --jobs;
    }
  }
}

/// Under the mutex: whether somebody sleeps until the next try is due, or has seen that it is, or
/// there is none. Of many it is the last that fell asleep, who mostly is there for longest.
bool resource_core::is_retry_watched() const noexcept {
  return retry_at_ == 0 || (watcher_ != nullptr && watched_retry_ == retry_at_ &&
                            watcher_->asleep() && !watcher_->is_aside());
}

/// By callers: whoever leaves the queue may have been woken for work that others now have to do.
/// What was to be made for it is no work for one who comes later and finds something idle. True:
/// callbacks wait.
bool resource_core::pass_on() noexcept {
  aftermath after(*this);
  const lock guard(mutex_);
  if (queue_.empty() && rooms_ == nullptr && !pending_.empty()) {
    drop_pending(0);
    refill(after);
  }
  poke_waiters(after);
  return callbacks_.first() != nullptr;
}

/// By callers: no thread sleeps for a callback, so who has made room for it makes the resource. An
/// acquire has a time, and leaves what is more than `most` to the next one, or to a tick.
void resource_core::make_for_callbacks(std::size_t most) noexcept {
  if (!by_callers_) {
    return;
  }
  {
    const lock guard(mutex_);
    if (callbacks_.first() == nullptr || (most == 0 && pending_.empty())) {
      return;
    }
    // Threads that stand before it make one each.
    const std::size_t jobs = std::max<std::size_t>(pending_.size(), 1);
    std::size_t threads = 0;
    for (const resource_waiter* first = queue_.first();
         threads < jobs && first->deliver() == nullptr; first = waiter_list::after(*first)) {
      threads += first->is_aside() ? 0 : 1;
    }
    if (threads == jobs) {
      return;
    }
    if (most == 0) {
      // relaxed: a hint; the mutex decides
      next_upkeep_.store(0, std::memory_order_relaxed);
      return;
    }
  }
  if (most == 1) {
    run_jobs_of_acquire(nullptr, nullptr);
  } else {
    run_jobs_here();
  }
}

/// By callers, in an acquire by callback: nobody waits for it, so it goes on while its time is not
/// over.
void resource_core::work_for_callbacks(const acquire_request& request) noexcept {
  if (!by_callers_ || attention_.waiters() == 0) {
    return;
  }
  while (request.has_time() && run_one_job(/*is_brief=*/true)) {
  }
  make_for_callbacks(0);
  if (request.until.passed()) {  // and nobody else may come to say so
    aftermath after(*this);
    const lock guard(mutex_);
    (void)expire_async(after);
  }
}

void resource_core::run_jobs_here() noexcept {
  while (run_one_job(by_callers_)) {
  }
}

/// As run_jobs_here, but an acquire has a time: after one create others go on, or the next one.
void resource_core::run_jobs_of_acquire(resource_waiter* by,
                                        const acquire_request* asked) noexcept {
  for (job todo; take_job(todo, /*is_brief=*/true, by); todo = {}) {
    run_job(todo);
    if (todo.slot != nullptr || (asked != nullptr && asked->is_over())) {
      // relaxed: a hint; the mutex decides
      next_upkeep_.store(0, std::memory_order_relaxed);
      return;
    }
  }
}

/// In threads that acquire: the clock, and what is due.
void resource_core::upkeep_by_caller(resource_waiter* by, const acquire_request* asked) noexcept {
  const nanos moment = by != nullptr ? read_clock() : glance_at_clock();
  // relaxed: a hint; the mutex decides
  if (moment < next_upkeep_.load(std::memory_order_relaxed)) {
    return;
  }
  {
    aftermath after(*this);
    const lock guard(mutex_);
    // relaxed: as above
    next_upkeep_.store(
        std::min(later(moment, settings_.period), retry_at_ > moment ? retry_at_ : never),
        std::memory_order_relaxed);
    sweep_due_ = true;
    (void)expire_async(after);
    if (queue_.empty()) {
      drop_pending(0);  // who wanted it is gone, or has been served
    }
    refill(after);
    // Who waits does not leave its place for nothing.
    if (by != nullptr && (after.calls_users() || has_report() || has_care())) {
      step_aside(*by);
    }
  }
  report_leases();
  if (asked == nullptr || !asked->is_over()) {  // callbacks, too, may have taken their time
    run_jobs_of_acquire(by, asked);
  } else {
    // relaxed: a hint; the mutex decides
    next_upkeep_.store(0, std::memory_order_relaxed);
  }
}

/// Under the mutex: the next try is later, and twice as much later each time. In the background all
/// that are reserved begin side by side.
void resource_core::back_off(nanos moment) noexcept {
  if (moment < retry_at_) {
    return;  // by another that has failed meanwhile
  }
  retry_delay_ = retry_delay_ == 0
                     ? settings_.retry_first
                     : std::min(later(retry_delay_, retry_delay_), settings_.retry_longest);
  retry_at_ = later(moment, retry_delay_);
  if (settings_.upkeep != maintenance::background) {
    drop_pending(0);  // or one would begin behind the other; reserved anew when the next try is due
  }
  // relaxed: a hint; the mutex decides
  if (by_callers_ && retry_at_ < next_upkeep_.load(std::memory_order_relaxed)) {
    // relaxed: as above
    next_upkeep_.store(retry_at_, std::memory_order_relaxed);
  }
}

}  // namespace lido::detail
