#include "checker/execution.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <exception>
#include <span>
#include <utility>

namespace model {

namespace {

constexpr std::size_t stack_bytes = std::size_t{256} * 1024;

}  // namespace

execution::execution() {
  threads_[0] = std::make_unique<thread>();
  for (thread_id who = 1; who < most_threads; ++who) {
    threads_[who] = std::make_unique<thread>(stack_bytes);
  }
}

void execution::clear() {
  memory_.clear();
  for (const auto& each : threads_) {
    each->exit = {};
    each->local = {};
    each->now = state::unused;
  }
  made_.picks.clear();
  count_ = 0;
  current_ = 0;
  steps_ = 0;
  solo_steps_ = 0;
  solo_ = 0;
  had_solo_ = false;
  failed_ = false;
  failure_.clear();
  ++number_;
}

bool execution::run(void (*scenario)(), chooser& choices, trace* events) {
  clear();
  chooser_ = &choices;
  trace_ = events;
  made_.solo = choices.step_of_solo();
  try {
    scenario();
  } catch (const stopped&) {
    // failure_ says why
  }
  clear_away_threads();
  choices.ended(steps_);
  return !failed_;
}

// Runs the exit functions of threads that were stopped in the middle of an operation. Each of them
// still holds its thread number, so the next thread would otherwise get a different number.
void execution::clear_away_threads() {
  for (thread_id who = 0; who < most_threads; ++who) {
    if (thread& each = *threads_[who]; each.exit.function != nullptr) {
      const task exit = std::exchange(each.exit, {});
      const bool failed = std::exchange(failed_, true);
      if (who != 0) {
        local_.load(each.local);
      }
      exit.function(exit.argument);
      failed_ = failed;
    }
  }
  local_.load({});
}

void execution::fail(std::string what) {
  if (!failed_) {
    failed_ = true;
    failure_ = std::move(what);
  }
  if (current_ != 0) {
    change_to(0);  // never returns
  }
  // Destructors get here while another exception is leaving the scenario.
  if (std::uncaught_exceptions() == 0) {
    throw stopped{};
  }
}

void execution::run_threads(std::span<const task> tasks) {
  if (failed_) {
    return;
  }
  count_ = static_cast<thread_id>(tasks.size());
  thread_id who = 0;
  for (const task& work : tasks) {
    thread& started = *threads_[++who];
    started.work = work;
    started.now = state::ready;
    started.waits_for = 0;
    started.woken = false;
    started.local = {};
    started.context.prepare(&execution::begin_thread, this);
    memory_.start_thread(who, 0);
  }
  pick_next(/*free=*/true);
  if (failed_) {
    throw stopped{};
  }
  for (who = 1; who <= count_; ++who) {
    memory_.join_thread(0, who);
  }
  count_ = 0;
}

void execution::begin_thread(void* self) {
  auto& all = *static_cast<execution*>(self);
  thread& mine = *all.threads_[all.current_];
  try {
    mine.work.function(mine.work.argument);
    if (mine.exit.function != nullptr) {
      const task exit = std::exchange(mine.exit, {});
      exit.function(exit.argument);
    }
  } catch (const std::exception& error) {
    all.fail(fmt::format("an exception left thread {}: {}", all.current_, error.what()));
  }
  all.end_thread();
}

void execution::end_thread() {
  memory_.light_fence(current_);  // nothing moves past the end of a thread
  threads_[current_]->now = state::ended;
  step_done_by(current_);
  pick_next(/*free=*/true);
}

std::vector<thread_id> execution::others() const {
  std::vector<thread_id> found;
  for (thread_id who = 1; who <= count_; ++who) {
    if (who != current_) {
      found.push_back(who);
    }
  }
  return found;
}

unsigned execution::choose(question asked, unsigned count) {
  if (count <= 1 || failed_) {
    return 0;
  }
  const unsigned pick = chooser_->choose(asked, count, current_);
  made_.picks.push_back(static_cast<std::uint8_t>(pick));
  return pick;
}

void execution::point(bool free) {
  if (current_ == 0 || failed_) {
    return;
  }
  ++steps_;
  step_done_by(current_);
  if (steps_ > most_steps) {
    fail(fmt::format("no end after {} steps", most_steps));
  }
  update_solo();
  pick_next(free);
}

// One thread must make progress while all other threads are stopped, wherever they are.
void execution::update_solo() {
  if (steps_ == made_.solo && solo_ == 0) {
    solo_ = current_;
    had_solo_ = true;
  }
  if (solo_ != 0 && ++solo_steps_ > most_solo_steps) {
    fail(fmt::format("thread {} alone got nowhere in {} steps", solo_, most_solo_steps));
  }
}

void execution::step_done_by(thread_id who) noexcept {
  for (thread_id each = 1; each <= count_; ++each) {
    threads_[each]->waits_for &= ~(1U << who);
  }
}

bool execution::can_run(thread_id who) noexcept {
  thread& asked = *threads_[who];
  if (asked.now == state::resting && asked.waits_for == 0) {
    asked.now = state::ready;
  }
  if ((asked.now == state::blocked || asked.now == state::timed) && asked.woken) {
    asked.now = state::ready;
  }
  return asked.now == state::ready;
}

std::size_t execution::list_candidates(std::array<thread_id, most_threads>& found) {
  std::size_t count = 0;
  if (solo_ != 0) {
    if (can_run(solo_) || threads_[solo_]->now == state::resting) {
      threads_[solo_]->now = state::ready;
      found[count++] = solo_;
      return count;
    }
    solo_ = 0;  // it has ended, or it waits for a lock, so it is not lock-free
  }
  if (current_ != 0 && can_run(current_)) {
    found[count++] = current_;
  }
  for (thread_id who = 1; who <= count_; ++who) {
    if (who != current_ && can_run(who)) {
      found[count++] = who;
    }
  }
  return count;
}

void execution::pick_next(bool free) {
  std::array<thread_id, most_threads> found{};
  std::size_t count = list_candidates(found);
  if (count == 0) {
    no_candidate();
    count = list_candidates(found);
    if (count == 0) {
      change_to(0);
      return;
    }
  }
  unsigned pick = 0;
  if (count > 1) {
    const candidates among{std::span(found).first(count), found[0] == current_, free, steps_};
    pick = chooser_->choose_thread(among);
    made_.picks.push_back(static_cast<std::uint8_t>(pick));
  }
  change_to(found[pick]);
}

// Wakes all resting threads, which have waited long enough. If there are none, lets timed waits
// time out. If there are none either, reports a deadlock, unless all threads have ended.
void execution::no_candidate() {
  for (const state waiting : {state::resting, state::timed}) {
    bool any = false;
    for (thread_id who = 1; who <= count_; ++who) {
      if (threads_[who]->now == waiting) {
        threads_[who]->now = state::ready;
        any = true;
      }
    }
    if (any) {
      return;
    }
  }
  const auto ended = [](const auto& each) {
    return each->now == state::ended || each->now == state::unused;
  };
  if (!std::all_of(threads_.begin() + 1, threads_.begin() + 1 + count_, ended) && !failed_) {
    failed_ = true;
    failure_ = "every thread that is left waits for another: deadlock, or a wake-up was lost";
  }
}

void execution::change_to(thread_id next) {
  if (next == current_) {
    return;
  }
  thread& from = *threads_[current_];
  thread& to = *threads_[next];
  local_.save(from.local);
  local_.load(to.local);
  current_ = next;
  fiber::change(from.context, to.context);
}

void execution::rest() {
  if (current_ == 0 || failed_) {
    return;
  }
  thread& mine = *threads_[current_];
  mine.waits_for = 0;
  for (thread_id who = 1; who <= count_; ++who) {
    if (who != current_ && can_run(who)) {
      mine.waits_for |= 1U << who;
    }
  }
  mine.now = state::resting;
  ++steps_;
  update_solo();
  pick_next(/*free=*/true);
  memory_.see_latest(current_);
}

bool execution::block(const void* on, bool timed) {
  if (current_ == 0 || failed_) {
    return true;
  }
  thread& mine = *threads_[current_];
  mine.blocked_on = on;
  mine.woken = false;
  mine.now = timed ? state::timed : state::blocked;
  step_done_by(current_);
  // An early time-out is an additional event. The time-out that comes when nothing else can happen
  // is handled in no_candidate().
  if (timed && choose(question::event, 2) == 1) {
    mine.now = state::ready;
  }
  pick_next(/*free=*/true);
  mine.blocked_on = nullptr;
  return mine.woken;
}

void execution::wake(const void* on) noexcept {
  for (thread_id who = 1; who <= count_; ++who) {
    if (threads_[who]->blocked_on == on) {
      threads_[who]->woken = true;
    }
  }
}

void execution::at_thread_exit(void (*function)(void*), void* argument) {
  threads_[current_]->exit = {function, argument};
}

}  // namespace model
