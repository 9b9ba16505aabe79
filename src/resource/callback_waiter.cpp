// Serves a callback at once or lets it wait, stops its wait, and calls it.
#include "callback_waiter.hpp"

#include <exception>
#include <utility>

#include "../concurrency/pool_scope.hpp"
#include "../platform/platform.hpp"
#include "kernel_shell.hpp"

namespace lido::inline v0::detail {

namespace {

/// Records that a callback uses the resource. Names no thread as the holder, since any thread may
/// use the resource later. The pool's threads will reset the resource.
void note_callback(pool_slot& slot, nanos now, code_address at) noexcept {
  slot.note_holder(now, 0, std::uncaught_exceptions(), at);
  slot.lease.resets_by_pool.set(slot.resets.get() == reset_way::with_time);
  platform::tell_acquire(&slot);
}

/// Begins the use of an idle resource in a pool without keys. Prefers the resource that this thread
/// used last.
slot_grant begin_use_of_idle(pool_core& core, const acquire_call& call) noexcept {
  if (core.groups().has_keys() || call.stop.stop_requested()) {
    return {};
  }
  slot_grant idle = core.try_acquire_last(call.at);  // also begins the use
  if (idle.slot == nullptr) {
    idle = core.groups().main().take_lowest();
    if (idle.slot != nullptr) {
      core.gate().begin_use(*idle.slot);
    }
  }
  return idle;
}

}  // namespace

void callback_waiter::begin(const std::shared_ptr<pool_core>& core, const acquire_call& request,
                            acquire_completion done) {
  const slot_grant idle = begin_use_of_idle(*core, request);
  if (idle.slot != nullptr) {
    note_callback(*idle.slot, core->gate().now(), request.at);
    const pool_scope inside(core.get());
    done({.grant = idle, .why = nullptr});
    return;
  }
  std::unique_ptr<callback_waiter> waiter(new callback_waiter(core, request, std::move(done)));
  waiter->on_stop_.emplace(request.stop, stopper{waiter.get()});
  const auto begin_wait = [&](pool_kernel& kernel, slot_group& group) {
    callback_waiter& node = *waiter.release();
    node.group = &group;
    node.is_stopped_ ? kernel.on_refused(node, acquire_failure::cancelled)
                     : kernel.on_acquire(node);
  };
  (void)core->groups().prepare_new(request.key);
  while (!core->shell().apply_to([&] { return core->groups().find_or_add(request.key); },
                                 begin_wait)) {
    request.key->prepare();
  }
}

void callback_waiter::stop() noexcept {
  core_->shell().apply([this](pool_kernel& kernel) {
    is_stopped_ = true;
    // If the waiter is in no queue, the callback is about to be called already.
    if (word.open() && acquire_queue::contains(*this)) {
      kernel.on_refused(*this, acquire_failure::cancelled);
    }
  });
}

void callback_waiter::deliver_one(callback_wait& wait) noexcept {
  // NOLINTNEXTLINE(cppcoreguidelines-pro-type-static-cast-downcast): always a callback_waiter
  const std::unique_ptr<callback_waiter> self(static_cast<callback_waiter*>(&wait));
  self->on_stop_.reset();
  const pool_scope inside(self->core_.get());
  self->done_(self->outcome());
}

acquire_outcome callback_waiter::outcome() noexcept {
  if (!word.given()) {
    return core_->failed(cause(), why);
  }
  pool_gate& gate = core_->gate();
  gate.begin_use(*grant.slot, /*queued=*/true);
  note_callback(*grant.slot, gate.now(), at_);
  return {.grant = grant, .why = nullptr};
}

}  // namespace lido::inline v0::detail
