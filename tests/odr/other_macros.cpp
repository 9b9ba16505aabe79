// A program whose macros give the standard containers or strings a layout that differs from the
// library's: all but resource pools work.
#include <cstdio>
#include <cstdlib>
#include <list>
#include <memory_resource>
#include <string>
#include <string_view>
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

/// Shows the stray writes of a constructor that takes its pool for a larger one.
template <class T>
struct guarded {
  static constexpr std::size_t pattern = 0x5a5a5a5a;
  template <class Options>
  explicit guarded(const Options& options) : value(options) {}
  ~guarded() { require(before == pattern && after == pattern, "memory beside a pool"); }

  std::size_t before = pattern;
  T value;
  std::size_t after = pattern;
};

constexpr std::string_view long_name = "a name too long for the small string optimisation";

void use_names() {
  lido::registry pools;
  const lido::object_pool_options options{.capacity = 1, .name = long_name, .registry = &pools};
  guarded<lido::object_pool<int>> jobs(options);
  const guarded<lido::concurrent_slot_map<int>> map(
      lido::concurrent_slot_map_options{.max_size = 4, .name = "map", .registry = &pools});
  const guarded<lido::block_resource> blocks(lido::block_resource_options{
      .block_bytes = 64, .blocks = 4, .name = long_name, .registry = &pools});
  require(jobs.value.name() == long_name && blocks.value.name() == long_name, "names");
  std::string seen;
  pools.visit([&seen](const lido::pool_report& one) { (seen += one.name) += ' '; });
  const std::string name(long_name);
  require(seen == name + " map " + name + " ", "names in a registry");
  const auto one = jobs.value.acquire(1);
  try {
    (void)jobs.value.acquire(2);
    require(false, "no failure");
  } catch (const lido::pool_exhausted& failure) {
    require(failure.pool_name() == long_name, "name in an error");
    require(std::string(failure.what()).find(name) != std::string::npos, "text of an error");
  }
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
  use_names();
  use_blocks();
  use_objects();
  use_maps();
  std::puts("report: other_macros");
}
