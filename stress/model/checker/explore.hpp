/// @file
/// Runs a scenario through many executions, and reports the first that fails.
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

#include "checker/chooser.hpp"

namespace model {

/// How to go through the executions.
enum class mode : std::uint8_t { depth_first, priority, chance, interludes, solo };

[[nodiscard]] std::string_view name_of(mode which) noexcept;

struct search {
  mode how = mode::chance;
  std::uint64_t executions = 1000;  ///< at most
  std::uint64_t seed = 1;
  bounds limits{};            ///< of depth_first
  unsigned depth = 4;         ///< of priority; of interludes there is one less
  thread_id interrupted = 0;  ///< by interludes; 0: any
};

struct failure_report {
  std::string what;
  schedule choices;
};

struct search_result {
  std::uint64_t executions = 0;
  std::uint64_t steps = 0;
  bool complete = false;  ///< depth_first has seen all
  std::optional<failure_report> failure;
};

[[nodiscard]] search_result explore(void (*scenario)(), const search& how);

/// Leaves out of a failing schedule what it does not need to fail.
[[nodiscard]] failure_report minimise(void (*scenario)(), failure_report failure);

/// Runs one schedule again; returns what happened, and the trace.
struct replayed {
  std::string failure;  ///< empty: it held
  std::string trace;
};
[[nodiscard]] replayed run_again(void (*scenario)(), const schedule& choices);

}  // namespace model
