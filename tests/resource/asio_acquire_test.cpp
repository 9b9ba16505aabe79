#include <gtest/gtest.h>

#include <atomic>
#include <chrono>
#include <future>
#include <optional>
#include <stdexcept>
#include <string>
#include <thread>
#include <utility>

#include "lido/keyed_resource_pool.hpp"
#include "support/addr2line.hpp"
#include "support/asio_fixture.hpp"
#include "support/customers.hpp"
#include "support/settled.hpp"

namespace lido {
namespace {

namespace net = detail_asio::net;
using namespace std::chrono_literals;
using test::asio_outcome;
using test::eventually;
using test::fake_lease;
using test::fake_pool;
using test::never_run;

using AsioAcquire = test::asio_operations;

TEST_F(AsioAcquire, AHandlerRunsWhereItsExecutorSaysAndNotBefore) {
  pool.acquire().reset();
  asio_outcome out;
  ask(context, out.handler());
  EXPECT_EQ(out.calls, 0);
  context.run();
  EXPECT_EQ(out.calls, 1);
  EXPECT_TRUE(out.lease);
}

// Each use is counted, even where a handler gets what its thread had last.
TEST_F(AsioAcquire, CountsEachUseOnce) {
  for (int i = 0; i < 10; ++i) {
    pool.acquire().reset();
    asio_outcome out;
    ask(context, out.handler());
    run_again();
    EXPECT_TRUE(out.lease);
  }
  EXPECT_EQ(pool.stats().acquires, 20U);
}

// The longest times would overflow as nanoseconds.
TEST_F(AsioAcquire, TheLongestTimesNeverEndAndNegativeOnesEndAtOnce) {
  fake_lease held = pool.acquire();
  int served = 0;
  int late = 0;
  const auto handler = [&](asio_error_code error, const fake_lease& lease) {
    ++(lease ? served : late);
    EXPECT_TRUE(lease || error == make_asio_error(acquire_failure::timed_out));
  };
  async_acquire(pool, std::chrono::seconds::max(), net::bind_executor(context, handler));
  async_acquire(pool, std::chrono::hours::max(), net::bind_executor(context, handler));
  async_acquire(pool, -1s, net::bind_executor(context, handler));
  async_acquire(pool, -1h, net::bind_executor(context, handler));
  EXPECT_TRUE(eventually([&] {
    context.poll();
    return late == 2;
  }));
  EXPECT_EQ(served, 0);
  held.reset();
  context.run();
  EXPECT_EQ(served, 2);
  EXPECT_EQ(late, 2);
}

// The default applies even where the handler could run at once: within another handler of its
// executor.
TEST_F(AsioAcquire, AnAcquireWithoutATimeHasTheDefaultTimeout) {
  fake_pool hasty(test::fake_factory{&server}, {.max_size = 1, .acquire_timeout = 2ms});
  EXPECT_EQ(hasty.acquire_timeout(), 2ms);
  const fake_lease held = hasty.acquire_for(20s);  // the machine may be busy
  asio_outcome out;
  async_acquire(hasty, net::bind_executor(context, out.handler()));
  context.run();
  EXPECT_EQ(out.failure, make_asio_error(acquire_failure::timed_out));
  EXPECT_EQ(out.failure.message(), "timed out");
  EXPECT_EQ(std::string(out.failure.category().name()), "lido.acquire");
}

TEST_F(AsioAcquire, AResultHasTheNumbersOfThePool) {
  fake_pool named(test::fake_factory{&server}, {.max_size = 1, .name = "db"});
  fake_lease held;
  async_try_acquire(named, 20s,
                    net::bind_executor(context, [&](acquire_result<test::connection> got) {
                      held = std::move(got).value();
                    }));
  context.run();
  ASSERT_TRUE(held);
  bool called = false;
  async_try_acquire(named, 1ms,
                    net::bind_executor(context, [&](acquire_result<test::connection> got) {
                      called = true;
                      ASSERT_FALSE(got);
                      EXPECT_EQ(got.error().counts().in_use, 1U);
                      EXPECT_EQ(got.error().pool_name(), "db");
                    }));
  run_again();
  EXPECT_TRUE(called);
}

// The caller's key may be destroyed before the wait ends.
TEST_F(AsioAcquire, OperationsWaitForTheirKey) {
  keyed_resource_pool<std::string, std::string> keyed(
      [](const std::string& key) { return key; }, {.max_total = 1, .each_key = {.max_size = 1}});
  resource_lease<std::string> lease;
  asio_error_code error;
  const auto ask_for = [&](const char* key, std::stop_token stop = {}) {
    async_acquire(keyed.at(std::string(key)), 20s,
                  net::bind_executor(context,
                                     [&](asio_error_code why, resource_lease<std::string> got) {
                                       error = why;
                                       lease = std::move(got);
                                     }),
                  std::move(stop));
  };
  for (const char* const key : {"a", "b"}) {
    ask_for(key);
    run_again();
    ASSERT_TRUE(lease);
    EXPECT_EQ(*lease, key);
    lease.reset();
  }
  const auto held = keyed.at("a").acquire();
  std::stop_source stop;
  ask_for("b", stop.get_token());
  stop.request_stop();
  run_again();
  EXPECT_EQ(error, make_asio_error(acquire_failure::cancelled));
}

// Boost.MySQL #487: the server is down, and the error says only that the time was up.
TEST_F(AsioAcquire, AnOperationWithAKeySaysWhyItFailed) {
  keyed_resource_pool<std::string, int> keyed(
      [](const std::string& key) -> int { throw std::runtime_error("no route to " + key); },
      {.each_key = {.name = "hosts", .acquire_timeout = 100ms}});
  std::string why;
  async_try_acquire(keyed.at("db1"), 100ms,
                    net::bind_executor(context, [&](const acquire_result<int>& got) {
                      ASSERT_FALSE(got);
                      why = got.error().what();
                    }));
  run_again();
  EXPECT_NE(why.find("hosts[db1]"), std::string::npos) << why;
  EXPECT_NE(why.find("no route to db1"), std::string::npos) << why;
  asio_error_code error;
  async_acquire(keyed.at("db1"),
                net::bind_executor(context, [&](asio_error_code code, const resource_lease<int>&) {
                  error = code;
                }));
  run_again();
  EXPECT_EQ(error, make_asio_error(acquire_failure::timed_out)) << "the pool's acquire_timeout";
}

TEST_F(AsioAcquire, ACloseWaitsForLeasesAndBlocksNoThread) {
  fake_lease held = pool.acquire();
  std::optional<close_report> report;
  async_close(pool, 20s,
              net::bind_executor(context, [&](close_report got) { report = std::move(got); }));
  EXPECT_TRUE(eventually([&] { return !pool.try_acquire(); }));
  context.poll();
  EXPECT_FALSE(report);
  held.reset();
  context.run();
  ASSERT_TRUE(report);
  EXPECT_TRUE(report->complete());
}

TEST_F(AsioAcquire, NoHandlerRunsInAnAcquireOrARelease) {
  pool.acquire().reset();
  asio_outcome out;
  net::post(context, [&] {
    ask(context, out.handler());
    EXPECT_EQ(out.calls, 0) << "in the acquire";
  });
  context.run();
  EXPECT_EQ(out.calls, 1);
  fake_lease held = std::move(out.lease);
  ask(context, out.handler());
  net::post(context, [&] {
    held.reset();
    EXPECT_EQ(out.calls, 1) << "in the release";
  });
  run_again();
  EXPECT_EQ(out.calls, 2);
}

TEST_F(AsioAcquire, HandlersOfOneStrandDoNotOverlap) {
  pool.resize(4);
  net::thread_pool threads(4);
  auto strand = net::make_strand(threads);
  int served = 0;  // changed in the strand only
  for (int i = 0; i < 500; ++i) {
    ask(strand, [&](asio_error_code, fake_lease lease) {
      EXPECT_TRUE(strand.running_in_this_thread());
      served += lease ? 1 : 0;
    });
  }
  threads.join();
  EXPECT_EQ(served, 500);
}

// Threads and coroutines that do not use Asio wait in the same queue.
TEST_F(AsioAcquire, A6OperationsAreServedInTheOrderOfArrival) {
  using test::way_to_wait;
  net::thread_pool threads(1);
  test::customers all(pool);
  fake_lease held = pool.acquire();
  for (const way_to_wait next : {way_to_wait::thread, way_to_wait::coroutine}) {
    all.join([&](auto serve) {
      ask(threads, [serve](asio_error_code, fake_lease got) { serve(std::move(got)); });
    });
    all.join(next);
  }
  held.reset();
  EXPECT_EQ(all.served(), all.joined());
  threads.join();
}

TEST_F(AsioAcquire, AFutureGetsALeaseOrTheError) {
  const fake_lease lease = async_acquire(pool, 10s, net::use_future).get();
  ASSERT_TRUE(lease);
  EXPECT_EQ(lease->id, 1);
  // Shared, so that it keeps the error: ThreadSanitizer does not see the error's reference count.
  const std::shared_future<fake_lease> late = async_acquire(pool, 2ms, net::use_future).share();
  try {
    (void)late.get();
    FAIL() << "no resource was free";
  } catch (const std::runtime_error& error) {
    EXPECT_NE(std::string(error.what()).find("timed out"), std::string::npos) << error.what();
  }
}

TEST_F(AsioAcquire, ALeaseNamesTheFileThatAcquiredIt) {
  const fake_lease lease = async_acquire(pool, 10s, net::use_future).get();
  const std::string place = test::resolve(pool.leases().front().where());
  EXPECT_NE(place.find("asio_acquire_test.cpp"), std::string::npos) << place;
}

#if defined(LIDO_TEST_ASIO_COROUTINES)
net::awaitable<void> use_once(fake_pool& pool, std::atomic<int>& out, std::atomic<int>& done) {
  const fake_lease lease = co_await async_acquire(pool, 100s, net::use_awaitable);
  EXPECT_LE(++out, 3);
  EXPECT_TRUE(lease);
  ++done;
  --out;
}

net::awaitable<int> id_of(test::connection& used) {
  co_return used.id;
}
net::awaitable<void> fail_with(test::connection& /*used*/) {
  throw std::runtime_error("in the middle");
  co_return;
}
net::awaitable<void> use_and_fail(fake_pool& pool, int& id) {
  id = co_await async_with(pool, 20s, &id_of);
  co_await async_with(pool, 20s, &fail_with);
}

TEST_F(AsioAcquire, WithDiscardsTheResourceAfterAnException) {
  int id = 0;
  std::exception_ptr thrown;
  net::co_spawn(context, use_and_fail(pool, id),
                [&](const std::exception_ptr& error) { thrown = error; });
  context.run();
  EXPECT_EQ(id, 1);
  EXPECT_TRUE(thrown);
  EXPECT_EQ(pool.stats().acquires, 2U);
  EXPECT_EQ(test::settled(pool).destroyed_for(destroy_reason::discarded), 1U);
}

/// A factory that keeps a connection after any exception.
struct lenient_factory : test::fake_factory {
  [[nodiscard]] static bool is_clean_after(test::connection& /*used*/,
                                           const std::exception& /*thrown*/) {
    return true;
  }
};

TEST_F(AsioAcquire, WithKeepsAResourceThatTheFactoryCallsClean) {
  fake_pool lenient(lenient_factory{{&server}}, {.max_size = 1});
  int id = 0;
  std::exception_ptr thrown;
  net::co_spawn(context, use_and_fail(lenient, id),
                [&](const std::exception_ptr& error) { thrown = error; });
  context.run();
  EXPECT_TRUE(thrown);
  EXPECT_EQ(test::settled(lenient).destroyed_for(destroy_reason::discarded), 0U);
}

net::awaitable<int> length_of(std::string& used) {
  co_return static_cast<int>(used.size());
}
// The views and their keys are gone when the coroutine resumes.
TEST_F(AsioAcquire, WithFindsItsKeyLater) {
  keyed_resource_pool<std::string, std::string> keyed([](const std::string& key) { return key; });
  int length = 0;
  auto later = async_with(keyed.at(std::string(40, 'k')), 20s, &length_of);
  net::co_spawn(context, std::move(later),
                [&](const std::exception_ptr& error, int got) { length = error ? -1 : got; });
  context.run();
  EXPECT_EQ(length, 40);
}

TEST_F(AsioAcquire, CoroutinesOfSeveralThreadsTakeTurns) {
  pool.resize(3);
  std::atomic<int> out{0};
  std::atomic<int> done{0};
  net::thread_pool threads(4);
  for (int i = 0; i < 1000; ++i) {
    net::co_spawn(threads, use_once(pool, out, done), net::detached);
  }
  threads.join();
  EXPECT_EQ(done, 1000);
}
#endif

// djc/bb8 #67, boostorg/mysql #509: a cancelled operation swallows a resource, or a wake-up.
TEST_F(AsioAcquire, A1A2AStoppedOperationSwallowsNothing) {
  net::thread_pool threads(3);
  for (int i = 0; i < 200; ++i) {
    fake_lease held = pool.acquire();
    std::stop_source stop;
    asio_outcome stopped;
    asio_outcome other;
    ask(threads, stopped.handler(), stop.get_token());
    ask(threads, other.handler());
    net::post(threads, [stop]() mutable { stop.request_stop(); });
    held.reset();
    // The operation that is served gives the resource back for the other one.
    ASSERT_TRUE(eventually([&] { return stopped.calls == 1; }));
    EXPECT_TRUE(stopped.lease || stopped.failure == make_asio_error(acquire_failure::cancelled));
    stopped.lease.reset();
    ASSERT_TRUE(eventually([&] { return other.calls == 1; }));
    EXPECT_TRUE(other.lease);
  }
  threads.join();
  EXPECT_TRUE(pool.acquire_for(10s));
}

// boostorg/mysql #370: the end of the pool left operations waiting.
TEST_F(AsioAcquire, G2TheEndOfThePoolEndsOperations) {
  net::thread_pool threads(2);
  std::atomic<int> ended{0};
  {
    fake_pool ending(test::fake_factory{&server}, {.max_size = 1});
    fake_lease held = ending.acquire();
    for (int i = 0; i < 10; ++i) {
      async_acquire(ending, 100s,
                    net::bind_executor(threads, [&](asio_error_code error, const fake_lease&) {
                      EXPECT_EQ(error, make_asio_error(acquire_failure::closed));
                      ++ended;
                    }));
    }
    (void)ending.close(0s);
  }
  threads.join();
  EXPECT_EQ(ended, 10);
}

TEST_F(AsioAcquire, AContextThatEndsFirstReleasesTheLease) {
  pool.acquire().reset();
  {
    net::io_context gone;
    ask(gone, never_run());
    EXPECT_FALSE(pool.try_acquire());
  }
  EXPECT_TRUE(pool.try_acquire_for(10s));
}

TEST_F(AsioAcquire, AContextMayEndBeforeTheWait) {
  fake_lease held = pool.acquire();
  const auto kept = std::make_shared<int>(1);
  {
    net::io_context gone;
    for (int i = 0; i < 3; ++i) {
      ask(gone, never_run(kept));
    }
    EXPECT_EQ(kept.use_count(), 4);
  }
  EXPECT_EQ(kept.use_count(), 1);  // handlers are destroyed with their context
  held.reset();
  EXPECT_TRUE(pool.acquire_for(10s));
}

// Waiters of a destroyed context leave the queue, and no resource is made for them.
TEST_F(AsioAcquire, A10TheEndOfAContextEndsItsWaits) {
  fake_pool crowded(test::fake_factory{&server}, {.max_size = 1, .max_waiters = 2});
  fake_lease held = crowded.acquire();
  {
    net::io_context gone;
    for (int i = 0; i < 2; ++i) {
      async_acquire(crowded, 1h, net::bind_executor(gone, never_run()));
    }
    EXPECT_EQ(crowded.stats().waiting, 2U);
  }
  EXPECT_EQ(crowded.stats().waiting, 0U);
  held.discard();
  EXPECT_TRUE(eventually([&] { return crowded.stats().live == 0; }));
  EXPECT_EQ(server.creates, 1);
}

// Each handler either runs or is destroyed with its context, and no resource is lost.
TEST_F(AsioAcquire, AContextMayEndBesideTheEndOfTheWait) {
  pool.resize(2);
  for (int round = 0; round < 200; ++round) {
    fake_lease held = pool.acquire_for(10s);
    fake_lease other = pool.acquire_for(10s);
    std::jthread releasing;
    {
      net::io_context gone;
      for (int i = 0; i < 4; ++i) {
        ask(gone, [](asio_error_code, fake_lease) {});
      }
      releasing = std::jthread([held = std::move(held), other = std::move(other)]() mutable {
        held.reset();
        other.reset();
      });
      if (round % 2 == 0) {
        gone.poll();
      }
    }
  }
  EXPECT_TRUE(pool.acquire_for(10s));
}

}  // namespace
}  // namespace lido
