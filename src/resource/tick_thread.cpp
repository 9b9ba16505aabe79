#include "lido/resource/tick_thread.hpp"

#include <new>
#include <utility>

#include "../concurrency/uncancelled.hpp"
#include "lido/concurrency/parking.hpp"

namespace lido::detail {

tick_thread::tick_thread(std::chrono::nanoseconds period, std::function<void()> tick)
    : period_(period), tick_(std::move(tick)), thread_([this] { run(); }) {}

tick_thread::~tick_thread() {
  // relaxed: the thread reads nothing that this one has written since it began
  ended_.store(1, std::memory_order_relaxed);
  unpark(&ended_);
  const uncancelled guard;  // a join is a point of cancellation
  thread_.join();
}

void tick_thread::run() noexcept {
  // relaxed: as above
  while (ended_.load(std::memory_order_relaxed) == 0) {
    if (park(ended_, 0, deadline::after(period_))) {
      continue;
    }
    try {
      tick_();
    } catch (const std::bad_alloc&) {  // the next time, then
    }
  }
}

}  // namespace lido::detail
