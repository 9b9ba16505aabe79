// The threads of a pool: one that keeps time, and helpers that make and look after resources.
#include <algorithm>
#include <exception>
#include <system_error>

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
    (void)read_clock();
    if (!plan(until)) {
      return;
    }
    if (timing_) {  // only this thread writes it
      report_leases();
    }
    end_timing();
    (void)park(timer_, seen, until);
  }
}

/// Asked before the clock is: once the pool has ended, that may be gone.
bool resource_core::stopping() noexcept {
  const lock guard(mutex_);
  return stopping_;
}

/// What is due is begun; `until` is when to look again. False: the pool has ended.
bool resource_core::plan(deadline& until) noexcept {
  aftermath after(*this);
  const lock guard(mutex_);
  if (stopping_) {
    return false;
  }
  // What else it does calls nobody.
  timing_ = callbacks_.first() != nullptr || (reports_leases() && count(life_state::in_use) != 0);
  const nanos moment = now();
  planned_ = 0;
  const nanos next_callback = expire_async(after);
  serve_next(after);
  refill(after);
  // relaxed: under the mutex
  if (moment >= next_upkeep_.load(std::memory_order_relaxed)) {
    // relaxed: as above
    next_upkeep_.store(later(moment, settings_.period), std::memory_order_relaxed);
    sweep_due_ = true;
    after.work = true;
  }
  nanos wait = settings_.period;
  if (retry_at_ > moment) {
    wait = std::min(wait, retry_at_ - moment);
  }
  if (live_ < max_size_ && hopeful() != 0) {
    wait = std::min(wait, tuning::nanoseconds_for_answer);
  }
  until = deadline::after(std::chrono::nanoseconds(wait));
  if (next_callback < until.nanoseconds()) {
    until = deadline::at(
        std::chrono::steady_clock::time_point(std::chrono::nanoseconds(next_callback)));
  }
  planned_ = until.nanoseconds();
  return true;
}

/// The callbacks and events of this round have returned.
void resource_core::end_timing() noexcept {
  aftermath after(*this);
  const lock guard(mutex_);
  timing_ = false;
  if (attention_.is(attention::closed)) {
    after_change(after);
  }
}

void resource_core::work() noexcept {
  for (errand next = next_errand(); !next.end; next = next_errand()) {
    if (next.found) {
      run_errand(next);
      continue;
    }
    (void)park(work_, next.seen, {});
    const lock guard(mutex_);
    --idle_helpers_;
  }
}

resource_core::errand resource_core::next_errand() noexcept {
  errand next;
  const lock guard(mutex_);
  // relaxed: changes after the mutex was given back
  next.seen = work_.load(std::memory_order_relaxed);
  next.found = next_job(next.todo, /*is_brief=*/false);
  next.end = !next.found && stopping_;
  next.wake = next.found && has_jobs() && idle_helpers_ != 0;
  next.help = next.found && needs_helper();
  helpers_ += next.help ? 1 : 0;
  idle_helpers_ += next.found || next.end ? 0 : 1;
  return next;
}

/// Under the mutex: whether there is something to do, and nobody but those who may take long over
/// something else. There are as many as there may be creates and questions, and one that sweeps.
bool resource_core::needs_helper() const noexcept {
  return has_jobs() && idle_helpers_ == 0 && !stopping_ && !threads_.empty() &&
         helpers_ < 2 * settings_.creating_limit(max_size_) + 1;
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
    --helpers_;
    return;
  }
  try {
    threads_.emplace_back([alive = shared_from_this()] { alive->work(); });
  } catch (const std::system_error&) {
    --helpers_;  // then those that there are do it all
  } catch (const std::bad_alloc&) {
    --helpers_;
  }
}

/// There is work, and those who could do it may all be busy.
void resource_core::call_workers() noexcept {
  if (settings_.upkeep != maintenance::background) {
    return;
  }
  bool help = false;
  {
    const lock guard(mutex_);
    help = needs_helper();
    helpers_ += help ? 1 : 0;
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
  for (std::thread& thread : ending) {
    if (wait && thread.get_id() != std::this_thread::get_id()) {
      thread.join();
    } else {
      thread.detach();
    }
  }
}

}  // namespace lido::detail
