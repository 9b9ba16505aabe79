// Costs of a pool before a thread uses it, as the system and the C library report them.
#include <gtest/gtest.h>
#include <malloc.h>

#include <cstddef>
#include <cstdint>
#include <fstream>
#include <memory>
#include <string>
#include <vector>

#include "support/allocated_slots.hpp"
#include "support/sanitizers.hpp"

namespace lido::detail {
namespace {

std::size_t count_mappings() {
  std::ifstream maps("/proc/self/maps");
  std::size_t count = 0;
  for (std::string line; std::getline(maps, line);) {
    ++count;
  }
  return count;
}

std::unique_ptr<slot_allocator> make_pool(std::byte* memory, std::uint32_t capacity) {
  return std::make_unique<slot_allocator>(
      allocator_options{.geometry = slot_geometry(memory, 64), .capacity = capacity});
}

TEST(UnusedPool, OfSixteenSlotsCostsAtMostOneKibibyte) {
  if (LIDO_TEST_TSAN == 1 || LIDO_TEST_ASAN == 1) {
    GTEST_SKIP() << "a sanitizer counts its own memory";
  }
  aligned_buffer memory(1024, 64);
  constexpr std::size_t pools = 100;
  std::vector<std::unique_ptr<slot_allocator>> all;
  all.reserve(pools);
  const std::size_t before = mallinfo2().uordblks;
  for (std::size_t i = 0; i < pools; ++i) {
    all.push_back(make_pool(memory.data(), 16));
  }
  EXPECT_LE((mallinfo2().uordblks - before) / pools, 1024U);
}

TEST(UnusedPool, MapsNothing) {
  aligned_buffer memory(1024, 64);
  std::vector<std::unique_ptr<slot_allocator>> all;
  all.reserve(100);
  all.push_back(make_pool(memory.data(), 16));
  const std::size_t before = count_mappings();
  for (int i = 0; i < 50; ++i) {
    all.push_back(make_pool(memory.data(), 16));
  }
  EXPECT_LE(count_mappings(), before + 1);  // made by malloc
}

}  // namespace
}  // namespace lido::detail
