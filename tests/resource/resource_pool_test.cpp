#include <gtest/gtest.h>

#include <cmath>
#include <cstdint>
#include <stdexcept>
#include <string>

#include "support/crew.hpp"
#include "support/resource_fixtures.hpp"

namespace lido {
namespace {

using namespace std::chrono_literals;
using test::fake_lease;
using test::fake_pool;

TEST(ResourcePool, AnIdleResourceCostsNoMutex) {
  for (const maintenance mode : {maintenance::by_tick, maintenance::by_callers}) {
    test::fake_server server;
    test::manual_clock clock;
    fake_pool pool(test::fake_factory{&server}, {.max_size = 4, .upkeep = mode, .clock = &clock});
    while (!pool.try_acquire()) {
      pool.tick();
    }
    const std::uint64_t before = pool.stats().mutex_locks;
    for (int i = 0; i < 1000; ++i) {
      EXPECT_TRUE(pool.acquire());
      const fake_lease taken = pool.try_acquire();
      EXPECT_TRUE(taken);
    }
    EXPECT_EQ(pool.stats().mutex_locks, before + 1);  // that of the first stats()
  }
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

}  // namespace
}  // namespace lido
