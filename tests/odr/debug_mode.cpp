// A program with the debug containers of libstdc++, and the library without them: all but resource
// pools work.
#include <cstdio>
#include <cstdlib>
#include <list>
#include <memory_resource>
#include <vector>

#include "lido/lido.hpp"
#include "lido/testing.hpp"

namespace {

void require(bool held, const char* what) {
  if (!held) {
    (void)std::fprintf(stderr, "BROKEN: %s\n", what);
    std::_Exit(EXIT_FAILURE);
  }
}

void use_blocks() {
  std::vector<lido::block_size> sizes{{.bytes = 256, .blocks = 10}, {.bytes = 64, .blocks = 20}};
  lido::block_resource blocks({.sizes = sizes,
                               .name = "blocks",
                               .upstream = std::pmr::null_memory_resource(),
                               .checked = true});
  require(blocks.name() == "blocks" && blocks.count_sizes() == 2, "options of blocks");
  require(blocks.stats(0).block_bytes == 64 && blocks.stats(1).blocks.capacity == 10, "sizes");
  require(blocks.upstream() == std::pmr::null_memory_resource(), "upstream");
  std::pmr::list<int> numbers({1, 2, 3}, &blocks);
  std::list<int, lido::block_allocator<int>> others({4, 5}, blocks);
  require(blocks.stats().blocks.in_use >= 5, "nodes are blocks");
}

void use_objects() {
  lido::object_pool<int, lido::checked_traits<int>> checked({.capacity = 8, .name = "checked"});
  lido::object_pool<int> grows(
      {.name = "grows", .max_capacity = 100, .when_full = lido::when_full::grow});
  const auto one = checked.acquire(1);
  const auto two = grows.acquire(2);
  require(*one + *two == 3, "objects");
  require(static_cast<bool>(lido::testing::conserved(grows)), "conserved");
}

void use_maps() {
  lido::slot_map<int> map;
  lido::concurrent_slot_map<int> shared(100);
  const auto handle = map.insert(1);
  const auto other = shared.try_emplace(2);
  require(*map.find(handle) == 1 && shared.erase(other), "maps");
}

}  // namespace

int main() {
  use_blocks();
  use_objects();
  use_maps();
  std::puts("report: debug_mode");
}
