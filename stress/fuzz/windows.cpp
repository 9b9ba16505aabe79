#include "fuzz/windows.hpp"

#include <utility>

#include "lido/concurrency/atomic.hpp"
#include "lido/concurrency/backoff.hpp"

namespace {

// Plain, because threads of a fuzz target take turns, and a turn passes through a mutex.
std::function<void()> window_action;
unsigned windows_to_go = 0;
unsigned closed = 0;

}  // namespace

void fuzz::on_window(std::function<void()> action) {
  window_action = std::move(action);
  windows_to_go = 0;
}

void fuzz::arm_window(unsigned count) noexcept {
  windows_to_go = count;
}

fuzz::closed_windows::closed_windows() noexcept {
  ++closed;
}

fuzz::closed_windows::~closed_windows() {
  --closed;
}

namespace lido::inline v0::detail {

#ifdef LIDO_FUZZ_WINDOWS

void schedule_point(access /*next*/) noexcept {
  if (closed == 0 && windows_to_go > 0 && --windows_to_go == 0 && window_action) {
    window_action();
  }
}

// The other thread is stopped until this one is done, so a real wait is useless.
void yield_thread() noexcept {}
void nap_thread(std::uint32_t /*microseconds*/) noexcept {}
bool bounded_wait::is_over() noexcept {
  last_ += tuning::nanoseconds_of_one_wait;  // the clock advances with each reading
  spent_ += tuning::nanoseconds_of_one_wait;
  left_ -= tuning::nanoseconds_of_one_wait;
  return spent_ >= tuning::nanoseconds_of_patience || left_ <= 0;
}

// One participant runs at a time.
bool several_processors() noexcept {
  return false;
}

#else

void schedule_point(access /*next*/) noexcept {}

#endif

}  // namespace lido::inline v0::detail
