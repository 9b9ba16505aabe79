// The answers to health checks that examples/ shows, in each state of a pool.
#include "health.hpp"

#include <gtest/gtest.h>

#include <chrono>
#include <stdexcept>
#include <string>
#include <thread>

namespace {

using namespace std::chrono_literals;

struct connection {};

class Health : public ::testing::Test {
 protected:
  enum class server { is_up, refuses, refuses_for_ever };

  [[nodiscard]] connection connect() const {
    if (server_ == server::refuses_for_ever) {
      throw lido::permanent_failure("wrong password");
    }
    return server_ == server::is_up ? connection() : throw std::runtime_error("refused");
  }
  [[nodiscard]] int status() { return health_.readiness(db_.stats()).status; }
  /// Returns true once the condition holds, or false after ten seconds.
  template <class Condition>
  static bool becomes_true(const Condition& condition) {
    const auto end = std::chrono::steady_clock::now() + 10s;
    while (!condition() && std::chrono::steady_clock::now() < end) {
      std::this_thread::sleep_for(1ms);
    }
    return condition();
  }
  [[nodiscard]] bool becomes(int wanted) {
    return becomes_true([&] { return status() == wanted; });
  }
  /// Lets creates fail until the error is known.
  [[nodiscard]] bool fails(server fault, const std::string& error) {
    server_ = fault;
    db_.flush();
    return becomes(503) && becomes_true([&] { return health_.last_error() == error; });
  }

  health health_;
  std::atomic<server> server_{server::is_up};
  lido::resource_pool<connection> db_{
      [this] { return connect(); },
      {.max_size = 2,
       .min_idle = 1,
       .name = "db",
       .retry_longest = 200ms,
       .on_event = [this](const lido::pool_event& event) { health_.note(event); }}};
};

TEST_F(Health, IsReadyOnceThereIsAConnection) {
  EXPECT_TRUE(becomes(200));
  EXPECT_EQ(health::liveness().status, 200);
}

TEST_F(Health, IsReadyWhileAllConnectionsAreInUse) {
  const auto first = db_.acquire();
  const auto second = db_.acquire();
  const http_answer answer = health_.readiness(db_.stats());
  EXPECT_EQ(answer.status, 200);
  EXPECT_EQ(answer.text, "2 in use, 0 waiting");
}

TEST_F(Health, RecoversWithoutRequestsFromAFailedCreate) {
  ASSERT_TRUE(becomes(200));
  ASSERT_TRUE(fails(server::refuses, "refused"));
  EXPECT_EQ(health_.readiness(db_.stats()).text, "no connection: refused");
  server_ = server::is_up;
  EXPECT_TRUE(becomes(200));
}

TEST_F(Health, RecoversWithoutRequestsFromAPermanentFailure) {
  ASSERT_TRUE(becomes(200));
  ASSERT_TRUE(fails(server::refuses_for_ever, "wrong password"));
  EXPECT_EQ(health_.readiness(db_.stats()).text, "no connection: wrong password");
  server_ = server::is_up;
  EXPECT_TRUE(becomes(200));
}

TEST_F(Health, IsNotReadyWhileThePoolIsSuspended) {
  ASSERT_TRUE(becomes(200));
  db_.suspend();
  EXPECT_EQ(health_.readiness(db_.stats()).text, "suspended");
  db_.resume();
  EXPECT_TRUE(becomes(200));
}

TEST_F(Health, IsNotReadyOnceTheShutdownBegins) {
  ASSERT_TRUE(becomes(200));
  health_.begin_shutdown();
  EXPECT_EQ(health_.readiness(db_.stats()).text, "shutting down");
  EXPECT_EQ(health::liveness().status, 200);
}

TEST_F(Health, IsNotReadyOnceThePoolIsClosed) {
  ASSERT_TRUE(becomes(200));
  EXPECT_TRUE(db_.close(10s).complete());
  EXPECT_EQ(status(), 503);
}

}  // namespace
