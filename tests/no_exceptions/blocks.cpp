// block_resource without exceptions.
#include <lido/block_resource.hpp>

#include <cstddef>
#include <cstdint>
#include <list>
#include <map>
#include <memory_resource>
#include <string>

#include "check.hpp"

int main() {
  lido::block_resource blocks(
      {.sizes = {{.bytes = 64, .blocks = 100}, {.bytes = 256, .blocks = 10}}, .name = "blocks"});
  {
    std::pmr::map<int, std::pmr::string> texts(&blocks);
    for (int i = 0; i < 100; ++i) {
      texts.emplace(i, "a text that is longer than what a string has room for");
      (void)texts.erase(i - 3);
    }
    CHECK(blocks.stats(0).blocks.in_use != 0);
    std::list<int, lido::block_allocator<int>> numbers({1, 2, 3}, blocks);
    CHECK(numbers.size() == 3);
  }
  CHECK(blocks.stats(0).blocks.in_use == 0);

  for (int i = 0; i < 10; ++i) {
    CHECK(blocks.owns(blocks.try_allocate(256)));
  }
  CHECK(blocks.try_allocate(256) == nullptr);
  for (const std::size_t bytes : {SIZE_MAX, SIZE_MAX - 6, SIZE_MAX / 2 + 1}) {
    CHECK(blocks.try_allocate(bytes) == nullptr);
    CHECK(blocks.try_allocate(bytes, 4096) == nullptr);
  }
  CHECK(blocks.upstream_requests() == 0);
  blocks.release();
  CHECK(blocks.stats(1).blocks.in_use == 0);
}
