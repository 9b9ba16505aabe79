/// @file
/// The command line of a stress driver. Compiled once, because the parser's header is heavy.
#pragma once

#include <cstdint>
#include <memory>
#include <random>
#include <string>
#include <vector>

namespace CLI {  // NOLINT(readability-identifier-naming): not ours
class App;
}  // namespace CLI

namespace stress {

/// What every driver takes.
struct run_options {
  std::uint64_t seed = std::random_device{}();
  double seconds = 1.0;
  unsigned threads = 4;
};

/// Names options, then parses; prints help and errors and ends the program where that is due.
class command_line {
 public:
  command_line(const std::string& title, run_options& options);
  ~command_line();
  command_line(const command_line&) = delete;
  command_line& operator=(const command_line&) = delete;

  void add(const std::string& name, std::uint64_t& value, const std::string& help);
  void add(const std::string& name, unsigned& value, const std::string& help);

  /// --pool: one of the pools a driver can run on, `more` of which are its own.
  void add_pool(std::string& name, const std::vector<std::string>& more = {});

  void parse(int argc, char** argv);

 private:
  std::unique_ptr<CLI::App> app_;
};

}  // namespace stress
