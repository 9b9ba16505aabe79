#include "contest.hpp"

#include <fmt/format.h>
#include <tbb/global_control.h>
#include <tbb/task_arena.h>

#include <algorithm>
#include <numeric>
#include <random>
#include <string>
#include <utility>

#include "heap_jobs.hpp"
#include "lido_jobs.hpp"
#include "lockfree_jobs.hpp"

namespace demo {
namespace {

double median(std::vector<double> values) {
  const auto middle = values.begin() + static_cast<std::ptrdiff_t>(values.size() / 2);
  std::nth_element(values.begin(), middle, values.end());
  return *middle;
}

struct contestant {
  std::string_view source;
  std::function<run_result()> run;
  std::vector<standing> repetitions;
};

template <job_source Source>
contestant enter(Source& source, const corpus& input, const std::vector<chunk>& work,
                 const engine_limits& limits, tbb::task_arena& arena) {
  auto run = [&source, &input, &work, limits, &arena] {
    return arena.execute([&] { return engine<Source>(source, input, limits).run(work); });
  };
  return {Source::name, run, {}};
}

/// The slowest hundredth is where another program had the processor; one such time slice would
/// outweigh all that a pool does in a run.
standing measure(std::string_view source, run_result run) {
  std::vector<double>& times = run.pool_times;
  const auto slow = times.begin() + static_cast<std::ptrdiff_t>((times.size() - 1) * 99 / 100);
  std::nth_element(times.begin(), slow, times.end());
  const double sum = std::accumulate(times.begin(), slow + 1, 0.0);
  return {.source = source,
          .seconds = run.seconds,
          .usual_ns = sum / static_cast<double>(slow + 1 - times.begin()),
          .slow_ns = *slow,
          .refused = static_cast<double>(run.refused),
          .helped = static_cast<double>(run.helped),
          .waited = static_cast<double>(run.waited)};
}

standing median_of(const contestant& entrant) {
  const auto middle = [&entrant](double standing::*number) {
    std::vector<double> values;
    for (const standing& one : entrant.repetitions) {
      values.push_back(one.*number);
    }
    return median(std::move(values));
  };
  return {.source = entrant.source,
          .seconds = middle(&standing::seconds),
          .usual_ns = middle(&standing::usual_ns),
          .slow_ns = middle(&standing::slow_ns),
          .refused = middle(&standing::refused),
          .helped = middle(&standing::helped),
          .waited = middle(&standing::waited)};
}

/// Runs one entrant once; returns its wrong counts, if any.
std::vector<std::string> take_turn(contestant& entrant, const corpus& input,
                                   const totals& expected) {
  run_result run = entrant.run();
  std::vector<std::string> wrong = differences(expected, run.found, input.types);
  entrant.repetitions.push_back(measure(entrant.source, std::move(run)));
  for (std::string& line : wrong) {
    line.insert(0, fmt::format("{}: ", entrant.source));
  }
  return wrong;
}

}  // namespace

contest_result hold_contest(const corpus& input, const std::vector<chunk>& work,
                            const totals& expected, const contest_rules& rules, progress& shown) {
  const tbb::global_control threads(tbb::global_control::max_allowed_parallelism, rules.workers);
  tbb::task_arena arena(static_cast<int>(rules.workers));
  lido_jobs from_lido(rules.limits.jobs);
  heap_jobs from_heap;
  lockfree_jobs from_stack(rules.limits.jobs);
  std::vector<contestant> entrants{enter(from_lido, input, work, rules.limits, arena),
                                   enter(from_heap, input, work, rules.limits, arena),
                                   enter(from_stack, input, work, rules.limits, arena)};
  std::vector<std::size_t> order(entrants.size());
  std::iota(order.begin(), order.end(), std::size_t{0});
  std::mt19937_64 random(rules.seed);
  contest_result result;
  shown.phase(
      fmt::format("running {} jobs with each source, {} times", work.size(), rules.repetitions));
  for (std::size_t turn = 0; turn < rules.repetitions * order.size(); ++turn) {
    shown.at(turn, rules.repetitions * order.size());
    if (turn % order.size() == 0) {
      std::shuffle(order.begin(), order.end(), random);
    }
    result.mismatches = take_turn(entrants[order[turn % order.size()]], input, expected);
    if (!result.mismatches.empty()) {
      return result;
    }
  }
  std::transform(entrants.begin(), entrants.end(), std::back_inserter(result.standings), median_of);
  return result;
}

}  // namespace demo
