// Controls the resources of a pool: limits, suspend, flush, kill, close.
#include "pool_control.hpp"

#include <utility>

namespace lido::inline v0::detail {

void pool_control::on_limits(slot_group& group, const group_limits& limits,
                             std::uint32_t total) noexcept {
  group.limits = limits;
  quota_.set_max_total(total);
  // The flags must be set before idle resources are read: see slow_path_flags.hpp (2).
  waiters_.set_flags(group);
  slots_.close_surplus(group);
  waiters_.end_deadlock(group);
  context_.match_later(group);
}

void pool_control::on_suspended(bool suspended) noexcept {
  context_.is_suspended = suspended;
  set_gate();
  groups_.for_each([this](slot_group& group) { context_.match_later(group); });
}

void pool_control::on_flush(slot_group& group, ongoing_uses uses) noexcept {
  group.cache.set_epoch(++context_.epochs);
  group.retry.reset();
  group.factory.is_asked = !context_.has_groups || !group.queue.empty();
  table_.for_each([&](pool_slot& slot) {
    if (slot.record.cache != &group.cache) {
      return;
    }
    slots_.outdate_task(slot);
    if (uses == ongoing_uses::interrupt) {
      end_use(slot, destroy_reason::flushed, uses);
    } else {
      slots_.close_if_idle(slot, destroy_reason::flushed);
    }
  });
  context_.match_later(group);
}

bool pool_control::on_flush_of(slot_group& group, std::uint32_t generation) noexcept {
  const bool is_present = group.cache.epoch() == generation;
  if (is_present) {
    on_flush(group);
  }
  return is_present;
}

void pool_control::on_retry_now(slot_group& group) noexcept {
  group.retry.try_now();
  context_.match_later(group);
}

void pool_control::on_kill(pool_slot& slot, std::uint64_t birth, ongoing_uses uses,
                           bool& found) noexcept {
  const slot_word seen = slot.word();
  found = seen.birth() == birth && seen.state() != resource_state::empty &&
          seen.state() != resource_state::creating && seen.state() != resource_state::closing;
  if (!found) {
    return;
  }
  context_.match_later(slot);
  slot.record.is_killed = true;
  end_use(slot, destroy_reason::killed, uses);  // the end of a task checks `is_killed`
}

/// Closes a resource if it is idle. If it is in use, marks it and, depending on `uses`, interrupts
/// the use. Until the resource is closed or marked, a thread may acquire or release it at any time.
void pool_control::end_use(pool_slot& slot, destroy_reason why, ongoing_uses uses) noexcept {
  for (resource_state now = slot.state();
       now == resource_state::idle || now == resource_state::in_use; now = slot.state()) {
    const bool is_marked = slots_.mark(slot);
    if (is_marked && uses == ongoing_uses::interrupt) {
      slots_.interrupt(slot);
    }
    if (is_marked || slots_.close_if_idle(slot, why)) {
      return;
    }
  }
}

bool pool_control::begin_detach(pool_slot& slot) noexcept {
  const bool begins = slot.record.pin == slot_pin::none;
  if (begins) {
    slot.record.pin = slot_pin::detach;
  }
  return begins;
}

pool_slot* pool_control::on_adopt(slot_group& group) noexcept {
  const bool has_room = group.counts.live() < group.limits.max_size && !quota_.is_full();
  return context_.is_closed || !has_room ? nullptr : slots_.claim_empty(group);
}

void pool_control::on_close() noexcept {
  context_.is_closed = true;
  set_gate();
  groups_.for_each([this](slot_group& group) {
    slots_.close_surplus(group);
    context_.match_later(group);
  });
}

bool pool_control::has_just_drained() noexcept {
  return is_drained() && !std::exchange(has_reported_drain_, true);
}

std::size_t pool_control::count_unsettled() const noexcept {
  std::size_t found = 0;
  table_.for_each([&found](const pool_slot& slot) {
    const resource_state now = slot.state();
    found += now == resource_state::empty || now == resource_state::in_use ? 0 : 1;
  });
  return found;
}

void pool_control::set_gate() noexcept {
  const bool holds = context_.is_closed || context_.is_suspended;
  gate_.flags.set((holds ? slow_path_flags::keep_off : 0U) |
                  (context_.is_closed ? slow_path_flags::ask_kernel : 0U));
}

}  // namespace lido::inline v0::detail
