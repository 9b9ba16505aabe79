/// @file
/// A reference model of the kernel: slots and queues in plain vectors. It sees each event, judges
/// the effects, and looks for waiters that the kernel has forgotten.
#pragma once

#include <algorithm>
#include <string>
#include <vector>

#include "resource/kernel/kernel_driver.hpp"
#include "resource/resource_tuning.hpp"

namespace lido::test {

struct model_slot {
  enum class state { empty, creating, idle, in_use, in_hand, validating, resetting, closing };
  state is = state::empty;
  std::uint32_t group = 0;
  std::uint32_t epoch = 0;
  detail::nanos born = 0;
  detail::nanos looked_after = 0;
  detail::nanos last_used = 0;
  detail::nanos task_began = 0;  ///< in real time
  bool is_kept = false;          ///< a client creates it, for itself unless it is outdated
  bool is_unproven = false;
  bool is_killed = false;
  bool is_held = false;  ///< closing, and still being interrupted
  destroy_reason reason{};
};

struct model_group {
  std::vector<char> queue;
  detail::group_limits limits;
  std::uint32_t epoch = 0;
  bool is_failing = false;
  bool has_created = false;
  detail::nanos tried_at = 0;  ///< when the last create began
  char arrived = '\0';         ///< the client whose acquire is the event, if any
  resource_pool_stats numbers;
};

class kernel_model {
 public:
  using state = model_slot::state;

  kernel_model(kernel_driver& driver, std::uint32_t slots) : driver_(driver), slots_(slots) {}

  /// Returns a description of what the kernel did wrong, or null.
  const char* judge(const happenings& all) {
    wrong_ = nullptr;
    refused_ = 0;
    served_ = 0;
    began_.assign(groups.size(), 0);
    for (const happening& one : all) {
      refuse(one);
    }
    for (const happening& one : all) {
      served_ += is_grant(one) && !is_of_looker(one) ? 1 : 0;
    }
    for (const bool looks : {true, false}) {
      for (const happening& one : all) {
        if (is_grant(one) && is_of_looker(one) == looks) {
          grant(one);
        }
      }
    }
    for (const happening& one : all) {
      start(one);
    }
    for (const happening& one : all) {
      if (one.what == happening::kind::destroy) {
        destroy(one);
      }
    }
    for (std::uint32_t i = 0; i < slots_.size(); ++i) {
      model_slot& slot = slots_[i];
      slot.is_held = slot.is_held || (slot.is == state::in_hand && driver_.is_interrupted(i));
      if (slot.is_held) {
        slot.is = state::closing;
      } else if (slot.is == state::in_hand) {
        const bool is_kept = is_same(state::in_use, driver_.state_of(i)) && slot.is_kept;
        slot.is = is_kept ? state::in_use : state::idle;
        numbers_of(slot).handed_over += is_kept ? 1 : 0;
        numbers_of(slot).acquires += is_kept ? 1 : 0;
      }
      slot.is_kept = slot.is_kept && slot.is == state::creating;
      check(is_same(slot.is, driver_.state_of(i)),
            "a slot is in another state than its events say");
    }
    for (std::uint32_t i = 0; i < groups.size(); ++i) {
      check_limits(i);
      check_numbers(i);
      look_for_forgotten(i);
    }
    return wrong_;
  }

  // ---- events, before they are passed to the kernel ---------------------------------------------

  void comes(char name, std::uint32_t group) {
    groups[group].queue.push_back(name);
    groups[group].arrived = name;
  }
  void comes_again(const client& one) {
    std::vector<char>& queue = groups[driver_.group_of(one.name)].queue;
    queue.insert(queue.begin(), one.name);
  }
  void leaves(char name) {
    for (model_group& group : groups) {
      std::erase(group.queue, name);
    }
  }
  /// Notes that the kernel receives a slot with a resource.
  void comes_back(std::uint32_t slot) { slots_[slot].is = state::in_hand; }
  void gives_up(char name) {
    ++groups[driver_.group_of(name)].numbers.timed_out;
    leaves(name);
  }
  void is_taken(std::uint32_t slot) {
    slots_[slot].is = state::in_use;
    ++numbers_of(slots_[slot]).acquires;
    ++numbers_of(slots_[slot]).hits;
  }
  /// Empties a slot whose resource was destroyed or detached.
  void is_empty(std::uint32_t slot) {
    resource_pool_stats& numbers = numbers_of(slots_[slot]);
    const bool is_gone = slots_[slot].is == state::closing;
    ++(is_gone ? numbers.destroyed.at(static_cast<std::size_t>(slots_[slot].reason))
               : numbers.detached);
    slots_[slot] = {};
  }
  void was_used(std::uint32_t slot, detail::nanos age) {
    slots_[slot].last_used = age;
    slots_[slot].looked_after = age;
  }
  void was_validated(std::uint32_t slot) {
    slots_[slot].looked_after = driver_.now().age;
    numbers_of(slots_[slot]).acquires += slots_[slot].is == state::in_use ? 1 : 0;
  }
  void is_created(std::uint32_t number, bool made) {
    model_slot& slot = slots_[number];
    model_group& group = groups[slot.group];
    if (slot.epoch == group.epoch) {
      group.is_failing = !made;
      group.has_created |= made;
    }
    ++(made ? group.numbers.created : group.numbers.create_failures);
    if (!made) {
      slot = {};
      return;
    }
    slot.born = driver_.now().age;
    was_used(number, slot.born);
    slot.is = state::in_hand;
  }
  void is_flushed(std::uint32_t group) {
    ++groups[group].epoch;
    groups[group].is_failing = false;
  }
  void is_killed(std::uint32_t slot) {
    const state is = slots_[slot].is;
    slots_[slot].is_killed = slots_[slot].is_held ||
                             (is != state::empty && is != state::creating && is != state::closing);
    slots_[slot].is = is == state::idle ? state::in_hand : is;
  }
  void remove_group(std::uint32_t number) {
    groups.erase(groups.begin() + number);
    for (model_slot& slot : slots_) {
      slot.group -= slot.group > number ? 1 : 0;
    }
  }

  std::vector<model_group> groups;
  std::uint32_t max_total = 0;
  bool is_closed = false;
  bool is_suspended = false;
  bool is_between = false;  ///< a client that waits is about to come again

  [[nodiscard]] const model_slot& slot(std::uint32_t number) const { return slots_[number]; }
  void grow(std::uint32_t size) { slots_.resize(std::max<std::size_t>(size, slots_.size())); }

 private:
  void check(bool holds, const char* what) { wrong_ = holds || wrong_ != nullptr ? wrong_ : what; }

  static bool is_same(state mine, detail::resource_state seen) {
    switch (seen) {
      case detail::resource_state::empty:
        return mine == state::empty;
      case detail::resource_state::creating:
        return mine == state::creating;
      case detail::resource_state::idle:
        return mine == state::idle;
      case detail::resource_state::in_use:
        return mine == state::in_use;
      case detail::resource_state::checking:
        return mine == state::validating || mine == state::resetting;
      case detail::resource_state::closing:
        return mine == state::closing;
    }
    return false;
  }
  static bool is_ready(const model_slot& slot) {
    return slot.is == state::idle || slot.is == state::in_hand;
  }
  [[nodiscard]] bool is_over(const model_slot& slot) const {
    const detail::nanos life = driver_.setup().options.max_lifetime.count();
    return slot.epoch != groups[slot.group].epoch ||
           (life != 0 && driver_.now().age >= slot.born + life);
  }
  [[nodiscard]] bool is_stale(const model_slot& slot) const {
    return driver_.setup().validates &&
           driver_.now().age >=
               slot.looked_after + driver_.setup().options.validate_if_idle_longer_than.count();
  }
  template <class F>
  [[nodiscard]] std::uint32_t count(std::uint32_t group, const F& f) const {
    return static_cast<std::uint32_t>(
        std::count_if(slots_.begin(), slots_.end(), [&](const model_slot& slot) {
          return slot.is != state::empty && slot.group == group && f(slot);
        }));
  }
  [[nodiscard]] std::uint32_t live(std::uint32_t group) const {
    return count(group, [](const model_slot&) { return true; });
  }
  [[nodiscard]] std::uint32_t total() const {
    return static_cast<std::uint32_t>(
        std::count_if(slots_.begin(), slots_.end(),
                      [](const model_slot& slot) { return slot.is != state::empty; }));
  }
  /// Returns the number of unfinished creates of the present factory.
  [[nodiscard]] std::uint32_t creating(std::uint32_t group) const {
    return count(group, [&](const model_slot& slot) {
      return slot.is == state::creating && slot.epoch == groups[group].epoch;
    });
  }
  /// Returns the number of those that began a short while ago.
  [[nodiscard]] std::uint32_t young_creates(std::uint32_t group) const {
    return count(group, [&](const model_slot& slot) {
      return slot.is == state::creating && slot.epoch == groups[group].epoch &&
             driver_.now().real - slot.task_began < detail::resource_tuning::longest_between_tries;
    });
  }
  [[nodiscard]] std::uint32_t kept(std::uint32_t group) const {
    return count(group, [&](const model_slot& slot) {
      return slot.is == state::creating && slot.is_kept && slot.epoch == groups[group].epoch;
    });
  }
  [[nodiscard]] std::uint32_t unproven() const {
    return static_cast<std::uint32_t>(std::count_if(
        slots_.begin(), slots_.end(),
        [](const model_slot& slot) { return slot.is == state::creating && slot.is_unproven; }));
  }
  /// Returns the number of threads that have ended their own waits, unknown to the kernel.
  [[nodiscard]] std::uint32_t leaving() const {
    const auto& all = driver_.clients();
    return static_cast<std::uint32_t>(std::count_if(all.begin(), all.end(), [](const auto& one) {
      return one->does == client::state::gave_up;
    }));
  }
  /// Returns the number of waiters that the kernel may still serve.
  [[nodiscard]] std::uint32_t waiting(std::uint32_t group) const {
    return static_cast<std::uint32_t>(groups[group].queue.size());
  }

  // ---- effects ----------------------------------------------------------------------------------

  void refuse(const happening& one) {
    if (one.what != happening::kind::refused) {
      return;
    }
    ++refused_;
    const std::uint32_t group = driver_.group_of(one.who);
    resource_pool_stats& numbers = groups[group].numbers;
    ++(one.cause == acquire_failure::timed_out   ? numbers.timed_out
       : one.cause == acquire_failure::cancelled ? numbers.cancelled
                                                 : numbers.refused);
    switch (one.cause) {
      case acquire_failure::timed_out:
        check(driver_.is_late(one.who), "a wait ends before its time");
        break;
      case acquire_failure::closed:
        check(is_closed, "an open pool refuses");
        break;
      case acquire_failure::create_failed:
        check(groups[group].is_failing, "a group that does not fail refuses");
        break;
      case acquire_failure::too_many_waiters:
        check(waiting(group) + leaving() > driver_.setup().options.max_waiters,
              "there was room to wait");
        break;
      case acquire_failure::self_deadlock:
        check(
            live(group) == count(group, [](const auto& slot) { return slot.is == state::in_use; }),
            "a resource could come back");
        break;
      case acquire_failure::cancelled:
        break;
      case acquire_failure::other_process:
        check(false, "the kernel knows no other process");
        break;
    }
    leaves(one.who);
  }

  void destroy(const happening& one) {
    model_slot& slot = slots_[one.slot];
    check(is_ready(slot) || slot.is_held, "a slot in use is destroyed");
    slot.is_held = false;
    const std::uint32_t ending =
        count(slot.group, [](const model_slot& other) { return other.is == state::closing; });
    switch (one.reason) {
      case destroy_reason::flushed:
        check(slot.epoch != groups[slot.group].epoch, "a new resource is flushed");
        break;
      case destroy_reason::too_old:
        check(is_over(slot), "a young resource is too old");
        break;
      case destroy_reason::closed:
        check(is_closed, "the pool is not closed");
        break;
      case destroy_reason::killed:
        check(slot.is_killed, "it was not killed");
        break;
      case destroy_reason::surplus:
        check(live(slot.group) - ending > groups[slot.group].limits.max_size ||
                  (driver_.setup().max_total != 0 && total() >= max_total &&
                   (groups[slot.group].queue.empty() || is_stale(slot) || is_owed(slot.group) ||
                    leaving() != 0)),
              "a resource is ended that is not one too many");
        break;
      case destroy_reason::idle_too_long:
        check(slot.is == state::idle && driver_.now().age - slot.last_used >=
                                            driver_.setup().options.idle_timeout.count(),
              "a resource is ended that was not idle for long");
        break;
      default:
        break;
    }
    slot.is = state::closing;
    slot.reason = one.reason;
  }

  static bool is_grant(const happening& one) {
    using kind = happening::kind;
    return one.what == kind::has || one.what == kind::creates || one.what == kind::validates;
  }

  [[nodiscard]] bool is_of_looker(const happening& one) const {
    return one.who == driver_.looker() && driver_.may_look(one.who);
  }

  /// Checks that a sleeping thread is handed a resource only once it was overtaken for long.
  void check_pace(const happening& one) {
    const detail::nanos now = driver_.now().real;
    check(now - driver_.came_at(one.who) >= detail::resource_tuning::nanoseconds_overtaking ||
              is_stale(slots_[one.slot]),
          "a waiter is handed a resource that others could take");
    check(now - last_hand_over_ >= detail::resource_tuning::nanoseconds_between_hand_overs ||
              is_stale(slots_[one.slot]),
          "waiters are handed resources at a pace that makes a convoy");
    last_hand_over_ = now;
  }

  /// Checks that an event serves only waiters near the front of the queue, and the one that looks.
  void grant(const happening& one) {
    using kind = happening::kind;
    check(!is_suspended && !is_closed, "something is given in a pool that gives nothing");
    check(driver_.gives_no_time(one.who) || !driver_.is_late(one.who),
          "a waiter is served whose time is up");
    const std::uint32_t group = driver_.group_of(one.who);
    std::vector<char>& queue = groups[group].queue;
    const auto place = std::find(queue.begin(), queue.end(), one.who);
    const bool looks = is_of_looker(one);
    check(place != queue.end() && (looks || place - queue.begin() < served_),
          "a waiter is served out of turn");
    served_ -= looks ? 0 : 1;
    std::erase(queue, one.who);
    if (one.what == kind::has && !looks && driver_.may_look(one.who)) {
      check_pace(one);
    }
    model_slot& slot = slots_[one.slot];
    if (one.what == kind::creates) {
      begin_create(one.slot, true);
      return;
    }
    check(is_ready(slot), "a slot is given that is not idle");
    check(slot.group == group, "a waiter is given a resource of another group");
    check(!is_over(slot) && !slot.is_killed, "a resource is given that is over");
    check((one.what == kind::validates) == is_stale(slot) || slot.is == state::in_hand,
          "a resource is given that was not validated, or for no reason");
    slot.is = state::in_use;
    ++groups[group].numbers.handed_over;
    groups[group].numbers.acquires += one.what == kind::has ? 1 : 0;
  }

  void start(const happening& one) {
    if (one.what == happening::kind::create) {
      begin_create(one.slot, false);
    } else if (one.what == happening::kind::validate) {
      check(is_ready(slots_[one.slot]), "a slot is validated that is not idle");
      slots_[one.slot].is = state::validating;
      slots_[one.slot].task_began = driver_.now().real;
    } else if (one.what == happening::kind::reset) {
      check(slots_[one.slot].is == state::in_hand, "a slot is reset that was not released");
      slots_[one.slot].is = state::resetting;
      slots_[one.slot].task_began = driver_.now().real;
    }
  }

  void begin_create(std::uint32_t number, bool is_kept) {
    model_slot& slot = slots_[number];
    check(slot.is == state::empty, "a create begins in a slot that is not empty");
    slot = {};
    slot.is = state::creating;
    slot.is_kept = is_kept;
    slot.group = driver_.group_of(number);
    model_group& group = groups[slot.group];
    slot.epoch = group.epoch;
    group.tried_at = driver_.now().real;
    slot.is_unproven = !group.has_created || group.is_failing;
    slot.task_began = driver_.now().real;
    ++began_[slot.group];
    const bool is_asked = waiting(slot.group) + refused_ + leaving() != 0 || is_kept || is_between;
    check(!is_closed && !is_suspended && !driver_.backs_off(slot.group, is_asked),
          "a create begins too soon, or too late");
    check(!group.is_failing || young_creates(slot.group) == 1,
          "two creates are tried at once while they fail");
    check(!group.is_failing || creating(slot.group) == 1 || is_asked,
          "a create is tried beside another for nobody");
  }

  // ---- after an event ---------------------------------------------------------------------------

  void check_limits(std::uint32_t number) {
    const model_group& group = groups[number];
    const std::uint32_t began = began_[number];
    check(began == 0 || (live(number) <= group.limits.max_size && total() <= max_total &&
                         creating(number) <= group.limits.max_creating),
          "a create begins beyond a limit");
    std::uint32_t further =
        0;  // creates of groups without a working resource, the first not counted
    for (std::uint32_t i = 0; i < groups.size(); ++i) {
      const std::uint32_t all = count(i, [&](const model_slot& slot) {
        return slot.is == state::creating && slot.is_unproven && slot.epoch == groups[i].epoch;
      });
      further += all - std::min(all, 1U);
    }
    check(began == 0 || driver_.setup().max_total == 0 || further <= max_total / 2,
          "groups without a working resource take too much");
    const std::uint32_t before = creating(number) - began;
    const std::uint32_t needed =
        waiting(number) + refused_ + leaving() + kept(number) + group.limits.min_idle;
    const std::uint32_t unheard = group.is_failing ? creating(number) - young_creates(number) : 0;
    check(began == 0 || creating(number) <= std::max(needed + unheard, before),
          "a create begins unneeded");
  }

  /// Checks the numbers of a group. Threads that have ended their waits are counted until they
  /// leave.
  void check_numbers(std::uint32_t number) {
    model_group& group = groups[number];
    resource_pool_stats& mine = group.numbers;
    const resource_pool_stats found = driver_.stats(number);
    const auto in = [&](state which) {
      return count(number, [&](const model_slot& slot) { return slot.is == which; });
    };
    const std::size_t in_use = in(state::in_use);
    mine.high_water = std::max(mine.high_water, in_use);
    check(found.live == live(number) && found.waiting >= waiting(number) &&
              found.idle == in(state::idle) && found.in_use == in_use &&
              found.creating == in(state::creating) && found.closing == in(state::closing) &&
              found.checking == in(state::validating) + in(state::resetting) &&
              found.suspended == is_suspended && found.high_water == mine.high_water,
          "the gauges of a group are wrong");
    check(found.acquires == mine.acquires && found.hits == mine.hits &&
              found.created == mine.created && found.create_failures == mine.create_failures &&
              found.detached == mine.detached && found.destroyed == mine.destroyed,
          "the counts of a group are wrong");
    check(leaving() != 0 || is_between ||
              (found.waiting == waiting(number) && found.handed_over == mine.handed_over &&
               found.timed_out == mine.timed_out && found.cancelled == mine.cancelled &&
               found.refused == mine.refused),
          "the counts of waiters are wrong");
    check_exhausted(number, found.exhausted);
  }

  /// Checks that an acquire counts as exhausted if it waits for what is in use, and not if the pool
  /// may grow for it.
  void check_exhausted(std::uint32_t number, std::uint64_t found) {
    model_group& group = groups[number];
    const std::size_t reserve = driver_.setup().options.reserve;
    const bool may_grow = live(number) < group.limits.max_size && total() < max_total;
    const bool waits = std::count(group.queue.begin(), group.queue.end(), group.arrived) != 0;
    const bool is_used_up =
        live(number) >= group.limits.max_size + reserve &&
        live(number) == count(number, [](const auto& slot) { return slot.is == state::in_use; });
    const std::uint64_t more = found - group.numbers.exhausted;
    check(more == 0 || (more == 1 && group.arrived != '\0' && !may_grow && !is_suspended),
          "an acquire counts as exhausted in a pool that may grow");
    check(more == 1 || !waits || !is_used_up || is_suspended,
          "an acquire that finds all in use does not count as exhausted");
    group.numbers.exhausted = found;
    group.arrived = '\0';
  }
  [[nodiscard]] resource_pool_stats& numbers_of(const model_slot& slot) {
    return groups[slot.group].numbers;
  }

  void look_for_forgotten(std::uint32_t number) {
    const model_group& group = groups[number];
    check(count(number, [](const auto& slot) { return slot.is == state::idle; }) == 0 ||
              live(number) -
                      count(number, [](const auto& slot) { return slot.is == state::closing; }) <=
                  group.limits.max_size,
          "a resource too many is idle");
    if (group.queue.empty() || is_suspended || leaving() != 0) {
      return;
    }
    check(!is_closed, "a waiter waits in a closed pool");
    const auto is_idle = [](const model_slot& slot) { return slot.is == state::idle; };
    const std::uint32_t idle = count(number, is_idle);
    const std::uint32_t fit = count(number, [&](const model_slot& slot) {
      return slot.is == state::idle && !is_over(slot) && !is_stale(slot);
    });
    const auto lookers = [&](bool asleep) {
      return static_cast<std::uint32_t>(
          std::count_if(group.queue.begin(), group.queue.end(), [&](char name) {
            return driver_.may_look(name) && driver_.of(name).is_asleep == asleep;
          }));
    };
    const std::uint32_t awake = lookers(false);
    check(fit == 0 || is_owed(number) ||
              (driver_.may_look(group.queue.front()) && (fit <= awake || lookers(true) == 0)),
          "a waiter is forgotten beside an idle resource");
    const detail::nanos now = driver_.now().real;
    const std::uint32_t checks =
        count(number, [](const model_slot& slot) { return slot.is == state::validating; });
    const std::uint32_t young = count(number, [&](const model_slot& slot) {
      return (slot.is == state::validating || slot.is == state::resetting) &&
             now - slot.task_began < detail::resource_tuning::nanoseconds_for_answer;
    });
    check(idle == 0 || awake != 0 || is_owed(number) || checks > group.limits.max_creating ||
              young >= waiting(number),
          "a waiter is forgotten beside a resource to validate");
    if (awake != 0) {
      return;  // a resource that was left for it may have been taken; it looks soon
    }
    const std::uint32_t served = young + fit;
    if (waiting(number) > served) {
      look_for_creates(number, waiting(number) - served);
    }
  }

  /// Returns true if an older waiter of another group has a claim to what the group releases.
  [[nodiscard]] bool is_owed(std::uint32_t number) const {
    return total() >= max_total &&
           std::any_of(groups.begin(), groups.end(), [&](const model_group& other) {
             return &other != &groups[number] && !other.queue.empty() &&
                    driver_.came_before(other.queue.front(), groups[number].queue.front());
           });
  }

  void look_for_creates(std::uint32_t number, std::uint32_t waiters) {
    const model_group& group = groups[number];
    const bool is_tried = group.is_failing && creating(number) != 0;
    const bool is_late = is_tried && driver_.now().real - group.tried_at >=
                                         detail::resource_tuning::longest_between_tries;
    if ((waiters + kept(number) <= creating(number) && !is_late) ||
        live(number) >= group.limits.max_size || creating(number) >= group.limits.max_creating ||
        driver_.backs_off(number, /*is_asked=*/true) ||
        (is_tried && (!is_late || driver_.setup().max_total != 0))) {  // that is matched later
      return;
    }
    const bool works = !driver_.backs_off(number, /*is_asked=*/false);
    std::uint32_t idle = 0;  // without those left for waiters that arrived before
    std::uint32_t closing = 0;
    for (const model_slot& slot : slots_) {
      const bool is_left =
          slot.is == state::idle && !groups[slot.group].queue.empty() &&
          driver_.came_before(groups[slot.group].queue.front(), group.queue.back());
      idle += slot.is == state::idle && !is_left ? 1 : 0;
      closing += slot.is == state::closing ? 1 : 0;
    }
    const bool is_unproven = !group.has_created || group.is_failing;
    if (is_unproven && driver_.setup().max_total != 0 && creating(number) != 0 &&
        unproven() >= max_total / 2) {
      return;
    }
    check(total() >= max_total, "a waiter is forgotten although a create may begin");
    check(total() < max_total || idle == 0 || closing != 0 || !works,
          "a waiter is forgotten although a resource may be evicted");
  }

  kernel_driver& driver_;
  std::vector<model_slot> slots_;
  std::vector<std::uint32_t> began_;
  std::uint32_t refused_ = 0;  ///< refused in the present event
  std::uint32_t served_ = 0;
  detail::nanos last_hand_over_ = 0;
  const char* wrong_ = nullptr;
};

}  // namespace lido::test
