// A server that cannot be reached, then can: what its client answers to readiness checks.
#include <atomic>
#include <chrono>
#include <exception>
#include <iostream>
#include <lido/resource_pool.hpp>
#include <stdexcept>
#include <thread>

#include "health.hpp"

using namespace std::chrono_literals;

struct connection {};

int main() try {
  std::atomic<bool> server_is_up{false};
  const auto connect = [&] {
    return server_is_up ? connection() : throw std::runtime_error("refused");
  };
  // [snippet]
  health answers;
  const auto note = [&answers](const lido::pool_event& event) { answers.note(event); };
  lido::resource_pool<connection> db(
      connect, {.max_size = 4, .min_idle = 1, .name = "db", .on_event = note});
  // [/snippet]
  const auto print = [&] {
    const http_answer answer = answers.readiness(db.stats());
    std::cout << answer.status << ' ' << answer.text << '\n';
  };
  while (answers.last_error().empty()) {
    std::this_thread::sleep_for(1ms);
  }
  print();
  server_is_up = true;
  (void)db.wait_until_idle(1, 10s);
  print();
  answers.begin_shutdown();
  print();
} catch (const std::exception& problem) {
  std::cerr << problem.what() << '\n';
  return 1;
}

// Prints:
//   503 no connection: refused
//   200 0 in use, 0 waiting
//   503 shutting down
