/// The model checker: runs the library's own sources through every order of events that it can
/// find.
#include <CLI/CLI.hpp>

#include <cstdio>
#include <cstdlib>

#include "commands/commands.hpp"

int main(int argc, char** argv) {
  CLI::App app("Model checker of Lido's free list, thread caches and slot source");
  app.require_subcommand(1);
  int status = 0;
  model::add_run_command(app, status);
  model::add_litmus_command(app, status);
  model::add_mutants_command(app, status);
  CLI11_PARSE(app, argc, argv);
  // Skips the functions of the library that run when it is unloaded: there is no execution any
  // more.
  (void)std::fflush(nullptr);
  std::_Exit(status);
}
