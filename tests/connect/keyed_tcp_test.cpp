// A ready-made factory that serves many keys, as docs/reference/options.md describes.
#include <gtest/gtest.h>

#include <boost/asio/io_context.hpp>
#include <chrono>
#include <string>

#include "lido/keyed_resource_pool.hpp"
#include "lido/tcp.hpp"
#include "servers/echo_server.hpp"

namespace lido {
namespace {

using namespace std::chrono_literals;
using tcp_socket = tcp_factory::socket;

struct sockets_by_port {
  boost::asio::io_context* context;
  [[nodiscard]] tcp_socket create(const std::string& port, const create_context& until) const {
    return tcp_factory(context->get_executor(), {.host = "127.0.0.1", .port = port}).create(until);
  }
  static bool validate(tcp_socket& idle) { return tcp_factory::validate(idle); }
  static bool reset(tcp_socket& used) { return tcp_factory::reset(used); }
};

TEST(KeyedTcp, AReadyFactoryMakesConnectionsForEachKey) {
  boost::asio::io_context context;
  servers::echo_server first;
  servers::echo_server second;
  keyed_resource_pool<std::string, tcp_socket> pool(
      sockets_by_port{&context},
      {.max_total = 2, .each_key = {.max_size = 2, .validate_if_idle_longer_than = 0ns}});
  const auto port_of_lease = [&](int port) {
    const auto lease = pool.at(std::to_string(port)).acquire();
    return lease->remote_endpoint().port();
  };
  for (int i = 0; i < 2; ++i) {
    EXPECT_EQ(port_of_lease(first.port()), first.port());
    EXPECT_EQ(port_of_lease(second.port()), second.port());
  }
  EXPECT_EQ(pool.at(std::to_string(first.port())).stats().value().created, 1U)
      << "the pool replaced the connection";
  EXPECT_EQ(pool.at(std::to_string(second.port())).stats().value().created, 1U);
}

}  // namespace
}  // namespace lido
