// A server that answers health checks by HTTP, on a free port of the loopback interface.
// Usage: health_endpoint    `up` as its input lets the pool connect, `stop` begins a shutdown
#include "health_endpoint.hpp"

#include <atomic>
#include <boost/asio/io_context.hpp>
#include <exception>
#include <iostream>
#include <lido/resource_pool.hpp>
#include <stdexcept>
#include <string>
#include <thread>

namespace net = boost::asio;

struct connection {};

int main() try {
  std::atomic<bool> server_is_up{false};
  const auto connect = [&] {
    return server_is_up ? connection() : throw std::runtime_error("refused");
  };
  health answers;
  const auto note = [&answers](const lido::pool_event& event) { answers.note(event); };
  lido::resource_pool<connection> db(
      connect, {.max_size = 4, .min_idle = 1, .name = "db", .on_event = note});
  // [snippet]
  const pages all = [&](const std::string& path) -> http_answer {
    if (path == "/live") {
      return health::liveness();
    }
    return path == "/ready" ? answers.readiness(db.stats()) : http_answer{404, "no such page"};
  };
  net::io_context context;
  tcp::acceptor door(context, {net::ip::address_v4::loopback(), 0});
  serve(door, all);
  const std::jthread server([&context] { context.run(); });  // apart from the threads that work
  // [/snippet]
  std::cout << "http://" << door.local_endpoint() << std::endl;
  for (std::string line; std::getline(std::cin, line);) {
    if (line == "up") {
      server_is_up = true;
    } else if (line == "stop") {
      answers.begin_shutdown();
    }
  }
  context.stop();
} catch (const std::exception& problem) {
  std::cerr << problem.what() << '\n';
  return 1;
}
