// Operations of Asio that wait for an object.
#include <gtest/gtest.h>

#include <array>
#include <atomic>
#include <chrono>
#include <cstddef>
#include <memory>
#include <optional>
#include <stop_token>
#include <thread>
#include <utility>
#include <vector>

#include "lido/asio.hpp"
#include "lido/checked.hpp"
#include "support/asio.hpp"
#include "support/fake_server.hpp"
#include "support/turns.hpp"
#if defined(LIDO_ASIO_HAS_CANCELLATION) && defined(LIDO_STANDALONE_ASIO)
#include <asio/bind_cancellation_slot.hpp>
#include <asio/cancellation_signal.hpp>
#endif

namespace lido {
namespace {

namespace net = detail_asio::net;
using namespace std::chrono_literals;
using test::eventually;

using numbers = object_pool<int>;

/// Records what a handler was called with.
struct object_outcome {
  [[nodiscard]] auto handler() {
    return [this](numbers::lease_type got) {
      lease = std::move(got);
      ++calls;
    };
  }
  std::atomic<int> calls{0};
  numbers::lease_type lease;
};

TEST(AsioObjects, AHandlerRunsWhereItsExecutorSaysAndNotBefore) {
  numbers pool(1);
  net::io_context context;
  object_outcome out;
  async_acquire(pool, net::bind_executor(context, out.handler()));
  EXPECT_EQ(out.calls, 0);
  context.run();
  EXPECT_EQ(out.calls, 1);
  EXPECT_TRUE(out.lease);
}

TEST(AsioObjects, AReleaseServesAnOperationWithItsArguments) {
  numbers pool(1);
  auto held = pool.acquire();
  net::io_context context;
  object_outcome out;
  async_acquire(pool, 100s, net::bind_executor(context, out.handler()), {}, 17);
  EXPECT_EQ(pool.stats().waiting, 1U);
  held.reset();
  EXPECT_EQ(out.calls, 0);
  context.run();
  ASSERT_TRUE(out.lease);
  EXPECT_EQ(*out.lease, 17);
}

TEST(AsioObjects, AnOperationWithoutATimeLimitTakesAStopTokenAndArguments) {
  numbers pool(1);
  auto held = pool.acquire();
  net::io_context context;
  object_outcome stopped;
  object_outcome served;
  std::stop_source stop;
  async_acquire(pool, net::bind_executor(context, stopped.handler()), stop.get_token());
  async_acquire(pool, net::bind_executor(context, served.handler()), {}, 17);
  stop.request_stop();
  held.reset();
  context.run();
  EXPECT_EQ(stopped.calls, 1);
  EXPECT_FALSE(stopped.lease);
  ASSERT_TRUE(served.lease);
  EXPECT_EQ(*served.lease, 17);
}

TEST(AsioObjects, CheckedPoolsServeOperations) {
  object_pool<int, checked_traits<int>> pool(1);
  auto held = pool.acquire();
  net::io_context context;
  int number = 0;
  async_acquire(pool, 100s,
                net::bind_executor(context, [&](const auto& lease) { number = *lease; }), {}, 3);
  held.reset();
  context.run();
  EXPECT_EQ(number, 3);
}

TEST(AsioObjects, TimeAndARequestToStopEndTheWait) {
  numbers pool(1);
  const auto held = pool.acquire();
  net::io_context context;
  object_outcome late;
  object_outcome stopped;
  std::stop_source stop;
  async_acquire(pool, 5ms, net::bind_executor(context, late.handler()));
  async_acquire(pool, 100s, net::bind_executor(context, stopped.handler()), stop.get_token());
  stop.request_stop();
  context.run();
  EXPECT_EQ(late.calls, 1);
  EXPECT_EQ(stopped.calls, 1);
  EXPECT_FALSE(late.lease || stopped.lease);
  EXPECT_EQ(pool.stats().waiting, 0U);
}

TEST(AsioObjects, AContextThatIsDestroyedEndsItsWaits) {
  numbers pool(2);
  auto held = pool.acquire();
  auto other = pool.acquire();
  auto context = std::make_unique<net::io_context>();
  const auto never = [](const numbers::lease_type&) { ADD_FAILURE() << "no thread runs it"; };
  async_acquire(pool, 100s, net::bind_executor(*context, never));
  async_acquire(pool, 100s, net::bind_executor(*context, never));
  held.reset();  // its handler is posted, the other waits
  EXPECT_EQ(pool.stats().waiting, 1U);
  context.reset();
  EXPECT_EQ(pool.stats().waiting, 0U);
  EXPECT_EQ(pool.stats().in_use, 1U);
}

/// Acquires when the context destroys it.
struct acquirer_at_shutdown {
  numbers& pool;
  net::io_context& context;
  bool armed = true;
  acquirer_at_shutdown(numbers& from, net::io_context& to) : pool(from), context(to) {}
  acquirer_at_shutdown(acquirer_at_shutdown&& from) noexcept
      : pool(from.pool), context(from.context), armed(std::exchange(from.armed, false)) {}
  acquirer_at_shutdown& operator=(acquirer_at_shutdown&&) = delete;
  ~acquirer_at_shutdown() {
    if (armed) {
      async_acquire(pool, net::bind_executor(context, [](const numbers::lease_type&) {
                      ADD_FAILURE() << "no thread runs it";
                    }));
    }
  }
  void operator()() const {}
};

TEST(AsioObjects, AHitWhileTheContextIsDestroyedGivesTheObjectBack) {
  numbers pool(1);
  auto context = std::make_unique<net::io_context>();
  async_acquire(pool, net::bind_executor(*context, [](const numbers::lease_type&) {}));
  context->run();  // makes the services
  net::post(*context, acquirer_at_shutdown(pool, *context));
  context.reset();
  EXPECT_EQ(pool.stats().in_use, 0U);
}

#if defined(LIDO_ASIO_HAS_CANCELLATION) && defined(LIDO_STANDALONE_ASIO)
TEST(AsioObjects, ASignalOfAnyTypeEndsTheWait) {
  numbers pool(1);
  const auto held = pool.acquire();
  net::io_context context;
  for (const auto type : {net::cancellation_type::terminal, net::cancellation_type::partial,
                          net::cancellation_type::total}) {
    net::cancellation_signal signal;
    object_outcome out;
    async_acquire(
        pool, 100s,
        net::bind_cancellation_slot(signal.slot(), net::bind_executor(context, out.handler())));
    signal.emit(net::cancellation_type::none);
    EXPECT_EQ(pool.stats().waiting, 1U);
    signal.emit(type);
    EXPECT_EQ(pool.stats().waiting, 0U);
    context.restart();
    context.run();
    EXPECT_EQ(out.calls, 1);
    EXPECT_FALSE(out.lease);
  }
}
#endif

#if defined(LIDO_TEST_ASIO_COROUTINES)
using buffer = std::array<std::byte, 4096>;

/// Holds a buffer, again and again, while other coroutines run.
net::awaitable<void> use_buffers(object_pool<buffer>& pool, test::turns& turns) {
  for (int round = 0; round < 5; ++round) {
    const auto turn = turns.begin();
    const auto lease = co_await async_acquire(pool, 100s, net::use_awaitable, {}, default_init);
    turns.end(turn, static_cast<bool>(lease));
    co_await net::post(co_await net::this_coro::executor, net::use_awaitable);
  }
}

TEST(AsioObjects, TenThousandCoroutinesShareAHundredBuffers) {
  object_pool<buffer> pool(100);
  test::turns turns(20'000);
  net::io_context context;
  for (int i = 0; i < 10'000; ++i) {
    net::co_spawn(context, use_buffers(pool, turns), net::detached);
  }
  std::vector<std::thread> threads;
  for (int i = 0; i < 4; ++i) {
    threads.emplace_back([&context] { context.run(); });
  }
  for (std::thread& thread : threads) {
    thread.join();
  }
  EXPECT_EQ(turns.served(), 50'000);
  EXPECT_LT(turns.starved(), 200);
  EXPECT_EQ(pool.stats().in_use, 0U);
  EXPECT_EQ(pool.stats().waiting, 0U);
  EXPECT_GT(pool.stats().handed_over, 0U);
}
#endif

}  // namespace
}  // namespace lido
