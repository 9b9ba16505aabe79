#include <gtest/gtest.h>
#include <hiredis/hiredis.h>

#include <chrono>
#include <csignal>
#include <optional>
#include <string>
#include <thread>

#include "lido/hiredis.hpp"
#include "servers/known_servers.hpp"

namespace lido {
namespace {

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
  redis_pool pool = make({.validate_timeout = 100ms, .validate_if_idle_longer_than = 0ns});
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
