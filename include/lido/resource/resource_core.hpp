/// @file
/// Internal. A resource pool without its R.
#pragma once

#include <cstdint>
#include <exception>
#include <functional>
#include <memory>
#include <mutex>
#include <optional>
#include <random>
#include <stop_token>
#include <string>
#include <thread>
#include <vector>

#include "lido/concurrency/atomic.hpp"
#include "lido/concurrency/cache_line.hpp"
#include "lido/concurrency/counted_mutex.hpp"
#include "lido/concurrency/mutex.hpp"
#include "lido/concurrency/parking.hpp"
#include "lido/concurrency/thread_number.hpp"
#include "lido/debug/place.hpp"
#include "lido/debug/thread_label.hpp"
#include "lido/resource/acquire_error.hpp"
#include "lido/resource/acquire_request.hpp"
#include "lido/resource/aftermath.hpp"
#include "lido/resource/attention.hpp"
#include "lido/resource/pool_settings.hpp"
#include "lido/resource/refill.hpp"
#include "lido/resource/reported_leases.hpp"
#include "lido/resource/resource_job.hpp"
#include "lido/resource/resource_slot.hpp"
#include "lido/resource/resource_waiter.hpp"
#include "lido/resource/room_source.hpp"
#include "lido/resource/stats.hpp"
#include "lido/resource/thread_corner.hpp"

namespace lido::detail {

class async_waiter;

/// Slots with their lives, the queue of those who wait, and who does what when. The short way, that
/// of idle, valid resources, changes one word of a slot and reads `attention_`. All else is under
/// `mutex_`, but never a call of user code: what is found out there is done later (`aftermath`).
///
/// Invariants
///  I1 `live_` is the number of slots that are not empty; it changes under the mutex, and no create
///     begins that would bring it over `max_size_`.
///  I2 A slot that becomes idle is offered to those who wait by who put it there; who begins to
///     wait looks at all slots, unless somebody in front of it has (see attention.hpp). Where
///     others may overtake, it may only have woken the first, who then looks for all that wait.
///     Where who is first leaves it to the pool to validate, threads of the pool ask what is idle
///     for it while anybody waits, and after a while make others: one that is silent stops nobody.
///  I3 Whatever lowers `live_`, or raises a limit, asks `creates_wanted` again.
///  I4 A waiter that was given something is in no queue; any other takes itself out.
/// Lives as long as the pool, its threads, and leases that outlive it.
class resource_core : public std::enable_shared_from_this<resource_core> {
 public:
  using hooks_pointer = std::shared_ptr<resource_hooks>;
  /// The error is handed on, not shared: who gets it is the only one to end it.
  using callback = std::function<void(const resource_grant&, std::exception_ptr)>;

  resource_core(pool_settings settings, hooks_pointer hooks, block_maker make);
  resource_core(const resource_core&) = delete;
  resource_core& operator=(const resource_core&) = delete;
  ~resource_core();
  /// Starts threads where the pool has any. Throws std::system_error.
  void start();

  // ---- acquire ----------------------------------------------------------------------------------

  /// The short way; an empty grant where it leads nowhere.
  [[nodiscard]] resource_grant take_last(place at) noexcept;
  /// The long way without waiting for a release. Empty: nothing is to be had.
  [[nodiscard]] resource_grant take_now(const acquire_request& request,
                                        validation by = validation::at_once) noexcept;
  /// The long way. Throws acquire_error.
  [[nodiscard]] resource_grant take(const acquire_request& request);
  /// Calls `done` exactly once, perhaps before it returns.
  void take_async(const acquire_request& request, callback done);

  // ---- by who has a resource; none of them throws -----------------------------------------------

  void give_back(const resource_grant& grant) noexcept;
  void retire(const resource_grant& grant, destroy_reason why,
              std::size_t makes = every_one) noexcept;
  /// The resource was moved out of its slot.
  void forget(const resource_grant& grant) noexcept;

  // ---- control ----------------------------------------------------------------------------------

  bool kill(const resource_handle& handle) noexcept;
  void flush() noexcept;
  void replace_hooks(hooks_pointer hooks);
  /// Without min_idle that stays, as far as max_size lets it.
  void resize(std::size_t max_size, std::optional<std::size_t> min_idle);
  void suspend() noexcept;
  void resume() noexcept;
  void tick();
  close_report close(const deadline& until);
  std::size_t end(const deadline& until) noexcept;
  /// The end of the pool: leases that are still out belong to themselves.
  void let_go() noexcept;

  // ---- numbers ----------------------------------------------------------------------------------

  [[nodiscard]] const pool_settings& settings() const noexcept { return settings_; }
  [[nodiscard]] resource_pool_stats stats();
  /// Of how much use room is: nothing is made for a while where creates have failed.
  [[nodiscard]] room_use use_of_room() noexcept;
  /// No resource has had a later birth than that.
  [[nodiscard]] std::uint64_t last_birth() const noexcept;
  /// Once, before anybody knows of the pool: all its resources have later ones than that.
  void begin_behind(std::uint64_t birth) noexcept;
  /// Once, before anybody waits; the source stays until nobody does.
  void get_room_from(room_source& source) noexcept { rooms_ = &source; }
  [[nodiscard]] std::vector<lease_info> leases();
  void watch_leases(bool on) noexcept;

 private:
  friend class async_waiter;
  friend class aftermath;
  using lock = std::unique_lock<counted_mutex>;
  using job = resource_job;
  using errand = resource_errand;

  // resource_validation.cpp
  [[nodiscard]] resource_grant checked(const resource_grant& grant, const deadline& until,
                                       validation by) noexcept;
  [[nodiscard]] resource_grant received(const resource_waiter& waiter, validation by) noexcept;
  [[nodiscard]] bool make_fit(const resource_grant& grant, const verdict& found,
                              const deadline& until) noexcept;
  [[nodiscard]] bool is_unasked(const resource_slot& slot) const noexcept;
  [[nodiscard]] bool leaves_to_pool(const deadline& until, validation by) const noexcept;
  [[nodiscard]] bool lend_to(const resource_waiter& waiter, resource_loan& loan,
                             aftermath& after) noexcept;
  [[nodiscard]] std::uint32_t answers() const noexcept;
  [[nodiscard]] std::uint32_t creates_to_come() const noexcept;
  [[nodiscard]] bool ask(const resource_grant& grant, const deadline& until) noexcept;
  [[nodiscard]] bool still_works(const resource_grant& grant, const deadline& until,
                                 destroy_reason& why) noexcept;
  [[nodiscard]] bool may_ask() const noexcept;
  [[nodiscard]] bool next_question(job& out) noexcept;
  [[nodiscard]] bool needs_keepalive(const resource_slot& slot) const noexcept;
  void run_question(const job& todo) noexcept;
  void stop_asking(const job& todo) noexcept;
  void count_asked(const job& todo) noexcept;
  [[nodiscard]] std::uint32_t hopeful() const noexcept;
  void was_unfit() noexcept;
  // resource_acquire.cpp
  void begin_long_way(const acquire_request* looks_after) noexcept;
  [[nodiscard]] resource_grant begin_lease(const resource_grant& grant, place at) noexcept;
  [[nodiscard]] resource_grant take_idle(place at, deadline until, validation by,
                                         const std::stop_token& stop) noexcept;
  [[nodiscard]] resource_grant scan(life_state to) noexcept;
  [[nodiscard]] resource_grant create_for_try(const acquire_request& request) noexcept;
  [[nodiscard]] resource_grant wait_in_line(const acquire_request& request, bool again);
  [[nodiscard]] bool is_refused(bool again, acquire_failure& cause) const noexcept;
  [[nodiscard]] bool has_too_many_waiters() const noexcept;
  bool enqueue(resource_waiter& waiter, bool again, acquire_failure& cause);
  void watch(resource_waiter& waiter) noexcept;
  void enqueue_locked(resource_waiter& waiter, bool again, aftermath& after) noexcept;
  void sleep_until_ended(resource_waiter& waiter) const noexcept;
  void sleep_and_look(resource_waiter& waiter) noexcept;
  [[nodiscard]] bool look_around(resource_waiter& waiter) noexcept;
  void leave_queue(resource_waiter& waiter) noexcept;
  void count_failure(acquire_failure cause) noexcept;
  [[noreturn]] void refuse(acquire_failure cause);
  [[nodiscard]] acquire_error error(acquire_failure cause);
  [[nodiscard]] std::exception_ptr error_pointer(acquire_failure cause) noexcept;
  // resource_by_callers.cpp
  bool find_work(resource_waiter& waiter, job& todo, nanos& wait) noexcept;
  [[nodiscard]] bool is_retry_watched() const noexcept;
  bool find_work_or_room(resource_waiter& waiter, job& todo, nanos& wait) noexcept;
  void sleep_and_work(resource_waiter& waiter) noexcept;
  bool pass_on() noexcept;
  void look_for_room(resource_waiter* by = nullptr) noexcept;
  void make_for_callbacks(std::size_t most = every_one) noexcept;
  void work_for_callbacks(const acquire_request& request) noexcept;
  void run_jobs_here() noexcept;
  void run_jobs_of_acquire(resource_waiter* by, const acquire_request* asked) noexcept;
  void step_aside(resource_waiter& waiter) noexcept;
  void step_back(resource_waiter& waiter, aftermath& after) noexcept;
  void poke_waiters(aftermath& after) noexcept;
  void upkeep_by_caller(resource_waiter* by, const acquire_request* asked) noexcept;
  // resource_deadlock.cpp
  [[nodiscard]] bool holds_any(std::uint32_t thread) const noexcept;
  [[nodiscard]] bool is_deadlock(std::uint32_t thread) const noexcept;
  [[nodiscard]] bool is_waiting(std::uint32_t thread) const noexcept;
  void end_deadlock(aftermath& after) noexcept;
  // resource_async.cpp
  [[nodiscard]] resource_grant take_for_callback(const acquire_request& request) noexcept;
  void begin_async(async_waiter& waiter, bool again) noexcept;
  void stop_async(async_waiter& waiter) noexcept;
  void serve_next(aftermath& after) noexcept;
  nanos expire_async(aftermath& after) noexcept;
  [[nodiscard]] std::size_t late_callbacks() const noexcept;
  // resource_serve.cpp
  void tell_of_return(resource_slot& slot) noexcept;
  void end_last_use(resource_slot& slot) noexcept;
  void give_back_with_care(const resource_grant& grant, bool last_use) noexcept;
  void offer(const resource_grant& grant) noexcept;
  void serve(resource_slot& released) noexcept;
  void arrive(const resource_grant& grant, const job& todo) noexcept;
  void take_in(const resource_grant& grant, const job& todo, aftermath& after) noexcept;
  void serve_locked(resource_slot& released, aftermath& after) noexcept;
  [[nodiscard]] bool is_unwanted() const noexcept;
  void end_unwanted(const resource_grant& grant, aftermath& after) noexcept;
  [[nodiscard]] bool call_first(aftermath& after) noexcept;
  void serve_all(aftermath& after) noexcept;
  void match(resource_slot* only, aftermath& after) noexcept;
  [[nodiscard]] resource_waiter* first_open(aftermath& after) noexcept;
  bool hand_over(resource_waiter& waiter, const resource_loan& loan, aftermath& after) noexcept;
  [[nodiscard]] resource_loan lend_one(const resource_waiter& waiter, resource_slot* only,
                                       aftermath& after) noexcept;
  static void leave_idle(const resource_grant& grant, aftermath& after) noexcept;
  void turn_away(resource_waiter& waiter, acquire_failure cause, aftermath& after) noexcept;
  void unlink(resource_waiter& waiter) noexcept;
  void cancel_all(acquire_failure cause, aftermath& after) noexcept;
  void slot_emptied(resource_slot& slot, std::uint64_t& counter, bool was_surplus) noexcept;
  void shed_one() noexcept;
  void after_change(aftermath& after) noexcept;
  /// Under the mutex. Nothing can be made for a while, and nobody has anything to bring back.
  [[nodiscard]] bool is_hopeless() const noexcept {
    return hopeless_ && live_ == outdated_ && now() < retry_at_;
  }
  /// Under the mutex. It was replaced.
  [[nodiscard]] bool is_outdated(const resource_hooks* maker) const noexcept {
    return maker != hooks_.back().get();
  }
  /// Under the mutex. What is about to end as a surplus is none any more.
  [[nodiscard]] bool has_surplus() const noexcept { return live_ - shedding_ > max_size_; }
  // resource_upkeep.cpp
  void refill(aftermath& after, std::uint32_t more_waiters = 0) noexcept;
  void reserve_one(resource_slot& slot) noexcept;
  [[nodiscard]] resource_slot* find_empty() const noexcept;
  [[nodiscard]] bool next_job(job& out, bool is_brief) noexcept;
  void run_job(const job& todo) noexcept;
  bool run_one_job(bool is_brief) noexcept;
  [[nodiscard]] bool take_job(job& out, bool is_brief, resource_waiter* by = nullptr) noexcept;
  [[nodiscard]] resource_grant create(const job& todo) noexcept;
  [[nodiscard]] bool note_created(const resource_slot& slot, std::chrono::nanoseconds took,
                                  std::exception_ptr& error) noexcept;
  void end_create(const resource_hooks* maker) noexcept;
  [[nodiscard]] resource_grant keep(const resource_grant& made,
                                    const acquire_request& request) noexcept;
  void back_off(nanos moment) noexcept;
  void end_job(unsigned away) noexcept;
  void create_failed(const job& todo, const std::exception_ptr& error, bool permanent) noexcept;
  void sweep(bool is_brief) noexcept;
  [[nodiscard]] bool has_care() const noexcept;
  [[nodiscard]] bool needs_care(const resource_slot& slot, nanos now, bool may_go) const noexcept;
  bool look_after(const resource_grant& grant, bool may_ask) noexcept;
  [[nodiscard]] std::uint32_t least_idle() noexcept;
  [[nodiscard]] nanos first_report() const noexcept;
  [[nodiscard]] std::uint32_t due_report(const resource_slot& slot) const noexcept;
  [[nodiscard]] bool has_report() const noexcept;
  void report_leases() noexcept;
  std::uint32_t note_report(resource_slot& slot, life_word lease, const lease_info& found) noexcept;
  void tell_of_returns() noexcept;
  void tell(const pool_event& event) const noexcept;
  void tell_of(pool_event::kind what, const lease_info& lease) const noexcept;
  void tell_of_orphans() noexcept;
  // resource_threads.cpp
  void keep_time() noexcept;
  [[nodiscard]] bool stopping() noexcept;
  [[nodiscard]] bool plan(deadline& until) noexcept;
  [[nodiscard]] bool remind_waiters() noexcept;
  [[nodiscard]] deadline next_look(nanos moment, const resource_waiter* next) const noexcept;
  void run_calls() noexcept;
  void work() noexcept;
  [[nodiscard]] errand next_errand(bool was_idle) noexcept;
  void run_errand(const errand& next) noexcept;
  void start_helper() noexcept;
  void call_workers() noexcept;
  void wake_workers() noexcept;
  [[nodiscard]] bool has_sweep() const noexcept {
    return sweep_due_ && !sweeping_ && live_ != 0 && !attention_.is(attention::closed);
  }
  [[nodiscard]] bool may_call() const noexcept { return calls_due_ && !calling_ && !stopping_; }
  [[nodiscard]] bool has_jobs() const noexcept {
    return !pending_.empty() || may_ask() || has_sweep() || may_call();
  }
  [[nodiscard]] bool call_for_help() noexcept;
  void wake_timekeeper() noexcept;
  std::exception_ptr start_threads();
  void stop_threads(bool wait) noexcept;
  // resource_control.cpp
  void purge() noexcept;
  void add_slots(std::uint32_t size);
  void shrink() noexcept;
  [[nodiscard]] std::optional<destroy_reason> why_unwanted() noexcept;
  [[nodiscard]] resource_grant take_surplus() noexcept;
  void drop_pending(std::uint32_t most) noexcept;
  [[nodiscard]] bool wait_until_drained(const deadline& until) noexcept;
  [[nodiscard]] bool is_drained(std::uint32_t& seen) noexcept;
  [[nodiscard]] bool may_stop(bool drained, std::size_t& running) noexcept;
  void quiesce() const noexcept;
  /// The first slot for which `f(slot)` is true. From any thread, at any time.
  template <class F>
  resource_slot* find_slot(const F& f) const {
    resource_slot* found = nullptr;
    for (slot_block* block = first_block_.get(); block != nullptr && found == nullptr;
         block = block->next()) {
      found = block->find(f);
    }
    return found;
  }
  template <class F>
  [[nodiscard]] std::uint32_t count_if(const F& f) const {
    std::uint32_t found = 0;
    (void)find_slot([&](const resource_slot& slot) { return (found += f(slot) ? 1 : 0), false; });
    return found;
  }
  [[nodiscard]] std::uint32_t count(life_state state) const noexcept;
  [[nodiscard]] std::uint32_t count_fit() const noexcept;
  /// Whether who asks now has to leave idle resources to others.
  [[nodiscard]] bool stands_back() const noexcept {
    return overtaking_ ? attention_.flagged() : attention_.needed();
  }
  void begin_leaving(thread_corner& corner) const noexcept;
  void end_leaving(thread_corner& corner) const noexcept;

  // relaxed (whole function): a number; whoever may not miss a flush looks again later
  [[nodiscard]] std::uint32_t epoch() const noexcept {
    return epoch_.load(std::memory_order_relaxed);
  }
  // relaxed (whole function): a number, as old as the last tick
  [[nodiscard]] nanos now() const noexcept { return now_.load(std::memory_order_relaxed); }
  [[nodiscard]] nanos read_clock() noexcept;
  [[nodiscard]] nanos glance_at_clock() noexcept;
  void catch_up_by_callers() noexcept;
  nanos advance_clock(nanos moment) noexcept;

  // Read by all, written rarely.
  alignas(no_false_sharing) attention attention_;
  atomic<nanos> now_{0};
  atomic<std::uint32_t> epoch_{1};
  const pool_settings settings_;
  const bool by_callers_;
  const bool overtaking_;
  const thread_corners corners_;
  const block_maker make_;
  const std::unique_ptr<slot_block> first_block_;
  room_source* rooms_ = nullptr;

  // Under the mutex.
  alignas(no_false_sharing) counted_mutex mutex_;
  waiter_list queue_;
  soonest_first<resource_waiter, ends_sooner> callbacks_;  ///< in the queue
  deadline watched_until_;  ///< none of those that leave their time to the pool ends sooner
  nanos planned_ = 0;       // when the thread that keeps time looks for callbacks whose time is up
  std::uint32_t max_size_;
  std::uint32_t min_idle_;
  std::uint32_t slots_;
  std::uint32_t live_ = 0;
  std::uint32_t shedding_ = 0;  // of these, those that end as a surplus
  std::uint32_t creating_ = 0;
  std::uint32_t outdated_ = 0;  // of these, those that a factory before this one makes
  std::uint32_t keeping_ = 0;   // of these, those that who makes them keeps; not of outdated ones
  std::vector<resource_slot*> pending_;  // reserved, and to be created; with room for all
  std::uint32_t asking_ = 0;             // questions under way, since the factory is the same
  bool answer_wanted_ = false;           // somebody waits for what is idle and has to be validated
  resource_grant arriving_;              // just made or validated: fit, whatever the clock says
  bool keepalive_due_ = false;
  bool sweep_due_ = false;
  bool sweeping_ = false;
  std::size_t running_ = 0;  // jobs
  nanos retry_at_ = 0;
  nanos retry_delay_ = 0;
  const resource_waiter* watcher_ = nullptr;  // in the queue, and has looked until when to sleep
  nanos watched_retry_ = 0;                   // as of then
  bool hopeless_ = false;                     // the last create failed for good
  std::exception_ptr create_error_;
  std::string create_error_text_;
  resource_pool_stats totals_;
  reported_leases reported_;
  std::minstd_rand random_;
  std::vector<hooks_pointer> hooks_;
  std::shared_ptr<resource_core> self_;  // while leases outlive the pool
  unsigned helpers_ = 0;                 // started when they were needed
  unsigned idle_helpers_ = 0;            // and those that are being started
  unsigned away_ = 0;                    // in code of users, but neither create nor such question
  bool stopping_ = false;
  bool calls_due_ = false;  // the thread that keeps time has found something to call
  bool calling_ = false;
  atomic<nanos> next_upkeep_{0};
  atomic<std::uint32_t> work_{0};     // changes when there is work
  atomic<std::uint32_t> timer_{0};    // changes when plans do
  atomic<std::uint32_t> drained_{0};  // changes when a closed pool is empty
  atomic<bool> watching_{true};
  plain_mutex growing_;  // one new block at a time; outside of mutex_
  plain_mutex ending_;   // one close joins the threads; outside of all others
  std::vector<std::thread> threads_;
};

}  // namespace lido::detail
