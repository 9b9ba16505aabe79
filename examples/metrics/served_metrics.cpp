// A process that serves the numbers of its pools to Prometheus, and logs what happens to one.
// Usage: served_metrics [PORT [REQUESTS]]    of each of six workers; serves until its input ends
#include <prometheus/exposer.h>

#include <array>
#include <chrono>
#include <exception>
#include <iostream>
#include <lido/fmt.hpp>
#include <lido/object_pool.hpp>
#include <lido/prometheus.hpp>
#include <lido/resource_pool.hpp>
#include <limits>
#include <memory>
#include <string>
#include <thread>

using namespace std::chrono_literals;

struct job {
  std::array<char, 256> request{};
};
struct connection {};

// [snippet log]
void log_event(const lido::pool_event& event) {  // from any thread
  fmt::print(stderr, "{}: {} {}\n", event.pool, to_string(event.what), event.text);
  for (const lido::lease_info& lease : event.leases) {
    fmt::print(stderr, "  held for {} ms, by {}\n", lease.held_for / 1ms, lease.where());
  }
}
// [/snippet]

int main(int argc, char** argv) try {
  const std::string port = argc > 1 ? argv[1] : "9464";
  const int requests = argc > 2 ? std::stoi(argv[2]) : std::numeric_limits<int>::max();

  // [snippet serve]
  lido::registry& pools = lido::registry::global();
  lido::object_pool<job> jobs{{.capacity = 64, .name = "jobs", .registry = &pools}};
  lido::resource_pool<connection> db([] { return connection(); }, {.max_size = 4,
                                                                   .name = "db",
                                                                   .registry = &pools,
                                                                   .report_leak_after = 1min,
                                                                   .time_uses = true,
                                                                   .on_event = log_event});
  const auto collector = std::make_shared<lido::pool_collector>(pools);
  prometheus::Exposer exposer("127.0.0.1:" + port);
  exposer.RegisterCollectable(collector);
  // [/snippet]

  std::array<std::jthread, 6> workers;
  for (std::jthread& worker : workers) {
    worker = std::jthread([&](const std::stop_token& stop) {
      for (int i = 0; i < requests && !stop.stop_requested(); ++i) {
        const auto request = jobs.acquire();
        const auto lease = db.acquire();
        std::this_thread::sleep_for(2ms);
      }
    });
  }
  fmt::print("http://127.0.0.1:{}/metrics\n", port);
  std::cin.ignore(std::numeric_limits<std::streamsize>::max());
  for (std::jthread& worker : workers) {
    worker.request_stop();
    worker.join();
  }
  fmt::print("{}\n{}\n", jobs.stats(), db.stats());
} catch (const std::exception& problem) {
  std::cerr << problem.what() << '\n';
  return 1;
}
