// Room that goes from key to key while nobody ticks.
#include <gtest/gtest.h>

#include <chrono>
#include <stdexcept>
#include <string>

#include "lido/keyed_resource_pool.hpp"
#include "support/fake_server.hpp"

namespace lido {
namespace {

using namespace std::chrono_literals;

using keyed_pool = keyed_resource_pool<std::string, int>;

struct weak_dialer {
  const bool* down;

  static bool validate(int& /*idle*/, const create_context& context) {
    return context.deadline > std::chrono::steady_clock::now() + 1s;
  }
  [[nodiscard]] int create(const std::string& host) const {
    if (host == "weak" && *down) {
      throw std::runtime_error("no route");
    }
    return 1;
  }
};

TEST(KeyedRoom, WhoGivesNoTimeHasThatOfOneValidation) {
  const bool down = false;
  keyed_pool pool(weak_dialer{&down}, {.max_total = 1,
                                       .each_key = {.max_size = 1,
                                                    .validate_if_idle_longer_than = 0ns,
                                                    .upkeep = maintenance::by_callers}});
  EXPECT_NO_THROW((void)pool.acquire("a"));
  EXPECT_NO_THROW((void)pool.acquire_for("a", 0s));
  EXPECT_TRUE(pool.try_acquire("a"));
  EXPECT_EQ(pool.stats("a")->created, 1U);
}

// The time of its next try is over before it sleeps, so that no sleep times out. What the key had
// room for has gone to another key meanwhile.
TEST(KeyedRoom, B6WhoseNextTryIsDueAtOnceLooksForRoom) {
  test::manual_clock clock;
  bool down = true;
  keyed_pool* all = nullptr;
  const auto on_event = [&](const pool_event& /*failed*/) {
    EXPECT_NO_THROW((void)all->acquire_for("strong", 10s));  // and keeps its room idle
    down = false;
    clock.advance(2h);
  };
  keyed_pool pool(weak_dialer{&down}, {.max_total = 1,
                                       .each_key = {.max_size = 1,
                                                    .retry_first = 1h,
                                                    .retry_longest = 1h,
                                                    .on_event = on_event,
                                                    .upkeep = maintenance::by_callers,
                                                    .clock = &clock}});
  all = &pool;
  EXPECT_NO_THROW((void)pool.acquire_for("weak", 10s));
  EXPECT_FALSE(down);
}

}  // namespace
}  // namespace lido
