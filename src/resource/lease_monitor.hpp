/// @file
/// Internal. Which leases are out for too long, and which for longest.
#pragma once

#include <cstdint>
#include <utility>

#include "holders.hpp"
#include "lido/resource/limits.hpp"
#include "lido/resource/slot.hpp"

namespace lido::detail {

/// Under the pool's mutex.
class lease_monitor {
 public:
  lease_monitor(nanos slow_after, nanos leak_after) noexcept
      : slow_after_(slow_after), leak_after_(leak_after) {}

  void watch(bool on) noexcept { watching_ = on; }

  /// Begins a look at all leases.
  void begin_round() noexcept { longest_ = std::exchange(next_, holder_list()); }
  /// Of a slot in use: 1 if it is to be reported as slow now, 2 as a suspected leak, otherwise 0.
  [[nodiscard]] std::uint8_t look_at(const pool_slot& slot, nanos age) noexcept {
    const nanos held = slot.held_for(age);
    next_.note(slot, held);
    const nanos quiet = slot.quiet_for.get();
    if (!watching_ || quiet >= held) {
      return 0;
    }
    const std::uint8_t due = held - quiet >= leak_after_ ? 2 : held - quiet >= slow_after_ ? 1 : 0;
    return due > slot.record.reported ? due : std::uint8_t{0};
  }

  /// As of the last round.
  [[nodiscard]] const holder_list& longest() const noexcept { return longest_; }

 private:
  nanos slow_after_;
  nanos leak_after_;
  bool watching_ = true;
  holder_list longest_;
  holder_list next_;
};

}  // namespace lido::detail
