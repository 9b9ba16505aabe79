/// @file
/// Public. Makes Redis connections of hiredis for a `resource_pool`.
#pragma once

#include <chrono>
#include <memory>
#include <string>
#include <string_view>

#include "lido/resource/factory.hpp"
#include "lido/resource/time_limit.hpp"

struct redisContext;  // NOLINT(readability-identifier-naming): of hiredis

namespace lido {

struct redis_target {
  std::string host = "127.0.0.1";
  int port = 6379;
  std::string path = {};  ///< of a Unix socket, instead of host and port
  std::string user = {};  ///< empty: the default user; others may have no password
  std::string password = {};
  int database = 0;
  /// No command waits longer for what comes next, unless signals interrupt it again and again: then
  /// hiredis begins anew. No reset takes longer. More than zero.
  time_limit command_timeout = std::chrono::seconds(5);
};

/// An answer of Redis, as text. An array is its elements, one a line; a map names before values.
struct redis_answer {
  bool is_error = false;
  bool is_nil = false;
  std::string text;
};

/// A connection to Redis. Not thread-safe, but any one thread may have it.
class redis_connection {
 public:
  explicit redis_connection(redisContext* context) noexcept : context_(context) {}

  /// Sends one command, whose words are separated by single blanks, and waits for the answer. An
  /// answer of the server that is an error is an answer; throws std::runtime_error if there is
  /// none: then the connection is of no use any more. Commands that change the connection rather
  /// than the data (MULTI, WATCH, SUBSCRIBE, SELECT and their like) are noticed, and undone by
  /// `redis_factory::reset`, which refuses the connection after those that RESET leaves as they are
  /// (CLIENT NO-EVICT, CLIENT NO-TOUCH, SCRIPT DEBUG).
  redis_answer ask(std::string_view command);

  /// For everything else that hiredis has. Whatever is done with it, the factory takes the state of
  /// the connection for changed. What RESET leaves is for who did it to undo: CLIENT NO-EVICT,
  /// CLIENT NO-TOUCH, SCRIPT DEBUG, and whatever is set in the context itself but the time-out,
  /// or at its socket but O_NONBLOCK. redisReconnect has the system's time, not one of the factory.
  [[nodiscard]] redisContext* context() noexcept {
    changed_ = true;
    return context_.get();
  }

 private:
  friend class redis_factory;
  struct closer {
    void operator()(redisContext* context) const noexcept;
  };

  std::unique_ptr<redisContext, closer> context_;
  bool changed_ = false;
  bool outlasts_reset_ = false;
};

/// A factory of `redis_connection`. Thread-safe; its functions block.
class redis_factory {
 public:
  explicit redis_factory(redis_target target) : target_(std::move(target)) {}

  /// Connects to the first address that answers, each of which has its share of the time that is
  /// left, and signs in where a user or a password is set. Throws permanent_failure if the server
  /// does not want this user, or if there can be no such port or path; std::runtime_error if it
  /// cannot be reached by the deadline or when asked to stop. Looking up the name heeds neither, as
  /// getaddrinfo(3) does not. Programs that this one starts do not inherit the connection.
  [[nodiscard]] redis_connection create(const create_context& context) const;

  /// Whether nothing can be read, and PING is answered by the deadline: also that this user may not
  /// say it (NOPERM; the server may keep a log of that), or that the server cannot save its data
  /// and refuses this as it does writes (MISCONF).
  static bool validate(redis_connection& idle, const create_context& context) noexcept;

  /// Costs one system call if the connection was used by `ask` for plain commands. Otherwise it
  /// sends RESET (Redis 6.2), which ends transactions and subscriptions, and signs in again; older
  /// servers do not know that command, and the connection is refused.
  bool reset(redis_connection& used) const noexcept;

 private:
  redis_target target_;
};

}  // namespace lido
