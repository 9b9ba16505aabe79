// Connections to a Redis: logged in when made, checked before they are lent, and reset when
// released. Usage: redis_connections PORT PASSWORD
#include <exception>
#include <future>
#include <iostream>
#include <lido/hiredis.hpp>
#include <lido/resource_pool.hpp>
#include <sstream>
#include <string>
#include <vector>

// [snippet]
using redis_pool = lido::resource_pool<lido::redis_connection>;

redis_pool connect(int port, const std::string& password) {
  const lido::redis_factory factory({.port = port, .password = password});
  const auto not_for_long = lido::create_errors::fail_fast;  // or acquire would wait for 30 s
  return redis_pool(factory, {.max_size = 2, .name = "redis", .on_create_error = not_for_long});
}

void forget_to_finish(redis_pool& pool) {
  const auto careless = pool.acquire();
  careless->ask("MULTI");  // the next user's commands would be queued
}
// [/snippet]

void count(redis_pool& pool) {
  for (int i = 0; i < 25; ++i) {
    pool.acquire()->ask("INCR visits");
  }
}

int main(int argc, char** argv) try {
  const std::vector<std::string> arguments(argv, argv + argc);
  int port = 0;
  if (argc != 3 || !(std::istringstream(arguments[1]) >> port) || port < 1 || port > 65535) {
    std::cerr << "usage: redis_connections PORT PASSWORD\n";
    return 2;
  }
  redis_pool pool = connect(port, arguments[2]);
  pool.acquire()->ask({"SET", "visits", "0"});
  forget_to_finish(pool);
  std::vector<std::future<void>> threads(4);
  for (std::future<void>& thread : threads) {
    thread = std::async(std::launch::async, [&pool] { count(pool); });
  }
  for (std::future<void>& thread : threads) {
    thread.get();  // rethrows the thread's error
  }
  std::cout << pool.acquire()->ask("GET visits").text << " visits\n";
  std::cout << (pool.stats().created <= 2 ? "two connections at most" : "too many") << '\n';
} catch (const std::exception& problem) {
  std::cerr << problem.what() << '\n';
  return 1;
}

// Prints:
//   100 visits
//   two connections at most
