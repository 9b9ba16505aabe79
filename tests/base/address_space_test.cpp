#include "lido/base/address_space.hpp"

#include <gtest/gtest.h>
#include <sys/mman.h>

#include <algorithm>
#include <bit>
#include <cerrno>
#include <cstddef>
#include <cstdint>
#include <fstream>
#include <iterator>
#include <limits>
#include <new>
#include <vector>

namespace lido::detail {
namespace {

constexpr std::size_t cannot_tell = std::numeric_limits<std::size_t>::max();

/// Pages of `space` that have memory now. cannot_tell: an emulator does not, of pages that cannot
/// be read.
std::size_t resident_pages(const address_space& space) {
  const std::size_t pages = (space.size() + page_size() - 1) / page_size();
  std::vector<unsigned char> states(pages);
  if (::mincore(space.data(), space.size(), states.data()) != 0) {
    return cannot_tell;
  }
  std::size_t resident = 0;
  for (const unsigned char state : states) {
    resident += state & 1U;
  }
  return resident;
}

/// Of the whole process.
std::size_t mappings() {
  std::ifstream maps("/proc/self/maps");
  return static_cast<std::size_t>(std::count(std::istreambuf_iterator<char>(maps), {}, '\n'));
}

TEST(AddressSpace, CommittedBytesAreZeroAndKeepWhatIsWritten) {
  const address_space space(10 * page_size(), 8);
  ASSERT_EQ(space.commit(page_size(), page_size()), 0);
  std::byte& last = space.data()[2 * page_size() - 1];
  EXPECT_EQ(last, std::byte{0});
  last = std::byte{7};
  ASSERT_EQ(space.commit(page_size(), 2 * page_size()), 0) << "once more, with its neighbour";
  EXPECT_EQ(last, std::byte{7});
}

TEST(AddressSpace, DecommittedMemoryGoesBackToTheSystemAndComesBackAsZeros) {
  const address_space space(100 * page_size(), 8);
  ASSERT_EQ(space.commit(0, space.size()), 0);
  for (std::size_t at = 0; at < space.size(); at += page_size()) {
    space.data()[at] = std::byte{1};
  }
  ASSERT_EQ(resident_pages(space), 100U);
  ASSERT_EQ(space.decommit(20 * page_size(), 30 * page_size()), 0);
  if (const std::size_t left = resident_pages(space); left != cannot_tell) {
    EXPECT_EQ(left, 70U);
  }
  ASSERT_EQ(space.commit(20 * page_size(), page_size()), 0);
  EXPECT_EQ(space.data()[20 * page_size()], std::byte{0});
  EXPECT_EQ(space.data()[19 * page_size()], std::byte{1});
  EXPECT_EQ(space.data()[50 * page_size()], std::byte{1});
}

// A process has but 65,530 of them.
TEST(AddressSpace, WhatGoesBackBetweenWhatStaysCostsNoMappings) {
  const address_space space(2000 * page_size(), 8);
  ASSERT_EQ(space.commit(0, space.size()), 0);
  const std::size_t before = mappings();
  for (std::size_t page = 0; page < 2000; page += 2) {
    ASSERT_EQ(space.decommit(page * page_size(), page_size()), 0);
  }
  EXPECT_LT(mappings(), before + 100);
}

// As with mlockall, which programs for real time call.
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

TEST(AddressSpace, AlignmentBeyondAPageIsKept) {
  for (const std::size_t alignment :
       {std::size_t{1}, std::size_t{4096}, std::size_t{1} << 16U, std::size_t{1} << 21U}) {
    const address_space space(12345, alignment);
    EXPECT_EQ(std::bit_cast<std::uintptr_t>(space.data()) % alignment, 0U);
    ASSERT_EQ(space.commit(0, 12345), 0);
    space.data()[12344] = std::byte{1};
  }
}

TEST(AddressSpace, MoreThanThereAreAddressesIsABadAlloc) {
#if SIZE_MAX > 0xFFFF'FFFF  // sizes that no system of 32 bits has
  EXPECT_THROW(address_space space(std::size_t{1} << 60U, 8), std::bad_alloc);
#endif
  EXPECT_THROW(address_space space(std::numeric_limits<std::size_t>::max(), 8), std::bad_alloc);
}

using AddressSpaceDeathTest = ::testing::Test;

TEST(AddressSpaceDeathTest, AccessWithoutMemoryEndsTheProgram) {
  const address_space space(10 * page_size(), 8);
  EXPECT_DEATH(space.data()[0] = std::byte{1}, "");
  ASSERT_EQ(space.commit(0, page_size()), 0);
  EXPECT_DEATH(space.data()[page_size()] = std::byte{1}, "");
}

}  // namespace
}  // namespace lido::detail
