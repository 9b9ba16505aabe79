// Callbacks and coroutines that wait for a slot.
#include <gtest/gtest.h>

#include <atomic>
#include <chrono>
#include <coroutine>
#include <exception>
#include <memory>
#include <optional>
#include <stdexcept>
#include <stop_token>
#include <string>
#include <thread>
#include <utility>
#include <vector>

#include "lido/checked.hpp"
#include "lido/co_acquire.hpp"
#include "support/crew.hpp"
#include "support/customers.hpp"

// Named, since the frame of a coroutine may not have members of types without linkage.
namespace lido::async_tests {

using namespace std::chrono_literals;
using test::detached;
using test::eventually;

struct buffer {
  buffer() noexcept = default;
  explicit buffer(int one, std::string two = {}) noexcept : number(one), text(std::move(two)) {}
  int number = 0;
  std::string text;
};
using buffers = object_pool<buffer>;

/// Notes the order in which waiters are served.
struct served_in_order {
  [[nodiscard]] auto next() {
    return [this, place = joined++](buffers::lease_type lease) {
      (lease ? served : refused).push_back(place);
    };
  }
  int joined = 0;
  std::vector<int> served;
  std::vector<int> refused;
};

/// A coroutine that its owner may destroy. Keeps an exception that it throws.
class [[nodiscard]] routine {
 public:
  struct promise_type {  // NOLINT(readability-identifier-naming): the language's
    routine get_return_object() {
      return routine(std::coroutine_handle<promise_type>::from_promise(*this));
    }
    static std::suspend_never initial_suspend() noexcept { return {}; }
    static std::suspend_always final_suspend() noexcept { return {}; }
    void return_void() noexcept {}
    void unhandled_exception() { thrown = std::current_exception(); }
    std::exception_ptr thrown;
  };

  explicit routine(std::coroutine_handle<promise_type> handle) noexcept : handle_(handle) {}
  routine(routine&& other) noexcept : handle_(std::exchange(other.handle_, nullptr)) {}
  routine(const routine&) = delete;
  routine& operator=(const routine&) = delete;
  routine& operator=(routine&&) = delete;
  ~routine() { destroy(); }

  void destroy() {
    if (handle_ != nullptr) {
      std::exchange(handle_, nullptr).destroy();
    }
  }
  [[nodiscard]] bool done() const { return handle_.done(); }
  [[nodiscard]] bool has_thrown() const { return handle_.promise().thrown != nullptr; }

 private:
  std::coroutine_handle<promise_type> handle_;
};

// Static: Clang 14 with its sanitizer of function types cannot compile a coroutine that other
// translation units could define, too.
template <class Pool, class... Args>
static routine acquire_once(Pool& pool, std::optional<typename Pool::lease_type>& got,
                            Args... args) {
  got = co_await pool.co_acquire(std::move(args)...);
}

/// Counts the ends of waits, of which each must come once.
struct ends {
  std::atomic<int> served{0};
  std::atomic<int> refused{0};
  /// Ends the lease first, since the pool may end after the last wait.
  template <class Lease>
  void note(Lease lease) {
    const bool has_object = static_cast<bool>(lease);
    lease.reset();
    ++(has_object ? served : refused);
  }
  [[nodiscard]] int all() const { return served + refused; }
};

template <class Pool>
static detached wait_once(Pool& pool, ends& all, std::chrono::microseconds limit) {
  all.note(co_await pool.co_acquire(limit));
}

// ---- callbacks ----------------------------------------------------------------------------------

TEST(AsyncAcquire, AFreeSlotIsGivenAtOnce) {
  buffers pool(1);
  int number = 0;
  pool.async_acquire([&](buffers::lease_type lease) { number = lease->number; }, 7);
  EXPECT_EQ(number, 7);
  EXPECT_EQ(pool.stats().in_use, 0U);
}

TEST(AsyncAcquire, AReleaseServesTheCallback) {
  buffers pool(1);
  auto held = pool.acquire();
  std::string text;
  pool.async_acquire([&](buffers::lease_type lease) { text = lease->text; }, 1,
                     std::string("a text that needs memory of its own"));
  EXPECT_EQ(text, "");
  EXPECT_EQ(pool.stats().waiting, 1U);
  held.reset();
  EXPECT_EQ(text, "a text that needs memory of its own");
  EXPECT_EQ(pool.stats().waiting, 0U);
  EXPECT_EQ(pool.stats().in_use, 0U);
  EXPECT_EQ(pool.stats().handed_over, 1U);
}

TEST(AsyncAcquire, ACallbackMayBeMoveOnlyAndKeepTheLease) {
  buffers pool(1);
  auto held = pool.acquire();
  buffers::lease_type kept;
  pool.async_acquire(
      [&, own = std::make_unique<int>(3)](buffers::lease_type lease) {
        lease->number = *own;
        kept = std::move(lease);
      },
      1h);
  held.reset();
  ASSERT_TRUE(kept);
  EXPECT_EQ(kept->number, 3);
  EXPECT_FALSE(pool.try_acquire());
}

TEST(AsyncAcquire, ServesThreadsAndCallbacksInTheOrderOfTheirArrival) {
  buffers pool(1);
  auto held = pool.acquire();
  std::vector<int> order;
  std::vector<std::thread> threads;
  for (int place = 0; place < 10; ++place) {
    const std::size_t waiting = pool.stats().waiting;
    const auto note = [&order, place](const buffers::lease_type& lease) {
      if (lease) {
        order.push_back(place);
      }
    };
    if (place % 2 == 0) {
      threads.emplace_back([&pool, note] { note(pool.acquire_for(1h)); });
    } else {
      pool.async_acquire(note, 1h);
    }
    ASSERT_TRUE(eventually([&] { return pool.stats().waiting == waiting + 1; }));
  }
  held.reset();
  for (std::thread& thread : threads) {
    thread.join();
  }
  EXPECT_EQ(order, (std::vector<int>{0, 1, 2, 3, 4, 5, 6, 7, 8, 9}));
}

// Each callback releases the slot for the next one, which must not run inside this one.
TEST(AsyncAcquire, AChainOfCallbacksNeedsNoDeepStack) {
  buffers pool(1);
  auto held = pool.acquire();
  int served = 0;
  int depth = 0;
  for (int i = 0; i < 10'000; ++i) {
    pool.async_acquire([&](buffers::lease_type lease) {
      EXPECT_EQ(++depth, 1);
      lease.reset();
      ++served;
      --depth;
    });
  }
  held.reset();
  EXPECT_EQ(served, 10'000);
}

TEST(AsyncAcquire, ACallbackMayBeginTheNextWait) {
  buffers pool(1);
  auto held = pool.acquire();
  int served = 0;
  struct again {
    buffers* pool;
    int* served;
    void operator()(const buffers::lease_type& lease) const {
      if (lease && ++*served < 1'000) {
        pool->async_acquire(*this);
      }
    }
  };
  pool.async_acquire(again{&pool, &served});
  held.reset();
  EXPECT_EQ(served, 1'000);
}

// The second callback has been given the slot for which the first one waits in its thread.
TEST(AsyncAcquire, ACallbackThatBlocksLetsItsThreadCallTheOthersFirst) {
  buffers pool(2);
  auto first = pool.acquire();
  auto second = pool.acquire();
  bool served = false;
  pool.async_acquire([&](buffers::lease_type /*lease*/) {
    second.reset();  // for the callback below
    served = static_cast<bool>(pool.acquire_for(10s));
    EXPECT_TRUE(served);
  });
  pool.async_acquire([&](buffers::lease_type lease) { lease.reset(); });
  first.reset();
  EXPECT_TRUE(served);
}

TEST(AsyncAcquire, ANullCallbackIsRefused) {
  buffers pool({.capacity = 1, .name = "frames"});
  void (*nothing)(buffers::lease_type) = nullptr;
  try {
    pool.async_acquire(nothing, 1s);
    FAIL() << "a null function was accepted";
  } catch (const std::invalid_argument& error) {
    EXPECT_STREQ(error.what(), "lido: pool 'frames': the callback is a function that is null");
  }
  EXPECT_EQ(pool.stats().in_use, 0U);
}

// ---- limits -------------------------------------------------------------------------------------

TEST(AsyncAcquire, AWaitEndsWhenItsTimeIsUpAndNotBefore) {
  buffers pool(1);
  const auto held = pool.acquire();
  std::atomic<bool> late{false};
  const auto begin = std::chrono::steady_clock::now();
  std::atomic<std::chrono::steady_clock::duration> took{};
  pool.async_acquire(
      [&](const buffers::lease_type& lease) {
        EXPECT_FALSE(lease);
        took = std::chrono::steady_clock::now() - begin;
        late = true;
      },
      20ms);
  EXPECT_FALSE(late);
  EXPECT_TRUE(eventually([&] { return late.load(); }));
  EXPECT_GE(took.load(), 20ms);
  EXPECT_EQ(pool.stats().waiting, 0U);
  EXPECT_EQ(pool.stats().in_use, 1U);
}

TEST(AsyncAcquire, LimitsEndWaitsInTheOrderOfTheirTimes) {
  buffers pool(1);
  const auto held = pool.acquire();
  std::vector<int> order;  // one worker at a time calls them
  std::atomic<int> ended{0};
  for (const int milliseconds : {60, 20, 40}) {
    pool.async_acquire(
        [&, milliseconds](const buffers::lease_type& /*lease*/) {
          order.push_back(milliseconds);
          ++ended;
        },
        std::chrono::milliseconds(milliseconds));
  }
  EXPECT_TRUE(eventually([&] { return ended == 3; }));
  EXPECT_EQ(order, (std::vector<int>{20, 40, 60}));
}

TEST(AsyncAcquire, TheLongestTimesNeverEndAndNegativeOnesEndAtOnce) {
  buffers pool(1);
  auto held = pool.acquire();
  served_in_order waiters;
  pool.async_acquire(waiters.next(), std::chrono::seconds::max());
  pool.async_acquire(waiters.next(), std::chrono::hours::max());
  pool.async_acquire(waiters.next(), -1s);
  pool.async_acquire(waiters.next(), 0ns);
  EXPECT_EQ(waiters.refused, (std::vector<int>{2, 3}));
  held.reset();
  EXPECT_EQ(waiters.served, (std::vector<int>{0, 1}));
}

TEST(AsyncAcquire, ARequestToStopEndsTheWaitInItsThread) {
  buffers pool(1);
  auto held = pool.acquire();
  served_in_order waiters;
  std::stop_source stop;
  pool.async_acquire(waiters.next(), stop.get_token());
  pool.async_acquire(waiters.next(), 1h, stop.get_token(), 5);
  pool.async_acquire(waiters.next());
  EXPECT_EQ(pool.stats().waiting, 3U);
  stop.request_stop();
  EXPECT_EQ(waiters.refused.size(), 2U);  // in any order
  EXPECT_EQ(pool.stats().waiting, 1U);
  held.reset();
  EXPECT_EQ(waiters.served, (std::vector<int>{2}));
}

TEST(AsyncAcquire, AfterARequestToStopOnlyAFreeSlotIsTaken) {
  buffers pool(1);
  served_in_order waiters;
  std::stop_source stop;
  stop.request_stop();
  pool.async_acquire(waiters.next(), stop.get_token());
  EXPECT_EQ(waiters.served, (std::vector<int>{0}));
  const auto held = pool.acquire();
  pool.async_acquire(waiters.next(), stop.get_token());
  EXPECT_EQ(waiters.refused, (std::vector<int>{1}));
}

// The pool ends in the last callback, which a thread calls that keeps time for the pool.
TEST(AsyncAcquire, ACallbackThatIsLateMayDestroyThePool) {
  auto pool = std::make_unique<buffers>(1);
  std::atomic<bool> gone{false};
  auto held = pool->acquire();
  pool->async_acquire(
      [&](const buffers::lease_type& lease) {
        EXPECT_FALSE(lease);
        held.reset();
        pool.reset();
        gone = true;
      },
      1ms);
  EXPECT_TRUE(eventually([&] { return gone.load(); }));
}

// ---- coroutines ---------------------------------------------------------------------------------

TEST(CoAcquire, AFreeSlotIsTakenWithoutASuspension) {
  buffers pool(1);
  std::optional<buffers::lease_type> got;
  const routine one = acquire_once(pool, got, 4, std::string("x"));
  EXPECT_TRUE(one.done());
  ASSERT_TRUE(got.has_value() && *got);
  EXPECT_EQ((*got)->number, 4);
  EXPECT_EQ((*got)->text, "x");
}

TEST(CoAcquire, AReleaseResumesTheCoroutine) {
  buffers pool(1);
  auto held = pool.acquire();
  std::optional<buffers::lease_type> got;
  const routine one = acquire_once(pool, got, 1h, std::stop_token(), 4);
  EXPECT_FALSE(one.done());
  held.reset();
  EXPECT_TRUE(one.done());
  ASSERT_TRUE(got.has_value() && *got);
  EXPECT_EQ((*got)->number, 4);
}

TEST(CoAcquire, LimitsGiveAnEmptyLease) {
  buffers pool(1);
  const auto held = pool.acquire();
  std::optional<buffers::lease_type> stopped;
  std::stop_source stop;
  const routine one = acquire_once(pool, stopped, stop.get_token(), 4);
  EXPECT_FALSE(one.done());
  stop.request_stop();
  EXPECT_TRUE(one.done());
  ASSERT_TRUE(stopped.has_value());
  EXPECT_FALSE(*stopped);
  ends late;
  wait_once(pool, late, 5ms);
  EXPECT_TRUE(eventually([&] { return late.refused == 1; }));
  EXPECT_EQ(pool.stats().refused, pool.stats().exhausted);
}

struct fails {
  explicit fails(bool now) {
    if (now) {
      throw std::runtime_error("not today");
    }
  }
};

TEST(CoAcquire, AnExceptionOfTheConstructorLeavesCoAwaitAndTheSlotIsFree) {
  object_pool<fails> pool(1);
  auto held = pool.acquire(false);
  std::optional<object_pool<fails>::lease_type> got;
  const routine one = acquire_once(pool, got, true);
  EXPECT_FALSE(one.done());
  held.reset();
  EXPECT_TRUE(one.done());
  EXPECT_TRUE(one.has_thrown());
  EXPECT_EQ(pool.stats().in_use, 0U);
  EXPECT_TRUE(pool.try_acquire(false));
}

TEST(CoAcquire, ADestroyedCoroutineLeavesTheQueue) {
  buffers pool(1);
  auto held = pool.acquire();
  std::optional<buffers::lease_type> first;
  std::optional<buffers::lease_type> second;
  routine one = acquire_once(pool, first, 1h);
  const routine two = acquire_once(pool, second);
  EXPECT_EQ(pool.stats().waiting, 2U);
  one.destroy();
  EXPECT_EQ(pool.stats().waiting, 1U);
  held.reset();
  EXPECT_FALSE(first.has_value());
  EXPECT_TRUE(two.done());
}

// The coroutine has been given a slot, but its thread is still running the callback before it.
TEST(CoAcquire, TheSlotOfACoroutineThatIsDestroyedBeforeItResumesGoesBack) {
  buffers pool(2);
  auto first = pool.acquire();
  auto second = pool.acquire();
  std::optional<buffers::lease_type> got;
  std::optional<routine> one;
  pool.async_acquire([&](const buffers::lease_type& /*lease*/) {
    second.reset();
    EXPECT_EQ(pool.stats().waiting, 0U);
    one->destroy();
  });
  one.emplace(acquire_once(pool, got));
  first.reset();
  EXPECT_FALSE(got.has_value());
  EXPECT_EQ(pool.stats().in_use, 0U);
}

TEST(CoAcquire, ArgumentsThatAreValuesAreKeptAndOthersAreReferredTo) {
  buffers pool(1);
  auto held = pool.acquire();
  int number = 1;
  std::optional<buffers::lease_type> got;
  const auto wait = [](buffers& from, int& refers,
                       std::optional<buffers::lease_type>& to) -> routine {
    to = co_await from.co_acquire(refers, std::string("kept until the wait has ended"));
  };
  const routine one = wait(pool, number, got);
  number = 2;
  held.reset();
  ASSERT_TRUE(got.has_value() && *got);
  EXPECT_EQ((*got)->number, 2);
  EXPECT_EQ((*got)->text, "kept until the wait has ended");
}

// ---- other pools --------------------------------------------------------------------------------

struct kept_hooks {
  static void activate(buffer& object, int number = 0) noexcept { object.number = number; }
};
struct kept_traits : pool_traits<buffer> {
  using hooks = kept_hooks;
};

TEST(AsyncAcquire, PoolsThatKeepObjectsPassArgumentsToActivate) {
  object_pool<buffer, kept_traits> pool(1);
  auto held = pool.acquire(1);
  held->text = "still here";
  int number = 0;
  std::string text;
  pool.async_acquire(
      [&](const object_pool<buffer, kept_traits>::lease_type& lease) {
        number = lease->number;
        text = lease->text;
      },
      1h, 9);
  held.reset();
  EXPECT_EQ(number, 9);
  EXPECT_EQ(text, "still here");
}

TEST(AsyncAcquire, CheckedPoolsServeCallbacksAndCoroutines) {
  using pool_type = object_pool<buffer, checked_traits<buffer>>;
  pool_type pool(1);
  auto held = pool.acquire();
  std::optional<pool_type::lease_type> got;
  const routine one = acquire_once(pool, got, 3);
  bool served = false;
  pool.async_acquire(
      [&](const pool_type::lease_type& lease) { served = static_cast<bool>(lease); });
  held.reset();
  ASSERT_TRUE(got.has_value() && *got);
  EXPECT_FALSE(served);
  got.reset();
  EXPECT_TRUE(served);
}

// The callback acquires from the pool whose segments its thread is changing.
TEST(AsyncAcquire, SlotsThatAreAddedServeCallbacks) {
  object_pool<int> pool({.capacity = 0, .max_capacity = 100'000, .when_full = when_full::grow});
  std::vector<int*> held;
  while (int* const object = pool.try_acquire_ptr()) {
    held.push_back(object);
  }
  ASSERT_EQ(held.size(), 100'000U);
  int served = 0;
  for (int i = 0; i < 100; ++i) {
    pool.async_acquire([&](const object_pool<int>::lease_type& lease) {
      served += lease ? 1 : 0;
      EXPECT_LE(pool.shrink_to(0), 100'000U);
    });
  }
  pool.release_n(held);
  EXPECT_EQ(served, 100);
  EXPECT_EQ(pool.stats().in_use, 0U);
  EXPECT_EQ(pool.shrink_to(0), 0U);
  const auto one = pool.acquire();
  const std::size_t capacity = pool.capacity();
  std::vector<object_pool<int>::lease_type> rest;
  while (rest.size() + 1 < capacity) {
    rest.push_back(pool.acquire());
  }
  bool was_added = false;
  pool.async_acquire(
      [&](const object_pool<int>::lease_type& lease) { was_added = static_cast<bool>(lease); });
  EXPECT_TRUE(was_added);
}

// ---- many threads -------------------------------------------------------------------------------

TEST(AsyncAcquire, ThreadsCallbacksAndCoroutinesLoseNoSlotAndNoWait) {
  constexpr int threads = 4;
  constexpr int rounds = 400;
  object_pool<int> pool({.capacity = 3, .when_full = when_full::wait});
  ends all;
  test::run_crew(threads, [&](unsigned /*me*/) {
    for (int round = 0; round < rounds; ++round) {
      std::stop_source stop;
      const std::chrono::microseconds limit(100 + 100 * (round % 3));
      const auto end = [&all](object_pool<int>::lease_type lease) { all.note(std::move(lease)); };
      pool.async_acquire(end, 1h, stop.get_token());
      pool.async_acquire(end, limit);
      pool.async_acquire(end);
      wait_once(pool, all, limit);
      all.note(pool.acquire_for(limit));
      if (round % 2 == 0) {
        stop.request_stop();
      }
      std::this_thread::yield();
    }
  });
  EXPECT_TRUE(eventually([&] { return all.all() == threads * rounds * 5; }));
  EXPECT_EQ(pool.stats().waiting, 0U);
  EXPECT_EQ(pool.stats().in_use, 0U);
  EXPECT_GE(all.served, threads * rounds);
}

// A wait ends while the coroutine is being suspended, or its thread requests a stop.
TEST(CoAcquire, ReleasesBesideTheBeginningOfAWait) {
  object_pool<int> pool(1);
  ends all;
  std::atomic<bool> over{false};
  std::thread other([&] {
    while (!over) {
      const auto lease = pool.try_acquire();
      std::this_thread::yield();
    }
  });
  for (int i = 0; i < 3'000; ++i) {
    wait_once(pool, all, 10s);
  }
  EXPECT_TRUE(eventually([&] { return all.all() == 3'000; }));
  over = true;
  other.join();
  EXPECT_EQ(all.refused, 0);
}

}  // namespace lido::async_tests
