/// @file
/// Public. Makes Redis connections of hiredis for a `resource_pool`.
#pragma once

#include <chrono>
#include <functional>
#include <initializer_list>
#include <memory>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "lido/connect/dial.hpp"
#include "lido/resource/factory.hpp"
#include "lido/resource/options.hpp"

struct redisContext;  // NOLINT(readability-identifier-naming): of hiredis
struct redisReply;    // NOLINT(readability-identifier-naming): of hiredis

namespace lido::inline v0 {

class redis_connection;

struct redis_target {
  std::string host = "127.0.0.1";
  int port = 6379;
  std::string path = {};  ///< a Unix socket, instead of host and port
  std::string user = {};  ///< empty: the default user; others may have no password
  std::string password = {};
  int database = 0;
  time_limit command_timeout = std::chrono::seconds(5);  ///< timeout of a command, and of a reset
  tcp_keep_alive keep_alive = {};
  bool ping_to_validate = false;  ///< if set, a late answer of a busy proxy ends a connection
  /// Called after connecting, where it may fail the create, and after each reset that sends RESET.
  std::function<void(redis_connection&, const create_context&)> on_connect = {};
};

/// An answer of Redis, as text. An array has one element a line; a map has each name before its
/// value.
struct redis_answer {
  bool is_error = false;
  bool is_nil = false;
  std::string text;
};

/// A connection to Redis. Not thread-safe, but may be used by any one thread at a time.
class redis_connection {
 public:
  explicit redis_connection(redisContext* context) noexcept;

  /// Sends one command and waits for the answer. Its words are bytes, blanks included. An error is
  /// an answer; throws std::runtime_error if there is none: then the connection is not lent again.
  /// Throws std::invalid_argument for commands without an answer (CLIENT REPLY OFF), and for HELLO
  /// 3 with hiredis before 1.0. Returns the first confirmation of SUBSCRIBE and the like, also in
  /// RESP3.
  /// The reset undoes commands that change the connection (MULTI, SUBSCRIBE, SELECT and the like).
  /// READONLY, LOADING and MASTERDOWN end the connection after this lease.
  redis_answer ask(const std::vector<std::string_view>& command);
  redis_answer ask(std::initializer_list<std::string_view> command) {
    return ask(std::vector<std::string_view>(command));
  }
  /// Sends one command, whose words are separated by blanks, and waits for the answer.
  redis_answer ask(std::string_view command);

  /// Judges the connection by an answer that `ask` did not return. Null makes it unfit.
  void check(const redisReply* answer);

  /// Returns the context for everything else that hiredis has. The reset then assumes that the
  /// connection was changed, and costs a round trip. CLIENT NO-EVICT, CLIENT NO-TOUCH, SCRIPT
  /// DEBUG, options of the socket and `privdata` are for the user to undo.
  ///
  /// A write to a server that hung up does not raise SIGPIPE. hiredis before 1.0 cannot prevent the
  /// signal. There the first call gives it an empty handler, unless the program has set one or
  /// ignores the signal: a program that restores the default later is killed by it.
  [[nodiscard]] redisContext* context() noexcept;

 private:
  friend class redis_factory;
  struct closer {
    void operator()(redisContext* context) const noexcept;
  };
  std::unique_ptr<redisContext, closer> context_;
  time_limit timeout_ = std::chrono::seconds(5);
  void* reply_functions_ = nullptr;       // which a reset restores, as the next
  void (*push_)(void*, void*) = nullptr;  // of hiredis 1.0
  bool changed_ = false;
  bool unfit_ = false;
};

/// A factory of `redis_connection`. Thread-safe; its functions block.
class redis_factory {
 public:
  explicit redis_factory(redis_target target) : target_(std::move(target)) {}

  /// Connects to the first address that answers, as docs/reference/resource-pool.md says, and signs
  /// in. Throws permanent_failure if the server rejects this user, or if there can be no such port
  /// or path. Throws std::runtime_error otherwise, also at the deadline and when asked to stop.
  /// Started programs do not inherit the connection.
  [[nodiscard]] redis_connection create(const create_context& context) const;

  /// Returns true if nothing can be read. If the target asks for PING, throws std::runtime_error if
  /// that is not answered; NOPERM and MISCONF are answers, too.
  bool validate(redis_connection& idle, const create_context& context) const;

  /// Costs one system call after plain commands of `ask`, otherwise one round trip: RESET (Redis
  /// 6.2) and the sign-in. Refuses what is unfit, in the middle of an exchange, or has state that
  /// RESET leaves. Throws the server's message if it refuses a command, and also if it does not
  /// answer in time.
  bool reset(redis_connection& used) const;

  /// Shuts the socket down, so that a command of its user ends with an error. Requires: the user
  /// does not call redisReconnect during the call.
  static void interrupt(redis_connection& used) noexcept;

 private:
  /// Begins a session. A `word` is for a reset.
  void begin(redis_connection& session, const create_context& context,
             const std::string& word) const;

  redis_target target_;
  // Shared by the copies of a factory.
  std::shared_ptr<detail::address_memory> memory_ = std::make_shared<detail::address_memory>();
};

}  // namespace lido::inline v0
