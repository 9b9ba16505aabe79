// A query with a time limit. A late query is cancelled, and the cancellation cannot hit a query of
// the next user: the connection goes back once the server has reported how the query ended.
// Usage: postgres_cancel CONNINFO
#include <libpq-fe.h>

#include <chrono>
#include <exception>
#include <iostream>
#include <lido/libpq.hpp>
#include <lido/resource_pool.hpp>

using namespace std::chrono_literals;
using postgres_pool = lido::resource_pool<lido::postgres_connection>;

// [snippet]
bool is_done(postgres_pool& pool, const char* query, std::chrono::milliseconds limit) {
  const auto lease = pool.acquire();
  PQsendQuery(lease->get(), query);
  // Cancels the query if it is late, and waits for its end.
  const auto result = lease->finish({std::chrono::steady_clock::now() + limit, {}});
  return PQresultStatus(result.get()) == PGRES_TUPLES_OK;
}
// [/snippet]

int main(int argc, char** argv) try {
  const lido::postgres_factory factory({.conninfo = argc == 2 ? argv[1] : ""});
  postgres_pool pool(factory, {.max_size = 1, .name = "postgres"});
  std::cout << (is_done(pool, "SELECT pg_sleep(60)", 100ms) ? "done\n" : "cancelled\n");
  std::cout << (is_done(pool, "SELECT 1", 30s) ? "done\n" : "cancelled\n");
  std::cout << pool.stats().created << " connection\n";
} catch (const std::exception& problem) {
  std::cerr << problem.what() << '\n';
  return 1;
}

// Prints:
//   cancelled
//   done
//   1 connection
