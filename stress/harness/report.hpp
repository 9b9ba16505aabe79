/// @file
/// The figures of a run in one line for a script: `report: <what> name=value name=value ...`.
#pragma once

#include <fmt/core.h>

#include <cstdio>
#include <string>
#include <string_view>

namespace stress {

/// Collects figures; prints them when asked.
class figures {
 public:
  explicit figures(std::string_view what) : line_(fmt::format("report: {}", what)) {}

  template <class Value>
  figures& add(std::string_view name, const Value& value) {
    line_ += fmt::format(" {}={}", name, value);
    return *this;
  }

  void print() const {
    fmt::print("{}\n", line_);
    (void)std::fflush(stdout);
  }

 private:
  std::string line_;
};

}  // namespace stress
