#include <gtest/gtest.h>
#include <libpq-fe.h>

#include <array>
#include <atomic>
#include <boost/asio/buffer.hpp>
#include <boost/asio/io_context.hpp>
#include <boost/asio/ip/tcp.hpp>
#include <boost/asio/write.hpp>
#include <chrono>
#include <clocale>
#include <cstddef>
#include <cstdio>
#include <cstdlib>
#include <memory>
#include <stdexcept>
#include <stop_token>
#include <string>
#include <thread>

#include "connect/deaf_listener.hpp"
#include "connect/postgres_fixture.hpp"
#include "support/settled.hpp"

namespace lido {
namespace {

using namespace std::chrono_literals;
class PostgresFactory : public postgres_fixture {};

TEST_F(PostgresFactory, AConnectionIsUsedManyTimes) {
  postgres_pool pool = make({});
  for (int i = 0; i < 50; ++i) {
    EXPECT_EQ(ask(*pool.acquire(), "SELECT 6 * 7"), "42");
  }
  EXPECT_EQ(pool.stats().created, 1U);
}

TEST_F(PostgresFactory, AQueryThatTakesLongIsInterrupted) {
  postgres_pool pool = make({});
  std::atomic<bool> asks{false};
  const auto begin = std::chrono::steady_clock::now();
  std::thread user([&] {
    const auto lease = pool.acquire();
    asks = true;
    const std::string told = ask(*lease, "SELECT pg_sleep(60)");
    EXPECT_NE(told, "");
    EXPECT_EQ(PQstatus(lease->get()), CONNECTION_BAD) << told;
    pool.flush(ongoing_uses::interrupt);  // twice; libpq has closed its socket
  });
  while (!asks) {
    std::this_thread::sleep_for(1ms);
  }
  std::this_thread::sleep_for(50ms);  // mostly it reads by now
  pool.flush(ongoing_uses::interrupt);
  user.join();
  EXPECT_LT(std::chrono::steady_clock::now() - begin, 30s);
  EXPECT_EQ(ask(*pool.acquire(), "SELECT 6 * 7"), "42");
  EXPECT_EQ(test::settled(pool).destroyed_for(destroy_reason::flushed), 1U);
}

TEST_F(PostgresFactory, AWrongPasswordOrDatabaseFailsAtOnce) {
  const std::string password = refusal_of(server()->conninfo("guess"));
  EXPECT_NE(password.find("28P01"), std::string::npos) << password;
  const std::string database = refusal_of(server()->conninfo() + " dbname=nowhere");
  EXPECT_NE(database.find("3D000"), std::string::npos) << database;
}

/// Makes libpq report errors in this language, as in a program that calls setlocale.
class speaking {
 public:
  // NOLINTBEGIN(concurrency-mt-unsafe): no other thread looks
  explicit speaking(const char* language) {
    EXPECT_EQ(::setenv("LANGUAGE", language, 1), 0);
    (void)std::setlocale(LC_ALL, "C.UTF-8");
  }
  speaking(const speaking&) = delete;
  speaking& operator=(const speaking&) = delete;
  ~speaking() {
    (void)std::setlocale(LC_ALL, "C");
    EXPECT_EQ(::unsetenv("LANGUAGE"), 0);
  }
  // NOLINTEND(concurrency-mt-unsafe)
};

void expect_no_secret(const std::string& conninfo) {
  const std::string told = permanent_failure_of(conninfo);
  EXPECT_NE(told, "connected");
  EXPECT_EQ(told.find("s3cr3t"), std::string::npos) << told;
}

// jackc/pgx #1271, jackc/pgconn #51: the error for a malformed conninfo contains its password.
TEST_F(PostgresFactory, AnErrorIsOneLine) {
  const std::string closed = "host=127.0.0.1,127.0.0.1 user=lido port=1,1";
  for (const std::string& conninfo : {server()->conninfo("wrong"), closed, std::string("port=0")}) {
    const std::string told = permanent_failure_of(conninfo);
    EXPECT_EQ(told.find('\n'), std::string::npos) << told;
    EXPECT_EQ(told.find("; ;"), std::string::npos) << told;
    EXPECT_NE(told.back(), ' ') << told;
  }
  const std::string told = permanent_failure_of(closed);
  EXPECT_NE(told.find("; connection to server"), std::string::npos) << told;
}

TEST_F(PostgresFactory, NoPartOfAMalformedConninfoIsInAnError) {
  for (const char* const conninfo : {
           "host=127.0.0.1 user=u password=my s3cr3t dbname=d",
           "host=127.0.0.1 password='s3cr3t",
           "host=127.0.0.1 user=u passwd=s3cr3t",
           "host=127.0.0.1 user=u password=a \"s3cr3t\"b=c",
           "host=127.0.0.1 port=70000 password=s3cr3t",
           "host=127.0.0.1,127.0.0.1 port=1,s3cr3t",
           "host=127.0.0.1 sslmode=s3cr3t",
           "host=127.0.0.1 target_session_attrs=s3cr3t",
           "host=127.0.0.1 connect_timeout=s3cr3t",
           "postgresql://u:s3cr3t%S@127.0.0.1:5432/x",
           "postgresql://u:s3cr3t/x@127.0.0.1:5432/x",
           "postgresql://u:s3cr3t@127.0.0.1:port/x",
           "postgresql://u:p#s3cr3t@127.0.0.1:1/x",
           "postgresql://u:p@s3cr3t@127.0.0.1:1:x/x",
           "postgresql://u:p[s3cr3t@127.0.0.1]x",
           "postgresql://127.0.0.1/x?password=s3cr3t&s3cr3t",
       }) {
    for (const char* const language : {"en", "de", "fr", "ru"}) {
      const speaking now(language);
      expect_no_secret(conninfo);
    }
  }
}

/// A server that refuses one client with a text that contains all the client sent, or agrees to
/// encrypt.
class parrot {
  using tcp = boost::asio::ip::tcp;

 public:
  explicit parrot(bool encrypts)
      : thread_([this, encrypts] {
          tcp::socket peer = acceptor_.accept();
          std::array<char, 1000> said{};
          const std::size_t size = peer.read_some(boost::asio::buffer(said));
          std::string text("SFATAL\0C28000\0M", 15);
          for (std::size_t i = 8; i < size; ++i) {
            text += said.at(i) != '\0' ? said.at(i) : ' ';
          }
          text += std::string(2, '\0');
          const std::string refusal =
              std::string("E\0\0\0", 4) + static_cast<char>(text.size() + 4) + text;
          boost::asio::write(peer, boost::asio::buffer(encrypts ? "S" : refusal));
        }) {}
  [[nodiscard]] std::string port() const {
    return std::to_string(acceptor_.local_endpoint().port());
  }

 private:
  boost::asio::io_context context_;
  tcp::acceptor acceptor_{context_, {boost::asio::ip::address_v4::loopback(), 0}};
  std::jthread thread_;
};

// A server repeats settings that it does not know, and libpq the name of a missing file.
TEST(PostgresFactoryBeside, AConnectThatFailsTellsNoMoreThanWhereItLedTo) {
  const std::string conninfo =
      "host=127.0.0.1 user=me dbname=shop password=s3cr3t options='-c a=s3cr3t' "
      "application_name=s3cr3t sslcrl=me connect_timeout=2 sslrootcert=/etc/s3cr3t sslmode=";
  for (const bool encrypts : {false, true}) {
    const parrot server(encrypts);
    const std::string told = permanent_failure_of(
        conninfo + (encrypts ? "verify-full port=" : "disable port=") + server.port());
    EXPECT_EQ(told.find("s3cr3t"), std::string::npos) << told;
    EXPECT_NE(told.find("\"127.0.0.1\", port " + server.port()), std::string::npos) << told;
    EXPECT_NE(told.find(encrypts ? "does not exist" : "user me database shop"), std::string::npos)
        << told;
  }
  const std::string told = permanent_failure_of("host=/nowhere password=nowhere");
  EXPECT_NE(told.find("\"/nowhere/.s.PGSQL"), std::string::npos) << told;
}

/// A server that accepts `few` only without encryption, and never accepts `banned`. libpq tries
/// both ways, and reports both refusals.
class encrypting {
 public:
  explicit encrypting(const postgres_connection& as) : as_(as) {
    for (const char* const command :
         {"CREATE ROLE few LOGIN CONNECTION LIMIT 0", "CREATE ROLE banned LOGIN",
          "COPY (SELECT 1) TO PROGRAM 'openssl req -x509 -nodes -newkey rsa:2048 -subj /CN=lido "
          "-keyout server.key -out server.crt'",
          "COPY (VALUES ('hostnossl all few 127.0.0.1/32 trust'), ('host all few,banned "
          "127.0.0.1/32 reject'), ('host all all 127.0.0.1/32 scram-sha-256')) TO PROGRAM "
          "'cp pg_hba.conf hba.before && cat > pg_hba.conf'",
          "ALTER SYSTEM SET ssl = on"}) {
      EXPECT_EQ(ask(as_, command), "") << command;
    }
    EXPECT_EQ(ask(as_, "SELECT pg_reload_conf()"), "t");
  }
  encrypting(const encrypting&) = delete;
  encrypting& operator=(const encrypting&) = delete;
  ~encrypting() {
    (void)ask(as_, "ALTER SYSTEM RESET ssl");
    (void)ask(as_, "COPY (SELECT 1) TO PROGRAM 'mv hba.before pg_hba.conf'");
    (void)ask(as_, "SELECT pg_reload_conf()");
  }

 private:
  const postgres_connection& as_;
};

// If one of two attempts may succeed later, that one counts, whichever comes first.
TEST_F(PostgresFactory, ARefusalThatMayEndIsNotPermanent) {
  const auto other = postgres_factory({.conninfo = server()->conninfo()})
                         .create({std::chrono::steady_clock::now() + 20s, {}});
  const encrypting set_up(other);
  postgres_pool pool(postgres_factory({.conninfo = server()->conninfo() + " user=few"}),
                     {.max_size = 1, .retry_first = 1ms, .retry_longest = 10ms});
  std::jthread room([&] {
    while (pool.stats().create_failures == 0) {
      std::this_thread::sleep_for(1ms);
    }
    EXPECT_EQ(ask(other, "ALTER ROLE few CONNECTION LIMIT 5"), "");
  });
  EXPECT_EQ(ask(*pool.acquire_for(30s), "SELECT 1"), "1");
  room.join();
  const std::string refused = refusal_of(server()->conninfo() + " user=banned");
  EXPECT_NE(refused.find("28000"), refused.rfind("28000")) << refused;  // refused twice
}

TEST_F(PostgresFactory, ATransactionDoesNotReachTheNextUser) {
  postgres_pool pool = make({});
  (void)ask(*pool.acquire(), "CREATE TABLE IF NOT EXISTS kept(n int)");
  {
    const auto careless = pool.acquire();
    (void)ask(*careless, "BEGIN");
    (void)ask(*careless, "INSERT INTO kept VALUES (1)");
  }
  EXPECT_EQ(ask(*pool.acquire(), "SELECT count(*) FROM kept"), "0");
  {
    const auto failed = pool.acquire();
    (void)ask(*failed, "BEGIN");
    (void)ask(*failed, "SELECT 1 / 0");
  }
  EXPECT_EQ(ask(*pool.acquire(), "SELECT 1"), "1");
  EXPECT_EQ(pool.stats().created, 1U);
}

TEST_F(PostgresFactory, DiscardAllForgetsSettings) {
  postgres_pool pool = make({});
  (void)ask(*pool.acquire(), "SET statement_timeout = 12345");
  EXPECT_EQ(ask(*pool.acquire(), "SHOW statement_timeout"), "0");
  EXPECT_EQ(pool.stats().created, 1U);
}

TEST_F(PostgresFactory, AConnectionWithAnUnfinishedQueryIsRefused) {
  postgres_pool pool = make({});
  {
    const auto rude = pool.acquire();
    EXPECT_EQ(PQsendQuery(rude->get(), "SELECT pg_sleep(0.2)"), 1);
  }
  EXPECT_EQ(ask(*pool.acquire(), "SELECT 1"), "1");
  EXPECT_EQ(test::settled(pool).destroyed_for(destroy_reason::reset_refused), 1U);
}

// In that mode every query of the next user would fail. Tested with and without a transaction to
// end first.
TEST_F(PostgresFactory, AConnectionInPipelineModeIsRefused) {
  for (const auto on_reset : {postgres_pooling::transaction, postgres_pooling::session}) {
    for (const char* const before : {"SELECT 1", "BEGIN"}) {
      postgres_pool pool = make({}, on_reset);
      {
        const auto rude = pool.acquire();
        (void)ask(*rude, before);
        ASSERT_EQ(PQenterPipelineMode(rude->get()), 1);
      }
      EXPECT_EQ(test::settled(pool).destroyed_for(destroy_reason::reset_refused), 1U) << before;
    }
  }
}

/// Releases a lease whose backend is stopped. Returns how many resets were refused.
std::size_t refused_while_still(const postgres_target& target, const char* before) {
  postgres_pool pool(postgres_factory(target), {.max_size = 1});
  auto lease = pool.acquire_for(30s);
  const pid_t backend = std::stoi(ask(*lease, "SELECT pg_backend_pid()"));
  (void)ask(*lease, before);
  const servers::standing_still still(backend);
  lease.reset();
  return test::settled(pool).destroyed_for(destroy_reason::reset_refused);
}

TEST_F(PostgresFactory, AStoppedBackendFailsTheResetInTime) {
  postgres_target target{.conninfo = server()->conninfo(), .reset_timeout = 200ms};
  EXPECT_EQ(refused_while_still(target, "SELECT 1"), 1U);
  target.pooling = postgres_pooling::transaction;
  EXPECT_EQ(refused_while_still(target, "BEGIN"), 1U);
}

// The factory needs verbose errors to see why a connect is refused, which users do not want.
TEST_F(PostgresFactory, ANewConnectionHasTheDefaultErrorVerbosity) {
  const postgres_connection made = postgres_factory({.conninfo = server()->conninfo()})
                                       .create({std::chrono::steady_clock::now() + 20s, {}});
  const std::string told = ask(made, "SELECT 1 / 0");
  EXPECT_NE(told.find("division by zero"), std::string::npos) << told;
  EXPECT_EQ(told.find("LOCATION"), std::string::npos) << told;
  EXPECT_EQ(PQsetErrorVerbosity(made.get(), PQERRORS_TERSE), PQERRORS_DEFAULT);
}

TEST_F(PostgresFactory, ErrorVerbosityDoesNotReachTheNextUser) {
  postgres_pool pool = make({});
  {
    const auto curious = pool.acquire();
    (void)PQsetErrorVerbosity(curious->get(), PQERRORS_VERBOSE);
    (void)PQsetErrorContextVisibility(curious->get(), PQSHOW_CONTEXT_ALWAYS);
  }
  const auto next = pool.acquire();
  EXPECT_EQ(pool.stats().created, 1U);
  EXPECT_EQ(PQsetErrorVerbosity(next->get(), PQERRORS_DEFAULT), PQERRORS_DEFAULT);
  EXPECT_EQ(PQsetErrorContextVisibility(next->get(), PQSHOW_CONTEXT_ERRORS), PQSHOW_CONTEXT_ERRORS);
}

TEST_F(PostgresFactory, ATerminatedBackendIsNotLent) {
  postgres_pool pool = make({.validate_if_idle_longer_than = 0ns});
  const std::string pid = ask(*pool.acquire(), "SELECT pg_backend_pid()");
  const postgres_connection other = postgres_factory({.conninfo = server()->conninfo()})
                                        .create({std::chrono::steady_clock::now() + 20s, {}});
  EXPECT_EQ(ask(other, ("SELECT pg_terminate_backend(" + pid + ", 5000)").c_str()), "t");
  EXPECT_EQ(ask(*pool.acquire(), "SELECT 1"), "1");
  EXPECT_EQ(test::settled(pool).destroyed_for(destroy_reason::invalid), 1U);
}

TEST_F(PostgresFactory, AStoppedBackendFailsTheValidationInTime) {
  std::string heard;
  postgres_pool pool(
      postgres_factory({.conninfo = server()->conninfo(), .query_to_validate = true}),
      {.max_size = 1,
       .validate_timeout = 100ms,
       .validate_if_idle_longer_than = 0ns,
       .on_event =
           [&heard](const pool_event& event) {
             heard += event.what == pool_event::kind::validate_failed ? event.text : "";
           },
       .maintenance = maintenance::by_tick});
  const pid_t backend = std::stoi(ask(*pool.acquire(), "SELECT pg_backend_pid()"));
  {
    const servers::standing_still still(backend);
    EXPECT_EQ(ask(*pool.acquire_for(30s), "SELECT 1"), "1");  // from another backend
  }
  EXPECT_GE(test::settled(pool).destroyed_for(destroy_reason::invalid), 1U);  // more if all is slow
  EXPECT_NE(heard.find("no answer to the validation"), std::string::npos) << heard;
}

TEST_F(PostgresFactory, APortWithoutAListenerFailsInTime) {
  const postgres_factory nowhere(
      {.conninfo = "host=127.0.0.1 port=" + std::to_string(servers::free_port())});
  const auto begin = std::chrono::steady_clock::now();
  try {
    (void)nowhere.create({begin + 20s, {}});
    FAIL() << "no server listens";
  } catch (const permanent_failure& error) {
    FAIL() << "a server may listen later: " << error.what();
  } catch (const std::runtime_error& error) {
    EXPECT_NE(std::string(error.what()).find("refused"), std::string::npos) << error.what();
  }
  EXPECT_LT(std::chrono::steady_clock::now() - begin, 10s);
}

TEST(PostgresFactoryBeside, AConnectThatHangsEndsInTime) {
  const deaf_listener deaf;
  const postgres_factory factory(
      {.conninfo = "host=127.0.0.1 port=" + std::to_string(deaf.port())});
  for (const bool stops : {false, true}) {
    std::stop_source stop;
    std::jthread stopping([&] {
      std::this_thread::sleep_for(100ms);
      if (stops) {
        (void)stop.request_stop();
      }
    });
    const auto begin = std::chrono::steady_clock::now();
    EXPECT_THROW((void)factory.create({begin + (stops ? 50s : 100ms), stop.get_token()}),
                 std::runtime_error);
    const auto took = std::chrono::steady_clock::now() - begin;
    EXPECT_GE(took, 50ms);  // the connect did hang
    EXPECT_LT(took, 20s);
  }
}

TEST_F(PostgresFactory, AMissingPasswordFailsAtOnce) {
  const std::string without = "host=127.0.0.1 user=lido dbname=lido passfile=/nowhere port=" +
                              std::to_string(server()->port());
  const postgres_factory factory({.conninfo = without});
  EXPECT_THROW((void)factory.create({std::chrono::steady_clock::now() + 20s, {}}),
               permanent_failure);
}

TEST_F(PostgresFactory, AnInvalidConninfoFailsAtOnce) {
  const postgres_factory factory({.conninfo = "host=127.0.0.1 prot=5432"});
  EXPECT_THROW((void)factory.create({std::chrono::steady_clock::now() + 20s, {}}),
               permanent_failure);
}

TEST(PostgresFactoryBeside, AnInvalidPortIsAPermanentFailure) {
  for (const char* const port : {"99999", "-1", "0", "abc"}) {
    const std::string told = permanent_failure_of(std::string("host=127.0.0.1 port=") + port);
    EXPECT_NE(told.find("the port is no number"), std::string::npos) << port << ": " << told;
  }
  // Other connects fail before they wait for anything, too.
  for (const char* const port : {"", "port=5433", "port=' 5433 '", "port=5433,99999"}) {
    const std::string told = permanent_failure_of(std::string("host=/nowhere,/nowhere ") + port);
    EXPECT_TRUE(told.starts_with("to be tried again")) << port << ": " << told;
  }
}

TEST_F(PostgresFactory, ATraceDoesNotReachTheNextUser) {
  postgres_pool pool = make({});
  const std::unique_ptr<FILE, int (*)(FILE*)> trace(std::tmpfile(), &std::fclose);
  PQtrace(pool.acquire()->get(), trace.get());
  const long before = std::ftell(trace.get());
  EXPECT_EQ(ask(*pool.acquire(), "SELECT 'secret'"), "secret");
  EXPECT_EQ(std::ftell(trace.get()), before);
  EXPECT_EQ(pool.stats().created, 1U);
}

TEST_F(PostgresFactory, AResetMayTakeForEver) {
  const postgres_target patient{.conninfo = server()->conninfo(),
                                .reset_timeout = std::chrono::hours::max()};
  postgres_pool pool(postgres_factory(patient), {.max_size = 1});
  (void)ask(*pool.acquire(), "BEGIN");
  EXPECT_EQ(ask(*pool.acquire(), "SELECT 1"), "1");
  EXPECT_EQ(pool.stats().created, 1U);
}

TEST_F(PostgresFactory, NotificationsDoNotReachTheNextUser) {
  postgres_pool pool = make({});
  {
    const auto curious = pool.acquire();
    for (const char* const command : {"LISTEN news", "NOTIFY news", "NOTIFY news, 'again'"}) {
      (void)ask(*curious, command);
    }
    ASSERT_EQ(PQsetnonblocking(curious->get(), 1), 0);
  }
  const auto next = pool.acquire();
  EXPECT_EQ(PQnotifies(next->get()), nullptr);
  EXPECT_EQ(PQisnonblocking(next->get()), 0);
  EXPECT_EQ(pool.stats().created, 1U);
}

// The session still listens, but the next user does not get what libpq has already read.
TEST_F(PostgresFactory, ARollbackDropsUnreadNotifications) {
  postgres_pool pool = make({}, postgres_pooling::transaction);
  {
    const auto curious = pool.acquire();
    for (const char* const command : {"LISTEN news", "NOTIFY news", "NOTIFY news, 'again'"}) {
      (void)ask(*curious, command);
    }
  }
  const auto next = pool.acquire();
  EXPECT_EQ(PQnotifies(next->get()), nullptr);
  EXPECT_EQ(pool.stats().created, 1U);
}

}  // namespace
}  // namespace lido
