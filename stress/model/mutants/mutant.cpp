#include "mutants/mutant.hpp"

#include <fmt/format.h>
#include <sys/time.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <charconv>
#include <csignal>
#include <cstdio>
#include <fstream>
#include <map>
#include <regex>
#include <stdexcept>

#include "checker/weakening.hpp"
#include "mutants/rules.hpp"
#include "scenarios/scenario.hpp"

namespace model {

namespace {

/// Returns the number of the note above an access, which stays when lines move. Returns an empty
/// string if there is none between it and the end of the previous block.
std::string note_above(const std::string& sources, const site& where) {
  std::ifstream file(sources + "/" + where.file);
  static const std::regex head(R"(^\s*//\s*(\(\d+\))\s*-\s.*)");
  static const std::regex end(R"(^\s*(\}.*)?$)");
  std::string line;
  std::string note;
  for (int number = 1; number <= where.line && std::getline(file, line); ++number) {
    if (std::smatch match; std::regex_match(line, match, head)) {
      note = match[1];
    } else if (number < where.line && std::regex_match(line, end)) {
      note.clear();
    }
  }
  return note;
}

/// The sites and rules that can be broken, each with the scenarios that pass them.
struct visits {
  std::map<site, std::vector<std::string_view>> sites;
  std::map<lido::detail::mutation, std::vector<std::string_view>> rules;
};

visits visit_all(std::string_view within) {
  visits found;
  for (const scenario& each : all_scenarios()) {
    if (!each.name.starts_with(within)) {
      continue;
    }
    weakening::now().collect(/*on=*/true);
    lido::detail::forget_rules_met();
    for (const mode how : {mode::depth_first, mode::priority, mode::chance}) {
      constexpr std::uint64_t enough = 500;
      (void)explore(each.run, {how, enough, 1, each.limits, 4});
    }
    weakening::now().collect(/*on=*/false);
    for (const site& one : weakening::now().collected()) {
      found.sites[one].push_back(each.name);
    }
    for (const lido::detail::named_rule& one : lido::detail::rule_table) {
      if (lido::detail::was_met(one.rule)) {
        found.rules[one.rule].push_back(each.name);
      }
    }
  }
  return found;
}

/// Returns whether the scenario may show the fault; where nothing else is known, any may.
bool may_show(const mutant& fault, const scenario& each) {
  return fault.scenarios.empty() || std::find(fault.scenarios.begin(), fault.scenarios.end(),
                                              each.name) != fault.scenarios.end();
}

/// A child's report, in the order of the fields of its line.
struct news {
  std::string_view kind;
  std::string_view scenario;
  std::string_view mode;
  std::uint64_t executions = 0;
  std::uint64_t at_last = 0;
  std::string_view failure{};
};

/// The child's side: reports its progress to its parent, line by line.
class reporter {
 public:
  explicit reporter(int pipe) : pipe_(pipe) {}

  void tell(const news& what) const {
    const std::string line = fmt::format("{}\t{}\t{}\t{}\t{}\t{}\n", what.kind, what.scenario,
                                         what.mode, what.executions, what.at_last, what.failure);
    if (::write(pipe_, line.data(), line.size()) < 0) {
      ::_exit(2);  // the reader has gone
    }
  }

 private:
  int pipe_;
};

constexpr int no_progress = 3;  ///< exit status of a child without progress

/// Checks each second of processor time whether there has been a step: a loop that touches no
/// atomic never ends by itself.
void watch_progress(int /*signal*/) {
  static std::uint64_t last_number = 0;
  static std::size_t last_steps = 0;
  auto& here = execution::now();
  if (here.number() == last_number && here.steps() == last_steps) {
    ::_exit(no_progress);
  }
  last_number = here.number();
  last_steps = here.steps();
}

void start_watching() {
  (void)std::signal(SIGVTALRM, &watch_progress);
  constexpr itimerval each_second{{1, 0}, {1, 0}};
  ::setitimer(ITIMER_VIRTUAL, &each_second, nullptr);
}

/// Searches scenarios on a library with a fault, and reports to the parent.
class hunt {
 public:
  hunt(const reporter& parent, std::uint64_t most) : parent_(parent), most_(most) {}

  /// Searches the scenarios again and again, each time for longer. Returns whether one has failed.
  bool search_all(const std::vector<const scenario*>& scenarios) {
    constexpr std::uint64_t first_round = 300;
    constexpr std::uint64_t growth = 6;
    for (std::uint64_t round = first_round; round / growth < most_; round *= growth) {
      for (const scenario* const each : scenarios) {
        if (search_one(*each, round)) {
          return true;
        }
      }
    }
    return false;
  }

  void give_up() const { parent_.tell({"survived", "", "", done_}); }

 private:
  bool search_one(const scenario& which, std::uint64_t round) {
    for (const mode how :
         {mode::depth_first, mode::priority, mode::chance, mode::interludes, mode::solo}) {
      if (how == mode::solo && which.waits) {
        continue;
      }
      parent_.tell({"at", which.name, name_of(how), done_});
      const search_result found = explore(
          which.run, {how, std::min(round, most_), round, which.limits, 4, which.interrupted});
      done_ += found.executions;
      if (found.failure.has_value()) {
        parent_.tell(
            {"killed", which.name, name_of(how), done_, found.executions, found.failure->what});
        return true;
      }
    }
    return false;
  }

  const reporter& parent_;
  std::uint64_t most_;
  std::uint64_t done_ = 0;
};

/// Runs the child's search: the killer first, then all the others.
void hunt_for(const mutant& fault, const reporter& parent, std::uint64_t most,
              std::string_view within) {
  std::vector<const scenario*> killer;
  std::vector<const scenario*> others;
  for (const scenario& each : all_scenarios()) {
    if (!each.must_fail && each.name.starts_with(within) && may_show(fault, each)) {
      (each.name == fault.killer ? killer : others).push_back(&each);
    }
  }
  hunt search(parent, most);
  if (!search.search_all(killer) && !search.search_all(others)) {
    search.give_up();
  }
}

std::vector<std::string> fields(std::string_view line) {
  std::vector<std::string> parts;
  for (std::size_t start = 0; start <= line.size();) {
    const std::size_t end = std::min(line.find('\t', start), line.size());
    parts.emplace_back(line.substr(start, end - start));
    start = end + 1;
  }
  parts.resize(6);
  return parts;
}

/// Reads the child's reports until it ends; the last line counts.
verdict listen(int pipe) {
  std::string text;
  std::array<char, 4096> chunk{};
  for (ssize_t size = 0; (size = ::read(pipe, chunk.data(), chunk.size())) > 0;) {
    text.append(chunk.data(), static_cast<std::size_t>(size));
  }
  if (!text.empty()) {
    text.pop_back();
  }
  const auto parts = fields(std::string_view(text).substr(text.rfind('\n') + 1));
  verdict last;
  last.how = parts[0] == "killed"     ? verdict::end::killed
             : parts[0] == "survived" ? verdict::end::survived
                                      : verdict::end::crashed;
  last.scenario = parts[1];
  last.mode = parts[2];
  std::from_chars(parts[3].data(), parts[3].data() + parts[3].size(), last.executions);
  std::from_chars(parts[4].data(), parts[4].data() + parts[4].size(), last.at_last);
  last.failure = parts[5];
  return last;
}

}  // namespace

void break_rule(std::string_view name) {
  if (name == "none") {
    lido::detail::active_mutation = lido::detail::mutation::none;
    return;
  }
  const auto& table = lido::detail::rule_table;
  const auto found = std::find_if(table.begin(), table.end(),
                                  [name](const auto& rule) { return rule.name == name; });
  if (found == table.end()) {
    throw std::invalid_argument(fmt::format("there is no rule '{}'", name));
  }
  lido::detail::active_mutation = found->rule;
}

std::vector<mutant> all_mutants(const std::string& sources, std::string_view within) {
  std::vector<mutant> all;
  visits found = visit_all(within);
  for (const lido::detail::named_rule& each : lido::detail::rule_table) {
    if (each.is_modelled) {
      all.push_back({std::string(each.name),
                     std::string(each.sentence),
                     /*is_order=*/false,
                     std::move(found.rules[each.rule]),
                     {}});
    }
  }
  for (const auto& [each, scenarios] : found.sites) {
    const std::string_view file(each.file);
    const std::string note = note_above(sources, each);
    all.push_back(
        {each.text(),
         fmt::format("{}{}{}", file.substr(file.rfind('/') + 1), note.empty() ? "" : " ", note),
         /*is_order=*/true,
         scenarios,
         {}});
  }
  return all;
}

verdict try_mutant(const mutant& fault, std::uint64_t executions, const std::string& within) {
  std::array<int, 2> ends{};
  if (::pipe(ends.data()) != 0) {
    throw std::runtime_error("no pipe");
  }
  (void)std::fflush(stdout);
  const pid_t child = ::fork();
  if (child == 0) {
    ::close(ends[0]);
    if (fault.is_order) {
      weakening::now().weaken(site::parse(fault.name));
    } else {
      break_rule(fault.name);
    }
    start_watching();
    hunt_for(fault, reporter(ends[1]), executions, within);
    ::_exit(0);
  }
  ::close(ends[1]);
  verdict end = listen(ends[0]);
  ::close(ends[0]);
  int status = 0;
  ::waitpid(child, &status, 0);
  if (WIFEXITED(status) && WEXITSTATUS(status) == no_progress) {
    end.how = verdict::end::endless;
    end.failure = "a loop without end";
  } else if (WIFSIGNALED(status)) {
    end.how = verdict::end::crashed;
    end.failure = fmt::format("signal {}", WTERMSIG(status));
  }
  return end;
}

}  // namespace model
