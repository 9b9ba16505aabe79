// A callback and a coroutine wait for a connection, without blocking a thread.
#include <chrono>
#include <coroutine>
#include <exception>
#include <iostream>
#include <lido/resource_pool.hpp>

using namespace std::chrono_literals;

struct connection {
  int uses = 0;
};
using connection_pool = lido::resource_pool<connection>;

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
void use_called_back(connection_pool& db) {
  db.async_acquire(
      [](connection_pool::result_type got) {  // a lease, or why there is none
        if (got) {
          std::cout << "callback: use " << ++got->uses << '\n';
        }
      },
      1s);
}

task use_awaited(connection_pool& db) {
  const auto lease = co_await db.co_acquire(1s);  // or throws lido::acquire_error
  std::cout << "coroutine: use " << ++lease->uses << '\n';
}
// [/snippet]

int main() try {
  connection_pool db([] { return connection(); }, {.max_size = 1, .name = "db"});
  auto lease = db.acquire();
  use_called_back(db);
  use_awaited(db);
  std::cout << db.stats().waiting << " wait\n";
  lease.reset();  // serves both, one after the other
} catch (const std::exception& problem) {
  std::cerr << problem.what() << '\n';
  return 1;
}

// Prints:
//   2 wait
//   callback: use 1
//   coroutine: use 2
