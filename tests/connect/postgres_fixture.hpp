/// @file
/// Internal. A PostgreSQL server for the tests of a suite, and pools of connections to it.
#pragma once

#include <gtest/gtest.h>
#include <libpq-fe.h>

#include <chrono>
#include <optional>
#include <stdexcept>
#include <string>

#include "lido/libpq.hpp"
#include "servers/known_servers.hpp"

namespace lido {

using postgres_pool = resource_pool<postgres_connection>;

/// Returns the first value of the answer, or the error.
inline std::string ask(const postgres_connection& connection, const char* query) {
  PGresult* const result = PQexec(connection.get(), query);
  const bool has_rows = PQresultStatus(result) == PGRES_TUPLES_OK && PQntuples(result) > 0;
  std::string text = has_rows ? PQgetvalue(result, 0, 0) : PQresultErrorMessage(result);
  PQclear(result);
  return text;
}

/// Runs one server for all tests of the suite.
class postgres_fixture : public ::testing::Test {
 protected:
  static void SetUpTestSuite() {
    if (servers::postgres::program()) {
      server().emplace();
    }
  }
  static void TearDownTestSuite() { server().reset(); }
  void SetUp() override {
    if (!server()) {
      GTEST_SKIP() << "PostgreSQL is not installed";
    }
  }

  static std::optional<servers::postgres>& server() {
    static std::optional<servers::postgres> shared;
    return shared;
  }
  static postgres_pool make(resource_pool_options options,
                            postgres_pooling pooling = postgres_pooling::session) {
    options.max_size = 1;
    return postgres_pool(postgres_factory({.conninfo = server()->conninfo(), .pooling = pooling}),
                         options);
  }
};

/// Returns the text of a permanent failure to connect, or of another result.
inline std::string permanent_failure_of(const std::string& conninfo) {
  try {
    (void)postgres_factory({.conninfo = conninfo})
        .create({std::chrono::steady_clock::now() + std::chrono::seconds(20), {}});
    return "connected";
  } catch (const permanent_failure& error) {
    return error.what();
  } catch (const std::runtime_error& error) {
    return std::string("to be tried again: ") + error.what();
  }
}

/// Returns the error of an acquire that is refused at once.
inline std::string refusal_of(const std::string& conninfo) {
  postgres_pool pool(postgres_factory({.conninfo = conninfo}), {.max_size = 1});
  try {
    (void)pool.acquire_for(std::chrono::seconds(30));
    return "none";
  } catch (const acquire_error& error) {
    EXPECT_EQ(error.cause(), acquire_failure::create_failed);
    return error.what();
  }
}

}  // namespace lido
