// A pool of TLS connections, to a Redis without a password.
// Usage: tls_connections PORT AUTHORITY, with the file of the authority that signs certificates
#include <exception>
#include <iostream>
#include <lido/resource_pool.hpp>
#include <string>
#include <vector>

#include "tls_factory.hpp"

using tls_pool = lido::resource_pool<tls_stream>;

std::string ask(tls_pool& pool, const std::string& question) {
  const auto lease = pool.acquire();
  net::write(*lease, net::buffer(question + "\r\n"));
  std::string answer;
  const auto size = net::read_until(*lease, net::dynamic_buffer(answer), "\r\n");
  return answer.substr(0, size - 2);
}

int main(int argc, char** argv) try {
  const std::vector<std::string> arguments(argv, argv + argc);
  if (argc != 3) {
    std::cerr << "usage: tls_connections PORT AUTHORITY\n";
    return 2;
  }
  // [snippet]
  const auto tls = std::make_shared<net::ssl::context>(net::ssl::context::tls_client);
  tls->load_verify_file(arguments[2]);  // or set_default_verify_paths(), for public authorities
  net::thread_pool loop(1);             // outlives the pool; a server's own io_context also does
  const tls_factory factory(loop.get_executor(), tls, {.host = "localhost", .port = arguments[1]});
  tls_pool pool(factory, {.max_size = 4, .name = "tls"});
  // [/snippet]
  std::cout << ask(pool, "INCR visits") << ' ' << ask(pool, "INCR visits") << '\n';
  std::cout << SSL_get_version(pool.acquire()->native_handle()) << ", ";
  std::cout << pool.stats().created << " connection\n";
} catch (const std::exception& problem) {
  std::cerr << problem.what() << '\n';
  return 1;
}

// Prints:
//   :1 :2
//   TLSv1.3, 1 connection
