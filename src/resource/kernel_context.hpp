/// @file
/// Internal. What all parts of the kernel know about the current event.
#pragma once

#include "create_quota.hpp"
#include "effects.hpp"
#include "lido/base/deadline_heap.hpp"
#include "lido/resource/options.hpp"
#include "slot_group.hpp"

namespace lido::inline v0::detail {

/// The times of a pool's two clocks, read before an event.
struct moment {
  nanos real = 0;  ///< by the steady clock, for deadlines and retries
  nanos age = 0;   ///< by the pool's clock, for the ages of resources
};

/// The current event, and state that concerns all groups of the pool. Guarded by the pool's mutex.
class kernel_context {
 public:
  kernel_context(const pool_settings& of_pool, bool with_groups) noexcept
      : settings(of_pool), has_groups(with_groups) {}

  /// Schedules the waiters and resources of a group to be matched at the end of the event. The
  /// group whose first waiter arrived earliest is matched first.
  void match_later(slot_group& group) noexcept {
    if (!match_heap::contains(group)) {
      to_match_.push(
          group, group.queue.empty() ? create_quota::no_waiter : group.queue.first()->came.order);
    }
  }
  /// Schedules the group of a slot to be matched at the end of the event, and returns the group.
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
  bool is_ticking = false;   ///< the current event is a tick
  std::uint32_t epochs = 1;  ///< last epoch given to a group; no two groups have the same epoch

 private:
  using match_heap = deadline_heap<slot_group, by_match>;

  match_heap to_match_;
};

}  // namespace lido::inline v0::detail
