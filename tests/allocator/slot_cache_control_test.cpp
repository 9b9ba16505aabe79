#include "lido/allocator/slot_cache.hpp"

#include <gtest/gtest.h>

#include <cstdint>

namespace lido::detail {
namespace {

using control = slot_cache::control;
using phase = slot_cache::phase;

TEST(SlotCacheControl, StartsFrozenWithNothingTaken) {
  EXPECT_EQ(control().now(), phase::frozen);
  EXPECT_EQ(control().taken(), 0U);
  EXPECT_EQ(control().generation(), 0U);
}

TEST(SlotCacheControl, NextHasTheStateAskedFor) {
  for (const auto state : {phase::open, phase::revoking, phase::frozen, phase::busy}) {
    EXPECT_EQ(control().next(state).now(), state);
  }
}

TEST(SlotCacheControl, NextIsANewGeneration) {
  const control first = control().next(phase::open);
  EXPECT_EQ(first.generation(), 1U);
  EXPECT_EQ(first.next(phase::open).generation(), 2U);
}

TEST(SlotCacheControl, TakenComesBackUpToTheMostACacheCanHold) {
  for (const std::uint32_t taken :
       {0U, 1U, 31U, slot_cache::most_items, slot_cache::most_items + 1}) {
    EXPECT_EQ(control().next(phase::frozen, taken).taken(), taken);
  }
}

TEST(SlotCacheControl, NextForgetsWhatWasTaken) {
  EXPECT_EQ(control().next(phase::frozen, 31).next(phase::busy).taken(), 0U);
}

TEST(SlotCacheControl, WordHoldsEverything) {
  const control last = control().next(phase::busy).next(phase::frozen, 1000);
  const control copy(last.word());
  EXPECT_EQ(copy.now(), phase::frozen);
  EXPECT_EQ(copy.taken(), 1000U);
  EXPECT_EQ(copy.generation(), 2U);
}

TEST(SlotCacheControl, GenerationAfterTheLargestIsZero) {
  const control last((((std::uint64_t{1} << 46U) - 1) << 18U) |
                     static_cast<std::uint64_t>(phase::open));
  EXPECT_EQ(last.next(phase::busy, 5).generation(), 0U);
  EXPECT_EQ(last.next(phase::busy, 5).now(), phase::busy);
  EXPECT_EQ(last.next(phase::busy, 5).taken(), 5U);
}

}  // namespace
}  // namespace lido::detail
