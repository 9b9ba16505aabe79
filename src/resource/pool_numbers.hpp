/// @file
/// Internal. The statistics of a pool.
#pragma once

#include <algorithm>
#include <chrono>
#include <cstddef>
#include <cstdint>

#include "group_list.hpp"
#include "kernel_context.hpp"
#include "lido/resource/slot.hpp"
#include "lido/resource/stats.hpp"
#include "slot_group.hpp"
#include "slot_table.hpp"
#include "sparse_durations.hpp"

namespace lido::inline v0::detail {

/// Keeps the statistics of a pool: the totals of its groups, its high-water marks, and histograms
/// of the times that waits and creates take. Guarded by the pool's mutex.
class pool_numbers {
 public:
  pool_numbers(const kernel_context& context, const pool_slot_table& table,
               const group_list& groups)
      : context_(context), table_(table), groups_(groups) {}

  /// Sets `seen` of all groups, and raises the high-water marks. Visits each slot once.
  void count_slots() noexcept;
  /// Returns the statistics of a group. Requires: `count_slots` has just been called.
  [[nodiscard]] resource_pool_stats stats(const slot_group& group) const noexcept;
  /// Returns the statistics of a group without visiting each slot, so idle resources count as in
  /// use. This suffices for the report of a failed acquire: when an acquire fails, no resource is
  /// idle unless the pool is suspended.
  [[nodiscard]] resource_pool_stats counts_of(const slot_group& group) const noexcept;
  /// Adds the final statistics of a group to those of the groups removed earlier.
  void add_removed(slot_group& group) noexcept;
  /// Raises the high-water mark after a hand-over. All resources are in use at that time, unless
  /// the pool was suspended. Does nothing in a pool with keys, where each call would have to visit
  /// each slot.
  void note_high_water(const slot_group& group) noexcept {
    if (!context_.has_groups && group.counts.taken() > group.totals.high_water) {
      count_slots();
    }
  }
  static void count_failure(slot_group& group, acquire_failure cause) noexcept {
    resource_pool_stats& all = group.totals;
    ++(cause == acquire_failure::timed_out   ? all.timed_out
       : cause == acquire_failure::cancelled ? all.cancelled
                                             : all.refused);
  }
  /// Adds the uses of a resource to the totals of its group. Called before the resource is
  /// destroyed.
  static void count_uses(slot_group& group, const pool_slot& slot) noexcept {
    group.totals.hits += slot.hits.get();
    group.totals.acquires += slot.uses();
  }
  void count_wait(slot_group& group, std::chrono::nanoseconds waited) noexcept {
    group.totals.waited_for += waited;
    group.totals.longest_wait = (std::max)(group.totals.longest_wait, waited);
    wait_times_.add(waited);
  }
  void count_create(slot_group& group, std::chrono::nanoseconds took) noexcept {
    ++group.totals.created;
    group.totals.creating_for += took;
    group.totals.longest_create = (std::max)(group.totals.longest_create, took);
    create_times_.add(took);
  }

  [[nodiscard]] const resource_pool_stats& gone() const noexcept { return gone_; }
  [[nodiscard]] std::size_t high_water() const noexcept { return high_water_; }
  [[nodiscard]] const sparse_durations& wait_times() const noexcept { return wait_times_; }
  [[nodiscard]] const sparse_durations& create_times() const noexcept { return create_times_; }

 private:
  const kernel_context& context_;
  const pool_slot_table& table_;
  const group_list& groups_;
  resource_pool_stats gone_;  // statistics of groups that were removed
  // The highest number of resources, of all groups together, that were in use at once.
  std::size_t high_water_ = 0;
  sparse_durations wait_times_;
  sparse_durations create_times_;
};

}  // namespace lido::inline v0::detail
