#include "lido/concurrency/backoff.hpp"

#include <pthread.h>

#include <chrono>
#include <thread>

#include "lido/concurrency/asked_once.hpp"

namespace lido::detail {

void yield_thread() noexcept {
  std::this_thread::yield();
}

void nap_thread() noexcept {
  // To be cancelled in a sleep, within noexcept functions, would end the program.
  int before = PTHREAD_CANCEL_ENABLE;
  (void)pthread_setcancelstate(PTHREAD_CANCEL_DISABLE, &before);
  std::this_thread::sleep_for(std::chrono::microseconds(1));
  (void)pthread_setcancelstate(before, nullptr);
}

bool several_processors() noexcept {
  static constinit asked_once several;
  return several.answer([] { return std::thread::hardware_concurrency() != 1; });
}

}  // namespace lido::detail
