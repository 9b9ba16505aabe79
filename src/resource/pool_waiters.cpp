// Decides which waiter gets which resource, and how waits end.
#include "pool_waiters.hpp"

#include <algorithm>
#include <chrono>
#include <utility>

#include "../platform/platform.hpp"
#include "lido/base/assert.hpp"
#include "resource_tuning.hpp"

namespace lido::inline v0::detail {

// ---- queues -------------------------------------------------------------------------------------

/// Puts an urgent waiter behind all other urgent waiters and in front of the rest.
void pool_waiters::join(acquire_waiter& waiter) noexcept {
  slot_group& group = *waiter.group;
  const bool is_first = waiter.comes_back();
  const bool is_early = is_first || waiter.came.is_urgent;
  waiter.came.at = context_.now.real;
  // A waiter that is put at or near the front takes the order of the first waiter in the queue.
  waiter.came.order =
      is_early && !group.queue.empty() ? group.queue.first()->came.order : ++arrivals_;
  acquire_waiter* next = is_early ? group.queue.first() : nullptr;
  while (!is_first && next != nullptr && next->came.is_urgent) {
    next = acquire_queue::after(*next);
  }
  group.queue.insert(waiter, next);
  // A waiter whose deadline allows no waiting never sleeps.
  note_awake(waiter, waiter.may_look && !waiter.until.is_at_once());
  deadlines_.push(waiter, waiter.until.nanoseconds());
  set_flags(group);  // must precede reads of idle resources: see slow_path_flags.hpp (2)
}

void pool_waiters::leave(acquire_waiter& waiter) noexcept {
  slot_group& group = *waiter.group;
  LIDO_ASSERT(waiter_deadlines::contains(waiter), "a waiter in a queue has no deadline");
  note_awake(waiter, /*on=*/false);
  group.queue.remove(waiter);
  deadlines_.remove(waiter);
  set_flags(group);
  if (!context_.has_groups && group.queue.empty() && group.request.wanted == 0) {
    return;  // there is no other waiter, and nothing was planned for this one
  }
  quota_.forget(group);         // `match` will plan again what the waiters need
  context_.match_later(group);  // other waiters may look for a resource instead of this one
}

void pool_waiters::note_left(acquire_waiter& waiter) noexcept {
  slot_group& group = *waiter.group;
  if (acquire_queue::contains(waiter)) {
    leave(waiter);
  } else {
    LIDO_ASSERT(group.self_ended != 0, "more threads say that they ended a wait than did");
    --group.self_ended;
  }
  pool_numbers::count_failure(group, waiter.cause());
  explain(waiter);
}

void pool_waiters::refuse(acquire_waiter& waiter, acquire_failure cause) noexcept {
  slot_group& group = *waiter.group;
  if (acquire_queue::contains(waiter)) {
    leave(waiter);
  }
  explain(waiter);
  if (end_wait(waiter, cause)) {
    pool_numbers::count_failure(group, cause);
  }
}

void pool_waiters::refuse_all(slot_group& group, acquire_failure cause) noexcept {
  while (!group.queue.empty() && !context_.out->is_full()) {
    refuse(*group.queue.first(), cause);
  }
  if (!group.queue.empty()) {
    context_.match_later(group);
  }
}

void pool_waiters::refuse_late() noexcept {
  while (deadlines_.least_key() <= context_.now.real && !context_.out->is_full()) {
    refuse(*deadlines_.first(), acquire_failure::timed_out);
  }
}

acquire_waiter* pool_waiters::first_open(slot_group& group) noexcept {
  while (acquire_waiter* const waiter = group.queue.first()) {
    if (waiter->word.open() && !waiter->is_late(context_.now.real)) {
      return waiter;
    }
    if (context_.out->is_full()) {
      context_.match_later(group);
      return nullptr;
    }
    // If the waiter was cancelled, that remains the cause.
    refuse(*waiter, acquire_failure::timed_out);
  }
  return nullptr;
}

/// Lets the waiter wait for as long as two answers may take: one from this resource, and one from
/// the resource that is asked next.
void pool_waiters::wait_for_answer(acquire_waiter& waiter) noexcept {
  waiter.until = deadline::at_nanoseconds(
      later(context_.now.real, 2 * resource_tuning::nanoseconds_for_answer));
  deadlines_.remove(waiter);
  deadlines_.push(waiter, waiter.until.nanoseconds());
}

void pool_waiters::note_exhausted(const acquire_waiter& waiter) noexcept {
  slot_group& group = *waiter.group;
  const std::size_t reserve = waiter.came.is_urgent ? context_.settings.reserve : 0;
  const bool is_whole = group.counts.live() >= group.limits.max_size + reserve;
  const bool total_is_taken = quota_.is_full() && slots_.counts().evicted() < quota_.wanted();
  const bool is_served =
      group.queue.size() <= group.counts.awaited() + group.counts.shared_creates();
  const bool is_exhausted = (is_whole || total_is_taken) && !is_served && !context_.is_suspended;
  group.totals.exhausted += is_exhausted ? 1 : 0;
}

bool pool_waiters::are_too_many(const slot_group& group) const noexcept {
  const std::size_t waiters = group.queue.size();
  const std::size_t most = context_.settings.max_waiters;
  return waiters > most && waiters - most > group.counts.awaited() + group.counts.shared_creates();
}

void pool_waiters::set_flags(slot_group& group) const noexcept {
  const acquire_waiter* const first = group.queue.first();
  std::uint32_t flags = group.has_surplus() ? slow_path_flags::ask_kernel : 0U;
  if (first != nullptr) {
    flags |= group.awake != 0 && first->may_look ? slow_path_flags::ask_when_due
                                                 : slow_path_flags::ask_kernel;
  }
  group.cache.set_flags(flags, first != nullptr ? due_at(*first) : never);
}

// ---- ends of waits ------------------------------------------------------------------------------

/// Ends the wait of a waiter that is in no queue. Either the waiter was given something, or `cause`
/// is why it gets nothing. The effects then wake its thread, or call its callback. Returns false if
/// its thread has already ended the wait, and will report that. Once the wait of a thread has
/// ended, only the address of the word is used, since the waiter may be gone.
bool pool_waiters::end_wait(acquire_waiter& waiter,
                            std::optional<acquire_failure> cause) const noexcept {
  slot_group& group = *waiter.group;
  const auto* const word = waiter.word.address();
  const bool is_callback = waiter.is_callback();
  platform::tell_release(word);
  const wait_word::ending found =
      cause ? waiter.word.cancel(static_cast<std::uint32_t>(*cause)) : waiter.word.give();
  if (found == wait_word::ending::too_late) {
    ++group.self_ended;
    return false;
  }
  if (is_callback) {
    context_.out->call.push_back(waiter);
  } else if (found == wait_word::ending::asleep) {
    context_.out->wake_later(word);
  }
  return true;
}

/// Records what a failed acquire reports. Called before the wait ends, since the waiter of a thread
/// may be gone afterwards.
void pool_waiters::explain(acquire_waiter& waiter) noexcept {
  constexpr std::uint32_t few = 64;
  slot_group& group = *waiter.group;
  refusal& why = waiter.why;
  why.counts = numbers_.counts_of(group);
  if (context_.is_suspended) {
    why.counts.idle = resource_slots::count_idle(group);
    why.counts.in_use -= why.counts.idle;
  }
  why.total_live = slots_.counts().live();
  why.max_total = context_.has_groups ? quota_.max_total() : 0;
  why.pool = group.name.pool;
  why.error = group.factory.error;
  why.holders = table_.size() > few ? monitor_.longest() : holder_list();
  const auto look = [&](const pool_slot& slot) {
    if (slot.state() == resource_state::in_use) {
      why.holders.note(slot, slot.held_for(context_.now.age));
    }
    return slot.number + 1 == few;
  };
  if (why.holders.empty()) {
    (void)table_.find(look);
  }
}

// ---- hand-over ----------------------------------------------------------------------------------

bool pool_waiters::hand_over(acquire_waiter& waiter, pool_slot& slot, grant_kind kind) noexcept {
  slot_group& group = *waiter.group;
  leave(waiter);
  // Clamped to zero, since threads read the clock before they lock the mutex.
  const auto waited =
      std::chrono::nanoseconds(std::max<nanos>(context_.now.real - waiter.came.at, 0));
  slot.note_receiver(waiter.thread);
  waiter.grant = {&slot, slot.word().in(slot.state())};  // a ticket has no mark
  waiter.kind = kind;
  if (!end_wait(waiter, {})) {
    return false;
  }
  if (kind != grant_kind::create) {
    ++group.totals.handed_over;
    numbers_.note_high_water(group);
    numbers_.count_wait(group, waited);
  }
  return true;
}

/// Returns the real time from which the first waiter is handed a resource instead of having to look
/// for one.
nanos pool_waiters::due_at(const acquire_waiter& waiter) const noexcept {
  return waiter.may_look
             ? (std::max)(waiter.came.at + resource_tuning::nanoseconds_overtaking,
                          last_hand_over_ + resource_tuning::nanoseconds_between_hand_overs)
             : 0;
}

bool pool_waiters::is_due(const acquire_waiter& waiter) const noexcept {
  return context_.now.real >= due_at(waiter);
}

void pool_waiters::note_awake(acquire_waiter& waiter, bool on) noexcept {
  LIDO_ASSERT(!waiter.is_awake || waiter.group->awake != 0, "more waiters are awake than counted");
  if (waiter.is_awake != on) {
    waiter.is_awake = on;
    waiter.group->awake += on ? 1U : static_cast<std::uint32_t>(-1);
  }
}

void pool_waiters::begin_sleep(acquire_waiter& waiter) const noexcept {
  note_awake(waiter, /*on=*/false);
  set_flags(*waiter.group);  // must precede the waiter's last look: see slow_path_flags.hpp (2)
}

void pool_waiters::wake(acquire_waiter& waiter) const noexcept {
  if (waiter.word.poke()) {
    note_awake(waiter, waiter.may_look);
    context_.out->wake_later(waiter.word.address());
  }
}

/// Wakes waiters in FIFO order until as many are awake as there are idle resources that are fit.
void pool_waiters::wake_to_look(slot_group& group) const noexcept {
  const std::uint32_t idle = slots_.count_fit(group);
  for (acquire_waiter* waiter = group.queue.first(); waiter != nullptr && group.awake < idle;
       waiter = acquire_queue::after(*waiter)) {
    if (context_.out->is_full()) {
      context_.match_later(group);
      break;
    }
    if (waiter->may_look) {
      wake(*waiter);
    }
  }
  set_flags(group);
}

/// Hands a waiter an idle resource. Returns false if no resource is idle. Marks the resources in
/// use that it visits, so that their releases ask the kernel.
bool pool_waiters::give_idle_to(acquire_waiter& waiter) noexcept {
  slot_group& group = *waiter.group;
  group.has_stale = false;
  if (!group.cache.may_have_idle()) {
    return false;
  }
  pool_slot* const slot =
      group.cache.find_maybe_idle([&](pool_slot& one) { return slots_.take_or_mark(group, one); });
  if (slot != nullptr && !hand_over(waiter, *slot, grant_kind::resource)) {
    slots_.make_idle(*slot);
  }
  return slot != nullptr;
}

/// Gives an idle resource, if there is one, to a waiter whose thread is running.
void pool_waiters::look(acquire_waiter& waiter) noexcept {
  const bool waits = waiter.word.open() && !waiter.is_late(context_.now.real);
  if (waits && waiter.may_look) {
    (void)give_idle_to(waiter);
  }
}

void pool_waiters::give_idle(slot_group& group, acquire_waiter* looker) noexcept {
  if (looker != nullptr) {
    look(*looker);
  }
  context_.forget_match(group);  // the code below takes all changes into account
  while (acquire_waiter* const waiter = first_open(group)) {
    if (context_.out->is_full()) {
      context_.match_later(group);
      return;
    }
    if (!is_due(*waiter)) {
      wake_to_look(group);
      return;
    }
    const bool could_look = waiter->may_look;  // the waiter may be gone after the hand-over
    if (!give_idle_to(*waiter)) {
      return;
    }
    last_hand_over_ = could_look ? context_.now.real : last_hand_over_;
  }
}

void pool_waiters::give_or_make_idle(slot_group& group, pool_slot& slot, bool is_owed) noexcept {
  const bool gives = !context_.is_suspended && !context_.out->is_full() && !is_owed;
  while (acquire_waiter* const waiter = gives ? first_open(group) : nullptr) {
    // A resource that was validated for a waiter would need another validation if it were left
    // idle.
    if (!is_due(*waiter) && !slots_.needs_validation(group, slot)) {
      break;
    }
    const bool could_look = waiter->may_look;
    // While other waiters remain, the mark makes the release of this slot ask the kernel.
    slots_.put_in_use(slot, /*marks=*/group.queue.size() > 1);
    if (hand_over(*waiter, slot, grant_kind::resource)) {
      last_hand_over_ = could_look ? context_.now.real : last_hand_over_;
      return;
    }
  }
  slots_.make_idle(slot);
}

/// Returns the first waiter for which `replace_unasked` has not yet closed a resource, or null.
acquire_waiter* pool_waiters::first_without_replacement(const slot_group& group) noexcept {
  acquire_waiter* waiter = group.queue.first();
  while (waiter != nullptr && (waiter->silence.has_replacement || !waiter->word.open())) {
    waiter = acquire_queue::after(*waiter);
  }
  return waiter;
}

nanos pool_waiters::next_replacement(const slot_group& group) const noexcept {
  constexpr std::uint32_t few = 2;
  const bool is_silent = context_.settings.has_threads() && group.counts.silent() >= few;
  const acquire_waiter* const waiter = is_silent ? first_without_replacement(group) : nullptr;
  return waiter != nullptr ? later(waiter->came.at, group.factory.patience()) : never;
}

/// Replaces idle resources when several others do not answer, since the idle ones may be dead, too.
/// A waiter does not wait for the answer of each resource. Instead, a resource that was not asked
/// is closed to make room for a create. No more resources are replaced than there are waiters, and
/// a single lost answer destroys nothing.
void pool_waiters::replace_unasked(slot_group& group) noexcept {
  const slot_counts& counts = group.counts;
  while (!context_.is_suspended && next_replacement(group) <= context_.now.real) {
    const std::uint32_t room =
        group.limits.max_size - (std::min)(group.limits.max_size, counts.live());
    const std::uint32_t served = counts.awaited() + counts.creating() + counts.closing() + room;
    pool_slot* const slot = served < group.queue.size()
                                ? slots_.take_stale(group, resource_state::checking, /*only=*/false)
                                : nullptr;
    if (slot == nullptr) {
      return;
    }
    slots_.close(*slot, destroy_reason::invalid);
    if (acquire_waiter* const waiter =
            first_without_replacement(group)) {  // null if the waiter has ended its wait
      waiter->silence.has_replacement = true;
    }
  }
}

void pool_waiters::validate_idle(slot_group& group) noexcept {
  replace_unasked(group);
  while (group.has_stale && !context_.is_suspended && !context_.out->is_full()) {
    acquire_waiter* const first = first_open(group);
    if (first == nullptr) {
      return;
    }
    const bool may_create = group.counts.live() < group.limits.max_size && !quota_.is_full() &&
                            !group.retry.waits(context_.now.real, /*is_asked=*/true);
    if (!context_.settings.has_threads() && first->silence.in_validation && may_create) {
      return;  // the waiter creates a resource instead
    }
    if (give_unchecked(group, *first)) {
      continue;
    }
    if (group.counts.awaited() >= group.queue.size() ||
        group.counts.validating() > group.limits.max_creating) {
      return;
    }
    pool_slot* const slot = slots_.take_stale(group, resource_state::checking, /*only=*/false);
    group.has_stale = slot != nullptr;
    if (slot != nullptr) {
      slots_.begin_check(*slot, slot_task::validate);
    }
  }
}

/// Hands a waiter an idle resource, which the waiter validates itself.
bool pool_waiters::give_unchecked(slot_group& group, acquire_waiter& waiter) noexcept {
  const bool needs_no_answer = !context_.settings.has_threads();
  const nanos end = later(context_.now.real, context_.settings.validate_timeout.count());
  // Give a thread only a resource that cannot be replaced while the thread waits, since a missing
  // answer blocks the thread.
  const bool is_alone = group.limits.max_size == 1 && group.queue.size() == 1 &&
                        group.counts.checking() == 0 && waiter.until.nanoseconds() > end;
  if (waiter.is_callback() || (!needs_no_answer && !is_alone)) {
    return false;
  }
  pool_slot* const slot = slots_.take_stale(group, resource_state::in_use, !needs_no_answer);
  if (slot == nullptr) {
    return false;
  }
  slots_.list(*slot);
  if (!hand_over(waiter, *slot, grant_kind::validate)) {
    slots_.make_idle(*slot);
  }
  return true;
}

// ---- hold and wait ------------------------------------------------------------------------------

/// Checks for a ring of threads that wait for each other's resources. Only the last thread to join
/// a ring can close the ring. That thread holds a resource, so acquires by threads that hold none
/// do not pay for this check.
bool pool_waiters::is_deadlock(const slot_group& group) const noexcept {
  const std::uint32_t live = group.counts.live();
  if (context_.has_groups || live == 0 || live < group.limits.max_size) {
    return false;
  }
  return table_.find([&](const pool_slot& slot) {
    const resource_state state = slot.state();
    return state == resource_state::in_use ? !is_waiting(group, slot.lease.thread.get())
                                           : state != resource_state::empty;
  }) == nullptr;
}

bool pool_waiters::is_waiting(const slot_group& group, std::uint32_t thread) const noexcept {
  const acquire_waiter* waiter = thread == 0 ? nullptr : group.queue.first();
  // Skip waiters that give up: such a waiter is about to leave the queue, and then to release what
  // it holds.
  while (waiter != nullptr && (waiter->thread != thread || !waiter->word.open() ||
                               waiter->until.nanoseconds() <= context_.now.real)) {
    waiter = acquire_queue::after(*waiter);
  }
  return waiter != nullptr;
}

void pool_waiters::end_deadlock(slot_group& group) noexcept {
  if (!context_.settings.detect_hold_and_wait || group.queue.empty() || context_.out->is_full() ||
      !is_deadlock(group)) {
    return;
  }
  acquire_waiter* last = nullptr;
  for (acquire_waiter* waiter = group.queue.first(); waiter != nullptr;
       waiter = acquire_queue::after(*waiter)) {
    const bool waits = waiter->word.open() && waiter->until.nanoseconds() > context_.now.real;
    last = waits && waiter->holds ? waiter : last;
  }
  if (last != nullptr) {
    refuse(*last, acquire_failure::self_deadlock);
  }
}

}  // namespace lido::inline v0::detail
