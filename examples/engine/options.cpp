#include "options.hpp"

#include <CLI/CLI.hpp>
#include <algorithm>
#include <thread>

namespace demo {
namespace {

void describe(CLI::App& app, options& into) {
  app.add_option("PATH", into.path, "Folder with the files to read")->required();
  app.add_option("--workers", into.workers, "Threads, the producer among them")
      ->check(CLI::Range(1, 1024))
      ->capture_default_str();
  app.add_option("--chunk", into.chunk_bytes, "Most bytes of a job")
      ->check(CLI::Range(std::size_t{1}, std::size_t{1} << 30))
      ->capture_default_str();
  app.add_option("--jobs", into.jobs, "Capacity of the pool of job objects")
      ->check(CLI::Range(1, 1 << 20))
      ->capture_default_str();
  app.add_option("--drain", into.drain,
                 "Jobs the producer runs itself when none is free, before it asks again "
                 "(half of --jobs unless told)")
      ->check(CLI::Range(1, 1 << 20));
  app.add_option("--repeat", into.repetitions, "Runs with each source of jobs")
      ->check(CLI::Range(1, 1000))
      ->capture_default_str();
  app.add_option("--seed", into.seed, "Of the order of the sources in each repetition")
      ->capture_default_str();
  app.add_option("--limit", into.limit_mib, "Most MiB of input to read")
      ->check(CLI::Range(1, 65536))
      ->capture_default_str();
}

}  // namespace

parsed parse(int count, char** arguments) {
  CLI::App app("Counts tokens and lines below PATH with pooled job objects on oneTBB workers.");
  options wanted;
  wanted.workers = std::clamp(std::thread::hardware_concurrency(), 1U, 1024U);
  describe(app, wanted);
  try {
    app.parse(count, arguments);
  } catch (const CLI::ParseError& problem) {
    return {std::nullopt, app.exit(problem) == 0 ? 0 : 2};
  }
  return {wanted, 0};
}

}  // namespace demo
