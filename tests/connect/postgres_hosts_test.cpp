// Several hosts in one conninfo, and a PgBouncer in front of the server.
#include <gtest/gtest.h>
#include <libpq-fe.h>

#include <boost/asio/io_context.hpp>
#include <boost/asio/ip/tcp.hpp>
#include <chrono>
#include <stdexcept>
#include <string>
#include <thread>
#include <vector>

#include "connect/deaf_listener.hpp"
#include "connect/postgres_fixture.hpp"

namespace lido {
namespace {

namespace net = boost::asio;
using namespace std::chrono_literals;
using std::chrono::steady_clock;

class PostgresHosts : public postgres_fixture {
 protected:
  /// All of them on loopback.
  static std::string conninfo_of(const std::string& ports, const std::string& secret) {
    std::string hosts = "127.0.0.1";
    for (const char c : ports) {
      hosts += c == ',' ? ",127.0.0.1" : "";
    }
    return "host=" + hosts + " port=" + ports + " user=lido dbname=lido password='" + secret + "'";
  }
  static std::string good_port() { return std::to_string(server()->port()); }
};

/// Lets clients connect, and says nothing.
class mute_listener {
 public:
  [[nodiscard]] std::string port() const {
    return std::to_string(acceptor_.local_endpoint().port());
  }

 private:
  net::io_context context_;
  net::ip::tcp::acceptor acceptor_{context_, {net::ip::address_v4::loopback(), 0}};
};

// The first of two hosts is down, and may be back with another password.
TEST_F(PostgresHosts, ARefusalOfOneHostIsNoneForGoodWhileAnotherIsDown) {
  const std::string port = std::to_string(server()->port());
  const std::string down = std::to_string(servers::free_port());
  const std::string both = "host=127.0.0.1,127.0.0.1 user=lido dbname=lido password=guess port=";
  const auto soon = std::chrono::steady_clock::now() + 20s;
  try {
    (void)postgres_factory({.conninfo = both + down + "," + port}).create({soon, {}});
    FAIL() << "the password is wrong";
  } catch (const permanent_failure& error) {
    FAIL() << error.what();
  } catch (const std::runtime_error& error) {
    EXPECT_NE(std::string(error.what()).find("28P01"), std::string::npos) << error.what();
  }
  EXPECT_THROW((void)postgres_factory({.conninfo = both + port + "," + port}).create({soon, {}}),
               permanent_failure);
}

/// Whether it is connected, and not before a share of so many is over. Tries with more time: on a
/// busy machine a share of a short one may be over before the server has answered.
bool connects_after_a_share(const std::string& conninfo, int shares) {
  for (auto time = 600ms; time < 40s; time *= 4) {
    try {
      const auto begin = steady_clock::now();
      const auto made = postgres_factory({.conninfo = conninfo}).create({begin + time, {}});
      EXPECT_GE(steady_clock::now() - begin, time / shares);
      EXPECT_EQ(ask(made, "SELECT 6 * 7"), "42");
      return true;
    } catch (const std::runtime_error&) {
    }
  }
  return false;
}

TEST_F(PostgresHosts, OneThatIsSilentLeavesTimeToTheNext) {
  const deaf_listener deaf;
  const mute_listener mute;
  const std::string refuses = std::to_string(servers::free_port());
  const std::string deaf_port = std::to_string(deaf.port());
  for (const std::string& ports :
       {deaf_port + "," + good_port(), mute.port() + "," + good_port()}) {
    EXPECT_TRUE(connects_after_a_share(conninfo_of(ports, servers::password), 2)) << ports;
  }
  const std::string three = deaf_port + "," + refuses + "," + good_port();
  EXPECT_TRUE(connects_after_a_share(conninfo_of(three, servers::password), 3));
}

// Each of them by an address without a name, and one port for all.
TEST_F(PostgresHosts, OneIsLeftOutWhateverTheyAreCalledBy) {
  const deaf_listener deaf(
      {net::ip::make_address("127.0.0.8"), static_cast<unsigned short>(server()->port())});
  EXPECT_TRUE(
      connects_after_a_share("hostaddr=127.0.0.8,127.0.0.1 user=lido dbname=lido password='" +
                                 std::string(servers::password) + "' port=" + good_port(),
                             2));
}

// It may be up again, and take what the other refuses.
TEST_F(PostgresHosts, OneThatIsSilentIsNoneThatRefusesForGood) {
  const mute_listener mute;
  const postgres_factory either(
      {.conninfo = conninfo_of(mute.port() + "," + good_port(), "guess")});
  bool refused = false;
  for (auto time = 600ms; !refused && time < 40s; time *= 4) {
    try {
      (void)either.create({steady_clock::now() + time, {}});
      FAIL() << "the password is wrong";
    } catch (const permanent_failure& error) {
      FAIL() << error.what();
    } catch (const std::runtime_error& error) {
      const std::string told = error.what();
      refused = told.find("28P01") != std::string::npos;
      EXPECT_NE(told.find("postgres 127.0.0.1:" + mute.port() + ": no"), std::string::npos) << told;
    }
  }
  EXPECT_TRUE(refused);
}

TEST_F(PostgresHosts, NoneTakesLongerThanItsConnectTimeout) {
  const mute_listener mute;
  const std::string hasty = " connect_timeout=1";
  const auto begin = steady_clock::now();
  const postgres_factory either(
      {.conninfo = conninfo_of(mute.port() + "," + good_port(), servers::password) + hasty});
  EXPECT_EQ(ask(either.create({begin + 100s, {}}), "SELECT 1"), "1");
  const postgres_factory alone({.conninfo = conninfo_of(mute.port(), servers::password) + hasty});
  EXPECT_THROW((void)alone.create({steady_clock::now() + 100s, {}}), std::runtime_error);
  EXPECT_GE(steady_clock::now() - begin, 2s);
  EXPECT_LT(steady_clock::now() - begin, 40s);
}

/// Why it is connected to by nobody for good, or what it said else.
std::string permanent_failure_of(const std::string& conninfo) {
  try {
    (void)postgres_factory({.conninfo = conninfo}).create({steady_clock::now() + 20s, {}});
    return "connected";
  } catch (const permanent_failure& error) {
    return error.what();
  } catch (const std::runtime_error& error) {
    return std::string("to be tried again: ") + error.what();
  }
}

// For which it has one SQLSTATE, that of whatever goes against the protocol.
TEST_F(PostgresHosts, WhatPgBouncerRefusesForGoodIsToldAtOnce) {
  if (!servers::pgbouncer::program()) {
    GTEST_SKIP() << "pgbouncer is not installed";
  }
  for (const char* const auth_type : {"plain", "scram-sha-256"}) {
    const servers::pgbouncer bouncer(*server(), 2, auth_type);
    for (const char* const wrong : {" password=guess", " user=nobody", " dbname=nowhere"}) {
      const std::string told = permanent_failure_of(bouncer.conninfo() + wrong);
      EXPECT_TRUE(told.starts_with("connection to server")) << auth_type << wrong << ": " << told;
    }
  }
}

/// More leases than connections to the server, each transaction on any of them.
TEST_F(PostgresHosts, ThroughPgBouncerInTransactionMode) {
  if (!servers::pgbouncer::program()) {
    GTEST_SKIP() << "pgbouncer is not installed";
  }
  const servers::pgbouncer bouncer(*server(), 2);
  postgres_pool pool(postgres_factory({.conninfo = bouncer.conninfo()}),
                     {.max_size = 6, .validate_if_idle_longer_than = 0ns});
  std::vector<std::jthread> clients;
  for (int client = 0; client < 6; ++client) {
    clients.emplace_back([&] {
      for (int i = 0; i < 20; ++i) {
        const auto lease = pool.acquire();
        (void)ask(*lease, "BEGIN");
        EXPECT_EQ(ask(*lease, "SELECT 2 + 2"), "4");
        if (i % 2 == 0) {
          (void)ask(*lease, "COMMIT");  // the others leave it to the pool
        }
      }
    });
  }
  clients.clear();
  EXPECT_EQ(ask(*pool.acquire(), "SELECT 1"), "1");
  EXPECT_EQ(pool.stats().destroyed_for(destroy_reason::invalid), 0U);
  EXPECT_EQ(pool.stats().destroyed_for(destroy_reason::reset_refused), 0U);
}

}  // namespace
}  // namespace lido
