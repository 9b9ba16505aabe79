#include "lido/debug/slot_record.hpp"

#include <gtest/gtest.h>

#include <atomic>
#include <cstdint>
#include <latch>

#include "support/crew.hpp"

namespace lido::detail {
namespace {

TEST(SlotRecord, WhatWasNeverAcquiredIsHeldByNoThread) {
  const slot_record record;
  EXPECT_FALSE(record.is_used());
  EXPECT_FALSE(record.is_held_by(0, record.last_use()));
}

TEST(SlotRecord, IsHeldByTheThreadThatAcquiredUntilTheUseEnds) {
  slot_record record;
  record.begin_use({}, 1);
  EXPECT_TRUE(record.is_used());
  EXPECT_TRUE(record.is_held_by(1, record.last_use()));
  EXPECT_FALSE(record.is_held_by(2, record.last_use()));
  record.publish_end(record.last_use());
  EXPECT_FALSE(record.is_used());
  EXPECT_FALSE(record.is_held_by(1, record.last_use()));
}

TEST(SlotRecord, OneClaimEndsAUse) {
  slot_record record;
  record.begin_use({}, 1);
  EXPECT_TRUE(record.try_claim(1));
  EXPECT_FALSE(record.is_used());
  EXPECT_FALSE(record.try_claim(1));
}

TEST(SlotRecord, AClaimIsForItsUseAlone) {
  slot_record record;
  record.begin_use({}, 1);
  ASSERT_TRUE(record.try_claim(1));
  record.begin_use({}, 3);
  EXPECT_FALSE(record.try_claim(1));
  EXPECT_TRUE(record.is_used());
}

// A holder that lost against a claim may store its release late, during a later use.
TEST(SlotRecord, ALateStoreOfALosingHolderEndsNoOtherUse) {
  slot_record record;
  record.begin_use({}, 1);
  ASSERT_TRUE(record.try_claim(1));
  record.begin_use({}, 3);
  ASSERT_TRUE(record.try_claim(2));
  record.publish_end(2);
  record.publish_end(1);
  EXPECT_FALSE(record.is_used());
  EXPECT_FALSE(record.try_claim(2));
  record.begin_use({}, 4);
  EXPECT_TRUE(record.is_used());
  EXPECT_TRUE(record.is_held_by(4, 3));
}

TEST(SlotRecord, KeepsItsLastEvents) {
  slot_record record;
  const int somewhere = 0;
  for (std::uint32_t use = 1; use <= 10; ++use) {
    record.begin_use({&somewhere}, use);
    record.publish_end(use);
    if (use % 2 == 0) {
      record.note_release(use, {&somewhere});
    } else {
      record.note_release_by(use, {&somewhere}, 100 + use);
    }
  }
  for (std::uint64_t use = 7; use <= 10; ++use) {
    EXPECT_EQ(record.acquire_of(use).at.address, &somewhere);
    EXPECT_EQ(record.acquire_of(use).thread, use);
    EXPECT_EQ(record.release_of(use).at.address, &somewhere);
    EXPECT_EQ(record.release_of(use).thread, use % 2 == 0 ? use : 100 + use);
  }
}

TEST(SlotRecord, AReleaseThatIsNotWrittenDownYetIsNotTakenForAnOlderOne) {
  slot_record record;
  const int somewhere = 0;
  for (std::uint64_t use = 1; use <= 5; ++use) {
    record.begin_use({&somewhere}, 1);
    record.publish_end(use);
    if (use < 5) {
      record.note_release(use, {&somewhere});
    }
  }
  EXPECT_NE(record.release_of(4).at.address, nullptr);
  EXPECT_EQ(record.release_of(5).at.address, nullptr);
}

TEST(SlotRecord, OfManyClaimsExactlyOneWins) {
  for (int round = 0; round < 2000; ++round) {
    slot_record record;
    record.begin_use({}, 1);
    std::atomic<int> won{0};
    std::latch start(4);
    test::run_crew(4, [&](unsigned /*self*/) {
      start.arrive_and_wait();
      won += record.try_claim(1) ? 1 : 0;
    });
    ASSERT_EQ(won.load(), 1);
  }
}

TEST(ReleaseBias, TheHolderEndsAloneUntilAnotherThreadHasReleased) {
  release_bias bias;
  slot_record record;
  record.begin_use({}, 1);
  const bool alone = bias.end_alone(record, 1, {});
  EXPECT_EQ(alone, heavy_fence_available());
  record.begin_use({}, 1);
  EXPECT_TRUE(bias.end_as_other(record, {}));
  EXPECT_FALSE(bias.end_as_other(record, {}));
  record.begin_use({}, 1);
  EXPECT_FALSE(bias.end_alone(record, 3, {}));
  EXPECT_TRUE(release_bias::settle(record, 3, {}));
  EXPECT_FALSE(release_bias::settle(record, 3, {}));
}

}  // namespace
}  // namespace lido::detail
