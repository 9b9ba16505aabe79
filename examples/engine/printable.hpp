/// @file
/// Text from file names and file contents, made safe to print.
#pragma once

#include <algorithm>
#include <string>
#include <string_view>

namespace demo {

/// Every byte outside printable ASCII becomes '?': a file name must not steer the terminal.
inline std::string printable(std::string_view text) {
  std::string safe(text);
  std::replace_if(
      safe.begin(), safe.end(), [](char c) { return c < ' ' || c > '~'; }, '?');
  return safe;
}

}  // namespace demo
