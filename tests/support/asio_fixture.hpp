/// @file
/// A pool of fake connections whose operations call handlers of Boost.Asio, or of Asio without
/// Boost.
#pragma once

#include <gtest/gtest.h>

#include <atomic>
#include <chrono>
#include <stop_token>
#include <utility>

#include "lido/asio.hpp"
#include "support/asio.hpp"
#include "support/resource_fixtures.hpp"

namespace lido::test {

namespace net = detail_asio::net;

/// Results that handlers have received: their number, and the lease and the error of the last one.
struct asio_outcome {
  std::atomic<int> calls{0};
  fake_lease lease;
  asio_error_code failure;

  [[nodiscard]] auto handler() {
    return [this](asio_error_code error, fake_lease got) {
      EXPECT_NE(static_cast<bool>(error), static_cast<bool>(got));
      failure = error;
      lease = std::move(got);
      ++calls;
    };
  }
};

/// Returns a handler for a context that is destroyed before any thread runs the handler. `kept` is
/// destroyed with the handler.
template <class Kept = int>
auto never_run(Kept kept = {}) {
  return
      [kept = std::move(kept)](const auto&... /*answer*/) { ADD_FAILURE() << "no thread runs it"; };
}

/// Checks at the end that nothing of the pool remains, whatever happened to its handlers.
class asio_operations : public ::testing::Test {
 protected:
  /// Starts an acquire whose handler runs on `where`, which is an executor or a context.
  template <class Where, class Handler>
  void ask(Where&& where, Handler handler, std::stop_token stop = {}) {
    async_acquire(pool, 100s, net::bind_executor(where, std::move(handler)), std::move(stop));
  }
  void run_again() {
    context.restart();
    context.run();
  }
  void TearDown() override {
    EXPECT_TRUE(eventually([this] { return pool.stats().in_use == 0; }));
    EXPECT_EQ(pool.stats().waiting, 0U);
    EXPECT_TRUE(pool.close(10s).complete());
    EXPECT_EQ(server.alive, 0);
  }

  // NOLINTBEGIN(*-non-private-member-*,readability-identifier-naming)
  fake_server server;
  fake_pool pool{fake_factory{&server}, {.max_size = 1}};
  net::io_context context;
  // NOLINTEND(*-non-private-member-*,readability-identifier-naming)
};

}  // namespace lido::test
