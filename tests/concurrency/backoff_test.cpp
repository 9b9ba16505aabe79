#include "lido/concurrency/backoff.hpp"

#include <gtest/gtest.h>

#include <latch>
#include <thread>

#include "lido/concurrency/asked_once.hpp"

namespace lido::detail {
namespace {

TEST(ExponentialBackoff, ManyPausesEnd) {
  exponential_backoff backoff;
  for (int i = 0; i < 1000; ++i) {
    backoff.pause();
  }
}

TEST(YieldThread, ReturnsToTheCaller) {
  yield_thread();
}

TEST(NapThread, ReturnsToTheCaller) {
  nap_thread();
}

TEST(AskedOnce, AsksNoMoreThanNeeded) {
  asked_once question;
  EXPECT_TRUE(question.answer([] { return true; }));
  EXPECT_TRUE(question.answer([] { return false; }));
}

TEST(AskedOnce, NoThreadWaitsForAnotherThatAsks) {
  asked_once question;
  std::latch asking(1);
  std::latch answered(1);
  std::jthread other([&] {
    EXPECT_FALSE(question.answer([&] {
      asking.count_down();
      answered.wait();
      return false;
    }));
  });
  asking.wait();
  EXPECT_FALSE(question.answer([] { return false; }));
  answered.count_down();
}

}  // namespace
}  // namespace lido::detail
