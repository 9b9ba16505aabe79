#include <chrono>
#include <limits>
#include <thread>

#include "../platform.hpp"

namespace lido::inline v0::detail::platform {

bool register_heavy_fence() noexcept {
  return false;
}

bool heavy_fence() noexcept {
  return false;
}

bool park(const void* /*word*/, std::uint32_t /*expected*/, std::int64_t end) noexcept {
  nap(1);
  const auto now = std::chrono::steady_clock::now().time_since_epoch();
  return end == (std::numeric_limits<std::int64_t>::max)() || now < std::chrono::nanoseconds(end);
}

void unpark(const void* /*word*/) noexcept {}

void nap(std::uint32_t microseconds) noexcept {
  std::this_thread::sleep_for(std::chrono::microseconds(microseconds));
}

}  // namespace lido::inline v0::detail::platform
