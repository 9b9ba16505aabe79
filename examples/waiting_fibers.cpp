// Fibers of Boost.Fiber share a few buffers. A fiber that waits for a buffer does not block its
// thread.
#include <array>
#include <atomic>
#include <boost/fiber/all.hpp>
#include <cstddef>
#include <exception>
#include <iostream>
#include <lido/co_acquire.hpp>
#include <memory>
#include <thread>
#include <utility>
#include <vector>

namespace fibers = boost::fibers;
using buffer = std::array<std::byte, 4096>;
using buffer_pool = lido::object_pool<buffer>;

// [snippet]
buffer_pool::lease_type acquire_in_fiber(buffer_pool& pool) {
  fibers::promise<buffer_pool::lease_type> given;
  auto lease = given.get_future();
  pool.async_acquire([given = std::move(given)](
                         buffer_pool::lease_type got) mutable { given.set_value(std::move(got)); },
                     lido::default_init);  // leaves the bytes as they are
  return lease.get();                      // suspends this fiber until the callback has been called
}
// [/snippet]

int main() try {
  buffer_pool pool({.capacity = 100, .name = "buffers"});
  std::atomic<int> served{0};
  std::vector<std::thread> threads;
  for (int i = 0; i < 4; ++i) {
    threads.emplace_back([&] {
      std::vector<fibers::fiber> all;
      for (int one = 0; one < 2500; ++one) {
        all.emplace_back(std::allocator_arg, fibers::fixedsize_stack(64 * 1024), [&] {
          const auto lease = acquire_in_fiber(pool);
          boost::this_fiber::yield();  // others run while this fiber holds its buffer
          served += lease ? 1 : 0;
        });
      }
      for (fibers::fiber& one : all) {
        one.join();
      }
    });
  }
  for (std::thread& thread : threads) {
    thread.join();
  }
  std::cout << served << " fibers served, " << pool.stats().in_use << " buffers in use\n";
} catch (const std::exception& problem) {
  std::cerr << problem.what() << '\n';
  return 1;
}

// Prints:
//   10000 fibers served, 0 buffers in use
