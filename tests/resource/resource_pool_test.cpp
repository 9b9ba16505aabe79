#include <gtest/gtest.h>

#include <chrono>
#include <cmath>
#include <cstdint>
#include <stdexcept>
#include <string>
#include <utility>
#include <vector>

#include "support/crew.hpp"
#include "support/resource_fixtures.hpp"

namespace lido {
namespace {

using namespace std::chrono_literals;
using test::fake_lease;
using test::fake_pool;

/// Makes all that the pool may have, and puts them back.
void fill(fake_pool& pool, std::size_t size) {
  std::vector<fake_lease> held;
  while (held.size() < size) {
    if (fake_lease lease = pool.try_acquire()) {
      held.push_back(std::move(lease));
    }
    pool.tick();
  }
  held.clear();
  EXPECT_TRUE(test::eventually([&] { return pool.stats().idle == size; }));
}

/// How often the mutex was taken while two threads used what was idle, that of one `stats()` not
/// counted.
std::uint64_t locks_of_two_threads(fake_pool& pool, int uses) {
  const std::uint64_t before = pool.stats().mutex_locks;
  test::run_crew(2, [&](unsigned /*thread*/) {
    for (int i = 0; i < uses; ++i) {
      EXPECT_TRUE(pool.acquire());
      const fake_lease taken = pool.try_acquire();
      EXPECT_TRUE(taken);
    }
  });
  return pool.stats().mutex_locks - before - 1;
}

TEST(ResourcePool, AnIdleResourceCostsNoMutex) {
  for (const maintenance mode : {maintenance::by_tick, maintenance::by_callers}) {
    test::fake_server server;
    test::manual_clock clock;
    fake_pool pool(test::fake_factory{&server}, {.max_size = 4, .upkeep = mode, .clock = &clock});
    fill(pool, 4);
    EXPECT_EQ(locks_of_two_threads(pool, 1000), 0U);
  }
}

// The threads of the pool take it some times a second, however often others use what is idle.
TEST(ResourcePool, AnIdleResourceCostsNoMutexBesideThreadsOfThePool) {
  constexpr int uses = 50'000;
  test::fake_server server;
  fake_pool pool(test::fake_factory{&server}, {.max_size = 4, .validate_if_idle_longer_than = 1h});
  fill(pool, 4);
  const auto begin = std::chrono::steady_clock::now();
  const std::uint64_t locks = locks_of_two_threads(pool, uses);
  const std::chrono::duration<double> time = std::chrono::steady_clock::now() - begin;
  EXPECT_LT(static_cast<double>(locks), 100 * (1 + time.count()));
}

std::string refusal_of(const resource_pool_options& options) {
  test::fake_server server;
  try {
    const fake_pool pool(test::fake_factory{&server}, options);
  } catch (const std::invalid_argument& error) {
    return error.what();
  }
  return "";
}

TEST(ResourcePool, WrongOptionsAreRefusedByName) {
  const auto names = [](const std::string& text, const char* option) {
    return text.find("'db'") != std::string::npos && text.find(option) != std::string::npos;
  };
  EXPECT_TRUE(names(refusal_of({.max_size = 70000, .name = "db"}), "max_size 70000"));
  EXPECT_TRUE(names(refusal_of({.max_size = 1, .min_idle = 2, .name = "db"}), "min_idle 2"));
  EXPECT_TRUE(names(refusal_of({.name = "db", .acquire_timeout = 0s}), "acquire_timeout"));
  EXPECT_TRUE(names(refusal_of({.name = "db", .create_timeout = -1s}), "create_timeout"));
  EXPECT_TRUE(names(refusal_of({.name = "db", .validate_timeout = 0s}), "validate_timeout"));
  EXPECT_TRUE(names(refusal_of({.name = "db", .idle_timeout = -1s}), "idle_timeout"));
  EXPECT_TRUE(names(refusal_of({.name = "db", .max_lifetime = -1s}), "max_lifetime"));
  EXPECT_TRUE(names(refusal_of({.name = "db", .lifetime_jitter = 1.5}), "lifetime_jitter"));
  EXPECT_TRUE(
      names(refusal_of({.name = "db", .lifetime_jitter = std::nan("")}), "lifetime_jitter"));
  EXPECT_TRUE(names(refusal_of({.name = "db", .retry_first = 0s}), "retry_first"));
  EXPECT_TRUE(
      names(refusal_of({.name = "db", .retry_first = 2s, .retry_longest = 1s}), "retry_longest"));
  EXPECT_TRUE(names(refusal_of({.name = "db", .close_timeout = -1s}), "close_timeout"));
}

// What a factory need not have, and what a resource need not be.
struct immovable {
  explicit immovable(int start) : value(start) {}
  immovable(const immovable&) = delete;
  immovable& operator=(const immovable&) = delete;
  ~immovable() = default;
  int value;
};

TEST(ResourcePool, AFunctionIsAFactoryAndResourcesNeedNotMove) {
  resource_pool<immovable> pool([] { return immovable(42); }, {.upkeep = maintenance::by_callers});
  EXPECT_EQ(pool.acquire()->value, 42);
  EXPECT_EQ(pool.with([](immovable& resource) { return resource.value; }), 42);
}

TEST(ResourcePool, ThreadsLookAfterAQuarterOfTheSmallestLimit) {
  const auto period = [](std::chrono::nanoseconds limit) {
    const resource_pool_options options{.idle_timeout = limit,
                                        .max_lifetime = 0s,
                                        .keepalive = 0s,
                                        .validate_if_idle_longer_than = 0s};
    return std::chrono::nanoseconds(detail::pool_settings(options).period);
  };
  EXPECT_EQ(period(400ms), 100ms);
  EXPECT_EQ(period(1ms), 1ms);
  EXPECT_EQ(period(1h), 1s);
  EXPECT_EQ(period(0s), 1s);
}

struct careless : std::exception {
  [[nodiscard]] const char* what() const noexcept override { return nullptr; }
};

TEST(ResourcePool, AnErrorWithoutATextIsToldWithoutOne) {
  resource_pool<int> pool([]() -> int { throw careless(); }, {.max_size = 1});
  EXPECT_THROW((void)pool.acquire_for(10ms), acquire_error);
}

// As a pointer to an interface of COM does.
struct secretive {
  int secret = 5;
  int* operator&() { return &secret; }  // NOLINT(google-runtime-operator): what is tested
};

TEST(ResourcePool, AnAddressOfOperatorIsNotAsked) {
  resource_pool<secretive> pool([] { return secretive(); }, {.max_size = 1});
  const auto lease = pool.acquire();
  secretive* const resource = lease.get();
  EXPECT_EQ(resource->secret, lease->secret);
}

// What is kept idle is not looked at one by one with a count of all.
TEST(ResourcePool, WhatIsKeptForLongCostsASweepNoMutex) {
  constexpr std::size_t size = 100;
  test::fake_server server;
  test::manual_clock clock;
  fake_pool pool(test::fake_factory{&server}, {.max_size = size,
                                               .min_idle = size,
                                               .idle_timeout = 10s,
                                               .keepalive = 0s,
                                               .upkeep = maintenance::by_tick,
                                               .clock = &clock});
  pool.tick();
  ASSERT_EQ(pool.stats().idle, size);
  clock.advance(11s);
  pool.tick();
  const std::uint64_t before = pool.stats().mutex_locks;
  pool.tick();
  EXPECT_LT(pool.stats().mutex_locks - before, size / 4);
  EXPECT_EQ(server.destroyed_for(destroy_reason::idle_too_long), 0);
}

}  // namespace
}  // namespace lido
