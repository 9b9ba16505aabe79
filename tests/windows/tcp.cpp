// TCP connections from a pool, to a server in this program on the loopback interface.
#include <lido/tcp.hpp>

#include <boost/asio/read_until.hpp>
#include <boost/asio/streambuf.hpp>
#include <boost/asio/write.hpp>
#include <chrono>
#include <cstdio>
#include <cstdlib>
#include <istream>
#include <mutex>
#include <string>
#include <thread>
#include <vector>

namespace {

namespace net = boost::asio;
using net::ip::tcp;
using namespace std::chrono_literals;

void require(bool held, const std::string& what) {
  if (!held) {
    std::printf("BROKEN: %s\n", what.c_str());
    (void)std::fflush(stdout);
    std::_Exit(EXIT_FAILURE);
  }
}

/// Repeats each line until the program ends.
class echo_server {
 public:
  echo_server() : acceptor_(context_, {net::ip::address_v4::loopback(), 0}) {
    std::thread([this] { accept(); }).detach();
  }

  [[nodiscard]] std::string port() const {
    return std::to_string(acceptor_.local_endpoint().port());
  }

  void hang_up() {
    const std::lock_guard lock(mutex_);
    for (tcp::socket* const one : connected_) {
      one->shutdown(tcp::socket::shutdown_both);
    }
  }
  void speak_unasked() {
    const std::lock_guard lock(mutex_);
    net::write(*connected_.back(), net::buffer("unasked\n", 8));
  }

 private:
  void accept() {
    while (true) {
      auto* const peer = new tcp::socket(acceptor_.accept());
      {
        const std::lock_guard lock(mutex_);
        connected_.push_back(peer);
      }
      std::thread([peer] { serve(*peer); }).detach();
    }
  }

  static void serve(tcp::socket& peer) {
    net::streambuf text;
    boost::system::error_code failed;
    while (true) {
      const std::size_t size = net::read_until(peer, text, '\n', failed);
      if (failed) {
        return;
      }
      net::write(peer, net::buffer(text.data(), size), failed);
      text.consume(size);
    }
  }

  net::io_context context_;
  tcp::acceptor acceptor_;
  std::mutex mutex_;
  std::vector<tcp::socket*> connected_;
};

std::string ask(tcp::socket& socket, const std::string& question) {
  net::write(socket, net::buffer(question + '\n'));
  net::streambuf text;
  (void)net::read_until(socket, text, '\n');
  std::istream lines(&text);
  std::string line;
  std::getline(lines, line);
  return line;
}

/// Returns a port at which no program listens.
std::string free_port(net::io_context& context) {
  const tcp::acceptor taken(context, {net::ip::address_v4::loopback(), 0});
  return std::to_string(taken.local_endpoint().port());
}

/// Returns the error code of a failing create.
boost::system::error_code failure_of(const lido::tcp_factory& factory,
                                     const lido::create_context& limit) {
  try {
    (void)factory.create(limit);
  } catch (const boost::system::system_error& error) {
    return error.code();
  }
  return {};
}

using tcp_pool = lido::resource_pool<tcp::socket>;

void connections_are_reused_until_they_are_spoilt(net::io_context& context) {
  static echo_server server;
  tcp_pool pool(
      lido::tcp_factory(context.get_executor(), {.host = "localhost", .port = server.port()}),
      {.max_size = 1, .validate_if_idle_longer_than = 0ns});
  for (int i = 0; i < 100; ++i) {
    require(ask(*pool.acquire(), "hello") == "hello", "no echo");
  }
  require(pool.stats().created == 1, "a connection is not used again");

  server.hang_up();
  std::this_thread::sleep_for(200ms);
  require(ask(*pool.acquire(), "after") == "after", "a connection that was closed is lent");
  server.speak_unasked();
  std::this_thread::sleep_for(200ms);
  require(ask(*pool.acquire(), "after") == "after", "a connection with unasked data is lent");
  require(pool.stats().created == 3, "spoilt connections were used again");

  {
    const auto rude = pool.acquire();
    rude->non_blocking(true);
    const int limit = 1;
    require(::setsockopt(rude->native_handle(), SOL_SOCKET, SO_RCVTIMEO,
                         reinterpret_cast<const char*>(&limit), sizeof limit) == 0,
            "no limit can be set");
  }
  const auto next = pool.acquire();
  int limit = -1;
  int size = sizeof limit;
  require(!next->non_blocking() &&
              ::getsockopt(next->native_handle(), SOL_SOCKET, SO_RCVTIMEO,
                           reinterpret_cast<char*>(&limit), &size) == 0 &&
              limit == 0,
          "a user inherits the settings of the one before");
  require(ask(*next, "mine") == "mine" && pool.stats().created == 3, "the connection is lost");
}

void failures_say_what_they_are(net::io_context& context) {
  const auto start = std::chrono::steady_clock::now();
  const lido::tcp_factory refused(context.get_executor(),
                                  {.host = "127.0.0.1", .port = free_port(context)});
  const auto refusal = failure_of(refused, {start + 30s, {}});
  require(refusal == net::error::connection_refused, "refused: " + refusal.message());
  const auto late = failure_of(refused, {start - 1s, {}});
  require(late == net::error::timed_out, "late: " + late.message());
  std::stop_source stop;
  stop.request_stop();
  const auto stopped = failure_of(refused, {start + 30s, stop.get_token()});
  require(stopped == net::error::operation_aborted, "stopped: " + stopped.message());
  const lido::tcp_factory unknown(context.get_executor(),
                                  {.host = "no-such-host.invalid", .port = "80"});
  const auto no_name = failure_of(unknown, {start + 60s, {}});
  require(no_name == net::error::host_not_found, "no name: " + no_name.message());
}

}  // namespace

int main() {
  net::io_context context;
  connections_are_reused_until_they_are_spoilt(context);
  failures_say_what_they_are(context);
  std::printf("report: tcp=held\n");
  (void)std::fflush(stdout);
  std::_Exit(EXIT_SUCCESS);  // without waiting for the server's threads
}
