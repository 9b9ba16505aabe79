/// @file
/// What happened in an execution, for people to read.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "checker/code_location.hpp"
#include "checker/memory.hpp"

namespace model {

/// The events of one execution, recorded only when it is replayed.
class trace {
 public:
  struct event {
    thread_id who;
    std::string what;
    code_location where;
  };

  void add(thread_id who, std::string what, code_location where) {
    events_.push_back({who, std::move(what), where});
  }
  void clear() { events_.clear(); }

  /// Returns one line per event: thread, location, event, and the source line.
  [[nodiscard]] std::string text() const;

 private:
  std::vector<event> events_;
};

}  // namespace model
