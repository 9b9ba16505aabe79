/// @file
/// Internal. What all parts of the kernel know of the event that is under way.
#pragma once

#include "create_quota.hpp"
#include "effects.hpp"
#include "lido/resource/deadline_heap.hpp"
#include "lido/resource/options.hpp"
#include "slot_group.hpp"

namespace lido::inline v0::detail {

/// The two clocks of a pool, read before an event.
struct moment {
  nanos real = 0;  ///< the steady clock: deadlines, retries
  nanos age = 0;   ///< the pool's clock: ages of resources
};

/// The event that is under way, and what the pool is told to do for all groups. Under the pool's
/// mutex.
class kernel_context {
 public:
  kernel_context(const pool_settings& of_pool, bool with_groups) noexcept
      : settings(of_pool), has_groups(with_groups) {}

  /// Matches waiters and resources of a group at the end of the event, the group whose waiter came
  /// first before others.
  void match_later(slot_group& group) noexcept {
    if (!match_heap::contains(group)) {
      to_match_.push(
          group, group.queue.empty() ? create_quota::no_waiter : group.queue.first()->came.order);
    }
  }
  /// The same for the group of a slot, which it returns.
  slot_group& match_later(const pool_slot& slot) noexcept {
    slot_group& group = group_of(slot);
    match_later(group);
    return group;
  }
  /// Returns the next group to match, or null.
  [[nodiscard]] slot_group* next_to_match() noexcept { return to_match_.first(); }
  void forget_match(slot_group& group) noexcept { to_match_.remove(group); }
  [[nodiscard]] static bool is_to_match(const slot_group& group) noexcept {
    return match_heap::contains(group);
  }

  const pool_settings& settings;
  const bool has_groups;
  moment now;
  effects* out = nullptr;
  bool is_closed = false;
  bool is_suspended = false;
  bool is_ticking = false;   ///< the event is a tick
  std::uint32_t epochs = 1;  ///< those that groups have had; no two have the same at a time

 private:
  using match_heap = deadline_heap<slot_group, by_match>;

  match_heap to_match_;
};

}  // namespace lido::inline v0::detail
