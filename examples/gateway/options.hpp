/// @file
/// The options of the gateway demo.
#pragma once

#include <string>

namespace gateway {

struct options {
  std::string backend = "echo";
  unsigned clients = 64;
  unsigned connections = 4;
  unsigned rounds = 9;
  unsigned ways = 6;     ///< number of ways to get a connection, the first ones
  double seconds = 0.2;  ///< time of each way in each round
  bool brief = false;    ///< a sentence for each way instead of a table
};

/// Parses the command line; ends the program if it is wrong, or asks for help.
[[nodiscard]] options parse(int argc, char** argv);

}  // namespace gateway
