// Threads that wait in pools made without notice that threads would wait.
#include <gtest/gtest.h>

#include <atomic>
#include <chrono>
#include <cstdint>
#include <thread>

#include "allocator/slot_waiter_queue.hpp"
#include "support/allocated_slots.hpp"
#include "support/crew.hpp"

namespace lido::detail {
namespace {

using test::allocated_slots;
using slots = allocated_slots::list;

class FirstWait : public ::testing::TestWithParam<lido::cache_kind> {};

INSTANTIATE_TEST_SUITE_P(Caches, FirstWait,
                         ::testing::Values(lido::cache_kind::revocable, lido::cache_kind::locked,
                                           lido::cache_kind::none));

TEST_P(FirstWait, TakesAFreeSlotAtOnce) {
  allocated_slots bare(64, GetParam());
  slot_waiter me;
  EXPECT_NE(bare.pool().wait_for_slot(me, deadline::after(std::chrono::seconds(0))), nullptr);
}

TEST_P(FirstWait, EndsWithItsDeadline) {
  allocated_slots bare(64, GetParam());
  const slots all = bare.acquire_all();
  slot_waiter me;
  EXPECT_EQ(bare.pool().wait_for_slot(me, deadline::after(std::chrono::milliseconds(5))), nullptr);
  EXPECT_EQ(bare.pool().count_waiting(), 0U);
}

TEST_P(FirstWait, IsEndedByARelease) {
  allocated_slots bare(64, GetParam());
  slots all = bare.acquire_all();
  std::jthread other([&] {
    while (bare.pool().count_waiting() == 0) {
      std::this_thread::yield();
    }
    bare.pool().release(all.back());
  });
  slot_waiter me;
  EXPECT_EQ(bare.pool().wait_for_slot(me, deadline()), all.back());
}

/// The release and the start of the wait meet in every order; a lost wake-up never ends.
TEST_P(FirstWait, LosesNoWakeUp) {
  constexpr int pools = 400;
  for (int i = 0; i < pools; ++i) {
    allocated_slots bare(16, GetParam());
    const slots all = bare.acquire_all();
    std::atomic<bool> go{false};
    std::jthread other([&] {
      while (!go.load()) {
      }
      for (int pause = 0; pause < i % 40 * 20; ++pause) {
        cpu_pause();
      }
      bare.pool().release(all.back());
    });
    go.store(true);
    slot_waiter me;
    ASSERT_EQ(bare.pool().wait_for_slot(me, deadline::after(std::chrono::seconds(20))), all.back());
  }
}

TEST_P(FirstWait, TwoThreadsThatBeginTogetherAreBothServed) {
  constexpr int pools = 200;
  for (int i = 0; i < pools; ++i) {
    allocated_slots bare(16, GetParam());
    const slots all = bare.acquire_all();
    std::atomic<int> served{0};
    {
      const auto wait = [&] {
        slot_waiter me;
        served +=
            bare.pool().wait_for_slot(me, deadline::after(std::chrono::seconds(20))) != nullptr ? 1
                                                                                                : 0;
      };
      std::jthread first(wait);
      std::jthread second(wait);
      bare.pool().release(all[0]);
      bare.pool().release(all[1]);
    }
    ASSERT_EQ(served, 2);
  }
}

}  // namespace
}  // namespace lido::detail
