/// @file
/// Programs of a few lines whose outcomes are known: tests of the checker itself.
#pragma once

#include <span>
#include <string>
#include <string_view>
#include <vector>

namespace model {

/// What the C++ memory model says of an outcome, and whether this model makes it: a gap is allowed
/// and never made, a surplus is forbidden and made nevertheless.
enum class expectation { allowed, forbidden, gap, surplus };

struct outcome_row {
  std::string_view outcome;
  expectation expected;
};

/// `run` is a scenario that calls `record` once, or fails.
struct litmus {
  std::string_view name;
  std::string_view program;
  void (*run)();
  std::vector<outcome_row> outcomes;  ///< those worth naming; others must not be there
};

/// Says how the execution that runs now has ended.
void record(std::string outcome);
[[nodiscard]] const std::string& recorded();

[[nodiscard]] std::span<const litmus> memory_litmus();
[[nodiscard]] std::span<const litmus> fence_litmus();
[[nodiscard]] std::span<const litmus> total_order_litmus();
[[nodiscard]] std::span<const litmus> waiting_litmus();

}  // namespace model
