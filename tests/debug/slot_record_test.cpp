#include "lido/debug/slot_record.hpp"

#include <gtest/gtest.h>

#include <atomic>
#include <cstdint>
#include <latch>

#include "support/crew.hpp"

namespace lido::detail {
namespace {

TEST(SlotRecord, NoReleaseEndsWhatWasNeverAcquired) {
  slot_record record;
  EXPECT_FALSE(record.is_used());
  EXPECT_FALSE(record.try_end(record.last_step(), {}, 1));
  EXPECT_FALSE(record.is_used());
  EXPECT_EQ(record.uses(), 0U);
}

TEST(SlotRecord, OneReleaseEndsAUseWhicheverThreadMakesIt) {
  slot_record record;
  record.begin_use({}, 1);
  const std::uint64_t step = record.last_step();
  EXPECT_TRUE(record.is_used());
  EXPECT_TRUE(record.try_end(step, {}, 2));
  EXPECT_FALSE(record.is_used());
  EXPECT_FALSE(record.try_end(step, {}, 1));
  EXPECT_FALSE(record.try_end(record.last_step(), {}, 1));
  EXPECT_FALSE(record.is_used());
  EXPECT_EQ(record.uses(), 1U);
}

TEST(SlotRecord, AReleaseIsForItsUseAlone) {
  slot_record record;
  record.begin_use({}, 1);
  const std::uint64_t first = record.last_step();
  ASSERT_TRUE(record.try_end(first, {}, 1));
  record.begin_use({}, 3);
  EXPECT_FALSE(record.try_end(first, {}, 1));
  EXPECT_TRUE(record.is_used());
  EXPECT_EQ(record.uses(), 2U);
}

TEST(SlotRecord, KeepsItsLastEvents) {
  slot_record record;
  const int somewhere = 0;
  const int elsewhere = 0;
  for (std::uint32_t use = 1; use <= 10; ++use) {
    record.begin_use({&somewhere}, use);
    ASSERT_TRUE(record.try_end(record.last_step(), {&elsewhere}, 100 + use));
  }
  for (std::uint64_t use = 7; use <= 10; ++use) {
    const slot_record::event acquire = record.event_of(2 * use - 1);
    EXPECT_EQ(acquire.at.address, &somewhere);
    EXPECT_EQ(acquire.thread, use);
    const slot_record::event release = record.event_of(2 * use);
    EXPECT_EQ(release.at.address, &elsewhere);
    EXPECT_EQ(release.thread, 100 + use);
  }
}

// A release counts its step before it writes down the event.
TEST(SlotRecord, AReleaseThatIsNotWrittenDownYetIsNotTakenForAnOlderOne) {
  slot_record record;
  const int somewhere = 0;
  for (std::uint32_t use = 1; use <= 5; ++use) {
    record.begin_use({&somewhere}, 1);
    ASSERT_TRUE(use == 5 || record.try_end(record.last_step(), {&somewhere}, 1));
  }
  EXPECT_EQ(record.event_of(8).thread, 1U);
  EXPECT_EQ(record.event_of(10).thread, 0U);
  EXPECT_EQ(record.event_of(10).at.address, nullptr);
}

TEST(SlotRecord, OfManyReleasesExactlyOneCounts) {
  for (int round = 0; round < 2000; ++round) {
    slot_record record;
    record.begin_use({}, 1);
    const std::uint64_t step = record.last_step();
    std::atomic<int> counted{0};
    std::latch start(4);
    test::run_crew(4, [&](unsigned self) {
      start.arrive_and_wait();
      counted += record.try_end(step, {}, self + 1) ? 1 : 0;
    });
    ASSERT_EQ(counted.load(), 1);
  }
}

}  // namespace
}  // namespace lido::detail
