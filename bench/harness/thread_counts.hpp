/// @file
/// The numbers of threads that a workload runs on, one after the other.
#pragma once

#include <algorithm>
#include <vector>

#include "contender.hpp"

namespace lido_bench {

/// Returns one thread, two, eight, the number of cores and twice that, in ascending order. Eight
/// compare machines of any size, and twice the cores show what preemption costs.
inline std::vector<unsigned> thread_counts_for(unsigned cores) {
  std::vector<unsigned> counts{1, 2, 8, cores, 2 * cores};
  std::sort(counts.begin(), counts.end());
  counts.erase(std::unique(counts.begin(), counts.end()), counts.end());
  return counts;
}

/// Returns the counts for the whole program; main changes them before anything is registered.
inline std::vector<unsigned>& thread_counts() {
  static std::vector<unsigned> counts{thread_counts_for(cores())};
  return counts;
}

}  // namespace lido_bench
