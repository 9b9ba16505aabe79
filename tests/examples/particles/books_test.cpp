// The checks of the particle demo, fed with particles that are missing or there twice.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cstddef>
#include <cstdint>
#include <initializer_list>
#include <string>
#include <vector>

#include "ledger.hpp"

namespace particles {
namespace {

using testing::ElementsAre;
using testing::IsEmpty;

struct Books : testing::Test {
  void bear(std::initializer_list<std::uint32_t> numbers) {
    for (const std::uint32_t number : numbers) {
      books.born(number);
    }
  }

  const std::vector<std::string>& complaints_when_map_says(
      std::size_t in_map, std::initializer_list<std::uint32_t> numbers) {
    for (const std::uint32_t number : numbers) {
      books.present(number);
    }
    books.compare(in_map);
    return books.wrong();
  }

  ledger books{8};
};

TEST_F(Books, AreContentWhenAllAreThere) {
  bear({0, 1, 2, 3});
  books.refused();
  books.ended(1, ending::died);
  books.ended(2, ending::evicted);
  EXPECT_THAT(complaints_when_map_says(2, {3, 0}), IsEmpty());
  EXPECT_THAT(complaints_when_map_says(2, {0, 3}), IsEmpty()) << "the next roll call";
  const tally& sums = books.totals();
  EXPECT_EQ(sums.born, 4U);
  EXPECT_EQ(sums.refused, 1U);
  EXPECT_EQ(sums.died, 1U);
  EXPECT_EQ(sums.evicted, 1U);
  EXPECT_EQ(sums.alive(), 2U);
}

TEST_F(Books, MissALostParticle) {
  bear({0, 1, 2});
  EXPECT_THAT(complaints_when_map_says(3, {0, 2}), ElementsAre("particle 1 is lost"));
}

TEST_F(Books, NoticeADoubledParticle) {
  bear({0, 1});
  EXPECT_THAT(complaints_when_map_says(2, {0, 1, 1}),
              ElementsAre("particle 1 is a ghost, or there twice"));
}

TEST_F(Books, NoticeAParticleThatWasNeverBornOrHasEnded) {
  bear({0, 1});
  books.ended(1, ending::died);
  EXPECT_THAT(
      complaints_when_map_says(1, {0, 1, 5, 9}),
      ElementsAre("particle 1 is a ghost, or there twice", "particle 5 is a ghost, or there twice",
                  "particle 9 is a ghost, or there twice"));
}

TEST_F(Books, AdmitNoSecondBirthAndNoSecondEnd) {
  bear({0, 0, 8});
  books.ended(0, ending::died);
  books.ended(0, ending::evicted);
  books.ended(9, ending::died);
  EXPECT_THAT(books.wrong(), ElementsAre("particle 0 cannot be born", "particle 8 cannot be born",
                                         "particle 0 ended, but was not alive",
                                         "particle 9 ended, but was not alive"));
  EXPECT_EQ(books.totals().died, 1U);
  EXPECT_EQ(books.totals().evicted, 0U);
}

TEST_F(Books, NoticeAMapThatMiscounts) {
  bear({0});
  EXPECT_THAT(complaints_when_map_says(2, {0}),
              ElementsAre("the map says 2 are in it, the books say 1"));
}

}  // namespace
}  // namespace particles
