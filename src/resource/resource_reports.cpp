// What a pool says about itself.
#include <algorithm>
#include <new>
#include <utility>

#include "../concurrency/uncancelled.hpp"
#include "lido/resource/resource_core.hpp"

namespace lido::detail {

lease_info resource_slot::info(nanos now) const noexcept {
  // relaxed: a number
  const void* const address = address_.load(std::memory_order_relaxed);
  return {.resource = {.place = number, .birth = word().birth()},
          .held_for = std::chrono::nanoseconds(held_for(now)),
          .thread = thread(),
          .address = address,
          .exempt = (marks() & exempt_lease) != 0,
          .key = {}};
}

resource_pool_stats resource_core::stats() {
  // All of it under the mutex, under which slots are filled and emptied: or one would be missed,
  // and its uses, or counted twice.
  const lock guard(mutex_);
  resource_pool_stats found = totals_;
  found.max_size = max_size_;
  found.waiters = queue_.size();
  found.suspended = attention_.is(attention::suspended);
  found.mutex_locks = mutex_.locks() - 1;  // not this one
  find_slot([&](const resource_slot& slot) {
    const life_state state = slot.state();
    found.idle += state == life_state::idle ? 1 : 0;
    found.in_use += state == life_state::in_use ? 1 : 0;
    found.creating += state == life_state::creating ? 1 : 0;
    found.checking += state == life_state::checking ? 1 : 0;
    found.closing += state == life_state::closing ? 1 : 0;
    found.uses += state == life_state::empty || state == life_state::creating ? 0 : slot.uses();
    return false;
  });
  found.live = found.idle + found.in_use + found.creating + found.checking + found.closing;
  return found;
}

bool resource_slot::is_lent(life_word lease, nanos now, lease_info& found) const noexcept {
  if (lease.state() != life_state::in_use) {
    return false;
  }
  found = info(now);
  return word() == lease;
}

std::vector<lease_info> resource_core::leases() {
  catch_up_by_callers();
  std::vector<lease_info> found;
  find_slot([&](const resource_slot& slot) {
    lease_info info;
    if (slot.is_lent(slot.word(), now(), info)) {
      found.push_back(info);
    }
    return false;
  });
  return found;
}

void resource_core::watch_leases(bool on) noexcept {
  // relaxed: a switch
  watching_.store(on, std::memory_order_relaxed);
}

nanos resource_core::first_report() const noexcept {
  // relaxed: a switch
  return watching_.load(std::memory_order_relaxed)
             ? std::min(settings_.slow_after, settings_.leak_after)
             : never;
}

namespace {

/// What a lease must not bear to get `mark`.
constexpr std::uint32_t unreported(std::uint32_t mark) noexcept {
  return mark | reported_leak | exempt_lease | ended_lease;
}

}  // namespace

/// What there is to say of who has it, if anybody has: a mark, or 0.
std::uint32_t resource_core::due_report(const resource_slot& slot) const noexcept {
  const nanos held = slot.held_for(now()) - slot.extension();
  if (held < first_report()) {
    return 0;
  }
  const std::uint32_t mark = held >= settings_.leak_after ? reported_leak : reported_slow;
  return (slot.marks() & unreported(mark)) == 0 ? mark : 0;
}

/// Under the mutex.
bool resource_core::has_report() const noexcept {
  const auto is_due = [&](const resource_slot& slot) {
    return slot.state() == life_state::in_use && due_report(slot) != 0;
  };
  return reported_.has_over() || (first_report() != never && find_slot(is_due) != nullptr);
}

/// Each lease that is out for too long, once.
void resource_core::report_leases() noexcept {
  tell_of_returns();
  if (first_report() == never) {
    return;
  }
  find_slot([&](resource_slot& slot) {
    const life_word lease = slot.word();
    lease_info found;
    const bool is_due = due_report(slot) != 0 && slot.is_lent(lease, now(), found);
    const std::uint32_t mark = is_due ? note_report(slot, lease, found) : 0;
    if (mark != 0) {
      tell_of(
          mark == reported_leak ? pool_event::kind::suspected_leak : pool_event::kind::slow_lease,
          found);
    }
    return false;
  });
}

/// The mark it has now. None: it has ended meanwhile, or there is no memory, which there may be
/// next time.
std::uint32_t resource_core::note_report(resource_slot& slot, life_word lease,
                                         const lease_info& found) noexcept {
  const lock guard(mutex_);
  const std::uint32_t mark = due_report(slot);
  bool is_new = false;
  try {
    is_new = mark != 0 && reported_.add(slot, lease.lease(), found);
  } catch (const std::bad_alloc&) {
    return 0;
  }
  if (mark == 0 || !slot.mark(lease, mark, unreported(mark))) {
    if (is_new) {
      (void)reported_.remove(slot, lease.lease());
    }
    return 0;
  }
  totals_.suspected_leaks += mark == reported_leak ? 1 : 0;
  return mark;
}

/// Of leases that were reported, and whose holders had looked at their marks before.
void resource_core::tell_of_returns() noexcept {
  const auto take_over = [&] {
    const lock guard(mutex_);
    return reported_.take_over();
  };
  while (const std::optional<lease_info> over = take_over()) {
    tell_of(pool_event::kind::returned_after_all, *over);
  }
}

void resource_core::tell(const pool_event& event) const noexcept {
  if (settings_.on_event) {
    const uncancelled guard;
    settings_.on_event(event);
  }
}

/// Of one lease. Nobody is told if there is no memory for that.
void resource_core::tell_of(pool_event::kind what, const lease_info& lease) const noexcept {
  try {
    tell({.what = what, .pool = settings_.name, .error = nullptr, .leases = {lease}});
  } catch (const std::bad_alloc&) {  // a release must not throw
  }
}

/// Of all leases that the pool leaves behind.
void resource_core::tell_of_orphans() noexcept {
  try {
    std::vector<lease_info> orphans = leases();
    if (!orphans.empty()) {
      tell({.what = pool_event::kind::orphaned,
            .pool = settings_.name,
            .error = nullptr,
            .leases = std::move(orphans)});
    }
  } catch (const std::bad_alloc&) {  // as above
  }
}

}  // namespace lido::detail
