// What the pool calls because of the time may wait for what only the time brings.
#include <gtest/gtest.h>

#include <algorithm>
#include <array>
#include <atomic>
#include <chrono>
#include <cstddef>
#include <exception>
#include <thread>

#include "support/fake_server.hpp"

namespace lido {
namespace {

using namespace std::chrono_literals;
using test::eventually;
using test::fake_factory;
using test::fake_lease;
using test::fake_pool;

class ResourceTimekeeping : public testing::Test {
 protected:
  // NOLINTNEXTLINE(*-non-private-member-variables-in-classes): what each test sets
  test::fake_server server_;
};

TEST_F(ResourceTimekeeping, ACallbackThatIsToldItIsTooLateMayWaitForTheNextTry) {
  std::atomic<bool> told{false};
  std::atomic<bool> served{false};
  server_.down = true;
  fake_pool pool(fake_factory{&server_}, {.max_size = 1, .retry_first = 300ms});
  pool.async_acquire(
      [&](fake_lease lease, const std::exception_ptr& error) {
        EXPECT_FALSE(lease);
        EXPECT_TRUE(error);
        server_.down = false;
        EXPECT_NO_THROW(served = static_cast<bool>(pool.acquire_for(10s)));
        told = true;
      },
      100ms);
  EXPECT_TRUE(eventually([&] { return told.load(); }));
  EXPECT_TRUE(served);
}

TEST_F(ResourceTimekeeping, AReportMayWaitForTheNextTry) {
  std::atomic<bool> told{false};
  std::atomic<bool> served{false};
  fake_pool* self = nullptr;
  const auto on_event = [&](const pool_event& event) {
    if (event.what == pool_event::kind::slow_lease) {
      EXPECT_NO_THROW(served = static_cast<bool>(self->acquire_for(10s)));
      told = true;
    } else if (event.what == pool_event::kind::create_failed) {
      server_.down = false;
    }
  };
  fake_pool pool(
      fake_factory{&server_},
      {.max_size = 2, .retry_first = 300ms, .report_slow_after = 50ms, .on_event = on_event});
  self = &pool;
  const fake_lease held = pool.acquire_for(10s);
  server_.down = true;
  EXPECT_TRUE(eventually([&] { return told.load(); }));
  EXPECT_TRUE(served);
}

// Nor does such a callback hold up what else there is to do.
TEST_F(ResourceTimekeeping, WhileACallbackIsToldIdleResourcesEnd) {
  std::atomic<bool> told{false};
  std::atomic<bool> ended{false};
  fake_pool pool(fake_factory{&server_}, {.max_size = 2, .idle_timeout = 20ms});
  const fake_lease held = pool.acquire_for(10s);
  fake_lease other = pool.acquire_for(10s);
  pool.async_acquire(
      [&](const fake_lease& /*none*/, const std::exception_ptr& error) {
        EXPECT_TRUE(error);
        other.reset();
        ended = eventually([&] { return pool.stats().live == 1; });
        told = true;
      },
      10ms);
  EXPECT_TRUE(eventually([&] { return told.load(); }));
  EXPECT_TRUE(ended);
}

// As many as there are threads for creates, questions and a sweep.
TEST_F(ResourceTimekeeping, WhereAllThreadsAreInCodeOfUsersACallbackIsToldAllTheSame) {
  constexpr std::size_t all = 4;
  std::atomic<bool> told{false};
  fake_pool pool(fake_factory{&server_}, {.max_size = 8,
                                          .validate_if_idle_longer_than = 0ns,
                                          .max_creating = 1,
                                          .retry_first = 1h,
                                          .retry_longest = 1h});
  {
    std::array<fake_lease, all> leases;
    std::generate(leases.begin(), leases.end(), [&] { return pool.acquire_for(10s); });
  }
  server_.broken = true;
  server_.down = true;
  server_.slow_destroy = true;
  pool.async_acquire(
      [&](const fake_lease& /*none*/, const std::exception_ptr& error) {
        EXPECT_TRUE(error);
        told = true;
      },
      500ms);
  EXPECT_TRUE(eventually([&] { return pool.stats().closing == all; }))
      << "not all threads are busy";
  EXPECT_TRUE(eventually([&] { return told.load(); }));
  server_.slow_destroy = false;
}

}  // namespace
}  // namespace lido
