// The system's reports of huge pages.
#include <gtest/gtest.h>
#include <sys/mman.h>

#include <cstring>
#include <fstream>
#include <sstream>
#include <string>

#include "lido/base/huge_pages.hpp"
#include "support/address.hpp"

namespace lido::detail {
namespace {

using test::address;

/// Returns the system's flags of the mapping at that address.
std::string flags_at(const void* pointer) {
  std::ifstream maps("/proc/self/smaps");
  bool inside = false;
  for (std::string line; std::getline(maps, line);) {
    unsigned long long first = 0;
    unsigned long long last = 0;
    char dash = 0;
    std::istringstream range(line);
    if (range >> std::hex >> first >> dash >> last && dash == '-') {
      inside = first <= address(pointer) && address(pointer) < last;
    } else if (inside && line.rfind("VmFlags:", 0) == 0) {
      return line + ' ';
    }
  }
  return {};
}

/// Returns whether the system records such advice at all: an emulator does not, nor do all kernels.
bool system_takes_advice() {
  const aligned_buffer probe(huge_page, huge_page);
  return ::madvise(probe.data(), huge_page, MADV_HUGEPAGE) == 0 &&
         flags_at(probe.data()).find(" hg ") != std::string::npos;
}

TEST(HugePages, TheSystemIsAskedForThem) {
  if (!system_takes_advice()) {
    GTEST_SKIP() << "the system takes no such advice";
  }
  const array_buffer memory(2 * huge_page, 64, page_kind::large);
  ASSERT_EQ(address(memory.data()) % huge_page, 0U);
  std::memset(memory.data(), 1, memory.size());
  EXPECT_NE(flags_at(memory.data()).find(" hg "), std::string::npos) << flags_at(memory.data());
}

TEST(HugePages, TheSystemIsNotAskedForThemIfTheyAreNotWanted) {
  const array_buffer memory(64 * huge_page, 64, page_kind::normal);
  std::memset(memory.data(), 1, memory.size());
  EXPECT_EQ(flags_at(memory.data()).find(" hg "), std::string::npos) << flags_at(memory.data());
}

}  // namespace
}  // namespace lido::detail
