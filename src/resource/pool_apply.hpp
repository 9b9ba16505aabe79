/// @file
/// Internal. The one way in which a core talks to its kernel.
#pragma once

#include <algorithm>
#include <mutex>

#include "lido/resource/pool_core.hpp"
#include "pool_state.hpp"
#include "task_runner.hpp"

namespace lido::detail {

[[nodiscard]] inline slot_group& group_in(idle_cache& cache) noexcept {
  // NOLINTNEXTLINE(cppcoreguidelines-pro-type-static-cast-downcast): all caches are groups
  return static_cast<slot_group&>(cache);
}

template <class Event>
effects pool_core::tell_kernel(const Event& event) {
  if (is_foreign()) {
    return {};  // the parent's resources are not this process's to end
  }
  moment now = read_clocks();
  effects out;
  nanos next = never;
  {
    const std::lock_guard<counted_mutex> guard(mutex_);
    now.age = std::max(now.age, state_->gate.now());
    state_->begin(now);
    event(*state_);
    out = state_->finish();
    next = state_->next_look();
  }
  runner_->plan(next);
  return out;
}

template <class Event>
void pool_core::apply(const Event& event) {
  effects out = tell_kernel(event);
  run(out, /*by_pool=*/false);
}

}  // namespace lido::detail
