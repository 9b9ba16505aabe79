/// @file
/// Internal. Finds the leases that have been held for too long, and those held the longest.
#pragma once

#include <algorithm>
#include <array>
#include <chrono>
#include <cstddef>
#include <cstdint>
#include <utility>
#include <vector>

#include "lido/resource/options.hpp"
#include "lido/resource/slot.hpp"
#include "lido/resource/stats.hpp"

namespace lido::inline v0::detail {

/// Returns what is known about a lease that has not ended yet.
[[nodiscard]] inline lease_info info_of(const pool_slot& slot, nanos age) {
  return {.resource = {.index = slot.number, .birth = slot.word().birth()},
          .held_for = std::chrono::nanoseconds(slot.held_for(age)),
          .thread = slot.lease.thread.get(),
          .address = slot.lease.address.get(),
          .exempt = slot.lease.quiet_for.get() == never,
          .key = {}};
}

/// Collects those of the leases passed to `note` that have been held the longest.
class holder_list {
 public:
  static constexpr std::size_t most = 4;

  void note(const pool_slot& slot, nanos held) noexcept {
    if (held < all_.back().held || (held == 0 && all_.back().slot != nullptr)) {
      return;
    }
    all_.back() = {&slot, slot.word().in(resource_state::in_use), held};
    holder* const last = &all_.back();
    std::rotate(std::upper_bound(
                    all_.data(), last, *last,
                    [](const holder& left, const holder& right) { return left.held > right.held; }),
                last, last + 1);
  }
  [[nodiscard]] bool empty() const noexcept { return all_.front().slot == nullptr; }
  /// Returns the collected leases that have not ended yet, the longest first. Throws
  /// std::bad_alloc.
  [[nodiscard]] std::vector<lease_info> infos(nanos age) const {
    std::vector<lease_info> found;
    for (const holder& one : all_) {
      if (one.slot != nullptr && one.slot->state() == resource_state::in_use &&
          one.slot->word().in(resource_state::in_use) == one.lease) {
        found.push_back(info_of(*one.slot, age));
      }
    }
    return found;
  }

 private:
  struct holder {
    const pool_slot* slot = nullptr;
    slot_word lease;  ///< the word of the slot, without a mark
    nanos held = -1;
  };
  std::array<holder, most> all_{};
};

/// Finds the leases that have been held for too long, and those that have been held the longest.
/// Guarded by the pool's mutex.
class lease_monitor {
 public:
  lease_monitor(nanos slow_after, nanos leak_after) noexcept
      : slow_after_(slow_after), leak_after_(leak_after) {}

  void watch(bool on) noexcept { watching_ = on; }

  /// Ends a round in which all leases were checked.
  void end_round() noexcept { longest_ = std::exchange(next_, holder_list()); }
  /// Checks a slot in use. Returns 1 if its lease must be reported as slow now, 2 if it must be
  /// reported as a suspected leak, and 0 otherwise.
  [[nodiscard]] std::uint8_t look_at(const pool_slot& slot, nanos age) noexcept {
    const nanos held = slot.held_for(age);
    next_.note(slot, held);
    const nanos quiet = slot.lease.quiet_for.get();
    if (!watching_ || quiet >= held) {
      return 0;
    }
    const std::uint8_t due = held - quiet >= leak_after_ ? 2 : held - quiet >= slow_after_ ? 1 : 0;
    return due > slot.record.reported ? due : std::uint8_t{0};
  }

  /// Returns the longest leases that the last round found.
  [[nodiscard]] const holder_list& longest() const noexcept { return longest_; }

 private:
  nanos slow_after_;
  nanos leak_after_;
  bool watching_ = true;
  holder_list longest_;
  holder_list next_;
};

}  // namespace lido::inline v0::detail
