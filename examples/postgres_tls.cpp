// Encrypted connections to a PostgreSQL whose certificate is verified.
// Usage: postgres_tls CONNINFO AUTHORITY, with the file of the authority that signs certificates
#include <libpq-fe.h>

#include <chrono>
#include <exception>
#include <iostream>
#include <lido/libpq.hpp>
#include <lido/resource_pool.hpp>
#include <string>

using namespace std::chrono_literals;
using postgres_pool = lido::resource_pool<lido::postgres_connection>;

// [snippet]
lido::postgres_factory verified(const std::string& conninfo, const std::string& authority) {
  return lido::postgres_factory(
      {.conninfo = conninfo + " sslmode=verify-full sslrootcert='" + authority + "'"});
}
// [/snippet]

int main(int argc, char** argv) try {
  if (argc != 3) {
    std::cerr << "usage: postgres_tls CONNINFO AUTHORITY\n";
    return 2;
  }
  postgres_pool pool(
      verified(argv[1], argv[2]),
      {.max_size = 4, .name = "postgres", .on_create_error = lido::create_errors::fail_fast});
  const auto lease = pool.acquire();
  std::cout << "encrypted by " << PQsslAttribute(lease->get(), "protocol") << '\n';
  PQsendQuery(lease->get(), "SELECT ssl FROM pg_stat_ssl WHERE pid = pg_backend_pid()");
  const auto answer = lease->finish({std::chrono::steady_clock::now() + 5s, {}});
  std::cout << "the server says: " << PQgetvalue(answer.get(), 0, 0) << '\n';
} catch (const std::exception& problem) {
  std::cerr << problem.what() << '\n';
  return 1;
}

// Prints:
//   encrypted by TLSv1.3
//   the server says: t
