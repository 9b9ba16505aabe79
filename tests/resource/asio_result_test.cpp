// Completion tokens of Asio on the new pools: codes, results, keys, cancellation by a stop token.
#include <gtest/gtest.h>

#include <chrono>
#include <future>
#include <optional>
#include <stop_token>
#include <utility>

#include "lido/resource/next_asio_acquire.hpp"
#include "lido/resource/next_keyed_resource_pool.hpp"
#include "lido/resource/next_resource_pool.hpp"
#include "support/asio.hpp"

namespace lido::next {
namespace {

using namespace std::chrono_literals;
namespace net = lido::detail::net;

TEST(AsioResult, AHandlerGetsALeaseOrAnErrorCode) {
  net::io_context io;
  resource_pool<int> pool([] { return 7; }, {.max_size = 1, .name = "db"});
  std::optional<resource_lease<int>> lease;
  async_acquire(pool, 1s,
                net::bind_executor(io, [&](asio_error_code error, resource_lease<int> got) {
                  EXPECT_FALSE(error);
                  lease = std::move(got);
                }));
  io.run();
  ASSERT_TRUE(lease);
  EXPECT_EQ(**lease, 7);
  asio_error_code why;
  async_acquire(pool, 1ms,
                net::bind_executor(io, [&](asio_error_code error, resource_lease<int> got) {
                  why = error;
                  EXPECT_FALSE(got);
                }));
  io.restart();
  io.run();
  EXPECT_EQ(why, make_asio_error(acquire_failure::timed_out));
  EXPECT_EQ(why.message(), "timed out");
}

TEST(AsioResult, AResultHasTheNumbersOfThePool) {
  net::io_context io;
  resource_pool<int> pool([] { return 7; }, {.max_size = 1, .name = "db"});
  const auto held = pool.acquire();
  bool called = false;
  async_try_acquire(pool, 1ms, net::bind_executor(io, [&](acquire_result<int> got) {
                      called = true;
                      ASSERT_FALSE(got);
                      EXPECT_EQ(got.error().counts().in_use, 1U);
                      EXPECT_EQ(got.error().pool_name(), "db");
                    }));
  io.run();
  EXPECT_TRUE(called);
}

TEST(AsioResult, AKeyAndAStopToken) {
  net::io_context io;
  keyed_resource_pool<int, int> pool([](const int& key) { return key; },
                                     {.each_key = {.max_size = 1}});
  std::optional<resource_lease<int>> lease;
  async_acquire(pool, 3, 1s, net::bind_executor(io, [&](asio_error_code, resource_lease<int> got) {
                  lease = std::move(got);
                }));
  io.run();
  ASSERT_TRUE(lease && *lease);
  EXPECT_EQ(**lease, 3);
  std::stop_source stop;
  asio_error_code why;
  async_acquire(
      pool, 3, 10s,
      net::bind_executor(io, [&](asio_error_code error, resource_lease<int>) { why = error; }),
      stop.get_token());
  stop.request_stop();
  io.restart();
  io.run();
  EXPECT_EQ(why, make_asio_error(acquire_failure::cancelled));
}

TEST(AsioResult, AFutureThrowsTheCode) {
  net::io_context io;
  resource_pool<int> pool([] { return 7; }, {.max_size = 1});
  auto first = async_acquire(pool, 1s, net::use_future);
  const resource_lease<int> lease = first.get();
  EXPECT_EQ(*lease, 7);
  auto second = async_acquire(pool, 1ms, net::use_future);
  EXPECT_ANY_THROW((void)second.get());
}

}  // namespace
}  // namespace lido::next
