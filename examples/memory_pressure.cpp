// Buffers that keep their memory between uses, until the system runs short of memory.
#include <exception>
#include <iostream>
#include <lido/object_pool.hpp>
#include <vector>

using buffer = std::vector<char>;

struct buffer_traits : lido::pool_traits<buffer> {
  using hooks = lido::keep;
};
using buffer_pool = lido::object_pool<buffer, buffer_traits>;

// [snippet]
/// Called by the program's watch over its memory, in any thread, while others use the pool.
void on_memory_pressure(buffer_pool& buffers) {
  const std::size_t in_use = buffers.stats().in_use;
  (void)buffers.shrink_to(in_use + 8);  // destroys the idle buffers, except for about eight
}
// [/snippet]

int main() try {
  buffer_pool buffers{{.capacity = 256, .name = "buffers"}};
  {
    std::vector<lido::lease<buffer, buffer_traits>> burst;
    for (int i = 0; i < 100; ++i) {
      burst.push_back(buffers.acquire());
      burst.back()->assign(65'536, 'x');
    }
  }
  std::cout << buffers.stats().live << " buffers after a burst\n";
  on_memory_pressure(buffers);
  std::cout << buffers.stats().live << " buffers under memory pressure\n";
} catch (const std::exception& problem) {
  std::cerr << problem.what() << '\n';
  return 1;
}

// Prints:
//   100 buffers after a burst
//   8 buffers under memory pressure
