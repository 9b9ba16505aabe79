/// @file
/// Programs of a few lines whose outcomes are known: tests of the checker itself.
#pragma once

#include <atomic>
#include <cstddef>
#include <cstdint>
#include <span>
#include <string>
#include <string_view>
#include <vector>

namespace model {

/// What the C++ memory model says of an outcome, and whether this model produces it: a gap is
/// allowed and never produced, a surplus is forbidden and produced nevertheless.
enum class expectation : std::uint8_t { allowed, forbidden, gap, surplus };

struct outcome_row {
  std::string_view outcome;
  expectation expected;
};

/// One step of a thread, on one of two words that are 0 at first.
struct step {
  enum class kind : std::uint8_t {
    load,
    store,
    store_read,  ///< stores the value that the previous step has read
    add,         ///< fetch_add
    strong_cas,
    weak_cas,
    light_fence,
    full_fence,
    heavy_fence,
  };

  kind what;
  std::size_t word = 0;
  std::memory_order order = std::memory_order_relaxed;
  int value = 0;
  std::memory_order failure = std::memory_order_relaxed;  ///< failure order of a compare-and-swap
  int expected = 0;                                       ///< expected value of a compare-and-swap
  bool tells = false;  ///< whether the outcome includes its value
};

/// A program and its outcomes. `run` is a scenario that calls `record` once, or fails.
struct litmus {
  std::string_view name;
  std::string_view program;
  void (*run)();
  std::vector<outcome_row> outcomes;  ///< those worth naming; others must not occur
  // Members of a test that is a table of steps; its outcome is the final values of these words,
  // then the values that the threads have read.
  std::vector<std::vector<step>> threads{};
  std::vector<std::size_t> ends{};
};

/// Records how the current execution has ended.
void record(std::string outcome);
[[nodiscard]] const std::string& recorded();

/// Runs the steps of the chosen test.
void run_steps();
void choose_litmus(const litmus& test);

[[nodiscard]] std::span<const litmus> memory_litmus();
[[nodiscard]] std::span<const litmus> waiting_litmus();

}  // namespace model
