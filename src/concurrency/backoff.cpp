#include "lido/concurrency/backoff.hpp"

#include <chrono>
#include <thread>

namespace lido::detail {

void yield_thread() noexcept {
  std::this_thread::yield();
}

void nap_thread() noexcept {
  std::this_thread::sleep_for(std::chrono::microseconds(1));
}

bool several_processors() noexcept {
  static const bool several = std::thread::hardware_concurrency() != 1;
  return several;
}

}  // namespace lido::detail
