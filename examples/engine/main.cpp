/// @file
/// Counts tokens and lines below a folder with job objects from a Lido pool, from new and delete,
/// and from a boost::lockfree::stack, checks every count and compares the three.
#include <fmt/format.h>

#include <algorithm>
#include <cstddef>
#include <cstdio>
#include <exception>
#include <iostream>
#include <stdexcept>
#include <vector>

#include "chunk.hpp"
#include "contest.hpp"
#include "corpus.hpp"
#include "options.hpp"
#include "printable.hpp"
#include "progress.hpp"
#include "report.hpp"
#include "totals.hpp"

namespace {

constexpr int counts_differ = 1;
constexpr int bad_input = 2;

int run(const demo::options& wanted) {
  demo::progress shown;
  const demo::corpus input = demo::read_corpus(wanted.path, wanted.limit_mib << 20U, shown);
  const std::vector<demo::chunk> work = demo::cut(input, wanted.chunk_bytes);
  shown.phase("counting serially");
  const demo::totals expected = demo::count_serially(input);
  shown.clear();
  demo::print_input(wanted, input, work);
  demo::print_types(input, expected);
  const std::size_t drain = wanted.drain.value_or(std::max<std::size_t>(wanted.jobs / 2, 1));
  const demo::contest_rules rules{.workers = wanted.workers,
                                  .limits = {.jobs = wanted.jobs, .drain = drain},
                                  .repetitions = wanted.repetitions,
                                  .seed = wanted.seed};
  const demo::contest_result result = demo::hold_contest(input, work, expected, rules, shown);
  shown.clear();
  if (!result.mismatches.empty()) {
    demo::print_mismatches(result.mismatches);
    return counts_differ;
  }
  demo::print_standings(result.standings, input, work, wanted);
  if (std::fflush(stdout) != 0 || std::ferror(stdout) != 0) {
    throw std::runtime_error("not all could be printed");
  }
  return 0;
}

}  // namespace

int main(int count, char** arguments) {
  try {
    const demo::parsed command = demo::parse(count, arguments);
    return command.wanted ? run(*command.wanted) : command.status;
  } catch (const std::exception& problem) {
    std::cerr << "lido_engine_demo: " << problem.what() << '\n';
    return bad_input;
  }
}
