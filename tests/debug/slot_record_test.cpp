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

TEST(SlotWord, KeepsUseAndThreadApart) {
  const slot_word word = slot_word(0).next_use(4'194'303).next_use(7);
  EXPECT_EQ(word.use(), 2U);
  EXPECT_EQ(word.thread(), 7U);
  EXPECT_EQ(word.same_use(9).use(), 2U);
  EXPECT_EQ(word.same_use(9).thread(), 9U);
}

TEST(SlotRecord, OfTheHolderASecondReleaseIsRefused) {
  slot_record record;
  record.begin_use({}, 1);
  EXPECT_TRUE(record.is_used());
  EXPECT_EQ(record.try_end_as_holder(1).use(), 1U);
  EXPECT_FALSE(record.is_used());
  EXPECT_EQ(record.try_end_as_holder(1).use(), 0U);
}

TEST(SlotRecord, OthersAreNotTheHolder) {
  slot_record record;
  record.begin_use({}, 1);
  EXPECT_EQ(record.try_end_as_holder(2).use(), 0U);
  EXPECT_TRUE(record.is_used());
}

TEST(SlotRecord, WhatWasNeverAcquiredHasEnded) {
  const slot_record record;
  EXPECT_FALSE(record.is_used());
}

TEST(SlotRecord, OneClaimEndsAUse) {
  slot_record record;
  record.begin_use({}, 1);
  const slot_word mine = record.acquired().same_use(2);
  EXPECT_TRUE(record.try_claim(mine));
  EXPECT_FALSE(record.is_used());
  EXPECT_FALSE(record.try_claim(mine));
  EXPECT_FALSE(record.try_claim(record.acquired()));
}

TEST(SlotRecord, AClaimIsForItsUseAlone) {
  slot_record record;
  record.begin_use({}, 1);
  const slot_word first = record.acquired();
  ASSERT_TRUE(record.try_claim(first));
  record.begin_use({}, 3);
  EXPECT_FALSE(record.try_claim(first));
  EXPECT_TRUE(record.is_used());
}

// A holder that lost against a claim may store its release late, into the next use.
TEST(SlotRecord, ALateStoreOfALosingHolderHealsWithTheNextUse) {
  slot_record record;
  record.begin_use({}, 1);
  ASSERT_TRUE(record.try_claim(record.acquired().same_use(2)));
  const slot_word late = record.acquired();
  record.begin_use({}, 3);
  ASSERT_TRUE(record.try_claim(record.acquired()));
  record.publish_end(record.acquired());
  record.publish_end(late);
  EXPECT_FALSE(record.is_used());
  EXPECT_FALSE(record.try_claim(record.acquired()));
  record.begin_use({}, 4);
  EXPECT_TRUE(record.is_used());
}

TEST(SlotRecord, KeepsItsLastEvents) {
  slot_record record;
  for (std::uint32_t use = 1; use <= 10; ++use) {
    record.begin_use({}, use);
    record.note_release(record.try_end_as_holder(use), {});
  }
  for (std::uint64_t use = 7; use <= 10; ++use) {
    EXPECT_TRUE(record.acquire_of(use).known);
    EXPECT_TRUE(record.release_of(use).known);
    EXPECT_EQ(record.release_of(use).thread, use);
  }
  EXPECT_FALSE(record.acquire_of(6).known);
}

TEST(SlotRecord, OfManyClaimsExactlyOneWins) {
  for (int round = 0; round < 2000; ++round) {
    slot_record record;
    record.begin_use({}, 1);
    std::atomic<int> won{0};
    std::latch start(4);
    test::run_crew(4, [&](unsigned self) {
      start.arrive_and_wait();
      won += record.try_claim(record.acquired().same_use(self + 1)) ? 1 : 0;
    });
    ASSERT_EQ(won.load(), 1);
  }
}

}  // namespace
}  // namespace lido::detail
