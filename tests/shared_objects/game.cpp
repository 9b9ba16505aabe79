// A module that a host reloads after each build: pools of every kind, used by threads inside it.
#include <atomic>
#include <string>
#include <thread>
#include <vector>

#include "game.hpp"
#include "lido/checked.hpp"
#include "lido/object_pool.hpp"
#include "lido/resource_pool.hpp"
#include "lido/slot_map.hpp"

namespace {

struct particle {
  std::string text;  // so that construction and destruction do something
  int value = 0;
};

struct keeping_traits : lido::pool_traits<particle> {
  using hooks = lido::keep;
};

/// Uses a pool in four threads and the calling one, which ends after the module was unloaded.
template <class Pool>
bool all_come_back(Pool& pool) {
  std::atomic<int> acquired{0};
  const auto work = [&] {
    for (int round = 0; round < 1000; ++round) {
      auto first = pool.acquire();
      const auto second = pool.acquire();
      first->value = second->value + 1;
      first->text = "longer than what a string has room for itself";
      acquired += 2;
    }
  };
  std::vector<std::thread> threads;
  for (int i = 0; i < 4; ++i) {
    threads.emplace_back(work);
  }
  work();
  for (std::thread& thread : threads) {
    thread.join();
  }
  return acquired == 10'000 && pool.stats().in_use == 0;
}

bool objects_come_back() {
  lido::object_pool<particle> plain(64);
  lido::object_pool<particle> waited_for({.capacity = 16, .when_full = lido::when_full::wait});
  lido::object_pool<particle, lido::checked_traits<particle>> checked(64);
  lido::object_pool<particle, keeping_traits> growing(
      {.capacity = 1, .max_capacity = 1000, .when_full = lido::when_full::grow});
  return all_come_back(plain) && all_come_back(waited_for) && all_come_back(checked) &&
         all_come_back(growing);
}

bool others_work() {
  lido::slot_map<particle> particles({.max_size = 16});
  const auto handle = particles.insert(particle{"particle", 1});
  lido::resource_pool<int> connections([] { return 7; }, {.max_size = 2});
  return particles.find(handle) != nullptr && *connections.acquire() == 7;
}

}  // namespace

extern "C" int lido_test_game() {
  return objects_come_back() && others_work() ? version_of_game() : 0;
}
