/// @file
/// Internal. How many slots are in each state.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>

#include "lido/base/assert.hpp"
#include "lido/resource/slot.hpp"

namespace lido::inline v0::detail {

/// Counts the slots of one group, or of all groups, by state and by what the kernel records about
/// them. Only `resource_slots` changes the counts, in `change` and `take_idle`, so they always
/// agree with the slots.
///
/// Idle slots and slots in use share one count, since threads move slots between these two states
/// without the mutex. Guarded by the pool's mutex.
class slot_counts {
 public:
  /// Slots that are not empty.
  [[nodiscard]] std::uint32_t live() const noexcept {
    return taken() + creating() + checking() + closing();
  }
  /// Resources in use, and idle resources.
  [[nodiscard]] std::uint32_t taken() const noexcept { return in(resource_state::in_use); }
  [[nodiscard]] std::uint32_t creating() const noexcept { return in(resource_state::creating); }
  /// Slots that are being validated or reset.
  [[nodiscard]] std::uint32_t checking() const noexcept { return in(resource_state::checking); }
  [[nodiscard]] std::uint32_t closing() const noexcept { return in(resource_state::closing); }

  /// Creates that were begun before the last flush.
  [[nodiscard]] std::uint32_t outdated() const noexcept { return outdated_; }
  /// Creates whose creators will use the resources themselves. Outdated creates are not counted.
  [[nodiscard]] std::uint32_t kept() const noexcept { return kept_; }
  /// Creates that pool threads run for waiters.
  [[nodiscard]] std::uint32_t shared_creates() const noexcept {
    return creating() - outdated_ - kept_;
  }
  /// Creates of groups without a working resource.
  [[nodiscard]] std::uint32_t unproven() const noexcept { return unproven_; }
  [[nodiscard]] std::uint32_t validations() const noexcept { return validations_; }
  /// Validations for `keepalive`.
  [[nodiscard]] std::uint32_t keepalives() const noexcept { return keepalives_; }
  /// Validations for `keepalive` whose answers are overdue.
  [[nodiscard]] std::uint32_t silent_keepalives() const noexcept { return silent_keepalives_; }
  /// Validations for waiters that were begun since the last flush.
  [[nodiscard]] std::uint32_t validating() const noexcept { return validating_; }
  /// Validations for waiters, begun since the last flush, whose answers are overdue.
  [[nodiscard]] std::uint32_t silent() const noexcept { return silent_; }
  /// Slots that are being checked and whose answers are not overdue yet.
  [[nodiscard]] std::uint32_t awaited() const noexcept { return awaited_; }
  /// Closing slots whose resources were evicted for another group.
  [[nodiscard]] std::uint32_t evicted() const noexcept { return evicted_; }

  /// Adds a slot to the count of `state` if `by` is 1, or removes it from that count if `by` is -1.
  void count(const pool_slot& slot, resource_state state, std::uint32_t by) noexcept {
    LIDO_ASSERT(by == 1 || in(state) != 0, "a slot leaves a state in which none is counted");
    by_state_[index_of(state)] += by;
    if (state == resource_state::creating) {
      count_create(slot.record, by);
    } else if (state == resource_state::checking) {
      count_check(slot.record, by);
    } else if (state == resource_state::closing && slot.record.is_evicted) {
      evicted_ += by;
    }
    LIDO_ASSERT(outdated_ + kept_ <= creating() && unproven_ <= creating() &&
                    validations_ <= checking() && awaited_ <= checking() &&
                    keepalives_ <= checking() && validating_ <= validations_ &&
                    silent_ <= validating_ && evicted_ <= closing(),
                "more slots are noted than are in their state");
  }

  friend bool operator==(const slot_counts&, const slot_counts&) noexcept = default;

 private:
  [[nodiscard]] static constexpr std::size_t index_of(resource_state state) noexcept {
    return static_cast<std::size_t>(state == resource_state::idle ? resource_state::in_use : state);
  }
  [[nodiscard]] std::uint32_t in(resource_state state) const noexcept {
    return by_state_[index_of(state)];
  }
  void count_create(const pool_slot_record& record, std::uint32_t by) noexcept {
    outdated_ += record.is_outdated ? by : 0;
    kept_ += record.is_kept && !record.is_outdated ? by : 0;
    unproven_ += record.is_unproven ? by : 0;
  }
  void count_check(const pool_slot_record& record, std::uint32_t by) noexcept {
    const bool is_validation = record.task == slot_task::validate;
    awaited_ += record.check.is_awaited ? by : 0;
    validations_ += is_validation ? by : 0;
    keepalives_ += record.check.is_keepalive ? by : 0;
    silent_keepalives_ += record.check.is_keepalive && !record.check.is_awaited ? by : 0;
    const bool is_for_waiter = is_validation && !record.check.is_keepalive && !record.is_outdated;
    validating_ += is_for_waiter ? by : 0;
    silent_ += is_for_waiter && !record.check.is_awaited ? by : 0;
  }

  std::array<std::uint32_t, 6> by_state_{};
  std::uint32_t outdated_ = 0;
  std::uint32_t kept_ = 0;
  std::uint32_t unproven_ = 0;
  std::uint32_t validations_ = 0;
  std::uint32_t keepalives_ = 0;
  std::uint32_t silent_keepalives_ = 0;
  std::uint32_t validating_ = 0;
  std::uint32_t silent_ = 0;
  std::uint32_t awaited_ = 0;
  std::uint32_t evicted_ = 0;
};

}  // namespace lido::inline v0::detail
