// Implements the calls of a resource pool: acquire, release, control, close.
#include "lido/resource/pool_core.hpp"

#include <algorithm>
#include <exception>
#include <memory>
#include <mutex>
#include <stop_token>
#include <string>
#include <string_view>
#include <thread>
#include <utility>

#include "../concurrency/pool_scope.hpp"
#include "../platform/platform.hpp"
#include "callback_waiter.hpp"
#include "kernel_shell.hpp"
#include "lido/base/error.hpp"
#include "lido/base/fail.hpp"
#include "lido/concurrency/backoff.hpp"
#include "lido/debug/registry.hpp"
#include "thread_acquire.hpp"

namespace lido::inline v0::detail {

void LIDO_SAME_CONTAINERS() noexcept {}
void LIDO_SAME_STRINGS() noexcept {}

pool_core::pool_core(pool_settings settings, slot_maker make, std::shared_ptr<key_table> keys)
    : settings_(std::move(settings)),
      origin_{&thread_numbers, settings_.pool_name.data(), settings_.pool_name.size()},
      shell_(std::make_shared<kernel_shell>(*this, settings_, make)),
      gate_(&shell_->kernel().gate),
      groups_(*shell_, settings_, std::move(keys)) {
  register_listener();
}

pool_core::~pool_core() {
  unregister_listener();
  exponential_backoff backoff;
  while (!shell_->is_foreign() && !gate_->is_quiet()) {
    backoff.wait();
  }
}

void pool_core::on_fork(std::uint32_t /*survivor*/) noexcept {
  shell_->note_fork();
}

void pool_core::start(std::shared_ptr<factory_hooks> hooks) {
  if (hooks != nullptr) {
    groups_.add_main(std::move(hooks));
  }
  if (settings_.registry != nullptr) {
    const std::string_view kind = groups_.has_keys() ? "keyed_resource_pool" : "resource_pool";
    entry_ = std::make_shared<registration>(*settings_.registry, kind, settings_.pool_name,
                                            &pool_reports::fill, this);
  }
  shell_->runner().start(settings_.maintenance);
  // This event is needed even with keys, since it starts the clock.
  shell_->apply([this](pool_kernel& kernel) {
    if (!groups_.has_keys()) {
      kernel.on_idle(*groups_.main().group());
    }
  });
}

// ---- acquire ------------------------------------------------------------------------------------

acquire_outcome pool_core::acquire(const acquire_call& call) {
  require_own_copy(origin_);
  const auto alive = shared_from_this();
  if (shell_->is_foreign()) {
    return failed(acquire_failure::other_process, {});
  }
  if (own_thread_offset() == 0) {
    assign_thread_number();
  }
  return thread_acquire(*this, call).run();
}

slot_grant pool_core::acquire_idle(code_address at, const sought_key* key) {
  require_own_copy(origin_);
  const auto alive = shared_from_this();
  if (shell_->is_foreign()) {
    return {};
  }
  if (own_thread_offset() == 0) {
    assign_thread_number();
  }
  const slot_grant got = groups_.take_lowest(key);
  if (got.slot != nullptr) {
    got.slot->note_holder(gate_->now(), this_thread_id(), std::uncaught_exceptions(), at);
    gate_->begin_use(*got.slot);
    platform::tell_acquire(got.slot);
  }
  return got;
}

void pool_core::acquire_async(const acquire_call& call, acquire_completion done) {
  require_own_copy(origin_);
  const auto alive = shared_from_this();
  if (shell_->is_foreign()) {
    done(failed(acquire_failure::other_process, {}));
    return;
  }
  callback_waiter::begin(alive, call, std::move(done));
}

acquire_outcome pool_core::failed(acquire_failure cause, const refusal& found) const noexcept {
  acquire_outcome out{.grant = {}, .cause = cause, .why = nullptr};
  const auto explain = [&] {
    auto why = std::make_shared<acquire_error::details>();
    why->pool = found.pool != nullptr ? *found.pool : settings_.pool_name;
    why->cause = cause;
    why->counts = found.counts;
    why->total_live = found.total_live;
    why->max_total = found.max_total;
    if (found.error != nullptr) {
      why->create_error = found.error->error;
      why->create_error_text = found.error->text;
    }
    why->holders = found.holders.infos(gate_->now());
    out.why = std::move(why);
  };
  attempt(explain, [] {});  // without memory, only the cause is reported
  return out;
}

// ---- release ------------------------------------------------------------------------------------

namespace {

/// Returns true if a hook of the factory decides what happens to a resource whose lease was ended
/// by an exception.
bool is_left_to_hooks(after_exception what, const pool_slot& slot) noexcept {
  if (slot.lease.unwinding.get() == lease_record::unless_kept) {
    return false;
  }
  return (what == after_exception::reset && slot.maker->can_reset()) ||
         (what == after_exception::validate && slot.maker->can_validate());
}

}  // namespace

void pool_core::release_slow(const slot_grant& grant, bool unwound) noexcept {
  if (shell_->is_foreign()) {
    return;
  }
  const auto alive = weak_from_this().lock();  // keeps the core alive while this function runs
  pool_slot& slot = *grant.slot;
  platform::tell_release(&slot);
  const bool is_cut_short = unwound && !is_left_to_hooks(settings_.after_exception, slot);
  if (is_cut_short || slot.uses() >= settings_.life.max_uses) {
    discard_as(slot, is_cut_short ? destroy_reason::discarded : destroy_reason::used_up);
    return;
  }
  if (slot.maker->can_reset() && !unwound && is_reset_by_pool(slot)) {
    shell_->apply([&](pool_kernel& kernel) { kernel.on_released(slot, /*resets=*/true); });
    return;
  }
  // The kernel is asked before a reset. If the resource must be destroyed, a reset would benefit no
  // user, and might take long.
  bool ended = false;
  idle_cache& cache = *slot.record.cache;
  if (slot.word().marked() || slot.is_over(gate_->now(), cache.epoch()) ||
      cache.must_tell_kernel()) {
    shell_->apply([&](pool_kernel& kernel) { kernel.on_returning(slot, ended); });
  }
  if (ended) {
    return;
  }
  slot.note_receiver(0);  // a reset is not part of the lease
  if (slot.maker->can_reset() && !shell_->calls().reset(slot)) {
    discard_as(slot, destroy_reason::reset_refused);
    return;
  }
  slot.used_until(gate_->now(), settings_.life);
  if (unwound && settings_.after_exception == after_exception::validate) {
    slot.ages.fresh_until.set(0);
  }
  cache.offer(grant);
}

bool pool_core::is_reset_by_pool(pool_slot& slot) const noexcept {
  const bool is_async = slot.lease.resets_by_pool.get();
  slot.lease.resets_by_pool.set(/*value=*/false);
  return is_async && settings_.has_threads();
}

void pool_core::discard_as(pool_slot& slot, destroy_reason why) noexcept {
  const auto alive = weak_from_this().lock();  // as above
  shell_->apply([&](pool_kernel& kernel) { kernel.on_discarded(slot, why); });
}

void pool_core::discard(const slot_grant& grant) noexcept {
  gate_->end_use(*grant.slot);
  platform::tell_release(grant.slot);
  discard_as(*grant.slot, destroy_reason::discarded);
}

void pool_core::begin_detach(pool_slot& slot) noexcept {
  exponential_backoff backoff;
  while (slot.maker->can_interrupt() && !shell_->is_foreign() &&
         !shell_->locked([&slot] { return pool_control::begin_detach(slot); })) {
    backoff.wait();
  }
}

void pool_core::give_up_detach(pool_slot& slot) noexcept {
  if (slot.maker->can_interrupt() && !shell_->is_foreign()) {
    shell_->locked([&slot] { pool_control::give_up_detach(slot); });
  }
}

void pool_core::detach(const slot_grant& grant) noexcept {
  const auto alive = weak_from_this().lock();  // as above
  gate_->end_use(*grant.slot);
  platform::tell_release(grant.slot);
  shell_->apply([&](pool_kernel& kernel) { kernel.on_detached(*grant.slot); });
}

// ---- control ------------------------------------------------------------------------------------

bool pool_core::kill(const resource_handle& handle, ongoing_uses uses) noexcept {
  require_own_copy(origin_);
  // Keeps the core alive, since callbacks may drop the last reference.
  const auto alive = weak_from_this().lock();
  pool_slot* const slot = shell_->kernel().table.at(handle.index);
  bool found = false;
  if (slot != nullptr && handle.birth != 0) {
    shell_->apply(
        [&](pool_kernel& kernel) { kernel.control.on_kill(*slot, handle.birth, uses, found); });
  }
  return found;
}

/// Flushes one group after the other. Asks creates in progress to stop only while the mutex is
/// unlocked, since a stop request may run stop callbacks of users. If there is no memory, asks only
/// the creates of the first group to stop.
bool pool_core::flush(const sought_key* key, ongoing_uses uses) {
  require_own_copy(origin_);
  const auto alive = weak_from_this().lock();
  std::uint64_t round = 0;
  std::stop_source stopped;
  const bool is_of_one = key != nullptr || !groups_.has_keys();
  const auto find_one = [&]() -> slot_group* {
    if (is_of_one) {
      return groups_.find(key);
    }
    group_list& groups = shell_->kernel().groups();
    round = round == 0 ? groups.begin_round() : round;
    return groups.next_in(round);
  };
  const auto flush_one = [&](pool_kernel& kernel, slot_group& group) {
    kernel.control.on_flush(group, uses);
    if (stopped.stop_possible()) {
      group.factory.stop.swap(stopped);
    }
  };
  bool is_known = shell_->apply_to(find_one, flush_one);
  (void)stopped.request_stop();
  for (bool goes_on = is_known && !is_of_one; goes_on; (void)stopped.request_stop()) {
    stopped = attempt([] { return std::stop_source(); },
                      [] { return std::stop_source(std::nostopstate); });
    goes_on = shell_->apply_to(find_one, flush_one);
  }
  return is_known;
}

template <class Find>
bool pool_core::flush_found(const Find& find, std::uint32_t generation) {
  require_own_copy(origin_);
  const auto alive = weak_from_this().lock();
  bool is_flushed = false;
  std::stop_source stopped;
  const auto flush_one = [&](pool_kernel& kernel, slot_group& group) {
    is_flushed = kernel.control.on_flush_of(group, generation);
    if (is_flushed) {
      group.factory.stop.swap(stopped);
    }
  };
  (void)shell_->apply_to(find, flush_one);
  if (is_flushed) {
    (void)stopped.request_stop();
  }
  return is_flushed;
}

bool pool_core::flush_of(const sought_key* key, resource_generation generation) {
  return flush_found([&] { return groups_.find(key); }, generation.number);
}

bool pool_core::flush_of(const slot_grant& grant) {
  require_own_copy(origin_);
  if (grant.slot == nullptr || grant.slot->record.cache->core() != this) {
    return false;
  }
  return flush_found([&] { return grant.slot->record.cache->group(); }, grant.slot->epoch.get());
}

bool pool_core::forget(const sought_key& key) {
  const auto alive = weak_from_this().lock();
  const bool is_known = flush(&key);
  if (is_known) {
    groups_.remove_if_unused(key);
  }
  return is_known;
}

void pool_core::retry_now(const sought_key* key) {
  require_own_copy(origin_);
  const auto alive = weak_from_this().lock();
  const auto find = [key]() -> slot_group* {
    idle_cache* const known = key->find();
    return known != nullptr ? known->group() : nullptr;
  };
  const auto retry = [](pool_kernel& kernel, slot_group& group) {
    kernel.control.on_retry_now(group);
  };
  if (key != nullptr) {
    (void)shell_->apply_to(find, retry);
    return;
  }
  shell_->apply([&retry](pool_kernel& kernel) {
    kernel.groups().for_each([&](slot_group& group) { retry(kernel, group); });
  });
}

void pool_core::replace_hooks(std::shared_ptr<factory_hooks> hooks) {
  require_own_copy(origin_);
  const auto alive = weak_from_this().lock();
  if (shell_->is_foreign()) {
    return;  // a thread of the parent process may have held the mutex
  }
  // The error of the old factory, which must be destroyed with the mutex unlocked.
  std::shared_ptr<const create_failure_text> error;
  std::stop_source stopped;
  effects out;
  {
    const std::lock_guard one_at_a_time(resizing_);
    old_hooks_.reserve(old_hooks_.size() + 1);
    shell_->tell_kernel(
        [&](pool_kernel& kernel) {
          slot_group& group = *groups_.main().group();
          group.factory.error.swap(error);
          group.factory.hooks.swap(hooks);
          group.factory.stop.swap(stopped);
          kernel.control.on_flush(group);
        },
        out);
    // The old hooks are kept, since they destroy the resources that they created.
    old_hooks_.push_back(std::move(hooks));
  }
  shell_->run(out, /*by_pool=*/false);
  (void)stopped.request_stop();
}

void pool_core::resize(std::size_t max_size, const std::size_t* min_idle) {
  require_own_copy(origin_);
  const auto alive = weak_from_this().lock();
  if (max_size > most_resources - settings_.reserve ||
      (min_idle != nullptr && *min_idle > max_size)) {
    throw_invalid_option(
        settings_.pool_name,
        "max_size " + std::to_string(max_size) +
            (min_idle != nullptr ? " with min_idle " + std::to_string(*min_idle) : "") +
            " is not possible");
  }
  if (shell_->is_foreign()) {
    return;
  }
  const auto total = static_cast<std::uint32_t>(max_size + settings_.reserve);
  effects out;
  {
    const std::lock_guard one_at_a_time(resizing_);
    auto more = shell_->kernel().table.make_more(total);  // allocated with the mutex unlocked
    shell_->tell_kernel(
        [&](pool_kernel& kernel) {
          kernel.table.append(std::move(more));
          slot_group& group = *groups_.main().group();
          const group_limits limits = limits_of(
              settings_, max_size, min_idle != nullptr ? *min_idle : group.limits.min_idle);
          kernel.control.on_limits(group, limits, total);
        },
        out);
  }
  shell_->run(out, /*by_pool=*/false);
}

void pool_core::suspend(bool on) noexcept {
  require_own_copy(origin_);
  const auto alive = weak_from_this().lock();
  shell_->apply([on](pool_kernel& kernel) { kernel.control.on_suspended(on); });
}

void pool_core::watch_leases(bool on) noexcept {
  require_own_copy(origin_);
  const auto alive = weak_from_this().lock();
  shell_->apply([on](pool_kernel& kernel) { kernel.monitor.watch(on); });
}

void pool_core::tick(bool by_pool) noexcept {
  require_own_copy(origin_);
  const auto alive = weak_from_this().lock();
  if (shell_->is_foreign()) {
    return;
  }
  shell_->tick(by_pool);
  if (groups_.has_keys()) {
    shell_->locked([this] { groups_.remove_unused(); });
  }
}

/// Polls once every millisecond, since releases are not announced.
bool pool_core::wait_until_idle(std::size_t count, const deadline& until) {
  require_own_copy(origin_);
  const auto alive = shared_from_this();
  while (reports_.stats().idle < count) {
    if (until.passed() || shell_->is_foreign() ||
        shell_->locked([this] { return shell_->kernel().control.is_closed(); })) {
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

// ---- close --------------------------------------------------------------------------------------

close_report pool_core::close(const deadline& until) {
  require_own_copy(origin_);
  const auto alive = shared_from_this();
  const std::size_t running = close_without_report(until);
  call_before_sleep();  // the caller may be a callback of another pool
  close_report report{.holders = reports_.leases(), .creating = running};
  if (!shell_->is_foreign()) {
    // Counted after the leases were read: a thread may be about to destroy their resources now.
    const auto count = [this] { return shell_->kernel().control.count_unsettled(); };
    report.creating = (std::max)(running, shell_->locked(count));
  }
  return report;
}

void pool_core::close_async(const deadline& until, close_completion done) {
  require_own_copy(origin_);
  auto work = [core = shared_from_this(), until, done = std::move(done)]() mutable noexcept {
    close_report report;
    // Without memory for the report, the pool still closes.
    attempt([&] { report = core->close(until); }, [] {});
    core.reset();
    done(std::move(report));
  };
  platform::start_thread("lido-close", std::move(work)).detach();
}

std::size_t pool_core::close_without_report(const deadline& until) noexcept {
  if (shell_->is_foreign()) {
    return 0;
  }
  shell_->apply([](pool_kernel& kernel) { kernel.control.on_close(); });
  const std::uint64_t round =
      shell_->locked([this] { return shell_->kernel().groups().begin_round(); });
  const auto next = [&] {  // no further create begins now
    const slot_group* const group = shell_->kernel().groups().next_in(round);
    return group != nullptr ? group->factory.stop : std::stop_source(std::nostopstate);
  };
  for (std::stop_source stop = shell_->locked(next); stop.stop_possible();
       stop = shell_->locked(next)) {
    (void)stop.request_stop();
  }
  // If `is_inside` is true, the wait below would be a wait for this thread itself.
  const bool is_inside = pool_scope::is_in(this);
  std::size_t running = shell_->runner().wait_until_ended(
      is_inside ? deadline::after(std::chrono::seconds(0)) : until);
  if (running != 0 && !is_inside && shell_->is_drained()) {
    // A thread whose last task has ended takes a moment to report that.
    running = shell_->runner().wait_until_ended(deadline::after(std::chrono::milliseconds(10)));
  }
  if (running == 0) {
    const std::lock_guard one_at_a_time(ending_);
    shell_->runner().stop();
  }
  return running;
}

void pool_core::let_go() noexcept {
  require_own_copy(origin_);
  entry_.reset();
  const auto alive = weak_from_this().lock();
  if (shell_->is_foreign()) {
    shell_->keep_while_leased(alive);
    return;
  }
  (void)close_without_report(deadline::after(settings_.close_timeout));
  call_before_sleep();
  shell_->runner().stop();
  // In a pool without threads, run what was posted since the last check, since no tick will follow.
  shell_->runner().run_posted();
  const auto report = [this] {
    std::vector<lease_info> orphans = reports_.leases();
    if (!orphans.empty()) {
      settings_.report({.what = pool_event::kind::orphaned, .leases = std::move(orphans)}, nullptr);
    }
  };
  attempt(report, [] {});  // there may be no memory for the report
  shell_->keep_while_leased(alive);
}

std::shared_ptr<pool_core> make_core(pool_settings settings, slot_maker make,
                                     std::shared_ptr<key_table> keys) {
  return std::make_shared<pool_core>(std::move(settings), make, std::move(keys));
}

}  // namespace lido::inline v0::detail
