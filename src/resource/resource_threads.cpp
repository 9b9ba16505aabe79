// The threads of a pool: one that keeps time, and helpers that make and look after resources.
#include <algorithm>
#include <array>
#include <exception>
#include <system_error>

#include "../concurrency/uncancelled.hpp"
#include "lido/resource/resource_core.hpp"

namespace lido::detail {

void resource_core::start() {
  if (settings_.upkeep != maintenance::background) {
    return;
  }
  if (const std::exception_ptr failed = start_threads(); failed != nullptr) {
    stop_threads(/*wait=*/true);
    std::rethrow_exception(failed);
  }
}

/// None of them does anything until all have been started, or then.
std::exception_ptr resource_core::start_threads() {
  const auto alive = shared_from_this();
  const lock guard(mutex_);
  try {
    threads_.reserve(2);
    threads_.emplace_back([alive] { alive->keep_time(); });
    threads_.emplace_back([alive] { alive->work(); });
    idle_helpers_ = 1;
  } catch (...) {
    stopping_ = true;
    return std::current_exception();
  }
  return nullptr;
}

void resource_core::keep_time() noexcept {
  for (;;) {
    // relaxed: changes under the mutex, which plan() takes afterwards
    const std::uint32_t seen = timer_.load(std::memory_order_relaxed);
    deadline until;
    if (stopping()) {
      return;
    }
    while (remind_waiters()) {
    }
    (void)read_clock();
    if (!plan(until)) {
      return;
    }
    (void)park(timer_, seen, until);
  }
}

/// Asked before the clock is: once the pool has ended, that may be gone.
bool resource_core::stopping() noexcept {
  const lock guard(mutex_);
  return stopping_;
}

/// Those that will soon have waited long enough look after their time themselves from now on; those
/// that do not sleep yet are reminded the next time. True: there may be more of them. Before the
/// clock of users is asked, which may take its time.
bool resource_core::remind_waiters() noexcept {
  std::array<const atomic<std::uint32_t>*, 64> words{};
  std::size_t size = 0;
  lock guard(mutex_);
  const deadline near = deadline().but_within(tuning::nanoseconds_watched / 2);
  if (watched_until_.nanoseconds() > near.nanoseconds()) {
    return false;
  }
  const deadline soon = deadline().but_within(tuning::nanoseconds_watched / 4 * 3);
  deadline left;
  for (resource_waiter* waiter = queue_.first(); waiter != nullptr && size < words.size();
       waiter = waiter_list::after(*waiter)) {
    if (!waiter->is_watched()) {
      continue;
    }
    if (waiter->until().nanoseconds() <= soon.nanoseconds() && waiter->remind()) {
      words.at(size++) = waiter->sleep_word();
    } else {
      left = sooner(left, waiter->until());
    }
  }
  watched_until_ = size < words.size() ? left : watched_until_;
  guard.unlock();
  // Though they may be gone by now: only the address is used.
  std::for_each_n(words.begin(), size, unpark);
  return size == words.size();
}

/// What is due is begun; `until` is when to look again. False: the pool has ended. Calls no code of
/// users, which may take its time: helpers do.
bool resource_core::plan(deadline& until) noexcept {
  aftermath after(*this);
  const lock guard(mutex_);
  if (stopping_) {
    return false;
  }
  const nanos moment = now();
  planned_ = 0;
  const resource_waiter* const next = callbacks_.first();
  const bool has_late = next != nullptr && next->until().passed();
  calls_due_ = has_late || answer_wanted_ || has_report();
  if (may_call()) {
    after.work = true;
  } else {
    refill(after);
  }
  // relaxed: under the mutex
  if (moment >= next_upkeep_.load(std::memory_order_relaxed)) {
    // relaxed: as above
    next_upkeep_.store(later(moment, settings_.period), std::memory_order_relaxed);
    sweep_due_ = true;
    after.work = true;
  }
  until = next_look(moment, has_late ? nullptr : next);
  planned_ = until.nanoseconds();
  return true;
}

/// Under the mutex: when something may be due again, the time of `next` among it.
deadline resource_core::next_look(nanos moment, const resource_waiter* next) const noexcept {
  nanos wait = settings_.period;
  if (retry_at_ > moment) {
    wait = std::min(wait, retry_at_ - moment);
  }
  if (live_ < max_size_ && hopeful() != 0) {
    wait = std::min(wait, tuning::nanoseconds_for_answer);
  }
  const deadline until = deadline::after(std::chrono::nanoseconds(wait));
  return next != nullptr && next->until().nanoseconds() < until.nanoseconds() ? next->until()
                                                                              : until;
}

/// By a helper, for the thread that keeps time: ends the waits of callbacks that are late, hands
/// over what somebody else has left to the pool to validate, makes what others need then, reports.
void resource_core::run_calls() noexcept {
  {
    aftermath after(*this);
    const lock guard(mutex_);
    (void)expire_async(after);
    serve_next(after);
    refill(after);
    after.work |= after.ended.has_callbacks() && has_jobs();  // this thread may not come back soon
  }
  report_leases();
  aftermath after(*this);
  const lock guard(mutex_);
  calling_ = false;
  --running_;
  const resource_waiter* const next = callbacks_.first();
  after.plans = next != nullptr && next->until().nanoseconds() < planned_;
  after_change(after);
}

void resource_core::work() noexcept {
  errand next = next_errand(/*was_idle=*/true);
  while (!next.end) {
    if (next.found) {
      run_errand(next);
    } else {
      (void)park(work_, next.seen, {});
    }
    next = next_errand(!next.found);
  }
}

resource_core::errand resource_core::next_errand(bool was_idle) noexcept {
  errand next;
  const lock guard(mutex_);
  idle_helpers_ -= was_idle ? 1 : 0;
  // relaxed: changes after the mutex was given back
  next.seen = work_.load(std::memory_order_relaxed);
  next.found = next_job(next.todo, /*is_brief=*/false);
  next.end = !next.found && stopping_;
  next.wake = next.found && has_jobs() && idle_helpers_ != 0;
  next.help = next.found && call_for_help();
  idle_helpers_ += next.found ? 0 : 1;
  return next;
}

/// Under the mutex: whether there is something to do, and nobody but those who may take long over
/// something else; then the caller has to start a helper, which counts as idle from now on. There
/// are as many as there may be creates and questions, one that sweeps, one that calls who is late,
/// and as many as are in other code of users: callbacks, the end of a resource, `on_event`.
bool resource_core::call_for_help() noexcept {
  const std::size_t most = 2 * settings_.creating_limit(max_size_) + 1 + away_ + outdated_ +
                           (calling_ || may_call() ? 1 : 0);
  const bool help =
      has_jobs() && idle_helpers_ == 0 && !stopping_ && !threads_.empty() && helpers_ < most;
  helpers_ += help ? 1 : 0;
  idle_helpers_ += help ? 1 : 0;
  return help;
}

void resource_core::run_errand(const errand& next) noexcept {
  if (next.help) {
    start_helper();
  } else if (next.wake) {
    wake_workers();  // a wake-up reaches one, and this one is busy from now on
  }
  run_job(next.todo);
}

/// A slow create holds up nobody but those who wait for that resource.
void resource_core::start_helper() noexcept {
  const lock guard(mutex_);
  if (stopping_) {
    return;
  }
  try {
    threads_.emplace_back([alive = shared_from_this()] { alive->work(); });
    return;
  } catch (const std::system_error&) {  // then those that there are do it all
  } catch (const std::bad_alloc&) {
  }
  --helpers_;
  --idle_helpers_;
}

/// There is work, and those who could do it may all be busy.
void resource_core::call_workers() noexcept {
  if (settings_.upkeep != maintenance::background) {
    return;
  }
  bool help = false;
  {
    const lock guard(mutex_);
    help = call_for_help();
  }
  if (help) {
    start_helper();
  }
  wake_workers();
}

void resource_core::wake_workers() noexcept {
  // relaxed: what there is to do is under the mutex
  work_.fetch_add(1, std::memory_order_relaxed);
  unpark(&work_);
}

void resource_core::wake_timekeeper() noexcept {
  // relaxed: as above
  timer_.fetch_add(1, std::memory_order_relaxed);
  unpark(&timer_);
}

/// Ends the threads; those in the middle of user code only if `wait`.
void resource_core::stop_threads(bool wait) noexcept {
  std::vector<std::thread> ending;
  {
    const lock guard(mutex_);
    stopping_ = true;
    ending.swap(threads_);
  }
  wake_timekeeper();
  for (std::size_t i = 0; i < ending.size(); ++i) {
    wake_workers();
  }
  const uncancelled guard;  // a join is a point of cancellation
  for (std::thread& thread : ending) {
    if (wait && thread.get_id() != std::this_thread::get_id()) {
      thread.join();
    } else {
      thread.detach();
    }
  }
}

}  // namespace lido::detail
