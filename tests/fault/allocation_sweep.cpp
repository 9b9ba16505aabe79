// Lets the first, second, third ... allocation fail, once and for ever, in the lives of slot maps,
// block resources and resource pools, until a life has none left to fail. After each, there were
// only documented errors, no slot, block or resource is missing, and no memory is leaked.
#include <fmt/format.h>

#include <array>
#include <atomic>
#include <chrono>
#include <coroutine>
#include <cstdio>
#include <cstdlib>
#include <list>
#include <memory>
#include <memory_resource>
#include <optional>
#include <stop_token>
#include <string>
#include <string_view>

#include "lido/block_resource.hpp"
#include "lido/co_acquire.hpp"
#include "lido/concurrent_slot_map.hpp"
#include "lido/keyed_resource_pool.hpp"
#include "lido/resource_pool.hpp"
#include "lido/slot_map.hpp"
#include "support/failing_new.hpp"

namespace lido::test {
namespace {

using namespace std::chrono_literals;

struct {
  std::string_view life;
  long first = 0;
  bool sticky = false;
} now;

void require(bool held, std::string_view what) {
  if (!held) {
    fmt::print("BROKEN: {}: {}: allocation {}{} failed\n", now.life, what, now.first,
               now.sticky ? " and later" : "");
    (void)std::fflush(stdout);
    std::_Exit(EXIT_FAILURE);
  }
}

/// A value that needs memory, and counts its copies.
struct thing {
  explicit thing(int number) : memory(std::make_unique<int>(number)) { ++live; }
  thing(thing&& other) noexcept : memory(std::move(other.memory)) { ++live; }
  thing& operator=(thing&& other) noexcept = default;
  ~thing() { --live; }
  std::unique_ptr<int> memory;
  static inline std::atomic<int> live = 0;
};

/// Runs one step, which may report missing memory if there was none. Returns whether it completed.
template <class Step>
[[gnu::noinline]] bool attempt(Step step) {  // or GCC 12 takes an optional in it for uninitialized
  const long before = allocations().refused;
  for (int late = 0; late < 100; ++late) {
    try {
      step();
      return true;
    } catch (const std::bad_alloc&) {
      require(allocations().refused > before, "an unexpected bad_alloc");
      return false;
    } catch (const acquire_error& error) {
      if (allocations().refused > before) {
        return false;
      }
      // With memory for all, only a machine that is too slow for the time-out may have refused.
      require(error.cause() == acquire_failure::timed_out, error.what());
    }
  }
  require(/*holds=*/false, "time-outs although no memory was missing");
  return false;
}

// ---- slot maps

constexpr int most_values = 200;
using thing_map = slot_map<thing>;
using shared_map = concurrent_slot_map<thing>;

template <class Map>
using handles = std::array<typename Map::handle_type, most_values>;

template <class Map>
int number_of(Map& map, typename Map::handle_type handle) {
  int found = -1;
  if constexpr (std::same_as<Map, shared_map>) {
    map.read(handle, [&found](const thing& value) { found = *value.memory; });
  } else if (const thing* const value = map.find(handle); value != nullptr) {
    found = *value->memory;
  }
  return found;
}

/// Inserts the missing values; returns how many there are then.
template <class Map>
std::size_t fill(Map& map, handles<Map>& all) {
  std::size_t there = 0;
  for (int number = 0; number < most_values; ++number) {
    auto& handle = all.at(static_cast<std::size_t>(number));
    if (!map.contains(handle)) {
      attempt([&] { handle = map.emplace(number); });
    }
    there += map.contains(handle) ? 1 : 0;
    require(!map.contains(handle) || number_of(map, handle) == number, "another one's value");
  }
  require(map.size() == there, "the size is wrong");
  return there;
}

template <class Map>
void erase_some(Map& map, const handles<Map>& all) {
  for (std::size_t i = 0; i < all.size(); ++i) {
    if (i % 3 != 0) {
      (void)map.erase(all.at(i));
    }
  }
}

void rearrange(thing_map& map) {
  attempt([&] { map.reserve(150); });
  attempt([&] { map.compact(); });
  attempt([&] { map.shrink_to_fit(); });
  attempt([&] { map.for_each([](thing& /*value*/) {}); });
}

void rearrange(shared_map& map) {
  map.for_each([](thing& /*value*/) {});
}

template <class Map, class Options>
void live_in_map(const Options& options) {
  std::optional<Map> map;
  if (!attempt([&] { map.emplace(options); })) {
    return;
  }
  handles<Map> all{};
  for (int round = 0; round < 2; ++round) {
    (void)fill(*map, all);
    erase_some(*map, all);
    rearrange(*map);
  }
  (void)fill(*map, all);
  typename Map::handle_type last{};
  const std::size_t before = map->size();
  const bool came = attempt([&] {
    if constexpr (std::same_as<Map, shared_map>) {
      (void)map->erase(all.front());
      last = map->emplace(1000);
    } else {
      // The value with the lowest number goes, unless there is a free slot.
      last = map->emplace_or_evict(
          [](const thing& left, const thing& right) { return *left.memory < *right.memory; }, 1000);
    }
  });
  require(came == (number_of(*map, last) == 1000), "an insert that is half done");
  require(map->size() + 1 >= before, "an insert that failed has cost more than its victim");
  failing_allocations::stop();
  (void)map->erase(last);
  require(fill(*map, all) == most_values, "places are lost");
}

void live_in_slot_map() {
  live_in_map<thing_map>(slot_map_options{.max_size = most_values, .shrink_threshold = 20});
}
void live_in_compact_slot_map() {
  live_in_map<thing_map>(slot_map_options{
      .max_size = most_values, .shrink_threshold = 20, .compaction = compaction_mode::immediate});
}
void live_in_concurrent_slot_map() {
  live_in_map<shared_map>(concurrent_slot_map_options{.max_size = most_values});
}

// ---- block resources

void live_on_blocks() {
  constexpr std::size_t blocks = 40;
  std::optional<block_resource> resource;
  if (!attempt([&] {
        resource.emplace(block_resource_options{.block_bytes = sizeof(int) + 3 * sizeof(void*),
                                                .blocks = blocks,
                                                .upstream = std::pmr::new_delete_resource()});
      })) {
    return;
  }
  const auto count = [&](std::pmr::list<int>& nodes) {
    nodes.clear();
    attempt([&] {
      while (nodes.size() < blocks) {
        nodes.push_back(1);
      }
    });
    return nodes.size();
  };
  std::pmr::list<int> nodes(&*resource);
  require(count(nodes) == blocks, "a block is not to be had, though it needs no memory");
  attempt([&] { resource->deallocate(resource->allocate(1000), 1000); });
  failing_allocations::stop();
  require(count(nodes) == blocks, "blocks are lost");
}

// ---- resource pools

constexpr std::size_t most_resources = 3;

/// Without memory some acquires wait for the whole `timeout`; those without a second try need a
/// longer one.
resource_pool_options options_of(std::chrono::nanoseconds timeout = 20ms) {
  return {.max_size = most_resources,
          .name = "a name too long for the small string optimisation",
          .acquire_timeout = timeout,
          .retry_first = 1ns,
          .retry_longest = 1ns,
          .on_create_error = create_errors::fail_fast,
          .close_timeout = 1s,
          .maintenance = maintenance::by_tick};
}

/// Runs every acquire of a pool with one key or none.
template <class Acquire>
void acquire_all(const Acquire& acquire) {
  using lease = decltype(acquire());
  std::array<std::optional<lease>, most_resources> held;
  for (auto& one : held) {
    attempt([&] { one.emplace(acquire()); });
  }
}

void report_on(resource_pool<thing>& pool) {
  attempt([&] { (void)pool.stats(); });
  attempt([&] {
    const auto lease = pool.acquire();
    (void)pool.leases();
  });
  const long before = allocations().refused;
  {
    const auto result = pool.try_acquire_for(1ns);
    require(
        result || allocations().refused > before || result.failure() == acquire_failure::timed_out,
        "a failure without a cause");
  }
  attempt([&] {  // of one resource: refused, with an error that names the holder
    const auto lease = pool.acquire();
    try {
      (void)pool.acquire_for(1ns);
    } catch (const acquire_error& error) {
      require(error.holders().size() == 1 || allocations().refused > before, error.what());
    }
  });
}

/// Acquires every resource, and closes the pool.
void end_with_all(resource_pool<thing>& pool) {
  std::array<resource_lease<thing>, most_resources> held;
  for (auto& one : held) {
    attempt([&] { one = pool.acquire(); });
    require(static_cast<bool>(one), "a resource is lost");
  }
  for (auto& one : held) {
    one = {};
  }
  require(pool.close(1s).complete(), "something is left of a pool that was closed");
}

/// A flush that throws has flushed nothing.
void flush_all(resource_pool<thing>& pool) {
  const resource_generation before = pool.generation();
  const bool is_done = attempt([&] { pool.flush(); });
  require(is_done != (pool.generation() == before), "a flush that is half done");
}

void live_with_resources() {
  std::optional<resource_pool<thing>> pool;
  if (!attempt([&] { pool.emplace([] { return thing(1); }, options_of()); })) {
    return;
  }
  const auto acquire = [&] { return pool->acquire(); };
  acquire_all(acquire);
  attempt([&] {
    const auto lease = pool->acquire();
    (void)pool->kill(lease.handle());
  });
  flush_all(*pool);
  int answers = 0;
  int asked = 0;
  attempt([&] {
    pool->async_acquire([&answers](const acquire_result<thing>& /*got*/) noexcept { ++answers; });
    ++asked;
  });
  attempt([&] { pool->resize(1); });
  attempt([&] { pool->tick(); });
  attempt([&] { pool->replace_factory([] { return thing(2); }); });
  report_on(*pool);
  failing_allocations::stop();
  pool->resize(most_resources);
  pool->tick();
  end_with_all(*pool);
  require(answers == asked, "a callback was forgotten, or called though its request failed");
}

/// Runs with allocations failing in this thread only, not in the pool's threads.
void live_with_threads() {
  auto options = options_of();
  options.maintenance = maintenance::background;
  std::optional<resource_pool<thing>> pool;
  if (!attempt([&] { pool.emplace([] { return thing(1); }, options); })) {
    return;
  }
  acquire_all([&] { return pool->acquire(); });
  failing_allocations::stop();
  end_with_all(*pool);
}

void live_with_keys() {
  using pool_type = keyed_resource_pool<std::string, thing>;
  std::optional<pool_type> pool;
  if (!attempt([&] {
        pool.emplace(
            [](const std::string& /*key*/) { return thing(1); },
            keyed_resource_pool_options{.max_total = most_resources, .each_key = options_of()});
      })) {
    return;
  }
  constexpr std::array<std::string_view, 3> keys{"one", "two", "a third one that needs memory"};
  const auto acquire = [&](std::string_view key) { return pool->at(std::string(key)).acquire(); };
  for (const std::string_view key : keys) {
    acquire_all([&] { return acquire(key); });
  }
  attempt([&] { pool->at(std::string(keys[0])).flush(); });
  attempt([&] { pool->tick(); });
  attempt([&] { (void)pool->stats_by_key(); });
  failing_allocations::stop();
  for (const std::string_view key : keys) {
    std::array<std::optional<resource_lease<thing>>, most_resources> held;
    for (auto& one : held) {
      attempt([&] { one.emplace(acquire(key)); });
      require(one.has_value(), "a resource is lost");
    }
  }
  require(pool->stats().live <= most_resources, "more resources than the limit of all keys");
  require(pool->close(1s).complete(), "something is left of a pool that was closed");
}

/// Destroys a pool without any memory: it destroys all idle resources, and a lease that outlives it
/// the rest.
void end_without_memory() {
  now = {"the end of a keyed pool", 1, true};
  auto each = options_of(1min);
  each.close_timeout = 0ns;
  each.on_event = [](const pool_event&) {};
  std::optional<keyed_resource_pool<std::string, thing>> pool;
  pool.emplace([](const std::string& /*key*/) { return thing(1); },
               keyed_resource_pool_options{.max_total = 3, .each_key = each});
  (void)pool->at(std::string("idle")).acquire();
  auto out = pool->at(std::string("out")).acquire();
  {
    const failing_allocations none(now.first, now.sticky);
    pool.reset();
  }
  require(thing::live == 1, "an idle one is left of a pool that has ended");
  out = {};
  require(thing::live == 0, "what was out is left");
}

/// Closes without memory for its report, which throws; nevertheless the idle resources of all keys
/// are destroyed.
void close_without_memory() {
  now = {"the close of a keyed pool", 1, true};
  keyed_resource_pool<int, thing> pool([](int /*key*/) { return thing(1); },
                                       {.max_total = 6, .each_key = options_of(1min)});
  const std::array out{pool.at(1).acquire(), pool.at(2).acquire(), pool.at(3).acquire()};
  (void)std::array{pool.at(1).acquire(), pool.at(2).acquire(), pool.at(3).acquire()};
  const failing_allocations none(now.first, now.sticky);
  require(!attempt([&] { (void)pool.close(0ns); }), "a report was made without memory");
  failing_allocations::stop();
  require(thing::live == 3, "an idle one is left of a key that was closed");
}

// ---- the sweep

/// Returns whether an allocation failed.
bool run(void (*life)()) {
  const long before = allocation_plan::outstanding;
  const long refused = allocations().refused;
  {
    const failing_allocations memory(now.first, now.sticky);
    life();
  }
  require(allocation_plan::outstanding == before, "memory is left");
  require(thing::live == 0, "values are left");
  return allocations().refused > refused;
}

/// A coroutine for which no caller waits.
struct awaiting {
  struct promise_type {  // NOLINT(readability-identifier-naming): the language's
    static awaiting get_return_object() noexcept { return {}; }
    static std::suspend_never initial_suspend() noexcept { return {}; }
    static std::suspend_never final_suspend() noexcept { return {}; }
    static void return_void() noexcept {}
    static void unhandled_exception() noexcept {}
  };
};

awaiting await_one(object_pool<int>& pool, int& answers) {
  const auto lease = co_await pool.co_acquire();
  ++answers;
}

/// Waits of callbacks and coroutines. Each either throws, or its callback is called once.
void live_in_waits() {
  std::optional<object_pool<int>> pool;
  if (!attempt([&] { pool.emplace(object_pool_options{.capacity = 1}); })) {
    return;
  }
  int* const held = pool->try_acquire_ptr(1);
  require(held != nullptr, "a slot is lost");
  int answers = 0;
  int asked = 0;
  const auto note = [&answers](const lease<int>& /*got*/) noexcept { ++answers; };
  asked += attempt([&] { pool->async_acquire(note); }) ? 1 : 0;
  asked +=
      attempt([&] { pool->async_acquire(note, 1h, std::stop_source().get_token(), 7); }) ? 1 : 0;
  const std::size_t waiting = pool->stats().waiting;
  attempt([&] { await_one(*pool, answers); });
  asked += pool->stats().waiting != waiting ? 1 : 0;
  require(answers == 0, "a callback is called although there is no slot");
  pool->release(held);
  require(answers == asked, "a wait is forgotten");
  require(pool->stats().waiting == 0 && pool->stats().in_use == 0, "a slot or a wait is left");
}

void sweep(std::string_view name, void (*life)()) {
  now = {name, 0, false};
  require(!run(life), "memory has run out by itself");  // and what happens once in a process
  long points = 0;
  for (const bool sticky : {false, true}) {
    for (now = {name, 1, sticky}; run(life); ++now.first) {
      ++points;
    }
  }
  require(points > 0, "nothing could fail");
  fmt::print("report: allocation_sweep of={} points={}\n", name, points);
}

}  // namespace
}  // namespace lido::test

int main(int argc, char** argv) {
  using namespace lido::test;
  struct subject {
    std::string_view name;
    void (*life)();
  };
  constexpr std::array subjects{subject{"slot_map", live_in_slot_map},
                                subject{"waits", live_in_waits},
                                subject{"compact_slot_map", live_in_compact_slot_map},
                                subject{"concurrent_slot_map", live_in_concurrent_slot_map},
                                subject{"block_resource", live_on_blocks},
                                subject{"resource_pool", live_with_resources},
                                subject{"resource_pool_threads", live_with_threads},
                                subject{"keyed_resource_pool", live_with_keys}};
  end_without_memory();
  close_without_memory();
  for (const auto& [name, life] : subjects) {
    if (argc < 2 || name == argv[1]) {  // a single one by name, for a debugger
      sweep(name, life);
    }
  }
  return EXIT_SUCCESS;
}
