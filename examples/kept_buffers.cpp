// Buffers that keep their memory between uses, and the pool's state as text.
#include <exception>
#include <iostream>
#include <lido/object_pool.hpp>
#include <lido/registry.hpp>
#include <vector>

// [snippet]
struct buffer_traits : lido::pool_traits<std::vector<char>> {
  using hooks = lido::keep;
};
using buffer_pool = lido::object_pool<std::vector<char>, buffer_traits>;

void use_twice(buffer_pool& buffers) {
  {
    auto buffer = buffers.acquire();
    buffer->assign(4096, 'x');  // allocates once
  }
  auto again = buffers.acquire();  // the same vector, with its 4096 characters
  std::cout << again->size() << '\n';
  again->clear();  // keeps its capacity
}
// [/snippet]

void print_pools() {
  // [snippet print]
  lido::registry::global().visit([](const lido::pool_report& pool) { std::clog << pool << '\n'; });
  // [/snippet]
}

int main() try {
  buffer_pool buffers{{.capacity = 64, .name = "buffers", .registry = &lido::registry::global()}};
  use_twice(buffers);
  print_pools();
} catch (const std::exception& problem) {
  std::cerr << problem.what() << '\n';
  return 1;
}

// Prints:
//   4096
