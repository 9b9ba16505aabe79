/// @file
/// Internal. Decides which group may begin a create next, within the total limit of all groups.
#pragma once

#include <algorithm>
#include <cstdint>
#include <utility>

#include "lido/base/assert.hpp"
#include "lido/base/deadline_heap.hpp"
#include "slot_counts.hpp"
#include "slot_group.hpp"

namespace lido::inline v0::detail {

/// Chooses the group that begins the next create, within the total limit. Each group that could
/// begin a create now has a request.
///
/// The group whose first waiter arrived earliest is served next. A group without a working resource
/// may have one create in progress at any time. It may begin further creates only while all such
/// groups together have fewer creates in progress than half of the total limit. Hosts whose
/// connects hang thus leave capacity for other hosts. Guarded by the pool's mutex.
class create_quota {
  using asking_groups = deadline_heap<slot_group, by_request>;

 public:
  /// The order of a group whose creates are not for a waiter. Such a group is served last.
  static constexpr std::int64_t no_waiter = never - 1;

  /// `all` counts the slots of all groups. `is_shared` is true if there may be several groups.
  create_quota(const slot_counts& all, std::uint32_t max_total, bool is_shared) noexcept
      : all_(all), max_total_(max_total), is_shared_(is_shared) {}

  [[nodiscard]] std::uint32_t max_total() const noexcept { return max_total_; }
  [[nodiscard]] bool is_full() const noexcept { return all_.live() >= max_total_; }
  void set_max_total(std::uint32_t max_total) noexcept { max_total_ = max_total; }

  /// Records that a group could begin `wanted` creates. `first` is the first waiter that needs one
  /// of them, or null if they are for no waiter.
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
  /// Returns the order of the first waiter for which a group requests a create.
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
  std::uint32_t wanted_ = 0;  // creates of groups whose requests are not bounded
  std::uint32_t bounded_wanted_ = 0;
  // A group is in at most one of these two heaps.
  asking_groups free_;
  asking_groups bounded_;
};

}  // namespace lido::inline v0::detail
