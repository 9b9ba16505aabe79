/// @file
/// Runs the same work with each source of jobs, several times, side by side.
#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <string_view>
#include <vector>

#include "chunk.hpp"
#include "corpus.hpp"
#include "engine.hpp"
#include "progress.hpp"
#include "totals.hpp"

namespace demo {

struct contest_rules {
  std::size_t workers;
  engine_limits limits;
  std::size_t repetitions;
  std::uint64_t seed;  ///< seed for the order of the sources in each repetition
};

/// Medians over the repetitions.
struct standing {
  std::string_view source;
  double seconds = 0;
  double usual_ns = 0;  ///< mean time to acquire and release a job, without the slowest hundredth
  double slow_ns = 0;   ///< time that only a hundredth of the jobs exceeded
  double refused = 0;
  double helped = 0;
  double waited = 0;
};

struct contest_result {
  std::vector<standing> standings;
  /// Counts that differ from the serial run's; the contest ends at the first such run.
  std::vector<std::string> mismatches;
};

contest_result hold_contest(const corpus& input, const std::vector<chunk>& work,
                            const totals& expected, const contest_rules& rules, progress& shown);

}  // namespace demo
