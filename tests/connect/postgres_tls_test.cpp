// Connections to a PostgreSQL that accepts only TLS. The server runs once, for all tests.
#include "connect/postgres_fixture.hpp"
#include "support/settled.hpp"

namespace lido {
namespace {

using namespace std::chrono_literals;
using std::chrono::steady_clock;

class PostgresTls : public ::testing::Test {
 protected:
  struct machine {
    servers::certificates tls;
    servers::postgres server{&tls};
  };

  static void SetUpTestSuite() {
    if (servers::postgres::program() && servers::certificates::program()) {
      here().emplace();
    }
  }
  static void TearDownTestSuite() { here().reset(); }
  void SetUp() override {
    if (!here()) {
      GTEST_SKIP() << "PostgreSQL or openssl is not installed";
    }
  }

  static std::optional<machine>& here() {
    static std::optional<machine> shared;
    return shared;
  }
  static std::string verified(const std::string& host, const std::string& authority) {
    return here()->server.conninfo() + " host=" + host + " sslmode=verify-full sslrootcert='" +
           authority + "'";
  }
  static postgres_pool make(resource_pool_options options) {
    options.max_size = 1;
    return postgres_pool(
        postgres_factory({.conninfo = verified("localhost", here()->tls.authority()),
                          .query_to_validate = true}),
        options);
  }
};

TEST_F(PostgresTls, AServerWhoseAuthorityIsUnknownIsRefused) {
  const std::string told =
      permanent_failure_of(verified("localhost", here()->tls.other_authority()));
  EXPECT_NE(told.find("to be tried again"), std::string::npos) << told;
  EXPECT_NE(told.find("certificate verify failed"), std::string::npos) << told;
}

TEST_F(PostgresTls, AServerWithACertificateForAnotherNameIsRefused) {
  const std::string told = permanent_failure_of(verified("127.0.0.1", here()->tls.authority()));
  EXPECT_NE(told.find("does not match host name"), std::string::npos) << told;
}

TEST_F(PostgresTls, AFileOfAuthoritiesThatIsMissingIsNamedByTheError) {
  const std::string told = permanent_failure_of(verified("localhost", "/nowhere/authority.pem"));
  EXPECT_NE(told.find("root certificate file"), std::string::npos) << told;
}

TEST_F(PostgresTls, ARefusalOfPlainConnectionsIsPermanent) {
  const std::string told = permanent_failure_of(here()->server.conninfo() + " sslmode=disable");
  EXPECT_NE(told.find("no encryption"), std::string::npos) << told;
  EXPECT_EQ(told.find("to be tried again"), std::string::npos) << told;
}

TEST_F(PostgresTls, ConnectionsAreValidatedAndResetAsWithoutEncryption) {
  postgres_pool pool = make({.validate_if_idle_longer_than = 0s});
  for (int i = 0; i < 3; ++i) {
    const auto lease = pool.acquire();
    EXPECT_EQ(PQsslInUse(lease->get()), 1);
    EXPECT_EQ(ask(*lease, "SHOW application_name"), "");
    ask(*lease, "SET application_name = 'somebody'");
    ask(*lease, "BEGIN");
  }
  EXPECT_EQ(test::settled(pool).created, 1U);
}

TEST_F(PostgresTls, ALateQueryIsCancelled) {
  postgres_pool pool = make({});
  const auto lease = pool.acquire();
  ASSERT_EQ(PQsendQuery(lease->get(), "SELECT pg_sleep(20)"), 1);
  const auto last = lease->finish({steady_clock::now() + 100ms, {}});
  EXPECT_STREQ(PQresultErrorField(last.get(), PG_DIAG_SQLSTATE), "57014");
  EXPECT_EQ(ask(*lease, "SELECT 7"), "7");
}

TEST_F(PostgresTls, AnInterruptEndsAUse) {
  postgres_pool pool = make({});
  std::jthread flusher;
  {
    const auto lease = pool.acquire();
    flusher = std::jthread([&pool] {
      std::this_thread::sleep_for(100ms);
      pool.flush(ongoing_uses::interrupt);
    });
    EXPECT_NE(ask(*lease, "SELECT pg_sleep(2)"), "");  // which the server continues
  }
  EXPECT_EQ(ask(*pool.acquire(), "SELECT 7"), "7");
  EXPECT_EQ(test::settled(pool).created, 2U);
}

TEST_F(PostgresTls, AConnectionThatTheServerClosedIsNotLentAgain) {
  postgres_pool pool = make({.validate_if_idle_longer_than = 0s});
  const std::string number = ask(*pool.acquire(), "SELECT pg_backend_pid()");
  postgres_pool other = make({});
  ask(*other.acquire(), ("SELECT pg_terminate_backend(" + number + ", 5000)").c_str());
  EXPECT_EQ(ask(*pool.acquire(), "SELECT 7"), "7");
  EXPECT_EQ(test::settled(pool).destroyed_for(destroy_reason::invalid), 1U);
}

}  // namespace
}  // namespace lido
