// The gateway's server with misbehaving clients and a misbehaving system.
#include <fcntl.h>
#include <gtest/gtest.h>
#include <sys/resource.h>
#include <sys/socket.h>
#include <sys/time.h>
#include <unistd.h>

#include <boost/asio/io_context.hpp>
#include <boost/asio/ip/tcp.hpp>
#include <boost/asio/write.hpp>
#include <cerrno>
#include <chrono>
#include <cstddef>
#include <cstdint>
#include <string>
#include <thread>
#include <vector>

#include "server.hpp"

namespace {

namespace net = boost::asio;

void answer_same(net::io_context& /*context*/, const std::string& question,
                 const gateway::server::reply& reply) {
  reply(question);
}

/// A client whose reads end after five seconds, so that a hanging test fails.
class impatient_client {
 public:
  impatient_client() {
    socket_.open(net::ip::tcp::v4());
    const timeval limit{.tv_sec = 5, .tv_usec = 0};
    EXPECT_EQ(0,
              ::setsockopt(socket_.native_handle(), SOL_SOCKET, SO_RCVTIMEO, &limit, sizeof limit));
  }

  void connect(const gateway::server& to) {
    socket_.connect({net::ip::address_v4::loopback(), static_cast<std::uint16_t>(to.port())});
  }
  boost::system::error_code send(const std::string& text) {
    boost::system::error_code failed;
    net::write(socket_, net::buffer(text), failed);
    return failed;
  }
  /// Returns one line, or what comes before the end. Does not use Asio, which tries again after a
  /// time-out.
  std::string read() {
    std::string answer;
    for (char next = 0; next != '\n'; answer += next) {
      const ssize_t got = ::recv(socket_.native_handle(), &next, 1, 0);
      if (got != 1) {
        hung_up_ = got == 0 || errno == ECONNRESET;
        break;
      }
    }
    return answer;
  }
  /// Returns whether the server has hung up.
  [[nodiscard]] bool hung_up() const { return hung_up_; }

 private:
  net::io_context context_;
  net::ip::tcp::socket socket_{context_};
  bool hung_up_ = false;
};

/// Lets the process open no new descriptor during its lifetime.
class no_descriptors {
 public:
  no_descriptors() {
    EXPECT_EQ(0, ::getrlimit(RLIMIT_NOFILE, &before_));
    rlimit few = before_;
    few.rlim_cur = 64;
    EXPECT_EQ(0, ::setrlimit(RLIMIT_NOFILE, &few));
    for (int taken = ::dup(STDIN_FILENO); taken >= 0; taken = ::dup(STDIN_FILENO)) {
      taken_.push_back(taken);
    }
  }
  no_descriptors(const no_descriptors&) = delete;
  no_descriptors& operator=(const no_descriptors&) = delete;
  ~no_descriptors() {
    for (const int taken : taken_) {
      ::close(taken);
    }
    EXPECT_EQ(0, ::setrlimit(RLIMIT_NOFILE, &before_));
  }

 private:
  rlimit before_{};
  std::vector<int> taken_;
};

TEST(GatewayServer, TakesClientsAgainOnceThereAreDescriptors) {
  gateway::server server(1, &answer_same);
  impatient_client client;
  {
    const no_descriptors for_now;
    client.connect(server);
    std::this_thread::sleep_for(std::chrono::milliseconds(100));
  }
  EXPECT_FALSE(client.send("hello\n"));
  EXPECT_EQ("hello\n", client.read());
}

TEST(GatewayServer, ReadsNoLineWithoutAnEnd) {
  gateway::server server(1, &answer_same);
  impatient_client endless;
  endless.connect(server);
  (void)endless.send(std::string(std::size_t{1} << 20U, 'x'));  // it may be cut off before the end
  EXPECT_EQ("", endless.read());
  EXPECT_TRUE(endless.hung_up());

  impatient_client other;
  other.connect(server);
  EXPECT_FALSE(other.send("hello\n"));
  EXPECT_EQ("hello\n", other.read());
}

}  // namespace
