// Connections to the master of a Redis with sentinels, whichever server that is.
// Usage: redis_sentinel PASSWORD PORT..., with the ports of the sentinels
#include "redis_sentinel.hpp"

#include <exception>
#include <iostream>
#include <string>
#include <vector>

int main(int argc, char** argv) try {
  const std::vector<std::string> arguments(argv, argv + argc);
  if (argc < 3) {
    std::cerr << "usage: redis_sentinel PASSWORD PORT...\n";
    return 2;
  }
  const std::string& password = arguments[1];
  sentinel_target target{.sentinels = {}, .name = "orders", .master = {.password = password}};
  for (std::size_t i = 2; i < arguments.size(); ++i) {
    target.sentinels.push_back({.port = std::stoi(arguments[i]), .password = password});
  }
  const sentinel_factory factory(target);
  lido::resource_pool<lido::redis_connection> pool(factory, {.max_size = 4, .name = "orders"});
  const master_watch watch(pool, factory);
  pool.acquire()->ask("SET orders 7");
  std::cout << pool.acquire()->ask("GET orders").text << " orders\n";
  std::cout << "by a " << pool.acquire()->ask("ROLE").text.substr(0, 6) << '\n';
} catch (const std::exception& problem) {
  std::cerr << problem.what() << '\n';
  return 1;
}

// Prints:
//   7 orders
//   by a master
