/// @file
/// All that can be done to a pool with one lease so that somebody else can be served.
#pragma once

#include <gtest/gtest.h>

#include <chrono>
#include <functional>
#include <vector>

#include "support/fake_server.hpp"

namespace lido::test {

struct way_to_make_room {
  const char* name;
  std::function<void(fake_pool&, fake_lease&)> make_room;
  resource_pool_options options = {.max_size = 1};
};

/// By the holder of the lease.
inline std::vector<way_to_make_room> ways_of_users(fake_server& server) {
  return {{"release", [](fake_pool&, fake_lease& lease) { lease.reset(); }},
          {"discard", [](fake_pool&, fake_lease& lease) { lease.discard(); }},
          {"detach",
           [&server](fake_pool&, fake_lease& lease) {
             (void)lease.detach();
             --server.alive;
           }},
          {"refused reset",
           [&server](fake_pool&, fake_lease& lease) {
             server.refuse_reset = true;
             lease.reset();
             server.refuse_reset = false;
           }},
          {"last use",
           [](fake_pool& pool, fake_lease& lease) {
             lease.reset();
             EXPECT_GE(pool.stats().destroyed_for(destroy_reason::used_up), 1U);
           },
           {.max_size = 1, .max_uses = 1}}};
}

/// By the code that controls the pool.
inline std::vector<way_to_make_room> ways_of_control(fake_server& server) {
  return {{"kill",
           [](fake_pool& pool, fake_lease& lease) {
             EXPECT_TRUE(pool.kill(lease.handle()));
             lease.reset();
           }},
          {"flush",
           [](fake_pool& pool, fake_lease& lease) {
             pool.flush();
             lease.reset();
           }},
          {"resume with one idle",
           [](fake_pool& pool, fake_lease& lease) {
             pool.suspend();
             lease.reset();
             EXPECT_EQ(pool.stats().idle, 1U);
             pool.resume();
           }},
          {"resume with none",
           [](fake_pool& pool, fake_lease& lease) {
             pool.suspend();
             lease.discard();
             pool.resume();
           }},
          {"another factory",
           [&server](fake_pool& pool, fake_lease& lease) {
             pool.replace_factory(fake_factory{&server});
             lease.reset();
           }},
          {"resize", [](fake_pool& pool, fake_lease&) { pool.resize(2); }}};
}

inline std::vector<way_to_make_room> ways_to_make_room(fake_server& server, manual_clock& clock) {
  std::vector<way_to_make_room> all = ways_of_users(server);
  for (const way_to_make_room& way : ways_of_control(server)) {
    all.push_back(way);
  }
  all.push_back({"end of a lifetime",
                 [&clock](fake_pool& pool, fake_lease& lease) {
                   clock.advance(std::chrono::hours(2));
                   pool.tick();
                   lease.reset();
                   EXPECT_GE(pool.stats().destroyed_for(destroy_reason::too_old), 1U);
                 },
                 {.max_size = 1, .max_lifetime = std::chrono::hours(1), .clock = &clock}});
  return all;
}

}  // namespace lido::test
