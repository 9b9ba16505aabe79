// Statistics, histograms and leases of a resource pool.
#include "lido/resource/pool_reports.hpp"

#include <memory>
#include <mutex>
#include <utility>

#include "kernel_shell.hpp"
#include "lido/concurrency/thread_number.hpp"
#include "lido/debug/registry.hpp"

namespace lido::inline v0::detail {

/// Returns the statistics of a group. Requires: the mutex is held, and `count_slots` has been
/// called.
resource_pool_stats pool_reports::stats_of(const slot_group& group) {
  kernel_shell& shell = core_.shell();
  resource_pool_stats found = shell.kernel().numbers().stats(group);
  found.mutex_locks = shell.mutex().locks() - 1;  // does not count the lock that is held now
  return found;
}

/// Calls `f(key, stats)` for each group. Requires: the mutex is held.
template <class F>
void pool_reports::for_each_locked(const F& f) {
  pool_kernel& kernel = core_.shell().kernel();
  kernel.numbers().count_slots();
  kernel.groups().for_each([&](const slot_group& group) { f(group.cache.key(), stats_of(group)); });
}

void pool_reports::for_each_stats(callable_ref<const known_key*, const resource_pool_stats&> f) {
  require_own_copy(core_.origin());
  kernel_shell& shell = core_.shell();
  if (shell.is_foreign()) {
    return;
  }
  shell.locked([&] { for_each_locked(f); });
}

resource_pool_stats pool_reports::stats() {
  resource_pool_stats found;
  for_each_stats(
      [&found](const known_key* /*key*/, const resource_pool_stats& one) { found = one; });
  return found;
}

keyed_resource_pool_stats pool_reports::all_stats() {
  require_own_copy(core_.origin());
  kernel_shell& shell = core_.shell();
  keyed_resource_pool_stats all;
  if (shell.is_foreign()) {
    return all;
  }
  shell.locked([&] {
    pool_kernel& kernel = shell.kernel();
    all.add(kernel.numbers().gone());
    for_each_locked([&all](const known_key* /*key*/, const resource_pool_stats& one) {
      ++all.keys;
      all.add(one);
    });
    all.high_water = kernel.numbers().high_water();
    // The sum is of no use here: it includes keys that were removed while the pool was suspended.
    all.suspended = kernel.control.is_suspended();
    all.capacity = core_.groups().has_keys() ? core_.settings().max_total : all.capacity;
  });
  return all;
}

bool pool_reports::find_stats(const sought_key& key, resource_pool_stats& found) {
  require_own_copy(core_.origin());
  kernel_shell& shell = core_.shell();
  if (shell.is_foreign()) {
    return false;
  }
  return shell.locked([&] {
    idle_cache* const known = key.find();
    if (known != nullptr) {
      shell.kernel().numbers().count_slots();
      found = stats_of(*known->group());
    }
    return known != nullptr;
  });
}

resource_pool_times pool_reports::times() {
  require_own_copy(core_.origin());
  kernel_shell& shell = core_.shell();
  resource_pool_times found;
  if (!shell.is_foreign()) {
    shell.locked([&] {
      found.waits.add(shell.kernel().numbers().wait_times());
      found.creates.add(shell.kernel().numbers().create_times());
      core_.gate().add_use_times(found.uses);
    });
  }
  return found;
}

/// Reads leases that other threads may end at the same time. Returns only those that have not ended
/// in the meantime. In a pool without keys, reads leases without the mutex.
std::vector<lease_info> pool_reports::leases() {
  require_own_copy(core_.origin());
  kernel_shell& shell = core_.shell();
  std::vector<lease_info> found;
  if (shell.is_foreign()) {
    return found;
  }
  const nanos age = shell.read_clocks().age;
  std::unique_lock<counted_mutex> keys(shell.mutex(), std::defer_lock);
  if (core_.groups().has_keys()) {
    keys.lock();  // so that no key is removed
  }
  shell.kernel().table.for_each([&](const pool_slot& slot) {
    const slot_word before = slot.word();
    if (before.state() != resource_state::in_use) {
      return;
    }
    lease_info info = info_of(slot, age);
    if (keys.owns_lock()) {
      info.key = *group_of(slot).name.key;
    }
    if (slot.word().in(resource_state::in_use) == before.in(resource_state::in_use)) {
      found.push_back(std::move(info));
    }
  });
  return found;
}

void pool_reports::fill(void* core, pool_report& out) {
  pool_reports& reports = static_cast<pool_core*>(core)->reports();
  const keyed_resource_pool_stats sums = reports.all_stats();
  const auto all = std::make_shared<const resource_pool_report>(resource_pool_report{
      .stats = static_cast<const resource_pool_stats&>(sums), .times = reports.times()});
  out.stats = static_cast<const pool_stats&>(sums);
  out.resources = all;
}

}  // namespace lido::inline v0::detail
