/// @file
/// Internal. Which leases are out for too long, and which for longest.
#pragma once

#include <algorithm>
#include <array>
#include <cstddef>
#include <cstdint>
#include <vector>

#include "effects.hpp"
#include "lido/resource/limits.hpp"
#include "lido/resource/slot.hpp"
#include "lido/resource/stats.hpp"

namespace lido::detail {

/// What is known of a lease, as far as can be told while it goes on.
[[nodiscard]] inline lease_info info_of(const pool_slot& slot, nanos age) {
  return {.resource = {.place = slot.number, .birth = slot.word().birth()},
          .held_for = std::chrono::nanoseconds(slot.held_for(age)),
          .thread = slot.thread(),
          .address = slot.address(),
          .exempt = slot.quiet_for() == never,
          .key = {}};
}

/// Under the pool's mutex.
class lease_monitor {
 public:
  static constexpr std::size_t most_holders = 4;

  lease_monitor(nanos slow_after, nanos leak_after) noexcept
      : slow_after_(slow_after), leak_after_(leak_after) {}

  void watch(bool on) noexcept { watching_ = on; }

  /// Begins a look at all leases.
  void begin_round() noexcept {
    longest_ = next_;
    next_ = {};
  }
  /// Of a slot in use: 1 if it is to be reported as slow now, 2 as a suspected leak, otherwise 0.
  [[nodiscard]] std::uint8_t look_at(const pool_slot& slot, nanos age) noexcept {
    const nanos held = slot.held_for(age);
    note(slot, held);
    const nanos quiet = slot.quiet_for();
    if (!watching_ || quiet >= held) {
      return 0;
    }
    const std::uint8_t due = held - quiet >= leak_after_ ? 2 : held - quiet >= slow_after_ ? 1 : 0;
    return due > slot.record.reported ? due : std::uint8_t{0};
  }

  /// The longest leases as of the last round, those that have ended since left out.
  /// Throws std::bad_alloc.
  [[nodiscard]] std::vector<lease_info> longest(nanos age) const {
    std::vector<lease_info> found;
    for (const holder& one : longest_) {
      if (one.slot != nullptr && one.slot->word().in(slot_state::in_use) == one.lease &&
          one.slot->state() == slot_state::in_use) {
        found.push_back(info_of(*one.slot, age));
      }
    }
    return found;
  }

 private:
  struct holder {
    const pool_slot* slot = nullptr;
    slot_word lease;  ///< without a mark
    nanos held = 0;
  };
  using holders = std::array<holder, most_holders>;  // the longest first

  void note(const pool_slot& slot, nanos held) noexcept {
    if (held <= next_.back().held) {
      return;
    }
    next_.back() = {&slot, slot.word().in(slot_state::in_use), held};
    std::sort(next_.begin(), next_.end(),
              [](const holder& left, const holder& right) { return left.held > right.held; });
  }

  nanos slow_after_;
  nanos leak_after_;
  bool watching_ = true;
  holders longest_{};
  holders next_{};
};

}  // namespace lido::detail
