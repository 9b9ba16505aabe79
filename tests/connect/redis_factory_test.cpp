#include <fcntl.h>
#include <gtest/gtest.h>
#include <hiredis/hiredis.h>

#include <atomic>
#include <boost/asio/io_context.hpp>
#include <boost/asio/local/stream_protocol.hpp>
#include <boost/asio/read_until.hpp>
#include <boost/asio/write.hpp>
#include <chrono>
#include <csignal>
#include <cstdint>
#include <filesystem>
#include <stdexcept>
#include <stop_token>
#include <string>
#include <string_view>
#include <thread>

#include "connect/redis_fixture.hpp"
#include "support/fake_server.hpp"
#include "support/settled.hpp"

namespace lido {
namespace {

namespace net = boost::asio;
namespace fs = std::filesystem;
using namespace std::chrono_literals;

class RedisFactory : public redis_fixture {};

TEST_F(RedisFactory, AConnectionIsUsedManyTimes) {
  redis_pool pool = make({});
  EXPECT_EQ(pool.acquire()->ask("SET colour green").text, "OK");
  for (int i = 0; i < 50; ++i) {
    EXPECT_EQ(pool.acquire()->ask("GET colour").text, "green");
  }
  EXPECT_EQ(pool.stats().created, 1U);
}

TEST_F(RedisFactory, ACommandThatTakesLongIsInterrupted) {
  redis_target patient = target();
  patient.command_timeout = 60s;
  redis_pool pool(redis_factory(patient), {.max_size = 1});
  std::atomic<std::uint64_t> birth{0};
  const auto begin = std::chrono::steady_clock::now();
  std::thread user([&] {
    const auto lease = pool.acquire();
    birth = lease.handle().birth;
    EXPECT_THROW((void)lease->ask("BLPOP nothing 0"), std::runtime_error);
  });
  while (birth == 0) {
    std::this_thread::sleep_for(1ms);
  }
  std::this_thread::sleep_for(50ms);  // mostly it reads by now
  EXPECT_TRUE(pool.kill({.index = 0, .birth = birth}, ongoing_uses::interrupt));
  user.join();
  EXPECT_LT(std::chrono::steady_clock::now() - begin, 30s);
  EXPECT_EQ(pool.acquire()->ask("PING").text, "PONG");
  EXPECT_EQ(test::settled(pool).destroyed_for(destroy_reason::killed), 1U);
}

std::string refusal_of(const redis_target& target) {
  redis_pool pool(redis_factory(target), {.max_size = 1});
  try {
    (void)pool.acquire_for(30s);
    return "none";
  } catch (const acquire_error& error) {
    EXPECT_EQ(error.cause(), acquire_failure::create_failed);
    return error.what();
  }
}

TEST_F(RedisFactory, AWrongOrMissingPasswordFailsAtOnce) {
  redis_target other = target();
  other.password = "guess";
  std::string refused = refusal_of(other);
  EXPECT_NE(refused.find("WRONGPASS"), std::string::npos) << refused;
  other.password.clear();
  refused = refusal_of(other);
  EXPECT_NE(refused.find("NOAUTH"), std::string::npos) << refused;
}

TEST_F(RedisFactory, AConnectionUsesTheDatabaseOfTheTarget) {
  for (const int database : {0, 1, 2, 15}) {
    redis_target chosen = target();
    chosen.database = database;
    redis_pool pool(redis_factory(chosen), {.max_size = 1});
    for (const char* const command : {"PING", "SELECT 3", "PING"}) {
      const auto lease = pool.acquire();
      const std::string told = lease->ask("CLIENT INFO").text;
      EXPECT_NE(told.find(" db=" + std::to_string(database) + " "), std::string::npos) << told;
      (void)lease->ask(command);
      (void)lease->ask("GET colour");  // a reset undoes earlier changes, too
    }
    EXPECT_EQ(pool.stats().created, 1U);
  }
}

TEST_F(RedisFactory, AMissingDatabaseFailsAtOnce) {
  redis_target beyond = target();
  beyond.database = 9999;
  const std::string refused = refusal_of(beyond);
  EXPECT_NE(refused.find("DB index"), std::string::npos) << refused;
}

TEST_F(RedisFactory, AUserWithoutRightsToTheDatabaseFailsAtOnce) {
  const passing_user known("few", "-@all +auth");
  redis_target few = target();
  few.user = "few";
  few.password.clear();
  few.database = 3;
  const std::string refused = refusal_of(few);
  EXPECT_NE(refused.find("NOPERM"), std::string::npos) << refused;
}

// A temporary failure must not make the pool refuse all waiters.
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
  EXPECT_EQ(test::settled(pool).destroyed_for(destroy_reason::invalid), 1U);
}

TEST_F(RedisFactory, AUserWithoutAPasswordIsLoggedIn) {
  const passing_user known("app", "~* +@all");
  redis_target app = target();
  app.user = "app";
  app.password.clear();
  redis_pool pool(redis_factory(app), {.max_size = 1});
  EXPECT_EQ(pool.acquire_for(30s)->ask("ACL WHOAMI").text, "app");
}

// The user may do only what one program needs, and can log in nevertheless.
TEST_F(RedisFactory, AUserWithoutTheRightToPingHasConnections) {
  const passing_user known("web", "~* -@all +get +set +multi +discard");
  redis_target web = target();
  web.user = "web";
  web.password.clear();
  redis_pool pool(redis_factory(web), {.max_size = 1, .validate_if_idle_longer_than = 0ns});
  EXPECT_EQ(pool.acquire_for(30s)->ask("SET colour red").text, "OK");
  EXPECT_EQ(pool.acquire()->ask("MULTI").text, "OK");
  EXPECT_EQ(pool.acquire()->ask("GET colour").text, "red");
  EXPECT_EQ(pool.stats().created, 1U) << "the pool replaced the connection";
}

/// Makes the server fail to save its data, and know it, during its lifetime.
class unsaved {
 public:
  explicit unsaved(redis_connection& as) : as_(as), folder_(as_.ask("CONFIG GET dir").text) {
    folder_ = folder_.substr(folder_.find('\n') + 1);
    fs::permissions(folder_, fs::perms::owner_read | fs::perms::owner_exec);
    save_each("900 1");
    EXPECT_EQ(as_.ask("BGSAVE").text, "Background saving started");
    EXPECT_TRUE(test::eventually([&] { return as_.ask("PING").is_error; }));
  }
  unsaved(const unsaved&) = delete;
  unsaved& operator=(const unsaved&) = delete;
  ~unsaved() {
    fs::permissions(folder_, fs::perms::owner_all);
    save_each("");
    EXPECT_EQ(as_.ask("PING").text, "PONG");
  }

 private:
  /// Sets automatic saves: only a server that has some refuses writes then.
  void save_each(const char* seconds_and_changes) {
    freeReplyObject(redisCommand(as_.context(), "CONFIG SET save %s", seconds_and_changes));
  }

  redis_connection& as_;
  std::string folder_;
};

// Such a server refuses writes and even PING, but serves reads.
TEST_F(RedisFactory, AServerThatCannotSaveHasConnectionsForReaders) {
  redis_connection admin = connect_beside();
  (void)admin.ask("SET colour blue");
  const unsaved now(admin);
  const redis_answer refused = admin.ask("PING");
  ASSERT_TRUE(refused.text.starts_with("MISCONF")) << refused.text;
  redis_pool pool = make({.validate_if_idle_longer_than = 0ns});
  EXPECT_EQ(pool.acquire_for(30s)->ask("GET colour").text, "blue");
  EXPECT_EQ(pool.acquire()->ask("MULTI").text, "OK");
  EXPECT_EQ(pool.acquire()->ask("GET colour").text, "blue");
  EXPECT_EQ(pool.stats().created, 1U) << "the pool replaced the connection";
}

/// Answers each PING on a Unix socket, and closes the connection when told to. It may also start an
/// answer without an end.
class brief_server {
 public:
  brief_server() : listening_(context_, net::local::stream_protocol::endpoint(path())) {}

  [[nodiscard]] std::string path() const { return (folder_.path() / "socket").string(); }
  void hang_up() { peer_.close(); }
  void answer_one(std::string_view answer = "+PONG\r\n") {
    take_question();
    net::write(peer_, net::buffer(answer));
  }
  /// Writes until the client closes the connection, for a minute at most.
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
    if (!peer_.is_open()) {
      listening_.accept(peer_);
    }
    std::string question;
    boost::system::error_code gone;
    net::read_until(peer_, net::dynamic_buffer(question), "PING\r\n", gone);
  }

  servers::temporary_folder folder_{"brief"};
  net::io_context context_;
  net::local::stream_protocol::acceptor listening_;
  net::local::stream_protocol::socket peer_{context_};
};

TEST(RedisFactoryBeside, AUnixSocketHasItsNameAndIsNotInherited) {
  brief_server server;
  std::jthread answers([&] { server.answer_one(); });
  redis_connection made =
      redis_factory({.path = server.path()}).create({std::chrono::steady_clock::now() + 20s, {}});
  EXPECT_EQ(made.context()->unix_sock.path, server.path());
  EXPECT_EQ(::fcntl(made.context()->fd, F_GETFD), FD_CLOEXEC);
}

// The first write raises SIGPIPE, which by default ends the program.
TEST(RedisFactoryBeside, AClosedServerIsAnErrorAndNotTheEndOfTheProgram) {
  brief_server server;
  std::jthread answers([&] { server.answer_one(); });
  redis_connection made =
      redis_factory({.path = server.path()}).create({std::chrono::steady_clock::now() + 20s, {}});
  answers.join();
  server.hang_up();
  EXPECT_THROW((void)made.ask("GET colour"), std::runtime_error);
}

/// Writes a pipeline through hiredis to a server that has hung up. Returns whether the client
/// noticed, and left no signal ignored that child programs would inherit.
bool hears_of_its_end() {
  (void)std::signal(SIGPIPE, SIG_DFL);
  brief_server server;
  std::jthread answers([&] { server.answer_one(); });
  redis_connection made =
      redis_factory({.path = server.path()}).create({std::chrono::steady_clock::now() + 20s, {}});
  answers.join();
  server.hang_up();
  redisContext* const raw = made.context();
  int done = 0;
  (void)redisAppendCommand(raw, "PING");
  const bool fails = redisBufferWrite(raw, &done) == REDIS_ERR && raw->err == REDIS_ERR_IO;
  struct sigaction now {};
  return fails && ::sigaction(SIGPIPE, nullptr, &now) == 0 && now.sa_handler != SIG_IGN;
}

// The test needs a process that no other test has changed.
TEST(RedisFactoryDeathTest, APipelineToAServerThatHungUpDoesNotEndTheProgram) {
  GTEST_FLAG_SET(death_test_style, "threadsafe");
  EXPECT_EXIT(std::_Exit(hears_of_its_end() ? 0 : 1), ::testing::ExitedWithCode(0), "");
}

// hiredis has read it together with the previous answer, so the kernel has no more data.
TEST(RedisFactoryBeside, AnUnaskedAnswerRefusesTheConnection) {
  brief_server server;
  std::jthread answers([&] {
    server.answer_one();
    server.answer_one("+PONG\r\n+more\r\n");
  });
  const redis_factory factory({.path = server.path(), .command_timeout = 30s});
  redis_connection made = factory.create({std::chrono::steady_clock::now() + 20s, {}});
  EXPECT_TRUE(factory.reset(made));
  EXPECT_EQ(made.ask("PING").text, "PONG");
  EXPECT_FALSE(factory.reset(made));
}

// hiredis discards what it has read, and only the error is left.
TEST(RedisFactoryBeside, AMalformedAnswerRefusesTheConnection) {
  brief_server server;
  std::jthread answers([&] {
    server.answer_one();
    server.answer_one("what?\r\n");
  });
  const redis_factory factory({.path = server.path(), .command_timeout = 30s});
  redis_connection made = factory.create({std::chrono::steady_clock::now() + 20s, {}});
  EXPECT_THROW((void)made.ask("PING"), std::runtime_error);
  EXPECT_FALSE(factory.reset(made));
}

// Each byte comes in time, but the answer does not. A create must also obey its stop token there.
TEST(RedisFactoryBeside, AnEndlessAnswerFailsAtTheDeadline) {
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

TEST_F(RedisFactory, AStoppedServerFailsTheValidationInTime) {
  redis_target patient = target();
  patient.command_timeout = 60s;
  patient.ping_to_validate = true;
  std::string heard;
  redis_pool pool(redis_factory(patient),
                  {.max_size = 1,
                   .validate_timeout = 100ms,
                   .validate_if_idle_longer_than = 0ns,
                   .on_event =
                       [&heard](const pool_event& event) {
                         heard += event.what == pool_event::kind::validate_failed ? event.text : "";
                       },
                   .maintenance = maintenance::by_tick});
  (void)pool.acquire()->ask("PING");
  {
    const servers::standing_still still(server()->process().pid());
    const auto begin = std::chrono::steady_clock::now();
    EXPECT_THROW((void)pool.acquire_for(300ms), acquire_error);
    EXPECT_LT(std::chrono::steady_clock::now() - begin, 20s);
  }
  EXPECT_EQ(pool.acquire_for(30s)->ask("PING").text, "PONG");
  EXPECT_GE(test::settled(pool).destroyed_for(destroy_reason::invalid), 1U);  // more if all is slow
  EXPECT_NE(heard.find("no answer within"), std::string::npos) << heard;
}

// The answer comes too late for its user, and must not reach the next one.
TEST_F(RedisFactory, ACommandWithoutAnAnswerFailsAndEndsTheConnection) {
  redis_target hasty = target();
  hasty.command_timeout = 200ms;
  redis_pool pool(redis_factory(hasty), {.max_size = 1});
  auto lease = pool.acquire_for(30s);
  const servers::standing_still still(server()->process().pid());
  try {
    (void)lease->ask("GET colour");
    ADD_FAILURE() << "the server stands still";
  } catch (const std::runtime_error& error) {
    const std::string told = error.what();
    EXPECT_TRUE(told.starts_with("redis 127.0.0.1:" + std::to_string(server()->port()) +
                                 ": no answer within 2"))
        << told;
  }
  lease.reset();
  EXPECT_EQ(test::settled(pool).destroyed_for(destroy_reason::reset_refused), 1U);
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
