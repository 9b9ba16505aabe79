// Coroutines of Asio share a buffer. A coroutine that waits for the buffer blocks no thread.
#include <utility>  // before Boost 1.74, which needs it

#include <array>
#include <boost/asio.hpp>
#include <chrono>
#include <cstddef>
#include <exception>
#include <iostream>
#include <lido/asio.hpp>
#include <stop_token>

namespace net = boost::asio;
using net::use_awaitable;
using namespace std::chrono_literals;

using buffer = std::array<std::byte, 65536>;
using buffer_pool = lido::object_pool<buffer>;

// [snippet]
net::awaitable<void> answer(buffer_pool& pool, std::stop_token stop) {
  // Waits until a stop is requested. Leaves the bytes of the buffer as they are.
  const auto lease =
      co_await lido::async_acquire(pool, use_awaitable, std::move(stop), lido::default_init);
  std::cout << (lease ? "has a buffer\n" : "was stopped\n");
}

net::awaitable<void> answer_soon(buffer_pool& pool) {
  const auto lease = co_await lido::async_acquire(pool, 1s, use_awaitable, {}, lido::default_init);
  std::cout << (lease ? "has a buffer in time\n" : "has waited for a second\n");
}
// [/snippet]

int main() try {
  buffer_pool pool({.capacity = 1, .name = "buffers"});
  net::io_context context;
  auto lease = pool.acquire(lido::default_init);
  std::stop_source stop;
  net::co_spawn(context, answer(pool, stop.get_token()), net::detached);
  net::co_spawn(context, answer_soon(pool), net::detached);
  net::co_spawn(context, answer(pool, {}), net::detached);
  context.poll();
  std::cout << pool.stats().waiting << " wait\n";
  stop.request_stop();  // ends the first wait
  lease.reset();        // serves the others, one after the other
  context.run();
} catch (const std::exception& problem) {
  std::cerr << problem.what() << '\n';
  return 1;
}

// Prints:
//   3 wait
//   was stopped
//   has a buffer in time
//   has a buffer
