/// @file
/// Public. Makes PostgreSQL connections of libpq for a `resource_pool`.
#pragma once

#include <chrono>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <memory>
#include <string>
#include <utility>

#include "lido/connect/dial.hpp"
#include "lido/resource/factory.hpp"
#include "lido/resource/time_limit.hpp"

struct pg_conn;    // NOLINT(readability-identifier-naming): PGconn of libpq
struct pg_result;  // NOLINT(readability-identifier-naming): PGresult of libpq

namespace lido {

class postgres_connection;

/// What a reset sends. Both roll an open transaction back.
enum class postgres_pooling : std::uint8_t {
  /// What DISCARD ALL does, in one round trip: no role, setting, prepared statement, listener,
  /// lock, cursor or temporary table reaches the next user.
  session,
  /// Nothing more: for a PgBouncer in transaction mode, which has no sessions. All that `session`
  /// forgets leaks, to the next user of whatever connection it was said to; so do not say it.
  transaction
};

struct postgres_target {
  std::string conninfo;  ///< as of PQconnectdb: "host=db dbname=shop user=web"
  postgres_pooling pooling = postgres_pooling::session;
  time_limit reset_timeout = std::chrono::seconds(5);  ///< of a reset, and of a cancel
  tcp_keep_alive keep_alive = {};  ///< keepalives, keepalives_idle etc. of the conninfo go first
  bool query_to_validate = false;  ///< a late answer of a busy proxy ends a connection, then
  /// Sets a session up: called after connecting, and after each reset of `pooling::session`. What
  /// it throws fails the create. Settings are better said by `options` of the conninfo.
  std::function<void(postgres_connection&, const create_context&)> on_connect = {};
};

struct postgres_result_deleter {
  void operator()(pg_result* result) const noexcept;
};
using postgres_result = std::unique_ptr<pg_result, postgres_result_deleter>;

/// A connection to PostgreSQL. Not thread-safe, but any one thread may have it.
class postgres_connection {
 public:
  explicit postgres_connection(pg_conn* connection) noexcept : connection_(connection) {}

  /// For the functions of libpq.
  [[nodiscard]] pg_conn* get() const noexcept { return connection_.get(); }

  /// The last result of what PQsendQuery and its like have sent. At the deadline, or when asked to
  /// stop, cancels the query and waits for its end, so that the cancel hits no other: the result
  /// is then of SQLSTATE 57014, or the query was faster. Throws std::runtime_error if no end was
  /// heard of: then the connection is not lent again. A COPY is returned when it begins.
  postgres_result finish(const create_context& limit);

  /// Judges the connection by the result of a function of libpq; `finish` does so itself. One that
  /// was refused as of a read-only server, or of one that shuts down, is not lent again.
  void check(const pg_result* result) noexcept;

 private:
  friend class postgres_factory;
  struct closer {
    void operator()(pg_conn* connection) const noexcept;
  };
  std::unique_ptr<pg_conn, closer> connection_;
  time_limit patience_ = std::chrono::seconds(5);
  void (*receiver_)(void*, const pg_result*) = nullptr;  // of libpq, as the next
  void (*processor_)(void*, const char*) = nullptr;
  std::size_t event_bytes_ = 0;
  std::string role_;
  bool unfit_ = false;
};

/// A factory of `postgres_connection`, also through PgBouncer. Thread-safe; its functions block.
class postgres_factory {
 public:
  explicit postgres_factory(postgres_target target) : target_(std::move(target)) {}

  /// Connects and signs in: to the hosts in turn, of a name with several addresses from another one
  /// on each time. Throws permanent_failure if the server refuses user, password or database, there
  /// being no other host, or if the conninfo cannot be read or names no port. Throws
  /// std::runtime_error otherwise, also at the deadline and when asked to stop, name lookup
  /// included, unless a service file names the host.
  [[nodiscard]] postgres_connection create(const create_context& context) const;

  /// Whether the connection is in order and nothing can be read from it; with `query_to_validate`
  /// also whether an empty query is answered by the deadline.
  bool validate(postgres_connection& idle, const create_context& context) const noexcept;

  /// Refuses what is broken, unfit, in the middle of a query, of a COPY or of a pipeline; what is
  /// of a server that has become read-only or writable since, as far as PostgreSQL 14 reported it;
  /// and a connection with a new PQregisterEventProc. Restores handlers of notices, except those
  /// that `on_connect` has set: who replaces one has the connection refused.
  bool reset(postgres_connection& used) const noexcept;

  /// Cancels a running query, within a second, before the connection is closed.
  static void destroy(postgres_connection& ended, destroy_reason reason) noexcept;

 private:
  [[nodiscard]] postgres_connection settle(postgres_connection made,
                                           const create_context& context) const;

  postgres_target target_;
};

}  // namespace lido
