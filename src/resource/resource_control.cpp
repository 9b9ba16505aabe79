// What is done to a pool as a whole.
#include <algorithm>
#include <stdexcept>
#include <utility>

#include "lido/base/error.hpp"
#include "lido/concurrency/backoff.hpp"
#include "lido/resource/resource_core.hpp"

namespace lido::detail {

namespace {

std::unique_ptr<slot_block> make_block(block_maker make, resource_core* core, std::uint32_t first,
                                       std::uint32_t size) {
  auto block = make(size);
  for (std::uint32_t i = 0; i < size; ++i) {
    (*block)[i].core = core;
    (*block)[i].number = first + i;
  }
  return block;
}

}  // namespace

resource_core::resource_core(pool_settings settings, hooks_pointer hooks, block_maker make)
    : settings_(std::move(settings)),
      by_callers_(settings_.upkeep == maintenance::by_callers),
      overtaking_(settings_.overtake_for.count() != 0),
      corners_(settings_.corners),
      make_(make),
      first_block_(make_block(make, this, 0, std::max(1U, settings_.max_size))),
      max_size_(settings_.max_size),
      min_idle_(settings_.min_idle),
      slots_(first_block_->size()),
      random_(std::random_device{}()) {
  pending_.reserve(slots_);
  hooks_.push_back(std::move(hooks));
  (void)read_clock();
}

resource_core::~resource_core() {
  quiesce();
}

/// Until no thread is about to leave a release that has let go of its slot.
void resource_core::quiesce() const noexcept {
  for (const thread_corner& corner : corners_.all()) {
    // (1) - this acquire-load synchronizes-with the release-store resource_short_way.hpp (1) and
    // the release-fetch-sub resource_short_way.hpp (2)
    while (corner.leaving.load(std::memory_order_acquire) != 0) {
      yield_thread();
    }
  }
}

bool resource_core::kill(const resource_handle& handle) noexcept {
  resource_slot* const slot =
      find_slot([&](const resource_slot& candidate) { return candidate.number == handle.place; });
  if (slot == nullptr || !slot->doom(handle.birth)) {
    return false;
  }
  life_word ticket;
  if (slot->word().doomed() && slot->lend(ticket, life_state::checking)) {
    (void)look_after({slot, ticket}, /*may_ask=*/true);
    make_for_callbacks();
  }
  return true;
}

std::uint64_t resource_core::last_birth() const noexcept {
  std::uint64_t last = 0;
  (void)find_slot([&](const resource_slot& slot) {
    last = std::max(last, slot.word().birth());
    return false;
  });
  return last;
}

void resource_core::begin_behind(std::uint64_t birth) noexcept {
  (void)find_slot([&](resource_slot& slot) { return slot.begin_behind(birth), false; });
}

void resource_core::flush() noexcept {
  // relaxed: who misses it now sees it when it next looks at a resource
  epoch_.fetch_add(1, std::memory_order_relaxed);
  purge();
  make_for_callbacks();  // those that came while it ended something
}

/// Ends what is idle and over, and does not wait for maintenance.
void resource_core::purge() noexcept {
  find_slot([&](resource_slot& slot) {
    resource_grant grant{&slot, {}};
    if (slot.state() == life_state::idle && slot.is_over(now(), epoch()) &&
        slot.lend(grant.ticket, life_state::checking)) {
      (void)look_after(grant, /*may_ask=*/true);
    }
    return false;
  });
}

void resource_core::replace_hooks(hooks_pointer hooks) {
  hooks_pointer before;
  std::exception_ptr error;  // of the one before; not ended under the mutex
  {
    const lock guard(mutex_);
    before = hooks_.back();
    hooks_.push_back(std::move(hooks));  // the old ones end what they made
    // What they are making or asking will be flushed, and may hang: the new one does not wait for
    // it.
    outdated_ = creating_ - static_cast<std::uint32_t>(pending_.size());
    keeping_ = 0;
    away_ += std::exchange(asking_, 0);
    // relaxed: as in flush; here, so that nothing the new one makes is of the epoch before
    epoch_.fetch_add(1, std::memory_order_relaxed);
    retry_at_ = 0;
    retry_delay_ = 0;
    hopeless_ = false;
    create_error_.swap(error);
  }
  purge();
  before->stop();
  {
    aftermath after(*this);
    const lock guard(mutex_);
    refill(after);
  }
  make_for_callbacks();
}

void resource_core::resize(std::size_t max_size, std::optional<std::size_t> min_idle) {
  if (max_size > most_resources || (min_idle && *min_idle > max_size)) {
    throw_invalid_option(settings_.name,
                         "max_size " + std::to_string(max_size) +
                             (min_idle ? " with min_idle " + std::to_string(*min_idle) : "") +
                             " is not possible");
  }
  const auto size = static_cast<std::uint32_t>(max_size);
  catch_up_by_callers();  // the next try may be due
  {
    aftermath after(*this);
    const std::lock_guard one_at_a_time(growing_);
    add_slots(size);
    const lock guard(mutex_);
    max_size_ = size;
    min_idle_ = min_idle ? static_cast<std::uint32_t>(*min_idle) : min_idle_;
    drop_pending(size);
    end_deadlock(after);
    after_change(after);
  }
  shrink();
  make_for_callbacks();
}

/// Under `growing_`: memory is not asked for under the mutex.
void resource_core::add_slots(std::uint32_t size) {
  if (size <= slots_) {  // only changed here
    return;
  }
  slot_block* last = first_block_.get();
  while (last->next() != nullptr) {
    last = last->next();
  }
  auto block = make_block(make_, this, slots_, size - slots_);
  std::vector<resource_slot*> pending;
  pending.reserve(size);
  const lock guard(mutex_);
  pending.assign(pending_.begin(), pending_.end());
  pending.swap(pending_);
  last->append(std::move(block));
  slots_ = size;
}

/// Ends idle resources that are too many; those in use end when they come back. What ends them may
/// change the size again.
void resource_core::shrink() noexcept {
  for (resource_grant grant = take_surplus(); grant.slot != nullptr; grant = take_surplus()) {
    retire(grant, destroy_reason::surplus);
  }
}

resource_grant resource_core::take_surplus() noexcept {
  const lock guard(mutex_);
  if (!has_surplus()) {
    return {};
  }
  const resource_grant grant = scan(life_state::checking);
  if (grant.slot != nullptr) {
    shed_one();
  }
  return grant;
}

/// Why what comes back ends, if it does.
std::optional<destroy_reason> resource_core::why_unwanted() noexcept {
  if (!attention_.flagged()) {
    return {};
  }
  const lock guard(mutex_);
  if (attention_.is(attention::closed)) {
    return destroy_reason::closed;
  }
  if (!has_surplus()) {
    return {};
  }
  shed_one();
  return destroy_reason::surplus;
}

void resource_core::suspend() noexcept {
  const lock guard(mutex_);
  attention_.set(attention::suspended, /*on=*/true);
}

void resource_core::resume() noexcept {
  {
    aftermath after(*this);
    const lock guard(mutex_);
    attention_.set(attention::suspended, /*on=*/false);
    match(nullptr, after);
    refill(after);
  }
  make_for_callbacks();
}

close_report resource_core::close(const deadline& until) {
  const auto alive = shared_from_this();
  const std::size_t running = end(until);
  ended_waiters::deliver_before_a_sleep();  // who closes it within a callback of another pool
  return {.holders = leases(), .creating = running};
}

/// All of a close but the report, which takes memory. Returns what is still under way.
std::size_t resource_core::end(const deadline& until) noexcept {
  hooks_pointer latest;
  {
    aftermath after(*this);
    const lock guard(mutex_);
    latest = hooks_.back();
    attention_.set(attention::closed, /*on=*/true);
    cancel_all(acquire_failure::closed, after);
    drop_pending(0);
    after_change(after);
  }
  latest->stop();
  for (resource_grant grant = scan(life_state::checking); grant.slot != nullptr;
       grant = scan(life_state::checking)) {
    retire(grant, destroy_reason::closed);
  }
  const bool drained = wait_until_drained(until);
  // Whoever these threads run code of may do anything with the pool, but not close it.
  const std::lock_guard one_at_a_time(ending_);
  std::size_t running = 0;
  if (may_stop(drained, running)) {
    stop_threads(/*wait=*/true);
  }
  return running;
}

/// Whether no thread is in code of users; from then on none begins anything. A pool that was seen
/// drained stays so: its threads have rounds to come, but no code of users to run in them.
bool resource_core::may_stop(bool drained, std::size_t& running) noexcept {
  const lock guard(mutex_);
  running = drained ? 0 : running_;
  stopping_ |= running == 0;
  return running == 0;
}

/// Creates that have not begun and would bring the pool over `most`. By callers nobody may be there
/// to begin them: who was to do it may have given up.
void resource_core::drop_pending(std::uint32_t most) noexcept {
  while (!pending_.empty() && live_ > most) {
    pending_.back()->vanish();
    pending_.pop_back();
    --creating_;
    --live_;
  }
}

/// False: the time is up first.
bool resource_core::wait_until_drained(const deadline& until) noexcept {
  std::uint32_t seen = 0;
  while (!is_drained(seen)) {
    ended_waiters::deliver_before_a_sleep();  // what is under way may be for this thread to do
    if (!park(drained_, seen, until)) {
      return is_drained(seen);
    }
  }
  unpark(&drained_);  // another thread may close, too
  return true;
}

room_use resource_core::use_of_room() noexcept {
  const lock guard(mutex_);
  return {.live = live_,
          .backs_off = now() < retry_at_,
          .failed_of_late = retry_at_ != 0 && now() < later(retry_at_, retry_delay_)};
}

bool resource_core::is_drained(std::uint32_t& seen) noexcept {
  const lock guard(mutex_);
  // relaxed: changes under the mutex
  seen = drained_.load(std::memory_order_relaxed);
  return live_ == 0 && running_ == 0;
}

void resource_core::let_go() noexcept {
  ended_waiters::deliver_before_a_sleep();  // as in close()
  stop_threads(/*wait=*/false);
  tell_of_returns();
  tell_of_orphans();
  const auto alive = weak_from_this().lock();
  const lock guard(mutex_);
  if (live_ != 0) {
    self_ = alive;
  }
}

}  // namespace lido::detail
