/// Schedule points of a fuzzing build: now and then the thread gives its processor away in the
/// middle of a window, which hardly ever happens by itself.
#include <cstdint>
#include <functional>
#include <thread>

#include "lido/concurrency/atomic.hpp"

namespace lido::detail {

namespace {

// Another start for each thread: its id, stirred.
std::uint32_t first_state() noexcept {
  return static_cast<std::uint32_t>(std::hash<std::thread::id>{}(std::this_thread::get_id())) | 1U;
}

}  // namespace

void schedule_point() noexcept {
  constexpr std::uint32_t one_in = 256;
  thread_local std::uint32_t state = first_state();
  state = state * 1664525U + 1013904223U;  // Numerical Recipes' generator: one multiplication
  if ((state >> 16U) % one_in == 0) {
    std::this_thread::yield();
  }
}

}  // namespace lido::detail
