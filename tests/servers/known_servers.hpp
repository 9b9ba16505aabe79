/// @file
/// Redis, PostgreSQL and PgBouncer, each with a password, Prometheus, and a proxy that encrypts.
/// Each runs in a temporary folder, on a free port, or on another one if a process takes that
/// first.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "certificates.hpp"
#include "server_process.hpp"

namespace servers {

inline constexpr const char* password = "open sesame";

class redis {
 public:
  /// The role it is started in.
  enum class role { server, node, sentinel };

  /// Returns the program, or nothing if it is not installed.
  [[nodiscard]] static std::optional<std::string> program() { return find_program("redis-server"); }

  /// Starts the server, which accepts connections when this returns. `settings` are lines of its
  /// configuration. Throws std::runtime_error.
  explicit redis(role as = role::server, std::string settings = {});
  /// Starts a server that accepts only encrypted connections. `tls` outlives it.
  explicit redis(const certificates& tls, std::string settings = {});

  [[nodiscard]] int port() const { return port_; }
  /// Returns the port at which the nodes of a cluster talk to this one.
  [[nodiscard]] int bus_port() const { return bus_port_; }
  [[nodiscard]] server_process& process() { return *process_; }
  /// Restarts at the same port, after its process was ended.
  void restart();

 private:
  [[nodiscard]] std::vector<std::string> command() const;
  [[nodiscard]] std::string settings_of_role() const;

  temporary_folder folder_{"redis"};
  role role_;
  std::string settings_;
  bool is_encrypted_ = false;
  int port_ = 0;
  int bus_port_ = 0;  // of a cluster's node
  std::optional<server_process> process_;
};

/// A PostgreSQL server. The user and the database are called lido.
class postgres {
 public:
  [[nodiscard]] static std::optional<std::string> program() { return find_program("initdb"); }

  /// Makes a new database cluster, which takes seconds. Otherwise as for redis. With `tls`, which
  /// outlives it, the server refuses connections over TCP that are not encrypted.
  explicit postgres(const certificates* tls = nullptr);

  [[nodiscard]] int port() const { return port_; }
  [[nodiscard]] std::string conninfo(const std::string& secret = password) const;
  [[nodiscard]] server_process& process() { return *process_; }
  void restart();

 private:
  [[nodiscard]] std::vector<std::string> command() const;

  temporary_folder folder_{"postgres"};
  std::vector<std::string> settings_;
  int port_ = 0;
  std::optional<server_process> process_;
};

/// A PgBouncer in transaction mode, in front of a PostgreSQL.
class pgbouncer {
 public:
  [[nodiscard]] static std::optional<std::string> program() { return find_program("pgbouncer"); }

  /// Starts it with at most that many connections to the server. `auth_type`: how clients log in.
  /// `settings`: more lines of its configuration.
  pgbouncer(const postgres& server, int connections, const std::string& auth_type = "plain",
            const std::string& settings = {});

  [[nodiscard]] std::string conninfo() const;
  [[nodiscard]] server_process& process() { return *process_; }
  /// Restarts at the same port, after its process was ended.
  void restart();

 private:
  [[nodiscard]] std::vector<std::string> command() const;

  temporary_folder folder_{"pgbouncer"};
  std::string settings_;
  int port_ = 0;
  std::optional<server_process> process_;
};

/// A stunnel that listens at a Unix socket, and forwards each connection to a port of localhost,
/// encrypted. It refuses servers whose certificate the authority has not signed for that name.
class tls_proxy {
 public:
  [[nodiscard]] static std::optional<std::string> program() { return find_program("stunnel4"); }

  tls_proxy(int port, const std::string& authority, const std::string& name = "localhost");

  [[nodiscard]] std::string path() const { return (folder_.path() / "redis.sock").string(); }

 private:
  temporary_folder folder_{"tls_proxy"};
  std::optional<server_process> process_;
};

/// A Prometheus that scrapes a port of 127.0.0.1 five times a second.
class prometheus {
 public:
  prometheus();

  [[nodiscard]] int port() const { return port_; }
  /// Returns the port that is scraped, at which nothing listens yet.
  [[nodiscard]] int scraped_port() const { return scraped_port_; }

 private:
  temporary_folder folder_{"prometheus"};
  int port_ = 0;
  int scraped_port_ = 0;
  std::optional<server_process> process_;
};

}  // namespace servers
