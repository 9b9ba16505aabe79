#include "resource/kernel/kernel_session.hpp"

#include <chrono>

namespace lido::test {

using namespace std::chrono_literals;
using kind = happening::kind;
using does = client::state;

namespace {

constexpr std::uint32_t most_slots = 6;
constexpr char names[] = {'A', 'B', 'C', 'D', 'a', 'b', 'c', 'd'};

}  // namespace

std::uint32_t kernel_session::next(bytes& rest, std::uint32_t below) {
  if (rest.empty()) {
    return 0;
  }
  const std::uint8_t byte = rest.front();
  rest = rest.subspan(1);
  return byte % below;
}

pool_setup kernel_session::setup_of(bytes& rest) {
  const auto one_of = [&](auto... choices) {
    const std::chrono::nanoseconds all[] = {choices...};
    return all[next(rest, sizeof...(choices))];
  };
  pool_setup how;
  const bool has_groups = next(rest, 2) != 0;
  how.options.maintenance =
      next(rest, 2) != 0 ? lido::maintenance::by_tick : lido::maintenance::background;
  how.validates = next(rest, 2) != 0;
  how.resets = next(rest, 3) == 0;
  how.interrupts = true;
  how.options.max_size = next(rest, most_slots + 1);
  how.options.min_idle = next(rest, 3) == 0 ? how.options.max_size / 2 : 0;
  how.options.max_creating = 1 + next(rest, 3);
  how.options.max_waiters = next(rest, 3) == 0 ? 1 : SIZE_MAX;
  how.options.validate_timeout = 10ms;
  how.options.validate_if_idle_longer_than = one_of(0ms, 15ms, 10000ms);
  how.options.idle_timeout = one_of(0ms, 0ms, 100ms);
  how.options.max_lifetime = one_of(0ms, 0ms, 200ms);
  how.options.lifetime_jitter = 0;
  how.options.keepalive = one_of(0ms, 50ms);
  how.options.max_uses = next(rest, 3) == 0 ? 3 : 0;
  how.options.retry_first = 10ms;
  how.options.retry_longest = 40ms;
  how.options.report_slow_after = one_of(0ms, 30ms);
  how.options.report_leak_after = one_of(0ms, 60ms);
  if (has_groups) {
    how.max_total = 1 + next(rest, most_slots);
    how.prefer_same_key_ms = next(rest, 2) == 0 ? 0 : 5;
  }
  return how;
}

kernel_session::kernel_session(const pool_setup& how, bytes rest, std::string* log)
    : kernel_driver(how), rest_(rest), log_(log), model_(*this, slots()) {
  for (std::uint32_t i = 0; how.max_total != 0 && i < 3; ++i) {
    const auto size = static_cast<std::uint32_t>(how.options.max_size);
    add_group({.max_size = size, .min_idle = 0, .max_creating = 1 + next(3)});
  }
  for (std::uint32_t i = 0; i < groups(); ++i) {
    model_.groups.emplace_back().limits = limits_of(i);
  }
  model_.max_total = max_total();
}

std::string kernel_session::play(bytes rest, std::string* log) {
  const pool_setup how = setup_of(rest);
  kernel_session session(how, rest, log);
  while (!session.rest_.empty() && session.problem_.empty()) {
    session.step();
  }
  return session.problem_;
}

void kernel_session::problem(const std::string& what) {
  problem_ = problem_.empty() ? what : problem_;
}

void kernel_session::before_return(const client& one) {
  note("back " + std::string(1, one.name));
  model_.is_between = false;
  model_.comes_again(one);
}

void kernel_session::after(const happenings& all) {
  if (log_ != nullptr) {
    log_->append("    ").append(to_text(all)).append("\n");
  }
  const char* const wrong = model_.judge(all);
  if (wrong != nullptr) {
    problem(wrong);
  }
}

void kernel_session::note(const std::string& event) {
  if (log_ != nullptr) {
    log_->append(event).append("\n");
  }
}

void kernel_session::step() {
  const std::uint32_t what = next(16);
  if (what < 9) {
    step_of_client(of(names[next(std::size(names))]));
  } else if (what < 13) {
    finish_task();
  } else if (what < 15) {
    constexpr int times[] = {0, 1, 5, 10, 20, 50, 200};
    const int ms = times[next(std::size(times))];
    note("tick " + std::to_string(ms));
    tick(ms);
  } else {
    control();
  }
}

void kernel_session::step_of_client(client& one) {
  const std::string name(1, one.name);
  switch (one.does) {
    case does::free:
      acquire_somehow(one);
      return;
    case does::waiting:
      if (!one.is_thread()) {
        note("cancel " + name);
        cancel(one.name);
      } else if (!one.is_asleep && next(4) != 0) {
        note("look " + name);
        look(one.name);
      } else if (give_up(one.name)) {
        note("give up " + name);
        model_.gives_up(one.name);
      }
      return;
    case does::gave_up:
      note("leave " + name);
      leave(one.name);
      return;
    case does::holding:
      use(one);
      return;
    case does::creating:
      end_create(slot_of(one.name), one.name, next(4) != 0);
      return;
    case does::validating: {
      const bool valid = next(2) != 0;
      const std::uint32_t slot = slot_of(one.name);
      note("validated by " + name + (valid ? " valid" : " invalid"));
      if (valid) {
        model_.was_validated(slot);
      } else {
        model_.comes_back(slot);
        model_.is_between = true;
      }
      has_validated(one.name, valid);
      return;
    }
  }
}

void kernel_session::acquire_somehow(client& one) {
  constexpr int times[] = {-1, 0, 1, 10, 100};
  wait_setup how;
  how.for_ms = times[next(std::size(times))];
  how.group = next(groups());
  how.may_look = next(4) != 0;
  const std::string text = std::string(1, one.name) + " in " + std::to_string(how.group) +
                           (how.may_look ? ", may look," : "");
  if (acquire_fast(one.name, how.group)) {
    note("acquire fast " + text);
    model_.is_taken(slot_of(one.name));
    return;
  }
  for (const auto& other : clients()) {
    if (other->is_thread() && one.is_thread() && other->does == does::holding && next(4) == 0) {
      how.thread = thread_of(other->name);
      how.holds = how.thread != 0;
    }
  }
  note("acquire " + text + " for " + std::to_string(how.for_ms) + " ms" +
       (how.holds ? ", holds" : ""));
  model_.comes(one.name, how.group);
  acquire(one.name, how);
}

void kernel_session::use(client& one) {
  const std::string name(1, one.name);
  const std::uint32_t slot = slot_of(one.name);
  switch (next(8)) {
    case 0:
      note("discard " + name);
      model_.comes_back(slot);
      discard(one.name);
      break;
    case 1:
      if (begin_detach(one.name)) {
        note("detach " + name);
        model_.is_empty(slot);
        detach(one.name);
      }
      break;
    default:
      note("release " + name);
      model_.comes_back(slot);
      model_.was_used(slot, age_of_last_tick());
      release(one.name);
      break;
  }
}

void kernel_session::end_create(std::uint32_t slot, char name, bool made) {
  const bool permanent = !made && next(3) == 0;
  note("created " + std::to_string(slot) + (made ? "" : permanent ? " never" : " failed"));
  model_.is_created(slot, made);
  if (name != 0) {
    model_.is_between = true;
    has_created(name, made, permanent);
    model_.is_between = false;
  } else {
    created(slot, made, permanent);
  }
}

void kernel_session::finish_task() {
  for (const kind what : {kind::create, kind::validate, kind::reset}) {
    const std::vector<std::uint32_t> found = tasks(what);
    if (found.empty() || next(2) != 0) {
      continue;
    }
    const std::uint32_t slot = found[next(static_cast<std::uint32_t>(found.size()))];
    const bool good = next(4) != 0;
    if (what == kind::create) {
      end_create(slot, 0, good);
      return;
    }
    note((what == kind::validate ? "validated " : "reset ") + std::to_string(slot) +
         (good ? "" : " bad"));
    model_.comes_back(slot);
    if (what == kind::validate) {
      model_.was_validated(slot);
      validated(slot, good);
    } else {
      model_.was_used(slot, now().age);
      was_reset(slot, good);
    }
    return;
  }
  if (!interrupts().empty() && next(2) == 0) {
    note("interrupted " + std::to_string(interrupts().front()));
    interrupted(interrupts().front());
    return;
  }
  if (!doomed().empty()) {
    const std::uint32_t slot = doomed()[next(static_cast<std::uint32_t>(doomed().size()))];
    note("destroyed " + std::to_string(slot));
    model_.is_empty(slot);
    destroyed(slot);
  }
}

void kernel_session::control() {
  const std::uint32_t which = next(groups());
  // Chosen by how much is left, so that recorded sessions continue as before.
  const auto uses = rest_.size() % 2 == 0 ? ongoing_uses::finish : ongoing_uses::interrupt;
  switch (next(13)) {
    case 0:
    case 1:
    case 2:
      change_limits();
      break;
    case 3:
    case 4:
      model_.is_suspended = !model_.is_suspended;
      note(model_.is_suspended ? "suspend" : "resume");
      suspend(model_.is_suspended);
      break;
    case 5:
      note("flush " + std::to_string(which));
      model_.is_flushed(which);
      flush(which, uses);
      break;
    case 6:
      note("replace factory " + std::to_string(which));
      model_.is_flushed(which);
      replace_factory(which);
      break;
    case 7:
    case 8:
    case 9: {
      const std::uint32_t number = next(slots());
      note("kill " + std::to_string(number));
      model_.is_killed(number);
      kill(number, uses);
      break;
    }
    case 10:
      if (setup().max_total != 0 && groups() < 3) {
        note("add group");
        model_.groups.emplace_back().limits = model_.groups[0].limits;
        add_group(model_.groups[0].limits);
      } else if (setup().max_total != 0 && remove_group(which)) {
        note("remove group " + std::to_string(which));
        model_.remove_group(which);
      }
      break;
    case 11:
      note("retry now " + std::to_string(which));
      retry_now(which);
      break;
    default:
      if (next(4) == 0) {
        note("close");
        model_.is_closed = true;
        close();
      }
      break;
  }
}

void kernel_session::change_limits() {
  detail::group_limits limits{.max_size = next(most_slots + 1), .min_idle = 0, .max_creating = 1};
  limits.max_creating += next(3);
  const std::uint32_t which = next(groups());
  note("limits of " + std::to_string(which) + ": " + std::to_string(limits.max_size) + ", " +
       std::to_string(limits.max_creating) + " at once");
  model_.groups[which].limits = limits;
  if (setup().max_total == 0) {
    model_.max_total = limits.max_size;
    model_.grow(limits.max_size);
    this->limits(limits);
  } else {
    this->limits(limits, which);
  }
}

}  // namespace lido::test
