// Connections to a Redis with TLS. A stunnel on this machine encrypts them, and verifies the
// server. Usage: redis_tls SOCKET PASSWORD, with the path of the socket at which stunnel listens
#include <chrono>
#include <exception>
#include <iostream>
#include <lido/hiredis.hpp>
#include <lido/resource_pool.hpp>
#include <string>
#include <vector>

using redis_pool = lido::resource_pool<lido::redis_connection>;

// [snippet]
lido::redis_factory behind_stunnel(const std::string& socket, const std::string& password) {
  return lido::redis_factory({.path = socket,
                              .password = password,
                              .command_timeout = std::chrono::seconds(2),
                              .ping_to_validate = true});  // also asks the server behind stunnel
}
// [/snippet]

int main(int argc, char** argv) try {
  const std::vector<std::string> arguments(argv, argv + argc);
  if (argc != 3) {
    std::cerr << "usage: redis_tls SOCKET PASSWORD\n";
    return 2;
  }
  redis_pool pool(
      behind_stunnel(arguments[1], arguments[2]),
      {.max_size = 4, .name = "redis", .on_create_error = lido::create_errors::fail_fast});
  pool.acquire()->ask({"SET", "greeting", "hello"});
  std::cout << pool.acquire()->ask("GET greeting").text << '\n';
} catch (const std::exception& problem) {
  std::cerr << problem.what() << '\n';
  return 1;
}

// Prints:
//   hello
