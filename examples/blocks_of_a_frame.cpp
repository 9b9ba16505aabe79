// Lists of a frame, whose memory is released at once when the frame ends.
#include <exception>
#include <iostream>
#include <lido/block_resource.hpp>
#include <list>
#include <memory_resource>
#include <string>

int main() try {
  lido::block_resource blocks({.sizes = {{64, 4000}, {256, 4000}},
                               .name = "frame",
                               .upstream = std::pmr::null_memory_resource()});
  for (int frame = 1; frame <= 2; ++frame) {
    // [snippet]
    // The list itself is in a block, too, and is never destroyed.
    std::pmr::polymorphic_allocator<> memory(&blocks);
    auto* const lines = memory.new_object<std::pmr::list<std::pmr::string>>();
    for (int i = 0; i < 3000; ++i) {
      lines->emplace_back(100, '-');  // a small block for the node, a large one for the text
    }
    // [/snippet]
    std::cout << "frame " << frame << ": " << blocks.stats(0).blocks.in_use << " and "
              << blocks.stats(1).blocks.in_use << " in use\n";
    // [snippet release]
    // All threads have finished the frame. From here on, its lists must not be used.
    blocks.release();
    // [/snippet]
    std::cout << "afterwards: " << blocks.stats(0).blocks.in_use << " and "
              << blocks.stats(1).blocks.in_use << '\n';
  }
} catch (const std::exception& problem) {
  std::cerr << problem.what() << '\n';
  return 1;
}

// Prints:
//   frame 1: 3001 and 3000 in use
//   afterwards: 0 and 0
//   frame 2: 3001 and 3000 in use
//   afterwards: 0 and 0
