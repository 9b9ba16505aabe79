/// @file
/// Groups of Redis servers with the same password: a cluster, and a master with replicas and
/// sentinels.
#pragma once

#include <deque>
#include <string>
#include <vector>

#include "known_servers.hpp"

namespace servers {

/// Three masters with a third of the slots each, and a replica of each. A master that is silent for
/// a second counts as failed.
class redis_cluster {
 public:
  /// Starts the cluster; when this returns, all slots are served, and each master has its replica.
  /// Throws std::runtime_error.
  redis_cluster();

  /// Returns the nodes; the masters come first, as long as none has failed.
  [[nodiscard]] std::deque<redis>& nodes() { return nodes_; }
  [[nodiscard]] int port() const { return nodes_.front().port(); }

 private:
  std::deque<redis> nodes_;
};

/// A master with two replicas, and three sentinels that call it `name`. A master that is silent for
/// a second is replaced.
class redis_sentinels {
 public:
  static constexpr const char* name = "orders";

  /// Starts the group; when this returns, each sentinel knows the others and the replicas. Throws
  /// std::runtime_error.
  redis_sentinels();

  /// Returns the servers; the master comes first, as long as it has not failed.
  [[nodiscard]] std::deque<redis>& nodes() { return nodes_; }
  [[nodiscard]] std::vector<int> ports() const;

 private:
  std::deque<redis> nodes_;
  std::deque<redis> sentinels_;
};

/// Returns what redis-cli prints for a command to the server at that port. Throws
/// std::runtime_error.
[[nodiscard]] std::string ask_redis(int port, std::vector<std::string> command);

}  // namespace servers
