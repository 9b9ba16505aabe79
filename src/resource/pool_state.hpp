/// @file
/// Internal. The kernel of resource pools: what happens to slots and waiters, as a state machine.
#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <optional>
#include <random>
#include <string>
#include <utility>
#include <vector>

#include "capacity.hpp"
#include "effects.hpp"
#include "lease_monitor.hpp"
#include "lido/resource/options.hpp"
#include "lido/resource/stats.hpp"

namespace lido::inline v0::detail {

/// The two clocks of a pool, read before an event.
struct moment {
  nanos real = 0;  ///< the steady clock: deadlines, retries
  nanos age = 0;   ///< the pool's clock: ages of resources
};

/// A caller locks the pool's mutex, calls `begin` with the time and a place for effects, passes
/// events, calls `finish`, unlocks, and runs the effects. No event blocks, throws, reads a clock or
/// calls users.
///
/// Invariants
///  I1 A slot that is not empty is counted in `live` of its group and of the total, once; no create
///     begins that would bring either over its limit.
///  I2 The bit of a slot is set if and only if the slot is idle, or in use without a mark.
///  I3 While a group has waiters that may be served, none of its resources is idle and fit.
///  I4 An open waiter is in the queue of its group and in the heap of deadlines. A waiter is in
///     neither once the kernel has ended its wait.
class pool_state {
 public:
  /// `seed` decides the jitter. Throws std::bad_alloc.
  pool_state(const pool_settings& settings, pool_core* core, slot_maker make, std::uint32_t seed);
  ~pool_state() = default;
  pool_state(const pool_state&) = delete;
  pool_state& operator=(const pool_state&) = delete;

  // ---- groups -----------------------------------------------------------------------------------

  /// Throws std::bad_alloc.
  slot_group& add_group(std::shared_ptr<factory_hooks> hooks, const group_limits& limits,
                        std::uint64_t hash, std::string key);
  /// It has nothing. Before it is removed, `gate.is_quiet()` must be true.
  [[nodiscard]] bool can_remove(const slot_group& group) const noexcept {
    return group.live == 0 && group.queue.empty() && group.leaving == 0 &&
           !group.retry.waits(now_.real) && !unsettled_groups::contains(group);
  }
  /// Requires: `can_remove`.
  void remove_group(slot_group& group) noexcept;
  /// A group that was not in that round, and is from now on; null: there is none.
  [[nodiscard]] slot_group* next_in(std::uint64_t round) noexcept;
  /// `f` may remove the group.
  template <class F>
  void for_each_group(const F& f) {
    for (std::size_t i = groups_.size(); i-- > 0;) {
      f(*groups_[i]);
    }
  }

  // ---- events -----------------------------------------------------------------------------------

  void begin(const moment& now, effects& out) noexcept;
  void finish() noexcept;

  /// A waiter comes, or comes back after what it was given was of no use (`again`): then it is
  /// first. Afterwards its wait has ended, or it is in the queue. One that gives no time at all is
  /// not in the queue afterwards.
  void on_acquire(acquire_waiter& waiter, bool again) noexcept;
  /// A waiter that was woken without an end looks for itself, and is asleep afterwards if it is
  /// still open: until its `wakes_at` at the latest.
  void on_look(acquire_waiter& waiter) noexcept;
  /// A thread that has ended its own wait leaves the queue.
  void on_left(acquire_waiter& waiter) noexcept;
  /// Ends a wait that has not ended, in a queue or not.
  void on_refused(acquire_waiter& waiter, acquire_failure cause) noexcept {
    settle_later(*waiter.group);  // others can have what it was called for
    refuse(waiter, cause);
  }
  /// The thread of a waiter holds a resource of the pool: the wait ends if it could only end with a
  /// release by threads that wait, too.
  void on_hold_and_wait(acquire_waiter& waiter) noexcept {
    waiter.holds = true;
    if (wait_queue::contains(waiter) && is_deadlock(*waiter.group)) {
      refuse(waiter, acquire_failure::self_deadlock);
    }
  }

  /// The owner of a slot in use is about to reset it: not if it `ended`.
  void on_returning(pool_slot& slot, bool& ended) noexcept;
  /// The owner of a slot in use gives it back; `reset` by a task first if `resets`.
  void on_released(pool_slot& slot, bool resets) noexcept;
  /// The owner wants it destroyed.
  void on_discarded(pool_slot& slot, destroy_reason why) noexcept {
    report_return(slot);
    close_slot(settle_after(slot), slot, why);
  }
  /// The resource was moved out of its slot.
  void on_detached(pool_slot& slot) noexcept;
  /// A slot was made idle, and its releasing thread saw a flag.
  void on_idle(slot_group& group) noexcept {
    shrink(group);
    settle(group);
  }

  /// The task of a slot, or a waiter that was told to create, has ended. `kept`: the resource, if
  /// it is the creator's. `outcome`: what is to be destroyed without the mutex. `began`: by the
  /// steady clock.
  void on_created(pool_slot& slot, create_outcome& outcome, nanos began, slot_grant& kept) noexcept;
  /// `passed`: it is valid, or was reset.
  void on_checked(pool_slot& slot, bool passed) noexcept;
  void on_destroyed(pool_slot& slot) noexcept;

  /// `age`: by the pool's clock, where it stands still between ticks; otherwise 0.
  void on_tick(nanos age) noexcept;
  void on_more() noexcept {
    if (sweep_from_ != 0) {
      sweep();
    }
    go_on();
  }

  void on_limits(slot_group& group, const group_limits& limits, std::uint32_t total) noexcept;
  void on_suspended(bool suspended) noexcept {
    suspended_ = suspended;
    set_gate();
    for_each_group([this](slot_group& group) { settle_later(group); });
  }
  /// All resources of the group made so far end. Creates and validations under way are outdated:
  /// they hold up no others, except that they count against max_size until they end.
  void on_flush(slot_group& group) noexcept;
  /// `found`: there is such a resource.
  void on_kill(pool_slot& slot, std::uint64_t birth, bool& found) noexcept;
  void on_close() noexcept;

  // ---- numbers ----------------------------------------------------------------------------------

  /// When the next tick is due, in real time.
  [[nodiscard]] nanos next_look() const noexcept { return (std::min)(next_sweep_, next_timer()); }
  /// The same, without looks at all slots.
  [[nodiscard]] nanos next_timer() const noexcept {
    const nanos answer = deadlines_.first() != nullptr ? young_.next() : never;
    return (std::min)({deadlines_.next(), timers_.next(), answer});
  }
  [[nodiscard]] bool is_closed() const noexcept { return closed_; }
  [[nodiscard]] bool is_suspended() const noexcept { return suspended_; }
  [[nodiscard]] bool is_drained() const noexcept { return closed_ && room_.live() == 0; }
  /// Returns how many resources are neither gone nor in use: a thread makes, checks or destroys
  /// each, or is about to, once the pool is closed.
  [[nodiscard]] std::size_t count_unsettled() const noexcept;
  /// Sets what was `seen` of all groups, and raises high-water marks, with one look at each slot.
  void count_slots() noexcept;
  /// Requires: `count_slots`.
  [[nodiscard]] resource_pool_stats stats(const slot_group& group) const noexcept;
  /// After a hand-over, when all are in use but in a pool that was suspended. With keys it would
  /// take a look at each.
  void note_high_water(const slot_group& group) noexcept {
    if (!gate.has_keys() && group.taken() > group.totals.high_water) {
      count_slots();
    }
  }
  /// Without a look at each slot: idle resources count as in use, of which there are none when an
  /// acquire fails, unless the pool is suspended.
  [[nodiscard]] resource_pool_stats counts_of(const slot_group& group) const noexcept;

  // NOLINTBEGIN(*-non-private-member-variables-in-classes): what the core reads without an event
  pool_slot_table table;
  pool_gate gate;
  resource_pool_stats gone;    ///< counts of groups that were removed
  std::size_t high_water = 0;  ///< most in use of all groups
  duration_histogram wait_times;
  duration_histogram create_times;
  lease_monitor monitor;
  // NOLINTEND(*-non-private-member-variables-in-classes)

 private:
  using unsettled_groups = deadline_heap<slot_group, by_turn>;
  using slots_by_time = deadline_heap<pool_slot>;

  void go_on() noexcept;
  // Waiters.
  void link(acquire_waiter& waiter, bool first) noexcept;
  void unlink(acquire_waiter& waiter) noexcept;
  bool end_wait(acquire_waiter& waiter, std::optional<acquire_failure> cause) noexcept;
  void refuse(acquire_waiter& waiter, acquire_failure cause) noexcept;
  void explain(acquire_waiter& waiter) noexcept;
  void refuse_all(slot_group& group) noexcept;
  static void count_uses(slot_group& group, const pool_slot& slot) noexcept;
  static void count_failure(slot_group& group, acquire_failure cause) noexcept {
    resource_pool_stats& all = group.totals;
    ++(cause == acquire_failure::timed_out   ? all.timed_out
       : cause == acquire_failure::cancelled ? all.cancelled
                                             : all.refused);
  }
  /// Nothing can be made for a while, and no resource can come back.
  [[nodiscard]] bool is_hopeless(const slot_group& group) const noexcept {
    return group.retry.is_hopeless(now_.real) && group.live == group.outdated;
  }
  /// A waiter for whom a resource is being made or validated is not one too many.
  [[nodiscard]] bool has_too_many(const slot_group& group) const noexcept {
    const std::size_t waiters = group.queue.size();
    return waiters > settings_.max_waiters &&
           waiters - settings_.max_waiters >
               group.young + group.creating - group.kept - group.outdated;
  }
  [[nodiscard]] acquire_waiter* first_open(slot_group& group) noexcept;
  [[nodiscard]] bool hand_over(acquire_waiter& waiter, pool_slot& slot, grant_kind kind) noexcept;
  [[nodiscard]] bool call(acquire_waiter& waiter, bool is_idle) noexcept;
  [[nodiscard]] bool is_deadlock(const slot_group& group) const noexcept;
  [[nodiscard]] bool is_waiting(const slot_group& group, std::uint32_t thread) const noexcept;
  void end_deadlock(slot_group& group) noexcept;
  // Slots.
  /// A slot that is idle, or in use without a mark, has its bit, and its place in the order of use.
  void list(pool_slot& slot) noexcept {
    idle_cache::set_maybe_idle(slot, /*on=*/true);
    if (has_groups_ && !slots_by_time::contains(slot)) {
      used_.push(slot, slot.last_used.get());
    }
  }
  void unlist(pool_slot& slot) noexcept {
    idle_cache::set_maybe_idle(slot, /*on=*/false);
    used_.remove(slot);
  }
  [[nodiscard]] bool needs_validation(const slot_group& group,
                                      const pool_slot& slot) const noexcept {
    return !slot.is_fresh(now_.age, group.epoch()) && slot.maker->can_validate();
  }
  [[nodiscard]] destroy_reason why_over(const pool_slot& slot) const noexcept {
    return now_.age >= slot.expires.get() ? destroy_reason::too_old : destroy_reason::flushed;
  }
  [[nodiscard]] bool close_if_over(slot_group& group, pool_slot& slot) noexcept;
  bool close_if_idle(slot_group& group, pool_slot& slot, destroy_reason why) noexcept;
  [[nodiscard]] bool take_if_fit(slot_group& group, pool_slot& slot) noexcept;
  [[nodiscard]] pool_slot* take_stale(slot_group& group, resource_state to, bool only) noexcept;
  void dispose(slot_group& group, pool_slot& slot) noexcept;
  void take_back(slot_group& group, pool_slot& slot) noexcept;
  void make_idle(pool_slot& slot) noexcept {
    slot.note_receiver(0);
    (void)slot.move(resource_state::idle);
    list(slot);
  }
  void close_slot(slot_group& group, pool_slot& slot, destroy_reason why) noexcept;
  void empty_slot(slot_group& group, pool_slot& slot) noexcept;
  void begin_check(slot_group& group, pool_slot& slot, slot_task what) noexcept;
  void end_check(slot_group& group, pool_slot& slot) noexcept;
  void shrink(slot_group& group) noexcept;
  [[nodiscard]] static std::uint32_t count_idle(slot_group& group) noexcept;
  // Groups.
  /// The group of the slot, to be settled at the end of the event.
  slot_group& settle_after(const pool_slot& slot) noexcept {
    settle_later(group_of(slot));
    return group_of(slot);
  }
  void settle(slot_group& group, bool force = false) noexcept;
  void settle_later(slot_group& group) noexcept {
    if (!unsettled_groups::contains(group)) {
      unsettled_.push(group,
                      group.queue.empty() ? capacity::no_waiter : group.queue.first()->order);
    }
  }
  void serve(slot_group& group, bool force) noexcept;
  void check_stale(slot_group& group) noexcept;
  [[nodiscard]] bool gives_unchecked(slot_group& group, acquire_waiter& waiter) noexcept;
  [[nodiscard]] bool is_preempted(const slot_group& group) const noexcept;
  void update(slot_group& group) noexcept;
  void call_planner(slot_group& group, nanos due) noexcept;
  void feed() noexcept;
  [[nodiscard]] bool begin_create(slot_group& group) noexcept;
  /// Without threads only a tick does.
  [[nodiscard]] bool makes_ahead() const noexcept { return settings_.has_threads() || is_ticking_; }
  [[nodiscard]] bool is_for_waiter(slot_group& group, pool_slot& slot) noexcept;
  [[nodiscard]] bool evict() noexcept;
  void set_flags(slot_group& group) const noexcept;
  void set_gate() noexcept {
    gate.flags.set((closed_ || suspended_ ? slow_path_flags::hold : 0U) |
                   (closed_ ? slow_path_flags::report : 0U));
  }
  // Time.
  void sweep() noexcept;
  void look_after(pool_slot& slot) noexcept;
  void report_lease(pool_slot& slot) noexcept;
  void report_return(pool_slot& slot) noexcept {
    if (std::exchange(slot.record.reported, std::uint8_t{0}) != 0) {
      tell(pool_event::kind::returned_after_all, slot);
    }
  }
  void tell(pool_event::kind what, const pool_slot& slot) noexcept;
  [[nodiscard]] double draw() noexcept {
    return static_cast<double>(random_() - (std::minstd_rand::min)()) /
           static_cast<double>((std::minstd_rand::max)() - (std::minstd_rand::min)() + 1);
  }

  const pool_settings& settings_;
  pool_core* core_;
  const bool has_groups_;
  capacity room_;
  std::vector<std::unique_ptr<slot_group>> groups_;
  waiter_deadlines deadlines_;
  deadline_heap<slot_group, by_timer> timers_;  // groups with a retry that is due then
  // Those that an event may have left something to, the one with the first waiter first.
  unsettled_groups unsettled_;
  // A slot is in one of these at most.
  slots_by_time used_;   // of several groups: those with a bit, by the last use that is known of
  slots_by_time young_;  // those that are checked, by the time at which most checks have ended
  std::uint32_t evicting_ = 0;
  std::uint32_t checking_ = 0;  // validations under way, of all groups
  bool closed_ = false;
  bool suspended_ = false;
  bool is_ticking_ = false;
  bool drain_told_ = false;
  std::int64_t arrivals_ = 0;
  nanos next_sweep_ = 0;  // in real time, and
  nanos next_age_ = 0;    // by the pool's clock, whichever comes first
  std::uint32_t sweep_from_ = 0;
  std::minstd_rand random_;
  // Of the event that is under way.
  moment now_;
  effects* out_ = nullptr;
  acquire_waiter* looking_ = nullptr;
};

}  // namespace lido::inline v0::detail
