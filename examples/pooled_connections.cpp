// Connections over TCP from a ready-made factory, checked before they are lent.
#include <array>
#include <boost/asio/read.hpp>
#include <boost/asio/write.hpp>
#include <chrono>
#include <exception>
#include <iostream>
#include <lido/tcp.hpp>
#include <semaphore>
#include <string>
#include <thread>

namespace net = boost::asio;

// [snippet]
using tcp_pool = lido::resource_pool<lido::tcp_factory::socket>;

std::string ask(tcp_pool& pool, std::string question) {
  const auto lease = pool.acquire();
  net::write(*lease, net::buffer(question));
  net::read(*lease, net::buffer(question));  // as long as the question, from this server
  return question;
}
// [/snippet]

/// Sends back what two connections send, one after the other, four bytes each.
void serve(net::ip::tcp::acceptor& acceptor, std::counting_semaphore<2>& hung_up) {
  for (int connection = 0; connection < 2; ++connection) {
    auto peer = acceptor.accept();
    std::array<char, 4> bytes{};
    net::read(peer, net::buffer(bytes));
    net::write(peer, net::buffer(bytes));
    peer.close();
    hung_up.release();
  }
}

int main() try {
  net::io_context context;
  net::ip::tcp::acceptor acceptor(context, {net::ip::address_v4::loopback(), 0});
  std::counting_semaphore<2> hung_up(0);
  std::jthread server([&] { serve(acceptor, hung_up); });
  const lido::tcp_factory factory(
      context.get_executor(),
      {.host = "127.0.0.1", .port = std::to_string(acceptor.local_endpoint().port())});
  tcp_pool pool(factory, {.max_size = 1, .validate_if_idle_longer_than = std::chrono::seconds(0)});
  std::cout << ask(pool, "one.") << '\n';
  hung_up.acquire();  // the pool is not notified
  std::cout << ask(pool, "two.") << '\n';
  std::cout << pool.stats().created << " connections\n";
} catch (const std::exception& problem) {
  std::cerr << problem.what() << '\n';
  return 1;
}

// Prints:
//   one.
//   two.
//   2 connections
