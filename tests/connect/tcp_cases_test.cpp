// Problems that users of other connection pools reported. Each test is named after its case.
#include <gtest/gtest.h>
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <sys/socket.h>
#include <sys/time.h>

#include <atomic>
#include <boost/asio/buffer.hpp>
#include <boost/asio/io_context.hpp>
#include <boost/asio/ip/tcp.hpp>
#include <boost/asio/write.hpp>
#include <chrono>
#include <optional>
#include <set>
#include <stdexcept>
#include <stop_token>
#include <string>
#include <thread>
#include <utility>
#include <vector>

#include "lido/resource_pool.hpp"
#include "lido/tcp.hpp"
#include "servers/echo_server.hpp"
#include "support/two_addresses.hpp"

namespace lido {
namespace {

namespace net = boost::asio;
using namespace std::chrono_literals;
using net::ip::tcp;
using std::chrono::steady_clock;

class TcpCases : public ::testing::Test {
 protected:
  [[nodiscard]] tcp_target target() const {
    return {.host = "127.0.0.1", .port = std::to_string(server_.port())};
  }
  [[nodiscard]] net::ip::tcp::socket connect(const tcp_target& to, std::stop_token stop = {}) {
    return tcp_factory(context_.get_executor(), to).create({steady_clock::now() + 20s, stop});
  }
  static int option_of(net::ip::tcp::socket& socket, int level, int name) {
    int value = -1;
    socklen_t size = sizeof value;
    EXPECT_EQ(::getsockopt(socket.native_handle(), level, name, &value, &size), 0);
    return value;
  }

  servers::echo_server server_;  // NOLINT(*-non-private-member-*)
  net::io_context context_;      // NOLINT(*-non-private-member-*)
};

// The server's port refuses connects for a second while four threads try to acquire.
TEST_F(TcpCases, C86APoolIsBackWithinATenthOfASecondOfItsServer) {
  for (const create_errors on_error : {create_errors::retry, create_errors::fail_fast}) {
    net::io_context context;
    const tcp::endpoint free(net::ip::address_v4::loopback(), 0);
    std::optional<tcp::acceptor> server(std::in_place, context, free);
    const tcp::endpoint at = server->local_endpoint();
    server.reset();
    std::atomic<int> tries{0};
    std::atomic<bool> is_back{false};
    struct counting_factory : tcp_factory {
      counting_factory(tcp_factory dial, std::atomic<int>& count)
          : tcp_factory(std::move(dial)), tries(&count) {}
      [[nodiscard]] tcp::socket create(const create_context& until) {
        ++*tries;
        return tcp_factory::create(until);
      }
      std::atomic<int>* tries;
    };
    tcp_factory dial(context.get_executor(),
                     {.host = "127.0.0.1", .port = std::to_string(at.port())});
    resource_pool<tcp::socket> pool(counting_factory(std::move(dial), tries),
                                    {.max_size = 8, .on_create_error = on_error});
    std::vector<std::jthread> users;
    for (int i = 0; i < 4; ++i) {
      users.emplace_back([&] {
        while (!is_back && !pool.try_acquire_for(20s)) {
          std::this_thread::sleep_for(1ms);
        }
        is_back = true;
      });
    }
    std::this_thread::sleep_for(1s);
    const int tried = tries;
    const auto up = steady_clock::now();
    server.emplace(context, at);
    while (!is_back && steady_clock::now() < up + 10s) {
      std::this_thread::sleep_for(1ms);
    }
    EXPECT_LT(steady_clock::now() - up, 200ms);  // with some time for a busy machine
    EXPECT_LE(tried, 4 + 20);
  }
}

TEST_F(TcpCases, C05ConnectionsSpreadOverTheAddressesOfAName) {
  const test::two_addresses known("127.0.0.2");
  net::ip::tcp::acceptor other(
      context_, {net::ip::make_address("127.0.0.2"), static_cast<unsigned short>(server_.port())});
  tcp_target both = target();
  both.host = test::two_addresses_name;
  std::vector<net::ip::tcp::socket> all;
  std::set<std::string> peers;
  for (int i = 0; i < 24; ++i) {
    peers.insert(all.emplace_back(connect(both)).remote_endpoint().address().to_string());
  }
  EXPECT_EQ(peers, (std::set<std::string>{"127.0.0.1", "127.0.0.2"}));
}

TEST_F(TcpCases, C27TheKernelProbesWhenTheTargetSays) {
  tcp_target probed = target();
  auto usual = connect(probed);
  EXPECT_EQ(option_of(usual, IPPROTO_TCP, TCP_KEEPIDLE), 60);
  probed.keep_alive = {.idle = 29500ms, .interval = 5s, .count = 4};
  auto made = connect(probed);
  EXPECT_NE(option_of(made, SOL_SOCKET, SO_KEEPALIVE), 0);
  EXPECT_EQ(option_of(made, IPPROTO_TCP, TCP_KEEPIDLE), 30);
  EXPECT_EQ(option_of(made, IPPROTO_TCP, TCP_KEEPINTVL), 5);
  EXPECT_EQ(option_of(made, IPPROTO_TCP, TCP_KEEPCNT), 4);
  EXPECT_EQ(option_of(made, IPPROTO_TCP, TCP_USER_TIMEOUT), 50'000);  // while an answer is missing
}

TEST_F(TcpCases, C39ANameThatIsNotFoundEndsNoLaterThanTheDeadline) {
  const test::hanging_name hangs;
  tcp_target lost = target();
  lost.host = test::hanging_name::text;
  const auto begin = steady_clock::now();
  try {
    (void)tcp_factory(context_.get_executor(), lost).create({begin + 50ms, {}});
    FAIL() << "the name is looked up for ever";
  } catch (const boost::system::system_error& error) {
    EXPECT_EQ(error.code(), net::error::timed_out) << error.what();
  }
  EXPECT_GE(steady_clock::now() - begin, 50ms);
  EXPECT_LT(steady_clock::now() - begin, 10s);
}

TEST_F(TcpCases, C39ANameThatIsNotFoundEndsWhenStopped) {
  const test::hanging_name hangs;
  tcp_target lost = target();
  lost.host = test::hanging_name::text;
  std::stop_source stop;
  std::jthread stopping([&] {
    std::this_thread::sleep_for(30ms);
    (void)stop.request_stop();
  });
  try {
    (void)connect(lost, stop.get_token());
    FAIL() << "the name is looked up for ever";
  } catch (const boost::system::system_error& error) {
    EXPECT_EQ(error.code(), net::error::operation_aborted) << error.what();
  }
}

// The peer is given up by TCP_USER_TIMEOUT, though it acknowledges every request.
TEST_F(TcpCases, C27APeerThatDoesNotReadIsGivenUp) {
  net::ip::tcp::acceptor acceptor(context_, {net::ip::address_v4::loopback(), 0});
  auto made = connect({.host = "127.0.0.1",
                       .port = std::to_string(acceptor.local_endpoint().port()),
                       .keep_alive = {.idle = 1s, .interval = 1s, .count = 1}});
  const auto peer = acceptor.accept();
  constexpr timeval long_enough{.tv_sec = 30, .tv_usec = 0};
  ASSERT_EQ(
      ::setsockopt(made.native_handle(), SOL_SOCKET, SO_SNDTIMEO, &long_enough, sizeof long_enough),
      0);
  const std::vector<char> much(1 << 20);
  boost::system::error_code failed;
  const auto begin = steady_clock::now();
  while (!failed && steady_clock::now() < begin + 60s) {
    (void)net::write(made, net::buffer(much), failed);
  }
  EXPECT_EQ(failed, net::error::timed_out) << failed.message();
  EXPECT_GE(steady_clock::now() - begin, 1s);
}

TEST_F(TcpCases, AHookSetsTheConnectionUp) {
  tcp_target hooked = target();
  hooked.on_connect = [](net::ip::tcp::socket& made, const create_context& context) {
    EXPECT_GT(context.deadline, steady_clock::now());
    made.set_option(net::socket_base::linger(/*e=*/true, /*t=*/7));
  };
  auto made = connect(hooked);
  net::socket_base::linger chosen;
  made.get_option(chosen);
  EXPECT_EQ(chosen.timeout(), 7);
  hooked.on_connect = [](net::ip::tcp::socket&, const create_context&) {
    throw std::runtime_error("not this one");
  };
  EXPECT_THROW((void)connect(hooked), std::runtime_error);
}

}  // namespace
}  // namespace lido
