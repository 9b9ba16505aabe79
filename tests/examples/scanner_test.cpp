#include "scanner.hpp"

#include <gtest/gtest.h>

#include <algorithm>
#include <cstddef>
#include <string_view>

#include "counts.hpp"

namespace demo {
namespace {

counts scanned(std::string_view text, std::size_t piece) {
  counts all{};
  for (std::size_t begin = 0; begin < text.size(); begin += piece) {
    counts part{};
    scan(text, begin, std::min(begin + piece, text.size()), part);
    all.add(part);
  }
  return all;
}

TEST(Scanner, CountsEachKindOfToken) {
  const counts found = scanned("int x1 = 0x1F + 12;\n\tnext_line(a, b);\n", 1000);
  EXPECT_EQ(found[counter::lines], 2U);
  EXPECT_EQ(found[counter::identifiers], 5U);  // int x1 next_line a b
  EXPECT_EQ(found[counter::numbers], 2U);      // 0x1F 12
  EXPECT_EQ(found[counter::others], 7U);       // = + ; ( , ) ;
  EXPECT_EQ(found.longest.text(), "next_line");
}

TEST(Scanner, TakesBytesAbove127ForLetters) {
  const counts found = scanned("na\xc3\xafve caf\xc3\xa9", 1000);
  EXPECT_EQ(found[counter::identifiers], 2U);
  EXPECT_EQ(found[counter::others], 0U);
}

TEST(Scanner, CountsTheSameWhereverTheBordersAre) {
  constexpr std::string_view text =
      "alpha 12beta\n_c1 99 99a;;\n\n(\xc3\xa9t\xc3\xa9)a_very_long_name 7";
  const counts whole = scanned(text, text.size());
  for (std::size_t piece = 1; piece <= text.size(); ++piece) {
    const counts pieces = scanned(text, piece);
    EXPECT_EQ(pieces.values, whole.values) << "pieces of " << piece;
    EXPECT_EQ(pieces.longest.text(), whole.longest.text()) << "pieces of " << piece;
  }
}

}  // namespace
}  // namespace demo
