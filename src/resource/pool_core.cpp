// Locks the mutex, tells the kernel, runs the effects.
#include "lido/resource/pool_core.hpp"

#include <algorithm>
#include <mutex>
#include <random>
#include <utility>

#include "../platform/platform.hpp"
#include "core_events.hpp"
#include "lido/base/fail.hpp"
#include "lido/base/tuning.hpp"
#include "lido/concurrency/backoff.hpp"
#include "lido/concurrency/event_sink.hpp"
#include "lido/debug/place.hpp"
#include "lido/platform/compiler.hpp"

namespace lido::inline v0::detail {

namespace {

/// The earlier of the two.
deadline within(std::chrono::nanoseconds time, const deadline& until) noexcept {
  return sooner(deadline::after(time), until);
}

nanos age_now(const pool_settings& settings, nanos real) noexcept {
  return settings.clock != nullptr ? settings.clock->now().count() : real;
}

/// Calls callbacks one after the other. A callback that releases what it was given ends the wait of
/// the next, which is called after it has returned: ten thousand must not need a deep stack.
void call_all(wait_queue& ended) noexcept {
  if (calling == nullptr) {
    calling = &ended;
    call_before_sleep();
    calling = nullptr;
    return;
  }
  calling->append(ended);
}

}  // namespace

// NOLINTNEXTLINE(cppcoreguidelines-avoid-non-const-global-variables): the state of this thread
constinit thread_local wait_queue* calling = nullptr;

void call_before_sleep() noexcept {
  while (acquire_waiter* const waiter = calling != nullptr ? calling->pop_front() : nullptr) {
    waiter->deliver(*waiter);
  }
}

void LIDO_SAME_CONTAINERS() noexcept {}
void LIDO_SAME_STRINGS() noexcept {}

pool_core::pool_core(pool_settings settings, slot_maker make, std::unique_ptr<key_table> keys)
    : settings_(std::move(settings)),
      origin_{&thread_numbers, settings_.pool_name.data(), settings_.pool_name.size()},
      keys_(std::move(keys)),
      kernel_(std::make_unique<pool_kernel>(settings_, this, make, std::random_device{}())),
      gate_(&kernel_->gate),
      runner_(std::make_unique<task_runner>(*this, settings_.has_threads())) {
  kernel_->gate.advance(age_now(settings_, steady_now()));
  register_listener();
}

pool_core::~pool_core() {
  unregister_listener();
  if (is_foreign()) {
    (void)runner_.release();  // its threads are not there
    return;
  }
  exponential_backoff backoff;
  while (!kernel_->gate.is_quiet()) {
    backoff.wait();
  }
}

void pool_core::on_fork(std::uint32_t /*survivor*/) noexcept {
  // relaxed: the process has one thread
  foreign_.store(true, std::memory_order_relaxed);
  gate_->flags.set(slow_path_flags::hold | slow_path_flags::report);
}

void pool_core::start(std::shared_ptr<factory_hooks> hooks) {
  if (hooks != nullptr) {
    main_ = &make_group(std::move(hooks), 0, {});
  }
  if (settings_.registry != nullptr) {
    const std::string_view kind = main_ != nullptr ? "resource_pool" : "keyed_resource_pool";
    entry_ =
        std::make_unique<registration>(*settings_.registry, kind, settings_.pool_name, &fill, this);
  }
  runner_->start();
  apply([this](pool_kernel& kernel) {  // with keys, too: it begins the count of time
    if (main_ != nullptr) {
      kernel.on_idle(*main_->group());
    }
  });
}

// ---- events and effects -------------------------------------------------------------------------

moment pool_core::read_clocks() const noexcept {
  const nanos real = steady_now();  // without threads, ages are counted in ticks
  return {real, settings_.has_threads() ? age_now(settings_, real) : kernel_->gate.now()};
}

/// `by_pool`: code of users is left to the pool's threads.
void pool_core::run(effects& out, bool by_pool) noexcept {
  do {
    while (out.wakes != 0) {
      unpark(out.wake[--out.wakes]);
    }
    if (!out.start.empty() || by_pool) {
      runner_->post(out, by_pool);
    }
  } while (has_next(out));
  for (lease_report& report : std::exchange(out.tell, {})) {
    tell(std::move(report.event), report.pool);
  }
  call_all(out.call);
  if (out.drained) {
    runner_->wake_closing();
    std::shared_ptr<pool_core> last;
    locked([&] { last = std::move(self_); });
  }
}

/// Destroys a resource, or asks the kernel for more; false: there is nothing left.
bool pool_core::has_next(effects& out) noexcept {
  pool_slot* const slot = out.destroy.pop();
  if (slot == nullptr && !std::exchange(out.more, false)) {
    return false;
  }
  if (slot != nullptr) {
    platform::tell_acquire(slot);
    slot->maker->destroy(*slot, slot->record.reason);
    platform::tell_release(slot);
  }
  tell_kernel(
      [slot](pool_kernel& kernel) {
        slot != nullptr ? kernel.on_destroyed(*slot) : kernel.on_more();
      },
      out);
  return true;
}

/// By a thread that keeps the core alive.
void pool_core::run_task(pool_slot& slot) noexcept {
  effects out;
  if (slot.record.task == slot_task::create) {
    (void)create(slot, {}, {});
  } else if (slot.record.task == slot_task::none) {  // it is closing
    out.destroy.push(slot);
  } else {
    const bool is_reset = slot.record.task == slot_task::reset;
    const bool is_fit = is_reset ? passes(slot, nullptr) : is_valid(slot, {}, {});
    tell_kernel([&](pool_kernel& kernel) { kernel.on_checked(slot, is_fit); }, out);
  }
  run(out, /*by_pool=*/false);
}

/// Calls `f` with a token that a close, a flush and `stop` ask to stop. False: it does not, since a
/// flush came before.
template <class F>
bool pool_core::stoppable(const pool_slot& slot, const std::stop_token& stop, const F& f) noexcept {
  const slot_group& group = detail::group_of(slot);
  bool is_current = false;
  const std::stop_token closed = locked([&] {
    is_current = slot.epoch.get() == group.cache.epoch();
    return group.factory.stop.get_token();
  });
  if (!is_current || !stop.stop_possible()) {
    return is_current && (f(closed), true);
  }
  std::stop_source both(std::nostopstate);
  attempt([&] { both = std::stop_source(); }, [] {});  // without memory `stop` is not heard
  const auto end = [&both]() noexcept { (void)both.request_stop(); };
  const std::stop_callback on_close(closed, end);
  const std::stop_callback on_stop(stop, end);
  f(both.stop_possible() ? both.get_token() : closed);
  return true;
}

/// Also true where a flush came before: the kernel ends the resource in any case.
bool pool_core::is_valid(pool_slot& slot, const deadline& until,
                         const std::stop_token& stop) noexcept {
  bool passed = true;
  (void)stoppable(slot, stop, [&](const std::stop_token& token) {
    const create_context context{within(settings_.validate_timeout, until).moment(), token};
    passed = passes(slot, &context);
  });
  return passed;
}

/// Validates a resource, or resets it if there is no context.
bool pool_core::passes(pool_slot& slot, const create_context* context) noexcept {
  std::string text;
  platform::tell_acquire(&slot);
  const bool passed = slot.maker->check(slot, context, text);
  platform::tell_release(&slot);
  if (!text.empty()) {
    tell({.what = context != nullptr ? pool_event::kind::validate_failed
                                     : pool_event::kind::reset_failed,
          .text = text},
         detail::group_of(slot).name.pool);
  }
  return passed;
}

/// A new resource that the caller keeps; nothing if there is none, or others have it.
slot_grant pool_core::create(pool_slot& slot, const deadline& until,
                             const std::stop_token& stop) noexcept {
  const slot_group& group = detail::group_of(slot);  // may go as soon as the kernel is told
  const nanos begin = steady_now();
  create_outcome outcome;
  const bool is_current = stoppable(slot, stop, [&](const std::stop_token& token) {
    platform::tell_acquire(&slot);
    outcome = slot.maker->create(slot, {within(settings_.create_timeout, until).moment(), token});
    platform::tell_release(&slot);
  });
  outcome.permanent |= settings_.on_create_error == create_errors::fail_fast;
  const auto why = outcome.error;
  const auto name = group.name.pool;
  const bool made = outcome.made;
  slot_grant kept;
  tell_event(traced_act::create, settings_.pool_name, begin, made ? 1 : 0);
  apply([&](pool_kernel& kernel) { kernel.on_created(slot, outcome, begin, kept); });
  if (!made && is_current) {
    tell({.what = pool_event::kind::create_failed,
          .error = why != nullptr ? why->error : nullptr,
          .text = why != nullptr ? std::string_view(why->text) : std::string_view()},
         name);
  }
  return kept;
}

/// `name`: of the pool with a key; null: the pool's own.
void pool_core::tell(pool_event event,
                     const std::shared_ptr<const std::string>& name) const noexcept {
  if (settings_.on_event) {
    event.pool = name != nullptr ? *name : settings_.pool_name;
    settings_.on_event(event);
  }
}

void pool_core::tick(bool by_pool) noexcept {
  require_own_copy(origin_);
  const auto alive = weak_from_this().lock();
  if (is_foreign()) {
    return;
  }
  const nanos age = age_now(settings_, steady_now());
  effects out;
  tell_kernel([age](pool_kernel& kernel) { kernel.on_tick(age); }, out);
  run(out, by_pool);
  runner_->run_posted();
  remove_unused_groups();
}

// ---- acquire ------------------------------------------------------------------------------------

acquire_outcome pool_core::acquire(acquire_call request) {
  require_own_copy(origin_);
  const auto alive = shared_from_this();
  if (is_foreign()) {
    return failed(acquire_failure::other_process, {});
  }
  if (own_thread_offset() == 0) {
    assign_thread_number();
  }
  const bool looks = !prepare_new(request) && !request.stop.stop_requested();
  slot_grant got = looks ? try_acquire_slow(request) : slot_grant{};
  acquire_waiter waiter(request.until, this_thread_id());
  waiter.is_urgent = request.is_urgent;
  waiter.overtaken.may_look = calling == nullptr;
  bool queued = false;
  for (bool again = false; got.slot == nullptr; again = true) {
    enqueue(waiter, request, again);
    wait(waiter, request);
    if (!waiter.word.given()) {
      return failed(waiter.cause(), waiter.why);
    }
    if (waiter.kind == grant_kind::validate && request.until.is_at_once()) {
      request.until = deadline::after(settings_.validate_timeout);  // for all that it validates
    }
    got = use(waiter, request);
    queued = got.slot == waiter.grant.slot;
  }
  got.slot->note_holder(gate_->now(), this_thread_id(), std::uncaught_exceptions(), request.at);
  gate_->begin_use(*got.slot, queued);
  platform::tell_acquire(got.slot);
  return {.grant = got, .why = nullptr};
}

/// The idle resource in the lowest place, if it is fresh. Of a key: found under the mutex.
slot_grant pool_core::try_acquire_slow(const acquire_call& request) {
  if (main_ != nullptr) {
    return main_->take_lowest();
  }
  const std::lock_guard<counted_mutex> guard(mutex_);
  idle_cache* const known = request.key->find();
  return known != nullptr ? known->take_lowest() : slot_grant{};
}

/// Prepares a key that is new for sure, so that it is looked up only once. Returns false if the key
/// may be known, or if there is none.
bool pool_core::prepare_new(const acquire_call& request) const {
  if (request.key == nullptr || gate_->may_know(request.key->hash())) {
    return false;
  }
  request.key->prepare();
  return true;
}

/// Prepares a key that is not known, or was forgotten since the last time.
void pool_core::enqueue(acquire_waiter& waiter, const acquire_call& request, bool again) {
  while (!begin_wait(waiter, request, again)) {
    request.key->prepare();
  }
}

/// `again`: what the waiter was given was of no use. False: the key is neither known nor prepared.
bool pool_core::begin_wait(acquire_waiter& waiter, const acquire_call& request, bool again) {
  waiter.word.reopen();
  const bool is_stopped = request.stop.stop_requested();
  const bool is_late = again && !request.until.is_at_once() && request.until.passed();
  return apply_to([&] { return find_or_add(request.key); },
                  [&](pool_kernel& kernel, slot_group& group) {
                    waiter.group = &group;
                    if (is_stopped || is_late) {
                      kernel.on_refused(waiter, is_stopped ? acquire_failure::cancelled
                                                           : acquire_failure::timed_out);
                    } else {
                      kernel.on_acquire(waiter, again);
                    }
                  });
}

/// Until the wait has ended. A thread that ends its own wait tells the kernel.
void pool_core::wait(acquire_waiter& waiter, const acquire_call& request) noexcept {
  if (!waiter.word.open()) {
    return;
  }
  if (settings_.detect_hold_and_wait && holds_any(waiter.thread)) {
    apply([&](pool_kernel& kernel) { kernel.on_hold_and_wait(waiter); });
  }
  const std::int64_t begin = begin_event();
  bool left = false;
  const auto cancel = [&waiter]() noexcept {
    const auto* const word = waiter.word.address();
    const auto cause = static_cast<std::uint32_t>(acquire_failure::cancelled);
    if (waiter.word.cancel(cause) == wait_word::ending::asleep) {
      unpark(word);
    }
  };
  {
    const std::stop_callback on_stop(request.stop, cancel);
    for (int spin = 0; spin < tuning::spins_before_sleep && waiter.word.open(); ++spin) {
      cpu_pause();
    }
    while (!left && waiter.word.open()) {
      left = sleeps_too_long(waiter);
    }
  }
  platform::tell_acquire(waiter.word.address());
  tell_event(traced_act::wait, settings_.pool_name, begin, waiter.word.given() ? 1 : 0);
  if (left || (!waiter.word.given() && waiter.cause() == acquire_failure::cancelled)) {
    apply([&](pool_kernel& kernel) { kernel.on_left(waiter); });
  }
}

/// Sleeps until the wait ends or the waiter has to look around. True: its time was up, and it has
/// ended its wait. In a pool without threads it also looks when something has become due.
bool pool_core::sleeps_too_long(acquire_waiter& waiter) noexcept {
  const bool is_manual = !settings_.has_threads();
  call_before_sleep();
  if (is_manual || settings_.is_barging) {
    apply([&](pool_kernel& kernel) { kernel.on_look(waiter); });
  } else {
    waiter.word.begin_sleep();
  }
  deadline alarm = waiter.until;
  if (is_manual && waiter.wakes_at != never) {
    const nanos left = std::max<nanos>(waiter.wakes_at - steady_now(), 1);
    alarm = within(std::chrono::nanoseconds(left), alarm);
  }
  if (!waiter.word.open() || waiter.word.sleep(alarm) || !waiter.until.passed()) {
    return false;
  }
  return waiter.word.cancel(static_cast<std::uint32_t>(acquire_failure::timed_out)) !=
         wait_word::ending::too_late;
}

/// What the waiter was given, once it is fit for use; nothing if it is of no use.
slot_grant pool_core::use(acquire_waiter& waiter, const acquire_call& request) noexcept {
  pool_slot& slot = *waiter.grant.slot;
  if (waiter.kind == grant_kind::create) {
    const bool is_try = request.until.is_at_once();
    const slot_grant made = create(slot, is_try ? deadline() : request.until, request.stop);
    return made.slot != nullptr || !is_try ? made : try_acquire_slow(request);
  }
  if (waiter.kind == grant_kind::resource) {
    return waiter.grant;
  }
  const bool valid = is_valid(slot, request.until, request.stop);
  if (valid && slot.epoch.get() == slot.record.cache->epoch()) {
    slot.validated(gate_->now(), settings_.life);
    return waiter.grant;
  }
  discard_as(slot, valid ? destroy_reason::flushed : destroy_reason::invalid);
  return {};
}

bool pool_core::holds_any(std::uint32_t thread) const noexcept {
  return kernel_->table.find([&](const pool_slot& slot) {
    return slot.thread.get() == thread && slot.state() == resource_state::in_use;
  }) != nullptr;
}

/// Costs the same however many leases are out.
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
  attempt(explain, [] {});  // the cause says enough
  return out;
}

// ---- callbacks ----------------------------------------------------------------------------------

/// A callback that waits. On the heap; deletes itself when the callback has been called.
class callback_waiter : public acquire_waiter {
 public:
  callback_waiter(std::shared_ptr<pool_core> pool, const acquire_call& request,
                  acquire_completion completion)
      : acquire_waiter(request.until, 0, &callback_waiter::ended),
        core(std::move(pool)),
        done(std::move(completion)),
        at(request.at) {}

  struct stopper {
    callback_waiter* waiter;
    void operator()() const noexcept;
  };
  static void ended(acquire_waiter& waiter) noexcept;

  // NOLINTBEGIN(*-non-private-member-variables-in-classes): the core's note
  std::shared_ptr<pool_core> core;
  acquire_completion done;
  place at;
  bool is_stopped = false;  ///< under the mutex
  std::optional<std::stop_callback<stopper>> on_stop;
  // NOLINTEND(*-non-private-member-variables-in-classes)
};

/// Takes an idle resource without the lock, the thread's last one first.
slot_grant pool_core::begin_use_of_idle(place at) noexcept {
  slot_grant idle = main_->try_acquire_last(at);  // begins its use
  if (idle.slot == nullptr) {
    idle = main_->take_lowest();
    if (idle.slot != nullptr) {
      gate_->begin_use(*idle.slot);
    }
  }
  return idle;
}

void pool_core::acquire_async(const acquire_call& request, acquire_completion done) {
  require_own_copy(origin_);
  const auto alive = shared_from_this();
  if (is_foreign()) {
    done(failed(acquire_failure::other_process, {}));
    return;
  }
  if (main_ != nullptr && !request.stop.stop_requested()) {
    const slot_grant idle = begin_use_of_idle(request.at);
    if (idle.slot != nullptr) {
      // It may be used by any thread.
      idle.slot->note_holder(gate_->now(), 0, std::uncaught_exceptions(), request.at);
      idle.slot->resets_by_pool.set(/*value=*/true);
      platform::tell_acquire(idle.slot);
      done({.grant = idle, .why = nullptr});
      return;
    }
  }
  auto waiter = std::make_unique<callback_waiter>(alive, request, std::move(done));
  waiter->on_stop.emplace(request.stop, callback_waiter::stopper{waiter.get()});
  const auto begin = [&](pool_kernel& kernel, slot_group& group) {
    callback_waiter& node = *waiter.release();
    node.group = &group;
    node.is_stopped ? kernel.on_refused(node, acquire_failure::cancelled)
                    : kernel.on_acquire(node, /*again=*/false);
  };
  (void)prepare_new(request);
  while (!apply_to([&] { return find_or_add(request.key); }, begin)) {
    request.key->prepare();
  }
}

void callback_waiter::stopper::operator()() const noexcept {
  waiter->core->apply([this](pool_kernel& kernel) {
    waiter->is_stopped = true;
    if (waiter->word.open() && wait_queue::contains(*waiter)) {  // or it is about to be called
      kernel.on_refused(*waiter, acquire_failure::cancelled);
    }
  });
}

void callback_waiter::ended(acquire_waiter& waiter) noexcept {
  // NOLINTNEXTLINE(cppcoreguidelines-pro-type-static-cast-downcast): only these have this function
  const std::unique_ptr<callback_waiter> self(static_cast<callback_waiter*>(&waiter));
  self->on_stop.reset();
  pool_core& core = *self->core;
  acquire_outcome outcome;
  if (self->word.given()) {
    outcome.grant = self->grant;
    self->grant.slot->note_holder(core.kernel_->gate.now(), 0, std::uncaught_exceptions(),
                                  self->at);
    core.gate_->begin_use(*self->grant.slot, /*queued=*/true);
    self->grant.slot->resets_by_pool.set(/*value=*/true);
    platform::tell_acquire(self->grant.slot);
  } else {
    outcome = core.failed(self->cause(), self->why);
  }
  self->done(std::move(outcome));
}

// ---- release ------------------------------------------------------------------------------------

void idle_cache::release_slow(const slot_grant& grant) noexcept {
  core_->release_slow(grant, was_unwound(*grant.slot));
}

/// The kernel decides what becomes of the slot.
void idle_cache::release_marked(const slot_grant& grant) noexcept {
  const auto alive = core_->weak_from_this().lock();  // until the end of this function
  platform::tell_release(grant.slot);
  core_->apply([&](pool_kernel& kernel) { kernel.on_released(*grant.slot, /*resets=*/false); });
}

/// The slot is idle already, and may be gone; this group stays until the mark ends.
void idle_cache::serve(leaving_mark& leaving) noexcept {
  if (const auto alive = core_->weak_from_this().lock()) {  // or the slot has found its end already
    alive->apply([&](pool_kernel& kernel) {
      leaving.end();
      kernel.on_idle(*group());
    });
  }
}

/// A use has ended that needs more than a compare-and-swap.
void pool_core::release_slow(const slot_grant& grant, bool unwound) noexcept {
  if (is_foreign()) {
    return;
  }
  const auto alive = weak_from_this().lock();  // as above
  pool_slot& slot = *grant.slot;
  platform::tell_release(&slot);
  if (unwound || slot.uses() >= settings_.life.max_uses) {
    discard_as(slot, unwound ? destroy_reason::discarded : destroy_reason::used_up);
    return;
  }
  if (slot.maker->can_reset() && is_reset_by_pool(slot)) {
    apply([&](pool_kernel& kernel) { kernel.on_released(slot, /*resets=*/true); });
    return;
  }
  bool ended = false;  // a reset may take long, and would be for no user
  idle_cache& cache = *slot.record.cache;
  if (slot.word().marked() || slot.is_over(gate_->now(), cache.epoch()) || cache.is_flagged()) {
    apply([&](pool_kernel& kernel) { kernel.on_returning(slot, ended); });
  }
  if (ended) {
    return;
  }
  slot.note_receiver(0);  // a reset is no part of the lease
  if (slot.maker->can_reset() && !passes(slot, nullptr)) {
    discard_as(slot, destroy_reason::reset_refused);
    return;
  }
  slot.used_until(gate_->now(), settings_.life);
  cache.offer(grant);
}

bool pool_core::is_reset_by_pool(pool_slot& slot) const noexcept {
  const bool is_async = slot.resets_by_pool.get();
  slot.resets_by_pool.set(/*value=*/false);
  return settings_.reset_by == lido::reset_by::automatic
             ? is_async && settings_.has_threads()
             : settings_.reset_by == lido::reset_by::pool_threads;
}

void pool_core::discard_as(pool_slot& slot, destroy_reason why) noexcept {
  const auto alive = weak_from_this().lock();  // as above
  apply([&](pool_kernel& kernel) { kernel.on_discarded(slot, why); });
}

void pool_core::discard(const slot_grant& grant) noexcept {
  gate_->end_use(*grant.slot);
  platform::tell_release(grant.slot);
  discard_as(*grant.slot, destroy_reason::discarded);
}

void pool_core::detach(const slot_grant& grant) noexcept {
  const auto alive = weak_from_this().lock();  // as above
  gate_->end_use(*grant.slot);
  platform::tell_release(grant.slot);
  apply([&](pool_kernel& kernel) { kernel.on_detached(*grant.slot); });
}

/// Under the mutex. Null: the key is neither known nor prepared.
slot_group* pool_core::find_or_add(sought_key* key) {
  idle_cache* cache = main_;
  if (key != nullptr) {
    cache = key->is_prepared() ? &key->add(*this) : key->find();
  }
  return cache != nullptr ? cache->group() : nullptr;
}

}  // namespace lido::inline v0::detail
