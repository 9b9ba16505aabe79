// Redis from coroutines of Asio. hiredis blocks while it waits for an answer. So a command runs in
// a thread beside the event loop, and the coroutine continues in the loop.
// Usage: redis_asio PORT PASSWORD
#include <utility>  // before Boost 1.74, which needs it

#include <boost/asio.hpp>
#include <chrono>
#include <exception>
#include <iostream>
#include <lido/asio.hpp>
#include <lido/hiredis.hpp>
#include <lido/resource_pool.hpp>
#include <string>
#include <vector>

namespace net = boost::asio;
using net::use_awaitable;
using namespace std::chrono_literals;
using redis_pool = lido::resource_pool<lido::redis_connection>;
using redis_lease = lido::resource_lease<lido::redis_connection>;

// [snippet ask]
/// Blocks its thread. The lease ends here, too: its reset may have to ask the server.
std::string ask_now(redis_lease lease, const std::string& command) {
  return lease->ask(command).text;  // or PQexec, with PostgreSQL
}

net::awaitable<std::string> ask_there(redis_lease lease, std::string command) {
  co_return ask_now(std::move(lease), command);
}

net::awaitable<std::string> ask(redis_pool& pool, net::thread_pool& workers, std::string command) {
  auto lease = co_await lido::async_acquire(pool, 1s, use_awaitable);  // blocks no thread
  auto there = ask_there(std::move(lease), std::move(command));
  co_return co_await net::co_spawn(workers, std::move(there), use_awaitable);  // and back
}
// [/snippet]

/// Waits at the server for a job that comes only if the loop keeps running.
net::awaitable<void> take_job(redis_pool& pool, net::thread_pool& workers) {
  std::cout << "waiting for a job\n";
  const std::string job = co_await ask(pool, workers, "BRPOP jobs 4");  // after the list's name
  std::cout << "got one: " << job.substr(job.find('\n') + 1) << '\n';
}

net::awaitable<void> give_job(redis_pool& pool, net::thread_pool& workers) {
  net::steady_timer later(co_await net::this_coro::executor, 100ms);
  co_await later.async_wait(use_awaitable);
  std::cout << "giving one\n";
  co_await ask(pool, workers, "LPUSH jobs sweep");
}

void rethrow(const std::exception_ptr& problem) {
  if (problem) {
    std::rethrow_exception(problem);
  }
}

int main(int argc, char** argv) try {
  const std::vector<std::string> arguments(argv, argv + argc);
  if (argc != 3) {
    std::cerr << "usage: redis_asio PORT PASSWORD\n";
    return 2;
  }
  // [snippet order]
  const lido::redis_factory factory({.port = std::stoi(arguments[1]), .password = arguments[2]});
  redis_pool pool(factory, {.max_size = 2, .name = "redis"});  // outlives the leases
  net::io_context loop;         // outlives the threads, which continue coroutines in it
  net::thread_pool workers(2);  // one for each connection: no command waits for a thread
  // [/snippet]
  net::co_spawn(loop, take_job(pool, workers), rethrow);
  net::co_spawn(loop, give_job(pool, workers), rethrow);
  loop.run();
} catch (const std::exception& problem) {
  std::cerr << problem.what() << '\n';
  return 1;
}

// Prints:
//   waiting for a job
//   giving one
//   got one: sweep
