// The statistics of a pool.
#include "pool_numbers.hpp"

#include <algorithm>
#include <cstddef>

namespace lido::inline v0::detail {

void pool_numbers::count_slots() noexcept {
  groups_.for_each([](slot_group& group) { group.seen = {}; });
  table_.for_each([](const pool_slot& slot) {
    const resource_state state = slot.state();
    if (state != resource_state::empty && state != resource_state::creating) {
      group_seen& seen = group_of(slot).seen;
      seen.idle += state == resource_state::idle ? 1U : 0U;
      seen.hits += slot.hits.get();
      seen.acquires += slot.uses();
    }
  });
  std::size_t in_use = 0;
  groups_.for_each([&in_use](slot_group& group) {
    const std::size_t own = group.counts.taken() - group.seen.idle;
    group.totals.high_water = (std::max)(group.totals.high_water, own);
    in_use += own;
  });
  high_water_ = (std::max)(high_water_, in_use);
}

resource_pool_stats pool_numbers::stats(const slot_group& group) const noexcept {
  resource_pool_stats found = counts_of(group);
  found.idle = group.seen.idle;
  found.in_use -= found.idle;
  found.acquires += group.seen.acquires;
  found.hits += group.seen.hits;
  return found;
}

resource_pool_stats pool_numbers::counts_of(const slot_group& group) const noexcept {
  resource_pool_stats found = group.totals;
  found.capacity = group.limits.max_size;
  found.live = group.counts.live();
  found.creating = group.counts.creating();
  found.checking = group.counts.checking();
  found.closing = group.counts.closing();
  found.in_use = group.counts.taken();
  found.waiting = group.queue.size();
  found.suspended = context_.is_suspended;
  return found;
}

void pool_numbers::add_removed(slot_group& group) noexcept {
  group.seen = {};  // the totals already contain what was seen
  resource_pool_stats last = stats(group);
  last.capacity = 0;
  gone_.add(last);
}

}  // namespace lido::inline v0::detail
