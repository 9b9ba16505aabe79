#include "harness/command_line.hpp"

#include <CLI/CLI.hpp>
#include <cstdlib>

namespace stress {

command_line::command_line(const std::string& title, run_options& options)
    : app_(std::make_unique<CLI::App>(title)) {
  app_->add_option("--seed", options.seed,
                   "reproduces the random choices of a run, not its schedule");
  app_->add_option("--seconds", options.seconds, "how long")
      ->check(CLI::PositiveNumber)
      ->multi_option_policy(CLI::MultiOptionPolicy::TakeLast);
  app_->add_option("--threads", options.threads, "how many")->check(CLI::Range(1U, 512U));
}

command_line::~command_line() = default;

void command_line::add(const std::string& name, std::uint64_t& value, const std::string& help) {
  app_->add_option(name, value, help);
}

void command_line::add(const std::string& name, unsigned& value, const std::string& help) {
  app_->add_option(name, value, help);
}

void command_line::add_pool(std::string& name, const std::vector<std::string>& more) {
  std::vector<std::string> names{"revocable", "locked", "none", "boost"};
  names.insert(names.end(), more.begin(), more.end());
  app_->add_option("--pool", name, "which pool")->check(CLI::IsMember(names));
}

void command_line::parse(int argc, char** argv) {
  try {
    app_->parse(argc, argv);
  } catch (const CLI::ParseError& error) {
    std::exit(app_->exit(error));  // NOLINT(concurrency-mt-unsafe): before any thread starts
  }
}

}  // namespace stress
