#include "lido/debug/fill_pattern.hpp"

#include <gtest/gtest.h>

#include <array>
#include <bit>
#include <cstddef>
#include <cstdint>
#include <cstring>

namespace lido::detail {
namespace {

/// Sizes with and without a rest behind the last eight bytes.
class FillPattern : public ::testing::TestWithParam<std::size_t> {
 protected:
  static constexpr std::byte untouched{0x77};

  FillPattern() {
    bytes_.fill(untouched);
    fill(bytes_.data(), GetParam());
  }

  std::array<std::byte, 80> bytes_{};
};
INSTANTIATE_TEST_SUITE_P(Sizes, FillPattern,
                         ::testing::Values(1, 2, 3, 4, 7, 8, 9, 12, 16, 63, 64));

TEST_P(FillPattern, IsRecognised) {
  EXPECT_TRUE(is_filled(bytes_.data(), GetParam()));
  EXPECT_EQ(first_overwritten(bytes_.data(), GetParam()), GetParam());
}

TEST_P(FillPattern, StaysInsideItsSlot) {
  for (std::size_t i = GetParam(); i < bytes_.size(); ++i) {
    EXPECT_EQ(bytes_.at(i), untouched) << i;
  }
}

TEST_P(FillPattern, AnyChangedByteIsFound) {
  for (std::size_t i = 0; i < GetParam(); ++i) {
    const std::byte before = bytes_.at(i);
    bytes_.at(i) ^= std::byte{0x10};
    EXPECT_FALSE(is_filled(bytes_.data(), GetParam())) << i;
    EXPECT_EQ(first_overwritten(bytes_.data(), GetParam()), i);
    bytes_.at(i) = before;
  }
}

TEST(FillPatternWord, ReadsAsDeadBlob) {
  std::array<std::uint32_t, 2> words{};
  fill(words.data(), sizeof(words));
  EXPECT_EQ(words[0], 0x1deadb0bU);
  EXPECT_EQ(words[1], 0x1deadb0bU);
}

}  // namespace
}  // namespace lido::detail
