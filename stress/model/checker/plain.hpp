/// @file
/// An ordinary variable: two accesses, at least one of which writes, must be ordered, or they race.
#pragma once

#include <array>
#include <utility>

#include "checker/execution.hpp"

namespace model {

/// A variable in a scenario that shows whether the writes of one thread have reached the next
/// thread.
template <class T>
class plain {
 public:
  plain() = default;
  explicit plain(T value) : value_(std::move(value)) {}

  [[nodiscard]] T read() {
    auto& here = execution::now();
    if (here.checks()) {
      const stamp* const known = here.memory().known_to(here.self());
      if (written_.at > known[written_.by]) {
        here.fail("a data race: a variable is read while another thread may be writing it");
      }
      read_[here.self()] = known[here.self()];
    }
    return value_;
  }

  void write(T value) {
    auto& here = execution::now();
    if (here.checks()) {
      const stamp* const known = here.memory().known_to(here.self());
      if (written_.at > known[written_.by]) {
        here.fail("a data race: two threads write a variable");
      }
      for (thread_id who = 0; who < most_threads; ++who) {
        if (read_[who] > known[who]) {
          here.fail("a data race: a variable is written while another thread may be reading it");
        }
      }
      written_ = {known[here.self()], here.self()};
    }
    value_ = std::move(value);
  }

 private:
  struct writing {
    stamp at = 0;
    thread_id by = 0;
  };

  T value_{};
  writing written_;
  std::array<stamp, most_threads> read_{};
};

}  // namespace model
