#include "resource/kernel/kernel_driver.hpp"

#include <algorithm>
#include <string_view>
#include <utility>

#include "resource/kernel/fake_core.hpp"

namespace lido::test {

using detail::acquire_queue;
using detail::effects;
using detail::grant_kind;
using detail::pool_slot;
using detail::resource_state;
using detail::slot_task;
using detail::waiter_deadlines;

namespace {

void delivered(detail::callback_wait& /*waiter*/) noexcept {}

detail::pool_settings settings_of(const pool_setup& how) {
  detail::pool_settings settings(how.options);
  settings.max_total = how.max_total;
  settings.prefer_same_key_for = how.prefer_same_key_ms * one_ms;
  return settings;
}

std::string text_of_cause(acquire_failure cause) {
  constexpr std::array<const char*, 6> texts{"timed out", "cancelled",     "closed",
                                             "too many",  "create failed", "deadlock"};
  return texts.at(static_cast<std::size_t>(cause));
}

std::string text_of_one(const happening& one) {
  using kind = happening::kind;
  const std::string who(1, one.who);
  const std::string slot = std::string(" ").append(std::to_string(one.slot));
  const auto of_slot = [&](std::string what) { return what.append(slot); };
  switch (one.what) {
    case kind::has:
      return who + " has" + slot;
    case kind::creates:
      return who + " creates" + slot;
    case kind::validates:
      return who + " validates" + slot;
    case kind::refused:
      return who + " fails: " + text_of_cause(one.cause);
    case kind::called:
      return std::string("call ").append(who);
    case kind::create:
      return of_slot("create");
    case kind::validate:
      return of_slot("validate");
    case kind::reset:
      return of_slot("reset");
    case kind::interrupt:
      return of_slot("interrupt");
    case kind::destroy:
      return of_slot("destroy").append(" (").append(to_string(one.reason)).append(")");
    case kind::slow:
      return of_slot("slow");
    case kind::leak:
      return of_slot("leak");
    case kind::returned:
      return of_slot("returned");
    case kind::drained:
      return "drained";
    case kind::more:
      return "more";
  }
  return "?";
}

happening::kind kind_of(slot_task task) {
  return task == slot_task::create     ? happening::kind::create
         : task == slot_task::validate ? happening::kind::validate
                                       : happening::kind::reset;
}

}  // namespace

std::string to_text(const happenings& all) {
  std::string text;
  for (const happening& one : all) {
    text.append(text.empty() ? "" : "; ").append(text_of_one(one));
  }
  return text;
}

kernel_driver::kernel_driver(const pool_setup& how)
    : setup_(how),
      settings_(settings_of(how)),
      max_total_(how.max_total != 0
                     ? how.max_total
                     : static_cast<std::uint32_t>(settings_.max_size + settings_.reserve)),
      pool_(settings_, nullptr, &detail::make_slots<int>, /*seed=*/1) {
  pool_.gate.advance(now_.age);
  if (how.max_total == 0) {
    add_group({.max_size = static_cast<std::uint32_t>(settings_.max_size),
               .min_idle = static_cast<std::uint32_t>(settings_.min_idle),
               .max_creating = settings_.creating_limit(settings_.max_size)});
  }
}

std::uint32_t kernel_driver::add_group(const detail::group_limits& limits) {
  auto hooks = std::make_shared<fake_hooks>(setup_.validates, setup_.resets, setup_.interrupts);
  hooks_.push_back(hooks);
  const std::string key = std::to_string(groups_.size());
  groups_.push_back(&pool_.add_group(std::move(hooks), limits, groups_.size(), key));
  return groups() - 1;
}

bool kernel_driver::remove_group(std::uint32_t group) {
  const bool gone = pool_.can_remove(*groups_[group]) && pool_.gate.is_quiet();
  if (gone) {
    pool_.remove_group(*groups_[group]);
    groups_.erase(groups_.begin() + group);
  }
  return gone;
}

std::uint32_t kernel_driver::number_of(const detail::slot_group& group) const {
  const auto found = std::find(groups_.begin(), groups_.end(), &group);
  return static_cast<std::uint32_t>(found - groups_.begin());
}

std::uint32_t kernel_driver::group_of(std::uint32_t slot) {
  return number_of(detail::group_of(this->slot(slot)));
}

std::uint32_t kernel_driver::group_of(char name) {
  return number_of(*of(name).waiter->group);
}

std::size_t kernel_driver::factory_of(std::uint32_t slot) {
  const auto found = std::find_if(hooks_.begin(), hooks_.end(), [&](const auto& one) {
    return one.get() == this->slot(slot).maker;
  });
  return static_cast<std::size_t>(found - hooks_.begin());
}

client& kernel_driver::of(char name) {
  for (const auto& one : clients_) {
    if (one->name == name) {
      return *one;
    }
  }
  clients_.push_back(std::make_unique<client>());
  clients_.back()->name = name;
  return *clients_.back();
}

// ---- clients ------------------------------------------------------------------------------------

happenings kernel_driver::acquire(char name, const wait_setup& how) {
  client& one = of(name);
  if (!is_free(one)) {
    return {};
  }
  const bool is_thread = one.is_thread();
  const std::uint32_t own = is_thread ? static_cast<std::uint32_t>(name - 'A') + 1 : 0;
  const detail::nanos end = how.for_ms < 0    ? detail::never
                            : how.for_ms == 0 ? 0
                                              : now_.real + how.for_ms * one_ms;
  one.waiter.emplace(until(end), how.thread != 0 ? how.thread : own,
                     is_thread ? nullptr : &delivered);
  one.waiter->group = groups_[how.group];
  one.holds = how.holds;
  one.waiter->came.is_urgent = how.is_urgent;
  one.waiter->may_look = is_thread && how.may_look;
  return begin(one);
}

happenings kernel_driver::begin(client& one) {
  one.does = client::state::waiting;
  one.is_asleep = false;
  looker_ = one.name;
  happenings all = event([&] { pool_.on_acquire(*one.waiter); });
  looker_ = 0;
  if (one.does == client::state::waiting && one.holds) {
    const happenings more = event([&] { pool_.on_hold_and_wait(*one.waiter); });
    all.insert(all.end(), more.begin(), more.end());
  }
  return go_to_sleep(one, std::move(all));
}

/// Lets a thread that still waits look again, and sleep.
happenings kernel_driver::go_to_sleep(client& one, happenings all) {
  if (one.does == client::state::waiting && one.is_thread()) {
    const happenings more = look(one.name);
    all.insert(all.end(), more.begin(), more.end());
  }
  return all;
}

bool kernel_driver::is_free(const client& one) {
  if (one.does != client::state::free) {
    problem("a client acquires that has something to do");
  }
  return one.does == client::state::free;
}

bool kernel_driver::acquire_fast(char name, std::uint32_t group) {
  client& one = of(name);
  if (!is_free(one)) {
    return false;
  }
  one.grant = groups_[group]->cache.take_lowest();
  if (one.grant.slot == nullptr) {
    return false;
  }
  one.does = client::state::holding;
  const std::uint32_t own = one.is_thread() ? static_cast<std::uint32_t>(name - 'A') + 1 : 0;
  one.grant.slot->note_holder(pool_.gate.now(), own, 0, detail::code_address{});
  pool_.gate.begin_use(*one.grant.slot);
  return true;
}

happenings kernel_driver::look(char name) {
  client& one = of(name);
  effects out;
  pool_.begin(now_, out);
  pool_.on_look(*one.waiter);
  pool_.finish();
  one.is_asleep = one.waiter->word.open() || one.does == client::state::waiting;
  if (!one.waiter->word.open()) {  // it ended while it was awake, and needs no waking
    one.is_asleep = false;
  }
  looker_ = name;
  happenings all = run_effects(std::move(out));
  looker_ = 0;
  return all;
}

bool kernel_driver::give_up(char name) {
  client& one = of(name);
  const auto cause = static_cast<std::uint32_t>(acquire_failure::timed_out);
  if (one.does != client::state::waiting ||
      one.waiter->word.cancel(cause) == detail::wait_word::ending::too_late) {
    return false;
  }
  one.does = client::state::gave_up;
  return true;
}

happenings kernel_driver::leave(char name) {
  client& one = of(name);
  one.does = client::state::free;
  effects out;
  pool_.begin(now_, out);
  pool_.on_left(*one.waiter);
  pool_.finish();
  if (acquire_queue::contains(*one.waiter) || waiter_deadlines::contains(*one.waiter)) {
    problem("I4: a waiter that left is in the queue");
  }
  return run_effects(std::move(out));
}

happenings kernel_driver::cancel(char name) {
  return event([&] {
    if (acquire_queue::contains(*of(name).waiter)) {
      pool_.on_refused(*of(name).waiter, acquire_failure::cancelled);
    }
  });
}

happenings kernel_driver::release(char name) {
  client& one = of(name);
  pool_slot* const held = take_from(one);
  if (held == nullptr) {
    return {};
  }
  pool_slot& slot = *held;
  detail::slot_group& group = detail::group_of(slot);
  const std::uint64_t uses = slot.uses();
  group.cache.release(one.grant);
  switch (take_release_path()) {
    case release_path::fast:
      return run_effects({});
    case release_path::idle:
      return event([&] { pool_.on_idle(group); });
    case release_path::marked:
      return event([&] { pool_.on_released(slot, /*resets=*/false); });
    case release_path::slow:
      break;
  }
  if (uses >= settings_.life.max_uses) {
    return event([&] { pool_.on_discarded(slot, destroy_reason::used_up); });
  }
  return event([&] { pool_.on_released(slot, slot.maker->can_reset()); });
}

pool_slot* kernel_driver::take_from(client& one) {
  if (one.does != client::state::holding) {
    problem("a client ends a lease that it does not have");
    return nullptr;
  }
  one.does = client::state::free;
  return one.grant.slot;
}

happenings kernel_driver::discard(char name, destroy_reason why) {
  pool_slot* const slot = take_from(of(name));
  return slot == nullptr ? happenings{} : event([&] { pool_.on_discarded(*slot, why); });
}

happenings kernel_driver::detach(char name) {
  pool_slot* const slot = take_from(of(name));
  return slot == nullptr ? happenings{} : event([&] { pool_.on_detached(*slot); });
}

happenings kernel_driver::has_created(char name, bool made, bool permanent) {
  client& one = of(name);
  if (one.does != client::state::creating) {
    problem("a client ends a create that it was not told to begin");
    return {};
  }
  return finish_create(*one.grant.slot, made, permanent, &one);
}

happenings kernel_driver::has_validated(char name, bool valid) {
  client& one = of(name);
  pool_slot& slot = *one.grant.slot;
  if (valid) {
    one.does = client::state::holding;
    begin_use(one);
    slot.validated(now_.age, settings_.life);
    return {};
  }
  one.does = client::state::free;
  happenings all = event([&] { pool_.on_discarded(slot, destroy_reason::invalid); });
  before_return(one);
  one.waiter->word.reopen();
  const happenings more = begin(one);
  all.insert(all.end(), more.begin(), more.end());
  return all;
}

// ---- tasks --------------------------------------------------------------------------------------

/// Returns true if the slot is among the open ones, and removes it.
bool kernel_driver::is_open(std::vector<std::uint32_t>& open, std::uint32_t slot) {
  const bool found = std::erase(open, slot) != 0;
  if (!found) {
    problem("a task ends that was not begun");
  }
  return found;
}

happenings kernel_driver::created(std::uint32_t slot, bool made, bool permanent) {
  return is_open(tasks_, slot) ? finish_create(this->slot(slot), made, permanent, nullptr)
                               : happenings{};
}

happenings kernel_driver::finish_create(pool_slot& slot, bool made, bool permanent,
                                        client* creator) {
  detail::create_outcome outcome{.made = made, .permanent = permanent, .error = {}};
  detail::slot_grant kept;
  if (creator != nullptr) {
    creator->does = client::state::free;
  }
  effects out;
  pool_.begin(now_, out);
  pool_.on_created(slot, outcome, began_[slot.number], kept);
  pool_.finish();
  if (kept.slot != nullptr && creator != nullptr) {
    creator->grant = kept;
    creator->does = client::state::holding;
    begin_use(*creator);
    const happening has{.what = happening::kind::has, .who = creator->name, .slot = slot.number};
    happenings all{has};
    const happenings more = run_effects(std::move(out));
    all.insert(all.end(), more.begin(), more.end());
    return all;
  }
  if (kept.slot != nullptr) {
    problem("a resource of a task is kept");
  }
  happenings all = run_effects(std::move(out));
  if (creator != nullptr) {
    before_return(*creator);
    creator->waiter->word.reopen();
    const happenings more = begin(*creator);
    all.insert(all.end(), more.begin(), more.end());
  }
  return all;
}

happenings kernel_driver::validated(std::uint32_t slot, bool valid) {
  return is_open(tasks_, slot) ? event([&] { pool_.on_checked(this->slot(slot), valid); })
                               : happenings{};
}

happenings kernel_driver::was_reset(std::uint32_t slot, bool accepted) {
  return validated(slot, accepted);
}

happenings kernel_driver::destroyed(std::uint32_t slot) {
  return is_open(doomed_, slot) ? event([&] { pool_.on_destroyed(this->slot(slot)); })
                                : happenings{};
}

void kernel_driver::end_tasks() {
  while (!tasks_.empty() || !doomed_.empty()) {
    const std::uint32_t slot = tasks_.empty() ? doomed_.front() : tasks_.front();
    if (tasks_.empty()) {
      destroyed(slot);
    } else if (this->slot(slot).record.task == slot_task::create) {
      created(slot);
    } else {
      validated(slot);
    }
  }
}

// ---- the pool -----------------------------------------------------------------------------------

void kernel_driver::pass(int ms) {
  pass_us(std::int64_t{1000} * ms);
}

void kernel_driver::pass_us(std::int64_t us) {
  now_.real += us * one_ms / 1000;
  now_.age += us * one_ms / 1000;
}

happenings kernel_driver::tick(int ms) {
  pass(ms);
  return event([&] { pool_.on_tick(0); });
}

happenings kernel_driver::limits(const detail::group_limits& limits, std::uint32_t group) {
  if (setup_.max_total == 0) {
    return limits_and_total(limits, limits.max_size);
  }
  return event([&] { pool_.control.on_limits(*groups_[group], limits, max_total_); });
}

happenings kernel_driver::limits_and_total(const detail::group_limits& limits,
                                           std::uint32_t total) {
  if (auto more = pool_.table.make_more(total)) {
    pool_.table.append(std::move(more));
  }
  max_total_ = total;
  return event([&] { pool_.control.on_limits(*groups_[0], limits, total); });
}

happenings kernel_driver::suspend(bool on) {
  return event([&] { pool_.control.on_suspended(on); });
}

happenings kernel_driver::flush_of(std::uint32_t generation, std::uint32_t group) {
  return event([&] { (void)pool_.control.on_flush_of(*groups_[group], generation); });
}

std::optional<std::uint32_t> kernel_driver::adopt(std::uint32_t group) {
  detail::pool_slot* slot = nullptr;
  (void)event([&] { slot = pool_.control.on_adopt(*groups_[group]); });
  return slot != nullptr ? std::optional(slot->number) : std::nullopt;
}

happenings kernel_driver::adopted(std::uint32_t slot, bool made) {
  return event([&] { pool_.on_adopted(this->slot(slot), made); });
}

happenings kernel_driver::flush(std::uint32_t group, ongoing_uses uses) {
  return event([&] { pool_.control.on_flush(*groups_[group], uses); });
}

happenings kernel_driver::retry_now(std::uint32_t group) {
  return event([&] { pool_.control.on_retry_now(*groups_[group]); });
}

happenings kernel_driver::replace_factory(std::uint32_t group) {
  std::shared_ptr<detail::factory_hooks> hooks =
      std::make_shared<fake_hooks>(setup_.validates, setup_.resets, setup_.interrupts);
  hooks_.push_back(hooks);
  return event([&] {
    groups_[group]->factory.hooks.swap(hooks);
    pool_.control.on_flush(*groups_[group]);
  });
}

happenings kernel_driver::kill(std::uint32_t slot, ongoing_uses uses) {
  bool found = false;
  const std::uint64_t birth = this->slot(slot).word().birth();
  return event([&] { pool_.control.on_kill(this->slot(slot), birth, uses, found); });
}

happenings kernel_driver::close() {
  return event([&] { pool_.control.on_close(); });
}

std::vector<std::uint32_t> kernel_driver::tasks(happening::kind what) {
  std::vector<std::uint32_t> found;
  for (const std::uint32_t number : tasks_) {
    if (kind_of(slot(number).record.task) == what) {
      found.push_back(number);
    }
  }
  return found;
}

// ---- effects ------------------------------------------------------------------------------------

happenings kernel_driver::run_effects(effects out) {
  happenings all;
  read(out, all);
  while (out.more && calls_more) {
    out = {};
    pool_.begin(now_, out);
    pool_.on_more();
    pool_.finish();
    read(out, all);
  }
  if (out.more) {
    all.push_back({.what = happening::kind::more});
  }
  check_clients();
  if (!out.more) {
    const char* const wrong =
        broken_invariant(pool_, {.now = now_,
                                 .max_total = max_total_,
                                 .prefer_same_key_for = settings_.prefer_same_key_for});
    if (wrong != nullptr) {
      problem(wrong);
    }
  }
  after(all);
  return all;
}

void kernel_driver::read(effects& out, happenings& all) {
  read_wakes(out);
  read_calls(out);
  read_ends(all);
  read_slots(out, all);
}

void kernel_driver::read_wakes(const effects& out) {
  if (out.wakes > out.wake.size()) {
    problem("more wakes than there is room for");
  }
  for (std::size_t i = 0; i < out.wakes; ++i) {
    const auto found = std::find_if(clients_.begin(), clients_.end(), [&](const auto& one) {
      return one->waiter && one->waiter->word.address() == out.wake[i];
    });
    if (found == clients_.end() || !(*found)->is_asleep) {
      problem("a thread that does not sleep is woken");
      continue;
    }
    (*found)->is_asleep = false;
    (*found)->was_woken = true;
  }
}

void kernel_driver::read_calls(effects& out) {
  while (detail::acquire_waiter* const waiter = out.call.pop_front()) {
    const auto found = std::find_if(clients_.begin(), clients_.end(), [&](const auto& one) {
      return one->waiter && &*one->waiter == waiter;
    });
    if (found == clients_.end() || (*found)->is_thread() || waiter->word.open() ||
        (*found)->was_woken) {
      problem("a callback is called that must not be");
      continue;
    }
    (*found)->was_woken = true;
  }
}

/// Reads what happened to the waiters, in order of arrival.
void kernel_driver::read_ends(happenings& all) {
  std::vector<client*> ended;
  for (const auto& one : clients_) {
    if (one->does == client::state::waiting && (!one->waiter->word.open() || one->was_woken)) {
      ended.push_back(one.get());
    }
  }
  std::stable_sort(ended.begin(), ended.end(), [](const client* left, const client* right) {
    return left->waiter->came.order < right->waiter->came.order;
  });
  for (client* const one : ended) {
    if (one->waiter->word.open()) {
      all.push_back({.what = happening::kind::called, .who = one->name});
    } else {
      end_of(*one, all);
    }
    one->was_woken = false;
  }
  for (const auto& one : clients_) {  // threads that gave up may be woken needlessly
    one->was_woken = false;
  }
}

void kernel_driver::end_of(client& one, happenings& all) {
  detail::acquire_waiter& waiter = *one.waiter;
  if (one.is_asleep || (!one.is_thread() && !one.was_woken)) {
    problem("a waiter is not told that its wait has ended");
  }
  if (acquire_queue::contains(waiter) || waiter_deadlines::contains(waiter)) {
    problem("I4: a waiter whose wait has ended is in the queue");
  }
  if (!waiter.word.given()) {
    one.does = client::state::free;
    all.push_back({.what = happening::kind::refused, .who = one.name, .cause = waiter.cause()});
    return;
  }
  one.grant = waiter.grant;
  const std::uint32_t number = one.grant.slot->number;
  const bool is_create = waiter.kind == grant_kind::create;
  const bool is_whole = waiter.kind == grant_kind::resource;
  began_[number] = now_.real;
  one.does = is_create  ? client::state::creating
             : is_whole ? client::state::holding
                        : client::state::validating;
  all.push_back({.what = is_create  ? happening::kind::creates
                         : is_whole ? happening::kind::has
                                    : happening::kind::validates,
                 .who = one.name,
                 .slot = number});
  const detail::slot_word word = one.grant.slot->word();
  if (!is_create &&
      word.in(resource_state::in_use) != one.grant.ticket.in(resource_state::in_use)) {
    problem("the ticket of a grant is not the word of its slot");
  }
  if (!is_create) {
    one.grant.ticket = one.grant.ticket.in(resource_state::in_use);
  }
  if (is_whole) {
    begin_use(one);
  }
}

void kernel_driver::read_slots(effects& out, happenings& all) {
  while (pool_slot* const one = out.start.pop()) {
    const slot_task task = one->record.task;
    all.push_back({.what = kind_of(task), .slot = one->number});
    if (task == slot_task::none ||
        std::find(tasks_.begin(), tasks_.end(), one->number) != tasks_.end()) {
      problem("a task is started that is none, or twice");
    }
    tasks_.push_back(one->number);
    began_[one->number] = now_.real;
  }
  while (pool_slot* const one = out.interrupt.pop()) {
    all.push_back({.what = happening::kind::interrupt, .slot = one->number});
    interrupts_.push_back(one->number);
  }
  while (pool_slot* const one = out.destroy.pop()) {
    all.push_back(
        {.what = happening::kind::destroy, .slot = one->number, .reason = one->record.reason});
    if (one->state() != resource_state::closing) {
      problem("a slot is destroyed that is not closing");
    }
    if (is_interrupted(one->number)) {
      problem("a slot is destroyed that is being interrupted");
    }
    doomed_.push_back(one->number);
  }
  for (const detail::lease_report& report : out.tell) {
    using told = pool_event::kind;
    const told what = report.event.what;
    all.push_back({.what = what == told::slow_lease       ? happening::kind::slow
                           : what == told::suspected_leak ? happening::kind::leak
                                                          : happening::kind::returned,
                   .slot = report.event.leases.front().resource.index});
  }
  if (out.drained) {
    all.push_back({.what = happening::kind::drained});
  }
}

/// Begins the use of what a client has waited for.
void kernel_driver::begin_use(client& one) {
  one.grant.slot->note_holder(pool_.gate.now(), one.waiter->thread, 0, detail::code_address{});
  pool_.gate.begin_use(*one.grant.slot, /*queued=*/true);
}

/// Checks that no slot is held twice.
void kernel_driver::check_clients() {
  std::uint64_t held = 0;
  for (const auto& one : clients_) {
    if (one->does != client::state::holding && one->does != client::state::validating) {
      continue;
    }
    const std::uint64_t bit = std::uint64_t{1} << (one->grant.slot->number % 64);
    if ((held & bit) != 0 || one->grant.slot->state() != resource_state::in_use) {
      problem("a slot is held twice, or not in use");
    }
    held |= bit;
  }
}

}  // namespace lido::test
