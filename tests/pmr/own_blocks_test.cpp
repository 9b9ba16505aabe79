// Blocks in memory of the program: how much they take, where they lie, and that they allocate
// nothing else.
#include <gtest/gtest.h>

#include <cstddef>
#include <memory_resource>
#include <optional>
#include <stdexcept>
#include <string>
#include <utility>
#include <vector>

#include "lido/base/address.hpp"
#include "lido/block_resource.hpp"
#include "lido/memory_source.hpp"
#include "lido/pmr_source.hpp"
#include "lido/registry.hpp"
#include "support/counting_upstream.hpp"
#include "support/failing_new.hpp"
#include "support/own_buffer.hpp"

namespace lido {
namespace {

using test::allocations;
using test::own_buffer;

std::string refusal_of(const block_resource_options& options) {
  try {
    const block_resource blocks(options);
  } catch (const std::invalid_argument& wrong) {
    return wrong.what();
  }
  return "none";
}

/// Allocates all blocks of all sizes, and checks that they lie in `memory`.
void use_all(block_resource& blocks, own_buffer& memory) {
  for (std::size_t size = 0; size < blocks.count_sizes(); ++size) {
    const std::size_t bytes = blocks.stats(size).block_bytes;
    std::vector<void*> all(blocks.stats(size).blocks.capacity);
    for (void*& one : all) {
      one = blocks.allocate(bytes, blocks.alignment());
      EXPECT_TRUE(memory.contains(one, bytes));
      EXPECT_EQ(detail::address_bits(one) % blocks.alignment(), 0U);
    }
    for (void* const one : all) {
      blocks.deallocate(one, bytes, blocks.alignment());
    }
  }
}

TEST(OwnBlocks, NeedExactlyWhatBytesNeededSays) {
  registry names;
  const std::string name = "a name too long for the small string optimisation";
  const std::vector<block_size> sizes = {{64, 100}, {4096, 10}, {200, 2000}, {24, 33}};
  const block_resource_options kinds[] = {
      {.block_bytes = 1, .blocks = 1},
      {.block_bytes = 48, .blocks = 1500, .alignment = 8, .name = name, .registry = &names},
      {.block_bytes = 100, .blocks = 40, .alignment = 8192, .checked = true},
      {.sizes = sizes, .name = name, .registry = &names},
      {.sizes = sizes, .use_larger_blocks = true, .checked = true, .registry = &names},
  };
  for (block_resource_options options : kinds) {
    memory_region none({});
    options.memory = &none;
    options.upstream = std::pmr::null_memory_resource();
    const std::size_t bytes = block_resource::bytes_needed(options);
    own_buffer memory(bytes);
    memory_region enough(memory.span());
    options.memory = &enough;
    {
      block_resource blocks(options);
      EXPECT_EQ(enough.left(), 0U);
      EXPECT_EQ(blocks.name(), options.name);
      use_all(blocks, memory);
      std::string seen;
      names.visit([&](const pool_report& each) { seen += std::string(each.name) + ","; });
      EXPECT_EQ(seen.empty(), options.registry == nullptr);
      EXPECT_EQ(seen.find("[208]") != seen.npos,
                options.registry != nullptr && !options.sizes.empty());
    }
    EXPECT_EQ(enough.left(), bytes) << "the destructor gives the memory back";
    memory_region too_small(memory.span().first(bytes - 1));
    options.memory = &too_small;
    const std::string text = refusal_of(options);
    EXPECT_NE(text.find("memory has " + std::to_string(bytes - 1) + " bytes"), text.npos) << text;
    EXPECT_NE(text.find(", but " + std::to_string(bytes) + " are needed"), text.npos) << text;
    EXPECT_EQ(too_small.left(), bytes - 1);
  }
}

TEST(OwnBlocks, AllocateNothingElse) {
  registry names;
  own_buffer memory(1'000'000);
  memory_region region(memory.span());
  const block_resource_options options{.sizes = {{64, 2000}, {256, 500}},
                                       .name = "a name too long for the small string optimisation",
                                       .upstream = std::pmr::null_memory_resource(),
                                       .use_larger_blocks = true,
                                       .registry = &names,
                                       .memory = &region};
  std::vector<void*> held(2500);
  const long before = allocations().allocations;
  {
    block_resource blocks(options);
    for (std::size_t burst = 1; burst < held.size(); burst += 97) {
      for (std::size_t i = 0; i < burst; ++i) {
        held[i] = blocks.allocate(64);
      }
      for (std::size_t i = burst; i > 0; --i) {
        blocks.deallocate(held[i - 1], 64);
      }
    }
  }
  EXPECT_EQ(allocations().allocations, before);
  EXPECT_EQ(region.left(), 1'000'000U);
}

TEST(OwnBlocks, HaveAnyAlignmentThatTheMemoryHas) {
  EXPECT_NE(refusal_of({.block_bytes = 64, .blocks = 2, .alignment = 8192}).find("up to 4096"),
            std::string::npos);
  own_buffer memory(100'000);
  memory_region region(memory.span());
  EXPECT_NE(refusal_of({.block_bytes = 64, .blocks = 2, .alignment = 3, .memory = &region})
                .find("alignment 3 is not a power of two"),
            std::string::npos);
  EXPECT_NE(refusal_of({.block_bytes = 64, .blocks = 2, .alignment = 1UL << 40U, .memory = &region})
                .find("are needed"),
            std::string::npos);
}

TEST(OwnBlocks, ComeFromAMemoryResource) {
  test::counting_upstream upstream;
  pmr_source source(&upstream);
  {
    block_resource blocks({.block_bytes = 64, .blocks = 100, .memory = &source});
    EXPECT_EQ(upstream.requests(), 1U);
    blocks.deallocate(blocks.allocate(64), 64);
  }
  EXPECT_EQ(upstream.out(), 0U);
}

}  // namespace
}  // namespace lido
