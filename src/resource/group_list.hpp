/// @file
/// Internal. The groups of a pool.
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <utility>
#include <vector>

#include "slot_group.hpp"

#include "lido/base/assert.hpp"

namespace lido::inline v0::detail {

/// All groups of a pool. Guarded by the pool's mutex.
class group_list {
 public:
  /// Throws std::bad_alloc.
  slot_group& add(std::unique_ptr<slot_group> group) {
    group->listing.index = groups_.size();
    groups_.push_back(std::move(group));
    return *groups_.back();
  }
  /// Removes a group and destroys it.
  void remove(slot_group& group) noexcept {
    const std::size_t index = group.listing.index;
    LIDO_ASSERT(index < groups_.size() && groups_[index].get() == &group,
                "a group is removed that is not in the list");
    groups_.back()->listing.index = index;
    groups_[index].swap(groups_.back());
    groups_.pop_back();
  }
  [[nodiscard]] bool empty() const noexcept { return groups_.empty(); }
  /// Begins a round of visits to all groups. Returns the number of the round, for `next_in`.
  [[nodiscard]] std::uint64_t begin_round() noexcept { return ++rounds_; }
  /// Returns a group that has not been visited in `round`, and marks it as visited. Returns null if
  /// all groups have been visited.
  [[nodiscard]] slot_group* next_in(std::uint64_t round) noexcept {
    for (const auto& group : groups_) {
      if (group->listing.visited_in < round) {
        group->listing.visited_in = round;
        return group.get();
      }
    }
    return nullptr;
  }
  /// Calls `f(group)` for each group. `f` may remove the group that it is given.
  template <class F>
  void for_each(const F& f) const {
    for (std::size_t i = groups_.size(); i-- > 0;) {
      f(*groups_[i]);
    }
  }

 private:
  std::vector<std::unique_ptr<slot_group>> groups_;
  std::uint64_t rounds_ = 0;
};

}  // namespace lido::inline v0::detail
