// A lease that is held for too long is reported, with the code address that acquired it.
#include <chrono>
#include <exception>
#include <iostream>
#include <lido/resource_pool.hpp>
#include <thread>

using namespace std::chrono_literals;

struct connection {};

// [snippet]
void report(const lido::pool_event& event) {  // from any thread
  std::cout << event.pool << ": " << to_string(event.what) << '\n';
  for (const lido::lease_info& lease : event.leases) {
    std::clog << lease.held_for / 1ms << " ms, by " << lease.where() << '\n';
  }
}

lido::resource_pool_options watched() {
  return {.max_size = 8,
          .name = "db",
          .report_leak_after = 20ms,  // rather a minute
          .on_event = report};
}
// [/snippet]

int main() try {
  auto options = watched();
  options.maintenance = lido::maintenance::by_tick;  // this program calls tick() itself
  lido::resource_pool<connection> db([] { return connection(); }, options);
  auto held = db.acquire();
  auto wanted = db.acquire();
  wanted.expect_long_use();
  std::this_thread::sleep_for(25ms);
  db.tick();
  std::cout << db.leases().size() << " leases\n";
  held.reset();
} catch (const std::exception& problem) {
  std::cerr << problem.what() << '\n';
  return 1;
}

// Prints:
//   db: suspected leak
//   2 leases
//   db: returned after all
