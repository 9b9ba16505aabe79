// Another component knows that the server is back: the pool connects at once.
#include <atomic>
#include <chrono>
#include <exception>
#include <iostream>
#include <lido/resource_pool.hpp>
#include <stdexcept>

using namespace std::chrono_literals;

struct connection {};
using connection_pool = lido::resource_pool<connection>;

// [snippet]
void on_server_back(connection_pool& db) {  // called by a health check
  db.retry_now();                           // need not wait for the end of the pause
}
// [/snippet]

int main() try {
  std::atomic<bool> is_down = true;
  connection_pool db([&] { return is_down ? throw std::runtime_error("refused") : connection(); },
                     {.max_size = 4,
                      .min_idle = 1,
                      .name = "db",
                      .retry_first = 1h,  // longer than in production
                      .retry_longest = 1h,
                      .on_create_error = lido::create_errors::fail_fast});
  std::cout << "before: " << to_string(db.try_acquire_for(10s).failure()) << '\n';
  is_down = false;
  on_server_back(db);
  std::cout << "connected: " << std::boolalpha << db.wait_until_idle(1, 10s) << '\n';
} catch (const std::exception& problem) {
  std::cerr << problem.what() << '\n';
  return 1;
}

// Prints:
//   before: create failed
//   connected: true
