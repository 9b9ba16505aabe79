#include "totals.hpp"

#include <gtest/gtest.h>

#include <string>
#include <vector>

#include "corpus.hpp"
#include "counts.hpp"

namespace demo {
namespace {

corpus two_files() {
  corpus input;
  input.types = {".a", ".b"};
  input.files = {{"one two 3\n", 0}, {"four\n\n", 1}};
  return input;
}

TEST(Totals, AreKeptByFileType) {
  const totals found = count_serially(two_files());
  EXPECT_EQ(found.by_type()[0][counter::identifiers], 2U);
  EXPECT_EQ(found.by_type()[1][counter::lines], 2U);
  EXPECT_EQ(found.sum()[counter::bytes], 16U);
}

TEST(Totals, DifferInNothingFromThemselves) {
  const corpus input = two_files();
  EXPECT_TRUE(differences(count_serially(input), count_serially(input), input.types).empty());
}

TEST(Totals, SayWhatDiffers) {
  const corpus input = two_files();
  totals doubled = count_serially(input);
  counts extra{};
  extra[counter::numbers] = 1;
  extra.longest.assign("seven");
  doubled.add(1, extra);
  const std::vector<std::string> wanted{".b numbers: 0 serially, 1 by jobs",
                                        ".b longest identifier: 'four' serially, 'seven' by jobs"};
  EXPECT_EQ(differences(count_serially(input), doubled, input.types), wanted);
}

}  // namespace
}  // namespace demo
