#include "lido/concurrency/backoff.hpp"

#include <chrono>
#include <thread>

#include "../platform/platform.hpp"
#include "lido/concurrency/asked_once.hpp"

namespace lido::detail {

void yield_thread() noexcept {
  std::this_thread::yield();
}

void nap_thread() noexcept {
  // To be cancelled in a sleep, within noexcept functions, would end the program.
  const uncancelled guard;
  std::this_thread::sleep_for(std::chrono::microseconds(1));
}

bool several_processors() noexcept {
  static constinit asked_once several;
  return several.answer([] { return std::thread::hardware_concurrency() != 1; });
}

}  // namespace lido::detail
