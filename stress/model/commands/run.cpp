/// lido_model run: runs scenarios in all modes, or repeats one schedule.
#include <fmt/format.h>

#include <CLI/CLI.hpp>
#include <chrono>
#include <cstdio>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "checker/weakening.hpp"
#include "commands/commands.hpp"
#include "mutants/mutant.hpp"
#include "scenarios/scenario.hpp"

namespace model {

namespace {

struct run_settings {
  std::vector<std::string> names;
  std::string mode = "all";
  std::string replay;
  std::string rule = "none";
  std::string weaken;
  bool list = false;
  std::uint64_t executions = 200'000;
  std::uint64_t seed = 1;
  unsigned depth = 4;
  std::optional<unsigned> preemptions;
  std::optional<unsigned> reorderings;
};

struct totals {
  std::uint64_t executions = 0;
  std::uint64_t steps = 0;
};

/// A share of the executions of one scenario, in tenths.
struct share {
  mode how;
  unsigned tenths;
};
constexpr std::array shares{share{mode::depth_first, 4}, share{mode::priority, 2},
                            share{mode::chance, 2}, share{mode::interludes, 1},
                            share{mode::solo, 1}};

void print_failure(const scenario& what, const search& how, const search_result& result) {
  const failure_report small = minimise(what.run, *result.failure);
  fmt::print("BROKEN: {}: {}\n", what.name, small.what);
  fmt::print("  by {}, seed {}, execution {}; again with\n", name_of(how.how), how.seed,
             result.executions);
  fmt::print("  lido_model run {} --replay {}\n\n", what.name, small.choices.text());
  fmt::print("{}\n{}\n", run_again(what.run, small.choices).trace, small.what);
}

/// Returns whether the scenario did what it should.
bool search_with(const scenario& what, const search& how, totals& sum, bool& failed) {
  const auto start = std::chrono::steady_clock::now();
  const search_result result = explore(what.run, how);
  const std::chrono::duration<double> took = std::chrono::steady_clock::now() - start;
  sum.executions += result.executions;
  sum.steps += result.steps;
  const std::string end = result.failure.has_value() ? "fails: " + result.failure->what
                          : result.complete          ? "all of them, held"
                                                     : "held";
  fmt::print("{:<36} {:<6} {:>9} executions {:>12} steps {:>6.2f} s  {}\n", what.name,
             name_of(how.how), result.executions, result.steps, took.count(), end);
  (void)std::fflush(stdout);
  if (result.failure.has_value()) {
    failed = true;
    if (!what.must_fail) {
      print_failure(what, how, result);
      return false;
    }
  }
  return true;
}

bool run_scenario(const scenario& what, const run_settings& chosen, totals& sum) {
  bool failed = false;
  for (const share& part : shares) {
    if ((chosen.mode != "all" && chosen.mode != name_of(part.how)) ||
        (part.how == mode::solo && what.waits)) {
      continue;
    }
    search how{part.how,
               chosen.mode == "all" ? chosen.executions * part.tenths / 10 : chosen.executions,
               chosen.seed,
               what.limits,
               chosen.depth,
               what.interrupted};
    how.limits.preemptions = chosen.preemptions.value_or(how.limits.preemptions);
    how.limits.reorderings = chosen.reorderings.value_or(how.limits.reorderings);
    if (!search_with(what, how, sum, failed)) {
      return false;
    }
  }
  if (what.must_fail && !failed) {
    fmt::print("BROKEN: {} holds, although it must not: the checker is blind\n", what.name);
    return false;
  }
  return true;
}

int replay_one(const scenario& what, const std::string& text) {
  const replayed again = run_again(what.run, schedule::parse(text));
  fmt::print("{}\n{}\n", again.trace, again.failure.empty() ? "held" : again.failure);
  return again.failure.empty() ? 0 : 1;
}

/// Returns whether the fault was met: a misspelt name, or a site that no thread reaches, would look
/// like a harmless fault.
bool has_met_its_fault(const run_settings& chosen) {
  const bool met =
      (chosen.rule == "none" || lido::detail::was_met(lido::detail::active_mutation)) &&
      (chosen.weaken.empty() || weakening::now().met());
  if (!met) {
    fmt::print("VACUOUS: no thread has come by what is broken\n");
  }
  return met;
}

int run(const run_settings& chosen) {
  std::vector<const scenario*> wanted;
  for (const scenario& each : all_scenarios()) {
    if (chosen.names.empty()) {
      wanted.push_back(&each);
    }
  }
  for (const std::string& name : chosen.names) {
    const scenario* const found = find_scenario(name);
    if (found == nullptr) {
      fmt::print(stderr, "there is no scenario {}; --list names them\n", name);
      return 2;
    }
    wanted.push_back(found);
  }
  if (chosen.list) {
    for (const scenario* each : wanted) {
      fmt::print("{:<36} {}\n", each->name, each->tells);
    }
    return 0;
  }
  break_rule(chosen.rule);
  if (!chosen.weaken.empty()) {
    weakening::now().weaken(site::parse(chosen.weaken));
  }
  if (!chosen.replay.empty()) {
    return wanted.size() == 1 ? replay_one(*wanted.front(), chosen.replay) : 2;
  }
  totals sum;
  for (const scenario* each : wanted) {
    if (!run_scenario(*each, chosen, sum)) {
      return 1;
    }
  }
  fmt::print("{} executions, {} steps: held\n", sum.executions, sum.steps);
  return has_met_its_fault(chosen) ? 0 : 1;
}

}  // namespace

void add_run_command(CLI::App& app, int& status) {
  auto chosen = std::make_shared<run_settings>();
  CLI::App* const command = app.add_subcommand("run", "run scenarios");
  command->add_option("scenarios", chosen->names, "their names; none: all");
  command->add_flag("--list", chosen->list, "name them and do nothing");
  command->add_option("--mode", chosen->mode, "dfs, pct, random, between, solo or all")
      ->check(CLI::IsMember({"dfs", "pct", "random", "between", "solo", "all"}));
  command->add_option("--executions", chosen->executions, "most executions of each scenario");
  command->add_option("--seed", chosen->seed, "of the first execution");
  command->add_option("--depth", chosen->depth, "of pct")->check(CLI::Range(1U, 100U));
  command->add_option("--preemptions", chosen->preemptions, "most of an execution, in mode dfs");
  command->add_option("--reorderings", chosen->reorderings, "most of an execution, in mode dfs");
  command->add_option("--replay", chosen->replay, "a schedule: run it again and print its trace");
  command->add_option("--mutation", chosen->rule, "a rule to break, see stress/mutants/");
  command->add_option("--weaken", chosen->weaken,
                      "an order to weaken, as 'treiber_list.hpp:70 load acquire'");
  command->callback([chosen, &status] { status = run(*chosen); });
}

}  // namespace model
