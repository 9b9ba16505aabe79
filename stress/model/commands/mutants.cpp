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

namespace model {

namespace {

struct settings {
  std::vector<std::string> names;
  std::string json;
  std::string kind = "all";
  std::string within;
  bool list = false;
  std::uint64_t executions = 300'000;
  std::uint64_t moment = 300;
};

/// Mutants that no execution can tell from the library, each with the reason.
std::map<std::string, std::string> known_equivalent() {
  std::map<std::string, std::string> known;
  std::ifstream file(LIDO_SOURCE_DIR "/stress/model/mutants/known_equivalent.txt");
  for (std::string line; std::getline(file, line);) {
    const std::size_t colon = line.find(": ");
    if (!line.starts_with('#') && colon != std::string::npos) {
      known[line.substr(0, colon)] = line.substr(colon + 2);
    }
  }
  return known;
}

/// "thread_cache.cpp (13) CAS release": what does not change when lines move.
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
      R"({{"mutant": {}, "kind": "{}", "breaks": {}, "end": "{}", "scenario": {}, "mode": "{}", "executions": {}, "failure": {}}})",
      json_text(lasting_name(fault)), fault.is_order ? "order" : "rule", json_text(fault.breaks),
      word_of(end.how), json_text(end.scenario), end.mode, end.executions, json_text(end.failure));
}

bool is_wanted(const settings& chosen, const mutant& fault) {
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
  int revived = 0;  ///< said to be equivalent, and died
  std::vector<std::string> json;
};

void try_one(const settings& chosen, const mutant& fault,
             const std::map<std::string, std::string>& known, tally& all) {
  // One that is known to survive is only tried for a moment, and must not die.
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
}

/// Lines of the list that name no mutant; each would hide one that is called so later.
int count_stale(const std::map<std::string, std::string>& known, const std::vector<mutant>& all) {
  int stale = 0;
  for (const auto& [name, reason] : known) {
    if (std::none_of(all.begin(), all.end(),
                     [&](const mutant& each) { return lasting_name(each) == name; })) {
      fmt::print("{:<50} is on the list of equivalents, and is no mutant\n", name);
      ++stale;
    }
  }
  return stale;
}

int run(const settings& chosen) {
  const auto known = known_equivalent();
  const std::vector<mutant> mutants = all_mutants();
  tally all;
  for (const mutant& fault : mutants) {
    if (!is_wanted(chosen, fault)) {
      continue;
    }
    if (chosen.list) {
      fmt::print("{:<50} {}\n", lasting_name(fault), fault.is_order ? fault.name : fault.breaks);
    } else {
      try_one(chosen, fault, known, all);
    }
  }
  if (chosen.list) {
    return 0;
  }
  const int stale = count_stale(known, mutants);
  fmt::print("{} mutants: {} killed, {} survived, {} known to be equivalent, {} of them killed\n",
             all.tried, all.dead, all.survived, all.equivalent + all.revived, all.revived);
  if (!chosen.json.empty()) {
    std::ofstream(chosen.json) << fmt::format("[\n{}\n]\n", fmt::join(all.json, ",\n"));
  }
  return all.survived + all.revived + stale == 0 && all.tried > 0 ? 0 : 1;
}

}  // namespace

void add_mutants_command(CLI::App& app, int& status) {
  auto chosen = std::make_shared<settings>();
  CLI::App* const command = app.add_subcommand("mutants", "break each rule, weaken each order");
  command->add_option("mutants", chosen->names, "their names; none: all");
  command->add_flag("--list", chosen->list, "name them and do nothing");
  command->add_option("--kind", chosen->kind, "rule, order or all")
      ->check(CLI::IsMember({"rule", "order", "all"}));
  command->add_option("--executions", chosen->executions, "most executions of each scenario");
  command->add_option("--moment", chosen->moment, "the same, for those known to be equivalent");
  command->add_option("--within", chosen->within, "only scenarios whose names begin so");
  command->add_option("--json", chosen->json, "a file for the table");
  command->callback([chosen, &status] { status = run(*chosen); });
}

}  // namespace model
