// Pools of every kind with known numbers and holders, in a program that then aborts.
#include <atomic>
#include <chrono>
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
#include "lido/slot_map.hpp"

namespace {

struct job {
  long number;
};
using checked_pool = lido::object_pool<job, lido::checked_traits<job>>;

lido::registry others;
[[gnu::used]] lido::registry no_pools;

[[gnu::noinline]] lido::resource_lease<int> connect_for_the_test(lido::resource_pool<int>& from) {
  return from.acquire();  // a connection
}

[[gnu::noinline]] lido::lease<job, lido::checked_traits<job>> take_checked_job(checked_pool& from) {
  return from.acquire();  // a checked job
}

/// Makes the compiler keep the values in memory until the last such call.
template <class... T>
void keep(T*... values) {
  (..., [](void* value) { asm volatile("" ::"r"(value) : "memory"); }(values));
}

// Volatile, or the compiler would move the call out of main.
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
  // An ending thread leaves behind what it holds, and nothing in a cache.
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
  auto host = hosts.at(7).acquire();

  lido::resource_pool<int> used{[] { return 1; }, {.max_size = 1, .name = "used", .registry = all}};
  std::atomic<bool> has_lease{false};
  std::thread([&] {
    const auto kept = used.acquire();  // in a thread
    has_lease = true;
    std::this_thread::sleep_for(std::chrono::hours(1));
  }).detach();
  while (!has_lease) {
    std::this_thread::yield();
  }
  lido::acquire_result<int> refused = used.try_acquire_for(std::chrono::nanoseconds(1));

  lido::concurrent_slot_map<int> bats{{.max_size = 50, .name = "bats", .registry = all}};
  (void)bats.emplace(1);
  (void)bats.emplace(2);

  lido::block_resource nodes{{.sizes = {{64, 20}, {256, 30}}, .name = "nodes", .registry = all}};
  void* const block = nodes.allocate(200);
  lido::object_pool<job> apart{{.capacity = 5, .name = "apart", .registry = &others}};

  lido::slot_map<job> rows{{.name = "rows"}};
  const auto erased = rows.emplace(10);
  (void)rows.emplace(20);
  rows.erase(erased);
  auto row = rows.emplace(30);
  lido::secondary_map<job, int> notes;
  notes.insert(row, 7);
  lido::slot_pointer<lido::slot_map<job>> pointer(rows, row);
  auto at = rows.begin();
  [[gnu::used]] static lido::slot_handle<job> nothing;
  lido::block_allocator<job> allocator(nodes);
  lido::time_limit limit = std::chrono::milliseconds(2);
  lido::resource_handle no_resource;
  keep(&first, &idle, &row, &notes, &pointer, &at, &allocator, &limit, &no_resource);
  stop_here();
  keep(&first, &idle, &row, &notes, &pointer, &at, &allocator, &limit, &no_resource);
  nodes.deallocate(block, 200);
}
