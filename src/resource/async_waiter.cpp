// Callbacks that wait for a resource, and how callbacks are called.
#include "async_waiter.hpp"

#include <utility>

#include "../concurrency/uncancelled.hpp"
#include "pool_apply.hpp"

namespace lido::detail {

bool pool_core::acquire_async(const acquire_call& request,
                              std::unique_ptr<acquire_completion>& done) {
  const auto alive = shared_from_this();
  // relaxed: see on_fork
  if (foreign_.load(std::memory_order_relaxed)) {
    done->complete(failed(acquire_failure::other_process, {}));
    return true;
  }
  if (main_ != nullptr && !request.stop.stop_requested()) {
    slot_grant idle = main_->try_acquire_last(request.at);
    idle = idle.slot != nullptr ? idle : main_->take_lowest();
    if (idle.slot != nullptr) {
      // It may be used by any thread.
      idle.slot->note_holder(gate_->now(), 0, std::uncaught_exceptions(), request.at);
      idle.slot->resets_by_pool.set(true);
      const uncancelled guard;
      done->complete({.grant = idle, .why = nullptr});
      return true;
    }
  }
  auto waiter = std::make_unique<callback_waiter>(alive, request, std::move(done));
  waiter->listen(request.stop);
  apply([&](pool_state& state) {
    waiter->group = group_of(request.group);
    if (waiter->group == nullptr) {
      return;
    }
    callback_waiter& node = *waiter.release();
    node.is_stopped ? state.on_refused(node, acquire_failure::cancelled)
                    : state.on_acquire(node, /*again=*/false);
  });
  if (waiter != nullptr) {
    done = std::move(waiter->done);
  }
  return waiter == nullptr;
}

void callback_waiter::stopper::operator()() const noexcept {
  waiter->core->apply([this](pool_state& state) {
    waiter->is_stopped = true;
    if (wait_queue::contains(*waiter)) {
      state.on_refused(*waiter, acquire_failure::cancelled);
    }
  });
}

void callback_waiter::ended(acquire_waiter& waiter) noexcept {
  // NOLINTNEXTLINE(cppcoreguidelines-pro-type-static-cast-downcast): only these have this function
  const std::unique_ptr<callback_waiter> self(static_cast<callback_waiter*>(&waiter));
  self->on_stop_.reset();
  pool_core& core = *self->core;
  acquire_outcome outcome;
  if (self->word.given()) {
    outcome.grant = self->grant;
    self->grant.slot->note_holder(core.state_->gate.now(), 0, std::uncaught_exceptions(), self->at);
    self->grant.slot->resets_by_pool.set(true);
  } else {
    outcome = core.failed(self->cause(), self->why);
  }
  const uncancelled guard;  // the thread may end, but not in the middle of a user's callback
  self->done->complete(std::move(outcome));
}

// NOLINTNEXTLINE(cppcoreguidelines-avoid-non-const-global-variables): the state of this thread
constinit thread_local wait_queue* calling = nullptr;

void call_all(wait_queue& ended) noexcept {
  if (ended.empty()) {
    return;
  }
  wait_queue* const outer = calling;
  if (outer != nullptr) {
    while (acquire_waiter* const waiter = ended.pop_front()) {
      outer->push_back(*waiter);
    }
    return;
  }
  calling = &ended;
  while (acquire_waiter* const waiter = ended.pop_front()) {
    waiter->deliver(*waiter);
  }
  calling = nullptr;
}

void call_before_sleep() noexcept {
  while (acquire_waiter* const waiter = calling != nullptr ? calling->pop_front() : nullptr) {
    waiter->deliver(*waiter);
  }
}

}  // namespace lido::detail
