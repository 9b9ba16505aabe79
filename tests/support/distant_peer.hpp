/// @file
/// A peer that is slow to answer whether it is alive, or does not answer at all.
#pragma once

#include <gtest/gtest.h>

#include <atomic>
#include <chrono>
#include <thread>
#include <vector>

#include "lido/resource_pool.hpp"
#include "support/fake_server.hpp"

namespace lido::test {

using namespace std::chrono_literals;

struct peer {
  std::atomic<int> alive{0};
  std::atomic<int> invalid{0};
  std::atomic<int> asked{0};
  std::atomic<int> answers{0};
  std::atomic<int> made{0};
  std::atomic<int> dead{0};  // number of the connection that answers no
  std::atomic<bool> is_silent{false};
  std::atomic<int> silent{0};  // connections up to this number do not answer, either
};

/// A factory of healthy connections, on which no answer takes less than 3 ms.
struct distant {
  peer* to;

  [[nodiscard]] int create() const {
    ++to->alive;
    return ++to->made;
  }
  bool validate(int& link, const create_context& context) const {
    ++to->asked;
    if (link == to->dead) {
      return false;
    }
    const auto is_silent = [&] { return to->is_silent || link <= to->silent; };
    const auto answer = std::chrono::steady_clock::now() + 3ms;
    while (is_silent() && std::chrono::steady_clock::now() < context.deadline) {
      std::this_thread::sleep_for(1ms);
    }
    if (answer > context.deadline || is_silent()) {
      return false;
    }
    std::this_thread::sleep_until(answer);
    ++to->answers;
    return true;
  }
  void destroy(int& /*link*/, destroy_reason why) const noexcept {
    to->invalid += why == destroy_reason::invalid ? 1 : 0;
    --to->alive;
  }
};

/// A callback that keeps its resource until `end` is called.
class long_stay {
 public:
  void begin(resource_pool<int>& pool) {
    pool.async_acquire([this](const acquire_result<int>& /*got*/) {
      inside_ = true;
      while (!leave_) {
        std::this_thread::sleep_for(1ms);
      }
      inside_ = false;
    });
    EXPECT_TRUE(eventually([this] { return inside_.load(); }));
  }
  void end() {
    leave_ = true;
    EXPECT_TRUE(eventually([this] { return !inside_; }));
  }

 private:
  std::atomic<bool> inside_{false};
  std::atomic<bool> leave_{false};
};

class DistantPeer : public ::testing::Test {
 protected:
  using links = resource_pool<int>;

  /// Makes `count` resources idle for long enough to be validated.
  static void let_grow_stale(links& pool, std::size_t count) {
    std::vector<resource_lease<int>> all;
    while (all.size() < count) {
      all.push_back(pool.acquire_for(10s));
    }
  }
  static void count_calls(links& pool, int calls, std::atomic<int>& served) {
    for (int i = 0; i < calls; ++i) {
      pool.async_acquire([&served](const acquire_result<int>& got) { served += got ? 1 : 0; });
    }
  }
  void TearDown() override { EXPECT_EQ(all.alive, 0); }

  peer all;  // NOLINT(*-non-private-member-*,readability-identifier-naming)
};

}  // namespace lido::test
