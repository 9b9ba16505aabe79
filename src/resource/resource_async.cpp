// Callbacks in the queue of a pool.
#include "lido/resource/async_waiter.hpp"

#include <algorithm>

#include "../concurrency/uncancelled.hpp"

namespace lido::detail {

void resource_core::take_async(const acquire_request& request, callback done) {
  const auto alive = shared_from_this();
  const bool stopped = request.stop.stop_requested();
  const resource_grant last = stopped ? resource_grant{} : take_last(request.at);
  const resource_grant idle = stopped || last.slot != nullptr ? last : take_for_callback(request);
  if (idle.slot != nullptr) {
    idle.slot->forget_thread();  // whoever uses it, it need not be this thread
    const uncancelled guard;     // as in finish()
    done(idle, nullptr);
  } else {
    auto waiter = std::make_unique<async_waiter>(alive, request, std::move(done));
    waiter->listen(request.stop);
    begin_async(*waiter.release(), /*again=*/false);
  }
  if (last.slot == nullptr) {
    work_for_callbacks(request);
  }
}

void async_waiter::finish(const resource_grant& grant, std::exception_ptr error) noexcept {
  const std::unique_ptr<async_waiter> self(this);
  on_stop_.reset();
  const uncancelled guard;  // the thread may end, but not in the middle of what is another's
  done_(grant, std::move(error));
}

/// The long way. Where the pool has threads, or ticks, and there is time: what is idle, and need
/// not be asked first.
resource_grant resource_core::take_for_callback(const acquire_request& request) noexcept {
  if (request.until.is_at_once()) {
    return take_now({.until = {}, .stop = {}, .at = request.at});
  }
  if (by_callers_) {
    return take_now(request, validation::by_pool);
  }
  begin_long_way(/*looks_after=*/nullptr);
  return stands_back() ? resource_grant{}
                       : take_idle(request.at, request.until, validation::by_pool, request.stop);
}

void resource_core::begin_async(async_waiter& waiter, bool again) noexcept {
  acquire_failure cause = acquire_failure::cancelled;
  {
    aftermath after(*this);
    const lock guard(mutex_);
    if (!waiter.stopped && !is_refused(again, cause)) {
      waiter.reopen();
      callbacks_.push(waiter);
      enqueue_locked(waiter, again, after);
      after.plans |= waiter.until().nanoseconds() < planned_;
      return;
    }
    count_failure(cause);
  }
  waiter.finish({}, error_pointer(cause));
}

/// By its stop token, at any time in its life.
void resource_core::stop_async(async_waiter& waiter) noexcept {
  aftermath after(*this);
  const lock guard(mutex_);
  waiter.stopped = true;
  bool asleep = false;
  // First the state: one that has ended may be in a list that is not under the mutex.
  if (waiter.cancel(acquire_failure::cancelled, asleep) && waiter_list::contains(waiter)) {
    unlink(waiter);
    after.ended.deliver(waiter);
    serve_next(after);
  }
}

/// Under the mutex, after one has left the queue: what it has left to the pool to ask, the next may
/// be able to take.
void resource_core::serve_next(aftermath& after) noexcept {
  if (answer_wanted_) {
    match(nullptr, after);
  }
}

/// Where there is no memory for the error, std::bad_alloc.
std::exception_ptr resource_core::error_pointer(acquire_failure cause) noexcept {
  try {
    return std::make_exception_ptr(error(cause));
  } catch (...) {
    return std::current_exception();
  }
}

void async_waiter::ended(resource_waiter& waiter) noexcept {
  // NOLINTNEXTLINE(cppcoreguidelines-pro-type-static-cast-downcast): only async waiters have this
  auto& self = static_cast<async_waiter&>(waiter);
  resource_core& core = *self.core_;
  if (!self.given()) {
    const acquire_failure cause = self.cause();
    {
      const resource_core::lock guard(core.mutex_);
      core.count_failure(cause);
    }
    self.finish({}, core.error_pointer(cause));
    return;
  }
  // This may be the thread of whoever has released something, and is not to wait for an answer.
  const resource_grant fit = core.begin_lease(core.received(self, validation::by_pool), self.at_);
  if (fit.slot == nullptr) {
    const auto alive = self.core_;
    core.was_unfit();
    core.begin_async(self, /*again=*/true);
    core.make_for_callbacks();
    return;
  }
  fit.slot->forget_thread();  // whoever uses it now, it is hardly this thread
  self.finish(fit, nullptr);
}

/// Under the mutex: those in the queue whose time is up, which a thread of the pool is about to
/// tell.
std::size_t resource_core::late_callbacks() const noexcept {
  std::size_t late = 0;
  const resource_waiter* const soonest = callbacks_.first();
  if (soonest != nullptr && soonest->until().passed()) {  // or none is
    for (const resource_waiter* waiter = queue_.first(); waiter != nullptr;
         waiter = waiter_list::after(*waiter)) {
      late += waiter->deliver() != nullptr && waiter->until().passed() ? 1 : 0;
    }
  }
  return late;
}

/// Ends the waits of callbacks whose time is up. Returns when that of the next one is.
nanos resource_core::expire_async(aftermath& after) noexcept {
  while (resource_waiter* const waiter = callbacks_.first()) {
    if (!waiter->until().passed()) {
      return waiter->until().nanoseconds();
    }
    turn_away(*waiter, acquire_failure::timed_out, after);  // takes it out
  }
  return never;
}

}  // namespace lido::detail
