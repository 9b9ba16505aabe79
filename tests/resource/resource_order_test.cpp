// In which order those who wait are served. The letters and numbers are those of
// docs/reference/tests.md.
#include <gtest/gtest.h>

#include <algorithm>
#include <chrono>
#include <latch>
#include <thread>
#include <vector>

#include "support/customers.hpp"
#include "support/resource_fixtures.hpp"

namespace lido {
namespace {

using namespace std::chrono_literals;
using test::customers;
using test::eventually;
using test::fake_lease;
using test::fake_pool;
using test::way_to_wait;

class ResourceOrder : public test::resource_in_each_mode {
 protected:
  /// All orders in which two threads, a callback and a coroutine may come.
  void serve_each_mixture(bool discard) {
    std::vector<way_to_wait> line{way_to_wait::thread, way_to_wait::thread, way_to_wait::callback,
                                  way_to_wait::coroutine};
    do {
      serve_in_order(line, discard);
    } while (std::next_permutation(line.begin(), line.end()));
  }

  void serve_in_order(const std::vector<way_to_wait>& line, bool discard) {
    fake_pool& pool = start({.max_size = 1});
    {
      customers all(pool, discard);
      fake_lease held = pool.acquire();
      for (const way_to_wait way : line) {
        all.join(way);
      }
      held.reset();
      EXPECT_EQ(all.served(), all.joined()) << ::testing::PrintToString(line);
    }
    end();
  }
};

TEST_P(ResourceOrder, A6WhoComesFirstIsServedFirstWhicheverWayItWaits) {
  serve_each_mixture(/*discard=*/false);
}

// Each time one is made anew, by a thread of the pool or by somebody in the queue.
TEST_P(ResourceOrder, A6WhoComesFirstHasTheFirstNewResource) {
  serve_each_mixture(/*discard=*/true);
}

TEST_P(ResourceOrder, A6ThreadsAreServedInTheOrderOfComing) {
  serve_in_order(std::vector<way_to_wait>(12, way_to_wait::thread), /*discard=*/false);
}

// What comes back is for who waits, however often others ask meanwhile.
TEST_P(ResourceOrder, A6NewcomersDoNotCutIn) {
  fake_pool& pool = start({.max_size = 1, .validate_if_idle_longer_than = 1h});
  int cut_in = 0;
  for (int round = 0; round < 100; ++round) {
    fake_lease held = pool.acquire();
    std::latch asks(1);
    std::latch served(1);
    std::latch over(1);
    std::jthread waiting([&] {
      const fake_lease got = pool.acquire_for(10s);
      served.count_down();
      over.wait();
    });
    EXPECT_TRUE(eventually([&] { return pool.stats().waiters == 1; }));
    std::jthread newcomer([&] {
      asks.count_down();
      while (!served.try_wait()) {
        cut_in += pool.try_acquire() ? 1 : 0;
      }
      over.count_down();
    });
    asks.wait();
    held.reset();
  }
  EXPECT_EQ(cut_in, 0);
}

LIDO_TEST_IN_ALL_MODES(ResourceOrder);

}  // namespace
}  // namespace lido
