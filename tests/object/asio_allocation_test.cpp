// Memory that an acquire with a completion token allocates.
#include <gtest/gtest.h>

#include "lido/asio.hpp"
#include "support/asio.hpp"
#include "support/failing_new.hpp"

namespace lido {
namespace {

namespace net = detail_asio::net;
using test::allocations;

TEST(AsioAllocation, AHitAllocatesWhatAPostAllocates) {
  object_pool<int> pool(2);
  net::io_context context;
  int calls = 0;
  const auto acquire = [&] {
    async_acquire(pool, net::bind_executor(context, [&](const auto& got) { calls += *got; }), {},
                  1);
  };
  const auto post = [&] { net::post(context, [&] { ++calls; }); };
  const auto count = [&](const auto& begin) {
    const long before = allocations().allocations;
    begin();
    context.restart();
    context.run();
    return allocations().allocations - before;
  };
  (void)count(acquire);  // makes the services of the context
  const long of_post = count(post);
  EXPECT_EQ(count(acquire), of_post);
  EXPECT_EQ(calls, 3);

  auto held = pool.acquire();
  auto other = pool.acquire();
  const long before = allocations().allocations;
  acquire();
  EXPECT_GT(allocations().allocations, before + of_post) << "a wait was not counted";
  held.reset();
  context.restart();
  context.run();
  EXPECT_EQ(calls, 4);
}

}  // namespace
}  // namespace lido
