#include "commands/commands.hpp"
namespace model { void add_litmus_command(CLI::App&, int&) {} }
