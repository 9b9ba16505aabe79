// Pools of every kind with known numbers and holders, in a program that then ends by abort.
#include <cstdlib>
#include <thread>
#include <vector>

#include "lido/block_resource.hpp"
#include "lido/checked.hpp"
#include "lido/concurrent_slot_map.hpp"
#include "lido/keyed_resource_pool.hpp"
#include "lido/object_pool.hpp"
#include "lido/registry.hpp"
#include "lido/resource_pool.hpp"

namespace {

struct job {
  long number;
};
using checked_pool = lido::object_pool<job, lido::checked_traits<job>>;

lido::registry others;

[[gnu::noinline]] lido::resource_lease<int> connect_for_the_test(lido::resource_pool<int>& from) {
  return from.acquire();  // a connection
}

[[gnu::noinline]] lido::lease<job, lido::checked_traits<job>> take_checked_job(checked_pool& from) {
  return from.acquire();  // a checked job
}

// Not always, or the compiler would put the call apart from main.
volatile bool stops = true;
[[gnu::noinline]] void stop_here() {
  if (stops) {
    std::abort();
  }
}

}  // namespace

int main() {
  auto* const all = &lido::registry::global();
  lido::object_pool<job> jobs{{.capacity = 100, .name = "jobs", .registry = all}};
  auto first = jobs.acquire();
  auto second = jobs.acquire();
  static lido::lease<job> none;  // not optimised out
  std::vector<lido::lease<job>> gone;
  // A thread that ends leaves what it holds, and nothing in a cache.
  std::thread([&] { gone.push_back(jobs.acquire()); }).join();

  lido::object_pool<job> tokens{
      {.capacity = 1, .name = "tokens", .registry = all, .when_full = lido::when_full::wait}};
  auto token = tokens.acquire();
  std::thread([&] { (void)tokens.acquire(); }).detach();
  while (tokens.stats().waiting == 0) {
    std::this_thread::yield();
  }

  checked_pool checked{{.capacity = 10, .name = "checked", .registry = all}};
  auto watched = take_checked_job(checked);

  lido::object_pool<job> locked{
      {.capacity = 500, .name = "locked", .registry = all, .caches = lido::cache_kind::locked}};
  auto third = locked.acquire();

  lido::resource_pool<int> db{[] { return 1; }, {.max_size = 4, .name = "db", .registry = all}};
  auto lent = connect_for_the_test(db);
  auto idle = db.acquire();
  idle.reset();

  lido::keyed_resource_pool<int, int> hosts{
      [](int key) { return key; },
      {.max_total = 8, .each_key = {.max_size = 2, .name = "hosts", .registry = all}}};
  auto host = hosts.acquire(7);

  lido::concurrent_slot_map<int> bats{{.max_size = 50, .name = "bats", .registry = all}};
  (void)bats.emplace(1);
  (void)bats.emplace(2);

  lido::block_resource nodes{{.sizes = {{64, 20}, {256, 30}}, .name = "nodes", .registry = all}};
  void* const block = nodes.allocate(200);
  lido::object_pool<job> apart{{.capacity = 5, .name = "apart", .registry = &others}};
  stop_here();
  nodes.deallocate(block, 200);
}
