// What is done to a pool as a whole, and what it says about itself.
#include <algorithm>
#include <string>
#include <thread>
#include <utility>

#include "../platform/platform.hpp"
#include "core_events.hpp"
#include "lido/base/error.hpp"
#include "lido/base/fail.hpp"

namespace lido::inline v0::detail {

namespace {

group_limits limits_of(const pool_settings& settings, std::size_t max_size,
                       std::size_t min_idle) noexcept {
  return {.max_size = static_cast<std::uint32_t>(max_size),
          .min_idle = static_cast<std::uint32_t>(min_idle),
          .max_creating = settings.creating_limit(max_size)};
}

}  // namespace

idle_cache& pool_core::make_group(std::shared_ptr<factory_hooks> hooks, std::uint64_t hash,
                                  std::string text) {
  const group_limits limits = limits_of(settings_, settings_.max_size, settings_.min_idle);
  return kernel_->add_group(std::move(hooks), limits, hash, std::move(text)).cache;
}

idle_cache& pool_core::add_group(std::shared_ptr<factory_hooks> hooks, const known_key& key,
                                 std::string text) {
  idle_cache& added = make_group(std::move(hooks), key.hash, std::move(text));
  added.set_key(key);
  gate_->count_key(key.hash, /*comes=*/true);
  return added;
}

// ---- control ------------------------------------------------------------------------------------

bool pool_core::kill(const resource_handle& handle) noexcept {
  require_own_copy(origin_);
  pool_slot* const slot = kernel_->table.at(handle.place);
  bool found = false;
  if (slot != nullptr && handle.birth != 0) {
    apply([&](pool_kernel& kernel) { kernel.on_kill(*slot, handle.birth, found); });
  }
  return found;
}

/// One group after the other. Creates under way are asked to stop without the mutex: users may have
/// callbacks there.
void pool_core::flush(const sought_key* key) {
  require_own_copy(origin_);
  std::uint64_t round = 0;
  std::stop_source stopped(std::nostopstate);
  const auto find_one = [&]() -> slot_group* {
    if (key != nullptr) {
      idle_cache* const known = key->find();
      return known != nullptr ? known->group() : nullptr;
    }
    round = round == 0 ? ++rounds_ : round;
    return kernel_->groups().next_in(round);
  };
  const auto flush_one = [&](pool_kernel& kernel, slot_group& group) {
    kernel.on_flush(group);
    group.factory.stop.swap(stopped);
  };
  bool goes_on = true;
  while (goes_on) {
    stopped = std::stop_source();
    goes_on = apply_to(find_one, flush_one) && key == nullptr;
    (void)stopped.request_stop();
  }
}

void pool_core::replace_hooks(std::shared_ptr<factory_hooks> hooks) {
  require_own_copy(origin_);
  if (is_foreign()) {
    return;  // the mutex may belong to a thread that is not there
  }
  std::shared_ptr<const create_failure_text> error;  // of the old one; ends without the mutex
  std::stop_source stopped;
  effects out;
  {
    const std::lock_guard one_at_a_time(resizing_);
    old_hooks_.reserve(old_hooks_.size() + 1);
    tell_kernel(
        [&](pool_kernel& kernel) {
          main_->group()->factory.error.swap(error);
          main_->group()->factory.hooks.swap(hooks);
          main_->group()->factory.stop.swap(stopped);
          kernel.on_flush(*main_->group());
        },
        out);
    old_hooks_.push_back(std::move(hooks));  // ends what it made
  }
  run(out, /*by_pool=*/false);
  (void)stopped.request_stop();
}

void pool_core::resize(std::size_t max_size, std::optional<std::size_t> min_idle) {
  require_own_copy(origin_);
  if (max_size > most_resources - settings_.reserve || (min_idle && *min_idle > max_size)) {
    throw_invalid_option(settings_.pool_name,
                         "max_size " + std::to_string(max_size) +
                             (min_idle ? " with min_idle " + std::to_string(*min_idle) : "") +
                             " is not possible");
  }
  if (is_foreign()) {
    return;
  }
  const auto total = static_cast<std::uint32_t>(max_size + settings_.reserve);
  effects out;
  {
    const std::lock_guard one_at_a_time(resizing_);
    auto more = kernel_->table.make_more(total);  // no memory under the mutex
    tell_kernel(
        [&](pool_kernel& kernel) {
          kernel.table.append(std::move(more));
          slot_group& group = *main_->group();
          const group_limits limits =
              limits_of(settings_, max_size, min_idle.value_or(group.limits.min_idle));
          kernel.on_limits(group, limits, total);
        },
        out);
  }
  run(out, /*by_pool=*/false);
}

void pool_core::suspend(bool on) noexcept {
  require_own_copy(origin_);
  apply([on](pool_kernel& kernel) { kernel.on_suspended(on); });
}

void pool_core::watch_leases(bool on) noexcept {
  require_own_copy(origin_);
  apply([on](pool_kernel& kernel) { kernel.monitor.watch(on); });
}

close_report pool_core::close(const deadline& until) {
  require_own_copy(origin_);
  const auto alive = shared_from_this();
  const std::size_t running = end(until);
  call_before_sleep();  // a callback of another pool may be what closes this one
  close_report report{.holders = leases(), .creating = running};
  if (!is_foreign()) {  // after the leases, whose resources a thread may be about to end now
    report.creating = (std::max)(running, locked([this] { return kernel_->count_unsettled(); }));
  }
  return report;
}

void pool_core::close_async(const deadline& until, close_completion done) {
  require_own_copy(origin_);
  auto work = [core = shared_from_this(), until, done = std::move(done)]() mutable noexcept {
    close_report report;
    attempt([&] { report = core->close(until); }, [] {});  // without memory it is closed, too
    core.reset();
    done(std::move(report));
  };
  platform::start_thread("lido-close", std::move(work)).detach();
}

/// Releases are not announced, so it looks once in a millisecond.
bool pool_core::wait_until_idle(std::size_t count, const deadline& until) {
  require_own_copy(origin_);
  const auto alive = shared_from_this();
  while (stats().idle < count) {
    if (until.passed() || is_foreign() || locked([this] { return kernel_->is_closed(); })) {
      return false;
    }
    if (!settings_.has_threads()) {
      tick();
    }
    call_before_sleep();
    std::this_thread::sleep_for(std::chrono::milliseconds(1));
  }
  return true;
}

std::size_t pool_core::end(const deadline& until) noexcept {
  if (is_foreign()) {
    return 0;
  }
  apply([](pool_kernel& kernel) { kernel.on_close(); });
  const std::uint64_t round = locked([this] { return ++rounds_; });
  const auto next = [&] {  // no create begins any more
    const slot_group* const group = kernel_->groups().next_in(round);
    return group != nullptr ? group->factory.stop : std::stop_source(std::nostopstate);
  };
  for (std::stop_source stop = locked(next); stop.stop_possible(); stop = locked(next)) {
    (void)stop.request_stop();
  }
  std::size_t running = runner_->wait_until_ended(until);
  if (running != 0 && is_drained()) {
    // A thread whose last task has ended takes a moment to say so.
    running = runner_->wait_until_ended(deadline::after(std::chrono::milliseconds(10)));
  }
  if (running == 0) {
    const std::lock_guard one_at_a_time(ending_);
    runner_->stop();
  }
  return running;
}

bool pool_core::is_drained() noexcept {
  return locked([this] { return kernel_->is_drained(); });
}

void pool_core::let_go() noexcept {
  require_own_copy(origin_);
  entry_.reset();
  if (is_foreign()) {
    if (kernel_->table.find([](const pool_slot& slot) {
          return slot.state() == resource_state::in_use;
        }) != nullptr) {
      self_ = weak_from_this().lock();  // leases that are still out refer to it
    }
    return;
  }
  (void)end(deadline::after(settings_.close_timeout));
  call_before_sleep();
  runner_->stop();
  runner_->run_posted();  // since the last look, in a pool without threads: no tick will come
  const auto report = [this] {
    std::vector<lease_info> orphans = leases();
    if (!orphans.empty()) {
      tell({.what = pool_event::kind::orphaned, .leases = std::move(orphans)}, nullptr);
    }
  };
  attempt(report, [] {});  // there may be no memory for it
  const auto alive = weak_from_this().lock();
  locked([&] { self_ = kernel_->is_drained() ? nullptr : alive; });
}

void pool_core::remove_unused_groups() noexcept {
  if (main_ != nullptr) {
    return;
  }
  const std::lock_guard<counted_mutex> guard(mutex_);
  if (!gate_->is_quiet()) {
    return;  // a thread may still look at a group
  }
  kernel_->groups().for_each([&](slot_group& group) {
    if (kernel_->can_remove(group) && keys_->forget(group.cache)) {
      gate_->count_key(group.name.hash, /*comes=*/false);
      kernel_->remove_group(group);
    }
  });
}

// ---- numbers ------------------------------------------------------------------------------------

resource_pool_stats pool_core::stats_of(const slot_group& group) const noexcept {
  resource_pool_stats found = kernel_->numbers().stats(group);
  found.mutex_locks = mutex_.locks() - 1;  // not this one
  return found;
}

template <class F>
void pool_core::for_each_locked(const F& f) {
  kernel_->numbers().count_slots();
  kernel_->groups().for_each(
      [&](const slot_group& group) { f(group.cache.key(), stats_of(group)); });
}

void pool_core::fill(void* core, pool_report& out) {
  auto& pool = *static_cast<pool_core*>(core);
  const keyed_resource_pool_stats sums = pool.all_stats();
  const auto all = std::make_shared<const resource_pool_report>(resource_pool_report{
      .stats = static_cast<const resource_pool_stats&>(sums), .times = pool.times()});
  out.stats = static_cast<const pool_stats&>(sums);
  out.resources = all;
}

resource_pool_times pool_core::times() {
  require_own_copy(origin_);
  resource_pool_times found;
  if (!is_foreign()) {
    const std::lock_guard<counted_mutex> guard(mutex_);
    found.waits = kernel_->numbers().wait_times();
    found.creates = kernel_->numbers().create_times();
    gate_->add_use_times(found.uses);
  }
  return found;
}

keyed_resource_pool_stats pool_core::all_stats() {
  require_own_copy(origin_);
  keyed_resource_pool_stats all;
  if (is_foreign()) {
    return all;
  }
  const std::lock_guard<counted_mutex> guard(mutex_);
  all.add(kernel_->numbers().gone());
  for_each_locked([&all](const known_key* /*key*/, const resource_pool_stats& one) {
    ++all.keys;
    all.add(one);
  });
  all.high_water = kernel_->numbers().high_water();
  all.suspended = kernel_->is_suspended();  // a key that is gone may have been
  all.capacity = main_ != nullptr ? all.capacity : settings_.max_total;
  return all;
}

void pool_core::for_each_stats(
    const std::function<void(const known_key* key, const resource_pool_stats&)>& f) {
  require_own_copy(origin_);
  if (is_foreign()) {
    return;
  }
  const std::lock_guard<counted_mutex> guard(mutex_);
  for_each_locked(f);
}

std::optional<resource_pool_stats> pool_core::stats_of(const sought_key& key) {
  require_own_copy(origin_);
  if (is_foreign()) {
    return std::nullopt;
  }
  const std::lock_guard<counted_mutex> guard(mutex_);
  idle_cache* const known = key.find();
  if (known == nullptr) {
    return std::nullopt;
  }
  kernel_->numbers().count_slots();
  return stats_of(*known->group());
}

std::vector<lease_info> pool_core::leases() {
  require_own_copy(origin_);
  std::vector<lease_info> found;
  if (is_foreign()) {
    return found;
  }
  const nanos age = read_clocks().age;
  std::unique_lock<counted_mutex> keys(mutex_, std::defer_lock);
  if (main_ == nullptr) {
    keys.lock();  // they stay meanwhile
  }
  kernel_->table.for_each([&](const pool_slot& slot) {
    const slot_word before = slot.word();
    if (before.state() != resource_state::in_use) {
      return;
    }
    lease_info info = info_of(slot, age);
    if (keys.owns_lock()) {
      info.key = *detail::group_of(slot).name.key;
    }
    if (slot.word().in(resource_state::in_use) == before.in(resource_state::in_use)) {
      found.push_back(std::move(info));
    }
  });
  return found;
}

}  // namespace lido::inline v0::detail
