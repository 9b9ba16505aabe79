#include "checker/sync.hpp"

#include <utility>

namespace model {

void mutex::refresh() {
  auto& here = execution::now();
  if (execution_ != here.number()) {
    execution_ = here.number();
    passes_on_ = here.memory().new_row();
    held_ = false;
  }
}

void mutex::enter() {
  auto& here = execution::now();
  held_ = true;
  here.memory().take_over(here.self(), passes_on_);
}

void mutex::lock() {
  auto& here = execution::now();
  refresh();
  here.point();
  while (held_ && here.checks()) {
    (void)here.block(this, /*timed=*/false);
  }
  enter();
}

bool mutex::try_lock() {
  auto& here = execution::now();
  refresh();
  here.point();
  if (held_ && here.checks()) {
    return false;
  }
  enter();
  return true;
}

void mutex::unlock() {
  auto& here = execution::now();
  here.point();
  here.memory().pass_on(passes_on_, here.self());
  held_ = false;
  here.wake(this);
}

bool parking_place::sleep(bool timed) {
  auto& here = execution::now();
  here.point();
  while (!token_) {
    if (!here.block(this, timed)) {
      break;
    }
  }
  return std::exchange(token_, false);
}

void parking_place::park() {
  (void)sleep(/*timed=*/false);
}

bool parking_place::park_for() {
  return sleep(/*timed=*/true);
}

void parking_place::unpark() {
  auto& here = execution::now();
  here.point();
  token_ = true;
  here.wake(this);
}

}  // namespace model
