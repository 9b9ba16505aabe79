// Fibers of Boost.Fiber share a few buffers. A fiber that waits for one does not block its thread.
#include <array>
#include <atomic>
#include <boost/fiber/all.hpp>
#include <cstddef>
#include <iostream>
#include <lido/co_acquire.hpp>
#include <memory>
#include <mutex>
#include <optional>
#include <thread>
#include <utility>
#include <vector>

namespace fibers = boost::fibers;
using buffer_pool = lido::object_pool<std::array<std::byte, 4096>>;
// [snippet]
buffer_pool::lease_type acquire_in_fiber(buffer_pool& pool) {
  std::mutex mutex;  // not that of fibers: a callback must not suspend a fiber
  fibers::condition_variable_any is_given;
  std::optional<buffer_pool::lease_type> given;
  pool.async_acquire(
      [&](buffer_pool::lease_type lease) {
        const std::lock_guard guard(mutex);
        given = std::move(lease);
        is_given.notify_one();  // under the lock, since the fiber then destroys `is_given`
      },
      lido::default_init);  // leaves the bytes as they are
  std::unique_lock guard(mutex);
  is_given.wait(guard, [&] { return given.has_value(); });  // suspends this fiber
  return std::move(*given);
}
// [/snippet]

int main() {
  buffer_pool pool({.capacity = 100, .name = "buffers"});
  std::atomic<int> served{0};
  std::vector<std::jthread> threads;
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
  threads.clear();  // waits for them
  std::cout << served << " fibers served, " << pool.stats().in_use << " buffers in use\n";
}

// Prints:
//   10000 fibers served, 0 buffers in use
