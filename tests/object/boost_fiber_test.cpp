// Fibers of Boost.Fiber that wait for an object, and continue in any thread.
#include <gtest/gtest.h>

#include <array>
#include <atomic>
#include <boost/fiber/all.hpp>
#include <chrono>
#include <cstddef>
#include <memory>
#include <mutex>
#include <optional>
#include <thread>
#include <utility>
#include <vector>

#include "lido/co_acquire.hpp"
#include "support/turns.hpp"

namespace lido {
namespace {

using namespace std::chrono_literals;
namespace fibers = boost::fibers;

using buffer = std::array<std::byte, 4096>;
using buffers = object_pool<buffer>;

template <class... Limits>
buffers::lease_type acquire_in_fiber(buffers& pool, Limits... limits) {
  std::mutex mutex;
  fibers::condition_variable_any is_given;
  std::optional<buffers::lease_type> given;
  pool.async_acquire(
      [&](buffers::lease_type got) {
        const std::lock_guard guard(mutex);
        given = std::move(got);
        is_given.notify_one();
      },
      std::move(limits)..., default_init);
  std::unique_lock guard(mutex);
  is_given.wait(guard, [&] { return given.has_value(); });
  return std::move(*given);
}

/// Runs fibers in threads of which each may continue any fiber.
class fiber_threads {
 public:
  /// Runs `body` in `count` fibers and `threads` threads.
  template <class Body>
  static void run(unsigned threads, int count, const Body& body) {
    fiber_threads all(count);
    std::vector<std::thread> others;
    for (unsigned i = 1; i < threads; ++i) {
      others.emplace_back([&all] { all.work([] {}); });
    }
    std::thread([&] {
      all.work([&] {
        for (int i = 0; i < count; ++i) {
          fibers::fiber(std::allocator_arg, fibers::fixedsize_stack(std::size_t{64} * 1024), [&] {
            body();
            all.end_one();
          }).detach();
        }
      });
    }).join();
    for (std::thread& other : others) {
      other.join();
    }
  }

 private:
  explicit fiber_threads(int count) : left_(count) {}

  template <class Begin>
  void work(const Begin& begin) {
    fibers::use_scheduling_algorithm<fibers::algo::shared_work>();
    begin();
    std::unique_lock guard(mutex_);
    ended_.wait(guard, [this] { return left_ == 0; });
  }
  void end_one() {
    const std::lock_guard guard(mutex_);
    if (--left_ == 0) {
      ended_.notify_all();
    }
  }

  fibers::mutex mutex_;
  fibers::condition_variable_any ended_;
  int left_;
};

TEST(BoostFiber, TenThousandFibersShareAHundredBuffers) {
  buffers pool(100);
  test::turns turns(20'000);
  fibers::barrier all_begun(10'000);
  fiber_threads::run(4, 10'000, [&] {
    all_begun.wait();
    for (int round = 0; round < 5; ++round) {
      const auto turn = turns.begin();
      const auto lease = acquire_in_fiber(pool);
      turns.end(turn, static_cast<bool>(lease));
      boost::this_fiber::yield();  // others run while it holds its buffer
    }
  });
  EXPECT_EQ(turns.served(), 50'000);
  EXPECT_LT(turns.starved(), 200);
  EXPECT_EQ(pool.stats().in_use, 0U);
  EXPECT_EQ(pool.stats().waiting, 0U);
  EXPECT_GT(pool.stats().handed_over, 0U);
}

TEST(BoostFiber, AFiberWaitsNoLongerThanItsLimit) {
  buffers pool(1);
  const auto held = pool.acquire(default_init);
  std::atomic<int> late{0};
  fiber_threads::run(2, 10, [&] { late += acquire_in_fiber(pool, 5ms) ? 0 : 1; });
  EXPECT_EQ(late, 10);
  EXPECT_EQ(pool.stats().waiting, 0U);
}

}  // namespace
}  // namespace lido
