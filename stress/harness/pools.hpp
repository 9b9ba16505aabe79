/// @file
/// The pools that a driver can be run on.
#pragma once

#include <cstddef>
#include <optional>
#include <string>
#include <vector>

#include "harness/driver.hpp"
#include "harness/ledger.hpp"
#include "lido/object_pool.hpp"

namespace stress {

using pool_type = lido::object_pool<owned>;

/// Acquires every slot, so that each `owned` starts without an owner; returns how many there were.
template <class Pool>
std::size_t clear_owners(Pool& pool) {
  std::vector<decltype(pool.try_acquire_ptr())> all;
  while (auto* const object = pool.try_acquire_ptr()) {
    all.push_back(object);
  }
  pool.release_n(all);
  return all.size();
}

/// Returns how many slots the calling thread can acquire at once, and releases them again. Stops at
/// one more than the capacity, since a broken pool may never run out.
template <class Pool>
std::size_t count_acquirable(Pool& pool) {
  std::vector<decltype(pool.try_acquire_ptr(lido::default_init))> all;
  while (all.size() <= pool.capacity()) {
    auto* const object = pool.try_acquire_ptr(lido::default_init);
    if (object == nullptr) {
      break;
    }
    all.push_back(object);
  }
  for (auto* const object : all) {
    pool.release(object);
  }
  return all.size();
}

/// Ends the run unless all `slots` of the pool can be acquired. Requires: no slot is out.
void require_all(const run& run, pool_type& pool, std::size_t slots);

extern template std::size_t clear_owners(pool_type& pool);
extern template std::size_t count_acquirable(pool_type& pool);

/// Prints figures of the contention in the run.
void print_contention(const lido::slot_pool_stats& stats);

/// A driver of pools with the caches and the shared list that --pool names.
class pool_driver : public driver {
 protected:
  /// `more` names the driver's own pools, beside revocable, locked, none and boost.
  explicit pool_driver(std::string invariant, unsigned threads = 4,
                       const std::vector<std::string>& more = {});

  [[nodiscard]] const std::string& pool_name() const { return name_; }
  [[nodiscard]] lido::object_pool_options with_pool(lido::object_pool_options options) const;

  /// Makes the pool of the run.
  void open(const lido::object_pool_options& options);
  [[nodiscard]] pool_type& pool() { return *pool_; }
  [[nodiscard]] lido::slot_pool_stats stats() const { return pool_->stats(); }

  void check(run& /*run*/) override { print_contention(stats()); }
  /// Returns what is missing: a run proves nothing if no cache was ever robbed.
  [[nodiscard]] std::string missing() const override;

 private:
  const std::string& name_;
  std::optional<pool_type> pool_;
};

}  // namespace stress
