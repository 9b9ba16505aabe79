// Creates, validates, resets and destroys resources.
#include "factory_calls.hpp"

#include <chrono>
#include <string>
#include <string_view>

#include "../concurrency/event_sink.hpp"
#include "../concurrency/pool_scope.hpp"
#include "../platform/platform.hpp"
#include "create_outcome.hpp"
#include "kernel_shell.hpp"
#include "lido/base/fail.hpp"

namespace lido::inline v0::detail {

namespace {

/// Returns `until`, or the deadline after `time` if that is earlier.
deadline within(std::chrono::nanoseconds time, const deadline& until) noexcept {
  return sooner(deadline::after(time), until);
}

}  // namespace

/// Calls `f` with a stop token. A close, a flush and `stop` each request a stop on this token. If a
/// flush came first, returns false without calling `f`.
template <class F>
bool factory_calls::call_stoppable(const pool_slot& slot, const std::stop_token& stop,
                                   const F& f) noexcept {
  const slot_group& group = group_of(slot);
  bool is_current = false;
  const std::stop_token closed = shell_.locked([&] {
    is_current = slot.epoch.get() == group.cache.epoch();
    return group.factory.stop.get_token();
  });
  if (!is_current || !stop.stop_possible()) {
    return is_current && (f(closed), true);
  }
  std::stop_source both(std::nostopstate);
  attempt([&] { both = std::stop_source(); }, [] {});  // without memory, `stop` has no effect
  const auto end = [&both]() noexcept { (void)both.request_stop(); };
  const std::stop_callback on_close(closed, end);
  const std::stop_callback on_stop(stop, end);
  f(both.stop_possible() ? both.get_token() : closed);
  return true;
}

slot_grant factory_calls::create(pool_slot& slot, const deadline& until,
                                 const std::stop_token& stop) noexcept {
  const pool_scope inside(&shell_.core());
  // The code below does not use the group once the kernel is notified, since the group may be
  // removed then.
  const slot_group& group = group_of(slot);
  const nanos begin = steady_now();
  create_outcome outcome;
  const bool is_current = call_stoppable(slot, stop, [&](const std::stop_token& token) {
    platform::tell_acquire(&slot);
    outcome = slot.maker->create(slot, {within(settings_.create_timeout, until).moment(), token});
    platform::tell_release(&slot);
  });
  outcome.permanent |= settings_.on_create_error == create_errors::fail_fast;
  const auto why = outcome.error;
  const auto name = group.name.pool;
  const bool made = outcome.made;
  slot_grant kept;
  tell_event(traced_act::create, settings_.pool_name, begin, made ? 1 : 0);
  shell_.apply([&](pool_kernel& kernel) { kernel.on_created(slot, outcome, begin, kept); });
  if (!made && is_current) {
    settings_.report({.what = pool_event::kind::create_failed,
                      .error = why != nullptr ? why->error : nullptr,
                      .text = why != nullptr ? std::string_view(why->text) : std::string_view()},
                     name);
  }
  return kept;
}

bool factory_calls::validate(pool_slot& slot, const deadline& until,
                             const std::stop_token& stop) noexcept {
  bool passed = true;
  (void)call_stoppable(slot, stop, [&](const std::stop_token& token) {
    const create_context context{within(settings_.validate_timeout, until).moment(), token};
    passed = check(slot, &context);
  });
  return passed;
}

/// Validates a resource, or resets it if `context` is null.
bool factory_calls::check(pool_slot& slot, const create_context* context) noexcept {
  const pool_scope inside(&shell_.core());
  std::string text;
  platform::tell_acquire(&slot);
  const bool passed = slot.maker->check(slot, context, text);
  platform::tell_release(&slot);
  if (!text.empty()) {
    settings_.report({.what = context != nullptr ? pool_event::kind::validate_failed
                                                 : pool_event::kind::reset_failed,
                      .text = text},
                     group_of(slot).name.pool);
  }
  return passed;
}

void factory_calls::destroy(pool_slot& slot) noexcept {
  platform::tell_acquire(&slot);
  slot.maker->destroy(slot, slot.record.reason);
  platform::tell_release(&slot);
}

void factory_calls::run_task(pool_slot& slot) noexcept {
  const pool_scope inside(&shell_.core());
  if (slot.record.task == slot_task::create) {
    (void)create(slot, {}, {});
    return;
  }
  effects out;
  if (slot.record.task == slot_task::none) {  // the slot is closing
    destroy(slot);
    shell_.tell_kernel([&](pool_kernel& kernel) { kernel.on_destroyed(slot); }, out);
  } else {
    const bool passed = slot.record.task == slot_task::reset ? reset(slot) : validate(slot, {}, {});
    shell_.tell_kernel([&](pool_kernel& kernel) { kernel.on_checked(slot, passed); }, out);
  }
  shell_.run(out, /*by_pool=*/false);
}

}  // namespace lido::inline v0::detail
