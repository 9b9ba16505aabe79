// Connections to a Redis: signed in when they are made, asked before they are lent, and cleaned
// when they come back. Usage: redis_connections PORT PASSWORD
#include <exception>
#include <iostream>
#include <lido/hiredis.hpp>
#include <lido/resource_pool.hpp>
#include <string>
#include <thread>
#include <vector>

// [snippet]
using redis_pool = lido::resource_pool<lido::redis_connection>;

redis_pool connect(int port, const std::string& password) {
  const lido::redis_factory factory({.port = port, .password = password});
  return redis_pool(factory, {.max_size = 2, .name = "redis"});
}

void forget_to_finish(redis_pool& pool) {
  const auto careless = pool.acquire();
  careless->ask("MULTI");  // whoever is next would have its commands queued
}
// [/snippet]

void count(redis_pool& pool) {
  std::vector<std::jthread> threads(4);
  for (std::jthread& thread : threads) {
    thread = std::jthread([&pool] {
      for (int i = 0; i < 25; ++i) {
        pool.acquire()->ask("INCR visits");
      }
    });
  }
}

int main(int argc, char** argv) try {
  const std::vector<std::string> arguments(argv, argv + argc);
  redis_pool pool = connect(std::stoi(arguments.at(1)), arguments.at(2));
  pool.acquire()->ask("SET visits 0");
  forget_to_finish(pool);
  count(pool);
  std::cout << pool.acquire()->ask("GET visits").text << " visits\n";
  std::cout << (pool.stats().created <= 2 ? "two connections at most" : "too many") << '\n';
} catch (const std::exception& problem) {
  std::cerr << problem.what() << '\n';
  return 1;
}

// Prints:
//   100 visits
//   two connections at most
