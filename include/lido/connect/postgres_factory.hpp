/// @file
/// Public. Makes PostgreSQL connections of libpq for a `resource_pool`.
#pragma once

#include <chrono>
#include <cstdint>
#include <memory>
#include <string>
#include <utility>

#include "lido/resource/factory.hpp"
#include "lido/resource/time_limit.hpp"

struct pg_conn;  // NOLINT(readability-identifier-naming): PGconn of libpq

namespace lido {

/// What is done to a connection that comes back.
enum class postgres_reset : std::uint8_t {
  rollback,    ///< an open transaction is rolled back; nothing is sent if there is none
  discard_all  ///< and DISCARD ALL each time: no setting, lock, listener or temporary table stays
};

struct postgres_target {
  /// As of PQconnectdb: "host=db dbname=shop user=web". Of several hosts the next is tried when one
  /// refuses; one that is silent takes all the time there is, as libpq has no regard to
  /// connect_timeout here.
  std::string conninfo;
  postgres_reset on_reset = postgres_reset::rollback;
  /// A reset that takes longer refuses the connection. More than zero.
  time_limit reset_timeout = std::chrono::seconds(5);
};

/// A connection to PostgreSQL. Not thread-safe, but any one thread may have it.
class postgres_connection {
 public:
  explicit postgres_connection(pg_conn* connection) noexcept : connection_(connection) {}

  /// For the functions of libpq.
  [[nodiscard]] pg_conn* get() const noexcept { return connection_.get(); }

 private:
  struct closer {
    void operator()(pg_conn* connection) const noexcept;
  };

  std::unique_ptr<pg_conn, closer> connection_;
};

/// A factory of `postgres_connection`, also through PgBouncer. Thread-safe; its functions block,
/// and keep to their deadlines but for looking up the name of the host.
class postgres_factory {
 public:
  explicit postgres_factory(postgres_target target) : target_(std::move(target)) {}

  /// Connects and signs in. Throws permanent_failure if the server refuses user, password or
  /// database (SQLSTATE of class 28 or 3D, or the words of PgBouncer) or wants a password that
  /// there is none of, and there are no other hosts; or if the conninfo cannot be read, or names a
  /// port that there is not. std::runtime_error otherwise, also at the deadline and when asked to
  /// stop, and where libpq says by words alone that it will never work: an unknown service or
  /// sslmode, unequal numbers of hosts and addresses.
  [[nodiscard]] postgres_connection create(const create_context& context) const;

  /// Whether the connection is in order, nothing can be read from it, and the server answers an
  /// empty query by the deadline.
  static bool validate(postgres_connection& idle, const create_context& context) noexcept;

  /// Refuses what is broken, in the middle of a query, of a COPY or of a pipeline. Drops
  /// notifications that nobody has taken. A receiver or processor of notices stays: who sets one
  /// sets the old one back. So does a procedure of PQregisterEventProc, and that for good: who
  /// registers one discards the lease. So does who leaves the pipeline mode with queries that
  /// PQpipelineSync has not ended: the server has a transaction open that libpq knows nothing of,
  /// and that no rollback ends.
  bool reset(postgres_connection& used) const noexcept;

 private:
  postgres_target target_;
};

}  // namespace lido
