#include "lido/debug/fill_pattern.hpp"

#include <gtest/gtest.h>

#include <algorithm>
#include <array>
#include <bit>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <set>
#include <vector>

namespace lido::detail {
namespace {

/// Sizes that are watched as a whole, with and without a remainder after the last sixteen bytes.
class FillPattern : public ::testing::TestWithParam<std::size_t> {
 protected:
  static constexpr std::byte untouched{0x77};

  FillPattern() : pattern_(GetParam(), 300) {
    bytes_.fill(untouched);
    pattern_.fill(bytes_.data(), 0);
  }

  fill_pattern pattern_;
  std::array<std::byte, 320> bytes_{};
};
INSTANTIATE_TEST_SUITE_P(Sizes, FillPattern,
                         ::testing::Values(1, 2, 3, 4, 7, 8, 9, 12, 16, 24, 47, 63, 64, 300));

TEST_P(FillPattern, IsRecognised) {
  EXPECT_TRUE(pattern_.is_intact(bytes_.data(), 0));
  EXPECT_EQ(pattern_.first_overwritten(bytes_.data(), 0), GetParam());
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
    EXPECT_FALSE(pattern_.is_intact(bytes_.data(), 0)) << i;
    EXPECT_EQ(pattern_.first_overwritten(bytes_.data(), 0), i);
    bytes_.at(i) = before;
  }
}

/// Sizes that are watched in part.
class FillWindow : public ::testing::TestWithParam<std::size_t> {
 protected:
  [[nodiscard]] static std::uint64_t windows() { return std::bit_ceil(GetParam()) / 32; }

  /// Returns the bytes whose change is found after that use.
  [[nodiscard]] std::set<std::size_t> watched(std::uint64_t use) const {
    const fill_pattern pattern(GetParam(), fill_pattern::least_whole);
    std::vector<std::byte> bytes(GetParam());
    pattern.fill(bytes.data(), use);
    std::set<std::size_t> found;
    for (std::size_t i = 0; i < bytes.size(); ++i) {
      bytes[i] ^= std::byte{0x10};
      if (!pattern.is_intact(bytes.data(), use)) {
        found.insert(i);
      }
      bytes[i] ^= std::byte{0x10};
    }
    return found;
  }
};
INSTANTIATE_TEST_SUITE_P(Sizes, FillWindow, ::testing::Values(65, 72, 96, 100, 256, 1000, 4096));

TEST_P(FillWindow, WatchesBothEndsWhateverTheUse) {
  for (std::uint64_t use = 0; use < windows(); ++use) {
    const std::set<std::size_t> found = watched(use);
    for (std::size_t i = 0; i < 16; ++i) {
      ASSERT_EQ(found.count(i), 1U) << i;
      ASSERT_EQ(found.count(GetParam() - 1 - i), 1U) << i;
    }
    ASSERT_GE(found.size(), 48U) << use;
    ASSERT_LE(found.size(), fill_pattern::least_whole) << use;
  }
}

TEST_P(FillWindow, HasBeenEverywhereAfterTwiceAsManyUsesAsThereAreWindows) {
  std::set<std::size_t> all;
  for (std::uint64_t use = 5; use < 5 + 2 * windows(); ++use) {
    all.merge(watched(use));
  }
  EXPECT_EQ(all.size(), GetParam());
}

// A stray write may always follow, say, an even use. The bytes that are filled are those watched.
TEST_P(FillWindow, ComesEverywhereForAMistakeOfAnyRhythm) {
  constexpr std::byte untouched{0x77};
  const fill_pattern pattern(GetParam(), fill_pattern::least_whole);
  for (const std::uint64_t step : {2U, 3U, 4U, 8U, 10U, 64U, 128U, 1000U}) {
    std::vector<std::byte> bytes(GetParam(), untouched);
    for (std::uint64_t round = 0; round < 64 * windows(); ++round) {
      pattern.fill(bytes.data(), 1 + round * step);
    }
    EXPECT_EQ(std::count(bytes.begin(), bytes.end(), untouched), 0)
        << "of every use number " << step;
  }
}

TEST(FillPatternWord, ReadsAsDeadBlob) {
  std::array<std::uint32_t, 2> words{};
  fill_pattern(sizeof(words), 64).fill(words.data(), 0);
  EXPECT_EQ(words[0], 0x1deadb0bU);
  EXPECT_EQ(words[1], 0x1deadb0bU);
}

}  // namespace
}  // namespace lido::detail
