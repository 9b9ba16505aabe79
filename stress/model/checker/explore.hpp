/// @file
/// Runs a scenario through many executions, and reports the first execution that fails.
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

#include "checker/chooser.hpp"

namespace model {

/// A way to explore executions.
enum class mode : std::uint8_t { depth_first, priority, chance, interludes, solo };

[[nodiscard]] std::string_view name_of(mode which) noexcept;

struct search {
  mode how = mode::chance;
  std::uint64_t executions = 1000;  ///< upper limit
  std::uint64_t seed = 1;
  bounds limits{};            ///< limits of depth_first
  unsigned depth = 4;         ///< depth of priority; there are depth - 1 interludes
  thread_id interrupted = 0;  ///< thread that interludes interrupt; 0: a random one
};

struct failure_report {
  std::string what;
  schedule choices;
};

struct search_result {
  std::uint64_t executions = 0;
  std::uint64_t steps = 0;
  bool complete = false;  ///< whether depth_first has tried every execution
  std::optional<failure_report> failure;
};

[[nodiscard]] search_result explore(void (*scenario)(), const search& how);

/// Removes from a failing schedule all choices that the failure does not need.
[[nodiscard]] failure_report minimise(void (*scenario)(), failure_report failure);

/// The result of running one schedule again: what happened, and the trace.
struct replayed {
  std::string failure;  ///< reason for the failure; empty if all checks held
  std::string trace;
};
[[nodiscard]] replayed run_again(void (*scenario)(), const schedule& choices);

}  // namespace model
