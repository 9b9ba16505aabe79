/// @file
/// Internal. The hosts that a connection of libpq may be to, and how long each may take.
#pragma once

#include <libpq-fe.h>

#include <algorithm>
#include <charconv>
#include <chrono>
#include <cstddef>
#include <memory>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "lido/resource/factory.hpp"

namespace lido::detail {

inline std::vector<std::string> split_list(std::string_view list) {
  std::vector<std::string> parts;
  for (std::size_t end = list.find(','); end != std::string_view::npos; end = list.find(',')) {
    parts.emplace_back(list.substr(0, end));
    list.remove_prefix(end + 1);
  }
  parts.emplace_back(list);
  return parts;
}

/// Whom the connection is to, or would be.
inline std::string place_of(const PGconn* connection) {
  return std::string(PQhost(connection)) + ":" + PQport(connection);
}

/// libpq tries one host after the other, but leaves one that is silent only in its functions that
/// block. Here that one is left out, and the others are begun with anew.
class postgres_hosts {
 public:
  /// Of a connection that has begun, with what the environment, a service and defaults add.
  explicit postgres_hosts(PGconn* begun) {
    const std::unique_ptr<PQconninfoOption, void (*)(PQconninfoOption*)> all(PQconninfo(begun),
                                                                             &PQconninfoFree);
    for (const PQconninfoOption* one = all.get(); one != nullptr && one->keyword != nullptr;
         ++one) {
      if (one->val != nullptr) {
        take(one->keyword, one->val);
      }
    }
  }

  [[nodiscard]] std::size_t size() const noexcept {
    return std::max(names_.size(), addresses_.size());
  }

  /// Of the next host, when `tried` of them have been.
  [[nodiscard]] create_context share(const create_context& all, std::size_t tried) const {
    const auto now = std::chrono::steady_clock::now();
    const std::size_t left = size() > tried ? size() - tried : 1;
    auto time = (all.deadline - now) / static_cast<std::ptrdiff_t>(left);
    if (connect_timeout_ > std::chrono::seconds::zero()) {
      time = std::min<std::chrono::steady_clock::duration>(time, connect_timeout_);
    }
    return {now + time, all.stop};
  }

  /// The host that the connection is at.
  void leave_out(const PGconn* connection) {
    std::size_t at = 0;
    while (at < size() && !is_at(connection, at)) {
      ++at;
    }
    for (std::vector<std::string>* list : {&names_, &addresses_, &ports_}) {
      if (list->size() > 1) {  // one port may be that of all
        list->erase(list->begin() + static_cast<std::ptrdiff_t>(at % list->size()));
      }
    }
  }

  /// As PQconnectStart, to those that are left.
  [[nodiscard]] PGconn* start() const {
    std::vector<const char*> keywords;
    std::vector<const char*> values;
    const auto add = [&](const char* keyword, const std::string& value) {
      keywords.push_back(keyword);
      values.push_back(value.c_str());
    };
    for (const auto& [keyword, value] : others_) {
      add(keyword.c_str(), value);
    }
    const std::string names = list_of(names_);
    const std::string addresses = list_of(addresses_);
    const std::string ports = list_of(ports_);
    add("host", names);
    add("hostaddr", addresses);
    add("port", ports);
    keywords.push_back(nullptr);
    values.push_back(nullptr);
    return PQconnectStartParams(keywords.data(), values.data(), /*expand_dbname=*/0);
  }

 private:
  void take(std::string_view keyword, std::string_view value) {
    if (keyword == "host") {
      names_ = split_list(value);
    } else if (keyword == "hostaddr") {
      addresses_ = split_list(value);
    } else if (keyword == "port") {
      ports_ = split_list(value);
    } else {
      others_.emplace_back(keyword, value);
    }
    if (keyword == "connect_timeout") {
      int seconds = 0;  // stays if that is no number
      (void)std::from_chars(value.data(), value.data() + value.size(), seconds);
      connect_timeout_ = std::chrono::seconds(seconds);
    }
  }

  [[nodiscard]] bool is_at(const PGconn* connection, std::size_t host) const {
    const auto in = [host](const std::vector<std::string>& list) {
      return list.size() == 1 ? list.front() : host < list.size() ? list[host] : std::string();
    };
    const std::string name = in(names_).empty() ? in(addresses_) : in(names_);
    const std::string port = in(ports_);
    return (name.empty() || name == PQhost(connection)) &&
           (port.empty() || port == PQport(connection));
  }

  static std::string list_of(const std::vector<std::string>& parts) {
    std::string list;
    for (const std::string& part : parts) {
      list += (&part == &parts.front() ? "" : ",") + part;
    }
    return list;
  }

  std::vector<std::string> names_;
  std::vector<std::string> addresses_;
  std::vector<std::string> ports_;
  std::vector<std::pair<std::string, std::string>> others_;
  std::chrono::seconds connect_timeout_{0};
};

}  // namespace lido::detail
