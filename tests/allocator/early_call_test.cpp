#include "allocator/slot_waiter_queue.hpp"

#include <gtest/gtest.h>

namespace lido::detail {
namespace {

/// Returns how many are served up to and including the next call.
int served_up_to_call(early_call& calls) {
  int served = 1;
  while (!calls.is_due()) {
    ++served;
  }
  return served;
}

TEST(EarlyCall, EachWhileItIsOfUse) {
  early_call calls;
  for (int i = 0; i < 10; ++i) {
    EXPECT_EQ(served_up_to_call(calls), 1);
    calls.has_come_for(/*awake=*/true);
  }
}

TEST(EarlyCall, EverFewerWhereItIsForNothing) {
  early_call calls;
  int before = 1;
  int most = 0;
  for (int i = 0; i < 20; ++i) {
    const int served = served_up_to_call(calls);
    EXPECT_GE(served, before);
    EXPECT_LE(served, 2 * before);
    calls.has_come_for(/*awake=*/false);
    before = served;
    most = served;
  }
  EXPECT_EQ(most, 65);
}

TEST(EarlyCall, EachAgainAfterOneThatWasOfUse) {
  early_call calls;
  for (int i = 0; i < 20; ++i) {
    (void)served_up_to_call(calls);
    calls.has_come_for(/*awake=*/false);
  }
  (void)served_up_to_call(calls);
  calls.has_come_for(/*awake=*/true);
  (void)served_up_to_call(calls);  // decided before
  EXPECT_EQ(served_up_to_call(calls), 1);
}

TEST(EarlyCall, AFewInVainAreNoReason) {
  early_call calls;
  (void)served_up_to_call(calls);
  calls.has_come_for(/*awake=*/false);
  EXPECT_EQ(served_up_to_call(calls), 1);
  calls.has_come_for(/*awake=*/false);
  EXPECT_EQ(served_up_to_call(calls), 1);
}

}  // namespace
}  // namespace lido::detail
