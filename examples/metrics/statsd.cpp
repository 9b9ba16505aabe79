// A process that sends the statistics of its pools to a StatsD agent on the same machine, twice.
// Usage: statsd PORT
#include <boost/asio/io_context.hpp>
#include <boost/asio/ip/udp.hpp>
#include <chrono>
#include <cstdint>
#include <exception>
#include <iostream>
#include <lido/lido.hpp>
#include <string>
#include <thread>

#include "statsd_lines.hpp"

namespace net = boost::asio;
using namespace std::chrono_literals;

struct job {};
struct connection {};

void work(lido::resource_pool<connection>& db) {
  for (int use = 0; use < 30; ++use) {
    const auto lease = db.acquire();
    std::this_thread::sleep_for(3ms);
  }
  const auto first = db.acquire();
  const auto second = db.acquire();
  (void)db.try_acquire_for(1ms);  // a pool of two has none left
}

int main(int argc, char** argv) try {
  if (argc != 2) {
    std::cerr << "usage: statsd PORT\n";
    return 2;
  }
  const auto port = static_cast<std::uint16_t>(std::stoi(argv[1]));
  auto& pools = lido::registry::global();
  lido::object_pool<job> jobs{{.capacity = 64, .name = "jobs|a:b", .registry = &pools}};
  lido::resource_pool<connection> db([] { return connection(); }, {.max_size = 2,
                                                                   .name = "db",
                                                                   .registry = &pools,
                                                                   .time_uses = true,
                                                                   .detect_hold_and_wait = false});
  // [snippet]
  net::io_context context;
  net::ip::udp::socket socket(context, net::ip::udp::v4());
  const net::ip::udp::endpoint agent(net::ip::address_v4::loopback(), port);
  statsd_lines lines;
  for (int round = 0; round < 2; ++round) {
    work(db);  // in a server, a timer calls the rest every ten seconds
    for (const std::string& text : lines.of(pools)) {
      boost::system::error_code ignored;  // for instance, that there is no agent
      socket.send_to(net::buffer(text), agent, 0, ignored);
    }
  }
  // [/snippet]
} catch (const std::exception& problem) {
  std::cerr << problem.what() << '\n';
  return 1;
}
