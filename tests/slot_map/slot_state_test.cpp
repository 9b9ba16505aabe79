#include "lido/slot_map/slot_state.hpp"

#include <gtest/gtest.h>

#include <atomic>
#include <chrono>
#include <thread>

namespace lido::detail {
namespace {

using access = slot_state::access;
using fate = slot_state::fate;

TEST(SlotState, NoThreadEntersBeforeThereIsAValue) {
  slot_state state;
  EXPECT_EQ(state.generation(), 1U);
  EXPECT_FALSE(state.is_live() || state.is_live(1));
  EXPECT_FALSE(state.enter(1, access::alone) || state.enter(1, access::shared));
  EXPECT_EQ(state.erase(1), fate::stale);
}

TEST(SlotState, OnlyTheRightGenerationEnters) {
  slot_state state;
  state.publish();
  EXPECT_TRUE(state.is_live(1));
  EXPECT_FALSE(state.is_live(0) || state.is_live(2));
  EXPECT_FALSE(state.enter(2, access::alone) || state.enter(0, access::shared));
  EXPECT_EQ(state.erase(2), fate::stale);
  EXPECT_TRUE(state.enter(1, access::alone));
  EXPECT_FALSE(state.leave(access::alone));
}

TEST(SlotState, OneReaderTooManyWaits) {
  constexpr int most = 16383;
  slot_state state;
  state.publish();
  for (int i = 0; i < most; ++i) {
    ASSERT_TRUE(state.enter(1, access::shared));
  }
  std::atomic<bool> entered = false;
  std::thread late([&] {
    EXPECT_TRUE(state.enter(1, access::shared));
    entered = true;
  });
  std::this_thread::sleep_for(std::chrono::milliseconds(50));
  EXPECT_FALSE(entered);
  EXPECT_FALSE(state.leave(access::shared));
  late.join();
  EXPECT_EQ(state.erase(1), fate::theirs);
  for (int i = 1; i < most; ++i) {
    ASSERT_FALSE(state.leave(access::shared));
  }
  EXPECT_TRUE(state.leave(access::shared));
}

TEST(SlotState, ManyReadAtOnce) {
  slot_state state;
  state.publish();
  EXPECT_TRUE(state.enter(1, access::shared));
  EXPECT_TRUE(state.enter(1, access::shared));
  EXPECT_FALSE(state.leave(access::shared));
  EXPECT_FALSE(state.leave(access::shared));
  EXPECT_TRUE(state.enter(1, access::alone));
  EXPECT_FALSE(state.leave(access::alone));
}

TEST(SlotState, EraserEndsAValueWithoutVisitors) {
  slot_state state;
  state.publish();
  EXPECT_EQ(state.erase(1), fate::ours);
  EXPECT_EQ(state.erase(1), fate::stale);
  EXPECT_TRUE(state.retire_value(9));
  EXPECT_EQ(state.generation(), 2U);
  EXPECT_FALSE(state.is_live());
}

TEST(SlotState, VisitorEndsAValueThatIsErasedMeanwhile) {
  slot_state state;
  state.publish();
  EXPECT_TRUE(state.enter(1, access::alone));
  EXPECT_EQ(state.erase(1), fate::theirs);
  EXPECT_EQ(state.erase(1), fate::stale);
  EXPECT_FALSE(state.is_live(1) || state.enter(1, access::alone));
  EXPECT_TRUE(state.leave(access::alone));
}

TEST(SlotState, LastReaderEndsAValueThatIsErasedMeanwhile) {
  slot_state state;
  state.publish();
  EXPECT_TRUE(state.enter(1, access::shared));
  EXPECT_TRUE(state.enter(1, access::shared));
  EXPECT_EQ(state.erase(1), fate::theirs);
  EXPECT_FALSE(state.enter(1, access::shared));
  EXPECT_FALSE(state.leave(access::shared));
  EXPECT_TRUE(state.leave(access::shared));
}

TEST(SlotState, LastGenerationIsNotFollowedByAnother) {
  slot_state state;
  state.publish();
  EXPECT_EQ(state.erase(1), fate::ours);
  EXPECT_TRUE(state.retire_value(2));
  state.publish();
  EXPECT_EQ(state.erase(2), fate::ours);
  EXPECT_FALSE(state.retire_value(2));
  EXPECT_FALSE(state.is_live(2) || state.is_live(1));
  EXPECT_EQ(state.generation(), 0U);
}

TEST(SlotState, GenerationOfAValueThatWasNeverPublishedIsRetiredToo) {
  slot_state state;
  EXPECT_TRUE(state.retire_value(9));
  EXPECT_EQ(state.generation(), 2U);
  EXPECT_FALSE(state.is_live());
}

TEST(WalkEnd, OnlyRises) {
  walk_end end;
  EXPECT_EQ(end.get(), 0U);
  end.raise_above(7);
  end.raise_above(3);
  EXPECT_EQ(end.get(), 8U);
}

}  // namespace
}  // namespace lido::detail
