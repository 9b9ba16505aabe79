// Acquires a resource for a thread, which may have to wait.
#include "thread_acquire.hpp"

#include <algorithm>
#include <chrono>
#include <exception>

#include "../concurrency/event_sink.hpp"
#include "../concurrency/pool_scope.hpp"
#include "../concurrency/wait_tuning.hpp"
#include "../platform/platform.hpp"
#include "kernel_shell.hpp"
#include "lido/concurrency/backoff.hpp"
#include "lido/concurrency/thread_number.hpp"
#include "lido/platform/compiler.hpp"
#include "resource_tuning.hpp"

namespace lido::inline v0::detail {

thread_acquire::thread_acquire(pool_core& core, const acquire_call& call) noexcept
    : core_(core),
      shell_(core.shell()),
      settings_(core.settings()),
      call_(call),
      waiter_(call.until, this_thread_id()) {
  waiter_.came.is_urgent = call.is_urgent;
  waiter_.may_look = pool_scope::calling() == nullptr;
}

acquire_outcome thread_acquire::run() {
  const bool looks = !core_.groups().prepare_new(call_.key) && !call_.stop.stop_requested();
  slot_grant got = looks ? core_.groups().take_lowest(call_.key) : slot_grant{};
  bool queued = false;
  while (got.slot == nullptr) {
    if (shell_.is_foreign()) {  // a create or a validation in this thread has forked the process
      return core_.failed(acquire_failure::other_process, {});
    }
    enqueue();
    wait();
    if (!waiter_.word.given()) {
      return core_.failed(waiter_.cause(), waiter_.why);
    }
    got = make_fit();
    queued = got.slot == waiter_.grant.slot;
  }
  pool_gate& gate = core_.gate();
  got.slot->note_holder(gate.now(), waiter_.thread, std::uncaught_exceptions(), call_.at);
  gate.begin_use(*got.slot, queued);
  platform::tell_acquire(got.slot);
  return {.grant = got, .why = nullptr};
}

/// Puts the waiter into the queue of its group. If the pool does not know the key, or has forgotten
/// the key since the last call, prepares the key first.
void thread_acquire::enqueue() {
  waiter_.word.reopen();
  const auto begin = [&](pool_kernel& kernel, slot_group& group) {
    waiter_.group = &group;
    // A new waiter may still get an idle resource, even if it is late.
    const bool is_late = waiter_.comes_back() && !call_.until.is_at_once() && call_.until.passed();
    if (call_.stop.stop_requested()) {
      kernel.on_refused(waiter_, acquire_failure::cancelled);
    } else if (is_late) {
      kernel.on_refused(waiter_, acquire_failure::timed_out);
    } else {
      kernel.on_acquire(waiter_);
    }
  };
  while (!shell_.apply_to([&] { return core_.groups().find_or_add(call_.key); }, begin)) {
    call_.key->prepare();
  }
}

/// Blocks the thread until the wait has ended. If the thread ends its own wait, notifies the
/// kernel.
void thread_acquire::wait() noexcept {
  if (!waiter_.word.open()) {
    return;
  }
  if (settings_.detect_hold_and_wait && holds_any()) {
    shell_.apply([&](pool_kernel& kernel) { kernel.on_hold_and_wait(waiter_); });
  }
  const std::int64_t begin = begin_event();
  bool left = false;
  const auto cancel = [&word = waiter_.word]() noexcept {
    const auto* const address = word.address();
    const auto cause = static_cast<std::uint32_t>(acquire_failure::cancelled);
    if (word.cancel(cause) == wait_word::ending::asleep) {
      unpark(address);
    }
  };
  {
    const std::stop_callback on_stop(call_.stop, cancel);
    const int most_spins = several_processors() ? wait_tuning::spins_before_sleep : 0;
    for (int spin = 0; spin < most_spins && waiter_.word.open(); ++spin) {
      cpu_pause();
    }
    while (!left && waiter_.word.open()) {
      left = sleep_or_give_up();
    }
  }
  platform::tell_acquire(waiter_.word.address());
  tell_event(traced_act::wait, settings_.pool_name, begin, waiter_.word.given() ? 1 : 0);
  // The kernel knows only of waits that it has ended itself. It is notified here if this thread or
  // a stop request has ended the wait.
  if (left || (!waiter_.word.given() && waiter_.cause() == acquire_failure::cancelled)) {
    shell_.apply([&](pool_kernel& kernel) { kernel.on_left(waiter_); });
  }
}

/// Sleeps until the wait ends or the waiter has to look for a resource. Returns true if the thread
/// has ended its own wait because its time was up. In a pool without threads, the waiter also looks
/// when something is due.
bool thread_acquire::sleep_or_give_up() noexcept {
  const bool is_manual = !settings_.has_threads();
  call_before_sleep();
  shell_.apply([&](pool_kernel& kernel) { kernel.on_look(waiter_); });
  deadline alarm = waiter_.until;
  if (is_manual && waiter_.wakes_at != never) {
    const nanos left = std::max<nanos>(waiter_.wakes_at - steady_now(), 1);
    alarm = sooner(deadline::after(std::chrono::nanoseconds(left)), alarm);
  }
  if (!waiter_.word.open() || waiter_.word.sleep(alarm) || !waiter_.until.passed()) {
    return false;
  }
  return waiter_.word.cancel(static_cast<std::uint32_t>(acquire_failure::timed_out)) !=
         wait_word::ending::too_late;
}

/// Creates or validates the resource that the waiter was given, if necessary, and returns the
/// resource. Returns an empty grant if the resource is unusable. Throws whatever the functions of
/// the sought_key throw. If it throws, the thread holds no resource.
slot_grant thread_acquire::make_fit() {
  pool_slot& slot = *waiter_.grant.slot;
  if (waiter_.kind == grant_kind::resource) {
    return waiter_.grant;
  }
  if (waiter_.kind == grant_kind::create) {
    const bool is_try = call_.until.is_at_once();
    const deadline until = is_try ? deadline() : call_.until;
    const slot_grant made = shell_.calls().create(slot, until, call_.stop);
    return made.slot != nullptr || !is_try ? made : core_.groups().take_lowest(call_.key);
  }
  if (call_.until.is_at_once()) {
    // Limits all validations of this acquire.
    call_.until = deadline::after(settings_.validate_timeout);
  }
  const nanos begin = steady_now();
  const bool valid = shell_.calls().validate(slot, call_.until, call_.stop);
  const bool was_silent = steady_now() - begin >= 5 * resource_tuning::nanoseconds_for_answer;
  waiter_.silence.in_validation |= !valid && was_silent;
  if (valid && slot.epoch.get() == slot.record.cache->epoch()) {
    slot.validated(core_.gate().now(), settings_.life);
    return waiter_.grant;
  }
  core_.discard_as(slot, valid ? destroy_reason::flushed : destroy_reason::invalid);
  return {};
}

bool thread_acquire::holds_any() const noexcept {
  return shell_.kernel().table.find([this](const pool_slot& slot) {
    return slot.lease.thread.get() == waiter_.thread && slot.state() == resource_state::in_use;
  }) != nullptr;
}

}  // namespace lido::inline v0::detail
