#include "lido/base/address_space.hpp"

#include <gtest/gtest.h>

#include <bit>
#include <cstddef>
#include <cstdint>
#include <limits>
#include <new>

#include "support/resident.hpp"

namespace lido::detail {
namespace {

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
  ASSERT_EQ(test::resident_pages(space.data(), space.size()), 100U);
  ASSERT_EQ(space.decommit(20 * page_size(), 30 * page_size()), 0);
  EXPECT_EQ(test::resident_pages(space.data(), space.size()).value_or(70), 70U);
  ASSERT_EQ(space.commit(20 * page_size(), page_size()), 0);
  EXPECT_EQ(space.data()[20 * page_size()], std::byte{0});
  EXPECT_EQ(space.data()[19 * page_size()], std::byte{1});
  EXPECT_EQ(space.data()[50 * page_size()], std::byte{1});
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
#if SIZE_MAX > 0xFFFF'FFFF  // no 32-bit system has such sizes
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
