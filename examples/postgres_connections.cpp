// Connections to a PostgreSQL, or to a PgBouncer in transaction mode in front of it. The program
// needs no session state. Usage: postgres_connections CONNINFO
#include <libpq-fe.h>

#include <exception>
#include <future>
#include <iostream>
#include <lido/libpq.hpp>
#include <lido/resource_pool.hpp>
#include <memory>
#include <stdexcept>
#include <string>
#include <vector>

using postgres_pool = lido::resource_pool<lido::postgres_connection>;

std::string ask(const lido::postgres_connection& connection, const char* query) {
  const std::unique_ptr<PGresult, decltype(&PQclear)> result(PQexec(connection.get(), query),
                                                             &PQclear);
  const auto status = PQresultStatus(result.get());
  return status == PGRES_TUPLES_OK    ? std::string(PQgetvalue(result.get(), 0, 0))
         : status == PGRES_COMMAND_OK ? std::string()
                                      : throw std::runtime_error(PQerrorMessage(connection.get()));
}

void visit(postgres_pool& pool, bool stays) {
  const auto lease = pool.acquire();
  ask(*lease, "BEGIN");
  ask(*lease, "INSERT INTO visits VALUES (1)");
  if (stays) {
    ask(*lease, "COMMIT");
  }  // otherwise the pool rolls back, before another user has the connection
}

int main(int argc, char** argv) try {
  const lido::postgres_factory factory(
      {.conninfo = argc == 2 ? argv[1] : "", .pooling = lido::postgres_pooling::transaction});
  const auto not_for_long = lido::create_errors::fail_fast;  // or acquire would wait for 30 s
  postgres_pool pool(factory, {.max_size = 4, .name = "postgres", .on_create_error = not_for_long});
  ask(*pool.acquire(), "CREATE TABLE visits (n int)");
  std::vector<std::future<void>> visits(40);
  for (std::size_t i = 0; i < visits.size(); ++i) {
    visits[i] = std::async(std::launch::async, [&pool, i] { visit(pool, i % 2 == 0); });
  }
  for (std::future<void>& one : visits) {
    one.get();  // rethrows the thread's error
  }
  std::cout << ask(*pool.acquire(), "SELECT count(*) FROM visits") << " of 40 visits stay\n";
  ask(*pool.acquire(), "DROP TABLE visits");
  std::cout << (pool.stats().created <= 4 ? "four connections at most" : "too many") << '\n';
} catch (const std::exception& problem) {
  std::cerr << problem.what() << '\n';
  return 1;
}

// Prints:
//   20 of 40 visits stay
//   four connections at most
