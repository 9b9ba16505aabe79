#include <fcntl.h>
#include <gtest/gtest.h>
#include <hiredis/hiredis.h>
#include <sys/time.h>

#include <chrono>
#include <clocale>
#include <cstdlib>
#include <stdexcept>
#include <string>

#include "connect/redis_fixture.hpp"
#include "support/sanitizers.hpp"
#include "support/settled.hpp"

#if LIDO_TEST_ASAN
#include <sanitizer/lsan_interface.h>
#endif

namespace lido {
namespace {

using namespace std::chrono_literals;

class RedisReset : public redis_fixture {};

TEST_F(RedisReset, ATransactionDoesNotReachTheNextUser) {
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

TEST_F(RedisReset, ASubscriptionAndAnotherDatabaseDoNotReachTheNextUser) {
  redis_pool pool = make({});
  (void)pool.acquire()->ask("SET where here");
  (void)pool.acquire()->ask("SUBSCRIBE news");
  EXPECT_EQ(pool.acquire()->ask("GET where").text, "here");
  (void)pool.acquire()->ask("SELECT 3");
  EXPECT_EQ(pool.acquire()->ask("GET where").text, "here");
  EXPECT_EQ(pool.stats().created, 1U);
}

/// A Turkish locale in this thread, in which the capital of i is not the I of MULTI. Null if the
/// system cannot make one.
class turkish {
 public:
  turkish() {
    const std::string made = (folder_.path() / "tr_TR.UTF-8").string();
    try {
      servers::run_program({"localedef", "-i", "tr_TR", "-f", "UTF-8", made},
                           folder_.path() / "log");
    } catch (const std::runtime_error&) {
      return;
    }
    // NOLINTBEGIN(concurrency-mt-unsafe): no other thread is there yet
    EXPECT_EQ(::setenv("LOCPATH", folder_.path().c_str(), 1), 0);
    locale_ = made_by_glibc();
    EXPECT_EQ(::unsetenv("LOCPATH"), 0);
    // NOLINTEND(concurrency-mt-unsafe)
    before_ = ::uselocale(locale_);
  }
  turkish(const turkish&) = delete;
  turkish& operator=(const turkish&) = delete;
  ~turkish() {
    if (*this) {
      (void)::uselocale(before_);
      ::freelocale(locale_);
    }
  }
  [[nodiscard]] explicit operator bool() const { return locale_ != nullptr; }

 private:
  /// glibc leaks what it allocates for LOCPATH.
  static locale_t made_by_glibc() {
#if LIDO_TEST_ASAN
    const __lsan::ScopedDisabler no_leak;
#endif
    return ::newlocale(LC_ALL_MASK, "tr_TR.UTF-8", nullptr);
  }

  servers::temporary_folder folder_{"locale"};
  locale_t locale_ = nullptr;
  locale_t before_ = nullptr;
};

TEST_F(RedisReset, CommandsAreRecognizedInEveryLocale) {
  const turkish language;
  if (!language) {
    GTEST_SKIP() << "this system cannot make a locale";
  }
  redis_pool pool = make({});
  (void)pool.acquire()->ask("SET where here");
  for (const char* const command : {"multi", "subscribe i", "select 3", "Client SetName i"}) {
    (void)pool.acquire()->ask(command);
    EXPECT_EQ(pool.acquire()->ask("GET where").text, "here") << command;
  }
  EXPECT_EQ(pool.acquire()->ask("CLIENT GETNAME").text, "");
  EXPECT_EQ(pool.stats().created, 1U);
  (void)pool.acquire()->ask("client no-evict on");
  EXPECT_EQ(test::settled(pool).destroyed_for(destroy_reason::reset_refused), 1U);
}

// A write to a watched key by another client would fail the transaction of the next user.
TEST_F(RedisReset, AWatchedKeyIsNotWatchedForTheNextUser) {
  redis_pool pool = make({});
  (void)pool.acquire()->ask("SET watched 1");
  EXPECT_EQ(pool.acquire()->ask("WATCH watched").text, "OK");
  EXPECT_EQ(connect_beside().ask("SET watched 2").text, "OK");
  const auto next = pool.acquire();
  EXPECT_EQ(pool.stats().created, 1U);
  (void)next->ask("MULTI");
  (void)next->ask("SET watched 3");
  const redis_answer ended = next->ask("EXEC");
  EXPECT_FALSE(ended.is_nil);
  EXPECT_EQ(ended.text, "OK");
}

TEST_F(RedisReset, TheNameOfAConnectionDoesNotReachTheNextUser) {
  redis_pool pool = make({});
  EXPECT_EQ(pool.acquire()->ask("CLIENT SETNAME me").text, "OK");
  EXPECT_EQ(pool.acquire()->ask("CLIENT GETNAME").text, "");
  EXPECT_EQ(pool.stats().created, 1U);
}

TEST_F(RedisReset, ALoginAsAnotherUserDoesNotReachTheNextUser) {
  const passing_user guest("guest", "~* +@all");
  redis_pool pool = make({});
  EXPECT_EQ(pool.acquire()->ask("AUTH guest anything").text, "OK");
  EXPECT_EQ(pool.acquire()->ask("ACL WHOAMI").text, "default");
  EXPECT_EQ(pool.stats().created, 1U);
}

// A subscribed connection accepts no other commands.
TEST_F(RedisReset, SubscriptionsOfEveryKindDoNotReachTheNextUser) {
  for (const char* const subscribe : {"SUBSCRIBE news", "PSUBSCRIBE n*", "SSUBSCRIBE news"}) {
    redis_pool pool = make({});
    (void)pool.acquire()->ask(subscribe);
    EXPECT_EQ(pool.acquire()->ask("ECHO mine").text, "mine") << subscribe;
    EXPECT_EQ(pool.stats().created, 1U) << subscribe;
  }
}

TEST_F(RedisReset, CommandsThroughTheContextAreUndoneToo) {
  redis_pool pool = make({});
  (void)pool.acquire()->ask("SET where here");
  freeReplyObject(redisCommand(pool.acquire()->context(), "SELECT 4"));
  EXPECT_EQ(pool.acquire()->ask("GET where").text, "here");
  EXPECT_EQ(pool.stats().created, 1U);
}

// RESET does not undo these, and a debugger answers in place of the script.
TEST_F(RedisReset, SettingsThatAResetLeavesEndTheConnection) {
  redis_pool pool = make({});
  EXPECT_EQ(pool.acquire()->ask("script debug YES").text, "OK");
  EXPECT_EQ(pool.acquire()->ask("EVAL return{1,2} 0").text, "1\n2");
  EXPECT_EQ(pool.stats().created, 2U);
  (void)pool.acquire()->ask("CLIENT NO-EVICT ON");
  (void)pool.acquire()->ask("CLIENT NO-TOUCH ON");
  EXPECT_TRUE(pool.acquire());
  EXPECT_EQ(pool.stats().created, 4U);
  (void)pool.acquire()->ask("CLIENT GETNAME");
  EXPECT_FALSE(pool.acquire()->ask("SCRIPT LOAD return{1}").is_error);
  EXPECT_TRUE(pool.acquire());
  EXPECT_EQ(pool.stats().created, 4U);
}

TEST_F(RedisReset, ATimeoutMayBeEndless) {
  redis_target patient = target();
  patient.command_timeout = std::chrono::hours::max();
  redis_pool pool(redis_factory(patient), {.max_size = 1});
  EXPECT_TRUE(pool.acquire()->ask("BLPOP nothing 0.1").is_nil);
  (void)pool.acquire()->ask("SELECT 3");
  EXPECT_EQ(pool.acquire()->ask("PING").text, "PONG");
  EXPECT_EQ(pool.stats().created, 1U);
}

// A RESET sent by the user logs off. The pool must log on again.
TEST_F(RedisReset, ALogoutDoesNotReachTheNextUser) {
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

// The user would wait for ever, and the server is stopped when the lease ends.
TEST_F(RedisReset, TheTimeoutOfAUserDoesNotProlongTheReset) {
  redis_pool pool = make({});
  auto patient = pool.acquire();
  ASSERT_EQ(redisSetTimeout(patient->context(), timeval{.tv_sec = 0, .tv_usec = 0}), REDIS_OK);
  {
    const servers::standing_still still(server()->process().pid());
    patient.reset();
    EXPECT_EQ(test::settled(pool).destroyed_for(destroy_reason::reset_refused), 1U);
  }
  EXPECT_EQ(pool.acquire_for(30s)->ask("PING").text, "PONG");
}

// A timeout of an hour is only for the user that sets it.
TEST_F(RedisReset, TheTimeoutOfAUserDoesNotReachTheNext) {
  redis_pool pool = make({});
  constexpr timeval hour{.tv_sec = 3600, .tv_usec = 0};
  ASSERT_EQ(redisSetTimeout(pool.acquire()->context(), hour), REDIS_OK);
  auto next = pool.acquire_for(30s);
  ASSERT_EQ(pool.stats().created, 1U);
  const servers::standing_still still(server()->process().pid());
  EXPECT_THROW((void)next->ask("GET colour"), std::runtime_error);
}

// The next user must wait for answers, which a non-blocking connection would not do.
TEST_F(RedisReset, ANonBlockingConnectionBlocksAgain) {
  redis_pool pool = make({});
  const auto flags_of = [](const redis_pool::lease_type& lease) {
    return ::fcntl(lease->context()->fd, F_GETFL);
  };
  {
    const auto hasty = pool.acquire();
    ASSERT_EQ(::fcntl(hasty->context()->fd, F_SETFL, flags_of(hasty) | O_NONBLOCK), 0);
  }
  const auto next = pool.acquire();
  EXPECT_EQ(flags_of(next) & O_NONBLOCK, 0);
  EXPECT_EQ(next->ask("ECHO mine").text, "mine");
  EXPECT_EQ(pool.stats().created, 1U);
}

TEST_F(RedisReset, AnUnreadAnswerRefusesTheConnection) {
  redis_pool pool = make({});
  {
    const auto rude = pool.acquire();
    redisAppendCommand(rude->context(), "PING");
  }
  EXPECT_EQ(pool.acquire()->ask("ECHO mine").text, "mine");
  EXPECT_EQ(test::settled(pool).destroyed_for(destroy_reason::reset_refused), 1U);
}

// A reset cannot distinguish these answers from its own. After them the server would be silent.
TEST_F(RedisReset, CommandsThatWereNeverSentRefuseTheConnection) {
  redis_pool pool = make({});
  {
    const auto rude = pool.acquire();
    for (const char* const command : {"ECHO RESET", "ECHO OK", "BLPOP nothing 1"}) {
      ASSERT_EQ(redisAppendCommand(rude->context(), command), REDIS_OK);
    }
  }
  EXPECT_EQ(test::settled(pool).destroyed_for(destroy_reason::reset_refused), 1U);
}

// They look like the answers to RESET and AUTH, so the next user would read the last one.
TEST_F(RedisReset, AnswersThatLookLikeThoseOfAResetRefuseTheConnection) {
  redis_pool pool = make({});
  {
    const auto rude = pool.acquire();
    redisContext* const context = rude->context();
    for (const char* command : {"ECHO RESET", "ECHO OK", "ECHO OK", "BLPOP nothing 1"}) {
      ASSERT_EQ(redisAppendCommand(context, command), REDIS_OK);
    }
    int done = 0;
    while (done == 0) {
      ASSERT_EQ(redisBufferWrite(context, &done), REDIS_OK);
    }
  }
  EXPECT_EQ(test::settled(pool).destroyed_for(destroy_reason::reset_refused), 1U);
  EXPECT_EQ(pool.acquire()->ask("ECHO mine").text, "mine");
}

// A user who may not send PING is at risk, too: an unread refusal might deceive its reset.
TEST_F(RedisReset, AnUnreadRefusalRefusesTheConnection) {
  const passing_user known("web", "~* -@all +echo +multi");
  redis_target web = target();
  web.user = "web";
  web.password.clear();
  redis_pool pool(redis_factory(web), {.max_size = 1});
  (void)pool.acquire()->ask("MULTI");
  {
    const auto rude = pool.acquire();
    EXPECT_EQ(pool.stats().created, 1U);
    redisContext* const context = rude->context();
    for (const char* command : {"ECHO RESET", "ECHO OK", "PING", "PING"}) {
      ASSERT_EQ(redisAppendCommand(context, command), REDIS_OK);
    }
    int done = 0;
    while (done == 0) {
      ASSERT_EQ(redisBufferWrite(context, &done), REDIS_OK);
    }
  }
  EXPECT_EQ(test::settled(pool).destroyed_for(destroy_reason::reset_refused), 1U);
}

// Otherwise nothing explains why each use needs a new connection.
TEST_F(RedisReset, AServerThatRefusesAResetIsHeardInAnEvent) {
  const passing_user known("web", "~* +@all");
  redis_target web = target();
  web.user = "web";
  web.password.clear();
  web.database = 3;
  std::string heard;
  redis_pool pool(redis_factory(web), {.max_size = 1, .on_event = [&heard](const auto& event) {
                                         if (event.what == pool_event::kind::reset_failed) {
                                           heard += event.text;
                                         }
                                       }});
  {
    const auto lease = pool.acquire();
    EXPECT_EQ(lease->ask("MULTI").text, "OK");
    EXPECT_EQ(connect_beside().ask("ACL SETUSER web -select").text, "OK");
  }
  EXPECT_NE(heard.find("NOPERM"), std::string::npos) << heard;
  EXPECT_EQ(test::settled(pool).destroyed_for(destroy_reason::reset_refused), 1U);
}

// The only element of an array is missing. The answer to a reset would be taken for that element.
TEST_F(RedisReset, AnIncompleteAnswerRefusesTheConnection) {
  redis_pool pool = make({});
  {
    const auto rude = pool.acquire();
    redisContext* const context = rude->context();
    void* answer = nullptr;
    ASSERT_EQ(redisReaderFeed(context->reader, "*1\r\n", 4), REDIS_OK);
    ASSERT_EQ(redisReaderGetReply(context->reader, &answer), REDIS_OK);
    ASSERT_EQ(answer, nullptr);
  }
  EXPECT_EQ(test::settled(pool).destroyed_for(destroy_reason::reset_refused), 1U);
}

}  // namespace
}  // namespace lido
