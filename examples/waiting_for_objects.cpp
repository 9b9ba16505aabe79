// A callback and coroutines wait for a buffer of an object pool, without blocking a thread.
#include <array>
#include <chrono>
#include <coroutine>
#include <cstddef>
#include <exception>
#include <iostream>
#include <lido/co_acquire.hpp>
#include <stop_token>

using namespace std::chrono_literals;

using buffer = std::array<std::byte, 65536>;
using buffer_pool = lido::object_pool<buffer>;

/// The minimal coroutine type.
struct task {
  struct promise_type {
    static task get_return_object() noexcept { return {}; }
    static std::suspend_never initial_suspend() noexcept { return {}; }
    static std::suspend_never final_suspend() noexcept { return {}; }
    static void return_void() noexcept {}
    static void unhandled_exception() noexcept { std::terminate(); }
  };
};

// [snippet]
task answer(buffer_pool& pool, std::stop_token stop) {
  // Waits up to a second, or until a stop is requested. Leaves the bytes of the buffer as they are.
  const auto lease = co_await pool.co_acquire(1s, stop, lido::default_init);
  std::cout << (lease ? "coroutine: has a buffer\n" : "coroutine: no buffer\n");
}

void answer_called_back(buffer_pool& pool) {
  pool.async_acquire(
      [](const buffer_pool::lease_type& lease) {
        std::cout << (lease ? "callback: has a buffer\n" : "callback: no buffer\n");
      },
      1s, lido::default_init);
}
// [/snippet]

int main() {
  buffer_pool pool({.capacity = 1, .name = "buffers"});
  auto lease = pool.acquire(lido::default_init);
  std::stop_source stop;
  answer(pool, stop.get_token());
  answer_called_back(pool);
  answer(pool, {});
  std::cout << pool.stats().waiting << " wait\n";
  stop.request_stop();  // ends the first wait
  lease.reset();        // serves the others, one after the other
}

// Prints:
//   3 wait
//   coroutine: no buffer
//   callback: has a buffer
//   coroutine: has a buffer
