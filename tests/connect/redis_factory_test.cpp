#include <gtest/gtest.h>
#include <hiredis/hiredis.h>

#include <atomic>
#include <boost/asio/io_context.hpp>
#include <boost/asio/local/stream_protocol.hpp>
#include <boost/asio/read_until.hpp>
#include <boost/asio/write.hpp>
#include <chrono>
#include <csignal>
#include <optional>
#include <stdexcept>
#include <stop_token>
#include <string>
#include <thread>

#include "lido/hiredis.hpp"
#include "servers/known_servers.hpp"

namespace lido {
namespace {

namespace net = boost::asio;
using namespace std::chrono_literals;
using redis_pool = resource_pool<redis_connection>;

/// One server for all tests of the suite.
class RedisFactory : public ::testing::Test {
 protected:
  static void SetUpTestSuite() {
    if (servers::redis::program()) {
      server().emplace();
    }
  }
  static void TearDownTestSuite() { server().reset(); }
  void SetUp() override {
    if (!server()) {
      GTEST_SKIP() << "redis-server is not installed";
    }
  }

  static std::optional<servers::redis>& server() {
    static std::optional<servers::redis> shared;
    return shared;
  }
  static redis_target target() {
    return {.port = server()->port(), .password = servers::password, .command_timeout = 2s};
  }
  static redis_pool make(resource_pool_options options) {
    options.max_size = 1;
    return redis_pool(redis_factory(target()), options);
  }
};

TEST_F(RedisFactory, AConnectionIsUsedManyTimes) {
  redis_pool pool = make({});
  EXPECT_EQ(pool.acquire()->ask("SET colour green").text, "OK");
  for (int i = 0; i < 50; ++i) {
    EXPECT_EQ(pool.acquire()->ask("GET colour").text, "green");
  }
  EXPECT_EQ(pool.stats().created, 1U);
}

TEST_F(RedisFactory, AWrongPasswordIsToldAtOnce) {
  redis_target wrong = target();
  wrong.password = "guess";
  redis_pool pool(redis_factory(wrong), {.max_size = 1});
  try {
    (void)pool.acquire_for(30s);
    FAIL() << "the password is wrong";
  } catch (const acquire_error& error) {
    EXPECT_EQ(error.cause(), acquire_failure::create_failed);
    EXPECT_NE(std::string(error.what()).find("WRONGPASS"), std::string::npos) << error.what();
  }
}

TEST_F(RedisFactory, AMissingPasswordIsToldAtOnce) {
  redis_target without = target();
  without.password.clear();
  redis_pool pool(redis_factory(without), {.max_size = 1});
  try {
    (void)pool.acquire_for(30s);
    FAIL() << "the server wants a password";
  } catch (const acquire_error& error) {
    EXPECT_NE(std::string(error.what()).find("NOAUTH"), std::string::npos) << error.what();
  }
}

// What passes by itself is no reason to send everybody away.
TEST_F(RedisFactory, AServerWithTooManyClientsIsTriedAgain) {
  redis_connection other =
      redis_factory(target()).create({std::chrono::steady_clock::now() + 5s, {}});
  EXPECT_EQ(other.ask("CONFIG SET maxclients 1").text, "OK");
  redis_pool pool = make({.retry_first = 1ms, .retry_longest = 10ms});
  std::jthread room([&] {
    while (pool.stats().create_failures == 0) {
      std::this_thread::sleep_for(1ms);
    }
    EXPECT_EQ(other.ask("CONFIG SET maxclients 1000").text, "OK");
  });
  EXPECT_EQ(pool.acquire_for(30s)->ask("PING").text, "PONG");
}

TEST_F(RedisFactory, AKilledConnectionIsNotLent) {
  redis_pool pool = make({.validate_if_idle_longer_than = 0ns});
  (void)pool.acquire()->ask("PING");
  redis_connection other =
      redis_factory(target()).create({std::chrono::steady_clock::now() + 5s, {}});
  EXPECT_EQ(other.ask("CLIENT KILL TYPE normal SKIPME yes").text, "1");
  EXPECT_EQ(pool.acquire()->ask("PING").text, "PONG");
  EXPECT_EQ(pool.stats().destroyed_for(destroy_reason::invalid), 1U);
}

TEST_F(RedisFactory, ATransactionDoesNotReachTheNextUser) {
  redis_pool pool = make({});
  (void)pool.acquire()->ask("SET count 0");
  {
    const auto careless = pool.acquire();
    EXPECT_EQ(careless->ask("MULTI").text, "OK");
    EXPECT_EQ(careless->ask("INCR count").text, "QUEUED");
  }
  EXPECT_EQ(pool.acquire()->ask("GET count").text, "0");
  EXPECT_EQ(pool.stats().created, 1U);
}

TEST_F(RedisFactory, ASubscriptionAndAnotherDatabaseDoNotReachTheNextUser) {
  redis_pool pool = make({});
  (void)pool.acquire()->ask("SET where here");
  (void)pool.acquire()->ask("SUBSCRIBE news");
  EXPECT_EQ(pool.acquire()->ask("GET where").text, "here");
  (void)pool.acquire()->ask("SELECT 3");
  EXPECT_EQ(pool.acquire()->ask("GET where").text, "here");
  EXPECT_EQ(pool.stats().created, 1U);
}

TEST_F(RedisFactory, WhatWasDoneWithTheContextIsUndoneToo) {
  redis_pool pool = make({});
  (void)pool.acquire()->ask("SET where here");
  freeReplyObject(redisCommand(pool.acquire()->context(), "SELECT 4"));
  EXPECT_EQ(pool.acquire()->ask("GET where").text, "here");
  EXPECT_EQ(pool.stats().created, 1U);
}

// The server's own RESET is not undone by being the same word: it signs off.
TEST_F(RedisFactory, WhoSignsOffDoesNotSignOffTheNextUser) {
  redis_target third = target();
  third.database = 3;
  redis_pool pool(redis_factory(third), {.max_size = 1});
  (void)pool.acquire()->ask("SET where third");
  EXPECT_EQ(pool.acquire()->ask("RESET").text, "RESET");
  EXPECT_EQ(pool.acquire()->ask("GET where").text, "third");
  EXPECT_EQ(pool.stats().created, 1U);
  EXPECT_EQ(pool.acquire()->ask("QUIT").text, "OK");
  EXPECT_EQ(pool.acquire()->ask("GET where").text, "third");
  EXPECT_EQ(pool.stats().created, 2U);
}

// A user who waits without a limit, of a server that stands still when the lease ends.
TEST_F(RedisFactory, NoResetTakesLongerBecauseOfTheUsersOwnTimeOut) {
  redis_pool pool = make({});
  auto patient = pool.acquire();
  ASSERT_EQ(redisSetTimeout(patient->context(), timeval{.tv_sec = 0, .tv_usec = 0}), REDIS_OK);
  server()->process().signal(SIGSTOP);
  std::atomic<bool> is_back{false};
  std::jthread rescue([&] {  // of a test that fails
    for (int i = 0; i < 150 && !is_back; ++i) {
      std::this_thread::sleep_for(100ms);
    }
    server()->process().signal(SIGCONT);
  });
  const auto begin = std::chrono::steady_clock::now();
  patient.reset();
  EXPECT_LT(std::chrono::steady_clock::now() - begin, 10s);
  is_back = true;
  rescue.join();
  EXPECT_EQ(pool.acquire_for(30s)->ask("PING").text, "PONG");
  EXPECT_EQ(pool.stats().destroyed_for(destroy_reason::reset_refused), 1U);
}

TEST_F(RedisFactory, AUserWithoutAPasswordIsThatUser) {
  redis_connection other =
      redis_factory(target()).create({std::chrono::steady_clock::now() + 5s, {}});
  ASSERT_EQ(other.ask("ACL SETUSER app on nopass ~* +@all").text, "OK");
  redis_target app = target();
  app.user = "app";
  app.password.clear();
  redis_pool pool(redis_factory(app), {.max_size = 1});
  EXPECT_EQ(pool.acquire_for(30s)->ask("ACL WHOAMI").text, "app");
}

/// Answers one PING on a Unix socket, and hangs up when told. Or begins an answer that has no end.
class brief_server {
 public:
  brief_server() : listening_(context_, net::local::stream_protocol::endpoint(path())) {}

  [[nodiscard]] std::string path() const { return (folder_.path() / "socket").string(); }
  void hang_up() { peer_.close(); }
  void answer_one() {
    take_question();
    net::write(peer_, net::buffer("+PONG\r\n", 7));
  }
  /// Until the other hangs up, at most a minute.
  void dribble() {
    take_question();
    boost::system::error_code gone;
    for (int i = 0; i < 1200 && !gone; ++i) {
      net::write(peer_, net::buffer("+", 1), gone);
      std::this_thread::sleep_for(50ms);
    }
  }

 private:
  void take_question() {
    listening_.accept(peer_);
    std::string question;
    boost::system::error_code gone;
    net::read_until(peer_, net::dynamic_buffer(question), "PING\r\n", gone);
  }

  servers::temporary_folder folder_{"brief"};
  net::io_context context_;
  net::local::stream_protocol::acceptor listening_;
  net::local::stream_protocol::socket peer_{context_};
};

// The first write is refused with SIGPIPE, which ends a program that has not asked for anything
// else.
TEST(RedisFactoryBeside, AServerThatHasGoneIsAnErrorAndEndsNoProgram) {
  brief_server server;
  std::jthread answers([&] { server.answer_one(); });
  redis_connection made =
      redis_factory({.path = server.path()}).create({std::chrono::steady_clock::now() + 20s, {}});
  answers.join();
  server.hang_up();
  EXPECT_THROW((void)made.ask("GET colour"), std::runtime_error);
}

// Each byte is in time, and the answer is not. A create heeds its stop there, too.
TEST(RedisFactoryBeside, AnAnswerWithoutAnEndIsOverAtTheDeadline) {
  for (const bool stops : {false, true}) {
    brief_server server;
    std::jthread answers([&] { server.dribble(); });
    const redis_factory factory({.path = server.path()});
    const auto begin = std::chrono::steady_clock::now();
    std::stop_source stop;
    std::jthread stopping([&] {
      std::this_thread::sleep_for(1s);
      if (stops) {
        (void)stop.request_stop();
      }
    });
    EXPECT_THROW((void)factory.create({begin + (stops ? 50s : 1s), stop.get_token()}),
                 std::runtime_error);
    EXPECT_GE(std::chrono::steady_clock::now() - begin, 1s);
    EXPECT_LT(std::chrono::steady_clock::now() - begin, 20s);
  }
}

TEST_F(RedisFactory, AnAnswerThatNobodyReadRefusesTheConnection) {
  redis_pool pool = make({});
  {
    const auto rude = pool.acquire();
    redisAppendCommand(rude->context(), "PING");
  }
  EXPECT_EQ(pool.acquire()->ask("ECHO mine").text, "mine");
  EXPECT_EQ(pool.stats().destroyed_for(destroy_reason::reset_refused), 1U);
}

TEST_F(RedisFactory, AServerThatStandsStillFailsTheValidationInTime) {
  redis_target patient = target();
  patient.command_timeout = 60s;
  redis_pool pool(redis_factory(patient),
                  {.max_size = 1, .validate_timeout = 100ms, .validate_if_idle_longer_than = 0ns});
  (void)pool.acquire()->ask("PING");
  server()->process().signal(SIGSTOP);
  const auto begin = std::chrono::steady_clock::now();
  EXPECT_THROW((void)pool.acquire_for(300ms), acquire_error);
  EXPECT_LT(std::chrono::steady_clock::now() - begin, 5s);
  server()->process().signal(SIGCONT);
  EXPECT_EQ(pool.acquire_for(30s)->ask("PING").text, "PONG");
  EXPECT_GE(pool.stats().destroyed_for(destroy_reason::invalid), 1U);  // more if all is slow
}

TEST_F(RedisFactory, AServerThatWasKilledAndRestartedServesAgain) {
  redis_pool pool = make({.validate_if_idle_longer_than = 0ns, .retry_first = 10ms});
  (void)pool.acquire()->ask("PING");
  server()->process().end(SIGKILL);
  EXPECT_THROW((void)pool.acquire_for(50ms), acquire_error);
  server()->restart();
  EXPECT_EQ(pool.acquire_for(30s)->ask("PING").text, "PONG");
}

}  // namespace
}  // namespace lido
