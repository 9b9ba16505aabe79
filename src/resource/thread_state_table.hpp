/// @file
/// Internal. The memory for the thread states of pools.
#pragma once

#include <cstddef>

#include "lido/resource/thread_state.hpp"

namespace lido::inline v0::detail {

class thread_state_table;

/// The states of all threads in one pool, initially all zeros. They form a column of a table that
/// the pool shares with other pools. Few of the states are ever touched. The states of several
/// pools are interleaved, so that a small pool does not take up a whole page.
class thread_state_column {
 public:
  /// Throws std::bad_alloc.
  thread_state_column();
  thread_state_column(const thread_state_column&) = delete;
  thread_state_column& operator=(const thread_state_column&) = delete;
  ~thread_state_column();

  /// Returns the first state. Each further state is `pools_side_by_side` elements after the
  /// previous one.
  [[nodiscard]] thread_state& first() const noexcept { return *first_; }
  /// Starts afresh in a process made by fork, since a thread that does not exist there may have
  /// been changing the tables.
  static void note_fork() noexcept;

 private:
  thread_state_table* table_ = nullptr;
  thread_state* first_ = nullptr;
};

}  // namespace lido::inline v0::detail
