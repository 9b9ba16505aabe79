#include "lido/base/huge_pages.hpp"

#include <gtest/gtest.h>
#include <sys/mman.h>

#include <cstdint>
#include <cstring>
#include <fstream>
#include <limits>
#include <sstream>
#include <string>
#include <vector>

#include "lido/slot_map.hpp"
#include "support/address.hpp"

namespace lido::detail {
namespace {

using test::address;

/// What the system has noted about the mapping of that address.
std::string flags_at(const void* place) {
  std::ifstream maps("/proc/self/smaps");
  bool inside = false;
  for (std::string line; std::getline(maps, line);) {
    unsigned long long first = 0;
    unsigned long long last = 0;
    char dash = 0;
    std::istringstream range(line);
    if (range >> std::hex >> first >> dash >> last && dash == '-') {
      inside = first <= address(place) && address(place) < last;
    } else if (inside && line.rfind("VmFlags:", 0) == 0) {
      return line + ' ';
    }
  }
  return {};
}

/// Whether the system notes such advice at all: an emulator does not, nor do all kernels.
bool system_takes_advice() {
  const aligned_buffer probe(huge_page, huge_page);
  return ::madvise(probe.data(), huge_page, MADV_HUGEPAGE) == 0 &&
         flags_at(probe.data()).find(" hg ") != std::string::npos;
}

TEST(HugePages, SmallArraysAreLeftAlone) {
  EXPECT_EQ(array_bytes(huge_page - 1), huge_page - 1);
  EXPECT_EQ(array_alignment(huge_page - 1, 64), 64U);
}

TEST(HugePages, AtMostAnEighthIsAdded) {
  EXPECT_EQ(array_bytes(huge_page), huge_page);
  EXPECT_EQ(array_bytes(huge_page + 1), huge_page + 1);
  EXPECT_EQ(array_bytes(8 * huge_page + 1), 9 * huge_page);
  EXPECT_EQ(array_bytes(std::numeric_limits<std::size_t>::max()),
            std::numeric_limits<std::size_t>::max());
}

TEST(HugePages, ALargerAlignmentIsKept) {
  EXPECT_EQ(array_alignment(huge_page, 64), huge_page);
  EXPECT_EQ(array_alignment(huge_page, 2 * huge_page), 2 * huge_page);
}

TEST(HugePages, TheSystemIsAskedForThem) {
  if (!system_takes_advice()) {
    GTEST_SKIP() << "the system takes no such advice";
  }
  const auto memory = array_buffer(2 * huge_page, 64);
  ASSERT_EQ(address(memory->data()) % huge_page, 0U);
  std::memset(memory->data(), 1, memory->size());
  EXPECT_NE(flags_at(memory->data()).find(" hg "), std::string::npos) << flags_at(memory->data());
}

TEST(HugePages, AVectorMayBeOfAnySize) {
  std::vector<std::uint64_t, array_allocator<std::uint64_t>> all;
  for (std::uint64_t i = 0; i < huge_page / 4; ++i) {
    all.push_back(i);
  }
  EXPECT_EQ(address(all.data()) % huge_page, 0U);
  EXPECT_EQ(all.back(), huge_page / 4 - 1);
  EXPECT_THROW(
      (void)array_allocator<std::uint64_t>().allocate(std::numeric_limits<std::size_t>::max() / 4),
      std::bad_array_new_length);
}

// Also when it grows, and when it gives memory back.
TEST(HugePages, TheValuesOfALargeMapLieOnThem) {
  slot_map<std::uint64_t> map;
  const std::uint32_t many = 1'000'000;
  std::vector<slot_handle<std::uint64_t>> all;
  for (std::uint64_t i = 0; i < many; ++i) {
    all.push_back(map.insert(i));
  }
  EXPECT_EQ(address(map.find(all[0])) % huge_page, 0U);
  for (std::uint32_t i = many / 2; i < many; ++i) {
    map.erase(all[i]);
  }
  map.shrink_to_fit();
  EXPECT_EQ(address(map.find(all[0])) % huge_page, 0U);
  for (std::uint32_t i = 0; i < many; ++i) {
    const std::uint64_t* const found = map.find(all[i]);
    ASSERT_EQ(found != nullptr, i < many / 2);
    ASSERT_TRUE(found == nullptr || *found == i);
  }
}

}  // namespace
}  // namespace lido::detail
