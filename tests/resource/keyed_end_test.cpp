// The end of a keyed pool beside those who are still with it.
#include <gtest/gtest.h>

#include <atomic>
#include <chrono>
#include <memory>
#include <stdexcept>
#include <string>
#include <thread>
#include <vector>

#include "lido/keyed_resource_pool.hpp"
#include "support/fake_server.hpp"

namespace lido {
namespace {

using namespace std::chrono_literals;
using test::eventually;
using keyed_pool = keyed_resource_pool<std::string, int>;

/// How a wait ends in another thread.
acquire_failure failure_of(keyed_pool& pool, const char* key) {
  try {
    (void)pool.acquire_for(key, 20s);
  } catch (const acquire_error& error) {
    return error.cause();
  }
  ADD_FAILURE() << "nothing was there to be had";
  return acquire_failure::timed_out;
}

class KeyedEnd : public ::testing::TestWithParam<maintenance> {};

// bb8 #221, as resource_pool: those who wait get an error, and need nothing of the pool for that.
TEST_P(KeyedEnd, G2WaitersGetAnError) {
  for (int round = 0; round < 20; ++round) {
    auto pool = std::make_unique<keyed_pool>(
        [](const std::string&) -> int { throw std::runtime_error("down"); },
        keyed_resource_pool_options{
            .max_total = 4, .each_key = {.max_size = 2, .retry_first = 5s, .upkeep = GetParam()}});
    std::vector<std::jthread> waiters;
    for (const char* key : {"a", "b", "a", "b"}) {
      waiters.emplace_back(
          [&all = *pool, key] { EXPECT_EQ(failure_of(all, key), acquire_failure::closed); });
    }
    ASSERT_TRUE(eventually([&] { return pool->stats().waiters == 4; }));
    std::this_thread::sleep_for(1ms);
    pool.reset();
  }
}

INSTANTIATE_TEST_SUITE_P(Modes, KeyedEnd,
                         ::testing::Values(maintenance::background, maintenance::by_tick));

}  // namespace
}  // namespace lido
