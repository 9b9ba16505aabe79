/// @file
/// Public. Makes PostgreSQL connections of libpq for a `resource_pool`.
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
  session,     ///< all that DISCARD ALL does: role, settings, prepared statements, LISTEN and so on
  transaction  ///< nothing, for a PgBouncer in transaction mode: all of that leaks, so do not use
               ///< it
};

struct postgres_target {
  std::string conninfo;  ///< argument of PQconnectdb: "host=db dbname=shop user=web"
  postgres_pooling pooling = postgres_pooling::session;
  time_limit reset_timeout = std::chrono::seconds(5);  ///< timeout of a reset, and of a cancel
  tcp_keep_alive keep_alive = {};  ///< keepalives_idle and the like in the conninfo take precedence
  bool query_to_validate = false;  ///< if set, a late answer of a busy proxy ends a connection
  /// Called after connecting, where it may fail the create, and after each reset.
  std::function<void(postgres_connection&, const create_context&)> on_connect = {};
};

struct postgres_result_deleter {
  void operator()(pg_result* result) const noexcept;
};
using postgres_result = std::unique_ptr<pg_result, postgres_result_deleter>;

/// A connection to PostgreSQL. Not thread-safe, but may be used by any one thread at a time.
class postgres_connection {
 public:
  explicit postgres_connection(pg_conn* connection) noexcept;

  /// Returns the connection for functions of libpq.
  [[nodiscard]] pg_conn* get() const noexcept { return connection_.get(); }

  /// Returns the last result of what PQsendQuery and the like sent, or the start of a COPY. At the
  /// deadline or when asked to stop, cancels the query and waits for its end, so that the cancel
  /// hits no other query. The result then has SQLSTATE 57014, unless the query was faster. Throws
  /// std::runtime_error if the end is not reported; then the connection is not lent again.
  postgres_result finish(const create_context& limit);

  /// Judges the connection by another result: that of a read-only server (25006), or of one that
  /// shuts down, ends it after the lease. `finish` judges its own results.
  void check(const pg_result* result) noexcept;

 private:
  friend class postgres_factory;
  struct closer {
    void operator()(pg_conn* connection) const noexcept;
  };
  /// A duplicate of the socket's descriptor: libpq closes its own when the server hangs up, and
  /// another file may then get that number.
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
  void (*receiver_)(void*, const pg_result*) = nullptr;  // of libpq, as the next
  void (*processor_)(void*, const char*) = nullptr;
  std::string marks_;  // of a session that no user has touched
  bool unfit_ = false;
};

/// A factory of `postgres_connection`, also through PgBouncer. Thread-safe; its functions block.
class postgres_factory {
 public:
  explicit postgres_factory(postgres_target target) : target_(std::move(target)) {}

  /// Tries the hosts in turn. A name with several addresses starts at a different one each time.
  /// Hosts that failed within five minutes come last. Each address has its share of the time, but
  /// no more than `connect_timeout` of the conninfo.
  /// Where a service file names the hosts, the first may take all of it.
  ///
  /// Throws permanent_failure if the only host refuses user, password or database, or if the
  /// conninfo is wrong. Throws std::runtime_error otherwise, also at the deadline and when asked to
  /// stop. Look-ups of names in service files ignore both.
  [[nodiscard]] postgres_connection create(const create_context& context) const;

  /// Returns true if the connection is in order and nothing can be read from it. If the target asks
  /// for a query, throws std::runtime_error if that is not answered.
  bool validate(postgres_connection& idle, const create_context& context) const;

  /// Refuses what is broken, unfit, in the middle of a query, a COPY or a pipeline, or has a new
  /// PQregisterEventProc. Refuses a server that reported that it became read-only, or writable
  /// (PostgreSQL 14). Restores handlers of notices. Throws the server's message if it refuses one
  /// of the statements, and also if it does not answer in time.
  bool reset(postgres_connection& used) const;

  /// Shuts the socket down, so that a query of its user ends with an error. The server continues
  /// until it writes to the client. Does nothing after PQreset.
  static void interrupt(postgres_connection& used) noexcept;

  /// Cancels a running query, within a second, before the connection is closed. A pipeline has a
  /// tenth of a second: if the cancel has not reached the server by then, the server continues
  /// alone. What the user has not sent is not sent any more.
  static void destroy(postgres_connection& ended, destroy_reason reason) noexcept;

 private:
  void begin_session(postgres_connection& made, const create_context& context) const;

  postgres_target target_;
  // Shared by the copies of a factory.
  std::shared_ptr<detail::address_memory> memory_ = std::make_shared<detail::address_memory>();
};

}  // namespace lido::inline v0
