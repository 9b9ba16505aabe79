#include "report.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <cstdio>
#include <numeric>
#include <string_view>

#include "printable.hpp"

namespace demo {
namespace {

constexpr std::size_t types_shown = 8;
constexpr std::size_t mismatches_shown = 20;

double mebibytes(std::uint64_t bytes) {
  return static_cast<double>(bytes) / (1024 * 1024);
}

/// Returns at most `width` columns of the text; a cut is visible.
std::string fitted(std::string_view text, std::size_t width) {
  const std::string safe = printable(text);
  return safe.size() <= width ? safe : safe.substr(0, width - 2) + "..";
}

std::vector<std::size_t> files_of_each_type(const corpus& input) {
  std::vector<std::size_t> files(input.types.size());
  for (const source_file& file : input.files) {
    ++files[file.type];
  }
  return files;
}

void print_row(std::string_view name, std::size_t files, const counts& found) {
  fmt::print("  {:<14} {:>6} {:>10.1f} {:>10} {:>12} {:>10} {:>10}  {}\n", fitted(name, 14), files,
             mebibytes(found[counter::bytes]), found[counter::lines], found[counter::identifiers],
             found[counter::numbers], found[counter::others], fitted(found.longest.text(), 24));
}

void print_skipped(const corpus& input) {
  if (input.skipped_files + input.skipped_folders > 0) {
    fmt::print("  skipped because they cannot be read: {} files, {} folders\n", input.skipped_files,
               input.skipped_folders);
  }
}

void print_limit(const options& wanted, const corpus& input) {
  if (input.left_out > 0 || input.cut) {
    fmt::print("  NOTE: input stops at {} MiB (--limit): {} files left out{}\n", wanted.limit_mib,
               input.left_out, input.cut ? ", the last one read is cut short" : "");
  }
}

}  // namespace

void print_input(const options& wanted, const corpus& input, const std::vector<chunk>& work) {
  fmt::print("Input: {}\n", printable(wanted.path));
  fmt::print("  {} files, {:.1f} MiB, {} file types, read into memory\n", input.files.size(),
             mebibytes(input.bytes), input.types.size());
  print_skipped(input);
  print_limit(wanted, input);
  fmt::print("  {} jobs of at most {} bytes, {} job objects of {} bytes, {} workers\n\n",
             work.size(), wanted.chunk_bytes, wanted.jobs, sizeof(job), wanted.workers);
}

void print_types(const corpus& input, const totals& found) {
  const std::vector<counts>& by_type = found.by_type();
  const std::vector<std::size_t> files = files_of_each_type(input);
  std::vector<std::size_t> order(by_type.size());
  std::iota(order.begin(), order.end(), std::size_t{0});
  std::stable_sort(order.begin(), order.end(), [&by_type](std::size_t a, std::size_t b) {
    return by_type[a][counter::bytes] > by_type[b][counter::bytes];
  });
  fmt::print("Counts by file type, the {} largest\n", std::min(types_shown, order.size()));
  fmt::print("  {:<14} {:>6} {:>10} {:>10} {:>12} {:>10} {:>10}  {}\n", "type", "files", "MiB",
             "lines", "identifiers", "numbers", "others", "longest identifier");
  for (std::size_t i = 0; i < std::min(types_shown, order.size()); ++i) {
    print_row(input.types[order[i]], files[order[i]], by_type[order[i]]);
  }
  print_row("all files", input.files.size(), found.sum());
}

void print_standings(const std::vector<standing>& standings, const corpus& input,
                     const std::vector<chunk>& work, const options& wanted) {
  fmt::print("\nJob objects from three sources, median of {} runs each, order mixed (seed {})\n",
             wanted.repetitions, wanted.seed);
  fmt::print("  {:<23} {:>8} {:>9}   {:>18}   {:>26}\n", "", "", "", "acquire + release",
             "the producer");
  fmt::print("  {:<23} {:>8} {:>9}   {:>9} {:>8}   {:>8} {:>8} {:>8}\n", "source", "MB/s", "jobs/s",
             "ns/job", "99 %", "refused", "helped", "slept");
  for (const standing& one : standings) {
    fmt::print("  {:<23} {:>8.1f} {:>9.0f}   {:>9.1f} {:>8.0f}   {:>8.0f} {:>8.0f} {:>8.0f}\n",
               one.source, static_cast<double>(input.bytes) / 1e6 / one.seconds,
               static_cast<double>(work.size()) / one.seconds, one.usual_ns, one.slow_ns,
               one.refused, one.helped, one.waited);
  }
  fmt::print(
      "  ns/job is the mean without the slowest hundredth, failed attempts included; refused: "
      "found no job free;\n  helped: jobs it then ran itself; slept: waited for a worker.\n");
  fmt::print("\nVerified: all {} runs counted what a serial run over whole files counts.\n",
             wanted.repetitions * standings.size());
}

void print_mismatches(const std::vector<std::string>& lines) {
  fmt::print(stderr, "lido_engine_demo: a run did not count what the serial run counted\n");
  for (std::size_t i = 0; i < std::min(mismatches_shown, lines.size()); ++i) {
    fmt::print(stderr, "  {}\n", lines[i]);
  }
  if (lines.size() > mismatches_shown) {
    fmt::print(stderr, "  and {} more\n", lines.size() - mismatches_shown);
  }
}

}  // namespace demo
