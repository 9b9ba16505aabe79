// The statistics of pools as lines for StatsD, with OpenTelemetry's names for connection pools and
// with tags as in DogStatsD. The header is part of an example, and not of Lido.
#pragma once

#include <array>
#include <chrono>
#include <cstdint>
#include <iomanip>
#include <lido/registry.hpp>
#include <lido/resource_pool.hpp>
#include <locale>
#include <map>
#include <sstream>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

// [snippet]
class statsd_lines {
 public:
  statsd_lines() { text_.imbue(std::locale::classic()); }  // 12345 and not 12.345

  /// Returns a text for each pool, to be sent as one datagram. Counters and times are those since
  /// the last call.
  std::vector<std::string> of(const lido::registry& pools) {
    std::vector<std::string> texts;
    pools.visit([&](const lido::pool_report& pool) { texts.push_back(text_of(pool)); });
    last_ = std::exchange(now_, {});  // forgets pools that have been destroyed
    return texts;
  }

 private:
  std::string text_of(const lido::pool_report& pool) {
    std::string name(pool.name);
    for (char& c : name) {
      c = std::string_view("|,:#@").find(c) == std::string_view::npos ? c : '_';
    }
    tags_ = "|#db.client.connection.pool.name:" + name + ",number:" + std::to_string(pool.number);
    text_.str({});
    add("count", pool.stats.idle, "g", ",db.client.connection.state:idle");
    add("count", pool.stats.in_use, "g", ",db.client.connection.state:used");
    add("max", pool.stats.capacity, "g");
    if (pool.kind != "block_resource" && pool.kind != "concurrent_slot_map") {  // these never wait
      add("pending_requests", pool.stats.waiting, "g");
    }
    if (pool.resources != nullptr) {
      add("timeouts", growth("timeouts", pool.resources->stats.timed_out), "c");
      add_times("create_time", pool.resources->times.creates);
      add_times("wait_time", pool.resources->times.waits);
      add_times("use_time", pool.resources->times.uses);
    }
    return text_.str();
  }

  void add(const std::string& name, std::uint64_t value, const std::string& type,
           const std::string& more_tags = {}) {
    text_ << "db.client.connection." << name << ':' << value << '|' << type << tags_ << more_tags
          << '\n';
  }

  /// Adds a line for each class of lengths that occurred: the upper limit in milliseconds, with a
  /// rate. If the rate is 0.1, StatsD counts the line ten times.
  void add_times(const std::string& name, const lido::duration_histogram& times) {
    constexpr std::array limits{1, 2, 5, 10, 20, 50, 100, 200, 500, 1000, 5000, 60'000, 3'600'000};
    std::uint64_t shorter = 0;
    for (const int limit : limits) {
      const auto up_to = times.count_up_to(std::chrono::milliseconds(limit));
      const auto count = growth(name + std::to_string(limit), up_to - shorter);
      shorter = up_to;
      if (count != 0) {
        std::ostringstream rate;
        rate.imbue(std::locale::classic());
        rate << std::fixed << std::setprecision(12) << 1 / static_cast<double>(count);
        add(name, static_cast<std::uint64_t>(limit), "ms|@" + rate.str());
      }
    }
  }

  /// Returns by how much a counter of the pool has grown since the last call.
  std::uint64_t growth(const std::string& counter, std::uint64_t value) {
    const std::string key = tags_ + counter;
    now_[key] = value;
    return value - last_[key];
  }

  std::ostringstream text_;
  std::string tags_;
  std::map<std::string, std::uint64_t> now_;
  std::map<std::string, std::uint64_t> last_;
};
// [/snippet]
