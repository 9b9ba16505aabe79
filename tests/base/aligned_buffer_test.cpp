#include "lido/base/huge_pages.hpp"

#include <gtest/gtest.h>

#include <cstddef>
#include <cstring>

#include "support/address.hpp"

namespace lido::detail {
namespace {

using test::address;

TEST(AlignedBuffer, DataHasTheAlignmentAskedFor) {
  for (std::size_t alignment = 1; alignment <= 4096; alignment *= 2) {
    const aligned_buffer buffer(100, alignment);
    EXPECT_EQ(address(buffer.data()) % alignment, 0U) << "alignment " << alignment;
  }
}

TEST(AlignedBuffer, SizeIsTheSizeAskedFor) {
  EXPECT_EQ(aligned_buffer(100, 64).size(), 100U);
}

TEST(AlignedBuffer, EveryByteCanBeWritten) {
  const aligned_buffer buffer(1000, 128);
  std::memset(buffer.data(), 0x5A, buffer.size());
  EXPECT_EQ(buffer.data()[0], std::byte{0x5A});
  EXPECT_EQ(buffer.data()[999], std::byte{0x5A});
}

TEST(AlignedBuffer, TwoBuffersDoNotOverlap) {
  const aligned_buffer first(1000, 64);
  const aligned_buffer second(1000, 64);
  EXPECT_TRUE(address(first.data()) + 1000 <= address(second.data()) ||
              address(second.data()) + 1000 <= address(first.data()));
}

}  // namespace
}  // namespace lido::detail
