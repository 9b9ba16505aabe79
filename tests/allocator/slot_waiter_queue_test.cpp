#include "allocator/slot_waiter_queue.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <array>
#include <chrono>
#include <thread>
#include <vector>

namespace lido::detail {
namespace {

using ::testing::ElementsAre;
using ::testing::IsEmpty;

/// A queue, and the items that no waiter has received.
class SlotWaiterQueue : public ::testing::Test {
 protected:
  void append(slot_waiter& who) {
    queue_.enter();
    (void)queue_.append(who);
    serve(nullptr);
  }

  /// Serves inside the gate, and leaves it.
  std::uint32_t serve(int* item) {
    return queue_.serve_and_leave(
        item,
        [this]() -> void* {
          if (free_.empty()) {
            return nullptr;
          }
          void* const last = free_.back();
          free_.pop_back();
          return last;
        },
        [this](void* left_over) { free_.push_back(static_cast<int*>(left_over)); }, calls_);
  }

  std::uint32_t enter_and_serve(int* item) {
    queue_.enter();
    return serve(item);
  }

  slot_waiter_queue queue_;
  callback_queue calls_;  // waiters of callbacks that were served
  std::vector<int*> free_;
  std::array<int, 3> items_{};
};

TEST_F(SlotWaiterQueue, IsEmptyAtFirst) {
  EXPECT_FALSE(queue_.any());
}

TEST_F(SlotWaiterQueue, ServesInTheOrderOfArrival) {
  std::array<slot_waiter, 3> waiters;
  for (slot_waiter& each : waiters) {
    append(each);
  }
  EXPECT_EQ(queue_.length(), 3U);
  EXPECT_TRUE(queue_.any());
  for (std::size_t turn = 0; turn < 3; ++turn) {
    EXPECT_EQ(enter_and_serve(&items_.at(turn)), 1U);
    EXPECT_EQ(waiters.at(turn).item(), &items_.at(turn));
  }
  EXPECT_FALSE(queue_.any());
  EXPECT_THAT(free_, IsEmpty());
}

TEST_F(SlotWaiterQueue, GivesWhatIsFree) {
  std::array<slot_waiter, 2> waiters;
  append(waiters[0]);
  append(waiters[1]);
  free_ = {items_.data(), &items_[1], &items_[2]};
  EXPECT_EQ(enter_and_serve(nullptr), 2U);
  EXPECT_TRUE(waiters[0].ended());
  EXPECT_TRUE(waiters[1].ended());
  EXPECT_THAT(free_, ElementsAre(items_.data()));
}

TEST_F(SlotWaiterQueue, ItemWithoutAWaiterIsPutBack) {
  EXPECT_EQ(enter_and_serve(items_.data()), 0U);
  EXPECT_THAT(free_, ElementsAre(items_.data()));
}

TEST_F(SlotWaiterQueue, CancelledWaiterIsPassedOver) {
  std::array<slot_waiter, 3> waiters;
  for (slot_waiter& each : waiters) {
    append(each);
  }
  EXPECT_TRUE(waiters[0].cancel());
  EXPECT_TRUE(waiters[1].cancel());
  EXPECT_EQ(enter_and_serve(items_.data()), 1U);
  EXPECT_EQ(waiters[0].item(), nullptr);
  EXPECT_EQ(waiters[2].item(), items_.data());
  EXPECT_EQ(queue_.length(), 0U);
}

TEST_F(SlotWaiterQueue, AWaiterLeavesTheQueueAnywhere) {
  for (std::size_t leaves = 0; leaves < 3; ++leaves) {
    std::array<slot_waiter, 3> waiters;
    for (slot_waiter& each : waiters) {
      append(each);
    }
    queue_.enter();
    queue_.remove(waiters.at(leaves));
    queue_.remove(waiters.at(leaves));  // a second time does nothing
    serve(nullptr);
    EXPECT_EQ(queue_.length(), 2U);
    EXPECT_EQ(enter_and_serve(items_.data()), 1U);
    EXPECT_EQ(enter_and_serve(&items_[1]), 1U);
    EXPECT_EQ(waiters.at(leaves == 0 ? 1 : 0).item(), items_.data());
    EXPECT_EQ(waiters.at(leaves == 2 ? 1 : 2).item(), &items_[1]);
  }
}

TEST_F(SlotWaiterQueue, WaitEndsOnce) {
  slot_waiter me;
  append(me);
  EXPECT_EQ(enter_and_serve(items_.data()), 1U);
  EXPECT_FALSE(me.cancel());
  EXPECT_TRUE(me.wait(deadline()));
  EXPECT_EQ(me.item(), items_.data());
}

// The next waiter is woken when another is served, and sleeps again if there is nothing for it.
TEST_F(SlotWaiterQueue, WaiterCalledForNothingIsServedLater) {
  for (int round = 0; round < 5; ++round) {
    slot_waiter first;
    slot_waiter second;
    append(first);
    append(second);
    std::thread sleeper([&second] { EXPECT_TRUE(second.wait(deadline())); });
    std::this_thread::sleep_for(std::chrono::milliseconds(5));
    EXPECT_EQ(enter_and_serve(items_.data()), 1U);
    EXPECT_EQ(first.item(), items_.data());
    std::this_thread::sleep_for(std::chrono::milliseconds(5));
    EXPECT_EQ(enter_and_serve(&items_[1]), 1U);
    sleeper.join();
    EXPECT_EQ(second.item(), &items_[1]);
  }
}

TEST_F(SlotWaiterQueue, WaiterCalledForNothingMayBeTooLate) {
  slot_waiter first;
  slot_waiter second;
  append(first);
  append(second);
  std::thread sleeper([&second] {
    EXPECT_FALSE(second.wait(deadline::after(std::chrono::milliseconds(20))));
    EXPECT_TRUE(second.cancel());
  });
  std::this_thread::sleep_for(std::chrono::milliseconds(5));
  EXPECT_EQ(enter_and_serve(items_.data()), 1U);
  sleeper.join();
  EXPECT_EQ(enter_and_serve(nullptr), 0U);
  EXPECT_EQ(queue_.length(), 0U);
}

TEST_F(SlotWaiterQueue, CancelledTwiceIsCancelledOnce) {
  slot_waiter me;
  EXPECT_TRUE(me.cancel());
  EXPECT_FALSE(me.cancel());
  EXPECT_TRUE(me.wait(deadline()));
  EXPECT_EQ(me.item(), nullptr);
}

TEST_F(SlotWaiterQueue, ThreadInsideServesOnceMoreIfAsked) {
  slot_waiter me;
  queue_.enter();
  (void)queue_.append(me);
  EXPECT_FALSE(queue_.try_enter());
  bool asked = false;
  const auto take = [&]() -> void* {
    if (asked) {
      return items_.data();
    }
    asked = true;  // an item appears at the very moment there is none
    EXPECT_FALSE(queue_.enter_or_ask());
    return nullptr;
  };
  EXPECT_EQ(queue_.serve_and_leave(
                nullptr, take, [](void*) {}, calls_),
            1U);
  EXPECT_EQ(me.item(), items_.data());
  EXPECT_TRUE(queue_.enter_or_ask());
  serve(nullptr);
}

TEST_F(SlotWaiterQueue, CallbacksThatWereServedAreReturnedInTheirOrder) {
  const auto never = [](callback_wait& /*wait*/) noexcept { ADD_FAILURE() << "it is called"; };
  slot_waiter first(never);
  slot_waiter thread;
  slot_waiter second(never);
  slot_waiter stopped(never);
  append(first);
  append(thread);
  append(stopped);
  append(second);
  EXPECT_TRUE(stopped.cancel());
  for (int& item : items_) {
    enter_and_serve(&item);
  }
  EXPECT_EQ(calls_.pop_front(), &first);
  EXPECT_EQ(calls_.pop_front(), &second);
  EXPECT_EQ(calls_.pop_front(), nullptr);
  EXPECT_EQ(first.item(), &items_[0]);
  EXPECT_EQ(thread.item(), &items_[1]);
  EXPECT_EQ(second.item(), &items_[2]);
}

TEST_F(SlotWaiterQueue, WatchEndsWithTheLastWaiter) {
  std::array<slot_waiter, 3> waiters;
  append(waiters[0]);
  queue_.enter();
  queue_.keep_watch(waiters[0]);
  EXPECT_TRUE(queue_.append(waiters[1]));
  serve(nullptr);
  EXPECT_EQ(enter_and_serve(items_.data()), 1U);
  EXPECT_EQ(enter_and_serve(&items_[1]), 1U);
  queue_.enter();
  queue_.keep_watch(waiters[1]);  // not in the queue, so it cannot
  EXPECT_FALSE(queue_.append(waiters[2]));
  serve(&items_[2]);
}

TEST_F(SlotWaiterQueue, SleeperIsWokenWithItsItem) {
  slot_waiter me;
  append(me);
  std::jthread giver([&] {
    std::this_thread::sleep_for(std::chrono::milliseconds(5));
    EXPECT_EQ(enter_and_serve(items_.data()), 1U);
  });
  EXPECT_TRUE(me.wait(deadline()));
  EXPECT_EQ(me.item(), items_.data());
}

TEST_F(SlotWaiterQueue, SleeperIsWokenWhenCancelled) {
  slot_waiter me;
  std::jthread stopper([&] {
    std::this_thread::sleep_for(std::chrono::milliseconds(5));
    EXPECT_TRUE(me.cancel());
  });
  EXPECT_TRUE(me.wait(deadline()));
  EXPECT_EQ(me.item(), nullptr);
}

TEST_F(SlotWaiterQueue, ForgetsItsWaitersAndTheThreadInside) {
  std::array<slot_waiter, 3> waiters;
  append(waiters[0]);
  queue_.enter();
  EXPECT_FALSE(queue_.append(waiters[1]));
  queue_.keep_watch(waiters[1]);
  queue_.forget_all();  // as in the child of a fork: the thread inside does not leave
  EXPECT_FALSE(queue_.any());
  EXPECT_EQ(enter_and_serve(items_.data()), 0U);
  EXPECT_THAT(free_, ElementsAre(items_.data()));
  queue_.enter();
  EXPECT_FALSE(queue_.append(waiters[2]));  // no waiter keeps watch
  EXPECT_EQ(serve(nullptr), 1U);
  EXPECT_EQ(waiters[2].item(), items_.data());
}

// In the child of a fork the links of a callback may be half changed, and the callback may still be
// cancelled.
TEST_F(SlotWaiterQueue, AForgottenWaiterThatLeavesTakesNoOtherWithIt) {
  std::array<slot_waiter, 4> waiters;
  append(waiters[0]);
  append(waiters[1]);
  queue_.forget_all();
  append(waiters[2]);
  queue_.enter();
  queue_.remove(waiters[0]);
  queue_.remove(waiters[1]);
  EXPECT_FALSE(queue_.append(waiters[3]));
  EXPECT_EQ(queue_.length(), 2U);
  EXPECT_EQ(serve(items_.data()), 1U);
  EXPECT_EQ(enter_and_serve(&items_[1]), 1U);
  EXPECT_EQ(waiters[2].item(), items_.data());
  EXPECT_EQ(waiters[3].item(), &items_[1]);
}

}  // namespace
}  // namespace lido::detail
