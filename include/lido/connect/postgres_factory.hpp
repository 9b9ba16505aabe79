/// @file
/// Public. Creates PostgreSQL connections with libpq for a `resource_pool`.
#pragma once

#include <chrono>
#include <cstdint>
#include <functional>
#include <memory>
#include <string>
#include <utility>

#include "lido/connect/dial.hpp"
#include "lido/resource/factory.hpp"
#include "lido/resource/options.hpp"

struct pg_conn;    // NOLINT(readability-identifier-naming): PGconn of libpq
struct pg_result;  // NOLINT(readability-identifier-naming): PGresult of libpq

namespace lido::inline v0 {

class postgres_connection;

/// What a reset clears. Both modes roll back an open transaction.
enum class postgres_pooling : std::uint8_t {
  session,  ///< all that DISCARD ALL clears: role, settings, prepared statements, LISTEN and so on
  transaction  ///< nothing, for PgBouncer in transaction mode; use no session state, as it leaks
};

/// Where and how a `postgres_factory` connects.
struct postgres_target {
  std::string conninfo;  ///< argument of PQconnectdb: "host=db dbname=shop user=web"
  /// What a reset clears.
  postgres_pooling pooling = postgres_pooling::session;
  time_limit reset_timeout = std::chrono::seconds(5);  ///< timeout of a reset, and of a cancel
  tcp_keep_alive keep_alive = {};  ///< keepalives_idle and the like in the conninfo take precedence
  /// Makes `validate` also send a query. The connection is then lost if a busy proxy answers late.
  bool query_to_validate = false;
  /// Called after each connect and after each reset. If it throws after a connect, the create
  /// fails.
  std::function<void(postgres_connection&, const create_context&)> on_connect = {};
};

struct postgres_result_deleter {
  void operator()(pg_result* result) const noexcept;
};
/// Owns a result of libpq, and frees it with PQclear.
using postgres_result = std::unique_ptr<pg_result, postgres_result_deleter>;

/// A connection to PostgreSQL. Not thread-safe, but may be used by any one thread at a time.
class postgres_connection {
 public:
  /// Takes over `connection`.
  explicit postgres_connection(pg_conn* connection) noexcept;

  /// Returns the connection for functions of libpq.
  [[nodiscard]] pg_conn* get() const noexcept { return connection_.get(); }

  /// Waits for a query that PQsendQuery or the like has sent. Returns its last result, or the
  /// result that starts a COPY. At the deadline, or if a stop is requested, cancels the query. Then
  /// waits until the query has ended, so that the cancel cannot hit another query. If the server
  /// does not answer, that wait takes up to `reset_timeout` of the target, 5 s by default. The
  /// result has SQLSTATE 57014, unless the query was faster than the cancel. Throws
  /// std::runtime_error if the server does not report the end of the query. The connection is then
  /// not lent again.
  postgres_result finish(const create_context& limit);

  /// Checks a result that `finish` did not return. If the result shows that the server is read-only
  /// (25006) or is shutting down, the connection is destroyed after the lease. `finish` checks its
  /// own results.
  void check(const pg_result* result) noexcept;

 private:
  friend class postgres_factory;
  struct closer {
    void operator()(pg_conn* connection) const noexcept;
  };
  /// A duplicate of the socket's descriptor. libpq closes its own descriptor when the server hangs
  /// up, and another file may then get the same number.
  class twin {
   public:
    explicit twin(detail::socket_handle socket = detail::no_socket) noexcept : socket_(socket) {}
    twin(const twin&) = delete;
    twin& operator=(const twin&) = delete;
    twin(twin&& other) noexcept : socket_(std::exchange(other.socket_, detail::no_socket)) {}
    twin& operator=(twin&& other) noexcept {
      std::swap(socket_, other.socket_);
      return *this;
    }
    ~twin();
    [[nodiscard]] detail::socket_handle get() const noexcept { return socket_; }

   private:
    detail::socket_handle socket_;
  };
  [[nodiscard]] std::string marks() const;

  std::unique_ptr<pg_conn, closer> connection_;
  twin twin_;  // for `interrupt`
  time_limit patience_ = std::chrono::seconds(5);
  // The default handlers of libpq for notices, which a reset restores.
  void (*receiver_)(void*, const pg_result*) = nullptr;
  void (*processor_)(void*, const char*) = nullptr;
  std::string marks_;  // result of `marks()` before any user has touched the session
  bool unfit_ = false;
};

/// A factory of `postgres_connection`, which connects directly or through PgBouncer. Thread-safe;
/// its functions block.
class postgres_factory {
 public:
  /// Makes a factory that connects to `target`.
  explicit postgres_factory(postgres_target target) : target_(std::move(target)) {}

  /// Tries the hosts in turn. If a name has several addresses, each create begins with a different
  /// one. Hosts that failed in the last five minutes are tried last. Each address gets its share of
  /// the time, but no more than the `connect_timeout` of the conninfo. If a service file names the
  /// hosts, the first host may use up all of the time.
  ///
  /// Throws permanent_failure if the only host rejects the user, password or database, or if the
  /// conninfo is wrong. Throws std::runtime_error on any other failure, at the deadline, or if a
  /// stop is requested. Look-ups of names in service files ignore the deadline and the stop.
  [[nodiscard]] postgres_connection create(const create_context& context) const;

  /// Returns true if the connection is in order and nothing can be read from it. With
  /// `query_to_validate`, also sends a query, and throws std::runtime_error if that is not
  /// answered.
  bool validate(postgres_connection& idle, const create_context& context) const;

  /// Resets the connection for its next user. Returns false if the connection is broken, unfit, or
  /// in the middle of a query, a COPY or a pipeline. Also returns false if the user has called
  /// PQregisterEventProc, or if the server has reported that it became read-only or writable
  /// (PostgreSQL 14). Restores the handlers of notices. If the server rejects a statement, throws
  /// an exception with the server's message. Also throws if the server does not answer in time.
  bool reset(postgres_connection& used) const;

  /// Shuts the socket down, so that a query of its user ends with an error. The server continues
  /// with the query until it writes to the client. Does nothing if the user has called PQreset.
  static void interrupt(postgres_connection& used) noexcept;

  /// Cancels a running query before the connection is closed. The cancel takes at most a second, or
  /// a tenth of a second for a pipeline. If the cancel has not reached the server by then, the
  /// server continues with the pipeline. Commands of a pipeline that the user has not sent yet are
  /// never sent.
  static void destroy(postgres_connection& ended, destroy_reason reason) noexcept;

 private:
  void begin_session(postgres_connection& made, const create_context& context) const;

  postgres_target target_;
  // Shared by the copies of a factory.
  std::shared_ptr<detail::address_memory> memory_ = std::make_shared<detail::address_memory>();
};

}  // namespace lido::inline v0
