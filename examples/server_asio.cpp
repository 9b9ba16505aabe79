// A server in an event loop: clients' requests go to a backend through a pool of connections.
// SIGTERM ends it. Backend and client are here, too, so that the program runs by itself.
#include <utility>  // before Boost 1.74, which needs it

#include <array>
#include <boost/asio.hpp>
#include <chrono>
#include <csignal>
#include <exception>
#include <iostream>
#include <lido/asio.hpp>
#include <lido/tcp.hpp>
#include <memory>
#include <string>

namespace net = boost::asio;
using net::use_awaitable;
using net::ip::tcp;
using namespace std::chrono_literals;
using backend_pool = lido::resource_pool<tcp::socket>;

net::awaitable<std::string> read_line(tcp::socket& peer) {
  std::string line;
  const auto size =
      co_await net::async_read_until(peer, net::dynamic_buffer(line), '\n', use_awaitable);
  co_return line.substr(0, size - 1);
}

net::awaitable<void> write_line(tcp::socket& peer, std::string line) {
  line += '\n';
  co_await net::async_write(peer, net::buffer(line), use_awaitable);
}

/// Cancels a socket's operations, unless they complete in time.
class time_limit {
 public:
  time_limit(tcp::socket& peer, std::chrono::milliseconds time)
      : timer_(peer.get_executor(), time) {
    timer_.async_wait([&peer, over = over_](const boost::system::error_code& cancelled) {
      if (!cancelled && !*over) {
        peer.cancel();
      }
    });
  }
  time_limit(const time_limit&) = delete;
  time_limit& operator=(const time_limit&) = delete;
  ~time_limit() { *over_ = true; }

 private:
  net::steady_timer timer_;
  std::shared_ptr<bool> over_ = std::make_shared<bool>(false);
};

// [snippet ask]
net::awaitable<std::string> ask(backend_pool& pool, std::string question) {
  const auto exchange = [&question](tcp::socket& backend) -> net::awaitable<std::string> {
    const time_limit limit(backend, 500ms);  // then read_line throws
    co_await write_line(backend, question);
    co_return co_await read_line(backend);
  };
  co_return co_await lido::async_with(pool, 1s, exchange);
}

net::awaitable<std::string> answer_to(backend_pool& pool, std::string question) try {
  if (question == "health") {
    const auto now = pool.stats();
    co_return std::to_string(now.in_use) + " in use, " + std::to_string(now.waiting) + " waiting";
  }
  co_return co_await ask(pool, question);
} catch (const boost::system::system_error& problem) {
  const bool is_busy = problem.code().category() == lido::acquire_category();
  co_return is_busy ? "busy" : "no answer";
}
// [/snippet]

net::awaitable<void> serve(tcp::socket client, backend_pool& pool) {
  for (;;) {  // until the client hangs up: then read_line throws
    const std::string question = co_await read_line(client);
    co_await write_line(client, co_await answer_to(pool, question));
  }
}

template <class Serve>
net::awaitable<void> listen(tcp::acceptor& acceptor, Serve serve) {
  for (;;) {
    tcp::socket peer = co_await acceptor.async_accept(use_awaitable);
    net::co_spawn(acceptor.get_executor(), serve(std::move(peer)), net::detached);
  }
}

net::awaitable<void> backend(tcp::socket peer) {
  for (;;) {
    const std::string question = co_await read_line(peer);
    if (question != "a riddle") {
      co_await write_line(peer, "answer to " + question);
    }
  }
}

net::awaitable<void> client(tcp::endpoint server) {
  tcp::socket peer(co_await net::this_coro::executor);
  co_await peer.async_connect(server, use_awaitable);
  const std::array<std::string, 4> questions{"one", "a riddle", "two", "health"};
  for (const std::string& question : questions) {
    co_await write_line(peer, question);
    const std::string answer = co_await read_line(peer);
    std::cout << question << ": " << answer << '\n';
  }
  std::raise(SIGTERM);
}

int main() try {
  net::io_context context;
  const tcp::endpoint any_port(net::ip::address_v4::loopback(), 0);
  tcp::acceptor backends(context, any_port);
  tcp::acceptor clients(context, any_port);
  // [snippet pool]
  const auto port = std::to_string(backends.local_endpoint().port());
  const lido::tcp_factory connect(context.get_executor(), {.host = "127.0.0.1", .port = port});
  backend_pool pool(connect, {.max_size = 4, .name = "backend"});
  // [/snippet]
  // [snippet end]
  net::signal_set terminate(context, SIGTERM);
  terminate.async_wait([&](const boost::system::error_code& /*none*/, int /*signal*/) {
    clients.close();  // no new clients
    const auto done = [&context](const lido::close_report& report) {
      std::cout << (report.complete() ? "closed" : "some leases are left") << '\n';
      context.stop();
    };
    lido::async_close(pool, 5s, net::bind_executor(context, done));
  });
  // [/snippet]
  const auto serve_client = [&pool](tcp::socket peer) { return serve(std::move(peer), pool); };
  net::co_spawn(context, listen(backends, backend), net::detached);
  net::co_spawn(context, listen(clients, serve_client), net::detached);
  net::co_spawn(context, client(clients.local_endpoint()), net::detached);
  context.run();
} catch (const std::exception& problem) {
  std::cerr << problem.what() << '\n';
  return 1;
}

// Prints:
//   one: answer to one
//   a riddle: no answer
//   two: answer to two
//   health: 0 in use, 0 waiting
//   closed
