/// Schedule points of a fuzzing build: now and then the thread gives its processor away in the
/// middle of a window, which hardly ever happens by itself.
#include <cstdint>
#include <thread>

#include "lido/concurrency/atomic.hpp"

namespace lido::detail {

void schedule_point() noexcept {
  constexpr std::uint32_t one_in = 256;
  thread_local std::uint32_t state =
      static_cast<std::uint32_t>(reinterpret_cast<std::uintptr_t>(&state) >> 4U) | 1U;
  state = state * 1664525U + 1013904223U;  // Numerical Recipes' generator: one multiplication
  if ((state >> 16U) % one_in == 0) {
    std::this_thread::yield();
  }
}

}  // namespace lido::detail
