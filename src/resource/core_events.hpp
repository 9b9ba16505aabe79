/// @file
/// Internal. How a core passes events to its kernel, which is the one way.
#pragma once

#include <algorithm>

#include "effects.hpp"
#include "lido/resource/options.hpp"
#include "lido/resource/pool_core.hpp"
#include "pool_kernel.hpp"
#include "task_runner.hpp"

namespace lido::inline v0::detail {

/// Nothing in a process made by fork: the parent's resources are not this process's to end.
/// `first` is called under the mutex before the kernel begins. If it throws, nothing has happened.
template <class First, class Event>
void pool_core::tell_kernel(const First& first, const Event& event, effects& out) {
  if (is_foreign()) {
    return;
  }
  moment now = read_clocks();
  const nanos next = locked([&] {
    first();
    now.age = (std::max)(now.age, kernel_->gate.now());
    kernel_->begin(now, out);
    event(*kernel_);
    kernel_->finish();
    return kernel_->next_look();
  });
  runner_->plan(next);
}

template <class Event>
void pool_core::tell_kernel(const Event& event, effects& out) {
  tell_kernel([] {}, event, out);
}

template <class Event>
void pool_core::apply(const Event& event) {
  effects out;
  tell_kernel(event, out);
  run(out, /*by_pool=*/false);
}

/// The same for the group that `find` returns under the mutex. Returns false if that is null.
template <class Find, class Event>
bool pool_core::apply_to(const Find& find, const Event& event) {
  effects out;
  slot_group* group = nullptr;
  const auto event_of_group = [&](pool_kernel& kernel) {
    if (group != nullptr) {
      event(kernel, *group);
    }
  };
  tell_kernel([&] { group = find(); }, event_of_group, out);
  run(out, /*by_pool=*/false);
  return group != nullptr;
}

/// Callbacks that the thread has yet to call; null: it is not in one.
// NOLINTNEXTLINE(cppcoreguidelines-avoid-non-const-global-variables): the state of this thread
extern constinit thread_local wait_queue* calling;

/// Calls those that wait for the callback that this thread is in. For a thread that is about to
/// sleep: it might sleep for what they have been given.
void call_before_sleep() noexcept;

}  // namespace lido::inline v0::detail
