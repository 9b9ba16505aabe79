/// @file
/// Pools of fake connections, in each mode of maintenance, and with a clock that a test advances.
#pragma once

#include <gtest/gtest.h>

#include <array>
#include <atomic>
#include <chrono>
#include <optional>
#include <string>
#include <thread>
#include <vector>

#include "support/fake_server.hpp"

namespace lido::test {

using namespace std::chrono_literals;  // NOLINT(google-build-using-namespace): literals

/// Returns the cause of the failure that a callback received, or std::nullopt if it received a
/// lease.
template <class R>
std::optional<acquire_failure> cause_of(const acquire_result<R>& got) {
  return got ? std::nullopt : std::optional(got.failure());
}

/// The results that a callback has received.
struct outcome {
  std::atomic<int> calls{0};
  fake_lease lease;
  std::optional<acquire_failure> failure;

  [[nodiscard]] auto receiver() {
    return [this](acquire_result<connection> got) {
      failure = cause_of(got);
      lease = std::move(got.lease());
      ++calls;
    };
  }
};

/// Returns why a call to acquire fails. If the call succeeds, the test fails.
template <class Acquire>
acquire_failure cause_of_call(const Acquire& acquire) {
  try {
    (void)acquire();
  } catch (const acquire_error& error) {
    return error.cause();
  }
  ADD_FAILURE() << "the acquire went well";
  return acquire_failure::closed;
}

inline acquire_failure failure_of(fake_pool& pool, std::chrono::milliseconds timeout) {
  return cause_of_call([&] { return pool.acquire_for(timeout); });
}

/// Runs a test in each mode. If tick() must be called, a thread calls it.
class resource_in_each_mode : public ::testing::TestWithParam<maintenance> {
 protected:
  fake_pool& start(const resource_pool_options& options) {
    return start_with(fake_factory{&server}, options);
  }
  template <class Factory>
  fake_pool& start_with(const Factory& factory, resource_pool_options options) {
    options.maintenance = GetParam();
    end();
    pool_.emplace(factory, options);
    if (GetParam() == maintenance::by_tick) {
      ticker_ = std::jthread([this](const std::stop_token& stop) {
        while (!stop.stop_requested()) {
          pool_->tick();
          std::this_thread::sleep_for(1ms);
        }
      });
    }
    return *pool_;
  }
  void end() {
    ticker_ = {};
    pool_.reset();
  }
  void TearDown() override {
    end();
    EXPECT_EQ(server.alive, 0);
  }

  fake_server server;  // NOLINT(*-non-private-member-*,readability-identifier-naming)

 private:
  std::optional<fake_pool> pool_;
  std::jthread ticker_;
};

/// Runs a pool by tick, with a clock that the test advances, so nothing here sleeps.
class resource_by_tick : public ::testing::Test {
 protected:
  fake_pool& start(resource_pool_options options) {
    options.maintenance = maintenance::by_tick;
    options.clock = &clock;
    return pool_.emplace(fake_factory{&server}, options);
  }
  /// Creates `count` resources that are in use at once, and releases them.
  void fill(fake_pool& pool, std::size_t count) {
    for (std::size_t i = 0; i < count; ++i) {
      held_.push_back(pool.try_acquire());
      EXPECT_TRUE(held_.back());
    }
    held_.clear();
  }
  void pass(std::chrono::nanoseconds time) {
    clock.advance(time);
    pool_->tick();
  }
  void TearDown() override {
    pool_.reset();
    EXPECT_EQ(server.alive, 0);  // siemens/embb #40, G4: destructors not run
  }

  manual_clock clock;  // NOLINT(*-non-private-member-*,readability-identifier-naming)
  fake_server server;  // NOLINT(*-non-private-member-*,readability-identifier-naming)

 private:
  std::vector<fake_lease> held_;
  std::optional<fake_pool> pool_;
};

/// Returns the name of `mode`, for the names of tests.
inline std::string name_of(maintenance mode) {
  const std::array names{"background", "by_tick"};
  return names.at(static_cast<std::size_t>(mode));
}

#define LIDO_TEST_IN_ALL_MODES(suite)                                                        \
  INSTANTIATE_TEST_SUITE_P(Modes, suite,                                                     \
                           ::testing::Values(maintenance::background, maintenance::by_tick), \
                           [](const auto& test) { return test::name_of(test.param); })

}  // namespace lido::test
