// Calls callbacks whose wait has ended, one after the other.
#include "pool_scope.hpp"

namespace lido::inline v0::detail {

constinit thread_local const pool_scope* innermost_scope = nullptr;

void call_in_turn(callback_queue& ended) noexcept {
  if (callback_queue* const calling = pool_scope::calling()) {
    calling->append(ended);
    return;
  }
  const pool_scope inside(ended);
  call_before_sleep();
}

void call_before_sleep() noexcept {
  callback_queue* const calling = pool_scope::calling();
  while (callback_wait* const wait = calling != nullptr ? calling->pop_front() : nullptr) {
    wait->deliver(*wait);
  }
}

}  // namespace lido::inline v0::detail
