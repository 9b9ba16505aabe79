// Hold-and-wait: whether those who hold all resources are those who wait for one.
#include <cstdint>
#include <limits>

#include "lido/resource/resource_core.hpp"

namespace lido::detail {

bool resource_core::holds_any(std::uint32_t thread) const noexcept {
  return find_slot([&](const resource_slot& slot) {
           return slot.thread() == thread && slot.state() == life_state::in_use;
         }) != nullptr;
}

/// Whether all resources are held by threads that wait, or by `thread`. Only the last one to
/// join such a ring can close it, and it holds something: nobody else pays for a walk of the queue.
bool resource_core::is_deadlock(std::uint32_t thread) const noexcept {
  if (live_ < max_size_) {
    return false;
  }
  const resource_slot* const hope = find_slot([&](const resource_slot& slot) {
    const life_state state = slot.state();
    const std::uint32_t holder = slot.thread();
    return state == life_state::in_use ? holder != thread && !is_waiting(holder)
                                       : state != life_state::empty;
  });
  return hope == nullptr;
}

bool resource_core::is_waiting(std::uint32_t thread) const noexcept {
  const resource_waiter* waiter = thread == 0 ? nullptr : queue_.first();
  // Who gives up is about to leave, and to release what it holds.
  while (waiter != nullptr &&
         (waiter->thread() != thread || !waiter->open() || waiter->until().passed())) {
    waiter = waiter_list::after(*waiter);
  }
  return waiter != nullptr;
}

/// Under the mutex, when the limit has changed or one less is there, and before others are made. A
/// pool that becomes smaller may close a ring that nobody joins any more: who came last is told.
void resource_core::end_deadlock(aftermath& after) noexcept {
  constexpr std::uint32_t nobody = std::numeric_limits<std::uint32_t>::max();
  if (!settings_.detect_hold_and_wait || queue_.empty() || !is_deadlock(nobody)) {
    return;
  }
  resource_waiter* last = nullptr;
  for (resource_waiter* waiter = queue_.first(); waiter != nullptr;
       waiter = waiter_list::after(*waiter)) {
    const bool waits = waiter->open() && !waiter->until().passed();
    last = waits && waiter->thread() != 0 && holds_any(waiter->thread()) ? waiter : last;
  }
  if (last != nullptr) {
    turn_away(*last, acquire_failure::self_deadlock, after);
  }
}

}  // namespace lido::detail
