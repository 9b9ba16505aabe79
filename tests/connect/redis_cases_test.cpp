// Problems that users of other connection pools reported. Each test is named after its case.
#include <gtest/gtest.h>
#include <hiredis/hiredis.h>
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <sys/socket.h>

#include <chrono>
#include <set>
#include <stdexcept>
#include <stop_token>
#include <string>
#include <string_view>
#include <thread>
#include <vector>

#include "connect/redis_fixture.hpp"
#include "support/settled.hpp"
#include "support/two_addresses.hpp"

namespace lido {
namespace {

using namespace std::chrono_literals;
using std::chrono::steady_clock;

class RedisCases : public redis_fixture {
 protected:
  /// Makes the server a replica of a nonexistent server during its lifetime.
  class demoted {
   public:
    demoted() { EXPECT_EQ(admin_.ask("REPLICAOF 127.0.0.1 1").text, "OK"); }
    demoted(const demoted&) = delete;
    demoted& operator=(const demoted&) = delete;
    ~demoted() { EXPECT_EQ(admin_.ask("REPLICAOF NO ONE").text, "OK"); }

   private:
    redis_connection admin_ = connect_beside();
  };

  static long commands_at(redis_connection& admin) {
    const std::string told = admin.ask("INFO stats").text;
    constexpr std::string_view name = "total_commands_processed:";
    return std::stol(told.substr(told.find(name) + name.size()));
  }
};

TEST_F(RedisCases, C01AConnectionToAServerThatBecameAReplicaIsNotLentAgain) {
  redis_pool pool = make({});
  EXPECT_EQ(pool.acquire()->ask("SET who master").text, "OK");
  {
    const demoted now;
    EXPECT_TRUE(pool.acquire()->ask("SET who replica").text.starts_with("READONLY"));
    EXPECT_EQ(test::settled(pool).destroyed_for(destroy_reason::reset_refused), 1U);
    {
      const auto raw = pool.acquire();
      auto* const reply = static_cast<redisReply*>(redisCommand(raw->context(), "SET who other"));
      raw->check(reply);
      freeReplyObject(reply);
    }
    EXPECT_EQ(test::settled(pool).destroyed_for(destroy_reason::reset_refused), 2U);
  }
  EXPECT_EQ(pool.acquire_for(2s)->ask("SET who master").text, "OK");
}

TEST_F(RedisCases, C05ConnectionsSpreadOverTheAddressesOfAName) {
  const test::two_addresses known("127.0.0.2");
  redis_target both = target();
  both.host = test::two_addresses_name;
  const redis_factory factory(both);
  std::set<std::string> addresses;
  for (int i = 0; i < 24; ++i) {
    redis_connection made = factory.create({steady_clock::now() + 20s, {}});
    const std::string told = made.ask("CLIENT INFO").text;
    const std::size_t at = told.find("laddr=");
    addresses.insert(told.substr(at, told.find(':', at) - at));
  }
  EXPECT_EQ(addresses, (std::set<std::string>{"laddr=127.0.0.1", "laddr=127.0.0.2"}));
}

TEST_F(RedisCases, C26ArgumentsOfACommandAreBytes) {
  redis_pool pool = make({});
  const std::string_view bytes("hello world\r\n\0\"quoted\"", 22);
  EXPECT_EQ(pool.acquire()->ask({"SET", "a key", bytes}).text, "OK");
  EXPECT_EQ(pool.acquire()->ask({"GET", "a key"}).text, bytes);
  const std::vector<std::string_view> words{"SET", "empty", ""};
  EXPECT_EQ(pool.acquire()->ask(words).text, "OK");
  EXPECT_EQ(pool.acquire()->ask({"STRLEN", "empty"}).text, "0");
  EXPECT_THROW((void)pool.acquire()->ask(""), std::invalid_argument);
}

TEST_F(RedisCases, C26AResetAfterPlainCommandsSendsNone) {
  redis_pool pool = make({});
  redis_connection admin = connect_beside();
  (void)pool.acquire()->ask("GET k");
  const long before = commands_at(admin);
  for (int i = 0; i < 10; ++i) {
    (void)pool.acquire()->ask({"GET", "k"});
  }
  EXPECT_EQ(commands_at(admin) - before, 10 + 1);
}

TEST_F(RedisCases, C27TheKernelProbesWhenTheTargetSays) {
  redis_target probed = target();
  probed.keep_alive = {.idle = 30s, .interval = 5s, .count = 4};
  redis_connection made = redis_factory(probed).create({steady_clock::now() + 20s, {}});
  const auto option = [&made](int name) {
    int value = -1;
    socklen_t size = sizeof value;
    EXPECT_EQ(::getsockopt(made.context()->fd, IPPROTO_TCP, name, &value, &size), 0);
    return value;
  };
  EXPECT_EQ(option(TCP_KEEPIDLE), 30);
  EXPECT_EQ(option(TCP_KEEPINTVL), 5);
  EXPECT_EQ(option(TCP_KEEPCNT), 4);
  EXPECT_EQ(option(TCP_USER_TIMEOUT), 50'000);  // a request without an answer
}

// A late answer behind a busy proxy is no proof of a broken connection.
TEST_F(RedisCases, C27AServerThatIsSlowLosesNoConnection) {
  redis_pool pool = make({.validate_timeout = 50ms, .validate_if_idle_longer_than = 0ns});
  (void)pool.acquire()->ask("PING");
  {
    const servers::standing_still still(server()->process().pid());
    EXPECT_TRUE(pool.acquire_for(10s));
  }
  EXPECT_EQ(pool.stats().created, 1U);
}

TEST_F(RedisCases, C39ANameThatIsNotFoundEndsInTime) {
  const test::hanging_name hangs;
  redis_target lost = target();
  lost.host = test::hanging_name::text;
  for (const bool stops : {false, true}) {
    std::stop_source stop;
    const auto begin = steady_clock::now();
    std::jthread stopping([&] {
      std::this_thread::sleep_for(30ms);
      if (stops) {
        (void)stop.request_stop();
      }
    });
    EXPECT_THROW((void)redis_factory(lost).create({begin + (stops ? 60s : 50ms), stop.get_token()}),
                 std::runtime_error);
    EXPECT_GE(steady_clock::now() - begin, 30ms);
    EXPECT_LT(steady_clock::now() - begin, 10s);
  }
}

// In RESP3 the answer to SUBSCRIBE is pushed, as the messages are.
TEST_F(RedisCases, ASubscriptionIsAnsweredInBothProtocols) {
  redis_pool pool = make({});
  EXPECT_EQ(pool.acquire()->ask("SUBSCRIBE news").text, "subscribe\nnews\n1");
#ifdef REDIS_REPLY_PUSH
  {
    const auto lease = pool.acquire();
    EXPECT_FALSE(lease->ask("HELLO 3").is_error);
    EXPECT_EQ(lease->ask("subscribe news").text, "subscribe\nnews\n1");
    EXPECT_EQ(connect_beside().ask("PUBLISH news now").text, "1");
    EXPECT_EQ(lease->ask("PING").text, "PONG");
    EXPECT_EQ(lease->ask("UNSUBSCRIBE news").text, "unsubscribe\nnews\n0");
  }
#else
  EXPECT_THROW((void)pool.acquire()->ask("HELLO 3"), std::invalid_argument);
#endif
  EXPECT_EQ(pool.acquire()->ask("ECHO mine").text, "mine");
}

TEST_F(RedisCases, WhatNothingAnswersIsRefusedAtOnce) {
  redis_pool pool = make({});
  for (const char* const command : {"CLIENT REPLY OFF", "client reply skip"}) {
    EXPECT_THROW((void)pool.acquire()->ask(command), std::invalid_argument);
  }
  EXPECT_EQ(pool.acquire()->ask("CLIENT REPLY ON").text, "OK");
  EXPECT_EQ(test::settled(pool).destroyed_for(destroy_reason::reset_refused), 0U);
}

/// Returns hiredis's functions for `reader`, except for one that makes no strings.
redisReplyObjectFunctions* other_functions(const redisReader& reader) {
  static redisReplyObjectFunctions other;
  other = *reader.fn;
  other.createString = [](const redisReadTask*, char*, std::size_t) {
    return static_cast<void*>(nullptr);
  };
  return &other;
}

TEST_F(RedisCases, ReplyHandlersDoNotReachTheNextUser) {
  redis_pool pool = make({});
  {
    const auto curious = pool.acquire();
    redisReader& reader = *curious->context()->reader;
    reader.fn = other_functions(reader);
  }
  EXPECT_EQ(pool.acquire()->ask("ECHO mine").text, "mine");
  EXPECT_EQ(pool.stats().created, 1U);
}

TEST_F(RedisCases, AHookSetsTheSessionUpAfterAResetToo) {
  redis_target hooked = target();
  hooked.on_connect = [](redis_connection& made, const create_context&) {
    EXPECT_EQ(made.ask("CLIENT SETNAME worker").text, "OK");
    EXPECT_EQ(made.ask("CLIENT NO-EVICT on").text, "OK");
  };
  redis_pool pool(redis_factory(hooked), {.max_size = 1});
  EXPECT_EQ(pool.acquire()->ask("SELECT 3").text, "OK");
  EXPECT_EQ(pool.acquire()->ask("CLIENT GETNAME").text, "worker");
  EXPECT_EQ(pool.acquire()->ask("CLIENT GETNAME").text, "worker");
  EXPECT_EQ(pool.stats().created, 1U);
  hooked.on_connect = [](redis_connection&, const create_context&) {
    throw permanent_failure("not this one");
  };
  EXPECT_THROW((void)redis_factory(hooked).create({steady_clock::now() + 20s, {}}),
               permanent_failure);
}

}  // namespace
}  // namespace lido
