/// @file
/// Public. Creates Redis connections with hiredis for a `resource_pool`.
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

/// Where and how a `redis_factory` connects.
struct redis_target {
  /// Name or address of the host.
  std::string host = "127.0.0.1";
  /// Port of the server.
  int port = 6379;
  std::string path = {};  ///< a Unix socket, instead of host and port
  std::string user = {};  ///< empty: the default user; other users may have no password
  /// Password of the user; empty for none.
  std::string password = {};
  /// Number of the database that each session selects.
  int database = 0;
  time_limit command_timeout = std::chrono::seconds(5);  ///< timeout of a command, and of a reset
  /// How the kernel finds out that the server is gone.
  tcp_keep_alive keep_alive = {};
  /// Makes `validate` also send PING. The connection is then lost if a busy proxy answers late.
  bool ping_to_validate = false;
  /// Called after each connect, and after each reset that sends RESET. If it throws after a
  /// connect, the create fails.
  std::function<void(redis_connection&, const create_context&)> on_connect = {};
};

/// An answer of Redis as text. Each element of an array is on its own line. In a map, each name
/// precedes its value.
struct redis_answer {
  /// True if the server answered with an error, whose message is `text`.
  bool is_error = false;
  /// True if the answer is a null.
  bool is_nil = false;
  /// The answer as text.
  std::string text;
};

/// A connection to Redis. Not thread-safe, but may be used by any one thread at a time.
class redis_connection {
 public:
  /// Takes over `context`.
  explicit redis_connection(redisContext* context) noexcept;

  /// Sends one command and waits for the answer. The words of the command may contain any bytes,
  /// including blanks. An error of the server counts as an answer. Throws std::runtime_error if
  /// there is no answer; the connection is then not lent again. Throws std::invalid_argument for
  /// commands without an answer (CLIENT REPLY OFF), and for HELLO 3 with hiredis before 1.0.
  /// Returns the first confirmation of SUBSCRIBE and the like, also in RESP3. The reset undoes
  /// commands that change the connection (MULTI, SUBSCRIBE, SELECT and the like). After a READONLY,
  /// LOADING or MASTERDOWN error, the connection is destroyed at the end of the lease.
  redis_answer ask(const std::vector<std::string_view>& command);
  /// Sends one command of several words and waits for the answer.
  redis_answer ask(std::initializer_list<std::string_view> command) {
    return ask(std::vector<std::string_view>(command));
  }
  /// Sends one command, whose words are separated by blanks, and waits for the answer.
  redis_answer ask(std::string_view command);

  /// Checks an answer that `ask` did not return. A READONLY, LOADING or MASTERDOWN error, or a null
  /// `answer`, makes the connection unfit for another lease.
  void check(const redisReply* answer);

  /// Returns the context, for use with any other function of hiredis. The reset then assumes that
  /// the connection was changed, and costs a round trip. The user must undo CLIENT NO-EVICT, CLIENT
  /// NO-TOUCH and SCRIPT DEBUG, and changes of socket options and `privdata`.
  ///
  /// A write to a server that hung up does not raise SIGPIPE. Versions of hiredis before 1.0 cannot
  /// prevent the signal. With those, the first call of this function installs an empty handler for
  /// SIGPIPE, unless the program handles or ignores the signal. If the program restores the default
  /// later, the signal then kills the program.
  [[nodiscard]] redisContext* context() noexcept;

 private:
  friend class redis_factory;
  struct closer {
    void operator()(redisContext* context) const noexcept;
  };
  std::unique_ptr<redisContext, closer> context_;
  time_limit timeout_ = std::chrono::seconds(5);
  // A reset restores the next two members in the context.
  void* reply_functions_ = nullptr;
  void (*push_)(void*, void*) = nullptr;  // handler of pushes, since hiredis 1.0
  bool changed_ = false;
  bool unfit_ = false;
};

/// A factory of `redis_connection`. Thread-safe; its functions block.
class redis_factory {
 public:
  /// Makes a factory that connects to `target`.
  explicit redis_factory(redis_target target) : target_(std::move(target)) {}

  /// Connects to the first address that answers, as docs/reference/resource-pool.md describes, and
  /// signs in. Throws permanent_failure if the server rejects the user, or if no such port or path
  /// can exist. Throws std::runtime_error on any other failure, at the deadline, or if a stop is
  /// requested. Programs that this process starts do not inherit the connection.
  [[nodiscard]] redis_connection create(const create_context& context) const;

  /// Returns true if nothing can be read from the connection. With `ping_to_validate`, also sends
  /// PING, and throws std::runtime_error if that is not answered. NOPERM and MISCONF count as
  /// answers.
  bool validate(redis_connection& idle, const create_context& context) const;

  /// Resets the connection for its next user. This costs one system call if the user only sent
  /// plain commands by `ask`. Otherwise it costs one round trip, for RESET (Redis 6.2) and the
  /// sign-in. Returns false if the connection is unfit, in the middle of an exchange, or has state
  /// that RESET does not clear. If the server rejects a command, throws an exception with the
  /// server's message. Also throws if the server does not answer in time.
  bool reset(redis_connection& used) const;

  /// Shuts the socket down, so that a command of its user ends with an error. Requires: the user
  /// does not call redisReconnect during the call.
  static void interrupt(redis_connection& used) noexcept;

 private:
  /// Begins a session. `word` is empty after a connect. In a reset, it is not empty, and the server
  /// has to echo it.
  void begin(redis_connection& session, const create_context& context,
             const std::string& word) const;

  redis_target target_;
  // Shared by the copies of a factory.
  std::shared_ptr<detail::address_memory> memory_ = std::make_shared<detail::address_memory>();
};

}  // namespace lido::inline v0
