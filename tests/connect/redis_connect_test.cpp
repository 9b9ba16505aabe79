// The making of connections: addresses, signals, and a context's knowledge of the peer.
#include <fcntl.h>
#include <gtest/gtest.h>
#include <hiredis/hiredis.h>
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <pthread.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <unistd.h>

#include <algorithm>
#include <chrono>
#include <csignal>
#include <cstddef>
#include <iterator>
#include <stdexcept>
#include <stop_token>
#include <string>
#include <thread>
#include <vector>

#include "connect/deaf_listener.hpp"
#include "connect/redis_fixture.hpp"
#include "support/two_addresses.hpp"

namespace lido {
namespace {

namespace net = boost::asio;
using namespace std::chrono_literals;
using std::chrono::steady_clock;

class RedisConnect : public redis_fixture {
 protected:
  static redis_target two_addresses_target() {
    redis_target two = target();
    two.host = test::two_addresses_name;
    return two;
  }
};

/// Returns the error of a failing create.
std::string error_of(const redis_target& target, const create_context& context) {
  try {
    (void)redis_factory(target).create(context);
    return "none";
  } catch (const std::runtime_error& error) {
    return error.what();
  }
}

TEST_F(RedisConnect, AnAddressThatRefusesIsFollowedByTheNext) {
  const test::two_addresses known("127.0.0.9");
  redis_connection made =
      redis_factory(two_addresses_target()).create({steady_clock::now() + 20s, {}});
  EXPECT_EQ(made.ask("PING").text, "PONG");
}

TEST_F(RedisConnect, ASilentAddressDelaysOneConnectAndLeavesTimeToTheNext) {
  const deaf_listener deaf(
      {net::ip::make_address("127.0.0.8"), static_cast<unsigned short>(server()->port())});
  const test::two_addresses known("127.0.0.8");
  for (int i = 0; i < 4; ++i) {  // each starts with one or the other
    const redis_factory either(two_addresses_target());
    auto begin = steady_clock::now();
    EXPECT_EQ(either.create({begin + 40s, {}}).ask("PING").text, "PONG");
    EXPECT_LT(steady_clock::now() - begin, 10s) << "the silent address had half of the time";
    begin = steady_clock::now();
    for (int j = 0; j < 8; ++j) {
      EXPECT_EQ(either.create({begin + 40s, {}}).ask("PING").text, "PONG");
    }
    EXPECT_LT(steady_clock::now() - begin, 4 * 250ms) << "half of the connects wait";
  }
}

/// Sends this thread a signal every 10 ms. The handler does nothing.
class signals {
 public:
  signals() {
    (void)std::signal(SIGUSR1, [](int) {});
  }
  signals(const signals&) = delete;
  signals& operator=(const signals&) = delete;
  ~signals() {
    sender_.request_stop();
    sender_.join();
    (void)std::signal(SIGUSR1, SIG_DFL);
  }

 private:
  std::jthread sender_{[to = ::pthread_self()](const std::stop_token& stop) {
    while (!stop.stop_requested()) {
      std::this_thread::sleep_for(10ms);
      (void)::pthread_kill(to, SIGUSR1);
    }
  }};
};

TEST(RedisConnectBeside, ASignalEndsNoConnect) {
  const deaf_listener deaf;
  const signals sent;
  const auto begin = steady_clock::now();
  (void)error_of({.port = deaf.port()}, {begin + 200ms, {}});
  EXPECT_GE(steady_clock::now() - begin, 200ms);
  EXPECT_LT(steady_clock::now() - begin, 20s);
}

// Only its lower 16 bits would count, and these are the port of another service.
TEST_F(RedisConnect, AnInvalidPortIsAPermanentFailure) {
  redis_target wrong = target();
  wrong.port += 65536;
  EXPECT_THROW((void)redis_factory(wrong).create({steady_clock::now() + 20s, {}}),
               permanent_failure);
}

/// Listens at a path, with a queue for one client.
class narrow_listener {
 public:
  narrow_listener() {
    ::unlink(path_.c_str());
    address_.sun_family = AF_UNIX;
    std::copy(path_.begin(), path_.end(), std::begin(address_.sun_path));
    EXPECT_EQ(::bind(socket_, any(), sizeof address_), 0);
    EXPECT_EQ(::listen(socket_, 0), 0);
  }
  narrow_listener(const narrow_listener&) = delete;
  narrow_listener& operator=(const narrow_listener&) = delete;
  ~narrow_listener() {
    ::close(socket_);
    ::unlink(path_.c_str());
  }
  [[nodiscard]] const std::string& path() const { return path_; }
  /// Connects until a client is refused because the queue is full.
  void fill() {
    int client = 0;
    do {
      client = ::socket(AF_UNIX, SOCK_STREAM | SOCK_NONBLOCK, 0);
      clients_.emplace_back(client);
    } while (::connect(client, any(), sizeof address_) == 0);
  }
  /// Closes all accepted connections.
  void accept_all() {
    for (std::size_t i = 1; i < clients_.size(); ++i) {  // except for the refused one
      ::close(::accept(socket_, nullptr, nullptr));
    }
    for (const int client : clients_) {
      ::close(client);
    }
  }

 private:
  [[nodiscard]] const sockaddr* any() const {
    return reinterpret_cast<const sockaddr*>(&address_);  // NOLINT(*-reinterpret-cast)
  }
  std::string path_ = ::testing::TempDir() + "lido-" + std::to_string(::getpid()) + ".socket";
  sockaddr_un address_{};
  int socket_ = ::socket(AF_UNIX, SOCK_STREAM, 0);
  std::vector<int> clients_;
};

TEST(RedisConnectBeside, AConnectWaitsForAPathWithAFullQueue) {
  narrow_listener busy;
  busy.fill();
  redis_target target;
  target.path = busy.path();
  EXPECT_NE(error_of(target, {steady_clock::now() + 50ms, {}}).find("timed out"),
            std::string::npos);
  std::jthread serves([&] {
    std::this_thread::sleep_for(50ms);
    busy.accept_all();
  });
  // The connect succeeds, but the first command gets no answer.
  EXPECT_NE(error_of(target, {steady_clock::now() + 500ms, {}}).find("no answer within"),
            std::string::npos);
}

TEST_F(RedisConnect, ErrorsNameTheServer) {
  const auto soon = steady_clock::now() + 20s;
  const std::string port = std::to_string(servers::free_port());
  EXPECT_EQ(error_of({.port = std::stoi(port)}, {soon, {}}),
            "redis 127.0.0.1:" + port + ": Connection refused");
  EXPECT_EQ(error_of({.path = "/nowhere"}, {soon, {}}),
            "redis /nowhere: No such file or directory");
  const std::string beyond(200, 'x');
  EXPECT_EQ(error_of({.path = beyond}, {soon, {}}), "redis " + beyond + ": File name too long");
  EXPECT_THROW((void)redis_factory({.path = beyond}).create({soon, {}}), permanent_failure);
  redis_target wrong = target();
  wrong.password = "guess";
  const std::string told = error_of(wrong, {soon, {}});
  EXPECT_TRUE(told.starts_with("redis 127.0.0.1:" + std::to_string(server()->port()) + ": WRONG"))
      << told;
}

// A daemon has no standard input. hiredis 0.14 would never close descriptor 0.
TEST_F(RedisConnect, AConnectionNeverBecomesTheStandardInput) {
  const int kept = ::dup(STDIN_FILENO);
  ASSERT_EQ(::close(STDIN_FILENO), kept < 0 ? -1 : 0);
  {
    redis_connection made = connect_beside();
    EXPECT_GT(made.context()->fd, STDIN_FILENO);
    EXPECT_EQ(::fcntl(made.context()->fd, F_GETFD), FD_CLOEXEC);
    EXPECT_EQ(made.ask("PING").text, "PONG");
  }
  EXPECT_EQ(::fcntl(STDIN_FILENO, F_GETFD), -1);
  if (kept >= 0) {
    EXPECT_EQ(::dup2(kept, STDIN_FILENO), STDIN_FILENO);
    ::close(kept);
  }
}

TEST_F(RedisConnect, ANewConnectionBlocksAndSendsAtOnce) {
  redis_connection made = connect_beside();
  const int socket = made.context()->fd;
  const int flags = ::fcntl(socket, F_GETFL);
  ASSERT_GE(flags, 0);
  EXPECT_EQ(flags & O_NONBLOCK, 0);
  int at_once = 0;
  socklen_t size = sizeof at_once;
  ASSERT_EQ(::getsockopt(socket, IPPROTO_TCP, TCP_NODELAY, &at_once, &size), 0);
  EXPECT_NE(at_once, 0);
}

TEST_F(RedisConnect, AUserMayReconnectAConnection) {
  redis_pool pool = make({});
  (void)pool.acquire()->ask("SET where here");
  EXPECT_EQ(redisReconnect(pool.acquire()->context()), REDIS_OK);
  EXPECT_EQ(pool.acquire()->ask("GET where").text, "here");
  EXPECT_EQ(pool.stats().created, 1U) << "the pool replaced the connection";
}

}  // namespace
}  // namespace lido
