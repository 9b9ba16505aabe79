// In which order those who wait are served. The letters and numbers are those of
// docs/explanation/resource-pool.md.
#include <gtest/gtest.h>

#include <algorithm>
#include <vector>

#include "support/customers.hpp"
#include "support/resource_fixtures.hpp"

namespace lido {
namespace {

using test::customers;
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

LIDO_TEST_IN_ALL_MODES(ResourceOrder);

}  // namespace
}  // namespace lido
