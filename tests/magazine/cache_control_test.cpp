#include "lido/magazine/cache_control.hpp"

#include <gtest/gtest.h>

#include <cstdint>

namespace lido::detail {
namespace {

TEST(CacheControl, StartsFrozenWithNothingTaken) {
  EXPECT_EQ(cache_control().state(), cache_state::frozen);
  EXPECT_EQ(cache_control().taken(), 0U);
  EXPECT_EQ(cache_control().generation(), 0U);
}

TEST(CacheControl, NextHasTheStateAskedFor) {
  for (const auto state :
       {cache_state::open, cache_state::revoking, cache_state::frozen, cache_state::busy}) {
    EXPECT_EQ(cache_control().next(state).state(), state);
  }
}

TEST(CacheControl, NextIsANewGeneration) {
  const cache_control first = cache_control().next(cache_state::open);
  EXPECT_EQ(first.generation(), 1U);
  EXPECT_EQ(first.next(cache_state::open).generation(), 2U);
}

TEST(CacheControl, TakenComesBackUpToTheMostACacheCanHold) {
  for (const std::uint32_t taken : {0U, 1U, 31U, most_cached, most_cached + 1}) {
    EXPECT_EQ(cache_control().next(cache_state::frozen, taken).taken(), taken);
  }
}

TEST(CacheControl, NextForgetsWhatWasTaken) {
  EXPECT_EQ(cache_control().next(cache_state::frozen, 31).next(cache_state::busy).taken(), 0U);
}

TEST(CacheControl, WordHoldsEverything) {
  const cache_control control =
      cache_control().next(cache_state::busy).next(cache_state::frozen, 1000);
  const cache_control copy(control.word());
  EXPECT_EQ(copy.state(), cache_state::frozen);
  EXPECT_EQ(copy.taken(), 1000U);
  EXPECT_EQ(copy.generation(), 2U);
}

TEST(CacheControl, GenerationAfterTheLargestIsZero) {
  const cache_control last((((std::uint64_t{1} << 46U) - 1) << 18U) |
                           static_cast<std::uint64_t>(cache_state::open));
  EXPECT_EQ(last.next(cache_state::busy, 5).generation(), 0U);
  EXPECT_EQ(last.next(cache_state::busy, 5).state(), cache_state::busy);
  EXPECT_EQ(last.next(cache_state::busy, 5).taken(), 5U);
}

}  // namespace
}  // namespace lido::detail
