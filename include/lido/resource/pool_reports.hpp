/// @file
/// Internal. Statistics, histograms and leases of a resource pool.
#pragma once

#include <vector>

#include "lido/base/callback.hpp"
#include "lido/resource/key_table.hpp"
#include "lido/resource/stats.hpp"

namespace lido::inline v0 {
struct pool_report;
}  // namespace lido::inline v0

namespace lido::inline v0::detail {

class pool_core;
class slot_group;

/// Reports the statistics, histograms and leases of a pool. In a process created by fork there is
/// nothing to report.
///
/// Functions that return statistics lock the pool's mutex, and visit each slot once. Leases of a
/// pool without keys are read without the mutex.
class pool_reports {
 public:
  explicit pool_reports(pool_core& core) noexcept : core_(core) {}

  /// Returns the statistics of a pool without keys.
  [[nodiscard]] resource_pool_stats stats();
  /// Returns totals over all groups, including removed ones.
  [[nodiscard]] keyed_resource_pool_stats all_stats();
  /// Writes the statistics of `key` to `found`. Returns false if the pool does not know the key.
  /// Throws whatever looking up the key throws.
  [[nodiscard]] bool find_stats(const sought_key& key, resource_pool_stats& found);
  /// Locks the mutex, and calls `f` with the key and the statistics of each group.
  void for_each_stats(callable_ref<const known_key* /*key*/, const resource_pool_stats&> f);
  /// Returns the histograms of the pool. Throws std::bad_alloc.
  [[nodiscard]] resource_pool_times times();
  /// Returns all current leases. Throws std::bad_alloc.
  [[nodiscard]] std::vector<lease_info> leases();
  /// Fills in the report `out` of a pool for the registry. Throws std::bad_alloc. Requires: `core`
  /// is a pool_core.
  static void fill(void* core, pool_report& out);

 private:
  [[nodiscard]] resource_pool_stats stats_of(const slot_group& group);
  template <class F>
  void for_each_locked(const F& f);

  pool_core& core_;
};

}  // namespace lido::inline v0::detail
