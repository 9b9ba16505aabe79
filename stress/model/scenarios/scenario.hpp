/// @file
/// A scenario: a few threads that meet in one part of the library, and what must hold whatever
/// happens.
#pragma once

#include <array>
#include <cstdint>
#include <span>
#include <string_view>
#include <type_traits>

#include "checker/execution.hpp"
#include "checker/explore.hpp"

namespace model {

/// One scenario and how much of it is worth running.
struct scenario {
  std::string_view name;
  std::string_view tells;  ///< subject of the scenario
  void (*run)();
  bool must_fail = false;  ///< a negative control: a checker that finds nothing here is blind
  bounds limits{};         ///< limits of the exhaustive search
  bool waits = false;  ///< whether threads wait for one another, so that none makes progress alone
  thread_id interrupted = 0;  ///< thread that others interrupt; 0: any
};

/// Bounds for scenarios of many steps; the second for those in which nothing can fail.
inline constexpr bounds narrow{.preemptions = 2, .reorderings = 1, .failures = 1};
inline constexpr bounds narrow_unfailing{.preemptions = 2, .reorderings = 1, .failures = 0};

/// Returns every scenario, in the order of the layers.
[[nodiscard]] std::span<const scenario> all_scenarios();
/// Returns null if there is none of that name.
[[nodiscard]] const scenario* find_scenario(std::string_view name);

// One list a file.
[[nodiscard]] std::span<const scenario> rendezvous_scenarios();
[[nodiscard]] std::span<const scenario> numbers_scenarios();
[[nodiscard]] std::span<const scenario> freelist_scenarios();
[[nodiscard]] std::span<const scenario> slot_cache_scenarios();
[[nodiscard]] std::span<const scenario> allocator_scenarios();
[[nodiscard]] std::span<const scenario> exhaustion_scenarios();
[[nodiscard]] std::span<const scenario> evasion_scenarios();
[[nodiscard]] std::span<const scenario> shards_scenarios();
[[nodiscard]] std::span<const scenario> remembered_scenarios();
[[nodiscard]] std::span<const scenario> lifetime_scenarios();
[[nodiscard]] std::span<const scenario> kept_scenarios();
[[nodiscard]] std::span<const scenario> checked_scenarios();
[[nodiscard]] std::span<const scenario> waiting_scenarios();
[[nodiscard]] std::span<const scenario> waiting_callbacks_scenarios();
[[nodiscard]] std::span<const scenario> waiting_for_loot_scenarios();
[[nodiscard]] std::span<const scenario> first_use_scenarios();
[[nodiscard]] std::span<const scenario> growth_scenarios();
[[nodiscard]] std::span<const scenario> visits_scenarios();
[[nodiscard]] std::span<const scenario> restarts_scenarios();
[[nodiscard]] std::span<const scenario> slot_state_scenarios();
[[nodiscard]] std::span<const scenario> walk_block_scenarios();
[[nodiscard]] std::span<const scenario> pool_parts_scenarios();
[[nodiscard]] std::span<const scenario> pool_core_scenarios();
[[nodiscard]] std::span<const scenario> pool_threads_scenarios();
[[nodiscard]] std::span<const scenario> pool_waits_scenarios();

/// Runs each body in its own thread; returns when all have ended.
template <class... Bodies>
void in_threads(Bodies&&... bodies) {
  const std::array tasks{
      task{[](void* body) { (*static_cast<std::remove_reference_t<Bodies>*>(body))(); },
           // NOLINTNEXTLINE(cppcoreguidelines-pro-type-const-cast): the lambda puts the const back
           const_cast<void*>(static_cast<const void*>(&bodies))}...};
  execution::now().run_threads(tasks);
}

/// Ends the execution if `holds` is false.
inline void require(bool holds, const char* what) {
  if (!holds) {
    execution::now().fail(what);
  }
}

}  // namespace model
