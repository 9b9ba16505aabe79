/// lido_model litmus: what the checker allows and forbids, and what it was seen to do.
#include <fmt/format.h>

#include <CLI/CLI.hpp>
#include <algorithm>
#include <cstdint>
#include <map>
#include <memory>
#include <string>

#include "checker/execution.hpp"
#include "commands/commands.hpp"
#include "litmus/litmus.hpp"

namespace model {

namespace {

using counts = std::map<std::string, std::uint64_t>;

/// Counted beside the outcomes: not every execution was run.
constexpr const char* unfinished = "more executions than are run";

/// Counts the outcomes of every execution: the programs are so small that no bound is ever reached.
counts count_outcomes(const litmus& test) {
  counts seen;
  constexpr std::uint64_t most = 4'000'000;
  const auto choices = depth_first({10, 10, 2});
  auto& here = execution::now();
  choose_litmus(test);
  for (std::uint64_t done = 0; choices->begin(); ++done) {
    if (done == most) {
      ++seen[unfinished];
      break;
    }
    const bool held = here.run(test.run, *choices, nullptr);
    ++seen[held ? recorded() : here.failure()];
  }
  return seen;
}

std::string_view word_of(expectation expected) {
  switch (expected) {
    case expectation::allowed:
      return "allowed";
    case expectation::forbidden:
      return "forbidden";
    case expectation::gap:
      return "allowed, a gap";
    default:
      return "forbidden, made";
  }
}

/// Checks that an allowed outcome is seen and another is not; gaps and surpluses must be as known.
bool check_row(const litmus& test, const outcome_row& row, const counts& seen) {
  const auto found = seen.find(std::string(row.outcome));
  const std::uint64_t count = found != seen.end() ? found->second : 0;
  const bool made = row.expected == expectation::allowed || row.expected == expectation::surplus;
  const bool right = made == (count > 0);
  fmt::print("{:<15} {:<45} {:<22.22} {:<15} {:>8}{}\n", test.name, test.program, row.outcome,
             word_of(row.expected), count, right ? "" : "  WRONG");
  return right;
}

bool check(const litmus& test) {
  const counts seen = count_outcomes(test);
  bool right = !seen.contains(unfinished);
  if (!right) {
    fmt::print("{}: {}\n", test.name, unfinished);
  }
  for (const outcome_row& row : test.outcomes) {
    right &= check_row(test, row, seen);
  }
  // Two loads of one word, four words: not every possible outcome is worth a line.
  constexpr std::size_t few = 4;
  for (const auto& [outcome, count] : seen) {
    const auto is_it = [&](const outcome_row& row) { return row.outcome == outcome; };
    if (test.outcomes.size() <= few && !test.name.starts_with("IRIW") &&
        std::none_of(test.outcomes.begin(), test.outcomes.end(), is_it)) {
      fmt::print("{}: unexpected outcome {}\n", test.name, outcome);
      right = false;
    }
  }
  return right;
}

int run() {
  bool right = true;
  fmt::print("{:<15} {:<45} {:<22} {:<15} {:>8}\n", "test", "program", "outcome", "is", "seen");
  for (const auto list : {memory_litmus(), waiting_litmus()}) {
    for (const litmus& test : list) {
      right &= check(test);
    }
  }
  fmt::print("{}\n", right ? "all as expected" : "BROKEN: the checker is wrong");
  return right ? 0 : 1;
}

}  // namespace

void add_litmus_command(CLI::App& app, int& status) {
  CLI::App* const command = app.add_subcommand("litmus", "test the checker itself");
  command->callback([&status] { status = run(); });
}

}  // namespace model
