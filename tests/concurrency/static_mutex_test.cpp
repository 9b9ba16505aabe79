#include <gtest/gtest.h>

#include <chrono>
#include <cstdint>
#include <mutex>
#include <thread>

#include "../../src/platform/platform.hpp"
#include "support/crew.hpp"

namespace lido::detail::platform {
namespace {

constinit static_mutex constant;

TEST(StaticMutex, IsFreeBeforeAnyConstructorRan) {
  EXPECT_TRUE(constant.try_lock());
  constant.unlock();
}

TEST(StaticMutex, HasOneOwner) {
  static_mutex mutex;
  const std::unique_lock owner(mutex);
  EXPECT_FALSE(mutex.try_lock());
}

TEST(StaticMutex, CountsOfManyThreadsAreExact) {
  constexpr std::uint32_t rounds = 20'000;
  static_mutex mutex;
  std::uint32_t count = 0;
  test::run_crew(4, [&](unsigned /*index*/) {
    for (std::uint32_t i = 0; i < rounds; ++i) {
      const std::lock_guard guard(mutex);
      ++count;
    }
  });
  EXPECT_EQ(count, 4 * rounds);
}

// Each of them sleeps, and an unlock wakes one: none may be left asleep.
TEST(StaticMutex, AllThatSleepGetIt) {
  static_mutex mutex;
  std::uint32_t count = 0;
  mutex.lock();
  test::run_crew(5, [&](unsigned index) {
    if (index == 0) {
      std::this_thread::sleep_for(std::chrono::milliseconds(20));
      mutex.unlock();
    } else {
      const std::lock_guard guard(mutex);
      ++count;
    }
  });
  EXPECT_EQ(count, 4U);
}

}  // namespace
}  // namespace lido::detail::platform
