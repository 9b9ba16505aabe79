// Tests the checker of histories with histories written by hand: good ones pass, and each rule
// finds the history that breaks only that rule.
#include "harness/history.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace stress {
namespace {

using ::testing::Eq;
using ::testing::HasSubstr;
using ::testing::Optional;

// The instants of a holding are those of acquire (call, return) and of release (call, return).
const holding first{10, 20, 30, 40, 0};

TEST(History, NothingIsPossible) {
  EXPECT_THAT(impossible_in({}, 1), Eq(std::nullopt));
}

TEST(History, OneHoldingIsPossible) {
  EXPECT_THAT(impossible_in({{first}, {}}, 1), Eq(std::nullopt));
}

TEST(History, OneSlotAfterAnotherOwnerIsPossible) {
  EXPECT_THAT(impossible_in({{first, {50, 60, 70, 80, 0}}, {}}, 1), Eq(std::nullopt));
}

TEST(History, CallsThatOverlapArePossible) {
  // The second acquire overlaps the first release, so it takes effect after it.
  EXPECT_THAT(impossible_in({{first, {5, 35, 70, 80, 0}}, {}}, 1), Eq(std::nullopt));
}

TEST(History, HandOverInOneInstantIsPossible) {
  EXPECT_THAT(impossible_in({{first, {25, 30, 50, 60, 0}}, {}}, 1), Eq(std::nullopt));
}

TEST(History, TwoSlotsAtOnceArePossible) {
  EXPECT_THAT(impossible_in({{first, {10, 20, 30, 40, 1}}, {}}, 2), Eq(std::nullopt));
}

TEST(History, TwoOwnersAreImpossible) {
  EXPECT_THAT(impossible_in({{first, {15, 25, 50, 60, 0}}, {}}, 1),
              Optional(HasSubstr("two owners")));
}

TEST(History, TwoOwnersAreImpossibleInWhateverOrderTheyAreWritten) {
  EXPECT_THAT(impossible_in({{{15, 25, 50, 60, 0}, first}, {}}, 1),
              Optional(HasSubstr("two owners")));
}

TEST(History, OwnerWithinTheTimeOfAnotherIsImpossible) {
  EXPECT_THAT(
      impossible_in({{{0, 1, 100, 101, 0}, {20, 21, 22, 23, 0}, {30, 31, 32, 33, 0}}, {}}, 1),
      Optional(HasSubstr("two owners")));
}

TEST(History, OwnerBehindAShorterOneIsStillImpossible) {
  EXPECT_THAT(
      impossible_in({{{0, 1, 100, 101, 0}, {200, 201, 300, 301, 0}, {50, 60, 61, 62, 0}}, {}}, 1),
      Optional(HasSubstr("two owners")));
}

TEST(History, RefusalWhileAllIsOutIsPossible) {
  EXPECT_THAT(impossible_in({{first}, {{22, 25}}}, 1), Eq(std::nullopt));
}

TEST(History, RefusalWhileTheAcquireIsUnderWayIsPossible) {
  EXPECT_THAT(impossible_in({{first}, {{11, 12}}}, 1), Eq(std::nullopt));
}

TEST(History, RefusalWhileTheReleaseIsUnderWayIsPossible) {
  EXPECT_THAT(impossible_in({{first}, {{38, 39}}}, 1), Eq(std::nullopt));
}

TEST(History, LongRefusalAroundAShortHoldingIsPossible) {
  EXPECT_THAT(impossible_in({{first}, {{0, 100}}}, 1), Eq(std::nullopt));
}

TEST(History, RefusalThatTouchesAHoldingIsPossible) {
  EXPECT_THAT(impossible_in({{first}, {{40, 45}, {5, 10}}}, 1), Eq(std::nullopt));
}

TEST(History, RefusalBeforeAnythingIsOutIsImpossible) {
  EXPECT_THAT(impossible_in({{first}, {{5, 9}}}, 1), Optional(HasSubstr("refused")));
}

TEST(History, RefusalAfterAllIsBackIsImpossible) {
  EXPECT_THAT(impossible_in({{first}, {{41, 45}}}, 1), Optional(HasSubstr("refused")));
}

TEST(History, RefusalOfAnUnusedPoolIsImpossible) {
  EXPECT_THAT(impossible_in({{}, {{1, 2}}}, 1), Optional(HasSubstr("refused")));
}

TEST(History, RefusalWithOneSlotFreeIsImpossible) {
  EXPECT_THAT(impossible_in({{first}, {{22, 25}}}, 2), Optional(HasSubstr("refused")));
}

TEST(History, OneSlotCountsOnceWhenItsHoldingsMayOverlap) {
  // Both holdings are of slot 0, and slot 1 was free throughout.
  EXPECT_THAT(impossible_in({{first, {32, 45, 50, 60, 0}}, {{35, 38}}}, 2),
              Optional(HasSubstr("refused")));
}

TEST(History, AllOutAtDifferentMomentsIsNotAllOut) {
  EXPECT_THAT(impossible_in({{first, {50, 60, 70, 80, 1}}, {{0, 100}}}, 2),
              Optional(HasSubstr("refused")));
}

TEST(History, SecondRefusalIsLookedAtToo) {
  EXPECT_THAT(impossible_in({{first}, {{22, 25}, {50, 60}}}, 1), Optional(HasSubstr("refused")));
}

TEST(History, TimeThatRunsBackwardsIsImpossible) {
  EXPECT_THAT(impossible_in({{{10, 9, 30, 40, 0}}, {}}, 1), Optional(HasSubstr("held")));
  EXPECT_THAT(impossible_in({{}, {{10, 9}}}, 1), Optional(HasSubstr("refused")));
}

TEST(History, SlotThatDoesNotExistIsImpossible) {
  EXPECT_THAT(impossible_in({{first}, {}}, 0), Optional(HasSubstr("slot 0")));
}

TEST(History, ClockMoves) {
  const instant before = now();
  while (now() == before) {
  }
  EXPECT_GT(now(), before);
}

}  // namespace
}  // namespace stress
