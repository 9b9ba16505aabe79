// Real-time threads that wait for a value which another thread on the same processor is visiting.
#include <gtest/gtest.h>

#include <algorithm>
#include <atomic>
#include <chrono>
#include <functional>
#include <thread>

#include "lido/base/tuning.hpp"
#include "lido/concurrent_slot_map.hpp"
#include "support/real_time.hpp"

namespace lido {
namespace {

using namespace std::chrono_literals;
using std::chrono::steady_clock;

constexpr auto hold = 20ms;
/// Time after which a thread that waits without a nap loses its precedence; otherwise the test
/// would not end.
constexpr auto patience = 5s;
constexpr int waiter_priority = 10;
/// The promised bound. A waiter sees the release after its nap, so that naps must be far shorter.
constexpr auto bound = 100ms;
static_assert(std::chrono::microseconds(detail::tuning::longest_nap) <= bound / 10);

struct experiment {
  std::function<void(const std::function<void()>&)> use;  ///< calls its argument beside the value
  std::function<void()> wait;                             ///< needs the value
  int holder_priority = 0;                                ///< 0: a normal thread
};

/// Returns how long after the release a real-time thread continues, or zero if it may not be one.
steady_clock::duration measure(const experiment& now) {
  std::atomic<bool> held{false};
  std::atomic<bool> refused{false};
  std::atomic<bool> waiting{false};
  std::atomic<bool> done{false};
  steady_clock::time_point released;
  steady_clock::duration took{};
  std::jthread holder([&] {
    test::stay_on_one_processor();
    refused =
        refused || (now.holder_priority != 0 && !test::try_become_real_time(now.holder_priority));
    now.use([&] {
      held = true;
      while (!waiting && !refused) {
        std::this_thread::sleep_for(100us);
      }
      test::compute_for(hold);
      released = steady_clock::now();
    });
  });
  std::jthread waiter([&] {
    refused = refused || !test::try_become_real_time(waiter_priority);
    while (!held) {
      std::this_thread::sleep_for(100us);
    }
    test::stay_on_one_processor();
    waiting = true;
    now.wait();
    took = steady_clock::now() - released;
    done = true;
  });
  for (const auto end = steady_clock::now() + patience; !done && steady_clock::now() < end;) {
    std::this_thread::sleep_for(1ms);
  }
  if (!done) {
    test::end_real_time(waiter.native_handle());
  }
  waiter.join();
  return refused ? steady_clock::duration::zero() : took;
}

class RealTimeVisits : public testing::Test {
 protected:
  // Checks the shortest of some waits: beside other work on the processor the holder takes longer.
  static void expect_short_waits(const experiment& now) {
    steady_clock::duration shortest = steady_clock::duration::max();
    for (int i = 0; i < 3 && shortest >= bound; ++i) {
      shortest = std::min(shortest, measure(now));
    }
    if (shortest == steady_clock::duration::zero()) {
      GTEST_SKIP() << test::no_real_time;
    }
    EXPECT_LT(shortest, bound);
  }

  std::function<void(const std::function<void()>&)> visitor() {
    return [this](const std::function<void()>& f) {
      map_.visit(handle_, [&](int& /*value*/) { f(); });
    };
  }
  std::function<void(const std::function<void()>&)> walk() {
    return [this](const std::function<void()>& f) { map_.for_each([&](int& /*value*/) { f(); }); };
  }

  concurrent_slot_map<int> map_{100};
  slot_handle<int> handle_ = map_.emplace(1);
};

TEST_F(RealTimeVisits, VisitWaitsForAVisit) {
  expect_short_waits({visitor(), [this] { map_.visit(handle_, [](int& /*value*/) {}); }});
}

TEST_F(RealTimeVisits, ReadWaitsForAVisit) {
  expect_short_waits({visitor(), [this] { map_.read(handle_, [](const int& /*value*/) {}); }});
}

TEST_F(RealTimeVisits, VisitWaitsForAWalk) {
  expect_short_waits({walk(), [this] { map_.visit(handle_, [](int& /*value*/) {}); }});
}

TEST_F(RealTimeVisits, WalkWaitsForAVisit) {
  expect_short_waits({visitor(), [this] { map_.for_each([](int& /*value*/) {}); }});
}

TEST_F(RealTimeVisits, VisitWaitsForARealTimeThreadOfLowerPriority) {
  expect_short_waits(
      {visitor(), [this] { map_.visit(handle_, [](int& /*value*/) {}); }, waiter_priority - 1});
}

}  // namespace
}  // namespace lido
