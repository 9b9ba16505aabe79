// Containers whose nodes live in blocks: by std::pmr, by an allocator, and in several sizes.
#include <cstddef>
#include <iostream>
#include <lido/block_resource.hpp>
#include <list>
#include <memory_resource>
#include <new>
#include <string>
#include <unordered_map>

void show(const lido::block_stats& numbers) {
  std::cout << numbers.block_bytes << " bytes: " << numbers.blocks.in_use << " of "
            << numbers.blocks.capacity << " in use\n";
}

void use_blocks() {
  // [snippet]
  lido::block_resource nodes({.block_bytes = 64, .blocks = 1000, .name = "nodes"});

  std::pmr::list<int> list(&nodes);                          // as any std::pmr container
  std::pmr::unordered_map<int, std::string> names(&nodes);   // its buckets may go upstream
  std::list<int, lido::block_allocator<int>> direct(nodes);  // the same without virtual calls

  // Small, medium and large blocks in one resource.
  lido::block_resource blocks({.sizes = {{64, 1000}, {256, 200}, {4096, 10}}, .name = "frame"});

  std::pmr::list<std::pmr::string> lines(&blocks);
  lines.emplace_back(200, '-');  // a small block for the node, a medium one for the text
  // [/snippet]
  list.assign(10, 1);
  names[1] = "one";
  direct.assign(5, 2);
  show(nodes.stats());
  for (std::size_t size = 0; size < blocks.count_sizes(); ++size) {
    show(blocks.stats(size));
  }
}

int main() try {
  use_blocks();
  lido::block_resource few(
      {.sizes = {{24, 2}, {64, 1}}, .alignment = 8, .use_larger_blocks = true});
  std::pmr::list<int> nodes(3, 1, &few);  // the third node gets the large block
  std::cout << "larger: " << few.stats().served_by_larger << '\n';
  std::cout << (few.try_allocate(24, 8) == nullptr ? "no fourth block\n" : "");
  nodes.push_back(1);
} catch (const std::bad_alloc&) {
  std::cout << "no fourth node\n";
}

// Prints:
//   64 bytes: 16 of 1000 in use
//   64 bytes: 1 of 1000 in use
//   256 bytes: 1 of 200 in use
//   4096 bytes: 0 of 10 in use
//   larger: 1
//   no fourth block
//   no fourth node
