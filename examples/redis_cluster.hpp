// A client of Redis Cluster: connections to its nodes, and a map of which node has which slot.
#pragma once

#include <algorithm>
#include <array>
#include <atomic>
#include <chrono>
#include <condition_variable>
#include <exception>
#include <lido/hiredis.hpp>
#include <lido/keyed_resource_pool.hpp>
#include <mutex>
#include <optional>
#include <set>
#include <sstream>
#include <stdexcept>
#include <stop_token>
#include <string>
#include <string_view>
#include <thread>
#include <utility>
#include <vector>

inline constexpr unsigned slot_count = 16384;

// [snippet slots]
/// Returns the slot of a key: CRC16 of the key, or of its {tag}.
inline unsigned slot_of(std::string_view key) {
  const std::size_t open = key.find('{');
  const std::size_t end =
      open == std::string_view::npos ? std::string_view::npos : key.find('}', open);
  if (end != std::string_view::npos && end > open + 1) {
    key = key.substr(open + 1, end - open - 1);
  }
  unsigned crc = 0;
  for (const char letter : key) {
    crc ^= static_cast<unsigned>(static_cast<unsigned char>(letter)) << 8U;
    for (int bit = 0; bit < 8; ++bit) {
      crc = (crc & 0x8000U) != 0 ? crc << 1U ^ 0x1021U : crc << 1U;
    }
  }
  return crc % slot_count;
}
// [/snippet]

/// Returns "host:port" of a node that another one named. If the name has no host, it is that of the
/// other node.
inline std::string full_name(const std::string& named, const std::string& named_by) {
  return named.starts_with(':') ? named_by.substr(0, named_by.rfind(':')) + named : named;
}

/// Maps each slot to its node, "host:port".
struct cluster_map {
  std::array<std::string, slot_count> owners;
  std::vector<std::string> members;  // also replicas

  /// Reads the answer of a node to CLUSTER NODES. Returns false if the answer does not name all
  /// slots, as that of a node that has been reset, or cannot be read.
  bool read(const std::string& text, const std::string& answerer) try {
    std::istringstream lines(text);
    std::size_t covered = 0;
    for (std::string line; std::getline(lines, line);) {
      covered += read_line(std::istringstream(line), answerer);
    }
    return covered == slot_count;
  } catch (const std::logic_error&) {  // thrown by std::stoul
    return false;
  }
  /// Reads an identifier, host:port@bus, flags, the master, four numbers, and the slots. Returns
  /// how many slots there are.
  std::size_t read_line(std::istringstream words, const std::string& answerer) {
    std::string node;
    std::string flags;
    std::string skipped;
    words >> skipped >> node >> flags >> skipped >> skipped >> skipped >> skipped >> skipped;
    node = full_name(node.substr(0, node.find('@')), answerer);
    if (flags.find("fail") == std::string::npos && flags.find("noaddr") == std::string::npos) {
      members.push_back(node);
    }
    std::size_t covered = 0;
    // After these come, in brackets, slots that move.
    for (std::string range; words >> range && range.front() != '[';) {
      const std::size_t first = std::stoul(range);
      const std::size_t last = std::stoul(range.substr(range.find('-') + 1));
      for (std::size_t slot = first; slot <= last && slot < slot_count; ++slot, ++covered) {
        owners[slot] = node;
      }
    }
    return covered;
  }
  [[nodiscard]] std::set<std::string> masters() const { return {owners.begin(), owners.end()}; }
};

// [snippet nodes]
/// Connects to nodes.
class node_connector {
 public:
  explicit node_connector(std::string password) : password_(std::move(password)) {}

  [[nodiscard]] lido::redis_connection create(const std::string& node,
                                              const lido::create_context& context) const {
    const std::size_t colon = node.rfind(':');
    return lido::redis_factory({.host = node.substr(0, colon),
                                .port = std::stoi(node.substr(colon + 1)),
                                .password = password_,
                                .command_timeout = std::chrono::seconds(1)})
        .create(context);
  }
  bool validate(lido::redis_connection& idle, const lido::create_context& context) const {
    return any_node_.validate(idle, context);
  }
  bool reset(lido::redis_connection& used) const { return any_node_.reset(used); }

 private:
  std::string password_;
  lido::redis_factory any_node_{{.password = password_}};
};
// [/snippet]

class cluster_client {
 public:
  /// Learns all nodes from one. Throws lido::acquire_error or std::runtime_error if that one does
  /// not answer.
  cluster_client(const std::string& node, const std::string& password)
      : nodes_(node_connector(password),
               {.max_total = 64,
                .each_key = {.max_size = 16,
                             .name = "cluster",
                             .create_timeout = std::chrono::milliseconds(500),
                             .on_create_error = lido::create_errors::fail_fast}}) {
    if (!map_.read(nodes_.at(node).acquire()->ask("CLUSTER NODES").text, node)) {
      throw std::runtime_error(node + " does not know all slots");
    }
    refresher_ = std::jthread([this](const std::stop_token& end) { keep_fresh(end); });
  }

  // [snippet ask]
  /// Asks the node of the key. Thread-safe. Throws what `redis_connection::ask` throws: then the
  /// command may have been done, or not. Throws std::runtime_error if no node takes it in time.
  lido::redis_answer ask(std::string_view key, const std::vector<std::string_view>& command,
                         std::chrono::milliseconds limit = std::chrono::seconds(10)) {
    const auto end = std::chrono::steady_clock::now() + limit;
    const unsigned slot = slot_of(key);
    route to{owner_of(slot)};
    for (int tries = 1;; ++tries) {
      const auto answer = ask_at(to, command);
      if (answer && !is_undone(*answer)) {
        return *answer;
      }
      if (std::chrono::steady_clock::now() >= end) {
        throw std::runtime_error(answer ? answer->text : "no connection to " + to.node);
      }
      const bool is_sent_on = answer && tries % 5 != 0 && follow(*answer, slot, to);
      if (!is_sent_on) {  // the node is gone, or two nodes disagree for a while
        refresh_soon();
        std::this_thread::sleep_for(std::chrono::milliseconds(20));
        to = {owner_of(slot)};
      }
    }
  }
  // [/snippet]

  [[nodiscard]] std::set<std::string> masters() const {
    const std::lock_guard lock(mutex_);
    return map_.masters();
  }
  [[nodiscard]] auto& nodes() { return nodes_; }

  /// Returns how many answers sent a command elsewhere.
  [[nodiscard]] unsigned moved() const { return moved_; }
  [[nodiscard]] unsigned asked() const { return asked_; }

 private:
  struct route {
    std::string node;
    bool asking = false;
  };

  // [snippet follow]
  /// Returns the answer of a node, or nothing if there is no connection to it.
  std::optional<lido::redis_answer> ask_at(const route& to,
                                           const std::vector<std::string_view>& command) {
    auto lease = nodes_.at(to.node).try_acquire_for(std::chrono::milliseconds(500));
    if (!lease) {
      return std::nullopt;
    }
    try {
      if (to.asking) {
        lease->ask("ASKING");
      }
      return lease->ask(command);
    } catch (const std::runtime_error&) {
      refresh_soon();
      throw;
    }
  }
  /// Returns whether the node did nothing, so that it or another one may be asked again.
  static bool is_undone(const lido::redis_answer& answer) {
    constexpr std::string_view all = " ASK MOVED CLUSTERDOWN TRYAGAIN LOADING ";
    const std::string word = ' ' + answer.text.substr(0, answer.text.find(' ')) + ' ';
    return answer.is_error && all.find(word) != std::string_view::npos;
  }
  /// Changes `to` to the node that the answer names. Returns false if it names none.
  bool follow(const lido::redis_answer& answer, unsigned slot, route& to) {
    std::istringstream words(answer.text);
    std::string word;
    std::string number;
    std::string node;
    words >> word >> number >> node;
    node = full_name(node, to.node);
    if (node.empty()) {
      return false;
    }
    if (word == "ASK") {
      ++asked_;
    } else if (word == "MOVED") {
      ++moved_;
      correct(slot, node);
    } else {
      return false;
    }
    to = {node, word == "ASK"};
    return true;
  }
  // [/snippet]

  [[nodiscard]] std::string owner_of(unsigned slot) const {
    const std::lock_guard lock(mutex_);
    return map_.owners[slot];
  }
  void correct(unsigned slot, const std::string& node) {
    const std::lock_guard lock(mutex_);
    map_.owners[slot] = node;
    is_stale_ = true;
    stale_.notify_one();
  }
  void refresh_soon() {
    const std::lock_guard lock(mutex_);
    is_stale_ = true;
    stale_.notify_one();
  }

  // [snippet refresh]
  /// Reads the map again twice a second, and soon after a sign of change, but at most every 50 ms.
  void keep_fresh(const std::stop_token& end) {
    while (!end.stop_requested()) {
      std::this_thread::sleep_for(std::chrono::milliseconds(50));
      std::unique_lock lock(mutex_);
      (void)stale_.wait_for(lock, end, std::chrono::milliseconds(450),
                            [this] { return is_stale_; });
      is_stale_ = false;
      const std::vector<std::string> members = map_.members;
      lock.unlock();
      (void)std::any_of(members.begin(), members.end(),
                        [this](const std::string& node) { return learn_from(node); });
    }
  }
  /// Returns whether the node knew all slots.
  bool learn_from(const std::string& node) try {
    auto lease = nodes_.at(node).try_acquire_for(std::chrono::milliseconds(200));
    cluster_map fresh;
    if (!lease || !fresh.read(lease->ask("CLUSTER NODES").text, node)) {
      return false;
    }
    std::unique_lock lock(mutex_);
    std::swap(map_, fresh);
    const std::set<std::string> now = map_.masters();
    lock.unlock();
    for (const std::string& old : fresh.masters()) {
      if (!now.contains(old)) {
        nodes_.forget(old);
      }
    }
    return true;
  } catch (const std::exception&) {  // one that left this thread would end the program
    return false;
  }
  // [/snippet]

  lido::keyed_resource_pool<std::string, lido::redis_connection> nodes_;
  std::atomic<unsigned> moved_ = 0;
  std::atomic<unsigned> asked_ = 0;
  mutable std::mutex mutex_;
  std::condition_variable_any stale_;
  cluster_map map_;
  bool is_stale_ = false;
  std::jthread refresher_;
};
