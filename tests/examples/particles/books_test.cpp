// The checks of the particle demo, fed with missing or duplicate particles.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cstddef>
#include <cstdint>
#include <initializer_list>
#include <string>
#include <vector>

#include "census.hpp"
#include "ledger.hpp"

namespace particles {
namespace {

using testing::ElementsAre;
using testing::IsEmpty;

struct Books : testing::Test {
  void ask_for(std::initializer_list<std::uint32_t> numbers) {
    for (const std::uint32_t number : numbers) {
      books.asked();
      books.born(number);
    }
  }

  /// Adds identities as a pool would give them: one for each number.
  void call(std::initializer_list<std::uint32_t> numbers) {
    for (const std::uint32_t number : numbers) {
      roll.present(1000 + number, number);
    }
  }

  const std::vector<std::string>& complaints_when_pool_says(std::size_t in_use) {
    roll.compare(books, in_use);
    return books.found_wrong().first();
  }

  ledger books{8};
  census roll;
};

TEST_F(Books, AreContentWhenAllAreThere) {
  ask_for({0, 1, 2, 3});
  books.asked();
  books.refused();
  books.ended(1, ending::died);
  books.ended(2, ending::evicted);
  call({3, 0});
  EXPECT_THAT(complaints_when_pool_says(2), IsEmpty());
  const tally sums = books.totals();
  EXPECT_EQ(sums.asked, 5U);
  EXPECT_EQ(sums.born, 4U);
  EXPECT_EQ(sums.refused, 1U);
  EXPECT_EQ(sums.died, 1U);
  EXPECT_EQ(sums.evicted, 1U);
  EXPECT_EQ(sums.alive(), 2U);
}

TEST_F(Books, MissALostParticle) {
  ask_for({0, 1, 2});
  call({0, 2});
  EXPECT_THAT(complaints_when_pool_says(3), ElementsAre("particle 1 is lost"));
}

TEST_F(Books, NoticeADoubledParticle) {
  ask_for({0, 1});
  call({0, 1});
  roll.present(5, 1);
  EXPECT_THAT(complaints_when_pool_says(2), ElementsAre("particle 1 is there twice"));
}

TEST_F(Books, NoticeTwoParticlesInOnePlace) {
  ask_for({0, 1});
  roll.present(0xab, 0);
  roll.present(0xab, 1);
  EXPECT_THAT(complaints_when_pool_says(2), ElementsAre("particles 0 and 1 have one place: 0xab"));
}

TEST_F(Books, NoticeAParticleThatWasNeverBornOrHasEnded) {
  ask_for({0, 1});
  books.ended(1, ending::died);
  call({0, 1, 5});
  EXPECT_THAT(complaints_when_pool_says(1),
              ElementsAre("particle 1 is a ghost: it is not alive in the books",
                          "particle 5 is a ghost: it is not alive in the books"));
}

TEST_F(Books, AdmitNoSecondBirthAndNoSecondEnd) {
  ask_for({0});
  books.born(0);
  books.born(8);
  books.ended(0, ending::died);
  books.ended(0, ending::evicted);
  books.ended(9, ending::died);
  EXPECT_THAT(
      books.found_wrong().first(),
      ElementsAre("particle 0 was born twice", "particle 8 was born, but only 8 were asked for",
                  "particle 0 ended, but was not alive", "particle 9 ended, but was not alive"));
  EXPECT_EQ(books.totals().died, 1U);
  EXPECT_EQ(books.totals().evicted, 0U);
}

TEST_F(Books, MissAnAnswerToARequest) {
  ask_for({0});
  books.asked();
  call({0});
  EXPECT_THAT(complaints_when_pool_says(1),
              ElementsAre("2 places were asked for, 1 given and 0 refused"));
}

TEST_F(Books, NoticeAPoolThatMiscounts) {
  ask_for({0});
  call({0});
  EXPECT_THAT(complaints_when_pool_says(2),
              ElementsAre("the pool says 2 are in use, the books say 1"));
}

TEST_F(Books, ForgetTheAnswersOfTheLastRollCall) {
  ask_for({0});
  call({0});
  roll.compare(books, 1);
  call({0});
  EXPECT_THAT(complaints_when_pool_says(1), IsEmpty());
}

}  // namespace
}  // namespace particles
