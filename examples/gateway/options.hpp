/// @file
/// What the gateway demo can be told.
#pragma once

#include <string>

namespace gateway {

struct options {
  std::string backend = "echo";
  unsigned clients = 64;
  unsigned connections = 4;
  unsigned rounds = 9;
  unsigned ways = 6;     ///< to come by a connection, the first ones
  double seconds = 0.2;  ///< of each way in each round
  bool brief = false;    ///< a sentence for each way instead of a table
};

/// Ends the program if they are wrong, or only asked for.
[[nodiscard]] options parse(int argc, char** argv);

}  // namespace gateway
