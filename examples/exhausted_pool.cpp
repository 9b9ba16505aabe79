// The error of an exhausted pool names the pool, so that a log line is enough to know which one.
#include <exception>
#include <iostream>
#include <lido/object_pool.hpp>
#include <string_view>

struct connection {
  int socket = -1;
};

int main() try {
  // [snippet]
  lido::object_pool<connection> connections{{.capacity = 1, .name = "database connections"}};
  const auto first = connections.acquire();
  try {
    const auto second = connections.acquire();
  } catch (const lido::pool_exhausted& problem) {
    std::cout << problem.what() << '\n';
  }
  // [/snippet]
} catch (const std::exception& problem) {
  std::cerr << problem.what() << '\n';
  return 1;
}

// Prints:
//   lido: pool 'database connections' is exhausted: 1 of 1 slots are in use
