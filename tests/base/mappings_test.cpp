// Mappings and locked pages behind an address space.
#include <gtest/gtest.h>
#include <sys/mman.h>

#include <algorithm>
#include <cerrno>
#include <cstddef>
#include <fstream>
#include <iterator>

#include "lido/base/address_space.hpp"

namespace lido::detail {
namespace {

/// Returns the number of mappings of the process.
std::size_t mappings() {
  std::ifstream maps("/proc/self/maps");
  return static_cast<std::size_t>(std::count(std::istreambuf_iterator<char>(maps), {}, '\n'));
}

// A process may have only 65,530 of them.
TEST(AddressSpace, WhatGoesBackBetweenWhatStaysCostsNoMappings) {
  const address_space space(2000 * page_size(), 8);
  ASSERT_EQ(space.commit(0, space.size()), 0);
  const std::size_t before = mappings();
  for (std::size_t page = 0; page < 2000; page += 2) {
    ASSERT_EQ(space.decommit(page * page_size(), page_size()), 0);
  }
  EXPECT_LT(mappings(), before + 100);
}

// Pages are locked as by mlockall, which real-time programs call.
TEST(AddressSpace, LockedPagesGoBack) {
  const address_space space(4 * page_size(), 8);
  ASSERT_EQ(space.commit(0, space.size()), 0);
  std::fill_n(space.data(), space.size(), std::byte{1});
  if (::mlock(space.data(), space.size()) != 0) {
    GTEST_SKIP() << "the system locks nothing";
  }
  constexpr int no_advice = 12'345;
  if (::madvise(space.data(), page_size(), no_advice) == 0) {
    GTEST_SKIP() << "the emulator takes any advice, and does nothing";
  }
  const int error = space.decommit(0, space.size());
  if (error == EINVAL) {
    GTEST_SKIP() << "the system gives nothing back that is locked: it is older than Linux 5.18";
  }
  EXPECT_EQ(error, 0);
  EXPECT_EQ(space.data()[0], std::byte{0});
}

}  // namespace
}  // namespace lido::detail
