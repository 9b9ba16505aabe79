/// @file
/// Internal. Which group may begin a create next, under the total of all groups.
#pragma once

#include <algorithm>
#include <cstdint>
#include <utility>

#include "lido/base/assert.hpp"
#include "lido/resource/deadline_heap.hpp"
#include "slot_counts.hpp"
#include "slot_group.hpp"

namespace lido::inline v0::detail {

/// Chooses the next create under the total limit. A group that could begin a create now has a
/// request.
///
/// The request whose first waiter arrived first is next. A group without a working resource
/// may try one create at any time; further ones begin only while such groups create less than half
/// of the total. So hosts to which connects hang leave capacity to others. Under the pool's mutex.
class create_quota {
  using asking_groups = deadline_heap<slot_group, by_request>;

 public:
  /// The order of a group that creates for no waiter: after all others.
  static constexpr std::int64_t no_waiter = never - 1;

  /// `all` counts the slots of all groups. `is_shared`: there are several groups.
  create_quota(const slot_counts& all, std::uint32_t max_total, bool is_shared) noexcept
      : all_(all), max_total_(max_total), is_shared_(is_shared) {}

  [[nodiscard]] std::uint32_t max_total() const noexcept { return max_total_; }
  [[nodiscard]] bool is_full() const noexcept { return all_.live() >= max_total_; }
  void set_max_total(std::uint32_t max_total) noexcept { max_total_ = max_total; }

  /// Records that a group could begin `wanted` creates; `first` is the first waiter that one of
  /// them is for, or null.
  void set_request(slot_group& group, std::uint32_t wanted, const acquire_waiter* first) noexcept {
    forget(group);
    if (wanted == 0) {
      return;
    }
    group.request = {.wanted = first != nullptr ? wanted : 0,
                     .since = first != nullptr ? first->came.at : 0,
                     .is_bounded = is_shared_ && !group.is_proven() &&
                                   group.counts.creating() != group.counts.outdated()};
    heap_of(group).push(group, first != nullptr ? first->came.order : no_waiter);
    wanted_of(group) += group.request.wanted;
  }
  void forget(slot_group& group) noexcept {
    LIDO_ASSERT(wanted_of(group) >= group.request.wanted, "a group wants more than is counted");
    wanted_of(group) -= std::exchange(group.request.wanted, 0U);
    heap_of(group).remove(group);
  }

  /// Returns how many creates may begin for waiters of all groups.
  [[nodiscard]] std::uint32_t wanted() const noexcept {
    const std::uint32_t half = max_total_ / 2;
    return wanted_ + (std::min)(bounded_wanted_, half - (std::min)(half, all_.unproven()));
  }
  /// Returns the group of the next request, or null.
  [[nodiscard]] slot_group* next() const noexcept {
    const bool is_bounded =
        all_.unproven() < max_total_ / 2 && bounded_.least_key() < free_.least_key();
    return is_bounded ? bounded_.first() : free_.first();
  }
  /// Returns the order of the waiter that the request of a group is for.
  [[nodiscard]] static std::int64_t order_of(const slot_group& group) noexcept {
    return asking_groups::key_of(group);
  }

 private:
  [[nodiscard]] asking_groups& heap_of(const slot_group& group) noexcept {
    return group.request.is_bounded ? bounded_ : free_;
  }
  [[nodiscard]] std::uint32_t& wanted_of(const slot_group& group) noexcept {
    return group.request.is_bounded ? bounded_wanted_ : wanted_;
  }

  const slot_counts& all_;
  std::uint32_t max_total_;
  bool is_shared_;
  std::uint32_t wanted_ = 0;  // by free groups
  std::uint32_t bounded_wanted_ = 0;
  // A group is in at most one of them.
  asking_groups free_;
  asking_groups bounded_;
};

}  // namespace lido::inline v0::detail
