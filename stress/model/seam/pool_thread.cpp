/// Threads of a scenario that wait for pools to start one.
#include "seam/pool_thread.hpp"

#include <deque>
#include <system_error>

namespace model {

namespace {

/// The model runs one thread at a time.
struct service {
  unsigned unused = 0;  ///< threads that no start has taken
  bool is_over = false;
  bool keeps_time = false;
  std::deque<std::shared_ptr<pool_work>> started;
};

service& now() noexcept {
  static service one;
  return one;
}

}  // namespace

void pool_work::pass_on() {
  auto& here = execution::now();
  here.memory().pass_on(passes_on, here.self());
}

void pool_work::take_over() const {
  auto& here = execution::now();
  here.memory().take_over(here.self(), passes_on);
}

void set_threads_aside(unsigned count, bool keeps_time) {
  now() = {.unused = count, .is_over = false, .keeps_time = keeps_time, .started = {}};
}

void run_pool_thread() {
  auto& here = execution::now();
  while (now().started.empty()) {
    if (now().is_over) {
      return;
    }
    (void)here.block(&now(), /*timed=*/false);
  }
  const std::shared_ptr<pool_work> mine = std::move(now().started.front());
  now().started.pop_front();
  mine->by = here.self();
  mine->take_over();
  std::exchange(mine->body, nullptr)();
  here.point();
  mine->pass_on();
  mine->has_ended = true;
  here.wake(mine.get());
}

void dismiss_threads() {
  now().is_over = true;
  execution::now().wake(&now());
}

void pool_thread::join() {
  auto& here = execution::now();
  here.point();
  while (!work_->has_ended && here.checks()) {
    (void)here.block(work_.get(), /*timed=*/false);
  }
  work_->take_over();
  work_.reset();
}

pool_thread start_pool_thread(std::string_view name, std::function<void()> body) {
  if ((name == "lido-time" && !now().keeps_time) || now().unused == 0) {
    throw std::system_error(std::make_error_code(std::errc::resource_unavailable_try_again));
  }
  --now().unused;
  auto& here = execution::now();
  here.point();
  auto work = std::make_shared<pool_work>();
  work->body = std::move(body);
  work->passes_on = here.memory().new_row();
  work->pass_on();
  now().started.push_back(work);
  here.wake(&now());
  return pool_thread(std::move(work));
}

}  // namespace model
