/// lido_model mutants: breaks each rule and weakens each order; every one must be noticed.
#include <fmt/format.h>

#include <CLI/CLI.hpp>
#include <algorithm>
#include <cstdio>
#include <fstream>
#include <map>
#include <memory>
#include <string>
#include <vector>

#include "commands/commands.hpp"
#include "mutants/mutant.hpp"
#include "scenarios/scenario.hpp"

namespace model {

namespace {

struct mutant_settings {
  std::vector<std::string> names;
  std::string json;
  std::string kind = "all";
  std::string within;
  std::string sources = LIDO_SOURCE_DIR;
  bool list = false;
  std::uint64_t executions = 300'000;
  std::uint64_t moment = 300;
  std::uint64_t margin = 1;
};

/// Notes on mutants from a file of mutants/: names, and after each a colon and a text.
using notes = std::map<std::string, std::string>;

notes read_notes(std::string_view name) {
  notes found;
  std::ifstream file(fmt::format("{}/stress/model/mutants/{}", LIDO_SOURCE_DIR, name));
  for (std::string line; std::getline(file, line);) {
    const std::size_t colon = line.find(": ");
    if (!line.starts_with('#') && colon != std::string::npos) {
      found[line.substr(0, colon)] = line.substr(colon + 2);
    }
  }
  return found;
}

/// Returns a name that does not change when lines move: "slot_cache.cpp (16) CAS release".
std::string lasting_name(const mutant& fault) {
  return fault.is_order ? fault.breaks + fault.name.substr(fault.name.find(' ')) : fault.name;
}

std::string_view word_of(verdict::end how) {
  switch (how) {
    case verdict::end::killed:
      return "killed";
    case verdict::end::crashed:
      return "crashed";
    case verdict::end::endless:
      return "endless";
    default:
      return "SURVIVED";
  }
}

std::string json_text(std::string_view text) {
  std::string out = "\"";
  for (const char c : text) {
    if (c == '"' || c == '\\') {
      out += '\\';
    }
    out += c;
  }
  return out + '"';
}

std::string json_of(const mutant& fault, const verdict& end) {
  return fmt::format(
      R"({{"mutant": {}, "kind": "{}", "breaks": {}, "end": "{}", "scenario": {}, "mode": "{}", "executions": {}, "at_last": {}, "failure": {}}})",
      json_text(lasting_name(fault)), fault.is_order ? "order" : "rule", json_text(fault.breaks),
      word_of(end.how), json_text(end.scenario), end.mode, end.executions, end.at_last,
      json_text(end.failure));
}

bool is_wanted(const mutant_settings& chosen, const mutant& fault) {
  if (chosen.kind != "all" && (chosen.kind == "order") != fault.is_order) {
    return false;
  }
  const std::string name = lasting_name(fault);
  return chosen.names.empty() ||
         std::any_of(chosen.names.begin(), chosen.names.end(), [&](const std::string& wanted) {
           return name == wanted || fault.name == wanted;
         });
}

struct tally {
  int tried = 0;
  int dead = 0;
  int equivalent = 0;
  int survived = 0;
  int revived = 0;                ///< supposedly equivalent ones that were killed
  std::vector<std::string> late;  ///< names of those that were nearly missed
  std::vector<std::string> json;
};

void try_one(const mutant_settings& chosen, const mutant& fault, const notes& known, tally& all) {
  // A mutant that is known to survive is only tried for a moment, and must not be killed.
  const auto reason = known.find(lasting_name(fault));
  const verdict end =
      try_mutant(fault, reason != known.end() ? chosen.moment : chosen.executions, chosen.within);
  const bool alive = end.how == verdict::end::survived;
  ++all.tried;
  all.dead += alive ? 0 : 1;
  all.equivalent += alive && reason != known.end() ? 1 : 0;
  all.survived += alive && reason == known.end() ? 1 : 0;
  all.revived += !alive && reason != known.end() ? 1 : 0;
  fmt::print("{:<50} {:<9} {:>9}  {:<36} {:<7} {}\n", lasting_name(fault), word_of(end.how),
             end.executions, end.scenario, end.mode,
             alive && reason != known.end() ? "known: " + reason->second : end.failure);
  (void)std::fflush(stdout);
  all.json.push_back(json_of(fault, end));
  if (end.at_last * chosen.margin > chosen.executions) {
    all.late.push_back(fmt::format("{} ({} executions)", lasting_name(fault), end.at_last));
  }
}

/// Counts lines of the lists that name no mutant: each would apply to a later one of that name.
/// Counts also those that name no scenario.
int count_stale(const notes& known, const notes& killers, const std::vector<mutant>& all) {
  int stale = 0;
  for (const notes& list : {known, killers}) {
    for (const auto& [name, text] : list) {
      if (std::none_of(all.begin(), all.end(),
                       [&](const mutant& each) { return lasting_name(each) == name; })) {
        fmt::print("{:<50} is on a list, and is no mutant\n", name);
        ++stale;
      }
    }
  }
  for (const auto& [name, scenario] : killers) {
    if (find_scenario(scenario) == nullptr) {
      fmt::print("{:<50} {} is no scenario\n", name, scenario);
      ++stale;
    }
  }
  return stale;
}

/// Counts mutants whose names are ambiguous, or will be when lines move. A reason that is given for
/// one, or the result of a run, would be taken for another's.
int count_badly_named(const std::vector<mutant>& all) {
  int bad = 0;
  std::map<std::string, int> seen;
  for (const mutant& each : all) {
    const std::string name = lasting_name(each);
    // A light fence has no note: its order is explained at the store before it.
    const bool needs_note = each.is_order && each.name.find("light fence") == std::string::npos;
    if (needs_note && each.breaks.back() != ')') {
      fmt::print("{} has no numbered note above it\n", each.name);
      ++bad;
    } else if (++seen[name] == 2) {
      fmt::print("{} is the name of several mutants\n", name);
      ++bad;
    }
  }
  return bad;
}

/// Prints the result of all mutants; returns the exit status.
int conclude(const mutant_settings& chosen, const tally& all, int stale) {
  fmt::print("{} mutants: {} killed, {} survived, {} known to be equivalent, {} of them killed\n",
             all.tried, all.dead, all.survived, all.equivalent + all.revived, all.revived);
  for (const std::string& each : all.late) {
    fmt::print("{:<50} was nearly missed: a margin of {} is wanted\n", each, chosen.margin);
  }
  if (!chosen.json.empty()) {
    std::ofstream(chosen.json) << fmt::format("[\n{}\n]\n", fmt::join(all.json, ",\n"));
  }
  const bool as_expected = all.survived + all.revived + stale == 0 && all.late.empty();
  return as_expected && all.tried > 0 ? 0 : 1;
}

int run(const mutant_settings& chosen) {
  const notes known = read_notes("known_equivalent.txt");
  const notes killers = read_notes("killers.txt");
  std::vector<mutant> mutants = all_mutants(chosen.sources, chosen.within);
  if (count_badly_named(mutants) > 0) {
    return 1;
  }
  tally all;
  for (mutant& fault : mutants) {
    if (!is_wanted(chosen, fault)) {
      continue;
    }
    if (chosen.list) {
      fmt::print("{:<50} {}\n", lasting_name(fault), fault.is_order ? fault.name : fault.breaks);
    } else {
      const auto killer = killers.find(lasting_name(fault));
      fault.killer = killer != killers.end() ? killer->second : "";
      try_one(chosen, fault, known, all);
    }
  }
  if (chosen.list) {
    return 0;
  }
  return conclude(chosen, all, chosen.within.empty() ? count_stale(known, killers, mutants) : 0);
}

}  // namespace

void add_mutants_command(CLI::App& app, int& status) {
  auto chosen = std::make_shared<mutant_settings>();
  CLI::App* const command = app.add_subcommand("mutants", "break each rule, weaken each order");
  command->add_option("mutants", chosen->names, "their names; none: all");
  command->add_flag("--list", chosen->list, "name them and do nothing");
  command->add_option("--kind", chosen->kind, "rule, order or all")
      ->check(CLI::IsMember({"rule", "order", "all"}));
  command->add_option("--executions", chosen->executions, "most executions of each scenario");
  command->add_option("--moment", chosen->moment, "the same, for those known to be equivalent");
  command
      ->add_option(
          "--margin", chosen->margin,
          "none may take more than this part of its executions in the search that shows it")
      ->check(CLI::PositiveNumber);
  command->add_option("--within", chosen->within, "only scenarios whose names begin so");
  command->add_option("--sources", chosen->sources, "where the notes above the accesses are read");
  command->add_option("--json", chosen->json, "a file for the table");
  command->callback([chosen, &status] { status = run(*chosen); });
}

}  // namespace model
