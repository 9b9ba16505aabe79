#include <fcntl.h>
#include <gtest/gtest.h>
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <poll.h>
#include <sys/socket.h>
#include <sys/time.h>

#include <array>
#include <atomic>
#include <boost/asio/read.hpp>
#include <boost/asio/write.hpp>
#include <chrono>
#include <optional>
#include <string>
#include <thread>
#include <utility>

#include "connect/deaf_listener.hpp"
#include "lido/tcp.hpp"
#include "servers/echo_server.hpp"
#include "servers/server_process.hpp"
#include "support/own_peer.hpp"
#include "support/settled.hpp"

namespace lido {
namespace {

namespace net = boost::asio;
using namespace std::chrono_literals;
using tcp_pool = resource_pool<tcp_factory::socket>;

class TcpFactory : public ::testing::Test {
 protected:
  [[nodiscard]] tcp_factory factory() const {
    return tcp_factory(context_.get_executor(),
                       {.host = "127.0.0.1", .port = std::to_string(server.port())});
  }

  static std::string ask(net::ip::tcp::socket& socket, std::string question) {
    question += '\n';
    net::write(socket, net::buffer(question));
    std::string answer(question.size(), ' ');
    net::read(socket, net::buffer(answer));
    return answer.substr(0, answer.size() - 1);
  }

  using native_handle = net::ip::tcp::socket::native_handle_type;

  /// Uses a connection once. Returns its handle.
  static native_handle use_once(tcp_pool& pool) {
    const auto lease = pool.acquire();
    EXPECT_EQ(ask(*lease, "before"), "before");
    return lease->native_handle();
  }
  /// Waits until data or the end of the stream has arrived at `socket`.
  static bool has_something_to_read(native_handle socket) {
    pollfd readable{socket, POLLIN, 0};
    return ::poll(&readable, 1, 30'000) == 1;
  }

  /// Waits until the effect of an event at the peer has arrived here.
  template <class Condition>
  static bool eventually(const Condition& condition) {
    for (int i = 0; i < 5000 && !condition(); ++i) {
      std::this_thread::sleep_for(1ms);
    }
    return condition();
  }

  servers::echo_server server;  // NOLINT(*-non-private-member-*,readability-identifier-naming)

 private:
  mutable net::io_context context_;
};

TEST_F(TcpFactory, AConnectionIsUsedManyTimes) {
  tcp_pool pool(factory(), {.max_size = 1});
  for (int i = 0; i < 100; ++i) {
    const auto lease = pool.acquire();
    EXPECT_EQ(ask(*lease, "hello"), "hello");
  }
  EXPECT_EQ(pool.stats().created, 1U);
  EXPECT_EQ(server.accepted(), 1);
}

TEST_F(TcpFactory, AConnectionTheServerHasClosedIsNotLent) {
  tcp_pool pool(factory(), {.max_size = 1, .validate_if_idle_longer_than = 0ns});
  const auto idle = use_once(pool);
  server.hang_up();
  ASSERT_TRUE(has_something_to_read(idle));
  EXPECT_EQ(ask(*pool.acquire(), "after"), "after");
  EXPECT_EQ(test::settled(pool).destroyed_for(destroy_reason::invalid), 1U);
}

TEST_F(TcpFactory, AConnectionWithUnaskedDataIsNotLent) {
  tcp_pool pool(factory(), {.max_size = 1, .validate_if_idle_longer_than = 0ns});
  const auto idle = use_once(pool);
  server.speak_unasked();
  ASSERT_TRUE(has_something_to_read(idle));
  EXPECT_EQ(ask(*pool.acquire(), "after"), "after");
  EXPECT_EQ(test::settled(pool).destroyed_for(destroy_reason::invalid), 1U);
}

TEST_F(TcpFactory, NoUserReadsTheAnswerToAnothersQuestion) {
  tcp_pool pool(factory(), {.max_size = 1});
  {
    const auto rude = pool.acquire();
    net::write(*rude, net::buffer("question\n", 9));
    ASSERT_TRUE(eventually([&] { return rude->available() != 0; }));
  }
  EXPECT_EQ(test::settled(pool).destroyed_for(destroy_reason::reset_refused), 1U);
  EXPECT_EQ(ask(*pool.acquire(), "mine"), "mine");
}

TEST_F(TcpFactory, AUserThatWaitsForASilentServerIsInterrupted) {
  tcp_pool pool(factory(), {.max_size = 1});
  server.fall_silent(true);
  std::atomic<bool> asks{false};
  std::thread user([&] {
    const auto lease = pool.acquire();
    asks = true;
    EXPECT_THROW((void)ask(*lease, "anybody there"), boost::system::system_error);
  });
  ASSERT_TRUE(eventually([&] { return asks.load(); }));
  std::this_thread::sleep_for(20ms);  // mostly it reads by now
  pool.flush(ongoing_uses::interrupt);
  user.join();
  server.fall_silent(false);
  EXPECT_EQ(ask(*pool.acquire(), "after"), "after");
  EXPECT_EQ(test::settled(pool).destroyed_for(destroy_reason::flushed), 1U);
}

TEST_F(TcpFactory, ARefusedConnectIsAnErrorThatSaysSo) {
  server.refuse(/*on=*/true);
  tcp_pool pool(factory(), {.max_size = 1, .on_create_error = create_errors::fail_fast});
  try {
    (void)pool.acquire();
    FAIL() << "the server does not listen";
  } catch (const acquire_error& error) {
    EXPECT_EQ(error.cause(), acquire_failure::create_failed);
    EXPECT_NE(std::string(error.what()).find("refused"), std::string::npos) << error.what();
  }
}

// Such a connection would keep the port from the server, and echo each request.
TEST_F(TcpFactory, AConnectToItselfCountsAsRefused) {
  const test::own_peer alone;
  try {
    (void)factory().create({std::chrono::steady_clock::now() + 20s, {}});
    FAIL() << "the socket is connected to itself";
  } catch (const boost::system::system_error& error) {
    EXPECT_EQ(error.code(), net::error::connection_refused) << error.what();
  }
  EXPECT_EQ(test::own_peer::met(), 1);
}

TEST_F(TcpFactory, AConnectToItselfIsRetried) {
  std::optional<test::own_peer> alone(std::in_place);
  tcp_pool pool(factory(), {.max_size = 1, .retry_first = 5ms, .retry_longest = 20ms});
  std::jthread later([&] {
    EXPECT_TRUE(eventually([&] { return pool.stats().create_failures >= 2; }));
    alone.reset();
  });
  EXPECT_EQ(ask(*pool.acquire_for(30s), "at last"), "at last");
  EXPECT_GE(test::own_peer::met(), 2);
}

TEST_F(TcpFactory, WaitersAreServedWhenTheServerIsBack) {
  server.refuse(/*on=*/true);
  tcp_pool pool(factory(), {.max_size = 1, .retry_first = 5ms, .retry_longest = 20ms});
  std::jthread later([&] {
    EXPECT_TRUE(eventually([&] { return pool.stats().create_failures >= 2; }));
    server.refuse(/*on=*/false);
  });
  EXPECT_EQ(ask(*pool.acquire_for(30s), "at last"), "at last");
}

/// Sends a request, and returns whether anything can be read within a moment.
bool is_answered(net::ip::tcp::socket& socket) {
  net::write(socket, net::buffer("anybody?\n", 9));
  pollfd readable{socket.native_handle(), POLLIN, 0};
  return ::poll(&readable, 1, 50) == 1;
}

// Half-open: the peer is gone, and no packet says so.
TEST_F(TcpFactory, AVanishedPeerSendsNothing) {
  tcp_pool pool(factory(), {.max_size = 1, .validate_if_idle_longer_than = 0ns});
  (void)ask(*pool.acquire(), "before");
  if (!server.vanish(/*on=*/true)) {
    GTEST_SKIP() << "this system does not filter the packets of a socket";
  }
  auto lease = pool.acquire();
  EXPECT_EQ(pool.stats().created, 1U);  // the pool cannot know yet
  EXPECT_FALSE(is_answered(*lease));
  lease.discard();
  const auto begin = std::chrono::steady_clock::now();
  EXPECT_THROW((void)factory().create({begin + 50ms, {}}), boost::system::system_error);
  EXPECT_GE(std::chrono::steady_clock::now() - begin, 50ms);
  EXPECT_TRUE(server.vanish(/*on=*/false));
  EXPECT_EQ(ask(*pool.acquire_for(30s), "after"), "after");
}

TEST_F(TcpFactory, APeerThatForgotTheConnectionRejectsData) {
  tcp_pool pool(factory(), {.max_size = 1, .validate_if_idle_longer_than = 0ns});
  (void)ask(*pool.acquire(), "before");
  if (!server.forget()) {
    GTEST_SKIP() << "only root may close a connection without a word";
  }
  {
    auto lease = pool.acquire();
    EXPECT_EQ(pool.stats().created, 1U);
    EXPECT_THROW((void)ask(*lease, "forgotten"), boost::system::system_error);
  }  // the reset refuses the released connection
  EXPECT_EQ(ask(*pool.acquire_for(30s), "after"), "after");
  EXPECT_EQ(test::settled(pool).destroyed_for(destroy_reason::reset_refused), 1U);
}

TEST_F(TcpFactory, AConnectThatHangsEndsAtItsDeadline) {
  const deaf_listener deaf;
  net::io_context context;
  const tcp_factory slow(context.get_executor(),
                         {.host = "127.0.0.1", .port = std::to_string(deaf.port())});
  const auto begin = std::chrono::steady_clock::now();
  EXPECT_THROW((void)slow.create({begin + 50ms, {}}), boost::system::system_error);
  const auto took = std::chrono::steady_clock::now() - begin;
  EXPECT_GE(took, 50ms);
  EXPECT_LT(took, 5s);
}

// One of the addresses of this machine may refuse; then the other one is used.
TEST_F(TcpFactory, AnEmptyHostIsThisMachine) {
  net::io_context context;
  const tcp_factory here(context.get_executor(),
                         {.host = "", .port = std::to_string(server.port())});
  auto made = here.create({std::chrono::steady_clock::now() + 20s, {}});
  EXPECT_EQ(ask(made, "hello"), "hello");
}

// Names are looked up by other threads, at most 32 at once.
TEST_F(TcpFactory, LooksUpMoreNamesThanThreadsDoSo) {
  net::io_context context;
  const tcp_factory named(context.get_executor(),
                          {.host = "localhost", .port = std::to_string(server.port())});
  for (int i = 0; i < 40; ++i) {
    auto one = named.create({std::chrono::steady_clock::now() + 20s, {}});
    EXPECT_EQ(ask(one, "hello"), "hello") << i;
  }
}

TEST_F(TcpFactory, ANonBlockingConnectionBlocksAgain) {
  tcp_pool pool(factory(), {.max_size = 1});
  pool.acquire()->non_blocking(true);
  const auto lease = pool.acquire();
  EXPECT_FALSE(lease->non_blocking());
  EXPECT_EQ(ask(*lease, "hello"), "hello");
  EXPECT_EQ(pool.stats().created, 1U);
}

int status_flags(int handle) {
  const int flags = ::fcntl(handle, F_GETFL);
  EXPECT_GE(flags, 0);
  return flags;
}

// A connect with a deadline makes the handle non-blocking, which must be undone.
TEST_F(TcpFactory, ANewConnectionBlocksWithoutAsioToo) {
  auto made = factory().create({std::chrono::steady_clock::now() + 20s, {}});
  EXPECT_EQ(status_flags(made.native_handle()) & O_NONBLOCK, 0);
}

// Asio's own asynchronous operations leave these settings, which a user of the bare handle does not
// expect.
TEST_F(TcpFactory, SettingsOfAUserDoNotEndTheWaitsOfTheNext) {
  tcp_pool pool(factory(), {.max_size = 1});
  constexpr timeval short_time{.tv_sec = 0, .tv_usec = 1000};
  {
    const auto hasty = pool.acquire();
    hasty->native_non_blocking(true);
    for (const int option : {SO_RCVTIMEO, SO_SNDTIMEO}) {
      ASSERT_EQ(
          ::setsockopt(hasty->native_handle(), SOL_SOCKET, option, &short_time, sizeof short_time),
          0);
    }
  }
  const auto next = pool.acquire();
  EXPECT_EQ(pool.stats().created, 1U);
  EXPECT_FALSE(next->native_non_blocking());
  EXPECT_EQ(status_flags(next->native_handle()) & O_NONBLOCK, 0);
  for (const int option : {SO_RCVTIMEO, SO_SNDTIMEO}) {
    timeval limit{.tv_sec = 1, .tv_usec = 1};
    socklen_t size = sizeof limit;
    ASSERT_EQ(::getsockopt(next->native_handle(), SOL_SOCKET, option, &limit, &size), 0);
    EXPECT_EQ(limit.tv_sec + limit.tv_usec, 0);
  }
}

// Otherwise a child process would keep the connection, still logged in, after its end here.
TEST_F(TcpFactory, AChildProcessDoesNotInheritTheConnection) {
  auto made = factory().create({std::chrono::steady_clock::now() + 20s, {}});
  const int flags = ::fcntl(made.native_handle(), F_GETFD);
  ASSERT_GE(flags, 0);
  EXPECT_NE(flags & FD_CLOEXEC, 0);
}

// The name is a service's, since a host's name may be looked up at other machines.
TEST(TcpFactoryBeside, AnErrorNamesTheUnknownService) {
  net::io_context context;
  const tcp_factory lost(context.get_executor(), {.host = "127.0.0.1", .port = "nonesuch"});
  try {
    (void)lost.create({std::chrono::steady_clock::now() + 20s, {}});
    FAIL() << "there is no such service";
  } catch (const boost::system::system_error& error) {
    EXPECT_NE(std::string(error.what()).find("127.0.0.1:nonesuch"), std::string::npos)
        << error.what();
  }
}

// Only its lower 16 bits would count, and these are the port of another service.
TEST_F(TcpFactory, AnInvalidPortIsAPermanentFailure) {
  net::io_context context;
  const std::string wrapped = std::to_string(server.port() + 65536);
  const std::string negative = std::to_string(server.port() - 65536);
  for (const std::string& port : {wrapped, negative, std::string("0"), std::string()}) {
    const tcp_factory wrong(context.get_executor(), {.host = "127.0.0.1", .port = port});
    EXPECT_THROW((void)wrong.create({std::chrono::steady_clock::now() + 20s, {}}),
                 permanent_failure)
        << port;
  }
}

int option_of(net::ip::tcp::socket& socket, int level, int name) {
  int value = -1;
  socklen_t size = sizeof value;
  EXPECT_EQ(::getsockopt(socket.native_handle(), level, name, &value, &size), 0);
  return value;
}

TEST_F(TcpFactory, TheSocketHasTheOptionsOfTheTarget) {
  net::io_context context;
  for (const bool no_delay : {false, true}) {
    for (const bool keep_alive : {false, true}) {
      const tcp_factory chosen(context.get_executor(), {.host = "127.0.0.1",
                                                        .port = std::to_string(server.port()),
                                                        .no_delay = no_delay,
                                                        .keep_alive = {.on = keep_alive}});
      auto made = chosen.create({std::chrono::steady_clock::now() + 20s, {}});
      EXPECT_EQ(option_of(made, IPPROTO_TCP, TCP_NODELAY) != 0, no_delay);
      EXPECT_EQ(option_of(made, SOL_SOCKET, SO_KEEPALIVE) != 0, keep_alive);
      EXPECT_EQ(option_of(made, IPPROTO_TCP, TCP_USER_TIMEOUT), keep_alive ? 90'000 : 0);
    }
  }
}

// The header promises this to users that do not choose.
TEST_F(TcpFactory, BothOptionsAreOnByDefault) {
  auto made = factory().create({std::chrono::steady_clock::now() + 20s, {}});
  EXPECT_NE(option_of(made, IPPROTO_TCP, TCP_NODELAY), 0);
  EXPECT_NE(option_of(made, SOL_SOCKET, SO_KEEPALIVE), 0);
}

TEST_F(TcpFactory, AConnectThatHangsEndsWhenThePoolIsClosed) {
  const deaf_listener deaf;
  net::io_context context;
  tcp_pool pool(tcp_factory(context.get_executor(),
                            {.host = "127.0.0.1", .port = std::to_string(deaf.port())}),
                {.max_size = 1, .min_idle = 1});
  ASSERT_TRUE(eventually([&] { return pool.stats().creating == 1; }));
  std::this_thread::sleep_for(20ms);
  const auto begin = std::chrono::steady_clock::now();
  EXPECT_TRUE(pool.close(20s).complete());
  EXPECT_LT(std::chrono::steady_clock::now() - begin, 10s);
}

TEST_F(TcpFactory, EveryConnectionIsClosedInTheEnd) {
  {
    tcp_pool pool(factory(), {.max_size = 4, .detect_hold_and_wait = false});
    const std::array leases{pool.acquire(), pool.acquire(), pool.acquire(), pool.acquire()};
    EXPECT_EQ(pool.stats().in_use, 4U);
  }
  EXPECT_TRUE(eventually([&] { return server.connections() == 0; }));
}

}  // namespace
}  // namespace lido
