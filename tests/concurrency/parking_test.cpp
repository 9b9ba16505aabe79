#include "lido/concurrency/parking.hpp"

#include <gtest/gtest.h>

#include <chrono>
#include <limits>
#include <thread>

namespace lido::detail {
namespace {

using namespace std::chrono_literals;

TEST(Deadline, IsNeverByDefault) {
  EXPECT_TRUE(deadline().is_never());
  EXPECT_FALSE(deadline().passed());
}

TEST(Deadline, WithoutAWaitHasPassed) {
  EXPECT_TRUE(deadline::after(0ms).passed());
  EXPECT_TRUE(deadline::after(-5h).passed());
  EXPECT_TRUE(deadline::after(std::chrono::nanoseconds::min()).passed());
  const std::chrono::duration<double> nothing(std::numeric_limits<double>::quiet_NaN());
  EXPECT_TRUE(deadline::after(nothing).passed());
}

TEST(Deadline, FarAwayIsNever) {
  EXPECT_TRUE(deadline::after(std::chrono::hours::max()).is_never());
  EXPECT_TRUE(deadline::at(std::chrono::steady_clock::time_point::max()).is_never());
  EXPECT_TRUE(deadline::at(std::chrono::system_clock::time_point::max()).is_never());
  EXPECT_TRUE(deadline::at(std::chrono::sys_seconds::max()).is_never());
  EXPECT_TRUE(deadline::at(std::chrono::sys_days(std::chrono::year(32'000) / 1 / 1)).is_never());
}

TEST(Deadline, AWaitIsBoundedByWhatCanBeCounted) {
  EXPECT_EQ(deadline::bounded(5ms), 5ms);
  EXPECT_EQ(deadline::bounded(-1h), 0ns);
  EXPECT_EQ(deadline::bounded(std::chrono::seconds::min()), 0ns);
  EXPECT_EQ(deadline::bounded(std::chrono::duration<double, std::nano>(0.5)), 1ns);
  constexpr auto most = std::chrono::nanoseconds::max();
  EXPECT_EQ(deadline::bounded(std::chrono::hours::max()), most);
  EXPECT_EQ(deadline::bounded(std::chrono::duration<double>(1e300)), most);
  EXPECT_TRUE(deadline::after(most).is_never());
}

TEST(Deadline, OfThePastHasPassed) {
  EXPECT_TRUE(deadline::at(std::chrono::system_clock::now() - 1s).passed());
  EXPECT_TRUE(deadline::at(std::chrono::steady_clock::time_point::min()).passed());
  EXPECT_TRUE(deadline::at(std::chrono::sys_seconds::min()).passed());
}

/// A clock that shows the time it was set to.
struct set_clock {
  using duration = std::chrono::milliseconds;
  using rep = duration::rep;
  using period = duration::period;
  using time_point = std::chrono::time_point<set_clock>;
  [[maybe_unused]] static constexpr bool is_steady = false;
  static inline time_point shown{1h};
  static time_point now() noexcept { return shown; }
};

TEST(Deadline, AClockThatIsSetAfterwardsChangesNothing) {
  const deadline soon = deadline::at(set_clock::now() + 20ms);
  const deadline late = deadline::at(set_clock::now() + 1h);
  EXPECT_FALSE(late.passed());
  set_clock::shown -= 30min;
  std::this_thread::sleep_for(21ms);
  EXPECT_TRUE(soon.passed());
  set_clock::shown += 5h;
  EXPECT_FALSE(late.passed());
}

TEST(Deadline, PassesInItsTime) {
  const deadline soon = deadline::after(2ms);
  EXPECT_FALSE(deadline::after(1h).passed());
  std::this_thread::sleep_for(3ms);
  EXPECT_TRUE(soon.passed());
}

TEST(Deadline, ButWithinTakesTheSooner) {
  EXPECT_FALSE(deadline().but_within(1).is_never());
  const deadline past = deadline::after(0ms);
  EXPECT_EQ(past.but_within(1'000'000).nanoseconds(), past.nanoseconds());
}

TEST(Park, ReturnsAtOnceIfTheWordHasChanged) {
  const atomic<std::uint32_t> word{1};
  EXPECT_TRUE(park(word, 0, deadline()));
}

TEST(Park, EndsWithTheDeadline) {
  const atomic<std::uint32_t> word{0};
  const auto begin = std::chrono::steady_clock::now();
  while (park(word, 0, deadline::after(5ms))) {
  }
  EXPECT_GE(std::chrono::steady_clock::now() - begin, 5ms);
}

TEST(Park, EndsWithAnUnpark) {
  atomic<std::uint32_t> word{0};
  std::jthread waker([&] {
    std::this_thread::sleep_for(2ms);
    word.store(1, std::memory_order_release);
    unpark(&word);
  });
  while (word.load(std::memory_order_acquire) == 0) {
    (void)park(word, 0, deadline());
  }
  EXPECT_EQ(word.load(std::memory_order_relaxed), 1U);
}

}  // namespace
}  // namespace lido::detail
