// The invariants of the kernel, in a form that tests can ask for.
#include "pool_state.hpp"

namespace lido::detail {

namespace {

struct found_slots {
  std::uint32_t live = 0;
  std::uint32_t creating = 0;
  std::uint32_t closing = 0;
  std::uint32_t checking = 0;
};

}  // namespace

/// I2 of one slot.
bool pool_state::has_right_bit(const pool_slot& slot) noexcept {
  slot_group& group = group_of(slot);
  const bool bit = group.find_maybe_idle(
                       [&](const pool_slot& other) { return &other == &slot; }) != nullptr;
  const slot_word word = slot.word();
  return bit == (word.state() == slot_state::idle ||
                 (word.state() == slot_state::in_use && !word.marked()));
}

const char* pool_state::check(slot_group& group) noexcept {
  found_slots found;
  bool bits = true;
  bool idle_fit = false;
  table.for_each([&](const pool_slot& slot) {
    const slot_state state = slot.state();
    if (slot.record.cache != &group) {
      return;
    }
    ++found.live;
    found.creating += state == slot_state::creating ? 1 : 0;
    found.closing += state == slot_state::closing ? 1 : 0;
    found.checking += state == slot_state::checking ? 1 : 0;
    bits = bits && has_right_bit(slot);
    idle_fit = idle_fit || (state == slot_state::idle && !slot.is_over(now_.age, group.epoch()) &&
                            !needs_validation(group, slot));
  });
  if (found.live != group.live || found.creating != group.creating ||
      found.closing != group.closing ||
      found.checking != group.checks.size() + group.resetting) {
    return "I1: a group counts other slots than it has";
  }
  if (!bits) {
    return "I2: the bit of a slot does not say whether it may be idle";
  }
  const bool serves = !closed_ && !suspended_ && !settings_.is_barging && !is_preempted(group);
  if (serves && idle_fit && !group.queue.empty()) {
    return "I3: a waiter waits beside an idle resource";
  }
  for (acquire_waiter* waiter = group.queue.first(); waiter != nullptr;
       waiter = waiter_list::after(*waiter)) {
    if (!waiter_deadlines::contains(*waiter) || waiter->group != &group) {
      return "I4: a waiter has no deadline";
    }
  }
  return nullptr;
}

const char* pool_state::check() noexcept {
  std::uint32_t live = 0;
  const char* wrong = nullptr;
  for_each_group([&](slot_group& group) {
    live += group.live;
    const char* const of_group = check(group);
    wrong = wrong != nullptr ? wrong : of_group;
  });
  if (wrong == nullptr && live != room_.live()) {
    wrong = "I1: the total is not the sum of its groups";
  }
  return wrong;
}

}  // namespace lido::detail
