// The factory of encrypted connections that examples/ shows, beside a real Redis and bad servers.
#include "tls_factory.hpp"

#include <gtest/gtest.h>

#include <chrono>
#include <functional>
#include <lido/resource_pool.hpp>
#include <optional>
#include <stop_token>
#include <string>
#include <thread>
#include <utility>

#include "servers/certificates.hpp"
#include "servers/known_servers.hpp"

namespace {

using namespace std::chrono_literals;
using net::ip::tcp;
using std::chrono::steady_clock;

class TlsFactory : public ::testing::Test {
 protected:
  struct machine {
    servers::certificates tls;
    servers::redis redis{tls, "requirepass \"\"\n"};
  };

  static void SetUpTestSuite() {
    if (servers::redis::program() && servers::certificates::program()) {
      here().emplace();
    }
  }
  static void TearDownTestSuite() { here().reset(); }
  void SetUp() override {
    if (!here()) {
      GTEST_SKIP() << "redis-server or openssl is not installed";
    }
  }

  static std::optional<machine>& here() {
    static std::optional<machine> shared;
    return shared;
  }
  [[nodiscard]] tls_factory factory(int port, const std::string& host = "localhost") {
    return factory_for(port, host, here()->tls.authority());
  }
  [[nodiscard]] tls_factory factory_for(int port, const std::string& host,
                                        const std::string& authority) {
    const auto tls = std::make_shared<net::ssl::context>(net::ssl::context::tls_client);
    tls->load_verify_file(authority);
    return {loop_.get_executor(), tls, {.host = host, .port = std::to_string(port)}};
  }
  /// Returns a factory that calls `done` when a handshake is complete, before it is told so. With
  /// TLS 1.2 the server speaks last, so the handshake succeeds whatever happens to the socket then.
  [[nodiscard]] tls_factory factory_that_calls(std::function<void()> done) {
    const auto tls = std::make_shared<net::ssl::context>(net::ssl::context::tlsv12_client);
    tls->load_verify_file(here()->tls.authority());
    when_done() = std::move(done);
    SSL_CTX_set_info_callback(tls->native_handle(), [](const SSL* /*of*/, int what, int /*code*/) {
      if (what == SSL_CB_HANDSHAKE_DONE) {
        when_done()();
      }
    });
    return {loop_.get_executor(), tls, {.host = "localhost", .port = std::to_string(port())}};
  }
  static std::function<void()>& when_done() {
    static std::function<void()> called;
    return called;
  }
  [[nodiscard]] static int port() { return here()->redis.port(); }

  /// Returns the error of a create, or an empty string.
  static std::string error_of(const tls_factory& one, const lido::create_context& limit) {
    try {
      (void)one.create(limit);
      return {};
    } catch (const boost::system::system_error& error) {
      return error.what();
    }
  }
  static std::string error_of(const tls_factory& one) {
    return error_of(one, {steady_clock::now() + 10s, {}});
  }
  static tls_stream connected(const tls_factory& one) {
    return one.create({steady_clock::now() + 10s, {}});
  }
  static std::string ask(tls_stream& peer, const std::string& question) {
    std::string answer;
    net::write(peer, net::buffer(question + "\r\n"));
    net::read_until(peer, net::dynamic_buffer(answer), "\r\n");
    return answer;
  }
  /// Returns true once the condition holds, or false after five seconds.
  static bool becomes(const std::function<bool()>& condition) {
    const auto end = steady_clock::now() + 5s;
    while (!condition() && steady_clock::now() < end) {
      std::this_thread::sleep_for(1ms);
    }
    return condition();
  }

  net::thread_pool loop_{1};
};

TEST_F(TlsFactory, AServerWhoseAuthorityIsUnknownIsRefused) {
  const std::string told =
      error_of(factory_for(port(), "localhost", here()->tls.other_authority()));
  EXPECT_NE(told.find("certificate verify failed"), std::string::npos) << told;
}

TEST_F(TlsFactory, AServerWithACertificateForAnotherNameIsRefused) {
  const std::string told = error_of(factory(port(), "127.0.0.1"));
  EXPECT_NE(told.find("certificate verify failed"), std::string::npos) << told;
}

TEST_F(TlsFactory, AHandshakeThatIsNotAnsweredEndsAtTheDeadline) {
  net::io_context context;
  const tcp::acceptor silent(context, {net::ip::address_v4::loopback(), 0});
  const auto begin = steady_clock::now();
  EXPECT_NE(error_of(factory(silent.local_endpoint().port()), {begin + 200ms, {}}), "");
  EXPECT_GE(steady_clock::now() - begin, 200ms);
  EXPECT_LT(steady_clock::now() - begin, 5s);
}

TEST_F(TlsFactory, AStopEndsAHandshakeThatIsNotAnswered) {
  net::io_context context;
  const tcp::acceptor silent(context, {net::ip::address_v4::loopback(), 0});
  std::stop_source source;
  const std::jthread stopper([&source] {
    std::this_thread::sleep_for(100ms);
    source.request_stop();
  });
  const auto begin = steady_clock::now();
  EXPECT_NE(error_of(factory(silent.local_endpoint().port()), {begin + 60s, source.get_token()}),
            "");
  EXPECT_LT(steady_clock::now() - begin, 10s);
}

TEST_F(TlsFactory, AStreamThatAStopShutDownAfterItsHandshakeIsNotReturned) {
  std::stop_source source;
  const tls_factory one = factory_that_calls([&source] { source.request_stop(); });
  EXPECT_NE(error_of(one, {steady_clock::now() + 60s, source.get_token()}), "");
  EXPECT_TRUE(source.stop_requested());
}

TEST_F(TlsFactory, AStreamThatTheDeadlineShutDownBeforeItsHandshakeIsNotReturned) {
  const auto deadline = steady_clock::now() + 1s;
  bool is_called = false;
  const tls_factory one = factory_that_calls([&] {
    std::this_thread::sleep_until(deadline + 300ms);
    is_called = true;
  });
  EXPECT_NE(error_of(one, {deadline, {}}), "");
  EXPECT_TRUE(is_called);
}

TEST_F(TlsFactory, AnIdleConnectionIsValidInSpiteOfTheTicketsThatTheServerHasSent) {
  tls_stream idle = connected(factory(port()));
  EXPECT_TRUE(becomes([&idle] { return idle.next_layer().available() != 0; }));  // the tickets
  EXPECT_TRUE(tls_factory::validate(idle));
  EXPECT_EQ(idle.next_layer().available(), 0U);
  EXPECT_TRUE(tls_factory::validate(idle));
  EXPECT_EQ(ask(idle, "PING"), "+PONG\r\n");
  EXPECT_TRUE(tls_factory::reset(idle));
}

TEST_F(TlsFactory, AnAnswerThatWasNotReadIsNotLeftToTheNextUser) {
  tls_stream used = connected(factory(port()));
  EXPECT_EQ(ask(used, "PING"), "+PONG\r\n");
  net::write(used, net::buffer(std::string("PING\r\n")));
  EXPECT_TRUE(becomes([&used] { return used.next_layer().available() != 0; }));
  EXPECT_FALSE(tls_factory::reset(used));
}

TEST_F(TlsFactory, AConnectionThatTheServerClosedIsInvalid) {
  tls_stream idle = connected(factory(port()));
  tls_stream other = connected(factory(port()));
  EXPECT_EQ(ask(idle, "PING"), "+PONG\r\n");
  EXPECT_EQ(ask(other, "CLIENT KILL TYPE normal SKIPME yes"), ":1\r\n");
  EXPECT_TRUE(becomes([&idle] { return !tls_factory::validate(idle); }));
  EXPECT_TRUE(tls_factory::validate(other));
}

TEST_F(TlsFactory, AnInterruptEndsAReadThatWaits) {
  lido::resource_pool<tls_stream> pool(factory(port()), {.max_size = 1});
  std::jthread flusher;
  {
    const auto lease = pool.acquire();
    flusher = std::jthread([&pool] {
      std::this_thread::sleep_for(100ms);
      pool.flush(lido::ongoing_uses::interrupt);
    });
    EXPECT_THROW(ask(*lease, "BLPOP nothing 20"), boost::system::system_error);
  }
  EXPECT_EQ(ask(*pool.acquire(), "PING"), "+PONG\r\n");
}

TEST_F(TlsFactory, ThePeerIsToldThatTheSessionEnds) {
  net::io_context context;
  tcp::acceptor acceptor(context, {net::ip::address_v4::loopback(), 0});
  net::ssl::context tls(net::ssl::context::tls_server);
  tls.use_certificate_chain_file(here()->tls.certificate());
  tls.use_private_key_file(here()->tls.key(), net::ssl::context::pem);
  boost::system::error_code told;
  std::jthread server([&] {
    net::ssl::stream<tcp::socket> peer(acceptor.accept(), tls);
    peer.handshake(net::ssl::stream_base::server);
    std::array<char, 8> bytes{};
    (void)peer.read_some(net::buffer(bytes), told);
  });
  {
    tls_stream ended = connected(factory(acceptor.local_endpoint().port()));
    tls_factory::destroy(ended, lido::destroy_reason::too_old);
    EXPECT_FALSE(ended.next_layer().is_open());
  }
  server.join();
  EXPECT_EQ(told, net::error::eof);  // and not ssl::error::stream_truncated
}

}  // namespace
