// As resource_reentry_test.cpp, with keys: no code of the user runs under a lock.
#include <gtest/gtest.h>

#include <set>
#include <stdexcept>
#include <stop_token>
#include <string>

#include "lido/keyed_resource_pool.hpp"
#include "support/crew.hpp"
#include "support/fake_server.hpp"

namespace lido {
namespace {

using namespace std::chrono_literals;

enum class call { create, validate, reset, destroy, event };

using nosy_pool = keyed_resource_pool<std::string, int>;

struct visitor {
  nosy_pool* pool = nullptr;
  std::set<call> seen;
  bool down = false;
  std::stop_source told;  ///< asked to stop by an event

  void visit(call from) {
    if (pool == nullptr || inside_) {
      return;
    }
    inside_ = true;
    test::run_in_new_thread([this] { use(); });
    inside_ = false;
    seen.insert(from);
  }

  void hear() {
    visit(call::event);
    told.request_stop();
  }

  void use() const {
    (void)pool->stats();
    (void)pool->stats_by_key();
    (void)pool->leases();
    for (const char* key : {"a", "b", "new"}) {
      (void)pool->stats(key);
      (void)pool->kill(key, {.place = 0, .birth = 0});
      (void)pool->try_acquire(key);
      try {
        (void)pool->acquire_for(key, 0ns);
      } catch (const acquire_error&) {  // there may be no room
      }
    }
    pool->tick();
    pool->flush("new");  // not what is just being made: that would go at once, for ever
  }

 private:
  bool inside_ = false;
};

struct nosy_factory {
  visitor* guest;

  [[nodiscard]] int create(const std::string& /*key*/) const {
    guest->visit(call::create);
    if (guest->down) {
      throw std::runtime_error("refused");
    }
    return 1;
  }
  bool validate(int& /*resource*/) const {
    guest->visit(call::validate);
    return true;
  }
  bool reset(int& /*resource*/) const {
    guest->visit(call::reset);
    return true;
  }
  void destroy(int& /*resource*/, destroy_reason /*why*/) const noexcept {
    guest->visit(call::destroy);
  }
};

TEST(KeyedReentry, EveryFunctionMayUseThePool) {
  test::manual_clock clock;
  visitor guest;
  nosy_pool pool(nosy_factory{&guest},
                 {.max_total = 2,
                  .each_key = {.max_size = 2,
                               .on_event = [&](const pool_event&) { guest.hear(); },
                               .upkeep = maintenance::by_tick,
                               .clock = &clock}});
  guest.pool = &pool;
  (void)pool.acquire("a");
  EXPECT_TRUE(guest.seen.contains(call::create));
  EXPECT_TRUE(guest.seen.contains(call::reset));
  clock.advance(1s);
  (void)pool.acquire("a");
  EXPECT_TRUE(guest.seen.contains(call::validate));

  // Room for another key, made by ending what is idle.
  guest.pool = nullptr;
  for (const auto& lease : {pool.acquire("a"), pool.acquire("a")}) {
    EXPECT_TRUE(lease);
  }
  guest.pool = &pool;
  guest.seen.clear();
  (void)pool.acquire("b");
  EXPECT_TRUE(guest.seen.contains(call::destroy));

  guest.seen.clear();
  pool.acquire("b").discard();
  EXPECT_TRUE(guest.seen.contains(call::destroy));

  guest.seen.clear();
  guest.down = true;
  pool.flush();
  guest.told = std::stop_source();
  EXPECT_THROW((void)pool.acquire_for("a", 60s, guest.told.get_token()), acquire_error);
  EXPECT_TRUE(guest.seen.contains(call::event));
  guest.pool = nullptr;
}

}  // namespace
}  // namespace lido
