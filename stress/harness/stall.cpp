#include "harness/stall.hpp"

#include <atomic>
#include <chrono>
#include <thread>

#include "lido/concurrency/atomic.hpp"

namespace {

enum class stage : std::uint8_t { running, stopped, resumed };

// NOLINTBEGIN(cppcoreguidelines-avoid-non-const-global-variables): reached from inside the library
std::atomic<stage> now{stage::running};
constinit thread_local std::uint32_t stop_at = stress::stall::never;
constinit thread_local std::uint32_t count = 0;
constinit thread_local std::vector<std::uintptr_t>* record_in = nullptr;
// NOLINTEND(cppcoreguidelines-avoid-non-const-global-variables)

void change(stage next) noexcept {
  now = next;
  now.notify_all();
}

}  // namespace

namespace stress {

void stall::arm(std::uint32_t n) noexcept {
  stop_at = n;
  count = 0;
}

void stall::record(std::vector<std::uintptr_t>& places) noexcept {
  record_in = &places;
}

bool stall::wait_for_one() noexcept {
  for (int waits = 0; waits < 100'000 && now == stage::running; ++waits) {
    std::this_thread::sleep_for(std::chrono::microseconds(100));
  }
  return now == stage::stopped;
}

void stall::end() noexcept {
  change(stage::resumed);
}

void stall::reset() noexcept {
  change(stage::running);
}

}  // namespace stress

namespace lido::detail {

[[gnu::noinline]] void schedule_point() noexcept {
  if (record_in != nullptr) {
    // NOLINTNEXTLINE(cppcoreguidelines-pro-type-reinterpret-cast): a name for the caller's place
    record_in->push_back(reinterpret_cast<std::uintptr_t>(__builtin_return_address(0)));
  }
  if (++count == stop_at) {
    change(stage::stopped);
    now.wait(stage::stopped);
  }
}

}  // namespace lido::detail
