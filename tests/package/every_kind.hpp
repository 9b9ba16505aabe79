// Each kind of pool, used once. The including file has Lido already, in the way that is tested.
#pragma once

#include <cstdio>
#include <cstdlib>
#include <string>
#include <vector>
#if __has_include(<memory_resource>)
#include <memory_resource>
#endif

inline void require(bool held, const char* what) {
  if (!held) {
    (void)std::printf("BROKEN: %s\n", what);
    std::exit(EXIT_FAILURE);
  }
}

inline void use_object_pools() {
  lido::object_pool<std::string> words({.capacity = 2, .name = "words"});
  const lido::lease<std::string> first = words.acquire("first");
  std::string* const second = words.try_acquire_ptr("second");
  require(*first == "first" && *second == "second" && !words.try_acquire(), "two of two words");
  words.release(second);
  require(words.stats().in_use == 1, "a word that was released");

  lido::object_pool<int> growing(
      {.capacity = 1, .max_capacity = 64, .when_full = lido::when_full::grow});
  std::vector<lido::lease<int>> numbers;
  for (int number = 0; number < 64; ++number) {
    numbers.push_back(growing.acquire(number));
  }
  require(*numbers.back() == 63 && growing.capacity() == 64, "a pool that has grown");

  lido::object_pool<int, lido::checked_traits<int>> checked({.capacity = 1});
  require(*checked.acquire(7) == 7, "a checked pool");
}

inline void use_slot_maps() {
  lido::slot_map<int> map;
  const auto handle = map.insert(4);
  lido::secondary_map<int, std::string> names;
  require(names.insert(handle, "four") != nullptr, "an entry in a secondary map");
  map.for_each([](int& value) { ++value; });
  require(*map.find(handle) == 5 && *names.find(handle) == "four", "a value of a map");
  require(map.erase(handle) && !map.contains(handle), "a stale handle");

  lido::concurrent_slot_map<int> shared({.max_size = 8});
  const auto placed = shared.try_emplace(3);
  int seen = 0;
  require(placed && shared.visit(placed, [&seen](int& value) { seen = value; }), "a visit");
  require(seen == 3 && shared.erase(placed) && shared.size() == 0, "an erased value");
}

#if __has_include(<memory_resource>)
inline void use_blocks() {
  lido::block_resource blocks({.block_bytes = 64, .blocks = 8});
  std::pmr::vector<int> numbers({1, 2, 3}, &blocks);
  require(numbers.back() == 3 && blocks.stats().blocks.in_use == 1, "a vector in a block");
}
#endif

#if defined(__cpp_lib_jthread)
inline void use_resources() {
  lido::resource_pool<int> pool([] { return 5; }, {.max_size = 2, .name = "fives"});
  require(*pool.acquire() == 5, "a resource");
  require(pool.stats().in_use == 0, "a resource that came back");
  lido::keyed_resource_pool<int, int> keyed([](const int& key) { return 2 * key; });
  require(*keyed.at(21).acquire() == 42, "a resource by key");
}
#endif

inline void use_registry() {
  lido::object_pool<int> pool(
      {.capacity = 4, .name = "named", .registry = &lido::registry::global()});
  require(lido::to_json(lido::registry::global()).find("\"named\"") != std::string::npos,
          "a pool in the export of the registry");
}

inline void use_every_kind() {
  use_object_pools();
  use_slot_maps();
#if __has_include(<memory_resource>)
  use_blocks();
#endif
#if defined(__cpp_lib_jthread)
  use_resources();
#endif
  use_registry();
}
