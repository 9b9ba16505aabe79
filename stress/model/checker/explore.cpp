#include "checker/explore.hpp"

#include "checker/execution.hpp"

namespace model {

namespace {

std::unique_ptr<chooser> make_chooser(const search& how) {
  switch (how.how) {
    case mode::depth_first:
      return depth_first(how.limits);
    case mode::priority:
      return by_priority(how.seed, how.depth);
    case mode::interludes:
      return by_interludes(how.seed, how.depth - 1, how.interrupted);
    default:
      return by_chance(how.seed, how.how == mode::solo);
  }
}

/// Runs `choices` again, and returns the failure if there still is one.
std::optional<failure_report> try_schedule(void (*scenario)(), const schedule& choices) {
  const auto chooser = replay(choices);
  (void)chooser->begin();
  auto& here = execution::now();
  if (here.run(scenario, *chooser, nullptr)) {
    return std::nullopt;
  }
  return failure_report{here.failure(), here.choices()};
}

}  // namespace

std::string_view name_of(mode which) noexcept {
  switch (which) {
    case mode::depth_first:
      return "dfs";
    case mode::priority:
      return "pct";
    case mode::chance:
      return "random";
    case mode::interludes:
      return "between";
    default:
      return "solo";
  }
}

search_result explore(void (*scenario)(), const search& how) {
  auto& here = execution::now();
  const auto chooser = make_chooser(how);
  search_result result;
  while (result.executions < how.executions) {
    if (!chooser->begin()) {
      result.complete = true;
      break;
    }
    ++result.executions;
    const bool held = here.run(scenario, *chooser, nullptr);
    result.steps += here.steps();
    if (!held) {
      result.failure = failure_report{here.failure(), here.choices()};
      break;
    }
  }
  return result;
}

failure_report minimise(void (*scenario)(), failure_report failure) {
  constexpr int most_rounds = 8;
  bool smaller = true;
  for (int round = 0; smaller && round < most_rounds; ++round) {
    smaller = false;
    for (std::size_t at = failure.choices.picks.size(); at-- > 0;) {
      if (at >= failure.choices.picks.size() || failure.choices.picks[at] == 0) {
        continue;
      }
      schedule shorter = failure.choices;
      shorter.picks[at] = 0;
      if (auto found = try_schedule(scenario, shorter)) {
        failure = std::move(*found);
        smaller = true;
      }
    }
  }
  return failure;
}

replayed run_again(void (*scenario)(), const schedule& choices) {
  const auto chooser = replay(choices);
  (void)chooser->begin();
  auto& here = execution::now();
  trace events;
  (void)here.run(scenario, *chooser, &events);
  return {here.failure(), events.text()};
}

}  // namespace model
