// The server needs all connections closed for a while: uses that take too long are interrupted.
#include <atomic>
#include <chrono>
#include <exception>
#include <iostream>
#include <lido/resource_pool.hpp>
#include <memory>
#include <thread>

using namespace std::chrono_literals;

struct connection {
  std::shared_ptr<std::atomic<bool>> is_shut = std::make_shared<std::atomic<bool>>(false);
};
using connection_pool = lido::resource_pool<connection>;

struct connection_factory {
  static connection create() { return {}; }
  static void interrupt(connection& used) noexcept {  // with a socket: shutdown(2)
    *used.is_shut = true;
    used.is_shut->notify_all();
  }
};

// [snippet]
bool is_empty_within(connection_pool& db, std::chrono::milliseconds limit) {
  const auto end = std::chrono::steady_clock::now() + limit;
  while (db.stats().live != 0 && std::chrono::steady_clock::now() < end) {
    std::this_thread::sleep_for(1ms);
  }
  return db.stats().live == 0;
}

bool begin_maintenance(connection_pool& db, std::chrono::milliseconds limit) {
  db.suspend();  // acquires wait, and nothing is created
  db.flush();    // idle connections end now, those in use when they come back
  if (!is_empty_within(db, limit)) {
    db.flush(lido::ongoing_uses::interrupt);  // users that are left get an error from their calls
  }
  return is_empty_within(db, 1s);
}
// [/snippet]

int main() try {
  connection_pool db(connection_factory(), {.max_size = 4, .min_idle = 2, .name = "db"});
  const std::jthread user([held = db.acquire()] { held->is_shut->wait(false); });
  std::cout << "all gone: " << std::boolalpha << begin_maintenance(db, 50ms) << '\n';
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
