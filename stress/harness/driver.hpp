/// @file
/// What every driver shares: its command line, its rounds and the end of its run.
#pragma once

#include <deque>
#include <memory>
#include <string>
#include <vector>

#include "harness/run.hpp"

namespace CLI {  // NOLINT(readability-identifier-naming): not ours
class App;
}  // namespace CLI

namespace stress {

/// Tries to break one invariant. Derived classes say which, name their options, and run one round.
class driver {
 public:
  driver(const driver&) = delete;
  driver& operator=(const driver&) = delete;
  virtual ~driver();

  /// Parses, runs until the time is over, and gives the exit status.
  [[nodiscard]] int drive(int argc, char** argv);

  [[nodiscard]] unsigned threads() const { return options_.threads; }
  [[nodiscard]] double seconds() const { return options_.seconds; }
  [[nodiscard]] const std::string& invariant() const { return invariant_; }

 protected:
  /// `threads`: how many, if the command line does not say.
  explicit driver(std::string invariant, unsigned threads = 4);

  /// A number that the command line may change; known when `prepare` is called.
  [[nodiscard]] const unsigned& option(const std::string& name, unsigned value,
                                       const std::string& help);
  /// --pool: which pool to run on, one of `names`.
  [[nodiscard]] const std::string& pool_option(const std::vector<std::string>& names);

  /// What runs between `prepare` and `check`: by default rounds, until the time is over and nothing
  /// is missing.
  virtual void load(run& run);

 private:
  /// Before the first round.
  virtual void prepare(run& /*run*/) {}
  virtual void round(run& /*run*/, unsigned /*number*/) {}
  /// After the last round: prints figures, and says what is broken.
  virtual void check(run& /*run*/) {}
  /// What has not happened, so that the run proves nothing; empty: all has.
  [[nodiscard]] virtual std::string missing() const { return {}; }

  std::string invariant_;
  run_options options_;
  std::deque<unsigned> numbers_;  // which stay where they are
  std::string pool_ = "revocable";
  std::unique_ptr<CLI::App> line_;
};

}  // namespace stress
