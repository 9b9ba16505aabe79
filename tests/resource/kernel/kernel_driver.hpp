/// @file
/// Drives the kernel of a resource pool without threads. It passes events, and checks the
/// invariants after each one. Tasks that effects ask for stay open until a test ends them.
#pragma once

#include <algorithm>
#include <array>
#include <bit>
#include <cstdlib>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "resource/kernel/invariants.hpp"
#include "resource/pool_kernel.hpp"

namespace lido::test {

/// A factory that only reports which functions it has: no event calls any.
class fake_hooks final : public detail::factory_hooks {
 public:
  fake_hooks(bool validates, bool resets, bool interrupts)
      : factory_hooks(validates,
                      resets ? detail::reset_way::with_time : detail::reset_way::not_at_all,
                      interrupts) {}

 private:
  bool do_create(detail::pool_slot& /*slot*/, const create_context& /*context*/,
                 create_error& /*why*/) override {
    std::abort();
  }
  bool do_validate(detail::pool_slot& /*slot*/, const create_context& /*context*/) override {
    std::abort();
  }
  bool do_reset(detail::pool_slot& /*slot*/) override { std::abort(); }
  bool do_judge(detail::pool_slot& /*slot*/, const std::exception& /*thrown*/) override {
    std::abort();
  }
  void do_interrupt(detail::pool_slot& /*slot*/) noexcept override { std::abort(); }
  void do_destroy(detail::pool_slot& /*slot*/, destroy_reason /*reason*/) noexcept override {
    std::abort();
  }
};

inline constexpr detail::nanos one_ms = 1'000'000;

/// One effect of an event on a slot or a client.
struct happening {
  enum class kind : std::uint8_t {
    has,        ///< a client has a resource
    creates,    ///< a client is told to create
    validates,  ///< a client is told to validate
    refused,    ///< a client's wait ends without a resource
    called,     ///< a sleeping client is woken to look for a resource
    create,     ///< from here on: tasks of the pool
    validate,
    reset,
    interrupt,
    destroy,
    slow,
    leak,
    returned,
    drained,
    more
  };
  kind what;
  char who = 0;
  std::uint32_t slot = 0;
  acquire_failure cause{};
  destroy_reason reason{};
};
using happenings = std::vector<happening>;

/// Returns a text such as "A has 0; create 1".
[[nodiscard]] std::string to_text(const happenings& all);

struct pool_setup {
  resource_pool_options options{};
  std::uint32_t max_total = 0;  ///< the total of a pool with groups
  int prefer_same_key_ms = 0;
  bool validates = false;
  bool resets = false;
  bool interrupts = false;
};

/// How a client waits.
struct wait_setup {
  int for_ms = -1;  ///< -1: for ever; 0: not at all
  std::uint32_t group = 0;
  std::uint32_t thread = 0;  ///< 0: a thread of its own
  bool holds = false;
  bool is_urgent = false;
  bool may_look = false;  ///< a thread that is woken to look, and may be overtaken
};

/// A thread (A to Z) or a callback (a to z).
struct client {
  enum class state : std::uint8_t { free, waiting, gave_up, holding, creating, validating };

  char name = 0;
  state does = state::free;
  bool is_asleep = false;
  bool was_woken = false;  ///< by the effects that are being read
  bool holds = false;      ///< its thread holds a resource of the pool
  std::optional<detail::acquire_waiter> waiter;
  detail::slot_grant grant;

  [[nodiscard]] bool is_thread() const { return name <= 'Z'; }
};

class kernel_driver {
 public:
  explicit kernel_driver(const pool_setup& how);
  kernel_driver(const kernel_driver&) = delete;
  kernel_driver& operator=(const kernel_driver&) = delete;
  virtual ~kernel_driver() = default;

  std::uint32_t add_group(const detail::group_limits& limits);
  [[nodiscard]] bool remove_group(std::uint32_t group);

  // ---- clients ----------------------------------------------------------------------------------

  happenings acquire(char name, const wait_setup& how = {});
  /// Acquires on the fast path. Returns false if it found no resource.
  bool acquire_fast(char name, std::uint32_t group = 0);
  /// Lets a woken thread look for a resource itself.
  happenings look(char name);
  /// Lets a thread end its own wait. It leaves the queue with `leave`.
  bool give_up(char name);
  happenings leave(char name);
  happenings cancel(char name);
  happenings release(char name);
  happenings discard(char name, destroy_reason why = destroy_reason::discarded);
  happenings detach(char name);
  /// Returns false if the resource is being interrupted.
  [[nodiscard]] bool begin_detach(char name) {
    return detail::pool_control::begin_detach(*of(name).grant.slot);
  }
  void give_up_detach(char name) { detail::pool_control::give_up_detach(*of(name).grant.slot); }
  /// Ends what a client was told to do.
  happenings has_created(char name, bool made, bool permanent = false);
  happenings has_validated(char name, bool valid);

  // ---- tasks ------------------------------------------------------------------------------------

  happenings created(std::uint32_t slot, bool made = true, bool permanent = false);
  happenings validated(std::uint32_t slot, bool valid = true);
  happenings was_reset(std::uint32_t slot, bool accepted = true);
  happenings interrupted(std::uint32_t slot) {
    return is_open(interrupts_, slot)
               ? event([&] { pool_.control.on_interrupted(this->slot(slot)); })
               : happenings{};
  }
  happenings destroyed(std::uint32_t slot);
  /// Ends all tasks successfully, and those that follow.
  void end_tasks();

  // ---- the pool ---------------------------------------------------------------------------------

  happenings tick(int ms);
  /// Advances the time without an event.
  void pass(int ms);
  void pass_us(std::int64_t us);
  happenings limits(const detail::group_limits& limits, std::uint32_t group = 0);
  happenings limits_and_total(const detail::group_limits& limits, std::uint32_t total);
  happenings suspend(bool on = true);
  happenings flush(std::uint32_t group = 0, ongoing_uses uses = ongoing_uses::finish);
  happenings retry_now(std::uint32_t group = 0);
  /// Flushes the group if that is its present generation.
  happenings flush_of(std::uint32_t generation, std::uint32_t group = 0);
  [[nodiscard]] std::uint32_t generation(std::uint32_t group = 0) const {
    return groups_[group]->cache.epoch();
  }
  /// Returns the slot for a resource from outside, or nothing.
  [[nodiscard]] std::optional<std::uint32_t> adopt(std::uint32_t group = 0);
  happenings adopted(std::uint32_t slot, bool made = true);
  happenings replace_factory(std::uint32_t group = 0);
  happenings kill(std::uint32_t slot, ongoing_uses uses = ongoing_uses::finish);
  happenings close();

  // ---- numbers ----------------------------------------------------------------------------------

  [[nodiscard]] std::uint32_t groups() const { return static_cast<std::uint32_t>(groups_.size()); }
  [[nodiscard]] resource_pool_stats stats(std::uint32_t number = 0) {
    pool_.numbers().count_slots();
    return pool_.numbers().stats(*groups_[number]);
  }
  /// Returns the most resources in use at once, over all groups.
  [[nodiscard]] std::size_t high_water() {
    pool_.numbers().count_slots();
    return pool_.numbers().high_water();
  }
  [[nodiscard]] const detail::moment& now() const { return now_; }
  [[nodiscard]] const pool_setup& setup() const { return setup_; }
  [[nodiscard]] std::uint32_t max_total() const { return max_total_; }
  [[nodiscard]] client& of(char name);
  [[nodiscard]] const std::vector<std::unique_ptr<client>>& clients() const { return clients_; }
  /// Returns slots with an unfinished task of that kind; `doomed` returns slots to be destroyed.
  [[nodiscard]] std::vector<std::uint32_t> tasks(happening::kind what);
  [[nodiscard]] const std::vector<std::uint32_t>& doomed() const { return doomed_; }
  [[nodiscard]] const std::vector<std::uint32_t>& interrupts() const { return interrupts_; }
  [[nodiscard]] bool is_interrupted(std::uint32_t slot) const {
    return std::find(interrupts_.begin(), interrupts_.end(), slot) != interrupts_.end();
  }

  // ---- what a pool knows ------------------------------------------------------------------------

  static constexpr int never = -1;
  /// Returns in how many milliseconds something is due: a tick, or one for another reason than a
  /// sweep; the next try to create. At least 1 if it is not due now.
  [[nodiscard]] int next_tick_in_ms() const { return in_ms(pool_.next_tick()); }
  [[nodiscard]] int next_timer_in_ms() const { return in_ms(pool_.next_timer()); }
  [[nodiscard]] int next_try_in_ms(std::uint32_t group = 0) const {
    return in_ms(groups_[group]->retry.at(/*is_asked=*/false));
  }
  /// Returns in how many milliseconds a create is due that a client waits for.
  [[nodiscard]] int next_asked_try_in_ms(std::uint32_t group = 0) const {
    return in_ms(groups_[group]->retry.at(/*is_asked=*/true));
  }
  [[nodiscard]] bool is_failing(std::uint32_t group = 0) const {
    return groups_[group]->retry.is_failing();
  }
  [[nodiscard]] bool backs_off(std::uint32_t group, bool is_asked) const {
    return groups_[group]->retry.waits(now_.real, is_asked);
  }
  [[nodiscard]] bool is_drained() const { return pool_.control.is_drained(); }
  /// Returns the number of resources that are neither gone nor in use.
  [[nodiscard]] std::size_t unsettled() const { return pool_.control.count_unsettled(); }
  [[nodiscard]] std::vector<lease_info> longest_leases() {
    return pool_.monitor.longest().infos(now_.age);
  }
  /// Returns the age that releases see, which stands still between ticks.
  [[nodiscard]] detail::nanos age_of_last_tick() { return pool_.gate.now(); }

  [[nodiscard]] std::uint32_t slots() const { return pool_.table.size(); }
  [[nodiscard]] detail::resource_state state_of(std::uint32_t slot) {
    return this->slot(slot).state();
  }
  [[nodiscard]] std::uint32_t group_of(std::uint32_t slot);
  /// Returns true if a release of the slot notifies the kernel.
  [[nodiscard]] bool is_marked(std::uint32_t slot) { return this->slot(slot).word().marked(); }
  /// Returns which factory makes, or made, the resource: the first, or the one that replaced it.
  [[nodiscard]] std::size_t factory_of(std::uint32_t slot);
  [[nodiscard]] const detail::group_limits& limits_of(std::uint32_t group) const {
    return groups_[group]->limits;
  }

  [[nodiscard]] bool holds(char name) { return of(name).does == client::state::holding; }
  [[nodiscard]] std::uint32_t slot_of(char name) { return of(name).grant.slot->number; }
  [[nodiscard]] std::uint32_t thread_of(char name) {
    return of(name).grant.slot->lease.thread.get();
  }
  [[nodiscard]] std::uint32_t group_of(char name);
  [[nodiscard]] bool gives_no_time(char name) { return of(name).waiter->until.is_at_once(); }
  [[nodiscard]] bool is_late(char name) {
    return of(name).waiter->until.nanoseconds() <= now_.real;
  }
  /// Returns the waiter whose thread runs in the present event, and may take an idle resource; or
  /// 0.
  [[nodiscard]] char looker() const { return looker_; }
  [[nodiscard]] bool may_look(char name) { return of(name).waiter->may_look; }
  [[nodiscard]] detail::nanos came_at(char name) { return of(name).waiter->came.at; }
  [[nodiscard]] bool came_before(char name, char other) {
    return of(name).waiter->came.order < of(other).waiter->came.order;
  }
  /// Expects the lease to last that much longer, or for ever if `never`.
  void extend(char name, int ms) {
    of(name).grant.slot->extend(ms == never ? detail::never : ms * one_ms);
  }
  /// Returns what the calling thread had last.
  [[nodiscard]] detail::relaxed<detail::pool_slot*>& last() { return pool_.gate.mine().last[0]; }
  [[nodiscard]] detail::pool_slot* slot_at(std::uint32_t slot) { return &this->slot(slot); }
  /// Calls `f` while a thread that has released a resource is still leaving the pool.
  template <class F>
  void beside_a_release(const F& f) {
    const detail::leaving_guard mark(pool_.gate.mine());
    f();
  }
  /// By default, `on_more` follows an event at once.
  bool calls_more = true;

 protected:
  /// Called with every violation.
  virtual void problem(const std::string& what) = 0;
  /// Called before a client returns because its resource was unusable.
  virtual void before_return(const client& /*one*/) {}
  /// Called after the effects of each event were read.
  virtual void after(const happenings& /*all*/) {}

 private:
  [[nodiscard]] detail::pool_slot& slot(std::uint32_t number) { return *pool_.table.at(number); }
  [[nodiscard]] std::uint32_t number_of(const detail::slot_group& group) const;
  [[nodiscard]] int in_ms(detail::nanos when) const {
    return when == detail::never ? never
                                 : static_cast<int>((when - now_.real + one_ms - 1) / one_ms);
  }
  happenings run_effects(detail::effects out);
  template <class F>
  happenings event(const F& f) {
    detail::effects out;
    pool_.begin(now_, out);
    f();
    pool_.finish();
    return run_effects(std::move(out));
  }
  void read(detail::effects& out, happenings& all);
  void read_wakes(const detail::effects& out);
  void read_calls(detail::effects& out);
  void read_ends(happenings& all);
  void read_slots(detail::effects& out, happenings& all);
  void end_of(client& one, happenings& all);
  void check_clients();
  [[nodiscard]] bool is_open(std::vector<std::uint32_t>& open, std::uint32_t slot);
  [[nodiscard]] bool is_free(const client& one);
  void begin_use(client& one);
  /// Takes from the client the slot that it holds. Returns null if it holds none.
  detail::pool_slot* take_from(client& one);
  happenings begin(client& one);
  happenings go_to_sleep(client& one, happenings all);
  happenings finish_create(detail::pool_slot& slot, bool made, bool permanent, client* creator);
  [[nodiscard]] static detail::deadline until(detail::nanos when) {
    return std::bit_cast<detail::deadline>(when);
  }

  pool_setup setup_;
  detail::pool_settings settings_;
  std::uint32_t max_total_;
  std::vector<std::shared_ptr<detail::factory_hooks>> hooks_;
  detail::moment now_{.real = 1000 * one_ms, .age = 1000 * one_ms};
  detail::pool_kernel pool_;
  std::vector<detail::slot_group*> groups_;
  std::vector<std::unique_ptr<client>> clients_;
  char looker_ = 0;
  std::vector<std::uint32_t> tasks_;
  std::map<std::uint32_t, detail::nanos> began_;  // creates, by slot
  std::vector<std::uint32_t> interrupts_;         // slots whose use is being interrupted
  std::vector<std::uint32_t> doomed_;
};

}  // namespace lido::test
