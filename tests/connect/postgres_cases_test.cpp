// Problems that users of other connection pools reported. Each test is named after its case.
#include <gtest/gtest.h>
#include <libpq-fe.h>
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <sys/socket.h>

#include <chrono>
#include <set>
#include <stdexcept>
#include <stop_token>
#include <string>
#include <thread>

#include "connect/postgres_fixture.hpp"
#include "support/settled.hpp"
#include "support/two_addresses.hpp"

namespace lido {
namespace {

using namespace std::chrono_literals;
using std::chrono::steady_clock;

class PostgresCases : public postgres_fixture {
 protected:
  static postgres_connection connect_beside(const std::string& more = {}) {
    return postgres_factory({.conninfo = server()->conninfo() + more})
        .create({steady_clock::now() + 20s, {}});
  }
  /// Returns whether all other sessions of that name soon stop running queries.
  static bool all_end(const postgres_connection& admin, const std::string& name) {
    const std::string count =
        "SELECT count(*) FROM pg_stat_activity WHERE state = 'active' AND application_name = '" +
        name + "'";
    const auto end = steady_clock::now() + 10s;
    while (ask(admin, count.c_str()) != "0" && steady_clock::now() < end) {
      std::this_thread::sleep_for(5ms);
    }
    return ask(admin, count.c_str()) == "0";
  }

  /// A server whose existing sessions can no longer write. Afterwards another server takes over its
  /// address for new sessions. In the test it is the same server.
  class demoted {
   public:
    demoted() {
      (void)tell("ALTER SYSTEM SET default_transaction_read_only = on");
      (void)tell("SELECT pg_reload_conf()");
      while (ask(connect_beside(), "SHOW default_transaction_read_only") != "on") {
        std::this_thread::sleep_for(5ms);
      }
    }
    demoted(const demoted&) = delete;
    demoted& operator=(const demoted&) = delete;
    ~demoted() {
      (void)tell("ALTER SYSTEM RESET default_transaction_read_only");
      (void)tell("SELECT pg_reload_conf()");
      (void)tell("ALTER DATABASE lido RESET default_transaction_read_only");
    }
    void replace() const {
      (void)tell("ALTER DATABASE lido SET default_transaction_read_only = off");
    }

   private:
    [[nodiscard]] std::string tell(const char* command) const {
      (void)ask(admin_, "SET default_transaction_read_only = off");
      return ask(admin_, command);
    }
    postgres_connection admin_ = connect_beside();
  };

  static std::string write(const postgres_connection& by) {
    return ask(by, "INSERT INTO written VALUES (1)");
  }
  static void make_table() {
    (void)ask(connect_beside(), "CREATE TABLE IF NOT EXISTS written (n int)");
  }
};

TEST_F(PostgresCases, C01WritesSucceedSoonAfterAFailover) {
  make_table();
  for (const char* const wanted : {"", " target_session_attrs=read-write"}) {
    postgres_pool pool(
        postgres_factory({.conninfo = server()->conninfo() + wanted}),
        {.max_size = 2, .retry_first = 10ms, .retry_longest = 50ms, .detect_hold_and_wait = false});
    {
      const auto one = pool.acquire();
      const auto other = pool.acquire();
      EXPECT_EQ(write(*one), "");
    }
    const demoted now;
    {
      const auto one = pool.acquire();
      EXPECT_NE(write(*one).find("read-only"), std::string::npos);
      now.replace();
    }  // a failed write is the most that it costs
    const auto begin = steady_clock::now();
    while (!write(*pool.acquire_for(10s)).empty() && steady_clock::now() < begin + 10s) {
    }
    EXPECT_LT(steady_clock::now() - begin, 2s);
    EXPECT_EQ(write(*pool.acquire_for(10s)), "");
    EXPECT_GE(test::settled(pool).destroyed_for(destroy_reason::reset_refused), 1U);
  }
}

// A session that could never write reports no change.
TEST_F(PostgresCases, C01ARefusedWriteThatIsCheckedEndsTheConnection) {
  make_table();
  const demoted now;
  postgres_pool pool = make({});
  (void)write(*pool.acquire());
  EXPECT_EQ(test::settled(pool).destroyed_for(destroy_reason::reset_refused), 0U);
  {
    const auto lease = pool.acquire();
    now.replace();
    PGresult* const refused = PQexec(lease->get(), "INSERT INTO written VALUES (1)");
    lease->check(refused);
    PQclear(refused);
  }
  EXPECT_EQ(write(*pool.acquire_for(2s)), "");
}

/// Sends a query, and returns its end as the factory reports it.
postgres_result finished(postgres_connection& by, const char* query) {
  EXPECT_EQ(PQsendQuery(by.get(), query), 1);
  return by.finish({steady_clock::now() + 20s, {}});
}

// Later queries of the same user may well succeed.
TEST_F(PostgresCases, C01ARefusedWriteThatIsFinishedEndsTheConnection) {
  make_table();
  const demoted now;
  postgres_pool pool = make({});
  for (const bool goes_on : {false, true}) {
    const auto before = test::settled(pool).destroyed_for(destroy_reason::reset_refused);
    {
      const auto lease = pool.acquire();
      const auto refused = finished(*lease, "INSERT INTO written VALUES (1)");
      EXPECT_STREQ(PQresultErrorField(refused.get(), PG_DIAG_SQLSTATE), "25006");
      if (goes_on) {
        EXPECT_EQ(PQresultStatus(finished(*lease, "SELECT 1").get()), PGRES_TUPLES_OK);
      }
    }
    EXPECT_EQ(test::settled(pool).destroyed_for(destroy_reason::reset_refused), before + 1)
        << goes_on;
  }
}

TEST_F(PostgresCases, C05ConnectionsSpreadOverTheAddressesOfAName) {
  const test::two_addresses known("127.0.0.2");
  const std::string conninfo = server()->conninfo() + " host=" + test::two_addresses_name;
  std::set<std::string> addresses;
  for (int i = 0; i < 24; ++i) {
    const auto made =
        postgres_factory({.conninfo = conninfo}).create({steady_clock::now() + 20s, {}});
    EXPECT_STREQ(PQhost(made.get()), test::two_addresses_name);
    addresses.insert(ask(made, "SELECT host(inet_server_addr())"));
  }
  EXPECT_EQ(addresses, (std::set<std::string>{"127.0.0.1", "127.0.0.2"}));
}

TEST_F(PostgresCases, C06AQueryThatIsLeftRunningIsCancelled) {
  const postgres_connection admin = connect_beside();
  postgres_pool pool(postgres_factory({.conninfo = server()->conninfo() + " application_name=c06"}),
                     {.max_size = 2});
  for (const bool discards : {false, true}) {
    auto lease = pool.acquire();
    ASSERT_EQ(PQsendQuery(lease->get(), "SELECT pg_sleep(60)"), 1);
    discards ? lease.discard() : lease.reset();
    EXPECT_EQ(test::settled(pool).live, 0U);
    EXPECT_TRUE(all_end(admin, "c06"));
  }
  EXPECT_EQ(pool.stats().created, 2U);
}

// The server cancels the query of one user while the next one has already sent its own.
TEST_F(PostgresCases, C31ALateCancelHitsNoOtherQuery) {
  postgres_pool pool = make({});
  int cancelled = 0;
  for (int i = 0; i < 100; ++i) {
    {
      const auto hasty = pool.acquire();
      const char* const query = i % 2 == 0 ? "SELECT pg_sleep(0.001)" : "SELECT pg_sleep(60)";
      ASSERT_EQ(PQsendQuery(hasty->get(), query), 1);
      const auto result = hasty->finish({steady_clock::now() + 1ms, {}});
      cancelled += PQresultStatus(result.get()) == PGRES_TUPLES_OK ? 0 : 1;
    }
    EXPECT_EQ(ask(*pool.acquire(), "SELECT 42 FROM pg_sleep(0.002)"), "42");
  }
  EXPECT_GE(cancelled, 50);
  EXPECT_EQ(pool.stats().created, 1U);
}

TEST_F(PostgresCases, C31AQueryEndsWhenStopped) {
  postgres_connection asks = connect_beside();
  ASSERT_EQ(PQsendQuery(asks.get(), "SELECT pg_sleep(60)"), 1);
  std::stop_source stop;
  std::jthread stopping([&] {
    std::this_thread::sleep_for(20ms);
    (void)stop.request_stop();
  });
  const auto result = asks.finish({steady_clock::now() + 60s, stop.get_token()});
  EXPECT_STREQ(PQresultErrorField(result.get(), PG_DIAG_SQLSTATE), "57014");
  EXPECT_EQ(ask(asks, "SELECT 1"), "1");
}

TEST_F(PostgresCases, C27TheKernelProbesWhenTheTargetSays) {
  const auto option = [](const std::string& more, int name) {
    const postgres_target target{.conninfo = server()->conninfo() + more,
                                 .keep_alive = {.idle = 30s, .interval = 5s, .count = 4}};
    const auto made = postgres_factory(target).create({steady_clock::now() + 20s, {}});
    int value = -1;
    socklen_t size = sizeof value;
    EXPECT_EQ(::getsockopt(PQsocket(made.get()), IPPROTO_TCP, name, &value, &size), 0);
    return value;
  };
  EXPECT_EQ(option("", TCP_KEEPIDLE), 30);
  EXPECT_EQ(option("", TCP_KEEPINTVL), 5);
  EXPECT_EQ(option("", TCP_KEEPCNT), 4);
  EXPECT_EQ(option(" keepalives_idle=77", TCP_KEEPIDLE), 77);
  EXPECT_EQ(option("", TCP_USER_TIMEOUT), 50'000);  // a request without an answer
  EXPECT_EQ(option(" tcp_user_timeout=7000", TCP_USER_TIMEOUT), 7'000);
  EXPECT_EQ(option(" keepalives=0", TCP_USER_TIMEOUT), 0) << "not what the conninfo says";
  EXPECT_EQ(option(" keepalives_idle=600 keepalives_count=2", TCP_USER_TIMEOUT), 610'000);
}

// The kernel refuses a larger count, and libpq then refuses the connection.
TEST_F(PostgresCases, C27ACountBeyondThatOfTheKernelIsItsLargest) {
  const postgres_target target{.conninfo = server()->conninfo(), .keep_alive = {.count = 1000}};
  const auto made = postgres_factory(target).create({steady_clock::now() + 20s, {}});
  int value = -1;
  socklen_t size = sizeof value;
  EXPECT_EQ(::getsockopt(PQsocket(made.get()), IPPROTO_TCP, TCP_KEEPCNT, &value, &size), 0);
  EXPECT_EQ(value, 127);
}

// A late answer behind a busy proxy is no proof of a broken connection.
TEST_F(PostgresCases, C27AServerThatIsSlowLosesNoConnection) {
  postgres_pool pool = make({.validate_timeout = 50ms, .validate_if_idle_longer_than = 0ns});
  const pid_t backend = std::stoi(ask(*pool.acquire(), "SELECT pg_backend_pid()"));
  postgres_pool::lease_type lease;
  {
    const servers::standing_still still(backend);
    lease = pool.acquire_for(10s);
  }
  EXPECT_EQ(ask(*lease, "SELECT 1"), "1");
  EXPECT_EQ(pool.stats().created, 1U);
}

TEST_F(PostgresCases, C39ANameThatIsNotFoundEndsInTime) {
  const test::hanging_name hangs;
  const postgres_factory lost(
      {.conninfo = server()->conninfo() + " host=" + test::hanging_name::text});
  for (const bool stops : {false, true}) {
    std::stop_source stop;
    std::jthread stopping([&] {
      std::this_thread::sleep_for(30ms);
      if (stops) {
        (void)stop.request_stop();
      }
    });
    const auto begin = steady_clock::now();
    EXPECT_THROW((void)lost.create({begin + (stops ? 60s : 50ms), stop.get_token()}),
                 std::runtime_error);
    EXPECT_GE(steady_clock::now() - begin, 30ms);
    EXPECT_LT(steady_clock::now() - begin, 10s);
  }
}

}  // namespace
}  // namespace lido
