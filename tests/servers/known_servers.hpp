/// @file
/// Redis, PostgreSQL and PgBouncer, each with a password, and Prometheus, in a temporary folder, on
/// a free port: on another one if somebody was faster.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "server_process.hpp"

namespace servers {

inline constexpr const char* password = "open sesame";

class redis {
 public:
  /// What it is started as.
  enum class role { server, node, sentinel };

  /// The program, or nothing where it is not installed.
  [[nodiscard]] static std::optional<std::string> program() { return find_program("redis-server"); }

  /// Accepts connections when this returns. `settings` are lines of its configuration. Throws
  /// std::runtime_error.
  explicit redis(role as = role::server, std::string settings = {});

  [[nodiscard]] int port() const { return port_; }
  /// At which the nodes of a cluster talk to this one.
  [[nodiscard]] int bus_port() const { return bus_port_; }
  [[nodiscard]] server_process& process() { return *process_; }
  /// At the same port, after its process was ended.
  void restart();

 private:
  [[nodiscard]] std::vector<std::string> command() const;
  [[nodiscard]] std::string settings_of_role() const;

  temporary_folder folder_{"redis"};
  role role_;
  std::string settings_;
  int port_ = 0;
  int bus_port_ = 0;  // of the node of a cluster
  std::optional<server_process> process_;
};

/// The user and the database are called lido.
class postgres {
 public:
  [[nodiscard]] static std::optional<std::string> program() { return find_program("initdb"); }

  /// As above; makes a new database cluster, which takes seconds.
  postgres();

  [[nodiscard]] int port() const { return port_; }
  [[nodiscard]] std::string conninfo(const std::string& secret = password) const;
  [[nodiscard]] server_process& process() { return *process_; }
  void restart();

 private:
  [[nodiscard]] std::vector<std::string> command() const;

  temporary_folder folder_{"postgres"};
  int port_ = 0;
  std::optional<server_process> process_;
};

/// In transaction mode, in front of a PostgreSQL.
class pgbouncer {
 public:
  [[nodiscard]] static std::optional<std::string> program() { return find_program("pgbouncer"); }

  /// With at most that many connections to the server. `auth_type` says how clients sign in.
  /// `settings` are more lines of its configuration.
  pgbouncer(const postgres& server, int connections, const std::string& auth_type = "plain",
            const std::string& settings = {});

  [[nodiscard]] std::string conninfo() const;
  [[nodiscard]] server_process& process() { return *process_; }
  /// At the same port, after its process was ended.
  void restart();

 private:
  [[nodiscard]] std::vector<std::string> command() const;

  temporary_folder folder_{"pgbouncer"};
  std::string settings_;
  int port_ = 0;
  std::optional<server_process> process_;
};

/// Asks a port of 127.0.0.1 for metrics, five times a second.
class prometheus {
 public:
  prometheus();

  [[nodiscard]] int port() const { return port_; }
  /// Where nothing listens yet.
  [[nodiscard]] int scraped_port() const { return scraped_port_; }

 private:
  temporary_folder folder_{"prometheus"};
  int port_ = 0;
  int scraped_port_ = 0;
  std::optional<server_process> process_;
};

}  // namespace servers
