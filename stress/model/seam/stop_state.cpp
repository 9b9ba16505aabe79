#include "seam/stop_state.hpp"

#include <utility>

#include "checker/execution.hpp"

namespace model {

stop_state::stop_state() : seen_(execution::now().memory().new_row()) {}

void stop_state::begin_step() {
  auto& here = execution::now();
  here.point();
  here.memory().take_over(here.self(), seen_);
}

void stop_state::end_step() {
  auto& here = execution::now();
  here.memory().pass_on(seen_, here.self());
}

bool stop_state::request() {
  begin_step();
  const bool is_first = !std::exchange(requested_, true);
  runner_ = is_first ? execution::now().self() : runner_;
  while (is_first && first_ != nullptr) {
    running_ = std::exchange(first_, first_->next_);
    end_step();
    running_->run_(running_->callback_);
    begin_step();
    running_ = nullptr;
    execution::now().wake(this);
  }
  end_step();
  return is_first;
}

void stop_state::add(stop_registration& one) {
  begin_step();
  if (!requested_) {
    one.next_ = std::exchange(first_, &one);
  }
  end_step();
  if (requested_ && first_ != &one) {
    one.run_(one.callback_);
  }
}

void stop_state::remove(stop_registration& one) {
  begin_step();
  for (stop_registration** at = &first_; *at != nullptr; at = &(*at)->next_) {
    if (*at == &one) {
      *at = one.next_;
      break;
    }
  }
  auto& here = execution::now();
  while (running_ == &one && runner_ != here.self() && here.checks()) {
    end_step();
    (void)here.block(this, /*timed=*/false);
    begin_step();
  }
  end_step();
}

}  // namespace model
