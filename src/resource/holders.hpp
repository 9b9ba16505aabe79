/// @file
/// Internal. The leases that have been held for longest.
#pragma once

#include <algorithm>
#include <array>
#include <chrono>
#include <cstddef>
#include <vector>

#include "lido/resource/limits.hpp"
#include "lido/resource/slot.hpp"
#include "lido/resource/stats.hpp"

namespace lido::detail {

/// What is known of a lease, as far as can be told while it goes on.
[[nodiscard]] inline lease_info info_of(const pool_slot& slot, nanos age) {
  return {.resource = {.place = slot.number, .birth = slot.word().birth()},
          .held_for = std::chrono::nanoseconds(slot.held_for(age)),
          .thread = slot.thread.get(),
          .address = slot.address.get(),
          .exempt = slot.quiet_for.get() == never,
          .key = {}};
}

/// The longest leases of those that were shown to it.
class holder_list {
 public:
  static constexpr std::size_t room = 4;

  void note(const pool_slot& slot, nanos held) noexcept {
    if (held < all_.back().held || (held == 0 && all_.back().slot != nullptr)) {
      return;
    }
    all_.back() = {&slot, slot.word().in(resource_state::in_use), held};
    std::stable_sort(all_.begin(), all_.end(), [](const holder& left, const holder& right) {
      return left.held > right.held;
    });
  }
  /// Those that still go on, the longest first. Throws std::bad_alloc.
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
    slot_word lease;  ///< without a mark
    nanos held = -1;
  };
  std::array<holder, room> all_{};
};

}  // namespace lido::detail
