#include "redis_groups.hpp"

#include <algorithm>
#include <chrono>
#include <cstddef>
#include <fstream>
#include <iterator>
#include <sstream>
#include <stdexcept>
#include <thread>
#include <utility>

namespace servers {

namespace {

using namespace std::chrono_literals;

constexpr std::size_t masters = 3;
constexpr std::size_t slots = 16384;

bool says(int port, const std::vector<std::string>& command, const std::string& text) {
  return ask_redis(port, command).find(text) != std::string::npos;
}

template <class Condition>
void wait_until(const std::string& what, const Condition& is_so) {
  const auto end = std::chrono::steady_clock::now() + 60s;
  while (!is_so()) {
    if (std::chrono::steady_clock::now() > end) {
      throw std::runtime_error("the servers do not get together: " + what);
    }
    std::this_thread::sleep_for(20ms);
  }
}

/// Returns how many lines of a text contain both words.
std::size_t lines_with(const std::string& text, const std::string& one, const std::string& two) {
  std::istringstream lines(text);
  std::size_t count = 0;
  for (std::string line; std::getline(lines, line);) {
    count += line.find(one) != std::string::npos && line.find(two) != std::string::npos ? 1 : 0;
  }
  return count;
}

}  // namespace

std::string ask_redis(int port, std::vector<std::string> command) {
  const auto program = find_program("redis-cli");
  if (!program) {
    throw std::runtime_error("redis-cli is not installed");
  }
  const temporary_folder folder("answer");
  std::vector<std::string> words{"env",
                                 std::string("REDISCLI_AUTH=") + password,
                                 *program,
                                 "-h",
                                 "127.0.0.1",
                                 "-p",
                                 std::to_string(port)};
  std::move(command.begin(), command.end(), std::back_inserter(words));
  run_program(words, folder.path() / "log");
  std::ifstream file(folder.path() / "log");
  return {std::istreambuf_iterator<char>(file), {}};
}

redis_cluster::redis_cluster() {
  for (std::size_t i = 0; i < 2 * masters; ++i) {
    nodes_.emplace_back(redis::role::node);
  }
  for (std::size_t i = 0; i < masters; ++i) {
    (void)ask_redis(nodes_[i].port(),
                    {"CLUSTER", "ADDSLOTSRANGE", std::to_string(slots * i / masters),
                     std::to_string(slots * (i + 1) / masters - 1)});
    (void)ask_redis(nodes_[i].port(), {"CLUSTER", "SET-CONFIG-EPOCH", std::to_string(i + 1)});
  }
  for (const redis& node : nodes_) {
    (void)ask_redis(nodes_[0].port(), {"CLUSTER", "MEET", "127.0.0.1", std::to_string(node.port()),
                                       std::to_string(node.bus_port())});
  }
  for (std::size_t i = 0; i < masters; ++i) {
    std::string id = ask_redis(nodes_[i].port(), {"CLUSTER", "MYID"});
    id.resize(std::min(id.find('\n'), id.size()));
    const int replica = nodes_[i + masters].port();
    wait_until("a replica does not know its master", [&] {
      return says(replica, {"CLUSTER", "NODES"}, id);
    });
    (void)ask_redis(replica, {"CLUSTER", "REPLICATE", id});
  }
  for (const redis& node : nodes_) {
    wait_until("the cluster is incomplete", [&] {
      const std::string all = ask_redis(node.port(), {"CLUSTER", "NODES"});
      return lines_with(all, "slave", "connected") == masters && lines_with(all, "fail", "") == 0 &&
             says(node.port(), {"CLUSTER", "INFO"}, "cluster_state:ok");
    });
  }
  for (std::size_t i = masters; i < 2 * masters; ++i) {
    wait_until("a replica has no data", [&] {
      return says(nodes_[i].port(), {"INFO", "replication"}, "master_link_status:up");
    });
  }
}

redis_sentinels::redis_sentinels() {
  nodes_.emplace_back();
  const std::string master = "127.0.0.1 " + std::to_string(nodes_[0].port());
  for (int i = 0; i < 2; ++i) {
    nodes_.emplace_back(redis::role::server, "replicaof " + master + "\n");
  }
  std::ostringstream settings;
  settings << "sentinel monitor " << name << ' ' << master << " 2\nsentinel auth-pass " << name
           << " \"" << password << "\"\nsentinel down-after-milliseconds " << name
           << " 1000\nsentinel failover-timeout " << name << " 5000\n";
  for (int i = 0; i < 3; ++i) {
    sentinels_.emplace_back(redis::role::sentinel, settings.str());
  }
  for (const redis& sentinel : sentinels_) {
    wait_until("a sentinel does not know all", [&] {
      return says(sentinel.port(), {"INFO", "sentinel"}, "status=ok") &&
             says(sentinel.port(), {"INFO", "sentinel"}, "slaves=2,sentinels=3");
    });
  }
}

std::vector<int> redis_sentinels::ports() const {
  std::vector<int> all;
  std::transform(sentinels_.begin(), sentinels_.end(), std::back_inserter(all),
                 [](const redis& one) { return one.port(); });
  return all;
}

}  // namespace servers
