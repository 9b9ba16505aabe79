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

/// Tries to break one invariant. Derived classes name it and its options, and run one round.
class driver {
 public:
  driver(const driver&) = delete;
  driver& operator=(const driver&) = delete;
  virtual ~driver();

  /// Parses the command line, runs until the time is up, and returns the exit status.
  [[nodiscard]] int drive(int argc, char** argv);

  [[nodiscard]] unsigned threads() const { return options_.threads; }
  [[nodiscard]] double seconds() const { return options_.seconds; }
  [[nodiscard]] const std::string& invariant() const { return invariant_; }

 protected:
  /// `threads` is the number of threads unless --threads gives another.
  explicit driver(std::string invariant, unsigned threads = 4);

  /// Returns a number that the command line may change; it is set before `prepare` is called.
  [[nodiscard]] const unsigned& option(const std::string& name, unsigned value,
                                       const std::string& help);
  /// Returns the value of --pool, the pool to run on, which is one of `names`.
  [[nodiscard]] const std::string& pool_option(const std::vector<std::string>& names);

  /// Runs between `prepare` and `check`; by default runs rounds until the time is up and nothing is
  /// missing.
  virtual void load(run& run);

 private:
  /// Runs before the first round.
  virtual void prepare(run& /*run*/) {}
  virtual void round(run& /*run*/, unsigned /*number*/) {}
  /// Runs after the last round: prints figures, and reports what is broken.
  virtual void check(run& /*run*/) {}
  /// Returns what has not happened, without which the run proves nothing, or an empty string.
  [[nodiscard]] virtual std::string missing() const { return {}; }

  std::string invariant_;
  run_options options_;
  std::deque<unsigned> numbers_;  // a deque: references to its elements stay valid
  std::string pool_ = "revocable";
  std::unique_ptr<CLI::App> line_;
};

}  // namespace stress
