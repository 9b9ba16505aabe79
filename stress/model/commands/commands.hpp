/// @file
/// The subcommands of the program. `status` becomes the program's exit status.
#pragma once

namespace CLI {  // NOLINT(readability-identifier-naming): not ours
class App;
}  // namespace CLI

namespace model {

void add_run_command(CLI::App& app, int& status);
void add_litmus_command(CLI::App& app, int& status);
void add_mutants_command(CLI::App& app, int& status);

}  // namespace model
