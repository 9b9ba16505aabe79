#include "lido/debug/slot_record.hpp"

#include <gtest/gtest.h>

#include <atomic>
#include <cstdint>
#include <latch>
#include <memory>
#include <type_traits>

#include "support/crew.hpp"

namespace lido::detail {
namespace {

TEST(SlotWord, KeepsStepAndThreadApart) {
  const slot_word word = slot_word(0).next(4'194'303).next(7);
  EXPECT_EQ(word.step(), 2U);
  EXPECT_EQ(word.thread(), 7U);
}

TEST(SlotWord, IsInUseAtOddSteps) {
  EXPECT_FALSE(slot_word(0).in_use());
  EXPECT_TRUE(slot_word(0).next(1).in_use());
  EXPECT_FALSE(slot_word(0).next(1).next(1).in_use());
}

TEST(SlotRecord, ASecondReleaseIsRefused) {
  slot_record record;
  record.mark_used({}, 1);
  EXPECT_TRUE(record.try_mark_free({}, 1));
  EXPECT_FALSE(record.try_mark_free({}, 1));
  EXPECT_FALSE(record.is_used());
}

TEST(SlotRecord, ReleaseOfWhatWasNeverAcquiredIsRefused) {
  slot_record record;
  EXPECT_FALSE(record.try_mark_free({}, 1));
}

TEST(SlotRecord, KeepsItsLastEvents) {
  slot_record record;
  for (std::uint32_t round = 0; round < 10; ++round) {
    record.mark_used({}, round);
    ASSERT_TRUE(record.try_mark_free({}, round));
  }
  ASSERT_EQ(record.word().step(), 20U);
  for (std::uint64_t step = 13; step <= 20; ++step) {
    EXPECT_EQ(record.event_of(step).word.step(), step);
    EXPECT_EQ(record.event_of(step).word.thread(), (step - 1) / 2);
  }
  EXPECT_NE(record.event_of(12).word.step(), 12U);
}

TEST(SlotRecord, OfManyReleasesExactlyOneWins) {
  for (int round = 0; round < 2000; ++round) {
    slot_record record;
    record.mark_used({}, 1);
    std::atomic<int> won{0};
    std::latch start(4);
    test::run_crew(4, [&](unsigned self) {
      start.arrive_and_wait();
      won += record.try_mark_free({}, self + 1) ? 1 : 0;
    });
    ASSERT_EQ(won.load(), 1);
  }
}

}  // namespace
}  // namespace lido::detail
