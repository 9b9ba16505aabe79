/// Schedule points of the stress drivers: now and then the thread yields its processor between two
/// accesses, which hardly ever happens by itself. None does if LIDO_SCHEDULE is "plain".
#include <cstdint>
#include <cstdlib>
#include <functional>
#include <limits>
#include <string_view>
#include <thread>

#include "lido/concurrency/atomic.hpp"

namespace lido::inline v0::detail {

namespace {

bool is_plain() noexcept {
  const char* const name = std::getenv("LIDO_SCHEDULE");  // NOLINT(concurrency-mt-unsafe)
  return name != nullptr && std::string_view(name) == "plain";
}

// A different start for each thread: its hashed id.
std::uint32_t first_state() noexcept {
  return static_cast<std::uint32_t>(std::hash<std::thread::id>{}(std::this_thread::get_id())) | 1U;
}

/// Returns the number of points until the next yield; from 1 to twice their mean.
std::uint64_t next_distance() noexcept {
  static const bool plain = is_plain();
  if (plain) {
    return std::numeric_limits<std::uint64_t>::max();
  }
  constexpr std::uint32_t mean = 1024;
  thread_local std::uint32_t state = first_state();
  state = state * 1664525U + 1013904223U;  // Numerical Recipes' generator: one multiplication
  return 1 + (state >> 16U) % (2 * mean);
}

}  // namespace

void schedule_point(access /*next*/) noexcept {
  thread_local std::uint64_t left = 1;
  if (--left == 0) {
    left = next_distance();
    std::this_thread::yield();
  }
}

}  // namespace lido::inline v0::detail
