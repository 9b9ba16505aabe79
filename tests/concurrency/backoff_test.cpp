#include "lido/concurrency/backoff.hpp"

#include <gtest/gtest.h>

#include <algorithm>
#include <atomic>
#include <chrono>
#include <cstdint>
#include <latch>
#include <thread>
#include <vector>

#include "concurrency/asked_once.hpp"
#include "lido/base/tuning.hpp"
#include "support/crew.hpp"
#include "support/real_time.hpp"

namespace lido::detail {
namespace {

using namespace std::chrono_literals;

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

TEST(ExponentialBackoff, EndsInNaps) {
  exponential_backoff backoff;
  for (int i = 0; i < 100; ++i) {
    backoff.wait();
  }
  EXPECT_EQ(backoff.waits(), tuning::waits_before_nap);
}

std::chrono::nanoseconds time_until_over() {
  const auto begin = std::chrono::steady_clock::now();
  bounded_wait others;
  while (others.wait()) {
  }
  return std::chrono::steady_clock::now() - begin;
}

TEST(BoundedWait, LastsATenthOfASecond) {
  EXPECT_GE(time_until_over(), 100ms);
}

// A nap takes only a few microseconds there.
TEST(BoundedWait, LastsAsLongInARealTimeThread) {
  test::run_in_new_thread([] {
    if (!test::try_become_real_time(1)) {
      GTEST_SKIP() << test::no_real_time;
    }
    const auto time = time_until_over();
    EXPECT_GE(time, 100ms);
    EXPECT_LT(time, 1s);
  });
}

// The wait may last longer by the time for which the system keeps the thread from running after
// enough naps. The shortest of some waits counts: beside other work the system does so for longer.
TEST(BoundedWait, LastsLittleLongerBesideBusyThreads) {
  std::atomic<bool> over{false};
  std::vector<std::jthread> busy;
  for (unsigned i = 0; i < 2 * std::thread::hardware_concurrency(); ++i) {
    busy.emplace_back([&over] {
      while (!over) {
      }
    });
  }
  std::chrono::nanoseconds shortest = 1h;
  for (int i = 0; i < 5 && shortest >= 1s; ++i) {
    shortest = std::min(shortest, time_until_over());
  }
  over = true;
  EXPECT_GE(shortest, 100ms);
  EXPECT_LT(shortest, 1s);
}

TEST(BoundedWait, BeginsAnewWhenOthersMakeProgress) {
  const auto begin = std::chrono::steady_clock::now();
  bounded_wait others;
  std::uint64_t progress = 1;
  while (std::chrono::steady_clock::now() < begin + 300ms) {
    others.note_progress(++progress);
    ASSERT_TRUE(others.wait());
  }
}

// Otherwise one acquire might last for ever, beside threads that use the pool and a stopped one.
TEST(BoundedWait, EndsThoughOthersMakeProgress) {
  const auto begin = std::chrono::steady_clock::now();
  bounded_wait others(tuning::nanoseconds_of_search);
  std::uint64_t progress = 1;
  bool patient = true;
  while (patient && std::chrono::steady_clock::now() < begin + 20s) {
    others.note_progress(++progress);
    patient = others.wait();
  }
  EXPECT_FALSE(patient);
  EXPECT_GE(std::chrono::steady_clock::now() - begin, 1s);
}

// On a machine that was stopped, the other threads had no time to make progress.
TEST(BoundedWait, CountsLittleForOneLongWait) {
  bounded_wait others;
  for (int i = 0; i < tuning::waits_before_yield; ++i) {
    ASSERT_TRUE(others.wait());
  }
  for (int i = 0; i < 5; ++i) {
    std::this_thread::sleep_for(40ms);
    EXPECT_TRUE(others.wait());
  }
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
