// Several hosts in one conninfo, and a PgBouncer in front of the server.
#include <gtest/gtest.h>
#include <libpq-fe.h>

#include <chrono>
#include <stdexcept>
#include <string>
#include <thread>
#include <vector>

#include "connect/deaf_listener.hpp"
#include "connect/postgres_fixture.hpp"
#include "support/settled.hpp"

namespace lido {
namespace {

using namespace std::chrono_literals;

class PostgresHosts : public postgres_fixture {};

// Another host may be down, and return with another password. libpq distinguishes the hosts only by
// text, in the language of the user or of the server.
TEST_F(PostgresHosts, NoRefusalOfOneHostOfSeveralIsPermanent) {
  const std::string port = std::to_string(server()->port());
  const std::string down = std::to_string(servers::free_port());
  const std::string both = "host=127.0.0.1,127.0.0.1 user=lido dbname=lido passfile=/nowhere port=";
  for (const std::string& first : {down, port}) {
    std::string refused = both;
    refused.append(first).append(",").append(port);
    const std::string wrong = permanent_failure_of(refused + " password=guess");
    EXPECT_TRUE(wrong.starts_with("to be tried again: ")) << wrong;
    EXPECT_NE(wrong.find("28P01"), std::string::npos) << wrong;
    const std::string missing = permanent_failure_of(refused);
    EXPECT_TRUE(missing.starts_with("to be tried again: ")) << missing;
  }
}

TEST_F(PostgresHosts, ASilentHostLeavesTimeToTheNext) {
  const deaf_listener deaf;
  const std::string ports = std::to_string(deaf.port()) + ',' + std::to_string(server()->port());
  const postgres_factory either(
      {.conninfo = server()->conninfo() + " host=127.0.0.1,127.0.0.1 port=" + ports});
  bool connected = false;
  // On a busy machine, half of a short time may end before libpq has tried the next host.
  for (auto time = 400ms; !connected && time < 20s; time *= 4) {
    const auto begin = std::chrono::steady_clock::now();
    try {
      EXPECT_EQ(ask(either.create({begin + time, {}}), "SELECT 1"), "1");
      EXPECT_GE(std::chrono::steady_clock::now() - begin, time / 2);
      connected = true;
    } catch (const std::runtime_error&) {
    }
  }
  EXPECT_TRUE(connected);
}

/// Returns how long a create takes that has 20 s.
std::chrono::steady_clock::duration time_to_connect(const postgres_factory& factory) {
  const auto begin = std::chrono::steady_clock::now();
  EXPECT_EQ(ask(factory.create({begin + 20s, {}}), "SELECT 1"), "1");
  return std::chrono::steady_clock::now() - begin;
}

// libpq would start with the silent host each time, and wait for it all the time.
TEST_F(PostgresHosts, ASilentHostDelaysOneConnect) {
  const deaf_listener deaf;
  const std::string ports = std::to_string(deaf.port()) + ',' + std::to_string(server()->port());
  for (const char* const hosts :
       {"host=127.0.0.1,127.0.0.1", "hostaddr=127.0.0.1,127.0.0.1 host=a,b",
        "hostaddr=127.0.0.1,127.0.0.1 host='' target_session_attrs=prefer-standby"}) {
    const postgres_factory either(
        {.conninfo = server()->conninfo() + ' ' + hosts + " connect_timeout=2 port=" + ports});
    const auto first = time_to_connect(either);
    EXPECT_GE(first, 2s) << hosts;
    EXPECT_LT(first, 8s) << hosts << ": connect_timeout does not limit the time of a host";
    EXPECT_LT(time_to_connect(either) + time_to_connect(either), 2s) << hosts;
  }
}

TEST_F(PostgresHosts, AStandbyIsPreferredAndAnyHostAccepted) {
  const std::string port = std::to_string(server()->port());
  const std::string two = server()->conninfo() + " host=127.0.0.1,localhost port=" + port + ',' +
                          port + " target_session_attrs=";
  EXPECT_EQ(permanent_failure_of(two + "prefer-standby"), "connected");
  EXPECT_EQ(permanent_failure_of(two + "read-write"), "connected");
  EXPECT_TRUE(permanent_failure_of(two + "standby").starts_with("to be tried again"));
}

// PgBouncer has only one SQLSTATE for these refusals: that of a protocol violation.
TEST_F(PostgresHosts, APermanentRefusalOfPgBouncerFailsAtOnce) {
  if (!servers::pgbouncer::program()) {
    GTEST_SKIP() << "pgbouncer is not installed";
  }
  for (const char* const auth_type : {"plain", "scram-sha-256"}) {
    const servers::pgbouncer bouncer(*server(), 2, auth_type);
    for (const char* const wrong :
         {" password=guess", " user=nobody", " dbname=nowhere", " options='-c search_path=shop'"}) {
      const std::string told = permanent_failure_of(bouncer.conninfo() + wrong);
      EXPECT_TRUE(told.starts_with("connection to server")) << auth_type << wrong << ": " << told;
    }
  }
}

/// More leases than connections to the server: each transaction may run on any of them.
TEST_F(PostgresHosts, ThroughPgBouncerInTransactionMode) {
  if (!servers::pgbouncer::program()) {
    GTEST_SKIP() << "pgbouncer is not installed";
  }
  const servers::pgbouncer bouncer(*server(), 2);
  postgres_pool pool(
      postgres_factory({.conninfo = bouncer.conninfo(), .pooling = postgres_pooling::transaction}),
      {.max_size = 6, .validate_if_idle_longer_than = 0ns});
  std::vector<std::jthread> clients;
  for (int client = 0; client < 6; ++client) {
    clients.emplace_back([&] {
      for (int i = 0; i < 20; ++i) {
        const auto lease = pool.acquire();
        (void)ask(*lease, "BEGIN");
        EXPECT_EQ(ask(*lease, "SELECT 2 + 2"), "4");
        if (i % 2 == 0) {
          (void)ask(*lease, "COMMIT");  // otherwise the pool ends the transaction
        }
      }
    });
  }
  clients.clear();
  EXPECT_EQ(ask(*pool.acquire(), "SELECT 1"), "1");
  EXPECT_EQ(test::settled(pool).destroyed_for(destroy_reason::invalid), 0U);
  EXPECT_EQ(test::settled(pool).destroyed_for(destroy_reason::reset_refused), 0U);
}

}  // namespace
}  // namespace lido
