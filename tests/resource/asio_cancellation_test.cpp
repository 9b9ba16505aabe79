// Per-operation cancellation. Asio has it since 1.19, and Boost since 1.77.
#include <gtest/gtest.h>

#include <atomic>
#include <chrono>
#include <optional>
#include <thread>

#include "support/asio_fixture.hpp"
// Must follow the standard headers, whose macros decide how Asio 1.22 allocates.
#include <asio/bind_cancellation_slot.hpp>
#include <asio/cancellation_signal.hpp>
#if defined(LIDO_TEST_ASIO_COROUTINES)
#include <asio/experimental/awaitable_operators.hpp>
#endif

namespace lido {
namespace {

using namespace std::chrono_literals;
using test::asio_outcome;
using test::fake_lease;
using test::fake_pool;

/// Operations with one slot.
class AsioCancellation : public test::asio_operations {
 protected:
  /// Begins an acquire in the slot. Records whether the slot was in use when its handler ran.
  void begin(asio_outcome& out, std::stop_token stop = {}) {
    auto handler = [this, note = out.handler()](asio_error_code error, fake_lease lease) {
      had_slot = signal.slot().has_handler();
      note(error, std::move(lease));
    };
    ask(context, asio::bind_cancellation_slot(signal.slot(), std::move(handler)), std::move(stop));
  }

  // NOLINTBEGIN(*-non-private-member-*,readability-identifier-naming)
  asio::cancellation_signal signal;
  bool had_slot = false;
  // NOLINTEND(*-non-private-member-*,readability-identifier-naming)
};

TEST_F(AsioCancellation, ASignalOfAnyTypeEndsTheWait) {
  const fake_lease held = pool.acquire();
  for (const auto type : {asio::cancellation_type::terminal, asio::cancellation_type::partial,
                          asio::cancellation_type::total}) {
    asio_outcome out;
    begin(out);
    EXPECT_EQ(pool.stats().waiting, 1U);
    signal.emit(asio::cancellation_type::none);
    EXPECT_EQ(pool.stats().waiting, 1U);
    signal.emit(type);
    EXPECT_EQ(pool.stats().waiting, 0U);
    EXPECT_EQ(out.calls, 0);
    run_again();
    EXPECT_EQ(out.calls, 1);
    EXPECT_EQ(out.failure, make_asio_error(acquire_failure::cancelled));
  }
}

TEST_F(AsioCancellation, ASignalDoesNotTakeALeaseBack) {
  fake_lease held = pool.acquire();
  asio_outcome out;
  begin(out);
  held.reset();
  signal.emit(asio::cancellation_type::terminal);
  context.run();
  EXPECT_TRUE(out.lease);
  EXPECT_FALSE(out.failure);
  EXPECT_FALSE(had_slot) << "the slot is for the next operation";
  signal.emit(asio::cancellation_type::terminal);
  out.lease.reset();
  EXPECT_TRUE(pool.try_acquire_for(10s));
}

TEST_F(AsioCancellation, AStopTokenWorksBesideTheSlot) {
  const fake_lease held = pool.acquire();
  std::stop_source stop;
  asio_outcome out;
  begin(out, stop.get_token());
  stop.request_stop();
  context.run();
  EXPECT_EQ(out.failure, make_asio_error(acquire_failure::cancelled));
  signal.emit(asio::cancellation_type::terminal);
  EXPECT_EQ(out.calls, 1);
}

// djc/bb8 #67: a cancelled operation swallows a resource.
TEST_F(AsioCancellation, A1SignalsBesideReleasesSwallowNothing) {
  int given = 0;
  int cancelled = 0;
  for (int i = 0; i < 500; ++i) {
    fake_lease held = pool.acquire_for(100s);
    asio_outcome out;
    begin(out);
    std::jthread releaser([&held] { held.reset(); });
    for (int spin = 0; spin < i % 50 * 20; ++spin) {
      std::atomic_signal_fence(std::memory_order_seq_cst);
    }
    signal.emit(asio::cancellation_type::total);
    releaser.join();
    run_again();
    ASSERT_EQ(out.calls, 1);
    ++(out.lease ? given : cancelled);
  }
  EXPECT_EQ(given + cancelled, 500);
  EXPECT_TRUE(pool.acquire_for(10s));
}

/// A rendezvous of two threads, as close as threads can, after which each may delay itself.
class rendezvous {
 public:
  void arrive(int turns_later) {
    ++arrived_;
    while (arrived_ != 2) {
      std::this_thread::yield();
    }
    for (int i = 0; i < turns_later; ++i) {
      std::atomic_signal_fence(std::memory_order_seq_cst);
    }
  }

 private:
  std::atomic<int> arrived_{0};
};

/// Handlers, signals and releases run in several threads. The slot belongs to a strand, which may
/// run in any of them.
class AsioCancellationInThreads : public AsioCancellation {
 protected:
  /// Serves and cancels an operation at about the same moment. A second operation must be served in
  /// either case.
  void race(int releases_later, int cancels_later) {
    fake_lease held = pool.acquire_for(100s);
    const auto strand = asio::make_strand(threads);
    std::atomic<int> ended{0};
    rendezvous both;
    asio::post(strand, [&] {
      auto first = [&](asio_error_code error, const fake_lease& lease) {
        EXPECT_NE(static_cast<bool>(error), static_cast<bool>(lease));
        EXPECT_TRUE(!error || error == make_asio_error(acquire_failure::cancelled));
        ++(lease ? given : cancelled);
        ++ended;
      };
      ask(strand, asio::bind_cancellation_slot(signal.slot(), first));
    });
    ask(threads, [&](asio_error_code error, const fake_lease& lease) {
      EXPECT_FALSE(error);
      EXPECT_TRUE(lease);
      ++ended;
    });
    asio::post(strand, [&] {
      both.arrive(cancels_later);
      signal.emit(asio::cancellation_type::total);
    });
    both.arrive(releases_later);
    held.reset();
    ASSERT_TRUE(test::eventually([&] { return ended == 2; }));
  }

  // NOLINTBEGIN(*-non-private-member-*,readability-identifier-naming)
  asio::thread_pool threads{4};
  std::atomic<int> given{0};
  std::atomic<int> cancelled{0};
  // NOLINTEND(*-non-private-member-*,readability-identifier-naming)
};

TEST_F(AsioCancellationInThreads, A1SignalsBesideReleasesSwallowNothing) {
  constexpr int delays = 32;
  constexpr int races = delays * delays;
  int run = 0;
  // Repeats if one side has always won: a busy machine may never run the two together.
  for (; run < races || (run < 10 * races && (given == 0 || cancelled == 0)); ++run) {
    race(run / delays % delays * 16, run % delays * 16);
  }
  threads.join();
  EXPECT_EQ(given + cancelled, run);
  EXPECT_GT(given, 0);
  EXPECT_GT(cancelled, 0);
  EXPECT_TRUE(pool.acquire_for(10s));
}

#if defined(LIDO_TEST_ASIO_COROUTINES)
asio::awaitable<bool> served_within(fake_pool& pool, std::chrono::milliseconds time) {
  using namespace asio::experimental::awaitable_operators;
  asio::steady_timer timer(co_await asio::this_coro::executor, time);
  const auto first = co_await (async_acquire(pool, 100s, asio::use_awaitable) ||
                               timer.async_wait(asio::use_awaitable));
  co_return first.index() == 0;
}

TEST_F(AsioCancellation, TheFirstOfSeveralAwaitedEndsTheOthers) {
  std::optional<bool> served;
  const auto note = [&served](const std::exception_ptr& error, bool was) {
    EXPECT_FALSE(error);
    served = was;
  };
  fake_lease held = pool.acquire();
  asio::co_spawn(context, served_within(pool, 5ms), note);
  context.run();
  EXPECT_EQ(served, false);
  EXPECT_EQ(pool.stats().waiting, 0U);

  held.reset();
  asio::co_spawn(context, served_within(pool, 100s), note);
  run_again();
  EXPECT_EQ(served, true);
  EXPECT_TRUE(pool.try_acquire_for(10s));
}
#endif

}  // namespace
}  // namespace lido
