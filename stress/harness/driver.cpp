#include "harness/driver.hpp"

#include <CLI/CLI.hpp>
#include <utility>

namespace stress {

driver::driver(std::string invariant, unsigned threads)
    : invariant_(std::move(invariant)), line_(std::make_unique<CLI::App>(invariant_)) {
  options_.threads = threads;
  line_->add_option("--seed", options_.seed,
                    "reproduces the random choices of a run, not its schedule");
  line_->add_option("--seconds", options_.seconds, "how long")
      ->check(CLI::PositiveNumber)
      ->multi_option_policy(CLI::MultiOptionPolicy::TakeLast);
  line_->add_option("--grace", options_.grace,
                    "a run that lasts so many seconds longer is endless");
  line_->add_option("--threads", options_.threads, "how many")->check(CLI::Range(1U, 512U));
}

driver::~driver() = default;

const unsigned& driver::option(const std::string& name, unsigned value, const std::string& help) {
  unsigned& number = numbers_.emplace_back(value);
  line_->add_option(name, number, help);
  return number;
}

const std::string& driver::pool_option(const std::vector<std::string>& names) {
  line_->add_option("--pool", pool_, "which pool")->check(CLI::IsMember(names));
  return pool_;
}

int driver::drive(int argc, char** argv) {
  try {
    line_->parse(argc, argv);
  } catch (const CLI::ParseError& error) {
    return line_->exit(error);
  }
  run run(options_);
  prepare(run);
  load(run);
  check(run);
  if (const std::string what = missing(); !what.empty()) {
    run.vacuous(what);
  }
  return run.held(invariant_);
}

void driver::load(run& run) {
  for (unsigned number = 0; run.goes_on(missing().empty()); ++number) {
    round(run, number);
  }
}

}  // namespace stress
