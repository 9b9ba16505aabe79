/// @file
/// How many threads a workload runs on, each number in its turn.
#pragma once

#include <vector>

namespace lido_bench {

/// Of the whole program; main changes it before anything is registered.
inline std::vector<unsigned>& thread_counts() {
  static std::vector<unsigned> counts{1, 2, 8};
  return counts;
}

}  // namespace lido_bench
