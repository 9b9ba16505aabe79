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

}  // namespace lido::detail
