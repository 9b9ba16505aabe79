// The server needs all connections gone for a while: users wait, and get no error.
#include <chrono>
#include <exception>
#include <iostream>
#include <lido/resource_pool.hpp>
#include <thread>

using namespace std::chrono_literals;

struct connection {};
using connection_pool = lido::resource_pool<connection>;

// [snippet]
bool begin_maintenance(connection_pool& db, std::chrono::seconds limit) {
  db.suspend();  // acquires wait, and nothing is created
  db.flush();    // idle connections end now, those in use when they come back
  const auto end = std::chrono::steady_clock::now() + limit;
  while (db.stats().live != 0 && std::chrono::steady_clock::now() < end) {
    std::this_thread::sleep_for(1ms);
  }
  return db.stats().live == 0;
}
// [/snippet]

int main() try {
  connection_pool db([] { return connection(); }, {.max_size = 4, .min_idle = 2, .name = "db"});
  auto held = db.acquire();
  std::jthread user([&held] {
    std::this_thread::sleep_for(10ms);
    held.reset();
  });
  std::cout << "all gone: " << std::boolalpha << begin_maintenance(db, 5s) << '\n';
  std::cout << "an acquire now: " << to_string(db.try_acquire_for(1ms).failure()) << '\n';
  db.resume();
  std::cout << "an acquire then: " << (db.acquire() ? "works" : "fails") << '\n';
} catch (const std::exception& problem) {
  std::cerr << problem.what() << '\n';
  return 1;
}

// Prints:
//   all gone: true
//   an acquire now: timed out
//   an acquire then: works
