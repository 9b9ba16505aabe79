#include "lido/concurrency/backoff.hpp"

#include <algorithm>
#include <chrono>
#include <cstdint>
#include <thread>

#include "../platform/platform.hpp"
#include "asked_once.hpp"

namespace lido::inline v0::detail {

void yield_thread() noexcept {
  std::this_thread::yield();
}

void nap_thread(std::uint32_t microseconds) noexcept {
  platform::nap(microseconds);
}

bool bounded_wait::is_over() noexcept {
  const std::int64_t now = std::chrono::duration_cast<std::chrono::nanoseconds>(
                               std::chrono::steady_clock::now().time_since_epoch())
                               .count();
  if (last_ != 0) {
    const std::int64_t wait = (std::min)(now - last_, tuning::nanoseconds_of_one_wait);
    spent_ += wait;
    left_ -= wait;
  }
  last_ = now;
  return spent_ >= tuning::nanoseconds_of_patience || left_ <= 0;
}

bool several_processors() noexcept {
  static constinit asked_once several;
  return several.answer([] { return std::thread::hardware_concurrency() != 1; });
}

}  // namespace lido::inline v0::detail
