// The parts of a session that the next user inherits, and those that it does not.
#include <gtest/gtest.h>
#include <libpq-events.h>
#include <libpq-fe.h>

#include <chrono>
#include <string>
#include <vector>

#include "connect/postgres_fixture.hpp"
#include "support/fake_server.hpp"
#include "support/settled.hpp"

namespace lido {
namespace {

using namespace std::chrono_literals;

class PostgresSession : public postgres_fixture {};

TEST_F(PostgresSession, C07NothingOfASessionReachesTheNextUser) {
  postgres_pool pool = make({});
  {
    const auto lease = pool.acquire();
    for (const char* const command :
         {"CREATE ROLE tenant", "SET ROLE tenant", "SET statement_timeout = '7s'",
          "SET search_path = other", "SELECT pg_advisory_lock(42)", "PREPARE p AS SELECT 1",
          "LISTEN news", "DECLARE c CURSOR WITH HOLD FOR SELECT 1"}) {
      const std::string told = ask(*lease, command);
      EXPECT_EQ(told.find("ERROR"), std::string::npos) << told;
    }
    (void)ask(*lease, "RESET ROLE");
    EXPECT_EQ(ask(*lease, "CREATE TEMP TABLE tt (n int)"), "");
    (void)ask(*lease, "SET ROLE tenant");
    (void)ask(*lease, "BEGIN");
    (void)ask(*lease, "SELECT 1 / 0");
  }
  const auto next = pool.acquire();
  EXPECT_EQ(pool.stats().created, 1U);
  EXPECT_EQ(ask(*next, "SELECT current_user"), "lido");
  EXPECT_EQ(ask(*next, "SHOW statement_timeout"), "0");
  EXPECT_EQ(ask(*next, "SHOW search_path"), "\"$user\", public");
  EXPECT_EQ(ask(*next, "SELECT count(*) FROM pg_locks WHERE locktype = 'advisory'"), "0");
  EXPECT_EQ(ask(*next, "SELECT count(*) FROM pg_prepared_statements"), "0");
  EXPECT_EQ(ask(*next, "SELECT count(*) FROM pg_cursors WHERE name = 'c'"), "0");
  EXPECT_EQ(ask(*next, "SELECT count(*) FROM pg_listening_channels()"), "0");
  EXPECT_EQ(ask(*next, "CREATE TEMP TABLE tt (n int)"), "");
}

// DISCARD ALL alone would take the role from the next user.
TEST_F(PostgresSession, C07TheRoleOfALoginStays) {
  (void)ask(*make({}).acquire(),
            "CREATE ROLE team; CREATE ROLE member LOGIN PASSWORD 'open sesame'; GRANT team TO "
            "member; ALTER ROLE member SET role = team");
  postgres_pool pool(postgres_factory({.conninfo = server()->conninfo() + " user=member"}),
                     {.max_size = 1});
  EXPECT_EQ(ask(*pool.acquire(), "SELECT current_user"), "team");
  (void)ask(*pool.acquire(), "SET ROLE member");
  EXPECT_EQ(ask(*pool.acquire(), "SELECT current_user"), "team");
  EXPECT_EQ(pool.stats().created, 1U);
}

TEST_F(PostgresSession, C07BehindATransactionPoolerNothingIsSent) {
  postgres_pool pool = make({}, postgres_pooling::transaction);
  (void)ask(*pool.acquire(), "SET application_name = before");
  EXPECT_EQ(ask(*pool.acquire(), "SHOW application_name"), "before") << "it leaks, as documented";
  (void)ask(*pool.acquire(), "BEGIN");
  EXPECT_EQ(
      ask(*pool.acquire(), "SELECT count(*) FROM pg_stat_activity WHERE state LIKE 'idle in%'"),
      "0");
  EXPECT_EQ(pool.stats().created, 1U);
}

void count_notices(void* count, const char* /*text*/) {
  ++*static_cast<int*>(count);
}

constexpr const char* notice = "DO 'BEGIN RAISE NOTICE $$hello$$; END'";

TEST_F(PostgresSession, NoticeHandlersDoNotReachTheNextUser) {
  postgres_pool pool = make({});
  int heard = 0;
  {
    const auto curious = pool.acquire();
    (void)PQsetNoticeProcessor(curious->get(), &count_notices, &heard);
    (void)ask(*curious, notice);
    (void)PQsetNoticeReceiver(
        curious->get(), [](void*, const PGresult*) {}, nullptr);
  }
  EXPECT_EQ(heard, 1);
  const auto next = pool.acquire();
  testing::internal::CaptureStderr();
  (void)ask(*next, notice);
  EXPECT_NE(testing::internal::GetCapturedStderr().find("hello"), std::string::npos);
  EXPECT_EQ(heard, 1);
  EXPECT_EQ(pool.stats().created, 1U);
}

int ignore_event(PGEventId /*id*/, void* /*about*/, void* /*own*/) {
  return 1;
}

TEST_F(PostgresSession, AConnectionWithAnEventProcedureIsNotLentAgain) {
  postgres_pool pool = make({});
  ASSERT_EQ(PQregisterEventProc(pool.acquire()->get(), &ignore_event, "mine", nullptr), 1);
  EXPECT_EQ(test::settled(pool).destroyed_for(destroy_reason::reset_refused), 1U);
}

TEST_F(PostgresSession, AHookSetsTheSessionUpAfterAResetToo) {
  int heard = 0;
  postgres_target hooked{.conninfo = server()->conninfo()};
  hooked.on_connect = [&heard](postgres_connection& made, const create_context&) {
    EXPECT_EQ(ask(made, "PREPARE answer AS SELECT 42"), "");
    (void)PQsetNoticeProcessor(made.get(), &count_notices, &heard);
    (void)PQregisterEventProc(made.get(), &ignore_event, "ours", nullptr);
  };
  postgres_pool pool(postgres_factory(hooked), {.max_size = 1});
  for (int i = 0; i < 3; ++i) {
    const auto lease = pool.acquire();
    EXPECT_EQ(ask(*lease, "EXECUTE answer"), "42");
    (void)ask(*lease, notice);
  }
  EXPECT_EQ(heard, 3);
  EXPECT_EQ(pool.stats().created, 1U);
  hooked.on_connect = [](postgres_connection&, const create_context&) {
    throw permanent_failure("not this one");
  };
  EXPECT_THROW((void)postgres_factory(hooked).create({std::chrono::steady_clock::now() + 20s, {}}),
               permanent_failure);
}

TEST_F(PostgresSession, UnreadResultsRefuseTheConnection) {
  postgres_pool pool = make({});
  {
    const auto rude = pool.acquire();
    ASSERT_EQ(PQsendQuery(rude->get(), "SELECT 1; SELECT 2"), 1);
    PQclear(PQgetResult(rude->get()));
  }
  EXPECT_EQ(test::settled(pool).destroyed_for(destroy_reason::reset_refused), 1U);
  {
    const auto copies = pool.acquire();
    PQclear(PQexec(copies->get(), "COPY (SELECT 1) TO STDOUT"));
  }
  EXPECT_EQ(test::settled(pool).destroyed_for(destroy_reason::reset_refused), 2U);
}

// Otherwise nothing explains why each use needs a new connection.
TEST_F(PostgresSession, AServerThatRefusesAResetIsHeardInAnEvent) {
  postgres_pool admin = make({});
  const auto allow = [&admin](const char* how) { EXPECT_EQ(ask(*admin.acquire(), how), ""); };
  (void)ask(*admin.acquire(), "CREATE ROLE refused LOGIN PASSWORD 'open sesame'");
  allow("REVOKE EXECUTE ON FUNCTION pg_advisory_unlock_all() FROM PUBLIC");
  std::vector<std::string> heard;
  postgres_pool pool(postgres_factory({.conninfo = server()->conninfo() + " user=refused"}),
                     {.max_size = 1, .on_event = [&heard](const pool_event& event) {
                        if (event.what == pool_event::kind::reset_failed) {
                          heard.emplace_back(event.text);
                        }
                      }});
  (void)pool.acquire();
  allow("GRANT EXECUTE ON FUNCTION pg_advisory_unlock_all() TO PUBLIC");
  ASSERT_EQ(heard.size(), 1U);
  EXPECT_NE(heard[0].find("permission denied for function pg_advisory_unlock_all"),
            std::string::npos)
      << heard[0];
  EXPECT_EQ(test::settled(pool).destroyed_for(destroy_reason::reset_refused), 1U);
  (void)pool.acquire();
  EXPECT_EQ(heard.size(), 1U);
}

// Nothing of the first was sent, so no answer ends it; the server still works on the second. The
// sequence counts statements that were cancelled, too.
TEST_F(PostgresSession, APipelineEndsWithItsLeaseAtOnce) {
  postgres_pool pool = make({});
  postgres_pool observers = make({});
  const auto see = [&observers](const std::string& query) {
    return ask(*observers.acquire(), query.c_str());
  };
  ASSERT_EQ(see("CREATE SEQUENCE begun"), "");
  for (const bool is_sent : {false, true}) {
    auto begin = std::chrono::steady_clock::now();
    std::string process;
    {
      const auto rude = pool.acquire();
      process = "FROM pg_stat_activity WHERE pid = " + std::to_string(PQbackendPID(rude->get()));
      ASSERT_EQ(PQenterPipelineMode(rude->get()), 1);
      ASSERT_EQ(PQsendQueryParams(rude->get(), "SELECT nextval('begun'), pg_sleep(600)", 0, nullptr,
                                  nullptr, nullptr, nullptr, 0),
                1);
      if (is_sent) {  // a cancel before the server has begun is useless
        ASSERT_EQ(PQpipelineSync(rude->get()), 1);
        ASSERT_TRUE(
            test::eventually([&] { return see("SELECT wait_event " + process) == "PgSleep"; }));
      }
      begin = std::chrono::steady_clock::now();
    }
    EXPECT_EQ(ask(*pool.acquire(), "SELECT 'fine'"), "fine");
    EXPECT_LT(std::chrono::steady_clock::now() - begin, 900ms);
    EXPECT_TRUE(test::eventually([&] { return see("SELECT count(*) " + process) == "0"; }));
    EXPECT_EQ(see("SELECT is_called FROM begun"), is_sent ? "t" : "f");
  }
  EXPECT_EQ(test::settled(pool).destroyed_for(destroy_reason::reset_refused), 2U);
}

}  // namespace
}  // namespace lido
