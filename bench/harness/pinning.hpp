/// @file
/// Threads of a team pinned to processors, by `--pin`.
#pragma once

#include <sched.h>

#include <cstddef>
#include <stdexcept>
#include <vector>

namespace lido_bench {

/// Returns the processors that the process may run on, in ascending order.
inline std::vector<int> allowed_processors() {
  cpu_set_t set;
  CPU_ZERO(&set);
  std::vector<int> allowed;
  if (sched_getaffinity(0, sizeof set, &set) == 0) {
    for (int processor{0}; processor < CPU_SETSIZE; ++processor) {
      if (CPU_ISSET(static_cast<std::size_t>(processor), &set)) {
        allowed.push_back(processor);
      }
    }
  }
  return allowed;
}

/// Returns the processors that teams are pinned to, thread by thread and then again from the first.
/// Empty unless main was asked to pin; main changes it before a team runs.
inline std::vector<int>& pinned_processors() {
  static std::vector<int> processors;
  return processors;
}

/// Pins the calling thread, and threads that it starts, to the processor of its index in the team.
/// Does nothing without `--pin`.
///
/// @throws std::runtime_error if the system refuses; otherwise results would claim that threads
/// were pinned.
inline void pin_thread(unsigned index) {
  const std::vector<int>& processors{pinned_processors()};
  if (processors.empty()) {
    return;
  }
  cpu_set_t set;
  CPU_ZERO(&set);
  CPU_SET(static_cast<std::size_t>(processors[index % processors.size()]), &set);
  if (sched_setaffinity(0, sizeof set, &set) != 0) {
    throw std::runtime_error{"a thread cannot be pinned"};
  }
}

}  // namespace lido_bench
